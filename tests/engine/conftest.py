"""Small nodes without torch, and sinks that keep what a run reports."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from codefy_engine.execution.executor import ExecutionOutcome, ExecutionRequest, execute_graph
from codefy_engine.execution.sinks import RunSinks
from codefy_engine.graph import GraphDocument
from codefy_engine.nodes.base import Node, NodeContext, input, node, output, param
from codefy_engine.nodes.registry import Registry, builtin_classes


@node(type="Constant", title="Constant", category="flow", icon="hash")
class Constant(Node):
    """Give a number."""

    number: float = param(1.0, ge=-100, le=100, doc="The number.")
    value: float = output("value")

    def run(self, ctx: NodeContext) -> float:
        return self.number


@node(type="Sum", title="Sum", category="flow", icon="plus")
class Sum(Node):
    """Add two numbers."""

    a: float = input("value")
    b: float = input("value", required=False)
    value: float = output("value")

    def run(self, ctx: NodeContext) -> float:
        return self.a + (self.b or 0)


@node(type="Pair", title="Pair", category="flow", icon="columns")
class Pair(Node):
    """Give two values of different types."""

    metrics: dict[str, float] = output("metrics")
    value: float = output("value")

    def run(self, ctx: NodeContext) -> dict[str, Any]:
        return {"metrics": {"accuracy": 0.5}, "value": 2.0}


@node(type="Fail", title="Fail", category="flow", icon="x")
class Fail(Node):
    """Raise an error."""

    value: float = input("value", required=False)
    out: float = output("value")

    def run(self, ctx: NodeContext) -> float:
        raise ValueError("the numbers do not add up")


SAMPLE_NODES: tuple[type[Node], ...] = (Constant, Sum, Pair, Fail)


@dataclass
class Kept:
    """What a run reported, decoded, in order."""

    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    metrics: list[dict[str, Any]] = field(default_factory=list)
    artifacts: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[dict[str, Any]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def sinks(self) -> RunSinks:
        lock = threading.Lock()

        def emit(kind: str, ts: float, body: bytes) -> None:
            with lock:
                self.bodies.append(body)
                self.events.append((kind, msgspec.json.decode(body)))

        def keep(into: list[dict[str, Any]]) -> Callable[[float, bytes], None]:
            def sink(ts: float, body: bytes) -> None:
                with lock:
                    self.bodies.append(body)
                    into.append(msgspec.json.decode(body))

            return sink

        return RunSinks(
            emit=emit,
            record_metrics=keep(self.metrics),
            record_artifact=keep(self.artifacts),
            warn=keep(self.warnings),
        )

    def payloads(self, kind: str) -> list[dict[str, Any]]:
        return [payload for name, payload in self.events if name == kind]

    def statuses(self) -> list[tuple[str, str]]:
        return [(item["node_id"], item["status"]) for item in self.payloads("node_status")]

    def last_status(self) -> dict[str, str]:
        return dict(self.statuses())


@dataclass
class Harness:
    """Executes graphs of the sample nodes in a folder of their own."""

    folder: Path

    def registry(self, *extra: type[Node]) -> Registry:
        """The built-in nodes with the samples and ``extra``, which go before built-in ones of their name."""
        own = [*SAMPLE_NODES, *extra]
        taken = {cls.spec.definition.type for cls in own}
        return Registry([*(cls for cls in builtin_classes() if cls.spec.definition.type not in taken), *own])

    def request(
        self, graph: GraphDocument, kept: Kept, *, nodes: Iterable[type[Node]] = (), **fields: Any
    ) -> ExecutionRequest:
        fields.setdefault("run_id", "run-1")
        return ExecutionRequest(
            graph=graph,
            run_dir=self.folder / "run",
            files_dir=self.folder / "files",
            sinks=kept.sinks(),
            registry=self.registry(*nodes),
            **fields,
        )

    def execute(
        self, graph: GraphDocument, *, nodes: Iterable[type[Node]] = (), **fields: Any
    ) -> tuple[ExecutionOutcome, Kept]:
        kept = Kept()
        return execute_graph(self.request(graph, kept, nodes=nodes, **fields)), kept


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path)


@pytest.fixture
def registry(harness: Harness) -> Registry:
    return harness.registry()


@pytest.fixture
def new_kept() -> type[Kept]:
    return Kept


@pytest.fixture
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEFY_EXECUTION_PARALLEL_NODES", "1")
