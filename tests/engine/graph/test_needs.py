"""Which files, writing nodes and secrets a graph has, wherever they are drawn (T-1)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codefy_engine.graph import parse_graph
from codefy_engine.graph.needs import graph_needs, is_outside
from codefy_engine.nodes.base import Node, NodeContext, Secret, node, output, param
from codefy_engine.nodes.registry import Registry, default_registry


@node(type="Reader", title="Reader", category="tests", icon="file")
class Reader(Node):
    """Read."""

    path: str = param("", kind="file")
    token: Secret | None = param(None, kind="secret")
    value: Any = output("value")

    def run(self, ctx: NodeContext) -> None: ...


@node(type="Writer", title="Writer", category="tests", icon="file", writes=True, layer=True)
class Writer(Node):
    """Write."""

    def run(self, ctx: NodeContext) -> None: ...


@node(type="Looper", title="Looper", category="tests", icon="repeat")
class Looper(Node):
    """Loop."""

    preset: str = param("", kind="preset")

    def run(self, ctx: NodeContext) -> None: ...


def item(node_id: str, type: str, **params: Any) -> dict[str, Any]:
    return {"id": node_id, "type": type, "data": {"params": params}}


@pytest.fixture
def registry(harness: Any) -> Registry:
    Looper.spec.definition.source = "some-package"
    return harness.registry(Reader, Writer, Looper)


GRAPH = {
    "nodes": [
        item("a", "Reader", path="data/a.csv"),
        item("b", "Reader", path="/etc/passwd"),
        item("none", "Reader"),
        item("p", "Preset", preset="reading", file="b.csv", key={"secret": "TOKEN"}),
        item("loop", "Looper", preset="loops"),
        item("train", "TrainingLoop"),
        item("quiet", "TrainingLoop", checkpoint="none"),
        item("model", "Module", subgraph="net"),
    ],
    "presets": {
        "reading": {
            "nodes": [item("in", "Reader", path="../up.csv"), item("w", "Writer")],
            "params": [
                {"name": "file", "node": "in", "param": "path"},
                {"name": "key", "node": "in", "param": "token"},
            ],
        },
        "loops": {"nodes": [item("x", "Preset", preset="reading"), item("again", "Looper", preset="loops")]},
    },
    "subgraphs": {"net": {"nodes": [item("w", "Writer")]}},
}


def test_a_folder_is_as_large_as_what_its_links_lead_to(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "1.png").write_text("12345")
    (tmp_path / "data" / "a.csv").mkdir(parents=True)
    (tmp_path / "data" / "a.csv" / "cat").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "back").symlink_to(tmp_path / "data" / "a.csv")
    needs = graph_needs(parse_graph(json.dumps(GRAPH).encode()), registry, tmp_path)
    assert [use.size for use in needs.uploads if use.node_id == "a"] == [5]


def test_everything_is_found_wherever_it_is(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("12345")
    needs = graph_needs(parse_graph(json.dumps(GRAPH).encode()), registry, tmp_path)
    assert [(use.node_id, use.path, use.exists, use.size) for use in needs.uploads] == [
        ("a", "data/a.csv", True, 5),
        ("p/in", "b.csv", False, None),
    ]
    assert [(use.node_id, use.path) for use in needs.paths] == [
        ("b", "/etc/passwd"),
        ("loop/x/in", "../up.csv"),
    ]
    assert sorted((use.node_id, use.writes) for use in needs.writers) == [
        ("loop/x/w", "files"),
        ("model/w", "files"),
        ("p/w", "files"),
        ("train", "checkpoints"),
    ]
    assert [(use.node_id, use.param, use.name) for use in needs.secrets] == [("p/in", "token", "TOKEN")]
    assert needs.sources == {"Looper": "some-package"}
    assert not needs.transferable
    assert needs.upload_bytes == 5


def test_only_of_what_runs(registry: Registry) -> None:
    needs = graph_needs(parse_graph(json.dumps(GRAPH).encode()), registry, until_node="a")
    assert [use.node_id for use in needs.uploads] == ["a"]
    assert needs.writers == [] and needs.transferable


def test_a_folder_counts_all_its_files(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "images" / "cats").mkdir(parents=True)
    for name in ("a", "b"):
        (tmp_path / "images" / "cats" / name).write_bytes(b"xyz")
    graph = parse_graph(json.dumps({"nodes": [item("r", "Reader", path="images")]}).encode())
    assert graph_needs(graph, registry, tmp_path).upload_bytes == 6


@pytest.mark.parametrize(
    ("path", "outside"),
    [
        ("a.csv", False),
        ("a/../b.csv", False),
        ("../b.csv", True),
        ("a/../../b", True),
        ("/tmp/x", True),
        ("C:\\x", True),
        ("~/x", True),
        ("..\\x", True),
        ("..x", False),
    ],
)
def test_paths_that_lead_out_of_the_folder(path: str, outside: bool, tmp_path: Path) -> None:
    assert is_outside(path) is outside
    assert is_outside(path, tmp_path) is outside
    assert not is_outside(str(tmp_path / "in.csv"), tmp_path)


def test_the_training_example_writes_checkpoints() -> None:
    graph = parse_graph((Path(__file__).parents[3] / "examples" / "digits-cnn.json").read_bytes())
    needs = graph_needs(graph, default_registry())
    assert {use.writes for use in needs.writers} == {"checkpoints"}
    assert needs.uploads == needs.paths == [] and needs.sources == {}
