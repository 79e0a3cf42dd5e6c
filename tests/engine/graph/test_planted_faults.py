"""Faults of every kind planted in one graph: validation names them all at once, each at its node (G-3)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from codefy_engine.graph import GraphProblem, parse_graph, presets, validate_graph, validation
from codefy_engine.nodes.registry import Registry
from codefy_protocol import reasons


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
        node("choice", "SklearnDataset", name="digitz"),
        node("three", "Blobs", samples="few", classes=-1, colour="red"),
        node("empty", "Constant", number=None),
        node("truth", "DataLoader", batch_size=True),
        node("grid", "TensorByHand", values=[[1], [2, 3]]),
        node("sizes", "ReshapeTensor", shape=[2, "x"]),
        node("own tail", "Sum"),
        node("two wires", "Sum"),
        node("no output", "Module", subgraph="open"),
        node("same number", "Module", subgraph="same"),
        node("endless", "Module", subgraph="endless"),
        node("mapped", "MapPreset", preset="gone"),
        node("not exposed", "Preset", preset="fine"),
        node("hidden node", "Preset", preset="hidden"),
        node("loose end", "Print"),
    ],
    "edges": [
        {"source": "pair", "sourceHandle": "metrics", "target": "mismatch", "targetHandle": "a"},
        {"source": "good", "sourceHandle": "value", "target": "twice", "targetHandle": "a"},
        {"source": "good", "sourceHandle": "value", "target": "twice", "targetHandle": "a"},
        {"source": "good", "sourceHandle": "velue", "target": "bad port", "targetHandle": "a"},
        {"source": "cycle a", "sourceHandle": "value", "target": "cycle b", "targetHandle": "a"},
        {"source": "cycle b", "sourceHandle": "value", "target": "cycle a", "targetHandle": "a"},
        {"source": "ghost", "sourceHandle": "value", "target": "cycle a", "targetHandle": "b"},
        {"source": "good", "sourceHandle": "value", "target": "nobody", "targetHandle": "a"},
        {"source": "good", "sourceHandle": "value", "target": "truth", "targetHandle": "dataset"},
        {"source": "grid", "sourceHandle": "tensor", "target": "sizes", "targetHandle": "x"},
        {"source": "own tail", "sourceHandle": "value", "target": "own tail", "targetHandle": "a"},
        {"source": "good", "sourceHandle": "value", "target": "two wires", "targetHandle": "a"},
        {"source": "range", "sourceHandle": "value", "target": "two wires", "targetHandle": "a"},
        {"source": "good", "sourceHandle": "value", "target": "two wires", "targetHandle": "c"},
        {"source": "good", "sourceHandle": "value", "target": "mapped", "targetHandle": "items"},
        {"source": "good", "sourceHandle": "value", "target": "not exposed", "targetHandle": "secret door"},
        {"source": "good", "sourceHandle": "value", "target": "loose end", "targetHandle": "value"},
    ],
    "subgraphs": {
        "net": {
            "nodes": [
                node("in", "ModuleInput"),
                node("lin", "Linear", out_features=0),
                node("not a layer", "Constant"),
                node("out", "ModuleOutput"),
            ],
            "edges": [wire("in.x lin.x"), wire("lin.y out.x"), wire("in.x out.y")],
        },
        "open": {"nodes": [node("in", "ModuleInput"), node("relu", "ReLU")], "edges": [wire("in.x relu.x")]},
        "same": {
            "nodes": [node("in", "ModuleInput"), node("also", "ModuleInput"), node("out", "ModuleOutput")],
            "edges": [wire("in.x out.x")],
        },
        "endless": {
            "nodes": [
                node("in", "ModuleInput"),
                node("again", "Submodule", subgraph="endless"),
                node("out", "ModuleOutput"),
            ],
            "edges": [wire("in.x again.x"), wire("again.y out.x")],
        },
    },
    "presets": {
        "circle": {"nodes": [node("again", "Preset", preset="circle")]},
        "group": {
            "nodes": [node("k", "Constant"), node("lonely", "Sum")],
            "params": [{"name": "amount", "node": "k", "param": "number"}],
        },
        "fine": {"nodes": [node("k", "Constant")]},
        "hidden": {"nodes": [], "inputs": [{"name": "x", "node": "nowhere", "port": "a"}]},
    },
    "settings": {"device": "quantum", "seed": -1},
}

PLANTED = [
    ("duplicate_node_id", "twin", None),
    ("graph_cycle", "cycle a", None),
    ("graph_cycle", "own tail", None),
    ("input_missing", "no input", "a"),
    ("input_missing", "preset/lonely", "a"),
    ("module_invalid", "endless/again", None),
    ("module_invalid", "no output", None),
    ("module_invalid", "same number", None),
    ("node_too_new", "future", "Constant"),
    ("not_in_module", "model/not a layer", "Constant"),
    ("only_in_module", "boundary", "ModuleInput"),
    ("param_invalid", "choice", "name"),
    ("param_invalid", "device", "device"),
    ("param_invalid", "empty", "number"),
    ("param_invalid", "grid", "values"),
    ("param_invalid", "model/lin", "out_features"),
    ("param_invalid", "preset", "amount"),
    ("param_invalid", "range", "number"),
    ("param_invalid", "sizes", "shape"),
    ("param_invalid", "three", "samples"),
    ("param_invalid", "three", "classes"),
    ("param_invalid", "truth", "batch_size"),
    ("param_invalid", "type", "number"),
    ("param_unknown", "preset", "nope"),
    ("param_unknown", "three", "colour"),
    ("param_unknown", "unknown param", "numbr"),
    ("port_type_mismatch", "mismatch", "a"),
    ("port_type_mismatch", "truth", "dataset"),
    ("port_wired_twice", "twice", "a"),
    ("port_wired_twice", "two wires", "a"),
    ("preset_cycle", "circular/again", None),
    ("preset_invalid", "hidden node", "hidden"),
    ("setting_invalid", None, "device"),
    ("setting_invalid", None, "seed"),
    # A loose wire is told at the end that it has.
    ("unknown_node", "cycle a", "ghost"),
    ("unknown_node", "good", "nobody"),
    ("unknown_node_type", "unknown type", "Konstant"),
    ("unknown_port", "good", "velue"),
    ("unknown_port", "model/out", "y"),
    ("unknown_port", "not exposed", "secret door"),
    ("unknown_port", "two wires", "c"),
    ("unknown_preset", "mapped", "gone"),
    ("unknown_preset", "no preset", "nowhere"),
    ("unknown_subgraph", "no net", "nowhere"),
]
ABOUT = ("param", "port", "setting", "subgraph", "preset", "missing", "type")

ALONE = {"graph_empty", "graph_too_big", "more_problems", "unknown_until_node"}
"""What a graph with other faults cannot have as well; each has a test of its own in this folder."""


def about(problem: GraphProblem) -> str | None:
    """The parameter, port or name that a problem is about."""
    return next((str(problem.params[name]) for name in ABOUT if name in problem.params), None)


def test_all_planted_faults_are_found_and_no_other(registry: Registry) -> None:
    problems = validate_graph(parse_graph(json.dumps(GRAPH).encode()), registry)
    found = [(item.code, item.node_id, about(item)) for item in problems]
    assert sorted(found, key=str) == sorted(PLANTED, key=str)
    assert len(found) >= 40
    for problem in problems:
        if problem.node_id is not None and problem.code != "unknown_node":
            assert problem.node_id in problem.message
        assert problem.message.endswith((".", "?"))


def test_every_kind_of_fault_is_planted() -> None:
    told: set[str] = set()
    for module in (validation, presets):
        names = re.findall(r"reasons\.([A-Z][A-Z_]+)", Path(module.__file__).read_text())
        told |= {getattr(reasons, name) for name in names}
    assert told == {code for code, *_ in PLANTED} | ALONE
