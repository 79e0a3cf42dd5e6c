"""Small data, small models and a reporter that keeps what a loop tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import nn

from codefy_engine.graph import Builder
from codefy_engine.graph.plan import plan_subgraph
from codefy_engine.nodes.registry import default_registry
from codefy_engine.training.checkpoints import Checkpoint
from codefy_engine.training.data import Batches, Batching, TensorDataset
from codefy_engine.training.loop import LoopProgress, LoopSettings, TrainingLoop
from codefy_engine.training.module import GraphModule
from codefy_protocol.bodies import MetricPoint

CPU = torch.device("cpu")


@dataclass
class KeepingReporter:
    """Keeps everything; ``stop_after`` makes it ask for a stop once so many batches were begun."""

    stop_after: int | None = None
    asked: int = 0
    points: list[MetricPoint] = field(default_factory=list)
    progresses: list[LoopProgress] = field(default_factory=list)
    nonfinite: list[tuple[int, float]] = field(default_factory=list)

    def stopped(self) -> bool:
        self.asked += 1
        return self.stop_after is not None and self.asked > self.stop_after

    def metrics(self, points: list[MetricPoint]) -> None:
        self.points.extend(points)

    def progress(self, progress: LoopProgress) -> None:
        self.progresses.append(progress)

    def nonfinite_loss(self, step: int, value: float) -> None:
        self.nonfinite.append((step, value))

    def series(self, name: str) -> list[tuple[int, Any]]:
        return [(point.step, point.value) for point in self.points if point.name == name]


@dataclass
class Training:
    """A loop with what it needs, over 60 samples of 3 separable classes."""

    seed: int = 0
    settings: dict[str, Any] = field(default_factory=lambda: {"epochs": 3})
    dropout: float = 0.0
    validate: bool = True
    stop_after: int | None = None
    loss: Callable[..., torch.Tensor] = field(default_factory=nn.CrossEntropyLoss)
    lr: float = 0.05

    def __post_init__(self) -> None:
        self.reporter = KeepingReporter(stop_after=self.stop_after)
        self.kept: list[tuple[str, Checkpoint]] = []
        data = three_classes()
        self.train_data = data.select(torch.arange(48))
        self.validation_data = data.select(torch.arange(48, 60))
        self.batches = Batches(
            self.train_data, Batching(batch_size=10, shuffle=True), device=CPU, seed=self.seed
        )
        self.model = small_module(seed=self.seed, dropout=self.dropout)
        self.model.build_for(data.inputs)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=self.lr)
        self.loop = TrainingLoop(
            self.model,
            self.batches,
            Batches(self.validation_data, Batching(batch_size=5), device=CPU) if self.validate else None,
            self.optimizer,
            self.loss,
            classification=True,
            settings=LoopSettings(**self.settings),
            reporter=self.reporter,
            checkpoints=lambda name, checkpoint: self.kept.append((name, snapshot(checkpoint))),
        )


def snapshot(checkpoint: Checkpoint) -> Checkpoint:
    """The checkpoint as a file would keep it: the state dicts share memory with the model."""
    import copy

    return copy.deepcopy(checkpoint)


def three_classes() -> TensorDataset:
    generator = torch.Generator().manual_seed(5)
    targets = torch.arange(60) % 3
    centers = torch.tensor([[3.0, 0, 0, 0], [0, 3, 0, 0], [0, 0, 3, 0]])
    inputs = centers[targets] + torch.randn(60, 4, generator=generator)
    return TensorDataset(inputs=inputs, targets=targets, class_names=("a", "b", "c"))


def small_module(*, seed: int | None = 0, dropout: float = 0.0) -> GraphModule:
    def draw(net: Any) -> None:
        x = net.add("ModuleInput", "input")
        x = net.add("Linear", "hidden", x=x, out_features=8)
        x = net.add("Tanh", "tanh", x=x)
        x = net.add("Dropout", "drop", x=x, p=dropout)
        x = net.add("Linear", "scores", x=x, out_features=3)
        net.add("ModuleOutput", "output", x=x)

    return drawn_module(draw, seed=seed)


def drawn_module(draw: Callable[[Any], None], *, seed: int | None = 0) -> GraphModule:
    graph = Builder("test")
    draw(graph.subgraph("net"))
    return GraphModule("net", plan_subgraph(graph.build(), "net", default_registry()), seed=seed)


@pytest.fixture
def training() -> type[Training]:
    return Training


@pytest.fixture
def make_module() -> Callable[..., GraphModule]:
    return drawn_module


@pytest.fixture
def make_small_module() -> Callable[..., GraphModule]:
    return small_module


@pytest.fixture
def three_class_data() -> TensorDataset:
    return three_classes()
