"""Load → save is byte-stable for every example, for a large graph, and for one of a newer Codefy (G-1)."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codefy_engine.graph import GraphDocument, canonical_bytes, parse_graph, pretty_bytes, validate_graph
from codefy_engine.nodes.registry import default_registry

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.json"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_saved_as_they_are(path: Path) -> None:
    assert pretty_bytes(parse_graph(path.read_bytes())) == path.read_bytes()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_both_ways_to_write_say_the_same(path: Path) -> None:
    document = parse_graph(path.read_bytes())
    short = canonical_bytes(document)
    assert canonical_bytes(parse_graph(short)) == short
    assert pretty_bytes(parse_graph(short)) == path.read_bytes()
    assert json.loads(short) == json.loads(path.read_bytes())


VALUES: list[Any] = [
    0,
    -7,
    2**63,
    10**30,
    0.1,
    -2.5e-17,
    1e300,
    -0.0,
    True,
    None,
    "",
    'Grüße 繁體 \u2028 \\ " \t',
    [],
    {},
    [1, [2.5, ["a", None]]],
    {"b": {"z": 1, "a": [{"y": 0, "x": False}]}, "a": 1},
]
"""What parameters and unknown keys may hold."""


def large(count: int, seed: int) -> dict[str, Any]:
    """A graph as a newer Codefy with further packages might have saved it: types, keys and values of all kinds."""
    dice = random.Random(seed)
    types = [*default_registry(), "NotYetKnown", "vendor.Thing", "Ünknown"]

    def some(words: str) -> dict[str, Any]:
        return {word: copy.deepcopy(dice.choice(VALUES)) for word in words.split() if dice.random() < 0.3}

    def node(index: int) -> dict[str, Any]:
        data = {"params": some("number text shape zeta alpha"), **some("version shine 文")}
        place = {"x": dice.randint(-9000, 9000), "y": dice.randint(-9000, 9000), **some("z")}
        return {
            "id": f"n {index}",
            "type": types[index % len(types)],
            "position": place,
            "data": data,
            **some("glow parentId"),
        }

    def edge(nodes: list[dict[str, Any]]) -> dict[str, Any]:
        ends = {"source": dice.choice(nodes)["id"], "target": dice.choice(nodes)["id"]}
        named = {"id": f"e{dice.randrange(10**9)}"} if dice.random() < 0.5 else {}
        return {**ends, "sourceHandle": "value", "targetHandle": "x", **named, **some("bend label")}

    def level(size: int) -> dict[str, Any]:
        nodes = [node(index) for index in range(size)]
        return {"nodes": nodes, "edges": [edge(nodes) for _ in range(size)], **some("inputs outputs made_by")}

    return {
        "format_version": 1,
        "name": "large",
        "description": "繁體",
        **level(count),
        "subgraphs": {f"net {index}": level(20) for index in range(5)},
        "presets": {f"preset {index}": level(20) for index in range(5)},
        "settings": {"seed": 1, "device": "cpu", **some("colour zoom")},
        **some("comments viewport_of_tomorrow"),
    }


@pytest.mark.parametrize("write", [canonical_bytes, pretty_bytes])
@pytest.mark.parametrize("seed", [0, 1])
def test_two_thousand_nodes_of_all_kinds(seed: int, write: Callable[[GraphDocument], bytes]) -> None:
    raw = large(2000, seed)
    once = write(parse_graph(json.dumps(raw).encode()))
    assert write(parse_graph(once)) == once
    # Nothing is lost and nothing is added. The text of the JSON tells 1 from 1.0 and true, which == does not.
    assert json.dumps(json.loads(once), sort_keys=True) == json.dumps(raw, sort_keys=True)
    # The order of keys in the file that was read does not matter; that of nodes and wires is the author's.
    shuffled = json.dumps(turned(raw)).encode()
    assert write(parse_graph(shuffled)) == once


def turned(value: Any) -> Any:
    """The same with the keys of every object in the opposite order."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(list(value))}
    return [turned(item) for item in value] if isinstance(value, list) else value


def test_what_a_newer_version_saved_is_kept_and_the_rest_is_understood() -> None:
    raw = {
        "format_version": 1,
        "name": "from tomorrow",
        "nodes": [
            {"id": "new", "type": "NotYetKnown", "position": {"x": 0, "y": 0}, "data": {"params": {"a": [1]}, "version": 7, "shine": True}, "glow": 3},
            {"id": "old", "type": "SklearnDataset", "position": {"x": 0, "y": 0}, "data": {"params": {}}},
        ],
        "edges": [{"source": "old", "sourceHandle": "dataset", "target": "new", "targetHandle": "z", "bend": 0.5}],
        "presets": {"p": {"nodes": [], "edges": [], "made_by": "tomorrow"}},
        "settings": {"seed": 1, "colour": "blue"},
        "comments": [{"text": "hello"}],
    }  # fmt: skip
    document = parse_graph(json.dumps(raw).encode())
    assert json.loads(canonical_bytes(document)) == raw
    problems = validate_graph(document, default_registry())
    assert [(item.code, item.node_id) for item in problems] == [("unknown_node_type", "new")]
