"""Parameters of older versions, ports that parameters decide, and the rarer kinds of parameters (G-2)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codefy_engine.execution.executor import execute_graph
from codefy_engine.graph import GraphDocument, canonical_bytes, parse_graph, validate_graph
from codefy_engine.graph.prepare import migrate_document, prepare_graph
from codefy_engine.nodes.base import Node, NodeContext, NodeDefinitionError, input, node, output, param
from codefy_engine.nodes.parameters import BadParam
from codefy_engine.nodes.registry import Registry


def _to_2(params: dict[str, Any]) -> dict[str, Any]:
    if "speed" in params:
        params["rate"] = params.pop("speed")
    return params


def _to_3(params: dict[str, Any]) -> dict[str, Any]:
    if "rate" in params:
        params["rate"] = params["rate"] / 10
    return params


@node(
    type="Moved",
    title="Moved",
    category="tests",
    icon="x",
    version=3,
    migrations={1: _to_2, 2: _to_3},
)
class Moved(Node):
    """Had other parameters once."""

    rate: float = param(1.0, le=1)
    value: float = output("value")

    def run(self, ctx: NodeContext) -> float:
        return self.rate


def document(data: dict[str, Any], type: str = "Moved", **rest: Any) -> GraphDocument:
    raw = {"nodes": [{"id": "m", "type": type, "data": data}], **rest}
    return parse_graph(json.dumps(raw).encode())


@pytest.mark.parametrize(
    ("data", "rate"),
    [
        ({"params": {"speed": 5}}, 0.5),
        ({"params": {"rate": 5}, "version": 2}, 0.5),
        ({"params": {"rate": 0.5}, "version": 3}, 0.5),
        ({"params": {}}, None),
    ],
)
def test_old_parameters_become_those_of_today(data: dict[str, Any], rate: float | None) -> None:
    registry = Registry([Moved])
    graph = document(data)
    assert validate_graph(graph, registry) == []
    (moved,) = prepare_graph(graph, registry).document.nodes
    assert moved.data.params.get("rate") == rate
    saved = migrate_document(graph, registry)
    assert saved.nodes[0].data.extra.get("version", 1) in (1, 3)
    assert migrate_document(saved, registry).nodes[0].data.params == saved.nodes[0].data.params
    assert parse_graph(canonical_bytes(saved)).nodes[0].data.params.get("rate") == rate


def test_a_run_uses_them(harness: Any, new_kept: Any) -> None:
    kept = new_kept()
    execute_graph(harness.request(document({"params": {"speed": 5}}), kept, nodes=[Moved]))
    assert kept.payloads("node_status")[-1]["outputs"]["value"]["value"] == 0.5


def test_a_node_of_a_newer_version_is_named() -> None:
    (problem,) = validate_graph(document({"params": {}, "version": 9}), Registry([Moved]))
    assert (problem.code, problem.params["found"], problem.params["supported"]) == ("node_too_new", 9, 3)


def test_a_migration_from_no_older_version_is_no_definition() -> None:
    with pytest.raises(NodeDefinitionError, match="versions below that"):

        @node(type="Gap", title="Gap", category="tests", icon="x", version=3, migrations={3: _to_2})
        class Gap(Node):
            """It leads away from today's version."""

            def run(self, ctx: NodeContext) -> None: ...


# ---------------------------------------------------------------------- ports that parameters decide


@node(type="Gather", title="Gather", category="tests", icon="x")
class Gather(Node):
    """Take several values and give them names."""

    count: int = param(2, ge=1, le=8)
    names: str = param("first, rest")
    x: list[Any] = input("value", repeat="count", required=False)
    y: Any = output("value", repeat="names")

    def run(self, ctx: NodeContext) -> dict[str, Any]:
        names = self.spec.repeated(self.spec.outputs["y"], {"names": self.names})
        return {name: self.x[index] for index, name in enumerate(names)}


def test_a_parameter_decides_the_ports(harness: Any, new_kept: Any) -> None:
    registry = harness.registry(Gather)
    raw = {
        "nodes": [
            {"id": "c", "type": "Constant", "data": {"params": {"number": 7}}},
            {"id": "g", "type": "Gather", "data": {"params": {"count": 3, "names": "a,b, c ,a"}}},
            {"id": "s", "type": "Sum"},
        ],
        "edges": [
            {"source": "c", "sourceHandle": "value", "target": "g", "targetHandle": "x3"},
            {"source": "g", "sourceHandle": "c", "target": "s", "targetHandle": "a"},
        ],
    }
    graph = parse_graph(json.dumps(raw).encode())
    assert validate_graph(graph, registry) == []
    kept = new_kept()
    outcome = execute_graph(harness.request(graph, kept, nodes=[Gather]))
    assert outcome.status == "succeeded", outcome.error
    assert kept.payloads("node_status")[-1]["outputs"]["value"]["value"] == 7
    graph.nodes[1].data.params["count"] = 2
    (problem,) = validate_graph(graph, registry)
    assert (problem.code, problem.params["port"], problem.params["ports"]) == ("unknown_port", "x3", "x1, x2")
    assert Gather.create({"count": 1, "names": "a"}, x1=5).run(None) == {"a": 5}  # type: ignore[arg-type]


def test_what_repeats_a_port_is_a_number_or_a_text() -> None:
    with pytest.raises(NodeDefinitionError, match="no whole number or text"):

        @node(type="Odd", title="Odd", category="tests", icon="x")
        class Odd(Node):
            """Odd."""

            flag: bool = param(False)
            x: Any = input("value", repeat="flag")

            def run(self, ctx: NodeContext) -> None: ...


@node(type="Kinds", title="Kinds", category="tests", icon="x")
class Kinds(Node):
    """Rarer kinds."""

    colour: str = param("#3b82f6", kind="colour")
    grid: list[Any] = param([[1, 2], [3, 4]], kind="tensor")

    def run(self, ctx: NodeContext) -> None: ...


def test_colours_and_grids() -> None:
    colour, grid = Kinds.spec.params["colour"], Kinds.spec.params["grid"]
    assert colour.decode("#ABC") == "#ABC"
    assert grid.decode([1, 2.5]) == [1, 2.5] and grid.decode(3) == 3
    for spec, wrong in (
        (colour, "blue"),
        (colour, 5),
        (grid, [[1], [1, 2]]),
        (grid, ["a"]),
        (grid, [True]),
        (grid, [[1], 2]),
    ):
        with pytest.raises(BadParam, match="expected"):
            spec.decode(wrong)
