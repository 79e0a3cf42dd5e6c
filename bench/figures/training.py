"""The training loop with all its reports against the same loop written by hand."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import nn

from bench.measure import Figure
from codefy_engine.training.data import Batches, Batching, TensorDataset
from codefy_engine.training.loop import LoopProgress, LoopSettings, TrainingLoop
from codefy_protocol.bodies import MetricPoint, MetricsBody
from codefy_protocol.envelope import encode_body

ROUNDS = 25
EPOCHS = 3


class WritingReporter:
    """Does what the run child does with points: encode them and write the bytes."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")

    def stopped(self) -> bool:
        return False

    def metrics(self, points: list[MetricPoint]) -> None:
        self._file.write(encode_body(MetricsBody(points=points)))

    def progress(self, progress: LoopProgress) -> None:
        self._file.write(encode_body(progress.metrics))

    def nonfinite_loss(self, step: int, value: float) -> None:
        raise ArithmeticError(f"{value} at step {step}")

    def close(self) -> None:
        self._file.close()


def network() -> nn.Module:
    """The digits example's network."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(128, 10),
    )


def digits() -> TensorDataset:
    from sklearn.datasets import load_digits

    found = load_digits()
    images = torch.tensor(found.images, dtype=torch.float32).unsqueeze(1) / 16
    return TensorDataset(
        inputs=images, targets=torch.tensor(found.target), batching=Batching(batch_size=64, shuffle=True)
    )


def by_hand(dataset: TensorDataset) -> float:
    """Samples per second of the plain loop."""
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    loss_of = nn.CrossEntropyLoss()
    inputs, targets = dataset.inputs, dataset.targets
    model.train()
    started = time.perf_counter()
    for epoch in range(EPOCHS):
        order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(epoch))
        for start in range(0, len(dataset), 64):
            chosen = order[start : start + 64]
            loss = loss_of(model(inputs[chosen]), targets[chosen])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
    return EPOCHS * len(dataset) / (time.perf_counter() - started)


def by_codefy(dataset: TensorDataset, folder: Path) -> float:
    """Samples per second of Codefy's loop: loss of every step, accuracy, progress, all encoded and written."""
    model = network()
    reporter = WritingReporter(folder / "points")
    loop = TrainingLoop(
        model,
        Batches(dataset, Batching(batch_size=64, shuffle=True), device=torch.device("cpu")),
        None,
        torch.optim.AdamW(model.parameters(), lr=3e-3),
        nn.CrossEntropyLoss(),
        classification=True,
        settings=LoopSettings(epochs=EPOCHS),
        reporter=reporter,
    )
    started = time.perf_counter()
    loop.run()
    seconds = time.perf_counter() - started
    reporter.close()
    return EPOCHS * len(dataset) / seconds


def alternate(
    rounds: int, value: Callable[[], float], floor: Callable[[], float]
) -> Sequence[tuple[float, float]]:
    """Both in turns, the order swapped every round, so that a slow minute hits both."""
    pairs: list[tuple[float, float]] = []
    for index in range(rounds):
        if index % 2:
            first = value()
            pairs.append((first, floor()))
        else:
            base = floor()
            pairs.append((value(), base))
    return pairs


def measure() -> list[Figure]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    dataset = digits()
    try:
        with TemporaryDirectory() as name:
            folder = Path(name)
            by_hand(dataset), by_codefy(dataset, folder)
            rounds = alternate(ROUNDS, lambda: by_codefy(dataset, folder), lambda: by_hand(dataset))
    finally:
        torch.set_num_threads(threads)
    return [Figure("training_loop", "training loop, digits CNN", "the loop by hand", "samples/s", rounds)]
