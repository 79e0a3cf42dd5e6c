"""Saved graphs: names, revisions, files that other hands changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from codefy_control_plane.examples import ExampleStore, examples_folder
from codefy_control_plane.graphs import GraphStore, check_graph_name
from codefy_control_plane.runs.errors import Refused

GRAPH = b'{"format_version":1,"nodes":[{"id":"a"},{"id":"b"}],"edges":[]}'
OTHER = b'{"format_version":1,"nodes":[],"edges":[]}'


@pytest.fixture
def store(tmp_path: Path) -> GraphStore:
    return GraphStore(tmp_path / "graphs")


def refusal(call: object, *arguments: object) -> Refused:
    with pytest.raises(Refused) as caught:
        call(*arguments)  # type: ignore[operator]
    return caught.value


def test_revisions_count_up_and_conflicts_change_nothing(store: GraphStore, tmp_path: Path) -> None:
    assert store.put("digits", GRAPH, 0).revision == 1
    assert store.put("digits", OTHER, 1).revision == 2
    conflict = refusal(store.put, "digits", GRAPH, 1)
    assert (conflict.status, conflict.reason.code) == (409, "graph_changed")
    assert conflict.reason.params == {"name": "digits", "revision": 2, "base_revision": 1}
    saved = store.get("digits")
    assert (bytes(saved.graph), saved.revision) == (OTHER, 2)
    assert store.put("digits", GRAPH, None).revision == 3
    assert (tmp_path / "graphs" / "digits.json").read_bytes() == GRAPH


def test_new_means_new(store: GraphStore) -> None:
    store.put("digits", GRAPH, 0)
    assert refusal(store.put, "digits", GRAPH, 0).status == 409


def test_a_file_changed_by_hand_is_a_new_revision(store: GraphStore, tmp_path: Path) -> None:
    store.put("digits", GRAPH, None)
    (tmp_path / "graphs" / "digits.json").write_bytes(OTHER)
    assert store.get("digits").revision == 2
    assert refusal(store.put, "digits", GRAPH, 1).status == 409
    assert store.put("digits", GRAPH, 2).revision == 3


def test_a_stop_between_graph_and_revision_loses_neither(store: GraphStore, tmp_path: Path) -> None:
    store.put("digits", GRAPH, None)
    # What a stop leaves behind: the new graph with the old stamp.
    stamp = tmp_path / "graphs" / ".revisions" / "digits.json"
    before = stamp.read_bytes()
    store.put("digits", OTHER, None)
    stamp.write_bytes(before)
    saved = store.get("digits")
    assert (bytes(saved.graph), saved.revision) == (OTHER, 2)


def test_list_shows_graphs_and_skips_what_is_none(store: GraphStore, tmp_path: Path) -> None:
    assert store.list().graphs == []
    store.put("one", GRAPH, None)
    store.put("數字", OTHER, None)
    (tmp_path / "graphs" / "broken.json").write_text("{")
    (tmp_path / "graphs" / "folder.json").mkdir()
    graphs = {graph.name: graph for graph in store.list().graphs}
    assert set(graphs) == {"one", "數字"}
    assert graphs["one"].node_count == 2


def test_delete(store: GraphStore) -> None:
    store.put("one", GRAPH, None)
    store.delete("one")
    assert refusal(store.get, "one").reason.code == "graph_not_found"
    assert refusal(store.delete, "one").status == 404
    # A new graph of the name begins anew.
    assert store.put("one", GRAPH, 0).revision == 1


@pytest.mark.parametrize(
    "name",
    ["", "..", ".hidden", "a/b", "a\\b", "a:b", " a", "a ", "a\nb", "a\x00b", "x" * 101, "字" * 70, "a."],
)
def test_names_that_could_leave_the_folder_or_break_elsewhere(store: GraphStore, name: str) -> None:
    for refused in (
        refusal(store.get, name),
        refusal(store.put, name, GRAPH, None),
        refusal(store.delete, name),
    ):
        assert (refused.status, refused.reason.code) == (400, "invalid_name")


def test_names_are_one_however_they_are_typed() -> None:
    assert check_graph_name("cafe\u0301") == check_graph_name("caf\u00e9")


def test_examples_of_this_installation_are_listed_and_open() -> None:
    store = ExampleStore()
    listed = store.list().examples
    assert {path.stem for path in examples_folder().glob("*.json")} == {example.name for example in listed}
    assert "digits-cnn" in {example.name for example in listed}
    for summary in listed:
        example = store.get(summary.name)
        assert example.title
        assert example.description
        assert summary.node_count > 3
        assert bytes(example.graph).startswith(b"{")


def test_example_names_never_lead_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text("{}")
    inner = tmp_path / "examples"
    inner.mkdir()
    store = ExampleStore(inner)
    assert refusal(store.get, "../secret").reason.code == "example_not_found"
