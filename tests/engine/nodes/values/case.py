"""What one value test of a node type says: a graph that the type stands in, and what has to come out of it.

Every case is executed as a run, twice: as it is, and with a node that does nothing in the type's place. The first has
to give the expected values and the second must not, so that no case can pass without the node's work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from codefy_engine.graph import Builder, GraphDocument
from codefy_engine.graph.validation import validate_graph
from codefy_engine.nodes.base import Node, NodeContext, input, node, output, param
from codefy_engine.nodes.registry import default_registry
from codefy_engine.training.seeding import derive_seed, seeded_initialisation

SEED = 3
NODE = "it"
"""Id of the node under test."""

STRUCTURE = frozenset(("ModuleInput", "ModuleOutput", "Submodule", "Preset", "Subgraph"))
"""Types that stand for a part of the drawing: they never run, and without them there is no graph to run."""


@dataclass(frozen=True)
class Place:
    """Where a case is executed."""

    files: Path
    """The user's folder."""
    monkeypatch: pytest.MonkeyPatch


@dataclass(frozen=True)
class Case:
    """A value test of one node type."""

    type: str
    expected: Any
    """Numbers, texts, tensors, and lists and dicts of them; or what makes them, given the place."""
    params: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] | Callable[[Place], Mapping[str, Any]] = field(default_factory=dict)
    """Values that come over the wires, by port; or what makes them, given the place."""
    see: Callable[[dict[str, Any]], Any] | None = None
    """What of the outputs is compared; by default the only output, or all by port."""
    close: float = 0.0
    """Relative and absolute tolerance; without one, values are equal to the last bit."""
    draw: Callable[[Builder, Place], dict[str, Any]] | None = None
    """Draws the whole graph and gives the wires that are looked at, for a type that needs others around it."""
    ready: Callable[[Place], None] | None = None
    """Lays out files, or stands in for a package that would use the network."""

    @property
    def id(self) -> str:
        return f"{self.type}-{'-'.join(map(str, self.params))}" if self.params else self.type


def layer_case(
    type: str, twin: Callable[[], nn.Module], /, *inputs: torch.Tensor, close: float = 0.0, **params: Any
) -> Case:
    """A layer against the torch module that it stands for, both with the weights of the same seed."""
    ports = default_registry().spec(type).inputs

    def expected() -> Any:
        with seeded_initialisation(derive_seed(SEED, NODE)):
            module = twin()
        with torch.no_grad():
            return module(*inputs)

    return Case(
        type, lambda place: expected(), params, dict(zip(ports, inputs, strict=False)), close=close, see=first
    )


def made(type: str, *shapes: Any, **params: Any) -> nn.Module:
    """A layer with the weights that the node under test has."""
    with seeded_initialisation(derive_seed(SEED, NODE)):
        return default_registry().get(type).create(params).build(*shapes)  # type: ignore[attr-defined]  # a layer


def first(outputs: dict[str, Any]) -> Any:
    """The first output."""
    return next(iter(outputs.values()))


@dataclass
class Stage:
    """The nodes that give and take values around the one under test."""

    given: dict[str, Any] = field(default_factory=dict)
    taken: dict[str, Any] = field(default_factory=dict)

    def nodes(self) -> list[type[Node]]:
        stage = self

        @node(type="Given", title="Given", category="flow", icon="x", deterministic=False)
        class Given(Node):
            """Give a value of the case."""

            name: str = param("", doc="Which.")
            value: Any = output("any")

            def run(self, ctx: NodeContext) -> Any:
                return stage.given[self.name]

        @node(type="Taken", title="Taken", category="flow", icon="x", deterministic=False)
        class Taken(Node):
            """Take a value to look at."""

            name: str = param("", doc="Which.")
            value: Any = input("any")

            def run(self, ctx: NodeContext) -> None:
                stage.taken[self.name] = self.value

        return [Given, Taken]


