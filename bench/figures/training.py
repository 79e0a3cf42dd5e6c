"""The training loop with all its reports against the same loop written by hand, by the clock and by processor time.

The clock is what people wait for; processor time does not count what other programs took away meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import nn

from bench.measure import Figure, alternate
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


class Stopwatch:
    """Samples per second of the clock and of the processor, over what is done inside ``with``."""

    def __init__(self, samples: int) -> None:
        self._samples = samples
        self.wall = self.cpu = 0.0

    def __enter__(self) -> Stopwatch:
        self._began = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *error: object) -> None:
        wall, cpu = self._began
        self.wall = self._samples / (time.perf_counter() - wall)
        self.cpu = self._samples / (time.process_time() - cpu)


def by_hand(dataset: TensorDataset) -> Stopwatch:
    """The plain loop."""
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    loss_of = nn.CrossEntropyLoss()
    inputs, targets = dataset.inputs, dataset.targets
    model.train()
    with Stopwatch(EPOCHS * len(dataset)) as watch:
        for epoch in range(EPOCHS):
            order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(epoch))
            for start in range(0, len(dataset), 64):
                chosen = order[start : start + 64]
                loss = loss_of(model(inputs[chosen]), targets[chosen])
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
    return watch


def by_codefy(dataset: TensorDataset, folder: Path) -> Stopwatch:
    """Codefy's loop: loss of every step, accuracy, progress, all encoded and written."""
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
    with Stopwatch(EPOCHS * len(dataset)) as watch:
        loop.run()
    reporter.close()
    return watch


def compared(
    rounds: int, value: Callable[[], Stopwatch], floor: Callable[[], Stopwatch]
) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Rounds by the clock and by processor time, on one thread, after one of each that does not count."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    cpu: list[tuple[float, float]] = []
    watches: dict[str, Stopwatch] = {}

    def timed(name: str, train: Callable[[], Stopwatch]) -> float:
        watches[name] = watch = train()
        if len(watches) == 2:
            cpu.append((watches["value"].cpu, watches["floor"].cpu))
            watches.clear()
        return watch.wall

    try:
        value(), floor()
        wall = alternate(rounds, lambda: timed("value", value), lambda: timed("floor", floor))
    finally:
        torch.set_num_threads(threads)
    return wall, cpu


def measure() -> list[Figure]:
    dataset = digits()
    with TemporaryDirectory() as name:
        folder = Path(name)
        wall, cpu = compared(ROUNDS, lambda: by_codefy(dataset, folder), lambda: by_hand(dataset))
    what, floor = "training loop, digits CNN", "the loop by hand"
    return [
        Figure("training_loop", what, floor, "samples/s", wall),
        Figure("training_loop_cpu", f"{what}, processor time", floor, "samples/s", cpu),
    ]
