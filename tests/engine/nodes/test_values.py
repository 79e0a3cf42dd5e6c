"""Every built-in type has a documentation that says something, a test of its values, and a graph that it stands in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codefy_engine.nodes.registry import default_registry

from .values import ALL
from .values.case import STRUCTURE, Case, Place, doing_nothing, leaves, play, same, wanted


@pytest.fixture
def place(harness: Any, monkeypatch: pytest.MonkeyPatch) -> Place:
    files: Path = harness.folder / "files"
    files.mkdir()
    return Place(files, monkeypatch)


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.id)
def test_a_node_gives_the_values_that_it_should(case: Case, place: Place, harness: Any) -> None:
    if case.ready is not None:
        case.ready(place)
    expected = wanted(case, place)
    assert list(leaves(expected)), "nothing is compared"
    found = play(case, place, harness)
    assert same(found, expected, case.close), f"{found}\n is not\n{expected}"
    if case.type in STRUCTURE:
        return
    registered = default_registry().get(case.type)
    place.monkeypatch.setattr(registered, "run", doing_nothing)
    try:
        hollow = same(play(case, place, harness), expected, case.close)
    except Exception:
        hollow = False
    assert not hollow, "it gives the same when the node does nothing"


def test_every_type_has_a_test_of_its_values() -> None:
    assert {case.type for case in ALL} == set(default_registry())
