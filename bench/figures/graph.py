"""What a node costs beyond its own work: graphs of nodes that do nothing, first run and reused, against ``dask.get``.

``dask.get`` orders and calls the same functions, without validation, events, facts of outputs, stops or reuse.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dask
import torch

from bench.measure import Figure, alternate, resident_mib
from codefy_engine.execution.executor import ExecutionRequest, execute_graph
from codefy_engine.execution.sinks import RunSinks
from codefy_engine.execution.state import ExecutionState
from codefy_engine.graph.document import GraphDocument, GraphEdge, GraphNode, NodeData
from codefy_engine.nodes.base import Node, NodeContext, input, node, output, param
from codefy_engine.nodes.registry import Registry

ROUNDS = 9
NOOPS = 10_000
ADDITIONS = 2_000
RUNS = 1_000


@node(type="Noop", title="Nothing", category="bench", icon="circle")
class Noop(Node):
    """Do nothing."""

    x: Any = input("any", required=False)
    y: Any = output("any")

    def run(self, ctx: NodeContext) -> Any:
        return 1


@node(type="AddOne", title="Add one", category="bench", icon="plus")
class AddOne(Node):
    """Add to a tensor."""

    x: Any = input("tensor", required=False)
    amount: float = param(1.0)
    y: Any = output("tensor")

    def run(self, ctx: NodeContext) -> Any:
        return torch.zeros(64) if self.x is None else self.x + self.amount


REGISTRY = Registry([Noop, AddOne])


def chain(node_type: str, count: int) -> GraphDocument:
    """Nodes one after the other."""
    return GraphDocument(
        nodes=[GraphNode(id=f"n{index}", type=node_type, data=NodeData()) for index in range(count)],
        edges=[
            GraphEdge(source=f"n{index}", source_handle="y", target=f"n{index + 1}", target_handle="x")
            for index in range(count - 1)
        ],
    )


class Recording:
    """Keeps the bytes of events, as a server does until its next commit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bodies: list[bytes] = []

    def sinks(self) -> RunSinks:
        keep = self.bodies.append
        return RunSinks(
            emit=lambda kind, ts, body: keep(body),
            record_metrics=lambda ts, body: keep(body),
            record_artifact=lambda ts, body: keep(body),
            warn=lambda ts, body: keep(body),
        )

    def run(self, graph: GraphDocument, state: ExecutionState | None = None) -> float:
        """Microseconds a node of one whole run: validate, plan, execute, report."""
        self.bodies.clear()
        request = ExecutionRequest(
            run_id="bench",
            graph=graph,
            run_dir=self.folder,
            files_dir=self.folder,
            sinks=self.sinks(),
            registry=REGISTRY,
            state=state,
        )
        started = time.perf_counter()
        outcome = execute_graph(request)
        seconds = time.perf_counter() - started
        assert outcome.status == "succeeded", outcome.error
        return seconds / len(graph.nodes) * 1e6


def dask_chain(first: Callable[[], Any], then: Callable[[Any], Any], count: int) -> Callable[[], float]:
    """The same chain as a dask graph; calling it gives microseconds a node."""
    graph: dict[str, Any] = {"n0": (first,)}
    graph |= {f"n{index}": (then, f"n{index - 1}") for index in range(1, count)}

    def run() -> float:
        started = time.perf_counter()
        dask.get(graph, f"n{count - 1}")
        return (time.perf_counter() - started) / count * 1e6

    return run


def arithmetic() -> float:
    """Microseconds an addition of the chain itself."""
    started = time.perf_counter()
    x = torch.zeros(64)
    for _ in range(ADDITIONS - 1):
        x = x + 1.0
    return (time.perf_counter() - started) / ADDITIONS * 1e6


def growth(recording: Recording) -> list[tuple[float, float]]:
    """Resident memory after many runs of one graph, and after the first tenth of them, in MiB."""
    graph, state = chain("AddOne", 5), ExecutionState()
    sizes: list[float] = []
    for count in (RUNS // 10, RUNS - RUNS // 10):
        for index in range(count):
            # Every second run has another value in it, so that there is something to let go of.
            graph.nodes[0].data.params["amount"] = float(index % 2)
            recording.run(graph, state)
        gc.collect()
        sizes.append(resident_mib(os.getpid()))
    return [(sizes[1], sizes[0])]


def measure() -> list[Figure]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with TemporaryDirectory() as name:
            recording = Recording(Path(name))
            noops, additions = chain("Noop", NOOPS), chain("AddOne", ADDITIONS)
            kept, kept_tensors = ExecutionState(), ExecutionState()
            recording.run(noops, kept), recording.run(additions, kept_tensors)
            nothing = dask_chain(lambda: 1, lambda x: 1, NOOPS)
            adding = dask_chain(lambda: torch.zeros(64), lambda x: x + 1.0, ADDITIONS)
            recording.run(noops), nothing(), recording.run(additions), adding(), arithmetic()
            first = alternate(ROUNDS, lambda: recording.run(noops), nothing)
            reused = alternate(ROUNDS, lambda: recording.run(noops, kept), nothing)
            tensors = alternate(ROUNDS, lambda: recording.run(additions), adding)
            beyond = alternate(
                ROUNDS, lambda: recording.run(additions) - arithmetic(), lambda: adding() - arithmetic()
            )
            again = alternate(ROUNDS, lambda: recording.run(additions, kept_tensors), adding)
            memory = growth(recording)
    finally:
        torch.set_num_threads(threads)
    unit, floor, running = "µs a node", "dask.get", "dask.get running them"
    return [
        Figure("graph_noops", "10,000 no-op nodes", floor, unit, first),
        Figure("graph_reused", "10,000 no-op nodes, all reused", running, unit, reused),
        Figure("graph_additions", "2,000 tensor additions", floor, unit, tensors),
        Figure("graph_additions_beyond", "2,000 tensor additions beyond the arithmetic", floor, unit, beyond),
        Figure("graph_additions_reused", "2,000 tensor additions, all reused", running, unit, again),
        Figure("graph_memory", "memory after 1,000 runs", "after 100", "MiB", memory),
    ]
