"""Presets: expansion with stable ids, exposed parameters, and what is wrong with them (G-4)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codefy_engine.graph import GraphDocument, GraphProblem, canonical_bytes, parse_graph, validate_graph
from codefy_engine.graph import presets as presets_module
from codefy_engine.graph.prepare import prepare_graph
from codefy_engine.nodes.registry import Registry


def node(node_id: str, type: str, **params: Any) -> dict[str, Any]:
    return {"id": node_id, "type": type, "data": {"params": params}}


def wire(text: str) -> dict[str, str]:
    (source, source_port), (target, target_port) = (end.split(".") for end in text.split())
    return {
        "source": source,
        "sourceHandle": source_port,
        "target": target,
        "targetHandle": target_port,
    }


def expose(kind: str, **items: str) -> list[dict[str, str]]:
    return [{"name": name, "node": at.split(".")[0], kind: at.split(".")[1]} for name, at in items.items()]


def document(nodes: list[Any], wires: list[str] | None = None, **rest: Any) -> GraphDocument:
    raw = {"nodes": nodes, "edges": [wire(item) for item in wires or []], **rest}
    return parse_graph(json.dumps(raw).encode())


ADD = {
    "nodes": [node("k", "Constant", number=2), node("add", "Sum")],
    "edges": [wire("k.value add.b")],
    "inputs": expose("port", x="add.a"),
    "outputs": expose("port", y="add.value"),
    "params": expose("param", amount="k.number"),
}
TWICE = {
    "nodes": [node("first", "Preset", preset="add"), node("second", "Preset", preset="add", amount=5)],
    "edges": [wire("first.y second.x")],
    "inputs": expose("port", x="first.x"),
    "outputs": expose("port", y="second.y"),
    "params": expose("param", start="first.amount"),
}


def test_nested_presets_become_nodes_with_paths_as_ids(registry: Registry) -> None:
    graph = document(
        [node("one", "Constant"), node("both", "Preset", preset="twice", start=7), node("end", "Sum")],
        ["one.value both.x", "both.y end.a"],
        presets={"add": ADD, "twice": TWICE},
    )
    assert validate_graph(graph, registry) == []
    expanded = prepare_graph(graph, registry).document
    assert [item.id for item in expanded.nodes] == [
        "one",
        "end",
        "both/first/k",
        "both/first/add",
        "both/second/k",
        "both/second/add",
    ]
    params = {item.id: item.data.params for item in expanded.nodes}
    assert params["both/first/k"] == {"number": 7}
    assert params["both/second/k"] == {"number": 5}
    assert {f"{e.source}.{e.source_handle} {e.target}.{e.target_handle}" for e in expanded.edges} == {
        "one.value both/first/add.a",
        "both/first/add.value both/second/add.a",
        "both/first/k.value both/first/add.b",
        "both/second/k.value both/second/add.b",
        "both/second/add.value end.a",
    }


def test_the_document_itself_keeps_its_presets(registry: Registry) -> None:
    graph = document([node("p", "Preset", preset="add")], presets={"add": ADD})
    before = canonical_bytes(graph)
    prepare_graph(graph, registry)
    assert canonical_bytes(graph) == before
    assert canonical_bytes(parse_graph(before)) == before


def test_one_exposed_input_may_feed_several(registry: Registry) -> None:
    both = {
        "nodes": [node("a", "Sum"), node("b", "Sum")],
        "inputs": [{"name": "x", "node": "a", "port": "a"}, {"name": "x", "node": "b", "port": "a"}],
    }
    graph = document(
        [node("one", "Constant"), node("p", "Preset", preset="both")],
        ["one.value p.x"],
        presets={"both": both},
    )
    assert validate_graph(graph, registry) == []
    edges = prepare_graph(graph, registry).document.edges
    assert [(edge.target, edge.target_handle) for edge in edges] == [("p/a", "a"), ("p/b", "a")]


def test_a_subgraph_is_used_the_same_way(registry: Registry) -> None:
    graph = document(
        [node("one", "Constant"), node("s", "Subgraph", subgraph="add", amount=3)],
        ["one.value s.x"],
        subgraphs={"add": ADD},
    )
    assert validate_graph(graph, registry) == []
    assert {item.id for item in prepare_graph(graph, registry).document.nodes} == {"one", "s/k", "s/add"}


def _problems(graph: GraphDocument, registry: Registry) -> list[tuple[str, str | None]]:
    return [(item.code, item.node_id) for item in validate_graph(graph, registry)]


def test_what_is_wrong_inside_is_named_by_its_path(registry: Registry) -> None:
    broken = {
        "nodes": [node("c", "Constant", number=1000), node("odd", "Konstant"), node("s", "Sum")],
        "edges": [wire("c.velue s.b")],
    }
    graph = document(
        [node("p", "Preset", preset="outer")],
        presets={"broken": broken, "outer": {"nodes": [node("in", "Preset", preset="broken")], "edges": []}},
    )
    assert sorted(_problems(graph, registry)) == [
        ("input_missing", "p/in/s"),
        ("param_invalid", "p/in/c"),
        ("unknown_node_type", "p/in/odd"),
        ("unknown_port", "p/in/c"),
    ]
    for problem in validate_graph(graph, registry):
        assert problem.params.get("node_id") == problem.node_id


def test_a_bad_exposed_parameter_is_named_where_it_is_written(registry: Registry) -> None:
    graph = document(
        [
            node("one", "Constant"),
            node("both", "Preset", preset="twice", start="much"),
            node("p", "Preset", preset="add", amount=1e9, nope=1),
        ],
        ["one.value both.x", "one.value p.x"],
        presets={"add": ADD, "twice": TWICE},
    )
    problems = validate_graph(graph, registry)
    assert [(item.code, item.node_id, item.params["param"]) for item in problems] == [
        ("param_unknown", "p", "nope"),
        ("param_invalid", "both", "start"),
        ("param_invalid", "p", "amount"),
    ]


def test_a_preset_that_vanished_is_one_problem(registry: Registry) -> None:
    graph = document(
        [node("gone", "Preset", preset="nope"), node("s", "Sum"), node("g", "Subgraph", subgraph="no")],
        ["gone.y s.a"],
    )
    problems = validate_graph(graph, registry)
    assert [(item.code, item.node_id) for item in problems] == [
        ("unknown_preset", "gone"),
        ("unknown_subgraph", "g"),
    ]
    assert problems[0].message == "gone uses the preset 'nope', which is not in the graph."


def test_a_preset_that_contains_itself(registry: Registry) -> None:
    a = {"nodes": [node("b", "Preset", preset="b")], "edges": []}
    b = {"nodes": [node("a", "Preset", preset="a")], "edges": []}
    (problem,) = validate_graph(
        document([node("p", "Preset", preset="a")], presets={"a": a, "b": b}), registry
    )
    assert (problem.code, problem.node_id) == ("preset_cycle", "p/b/a")
    assert problem.params["chain"] == "a → b → a"


@pytest.mark.parametrize(
    ("preset", "words"),
    [
        ({"nodes": 5}, "$.presets.p.nodes"),
        ([], "$.presets.p"),
        ({"nodes": [], "inputs": [{"name": "x"}]}, "missing required field"),
        ({"nodes": [], "outputs": [{"name": "x", "node": "no", "port": "y"}]}, "it exposes 'x' of 'no'"),
    ],
)
def test_something_that_is_no_preset(registry: Registry, preset: Any, words: str) -> None:
    problems = validate_graph(document([node("n", "Preset", preset="p")], presets={"p": preset}), registry)
    (problem,) = problems
    assert (problem.code, problem.node_id) == ("preset_invalid", "n")
    assert words in problem.message


def test_a_port_that_a_preset_does_not_expose(registry: Registry) -> None:
    graph = document(
        [node("one", "Constant"), node("p", "Preset", preset="add"), node("s", "Sum")],
        ["one.value p.x", "one.value p.z", "p.q s.a"],
        presets={"add": ADD},
    )
    problems = validate_graph(graph, registry)
    assert [(item.code, item.node_id, item.params["port"]) for item in problems] == [
        ("unknown_port", "p", "z"),
        ("unknown_port", "p", "q"),
    ]


def test_presets_that_would_fill_the_memory(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presets_module, "MAX_NODES", 1000)
    levels = {
        f"p{level}": {
            "nodes": [node(f"n{i}", "Preset", preset=f"p{level + 1}") for i in range(10)],
            "edges": [],
        }
        for level in range(30)
    }
    levels["p30"] = {"nodes": [node("c", "Constant")], "edges": []}
    problems: list[GraphProblem] = validate_graph(
        document([node("p", "Preset", preset="p0")], presets=levels), registry
    )
    assert [item.code for item in problems] == ["graph_too_big"]


def test_presets_that_double_forty_times_are_counted_and_not_made(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels = {
        f"p{level}": {"nodes": [node(f"n{i}", "Preset", preset=f"p{level + 1}") for i in range(2)]}
        for level in range(40)
    }
    levels["p40"] = {"nodes": [node("c", "Constant")]}
    graph = document([node("p", "Preset", preset="p0")], presets=levels)
    made: list[object] = []
    monkeypatch.setattr(presets_module.Presets, "_instance", lambda *about: made.append(about))
    assert [item.code for item in validate_graph(graph, registry)] == ["graph_too_big"]
    with pytest.raises(presets_module.TooBig):
        presets_module.Presets(graph).expand_template("Preset", "p0")
    assert made == []


def test_the_count_of_presets_is_what_they_become(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    # p, two of q, and in each a preset with two nodes: nine in all.
    presets = {
        "p": {"nodes": [node("a", "Preset", preset="q"), node("b", "Preset", preset="q")]},
        "q": {"nodes": [node("r", "Preset", preset="r")]},
        "r": {"nodes": [node("c", "Constant"), node("d", "Constant")]},
    }
    graph = document([node("p", "Preset", preset="p")], presets=presets)
    for limit, expected in ((9, []), (8, ["graph_too_big"])):
        monkeypatch.setattr(presets_module, "MAX_NODES", limit)
        assert [item.code for item in validate_graph(graph, registry)] == expected


def test_layers_of_a_preset_inside_a_module(registry: Registry) -> None:
    block = {
        "nodes": [node("act", "ReLU"), node("lin", "Linear", out_features=4)],
        "edges": [wire("act.y lin.x")],
        "inputs": expose("port", x="act.x"),
        "outputs": expose("port", y="lin.y"),
        "params": expose("param", size="lin.out_features"),
    }
    net = {
        "nodes": [
            node("in", "ModuleInput"),
            node("b", "Preset", preset="block", size=3),
            node("c", "Preset", preset="gone"),
            node("out", "ModuleOutput"),
        ],
        "edges": [wire("in.x b.x"), wire("b.y out.x")],
    }
    graph = document([node("m", "Module", subgraph="net")], presets={"block": block}, subgraphs={"net": net})
    assert _problems(graph, registry) == [("unknown_preset", "m/c")]
    inner = prepare_graph(graph, registry).document.subgraphs["net"]
    assert [item.id for item in inner.nodes] == ["in", "out", "b/act", "b/lin"]
    assert inner.nodes[3].data.params == {"out_features": 3}


def test_only_what_a_node_needs_is_validated(registry: Registry) -> None:
    graph = document(
        [
            node("one", "Constant"),
            node("good", "Preset", preset="add"),
            node("bad", "Constant", number=1e9),
            node("gone", "Preset", preset="nope"),
        ],
        ["one.value good.x"],
        presets={"add": ADD},
    )
    assert validate_graph(graph, registry, until_node="good") == []
    assert validate_graph(graph, registry, until_node="good/add") == []
    for until, code in (
        ("bad", "param_invalid"),
        ("gone", "unknown_preset"),
        ("what", "unknown_until_node"),
    ):
        (problem,) = validate_graph(graph, registry, until_node=until)
        assert problem.code == code


def test_an_input_that_every_level_exposes_twice_is_one(registry: Registry) -> None:
    levels = 30
    twice = {
        f"p{index}": {
            "nodes": [node("n", "Preset", preset=f"p{index + 1}")],
            "inputs": expose("port", x="n.x") * 2,
        }
        for index in range(levels)
    }
    last = {f"p{levels}": {"nodes": [node("s", "Sum")], "inputs": expose("port", x="s.a") * 2}}
    graph = document(
        [node("one", "Constant"), node("p", "Preset", preset="p0")], ["one.value p.x"], presets=twice | last
    )
    assert validate_graph(graph, registry) == []
    assert len(prepare_graph(graph, registry).document.edges) == 1


def test_presets_inside_too_many_presets_are_refused(registry: Registry) -> None:
    chain = {f"p{index}": {"nodes": [node("n", "Preset", preset=f"p{index + 1}")]} for index in range(2000)}
    (problem,) = validate_graph(document([node("p", "Preset", preset="p0")], presets=chain), registry)
    assert problem.code == "preset_invalid"
    assert "50 levels" in problem.message


def test_wires_that_presets_multiply_are_bounded(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presets_module, "MAX_WIRES", 20)
    wired = {"nodes": [node("k", "Constant"), node("s", "Sum")], "edges": [wire("k.value s.a")] * 5}
    graph = document(
        [node(f"p{index}", "Preset", preset="wired") for index in range(9)], presets={"wired": wired}
    )
    assert [item.code for item in validate_graph(graph, registry)] == ["graph_too_big"]