def draw(case: Case, place: Place, stage: Stage) -> GraphDocument:
    """The graph of a case."""
    nodes = stage.nodes()
    registry = _Registry([*nodes])
    graph = Builder(case.type, seed=SEED, registry=registry)  # type: ignore[arg-type]  # finds all it is asked for
    if case.draw is not None:
        wires = case.draw(graph, place)
    else:
        given = case.inputs(place) if callable(case.inputs) else case.inputs
        fields: dict[str, Any] = dict(case.params)
        for port, value in given.items():
            stage.given[port] = value
            fields[port] = graph.add("Given", f"given_{port}", name=port)
        made = graph.add(case.type, NODE, **fields)
        spec = default_registry().spec(case.type)
        wires = {port: made[port] for port in spec.output_ports(case.params)}
    for name, wire in wires.items():
        graph.add("Taken", f"taken_{name}", name=name, value=wire)
    return graph.build()


class _Registry:
    def __init__(self, nodes: list[type[Node]]) -> None:
        self._own = {cls.spec.definition.type: cls for cls in nodes}

    def find(self, node_type: str) -> type[Node] | None:
        return self._own.get(node_type) or default_registry().find(node_type)


def types_in(graph: GraphDocument) -> set[str]:
    """Types of all nodes of a graph, also within its subgraphs and presets."""
    inner = [part.nodes for part in graph.subgraphs.values()]
    presets = {item["type"] for preset in graph.presets.values() for item in preset["nodes"]}
    return presets | {item.type for nodes in (graph.nodes, *inner) for item in nodes}


def play(case: Case, place: Place, harness: Any) -> Any:
    """Execute the graph of a case; what of its outputs is compared.

    Raises:
        AssertionError: the graph is not valid, lacks the type, or its run did not succeed.
    """
    stage = Stage()
    graph = draw(case, place, stage)
    nodes = stage.nodes()
    assert case.type in types_in(graph)
    problems = validate_graph(graph, harness.registry(*nodes))
    assert problems == [], problems
    outcome, _ = harness.execute(graph, nodes=nodes)
    assert outcome.status == "succeeded", outcome.error
    if case.see is not None:
        return case.see(stage.taken)
    return first(stage.taken) if len(stage.taken) == 1 else stage.taken


def wanted(case: Case, place: Place) -> Any:
    """The expected values of a case."""
    return case.expected(place) if callable(case.expected) else case.expected


def same(found: Any, expected: Any, close: float) -> bool:
    """Whether two values are equal, tensors also in type and shape."""
    if isinstance(expected, torch.Tensor):
        if not isinstance(found, torch.Tensor) or found.shape != expected.shape:
            return False
        if found.dtype != expected.dtype:
            return False
        if not close:
            return torch.equal(found, expected)
        return torch.allclose(found, expected, rtol=close, atol=close, equal_nan=True)
    if isinstance(expected, Mapping):
        return (
            isinstance(found, Mapping)
            and found.keys() == expected.keys()
            and all(same(found[key], expected[key], close) for key in expected)
        )
    if isinstance(expected, list | tuple):
        return (
            isinstance(found, list | tuple)
            and len(found) == len(expected)
            and all(same(a, b, close) for a, b in zip(found, expected, strict=True))
        )
    if isinstance(expected, float) and close:
        return isinstance(found, int | float) and found == pytest.approx(expected, rel=close, abs=close)
    return type(found) is type(expected) and found == expected


def leaves(value: Any) -> Iterator[Any]:
    """The values that a comparison looks at: numbers, texts and tensors with something in them."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, torch.Tensor):
        if value.numel():
            yield value
    elif value is not None and value != "":
        yield value


def doing_nothing(self: Node, ctx: NodeContext) -> Any:
    """In place of a type's ``run``: every output is ``None``."""
    ports = self.spec.output_ports({name: getattr(self, name) for name in self.spec.params})
    return dict.fromkeys(ports) if len(ports) != 1 or self.spec.dynamic else None
