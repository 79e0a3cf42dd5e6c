"""Nodes that are passed by: a run leaves them out and leads the wires around them (G-4)."""

from __future__ import annotations

import json
from typing import Any

from codefy_engine.graph import GraphDocument, canonical_bytes, parse_graph, validate_graph
from codefy_engine.graph.prepare import prepare_graph
from codefy_engine.nodes.registry import Registry, default_registry


def node(node_id: str, type: str, *, bypassed: bool = True, **params: Any) -> dict[str, Any]:
    data = {"params": params} | ({"bypassed": True} if bypassed else {})
    return {"id": node_id, "type": type, "data": data}


def kept(node_id: str, type: str, **params: Any) -> dict[str, Any]:
    return node(node_id, type, bypassed=False, **params)


def wire(text: str) -> dict[str, str]:
    (source, source_port), (target, target_port) = (end.split(".") for end in text.split())
    return {
        "source": source,
        "sourceHandle": source_port,
        "target": target,
        "targetHandle": target_port,
    }


def document(nodes: list[Any], wires: list[str], **rest: Any) -> GraphDocument:
    raw = {"nodes": nodes, "edges": [wire(item) for item in wires], **rest}
    return parse_graph(json.dumps(raw).encode())


def wires_of(document: GraphDocument, registry: Registry, subgraph: str | None = None) -> list[str]:
    prepared = prepare_graph(document, registry).document
    level = prepared if subgraph is None else prepared.subgraphs[subgraph]
    ids = {item.id for item in level.nodes}
    assert all({edge.source, edge.target} <= ids for edge in level.edges)
    return [f"{e.source}.{e.source_handle} {e.target}.{e.target_handle}" for e in level.edges]


def test_a_chain_of_layers_is_led_around_and_a_dead_end_gives_nothing() -> None:
    registry = default_registry()
    inside = {
        "nodes": [
            kept("in", "ModuleInput"),
            node("drop", "Dropout"),
            node("relu", "ReLU"),
            kept("out", "ModuleOutput"),
            node("alone", "ReLU"),
            kept("other", "Linear"),
        ],
        "edges": [wire(w) for w in ("in.x drop.x", "drop.y relu.x", "relu.y out.x", "alone.y other.x")],
    }
    graph = document([kept("net", "Module", subgraph="s")], [], subgraphs={"s": inside})
    assert wires_of(graph, registry, "s") == ["in.x out.x"]


def test_an_output_gives_what_arrives_at_the_input_of_its_name_or_type() -> None:
    registry = default_registry()
    graph = document(
        [
            kept("data", "SklearnDataset", name="digits"),
            node("split", "TrainTestSplit"),
            node("train", "TrainingLoop"),
            kept("net", "Module", subgraph="s"),
            kept("judge", "Evaluate"),
        ],
        [
            "data.dataset split.dataset",
            "split.train train.train",
            "split.test judge.data",
            "net.model train.model",
            "train.model judge.model",
        ],
        subgraphs={"s": {"nodes": [], "edges": []}},
    )
    assert wires_of(graph, registry) == ["data.dataset judge.data", "net.model judge.model"]


def test_a_circle_of_passed_by_nodes_ends_in_a_missing_input_and_the_file_stays_as_it_is() -> None:
    registry = default_registry()
    graph = document(
        [node("a", "ReLU"), node("b", "ReLU"), kept("c", "ReLU")],
        ["a.y b.x", "b.y a.x", "b.y c.x"],
    )
    before = canonical_bytes(graph)
    problems = validate_graph(graph, registry)
    assert [(item.code, item.node_id) for item in problems] == [("input_missing", "c")]
    assert canonical_bytes(graph) == before
    assert b'"bypassed":true' in before


def test_nodes_inside_a_preset_are_passed_by_too_but_not_a_preset_as_a_whole() -> None:
    registry = default_registry()
    preset = {
        "nodes": [node("drop", "Dropout"), kept("relu", "ReLU")],
        "edges": [wire("drop.y relu.x")],
        "inputs": [{"name": "x", "node": "drop", "port": "x"}],
        "outputs": [{"name": "y", "node": "relu", "port": "y"}],
    }
    graph = document(
        [kept("a", "ReLU"), node("block", "Preset", preset="p"), kept("z", "ReLU")],
        ["a.y block.x", "block.y z.x"],
        presets={"p": preset},
    )
    assert wires_of(graph, registry) == ["a.y block/relu.x", "block/relu.y z.x"]
