"""What a reused node did is seen again, and what it read is looked at again (G-4)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codefy_engine.execution import cache
from codefy_engine.execution.cache import ResultCache, result_of
from codefy_engine.execution.outputs import OutputStore
from codefy_engine.execution.state import ExecutionState
from codefy_engine.graph import Builder, parse_graph
from codefy_engine.nodes.base import Node, NodeContext, input, node, output, param
from codefy_protocol import reasons
from codefy_protocol.names import RunOptions

RAN: list[str] = []


@node(type="Twice", title="Twice", category="tests", icon="x")
class Twice(Node):
    """Double a number."""

    x: Any = input("value")
    factor: float = param(2.0)
    y: Any = output("value")

    def run(self, ctx: NodeContext) -> Any:
        RAN.append(ctx.node_id)
        return self.x * self.factor


@node(type="Length", title="Length", category="tests", icon="x")
class Length(Node):
    """The length of a text."""

    x: Any = input("value")
    y: Any = output("value")

    def run(self, ctx: NodeContext) -> Any:
        RAN.append(ctx.node_id)
        return float(len(self.x))


@node(type="Loud", title="Loud", category="tests", icon="x")
class Loud(Node):
    """Warn, and tell the state of something inside."""

    y: Any = output("value")

    def run(self, ctx: NodeContext) -> Any:
        RAN.append(ctx.node_id)
        ctx.warn(reasons.reason(reasons.NONFINITE_LOSS, value=1.0, step=3))
        ctx.inner(["net", "a"], "built", parameters=4)
        ctx.inner(["net", "a"], "running")
        ctx.progress(0.5)
        return 1


@node(type="Restless", title="Restless", category="tests", icon="x", deterministic=False)
class Restless(Node):
    """Never the same."""

    x: Any = input("value")
    y: Any = output("value")

    def run(self, ctx: NodeContext) -> Any:
        RAN.append(ctx.node_id)
        return self.x


NODES = (Twice, Length, Loud, Restless)


@pytest.fixture(autouse=True)
def forget() -> None:
    RAN.clear()


@pytest.fixture
def session(harness: Any, one_at_a_time: None) -> Any:
    """Runs a graph in one session: what ran, the last states, and what was told."""
    state = ExecutionState()

    def run(graph: Any, **fields: Any) -> tuple[list[str], dict[str, str], Any]:
        RAN.clear()
        document = graph if not hasattr(graph, "build") else graph.build()
        outcome, kept = harness.execute(document, nodes=NODES, state=state, **fields)
        assert outcome.status == "succeeded", outcome.error
        return list(RAN), kept.last_status(), kept

    return run


# ---------------------------------------------------------------------- effects
def test_a_reused_print_prints_again(session: Any, harness: Any, capfd: Any) -> None:
    graph = Builder(registry=harness.registry(*NODES))
    graph.add("Print", "p", value=graph.add("ConstantValue", "c", number=4.5), label="it is")
    session(graph)
    assert capfd.readouterr().out == "it is: 4.5\n"
    _, statuses, _ = session(graph)
    assert statuses["p"] == "reused"
    assert capfd.readouterr().out == "it is: 4.5\n"


def test_a_printed_secret_is_taken_out(harness: Any, capfd: Any) -> None:
    graph = Builder(registry=harness.registry(*NODES))
    graph.add("Print", "p", value=graph.add("ConstantValue", "c", kind="text", text="key hunter2"))
    harness.execute(graph.build(), secrets={"PIN": "hunter2"})
    assert capfd.readouterr().out == "key [secret PIN]\n"


def test_warnings_and_inner_states_are_told_again(session: Any, harness: Any) -> None:
    graph = Builder(registry=harness.registry(*NODES))
    graph.add("Loud", "l")
    _, _, first = session(graph)
    ran, _, again = session(graph)
    assert ran == [] and again.last_status() == {"l": "reused"}
    assert again.warnings == first.warnings != []
    # That it ran, and how far it was, is no news any more.
    assert again.payloads("inner_node_status") == [
        {"node_id": "l", "path": ["net", "a"], "status": "built", "parameters": 4}
    ]


def test_every_shown_picture_is_there_again(session: Any, harness: Any, tmp_path: Path) -> None:
    graph = Builder(registry=harness.registry(*NODES))
    values = graph.add("TensorByHand", "t", values=[[1, 2], [3, 4]])
    for kind in ("LineChart", "Histogram", "ScatterPlot", "HeatMap"):
        port = "points" if kind == "ScatterPlot" else "value"
        graph.add(kind, kind, **{port: values})
    harness.folder = tmp_path / "one"
    _, _, first = session(graph)
    harness.folder = tmp_path / "two"
    _, statuses, again = session(graph)
    assert set(statuses.values()) == {"reused"}
    assert len(first.artifacts) == 4
    assert sorted(map(str, again.artifacts)) == sorted(map(str, first.artifacts))
    assert all((tmp_path / "two/run" / item["path"]).is_file() for item in again.artifacts)


def test_writers_and_nodes_without_outputs_always_run(session: Any, harness: Any) -> None:
    (harness.folder / "files").mkdir()
    graph = Builder(registry=harness.registry(*NODES))
    graph.add("SaveText", "s", value=graph.add("ConstantValue", "c", kind="text", text="a"), path="a.txt")
    session(graph)
    (harness.folder / "files/a.txt").unlink()
    _, statuses, _ = session(graph)
    assert statuses == {"c": "reused", "s": "succeeded"}
    assert (harness.folder / "files/a.txt").read_text() == "a"


def test_a_node_whose_words_had_to_go_is_not_reused_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MAX_KNOWN_BYTES", 1000)
    store = ResultCache(max_bytes=10)
    for name in (b"a", b"b", b"c"):
        store.put(name, result_of({"v": "x" * 100}, {}, (), b"", [("console", b"y" * 400)]))
    assert store.get(b"a") is None
    kept = store.get(b"c")
    assert kept is not None and kept.outputs is None and kept.records == (("console", b"y" * 400),)


# ---------------------------------------------------------------------- files
def reading(harness: Any) -> Any:
    graph = Builder(registry=harness.registry(*NODES))
    path = graph.add("ConstantValue", "path", kind="text", text="notes/a.txt")
    text = graph.add("TextFile", "read", path=path)
    graph.add("Twice", "double", x=graph.add("Length", "length", x=text))
    graph.add("Twice", "other", x=graph.add("ConstantValue", "c"))
    return graph


def test_a_file_whose_path_came_over_a_wire_is_read_again_when_it_changes(session: Any, harness: Any) -> None:
    folder = harness.folder / "files/notes"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("one")
    assert set(session(reading(harness))[1].values()) == {"succeeded"}
    assert set(session(reading(harness))[1].values()) == {"reused"}
    (folder / "a.txt").write_text("three")
    ran, statuses, kept = session(reading(harness))
    assert ran == ["length", "double"] and statuses["read"] == "succeeded"
    assert statuses["path"] == statuses["other"] == "reused"
    values = {item["node_id"]: item["outputs"] for item in kept.payloads("node_status") if "outputs" in item}
    assert values["double"]["y"]["value"] == 10.0
    assert session(reading(harness))[0] == []
    # Again when only the last part of the graph is asked for.
    (folder / "a.txt").write_text("four four")
    assert session(reading(harness), options=RunOptions(until_node="double"))[0] == ["length", "double"]


def test_every_reader_tells_what_it_reads(harness: Any) -> None:
    """Each builtin node with a path input is run on a path over a wire; then the file is touched."""
    import os

    import torch
    from safetensors.torch import save_file

    folder = harness.folder / "files"
    (folder / "pictures/a").mkdir(parents=True)
    (folder / "t.csv").write_text("a,b\n1,2\n3,4\n")
    (folder / "t.txt").write_text("hello")
    save_file({"tensor": torch.ones(2)}, folder / "t.safetensors")
    from PIL import Image

    Image.new("L", (4, 4)).save(folder / "pictures/a/1.png")
    readers = {
        "CsvDataset": "t.csv",
        "TextFile": "t.txt",
        "LoadTensor": "t.safetensors",
        "ImageFolder": "pictures",
    }
    for kind, name in readers.items():
        graph = Builder(registry=harness.registry())
        graph.add(kind, "r", path=graph.add("ConstantValue", "c", kind="text", text=name))
        state = ExecutionState()
        statuses: list[str] = []
        for turn in range(3):
            touched = folder / name if name != "pictures" else folder / "pictures/a/1.png"
            if turn == 2:
                os.utime(touched, (1, 1))
            outcome, kept = harness.execute(graph.build(), state=state)
            assert outcome.status == "succeeded", outcome.error
            statuses.append(kept.last_status()["r"])
        assert statuses == ["succeeded", "reused", "succeeded"], kind


# ---------------------------------------------------------------------- presets that a node executes
def mapped(preset: dict[str, Any] | None = None, **params: Any) -> Any:
    double = {
        "nodes": [{"id": "t", "type": "Twice", "data": {"params": {}}}],
        "edges": [],
        "inputs": [{"name": "item", "node": "t", "port": "x"}],
        "outputs": [{"name": "result", "node": "t", "port": "y"}],
        "params": [{"name": "factor", "node": "t", "param": "factor"}],
    }
    raw = {
        "nodes": [
            {
                "id": "c",
                "type": "ConstantValue",
                "data": {"params": {"kind": "list", "numbers": params.pop("numbers", [1, 2, 3])}},
            },
            {"id": "map", "type": "MapPreset", "data": {"params": {"preset": "double", **params}}},
        ],
        "edges": [{"source": "c", "sourceHandle": "value", "target": "map", "targetHandle": "items"}],
        "presets": {"double": preset or double},
    }
    return parse_graph(json.dumps(raw).encode())


def test_a_map_is_reused_until_something_in_it_changes(session: Any) -> None:
    inside = ["map/item 1/t", "map/item 2/t", "map/item 3/t"]
    assert session(mapped())[0] == inside
    ran, statuses, kept = session(mapped())
    assert ran == [] and statuses["map"] == "reused"
    assert [item["status"] for item in kept.payloads("inner_node_status")] == ["succeeded"] * 3
    assert session(mapped(numbers=[1, 2]))[0] == inside[:2]
    document = mapped()
    document.presets["double"]["nodes"][0]["data"]["params"]["factor"] = 3
    assert session(document)[0] == inside


def test_a_map_runs_again_when_its_preset_exposes_something_else(session: Any) -> None:
    preset = {
        "nodes": [
            {"id": "a", "type": "Twice", "data": {"params": {"factor": 2}}},
            {"id": "b", "type": "Twice", "data": {"params": {"factor": 5}}},
        ],
        "edges": [],
        "inputs": [{"name": "item", "node": "a", "port": "x"}, {"name": "item", "node": "b", "port": "x"}],
        "outputs": [{"name": "result", "node": "a", "port": "y"}],
    }
    session(mapped(preset))
    assert session(mapped(preset))[0] == []
    preset["outputs"][0]["node"] = "b"
    ran, statuses, _ = session(mapped(preset))
    assert len(ran) == 6 and statuses["map"] == "succeeded"


def test_a_map_over_something_restless_or_random_is_never_reused(session: Any) -> None:
    restless = {
        "nodes": [{"id": "t", "type": "Restless", "data": {"params": {}}}],
        "edges": [],
        "inputs": [{"name": "item", "node": "t", "port": "x"}],
        "outputs": [{"name": "result", "node": "t", "port": "y"}],
    }
    assert len(session(mapped(restless))[0]) == len(session(mapped(restless))[0]) == 3


def test_a_print_in_a_map_prints_again(session: Any, capfd: Any) -> None:
    preset = {
        "nodes": [{"id": "p", "type": "Print", "data": {"params": {}}}],
        "edges": [],
        "inputs": [{"name": "item", "node": "p", "port": "value"}],
        "outputs": [{"name": "result", "node": "p", "port": "text"}],
    }
    session(mapped(preset))
    assert capfd.readouterr().out == "1\n2\n3\n"
    _, statuses, _ = session(mapped(preset))
    assert statuses["map"] == "reused"
    assert capfd.readouterr().out == "1\n2\n3\n"


def test_a_file_that_is_read_in_a_map_is_read_again_when_it_changes(session: Any, harness: Any) -> None:
    folder = harness.folder / "files"
    folder.mkdir()
    for name in "ab":
        (folder / f"{name}.txt").write_text(name)
    preset = {
        "nodes": [
            {"id": "read", "type": "TextFile", "data": {"params": {}}},
            {"id": "len", "type": "Length", "data": {"params": {}}},
        ],
        "edges": [{"source": "read", "sourceHandle": "text", "target": "len", "targetHandle": "x"}],
        "inputs": [{"name": "item", "node": "read", "port": "path"}],
        "outputs": [{"name": "result", "node": "len", "port": "y"}],
    }

    def graph(preset: dict[str, Any]) -> Any:
        document = mapped(preset)
        document.nodes[0].type = "PathList"
        document.nodes[0].data.params = {}
        return document

    @node(type="PathList", title="Paths", category="tests", icon="x")
    class PathList(Node):
        """Two paths."""

        value: Any = output("value")

        def run(self, ctx: NodeContext) -> Any:
            return ["a.txt", "b.txt"]

    def run(preset: dict[str, Any]) -> list[str]:
        RAN.clear()
        outcome, _ = harness.execute(graph(preset), nodes=(*NODES, PathList), state=state)
        assert outcome.status == "succeeded", outcome.error
        return list(RAN)

    state = ExecutionState()
    assert len(run(preset)) == 2
    assert run(preset) == []
    (folder / "b.txt").write_text("longer")
    assert len(run(preset)) == 2
    # The same where the path is written in the preset.
    preset["nodes"][0]["data"]["params"]["file"] = "a.txt"
    preset["inputs"] = [{"name": "item", "node": "read", "port": "path"}]
    assert len(run(preset)) == 2
    (folder / "a.txt").write_text("longer too")
    assert len(run(preset)) == 2


def test_a_list_changed_in_place_is_not_reused(harness: Any) -> None:
    import torch

    @node(type="Tensors", title="Tensors", category="tests", icon="x")
    class Tensors(Node):
        """Tensors of ones."""

        value: Any = output("value")

        def run(self, ctx: NodeContext) -> Any:
            RAN.append(ctx.node_id)
            return [torch.ones(2), torch.ones(2)]

    @node(type="Spoil", title="Spoil", category="tests", icon="x", deterministic=False)
    class Spoil(Node):
        """Change the input."""

        x: Any = input("value")

        def run(self, ctx: NodeContext) -> Any:
            self.x[1].add_(1)

    graph = Builder(registry=harness.registry(Tensors, Spoil))
    graph.add("Spoil", "spoil", x=graph.add("Tensors", "tensors"))
    state = ExecutionState()
    for _ in range(2):
        RAN.clear()
        harness.execute(graph.build(), nodes=(Tensors, Spoil), state=state)
        assert RAN == ["tensors"]


# ---------------------------------------------------------------------- inner nodes
def test_progress_inside_a_map_is_told_with_its_path(harness: Any) -> None:
    @node(type="Slow", title="Slow", category="tests", icon="x")
    class Slow(Node):
        """Tell progress."""

        x: Any = input("value")
        y: Any = output("value")

        def run(self, ctx: NodeContext) -> Any:
            ctx.inner(["net", "a"], "built")
            ctx.progress(current=1, total=4, unit="steps", text="half", metrics={"loss": 0.5})
            ctx.progress(current=4, total=4, unit="steps")
            return self.x

    preset = {
        "nodes": [{"id": "s", "type": "Slow", "data": {"params": {}}}],
        "edges": [],
        "inputs": [{"name": "item", "node": "s", "port": "x"}],
        "outputs": [{"name": "result", "node": "s", "port": "y"}],
    }
    outcome, kept = harness.execute(mapped(preset, numbers=[7]), nodes=[Slow])
    assert outcome.status == "succeeded", outcome.error
    inner = kept.payloads("inner_node_status")
    for item in inner:
        assert item["node_id"] == "map" and item["path"][:2] == ["item 1", "s"]
    assert [(item["path"][2:], item["status"]) for item in inner] == [
        ([], "running"),
        (["net", "a"], "built"),
        ([], "running"),
        ([], "running"),
        ([], "succeeded"),
    ]
    assert inner[2]["progress"] == {
        "fraction": 0.25,
        "current": 1.0,
        "total": 4.0,
        "unit": "steps",
        "text": "half",
        "metrics": {"loss": 0.5},
    }
    assert inner[3]["progress"]["fraction"] == 1.0
    assert {item["node_id"] for item in kept.payloads("node_progress")} == {"map"}


def test_the_device_of_a_node_in_a_map_falls_back_with_one_warning(harness: Any) -> None:
    seen: list[str] = []

    @node(type="Where", title="Where", category="tests", icon="x")
    class Where(Node):
        """Tell the device."""

        x: Any = input("value")
        y: Any = output("value")

        def run(self, ctx: NodeContext) -> Any:
            seen.append(ctx.device)
            return self.x

    preset = {
        "nodes": [{"id": "w", "type": "Where", "data": {"params": {}, "device": "cuda:700"}}],
        "edges": [],
        "inputs": [{"name": "item", "node": "w", "port": "x"}],
        "outputs": [{"name": "result", "node": "w", "port": "y"}],
    }
    state = ExecutionState()
    for _ in range(2):
        _, kept = harness.execute(mapped(preset), nodes=[Where], state=state)
        assert [(item["code"], item["node_id"]) for item in kept.warnings] == [("device_fallback", "map")]
    assert seen == ["cpu"] * 3


def test_every_node_with_a_device_of_its_own_is_told_also_when_it_is_reused(harness: Any) -> None:
    graph = Builder(registry=harness.registry())
    for name in ("a", "b"):
        graph.add("ConstantValue", name)
    document = graph.build()
    for item in document.nodes:
        item.data.extra["device"] = "cuda:700"
    state = ExecutionState()
    for _ in range(2):
        _, kept = harness.execute(document, state=state)
        assert [item["node_id"] for item in kept.warnings] == ["a", "b"]


# ---------------------------------------------------------------------- weights of a session
def weights(harness: Any, state: ExecutionState | None, width: int = 3) -> list[float]:
    """A layer's and a module's answers to the same samples, in a run without a seed."""
    graph = Builder(registry=harness.registry())
    x = graph.add("TensorByHand", "x", values=[[1.0, 2.0]])
    net = graph.subgraph("net")
    inner = net.add("Linear", "l", x=net.add("ModuleInput", "in"), out_features=width)
    net.add("ModuleOutput", "out", x=inner)
    applied = graph.add("ApplyModel", "apply", x=x, model=graph.add("Module", "m", subgraph="net"))
    graph.add("Linear", "layer", x=applied["y"], out_features=2)
    outcome, kept = harness.execute(
        graph.build(), state=state, outputs=(store := OutputStore()), options=RunOptions(record_outputs=True)
    )
    assert outcome.status == "succeeded", outcome.error
    assert kept.last_status()["m"] == "succeeded"
    return [store.value("run-1", node_id, "y").flatten().tolist() for node_id in ("apply", "layer")]


def test_weights_stay_for_the_runs_of_a_session(harness: Any) -> None:
    state = ExecutionState()
    first = weights(harness, state)
    assert weights(harness, state) == first
    other = weights(harness, ExecutionState())
    assert other[0] != first[0] and other[1] != first[1]
    assert weights(harness, None)[0] != weights(harness, None)[0]
    # Another width makes other layers.
    wider = weights(harness, state, width=4)
    assert len(wider[0]) == 4
