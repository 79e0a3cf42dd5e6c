"""The examples, executed as they are shipped."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import torch

from codefy_engine.graph.document import parse_graph, pretty_bytes
from codefy_engine.graph.validation import validate_graph
from codefy_engine.nodes.registry import default_registry

EXAMPLES = Path(__file__).parents[3] / "examples"
RUNS = Path(__file__).parents[1] / "examples"
"""Tests that run the other examples and look at what comes out."""
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.json"))
ACCURACY = {"digits-cnn": 0.95, "wine-mlp": 0.9}


def test_every_example_has_an_asserted_result() -> None:
    tests = "".join(path.read_text("utf-8") for path in RUNS.glob("test_*.py"))
    assert {name for name in NAMES if f'"{name}"' not in tests} == set(ACCURACY)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_valid_canonical_and_told(name: str) -> None:
    data = (EXAMPLES / f"{name}.json").read_bytes()
    document = parse_graph(data)
    assert validate_graph(document, default_registry()) == []
    assert pretty_bytes(document) == data
    assert document.name == name
    assert len(document.description) > 60


@pytest.mark.parametrize("name", NAMES)
def test_nodes_of_an_example_do_not_overlap(name: str) -> None:
    document = parse_graph((EXAMPLES / f"{name}.json").read_bytes())
    for nodes in (document.nodes, *(subgraph.nodes for subgraph in document.subgraphs.values())):
        # A module lists its layers and is the tallest node of the top level.
        height = {"Module": 260}
        for a, b in itertools.combinations(nodes, 2):
            apart_x = abs(a.position.x - b.position.x) >= 185
            upper, lower = sorted((a, b), key=lambda n: n.position.y)
            apart_y = lower.position.y - upper.position.y >= height.get(upper.type, 150)
            assert apart_x or apart_y, (a.id, b.id)


@pytest.mark.parametrize("name", ACCURACY)
def test_an_example_trains_to_its_accuracy(name: str, harness: Any) -> None:
    document = parse_graph((EXAMPLES / f"{name}.json").read_bytes())
    outcome, kept = harness.execute(document)
    assert outcome.status == "succeeded", outcome.error
    assert set(kept.last_status().values()) == {"succeeded"}
    points = {p["name"]: p["value"] for body in kept.metrics for p in body["points"]}
    assert points["test_accuracy"] >= ACCURACY[name]
    assert points["val_accuracy"] >= ACCURACY[name]
    assert [a["kind"] for a in kept.artifacts].count("image") == 1
    checkpoint = next(a for a in kept.artifacts if a["name"] == "checkpoint-best.pt")
    state = torch.load(harness.folder / "run" / checkpoint["path"], weights_only=True)
    assert state["metrics"]["val_accuracy"] >= ACCURACY[name]
