"""Twenty faults of every kind planted in one graph: validation names them all, each at its node (G-3)."""

from __future__ import annotations

import json
from typing import Any

from codefy_engine.graph import parse_graph, validate_graph
from codefy_engine.nodes.registry import Registry


def node(node_id: str, type: str, data: dict[str, Any] | None = None, **params: Any) -> dict[str, Any]:
    return {"id": node_id, "type": type, "data": {"params": params, **(data or {})}}


def wire(text: str) -> dict[str, str]:
    (source, source_port), (target, target_port) = (end.split(".") for end in text.split())
    return {
        "source": source,
        "sourceHandle": source_port,
        "target": target,
        "targetHandle": target_port,
    }


GRAPH = {
    "nodes": [
        node("good", "Constant", number=1),
        node("range", "Constant", number=1000),
        node("type", "Constant", number="many"),
        node("unknown param", "Constant", numbr=1),
        node("unknown type", "Konstant"),
        node("twin", "Constant"),
        node("twin", "Constant"),
        node("no input", "Sum"),
        node("mismatch", "Sum"),
        node("pair", "Pair"),
        node("twice", "Sum"),
        node("bad port", "Sum"),
        node("cycle a", "Sum"),
        node("cycle b", "Sum"),
        node("boundary", "ModuleInput"),
        node("future", "Constant", {"version": 99}),
        node("device", "Constant", {"device": "gpu"}),
        node("model", "Module", subgraph="net"),
        node("no net", "Module", subgraph="nowhere"),
        node("no preset", "Preset", preset="nowhere"),
        node("circular", "Preset", preset="circle"),
        node("preset", "Preset", preset="group", amount="much", nope=1),
    ],
    "edges": [
        {"source": "pair", "sourceHandle": "metrics", "target": "mismatch", "targetHandle": "a"},
        {"source": "good", "sourceHandle": "value", "target": "twice", "targetHandle": "a"},
        {"source": "good", "sourceHandle": "value", "target": "twice", "targetHandle": "a"},
        {"source": "good", "sourceHandle": "velue", "target": "bad port", "targetHandle": "a"},
        {"source": "cycle a", "sourceHandle": "value", "target": "cycle b", "targetHandle": "a"},
        {"source": "cycle b", "sourceHandle": "value", "target": "cycle a", "targetHandle": "a"},
        {"source": "ghost", "sourceHandle": "value", "target": "cycle a", "targetHandle": "b"},
    ],
    "subgraphs": {
        "net": {
            "nodes": [
                node("in", "ModuleInput"),
                node("lin", "Linear", out_features=0),
                node("not a layer", "Constant"),
                node("out", "ModuleOutput"),
            ],
            "edges": [wire("in.x lin.x"), wire("lin.y out.x")],
        }
    },
    "presets": {
        "circle": {"nodes": [node("again", "Preset", preset="circle")]},
        "group": {
            "nodes": [node("k", "Constant"), node("lonely", "Sum")],
            "params": [{"name": "amount", "node": "k", "param": "number"}],
        },
    },
    "settings": {"device": "quantum", "seed": -1},
}

PLANTED = [
    ("duplicate_node_id", "twin"),
    ("graph_cycle", "cycle a"),
    ("input_missing", "no input"),
    ("input_missing", "preset/lonely"),
    ("node_too_new", "future"),
    ("not_in_module", "model/not a layer"),
    ("only_in_module", "boundary"),
    ("param_invalid", "device"),
    ("param_invalid", "model/lin"),
    ("param_invalid", "preset"),
    ("param_invalid", "range"),
    ("param_invalid", "type"),
    ("param_unknown", "preset"),
    ("param_unknown", "unknown param"),
    ("port_type_mismatch", "mismatch"),
    ("port_wired_twice", "twice"),
    ("preset_cycle", "circular/again"),
    ("setting_invalid", None),
    ("setting_invalid", None),
    ("unknown_node", "cycle a"),
    ("unknown_node_type", "unknown type"),
    ("unknown_port", "good"),
    ("unknown_preset", "no preset"),
    ("unknown_subgraph", "no net"),
]


def test_all_planted_faults_are_found_and_no_other(registry: Registry) -> None:
    problems = validate_graph(parse_graph(json.dumps(GRAPH).encode()), registry)
    assert sorted(((item.code, item.node_id) for item in problems), key=str) == sorted(PLANTED, key=str)
    for problem in problems:
        # A loose wire names the end that is missing.
        if problem.node_id is not None and problem.code != "unknown_node":
            assert problem.node_id in problem.message
