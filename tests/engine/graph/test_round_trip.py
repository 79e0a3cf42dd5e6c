"""Load → save is byte-stable for every example, for a large graph, and for one of a newer Codefy (G-1)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codefy_engine.graph import canonical_bytes, parse_graph, pretty_bytes, validate_graph
from codefy_engine.nodes.registry import default_registry

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.json"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_saved_as_they_are(path: Path) -> None:
    assert pretty_bytes(parse_graph(path.read_bytes())) == path.read_bytes()


def test_two_thousand_nodes() -> None:
    raw = {
        "nodes": [
            {"id": f"n{index}", "type": "Print", "position": {"x": index, "y": 0}, "data": {"params": {}}}
            for index in range(2000)
        ],
        "edges": [
            {"source": f"n{i}", "sourceHandle": "text", "target": f"n{i + 1}", "targetHandle": "value"}
            for i in range(1999)
        ],
    }
    once = canonical_bytes(parse_graph(json.dumps(raw).encode()))
    assert canonical_bytes(parse_graph(once)) == once


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
