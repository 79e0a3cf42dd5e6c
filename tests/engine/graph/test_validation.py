"""Validation names the node, the port and the reason, and finds everything at once (G-3)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codefy_engine.graph import Builder, GraphProblem, parse_graph, validate_graph
from codefy_engine.graph.cycles import find_cycles
from codefy_engine.graph.document import GraphInvalid
from codefy_engine.graph.validation import MAX_PROBLEMS
from codefy_engine.nodes.registry import Registry
from codefy_protocol import reasons


def _check(
    registry: Registry, nodes: list[Any], edges: list[str] | None = None, **rest: Any
) -> list[GraphProblem]:
    """Nodes as ``(id, type)`` or ``(id, type, params)``, wires as ``"a.out b.in"``."""
    document = {
        "nodes": [_node(*item) for item in nodes],
        "edges": [_edge(wire) for wire in edges or []],
        **rest,
    }
    return validate_graph(parse_graph(json.dumps(document).encode()), registry)


def _node(node_id: str, type: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"id": node_id, "type": type, "data": {"params": params or {}}}


def _edge(wire: str) -> dict[str, str]:
    source, target = wire.split()
    source_id, source_port = source.split(".")
    target_id, target_port = target.split(".")
    return {
        "source": source_id,
        "sourceHandle": source_port,
        "target": target_id,
        "targetHandle": target_port,
    }


def _module(*layers: Any, edges: list[str], boundaries: bool = True) -> dict[str, Any]:
    ends: list[Any] = [("in", "ModuleInput"), ("out", "ModuleOutput")] if boundaries else []
    return {"nodes": [_node(*item) for item in (*ends, *layers)], "edges": [_edge(wire) for wire in edges]}


def _found(problems: list[GraphProblem]) -> list[tuple[str, str | None]]:
    return [(problem.code, problem.node_id) for problem in problems]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_huge_number_is_a_bad_parameter_and_no_error_of_the_engine(registry: Registry, sign: int) -> None:
    huge = sign * 10**400
    problems = _check(
        registry, [("one", "Constant", {"number": huge}), ("net", "Module", {"subgraph": huge})]
    )
    assert ("param_invalid", "one") in _found(problems)
    assert ("param_invalid", "net") in _found(problems)
    assert all(len(problem.message) < 300 for problem in problems)
    seed = _check(registry, [("one", "Constant", {"number": 2})], settings={"seed": huge})
    assert _found(seed) == [("setting_invalid", None)]
    document = {"nodes": [{**_node("one", "Constant"), "position": {"x": huge, "y": 0}}], "edges": []}
    with pytest.raises(GraphInvalid):
        parse_graph(json.dumps(document).encode())


def test_a_good_graph_has_no_problems(registry: Registry) -> None:
    assert (
        _check(
            registry,
            [("one", "Constant", {"number": 2}), ("sum", "Sum"), ("model", "Module", {"subgraph": "net"})],
            ["one.value sum.a", "one.value sum.b"],
            subgraphs={"net": _module(("relu", "ReLU"), edges=["in.x relu.x", "relu.y out.x"])},
            settings={"device": "cuda:0", "seed": 3},
        )
        == []
    )


def test_everything_is_reported_at_once(registry: Registry) -> None:
    problems = _check(
        registry,
        [
            ("one", "Constant", {"number": 1000, "nubmer": 1}),
            ("odd", "Konstant"),
            ("sum", "Sum"),
            ("pair", "Pair"),
            ("sum2", "Sum"),
        ],
        ["pair.metrics sum2.a", "ghost.value sum2.b", "one.velue sum2.b"],
        settings={"device": "gpu", "seed": -1},
    )
    assert sorted(_found(problems), key=str) == sorted(
        [
            ("setting_invalid", None),
            ("setting_invalid", None),
            ("param_invalid", "one"),
            ("param_unknown", "one"),
            ("unknown_node_type", "odd"),
            ("input_missing", "sum"),
            ("port_type_mismatch", "sum2"),
            ("unknown_node", "sum2"),
            ("unknown_port", "one"),
            ("port_wired_twice", "sum2"),
        ],
        key=str,
    )


def test_every_problem_is_made_from_its_reason(registry: Registry) -> None:
    for problem in _check(registry, [("a", "Nope"), ("b", "Constant", {"number": "x"})], ["a.x b.y"]):
        made = reasons.reason(problem.code, **problem.params)
        assert problem.message == made.message


def test_an_empty_graph(registry: Registry) -> None:
    assert _found(_check(registry, [])) == [("graph_empty", None)]


def test_an_unknown_type_comes_with_a_suggestion(registry: Registry) -> None:
    (problem,) = _check(registry, [("c", "Conv2D")])
    assert problem.message == "c is of type Conv2D, which is not installed here. Did you mean Conv2d?"
    (problem,) = _check(registry, [("c", "Zeppelin")])
    assert problem.message == "c is of type Zeppelin, which is not installed here."


def test_a_parameter_out_of_range_says_what_was_expected_and_what_came(registry: Registry) -> None:
    (problem,) = _check(registry, [("one", "Constant", {"number": 101})])
    assert problem.message == "one.number: expected a number from -100 to 100; got 101."
    assert (problem.params["param"], problem.params["min"], problem.params["max"]) == ("number", -100, 100)
    (problem,) = _check(registry, [("one", "Constant", {"number": "x" * 500})])
    assert len(problem.message) < 200 and problem.message.endswith("….")


def test_an_unknown_parameter_comes_with_a_suggestion(registry: Registry) -> None:
    (problem,) = _check(registry, [("one", "Constant", {"numbr": 1})])
    assert problem.message == "one (Constant) has no parameter 'numbr'. Did you mean number?"


def test_ports(registry: Registry) -> None:
    (mismatch,) = _check(registry, [("p", "Pair"), ("s", "Sum")], ["p.metrics s.a"])
    assert mismatch.message == "p.metrics gives metrics; s.a takes value."
    (port,) = _check(registry, [("p", "Pair"), ("s", "Sum")], ["p.value s.a", "p.vlaue s.b"])
    assert port.message == "p (Pair) has no output 'vlaue'. It has: metrics, value."
    (port,) = _check(registry, [("p", "Pair"), ("s", "Sum")], ["p.value s.a", "p.value s.c"])
    assert (port.code, port.node_id, port.params["direction"]) == ("unknown_port", "s", "input")
    (twice,) = _check(registry, [("p", "Pair"), ("s", "Sum")], ["p.value s.a", "p.value s.a"])
    assert twice.message == "s.a takes one wire and has 2."
    (missing,) = _check(registry, [("s", "Sum")])
    assert missing.message == "s (Sum) needs its input 'a'. Wire a value to it."


def test_any_fits_all(registry: Registry) -> None:
    assert _check(registry, [("p", "Pair"), ("show", "Print")], ["p.metrics show.value"]) == []


def test_a_wire_to_nowhere_names_the_end(registry: Registry) -> None:
    problems = _check(registry, [("one", "Constant")], ["one.value ghost.x", "lost.y ghost.x"])
    assert [(p.node_id, p.params["end"], p.params["missing"]) for p in problems] == [
        ("one", "enters", "ghost"),
        (None, "leaves", "lost"),
        (None, "enters", "ghost"),
    ]


def test_duplicated_ids(registry: Registry) -> None:
    (problem,) = _check(registry, [("one", "Constant"), ("one", "Constant")])
    assert (problem.code, problem.node_id) == ("duplicate_node_id", "one")


def test_a_cycle_names_its_nodes_in_order(registry: Registry) -> None:
    problems = _check(
        registry,
        [("start", "Constant"), ("a", "Sum"), ("b", "Sum"), ("c", "Sum"), ("after", "Sum"), ("self", "Sum")],
        [
            "start.value a.b",
            "c.value a.a",
            "a.value b.a",
            "b.value c.a",
            "c.value after.a",
            "self.value self.a",
        ],
    )
    assert [problem.message for problem in problems] == [
        "These nodes form a cycle: a → b → c → a. Remove one of their wires.",
        "These nodes form a cycle: self → self. Remove one of their wires.",
    ]
    assert problems[0].params["node_ids"] == ["a", "b", "c"]


def test_cycles_that_share_no_node_are_all_found() -> None:
    edges = [("a", "b"), ("b", "a"), ("b", "x"), ("x", "c"), ("c", "d"), ("d", "c")]
    assert find_cycles(["x", "a", "b", "c", "d"], edges) == [["a", "b"], ["c", "d"]]
    assert find_cycles(["a", "b"], [("a", "b")]) == []


def test_problems_inside_a_module_are_named_by_path(registry: Registry) -> None:
    net = _module(
        ("conv1", "Conv2d", {"out_channels": 0}),
        ("relu", "Relu"),
        ("print", "Print"),
        edges=["in.x conv1.x", "conv1.y ghost.x"],
    )
    problems = _check(registry, [("model", "Module", {"subgraph": "net"})], subgraphs={"net": net})
    assert sorted(_found(problems), key=str) == sorted(
        [
            ("param_invalid", "model/conv1"),
            ("unknown_node_type", "model/relu"),
            ("not_in_module", "model/print"),
            ("input_missing", "model/print"),
            ("unknown_node", "model/conv1"),
            ("input_missing", "model/out"),
        ],
        key=str,
    )


def test_a_module_needs_its_subgraph_with_one_input_and_one_output(registry: Registry) -> None:
    (problem,) = _check(registry, [("model", "Module", {"subgraph": "nte"})])
    assert problem.message == "model uses the subgraph 'nte', which is not in the graph."
    (problem,) = _check(registry, [("model", "Module")])
    assert problem.code == "unknown_subgraph"
    problems = _check(
        registry,
        [("model", "Module", {"subgraph": "net"})],
        subgraphs={"net": _module(("a", "ModuleInput"), ("b", "ModuleInput"), edges=[], boundaries=False)},
    )
    assert [problem.message for problem in problems] == [
        "The module of model: its subgraph 'net' has 2 ModuleInput with the number 1.",
        "The module of model: its subgraph 'net' needs a ModuleOutput and has none.",
    ]


def test_the_ends_of_a_module_stand_in_one(registry: Registry) -> None:
    (problem,) = _check(registry, [("in", "ModuleInput")])
    assert (problem.code, problem.node_id) == ("only_in_module", "in")


def test_a_subgraph_that_contains_itself_is_found(registry: Registry) -> None:
    nested = _module(("again", "Module", {"subgraph": "net"}), edges=["in.x out.x"])
    problems = _check(registry, [("model", "Module", {"subgraph": "net"})], subgraphs={"net": nested})
    assert ("module_invalid", "model/again") in _found(problems)
    assert any("net → net" in problem.message for problem in problems)


def test_a_cycle_inside_a_module(registry: Registry) -> None:
    net = _module(("a", "ReLU"), ("b", "ReLU"), edges=["a.y b.x", "b.y a.x", "in.x out.x"])
    (problem,) = _check(registry, [("model", "Module", {"subgraph": "net"})], subgraphs={"net": net})
    assert problem.message.startswith("These nodes form a cycle: model/a → model/b → model/a")


@pytest.mark.parametrize("example", ["digits-cnn"])
def test_the_examples_are_valid(registry: Registry, example: str) -> None:
    from pathlib import Path

    data = (Path(__file__).parents[3] / "examples" / f"{example}.json").read_bytes()
    assert validate_graph(parse_graph(data), registry) == []


def test_a_builder_graph_is_valid(registry: Registry) -> None:
    builder = Builder(registry=registry)
    builder.add("Sum", a=builder.add("Constant"))
    assert validate_graph(builder.build(), registry) == []


def _nested_modules(levels: int, repeat: int = 1, inner: str = "ReLU") -> dict[str, Any]:
    """A module whose every level holds the next one twice."""
    subgraphs: dict[str, Any] = {
        f"m{level}": _module(
            ("a", "Submodule", {"subgraph": f"m{level + 1}", "repeat": repeat}),
            ("b", "Submodule", {"subgraph": f"m{level + 1}", "repeat": repeat}),
            edges=["in.x a.x", "a.y b.x", "b.y out.x"],
        )
        for level in range(levels)
    }
    return subgraphs | {
        f"m{levels}": _module(("relu", inner), edges=["in.x relu.x", "relu.y out.x"]),
    }


def test_what_modules_inside_modules_share_is_looked_at_once(registry: Registry) -> None:
    problems = _check(
        registry,
        [("model", "Module", {"subgraph": "m0"})],
        subgraphs=_nested_modules(12, inner="NoSuchLayer"),
    )
    assert _found(problems) == [("unknown_node_type", "model/" + "a/" * 12 + "relu")]


def test_modules_that_would_hold_too_many_layers_are_refused(registry: Registry) -> None:
    for subgraphs in (_nested_modules(30), _nested_modules(8, repeat=256)):
        problems = _check(registry, [("model", "Module", {"subgraph": "m0"})], subgraphs=subgraphs)
        assert _found(problems) == [("graph_too_big", "model")]


def test_modules_inside_too_many_modules_are_refused(registry: Registry) -> None:
    subgraphs = {
        f"m{level}": _module(
            ("a", "Submodule", {"subgraph": f"m{level + 1}"}), edges=["in.x a.x", "a.y out.x"]
        )
        for level in range(3000)
    }
    problems = _check(registry, [("model", "Module", {"subgraph": "m0"})], subgraphs=subgraphs)
    assert _found(problems) == [("module_invalid", "model")]
    assert "50 levels" in problems[0].message


def test_problems_past_a_number_are_only_counted(registry: Registry) -> None:
    problems = _check(registry, [(f"n{index}", "NoSuchNode") for index in range(MAX_PROBLEMS + 20)])
    assert len(problems) == MAX_PROBLEMS + 1
    assert (problems[-1].code, problems[-1].params) == ("more_problems", {"count": 20})
