"""P-8: a child that was started ahead of its run gives the numbers of one that was not, and holds no card."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codefy_protocol.pipe import ChildRecord, Preamble, Warm, WarmUp

pytestmark = pytest.mark.integration

NewChild = Callable[..., Any]
Graph = Callable[..., bytes]


def warmed(new_child: NewChild, **environment: str) -> tuple[Any, Warm]:
    """A standby child that has said that it is ready."""
    child = new_child(PYTHONHASHSEED="0", OMP_NUM_THREADS="1", **environment)
    assert isinstance(child.next(), Preamble)
    child.send(WarmUp())
    warm = child.next()
    assert isinstance(warm, Warm)
    return child, warm


EXAMPLE = Path(__file__).parents[3] / "examples" / "wine-mlp.json"


def wine() -> bytes:
    """An example with few epochs."""
    graph = json.loads(EXAMPLE.read_bytes())
    for node in graph["nodes"]:
        if node["type"] == "TrainingLoop":
            node["data"]["params"]["epochs"] = 2
    return json.dumps(graph).encode()


def numbers(records: list[ChildRecord]) -> list[Any]:
    """Every metric of a run, to the last bit; speeds and memory left out."""
    points = [
        point for each in records if each.frame == "metrics" for point in json.loads(each.body)["points"]
    ]
    measured = ("samples_per_second", "memory", "seconds")
    return [
        (point["name"], point["value"], point["step"], point.get("epoch"))
        for point in points
        if not any(word in point["name"] for word in measured)
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path


def test_a_run_in_a_standby_child_gives_the_numbers_of_a_fresh_one(new_child: NewChild, folder: Path) -> None:
    cold = new_child(PYTHONHASHSEED="0", OMP_NUM_THREADS="1")
    cold.next()
    cold.start_run(wine())
    fresh = cold.rest()
    warm, _ = warmed(new_child)
    warm.start_run(wine())
    ahead = warm.rest()
    assert numbers(fresh) == numbers(ahead)
    assert len(numbers(fresh)) > 4


def test_the_circumstances_of_a_run_are_those_of_a_fresh_child(
    new_child: NewChild, does: Graph, folder: Path
) -> None:
    cold = new_child(PYTHONHASHSEED="0", OMP_NUM_THREADS="1", CODEFY_EXECUTION_PARALLEL_NODES="1")
    cold.next()
    cold.start_run(does("circumstances"))
    cold.rest()
    warm, told = warmed(new_child, CODEFY_EXECUTION_PARALLEL_NODES="1")
    assert told.card_free
    warm.start_run(does("circumstances"))
    warm.rest()
    fresh, ahead = (json.loads(child.ended()[1]) for child in (cold, warm))
    assert ahead["folder"] == str(folder / "run")
    assert ahead["heavy"] == ["sklearn", "torch"]
    for facts in (fresh, ahead):
        del facts["folder"], facts["heavy"]  # the test starts a child where it is itself
    assert ahead == fresh
    assert ahead["priorities"] == [os.getpriority(os.PRIO_PROCESS, 0)]
    assert not ahead["context"]
    assert any(path.endswith("codefy_test_nodes.py") for path in told.files)
    assert any(path.endswith("site-packages") for path in told.files)
    assert all(told.files[path] == Path(path).stat().st_mtime_ns for path in told.files)


def test_a_standby_child_ends_with_its_agent(new_child: NewChild) -> None:
    child, _ = warmed(new_child)
    child.close(child.to_child)
    status, out, err = child.ended()
    assert (status, out, err) == (0, "", "")
