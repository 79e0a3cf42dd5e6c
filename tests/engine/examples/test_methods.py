"""Examples of methods, data and ways to train, executed as they are shipped."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from codefy_engine.graph.document import parse_graph

EXAMPLES = Path(__file__).parents[3] / "examples"


def execute(name: str, harness: Any) -> tuple[dict[str, float], Any]:
    """Run an example; its last metrics by name, and what it reported."""
    document = parse_graph((EXAMPLES / f"{name}.json").read_bytes())
    outcome, kept = harness.execute(document)
    assert outcome.status == "succeeded", outcome.error
    assert set(kept.last_status().values()) == {"succeeded"}
    assert kept.warnings == []
    return {p["name"]: p["value"] for body in kept.metrics for p in body["points"]}, kept


def pictures(kept: Any) -> set[str]:
    return {artifact["name"] for artifact in kept.artifacts if artifact["kind"] == "image"}


def test_groups_are_digits(harness: Any) -> None:
    points, kept = execute("kmeans-pca", harness)
    assert points["groups_adjusted_rand"] > 0.5
    assert points["groups_mutual_information"] > 0.6
    assert 0 < points["silhouette"] < 1
    assert len(pictures(kept)) == 3


def test_a_ring_needs_a_bent_border(harness: Any) -> None:
    points, kept = execute("svm-vs-mlp", harness)
    assert points["straight_accuracy"] < 0.65
    assert points["rbf_accuracy"] > 0.95
    assert points["mlp_accuracy"] > 0.95
    assert len(pictures(kept)) == 4


def test_the_best_rate_is_neither_the_smallest_nor_the_largest(
    harness: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    _, kept = execute("map-over-preset", harness)
    said = capsys.readouterr().out.strip()
    assert said.startswith("Best learning rate: ")
    assert float(said.split(": ")[1]) in (0.03, 0.3)
    accuracies = [
        point["value"]
        for body in kept.metrics
        for point in body["points"]
        if point["name"] == "test_accuracy"
    ]
    assert len(accuracies) == 5
    assert max(accuracies) > 0.9 > min(accuracies)
    judged = [item for item in kept.payloads("inner_node_status") if item["path"][-1] == "judge"]
    # While it runs it tells how far it is; what counts is that each item begins and ends in turn.
    told = [(item["path"][0], item["status"]) for item in judged]
    assert [state for state, _ in itertools.groupby(told)] == [
        (f"item {number}", status) for number in range(1, 6) for status in ("running", "succeeded")
    ]


def test_going_on_ends_with_the_same_loss(harness: Any, capsys: pytest.CaptureFixture[str]) -> None:
    points, kept = execute("resume-checkpoint", harness)
    assert capsys.readouterr().out.strip() == "Difference of the final losses: 0.0"
    losses: dict[str, dict[int, float]] = {"whole": {}, "first": {}, "rest": {}}
    for body in kept.metrics:
        for point in body["points"]:
            if point["name"] == "loss":
                losses[point["node_id"]][point["step"]] = point["value"]
    assert losses["first"] | losses["rest"] == losses["whole"]
    assert not losses["first"].keys() & losses["rest"].keys()
    assert points["test_accuracy"] > 0.85


def test_a_folder_of_images_is_learned(harness: Any) -> None:
    points, kept = execute("image-folder", harness)
    assert points["test_accuracy"] > 0.9
    folder = harness.folder / "files" / "example-digits"
    assert sorted(path.name for path in folder.iterdir()) == [str(digit) for digit in range(10)]
    assert len(list(folder.rglob("*.png"))) == 900
    assert "Pictures-from-the-folder.png" in pictures(kept)


def test_a_table_is_learned(harness: Any) -> None:
    points, kept = execute("csv-regression", harness)
    assert points["ridge_r2"] > 0.3
    assert points["forest_r2"] > 0.3
    assert points["answers_r2"] == pytest.approx(points["ridge_r2"])
    assert (harness.folder / "files" / "example-diabetes.csv").read_text().count("\n") == 443
    assert pictures(kept) == {"What-is-to-be-foretold.svg"}
