"""What a run says when something cannot work: which node, why, and what is kept."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from codefy_engine.execution.errors import node_error
from codefy_engine.graph import Builder, canonical_bytes, parse_graph, validate_graph
from codefy_engine.nodes.base import Node, NodeContext, node, output
from codefy_engine.training.checkpoints import load_checkpoint
from codefy_engine.training.data import TensorDataset
from codefy_protocol.names import RunOptions


def problems(harness: Any, raw: dict[str, Any]) -> list[tuple[str, str | None]]:
    found = validate_graph(parse_graph(json.dumps(raw).encode()), harness.registry())
    return [(item.code, item.node_id) for item in found]


def node_(node_id: str, type: str, **params: Any) -> dict[str, Any]:
    return {"id": node_id, "type": type, "data": {"params": params}}


def wire(source: str, source_port: str, target: str, target_port: str) -> dict[str, str]:
    return {"source": source, "sourceHandle": source_port, "target": target, "targetHandle": target_port}


# ---------------------------------------------------------------------- wires and shapes
def test_a_wrong_wire_is_named_before_anything_runs(harness: Any) -> None:
    raw = {
        "nodes": [node_("number", "ConstantValue"), node_("train", "DataLoader")],
        "edges": [wire("number", "value", "train", "dataset")],
    }
    assert ("port_type_mismatch", "train") in problems(harness, raw)
    outcome, kept = harness.execute(parse_graph(json.dumps(raw).encode()))
    assert outcome.error.code == "invalid_graph" and kept.events == []


def network(harness: Any, *nodes: Any, features: int = 8, **params: Any) -> Any:
    graph = Builder(registry=harness.registry(*nodes))
    net = graph.subgraph("net")
    x = net.add("Linear", "first", x=net.add("ModuleInput", "in"), out_features=features)
    x = net.add("Reshape", "shape", x=x, shape=[4, 2])
    x = net.add("Flatten", "flat", x=x)
    net.add("ModuleOutput", "out", x=net.add("Linear", "scores", x=x, out_features=3))
    data = graph.add(nodes[0].spec.definition.type if nodes else "Blobs", "data")
    graph.add(
        "TrainingLoop",
        "train",
        train=graph.add("DataLoader", "loader", dataset=data, batch_size=20, shuffle=False),
        model=graph.add("Module", "model", subgraph="net"),
        optimizer=graph.add("SGD", "sgd", lr=0.01),
        **{"epochs": 3, **params},
    )
    return graph.build()


def test_a_shape_that_does_not_fit_inside_a_module_names_the_layer(harness: Any) -> None:
    outcome, _ = harness.execute(network(harness, features=7))
    assert outcome.error.node_id == "train"
    assert "shape (Reshape) in net does not take 7" in outcome.error.message


# ---------------------------------------------------------------------- a loss that is not finite
@node(type="GoodThenBad", title="Good, then bad", category="tests", icon="x")
class GoodThenBad(Node):
    """Sixty samples; from the second epoch on the last batch has a hole."""

    dataset: Any = output("dataset")

    def run(self, ctx: NodeContext) -> Any:
        def spoil(inputs: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
            calls.append(len(inputs))
            return inputs * math.nan if len(calls) == 6 else inputs

        calls: list[int] = []
        clean = torch.randn(60, 2, generator=torch.Generator().manual_seed(0))
        return TensorDataset(inputs=clean, targets=torch.arange(60) % 3, alterations=(spoil,))


def test_a_nan_says_its_step_and_the_last_good_checkpoint_stays(harness: Any) -> None:
    outcome, kept = harness.execute(network(harness, GoodThenBad), nodes=[GoodThenBad])
    assert outcome.status == "succeeded", outcome.error
    (warning,) = kept.warnings
    assert (warning["code"], warning["node_id"]) == ("nonfinite_loss", "train")
    assert warning["params"] == {"value": "NaN", "step": 6}
    assert {item["meta"]["epoch"] for item in kept.artifacts} == {1}
    for item in kept.artifacts:
        checkpoint = load_checkpoint(harness.folder / "run" / item["path"])
        assert checkpoint.progress.step == 3
        assert all(bool(tensor.isfinite().all()) for tensor in checkpoint.model.values())


def test_a_run_can_stop_at_the_nan_and_keeps_that_checkpoint_too(harness: Any) -> None:
    outcome, kept = harness.execute(network(harness, GoodThenBad, stop_on_nan=True), nodes=[GoodThenBad])
    assert outcome.status == "failed"
    assert outcome.error.node_id == "train"
    assert "the loss is nan at step 6; checkpoints of the epochs before it are kept" in outcome.error.message
    assert outcome.error.traceback is None
    assert {item["meta"]["epoch"] for item in kept.artifacts} == {1}
    outcome, kept = harness.execute(
        network(harness, GoodThenBad, stop_on_nan=True, checkpoint="none"), nodes=[GoodThenBad]
    )
    assert "kept" not in outcome.error.message and kept.artifacts == []


# ---------------------------------------------------------------------- exceptions
def test_an_exception_is_named_with_the_users_own_lines(harness: Any) -> None:
    graph = Builder(registry=harness.registry())
    code = "def inner(v):\n    return torch.ones(2) @ torch.ones(3)\ny = inner(x)\n"
    graph.add("PythonScript", "mine", code=code, inputs="x", outputs="y")
    outcome, kept = harness.execute(graph.build())
    error = outcome.error
    assert (error.code, error.node_id) == ("node_failed", "mine")
    assert error.params["title"] == "Python script" and "RuntimeError" in error.params["detail"]
    assert 'File "<script mine>", line 3, in <module>' in error.traceback
    assert "return torch.ones(2) @ torch.ones(3)" in error.traceback
    # The engine's own frames are none of the user's business.
    assert "codefy_engine/execution" not in error.traceback
    failed = [item for item in kept.payloads("node_status") if item["status"] == "failed"]
    assert [item["node_id"] for item in failed] == ["mine"]


# ---------------------------------------------------------------------- memory
@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda: torch.empty(10**15, dtype=torch.uint8), 10**15),
        (lambda: np.zeros((2**50,), dtype=np.uint8) + 1, 2**50),
    ],
    ids=["torch", "numpy"],
)
def test_out_of_memory_says_which_node_and_how_much(harness: Any, make: Any, wanted: int) -> None:
    @node(type="Greedy", title="Greedy", category="tests", icon="x")
    class Greedy(Node):
        """Take everything."""

        y: Any = output("value")

        def run(self, ctx: NodeContext) -> Any:
            return make()

    graph = Builder(registry=harness.registry(Greedy))
    graph.add("Greedy", "g")
    outcome, _ = harness.execute(graph.build(), nodes=[Greedy])
    error = outcome.error
    assert (error.code, error.node_id, error.params["device"]) == ("out_of_memory", "g", "cpu")
    assert error.params["wanted_bytes"] == pytest.approx(wanted, rel=0.01)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.1 GiB", 5 * 2**29),
        ("CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; …)", 20 * 2**20),
        ("no words about it", None),
    ],
)
def test_how_much_a_card_lacked(words: str, wanted: int | None) -> None:
    error = torch.OutOfMemoryError(words)
    told = node_error(error, node_id="n", title="N", device="cuda:0", home=None)
    assert told.code == "out_of_memory" and told.params["wanted_bytes"] == wanted
    assert words in told.message


# ---------------------------------------------------------------------- graphs
def test_a_module_that_contains_itself_is_named(harness: Any) -> None:
    raw = {
        "nodes": [node_("m", "Module", subgraph="a")],
        "subgraphs": {
            name: {
                "nodes": [
                    node_("in", "ModuleInput"),
                    node_("again", "Submodule", subgraph=other),
                    node_("out", "ModuleOutput"),
                ],
                "edges": [wire("in", "x", "again", "x"), wire("again", "y", "out", "x")],
            }
            for name, other in (("a", "b"), ("b", "a"))
        },
    }
    (problem,) = validate_graph(parse_graph(json.dumps(raw).encode()), harness.registry())
    assert (problem.code, problem.node_id) == ("module_invalid", "m/again/again")
    assert "it contains itself (a → b → a)" in problem.message
    raw["subgraphs"]["a"]["edges"].append(wire("again", "y", "again", "x2"))
    assert "graph_cycle" in [code for code, _ in problems(harness, raw)]


def test_a_preset_that_vanished_is_named_also_where_a_node_executes_it(harness: Any) -> None:
    raw = {
        "nodes": [
            node_("p", "Preset", preset="gone"),
            node_("c", "ConstantValue", kind="list"),
            node_("map", "MapPreset", preset="gone"),
        ],
        "edges": [wire("c", "value", "map", "items")],
    }
    assert problems(harness, raw) == [("unknown_preset", "p"), ("unknown_preset", "map")]


def test_a_graph_of_a_newer_version_keeps_what_is_unknown_and_says_so(harness: Any) -> None:
    raw = {
        "format_version": 1,
        "edges": [wire("c", "value", "new", "anything")],
        "nodes": [
            {"id": "c", "type": "Constant", "position": {"x": 0, "y": 0}, "data": {"params": {}}},
            {
                "id": "new",
                "type": "FromTheFuture",
                "position": {"x": 0, "y": 1},
                "data": {"params": {"a": [1, {"b": None}]}, "later": True},
            },
        ],
        "novelty": {"x": 1},
    }
    document = parse_graph(json.dumps(raw).encode())
    again = json.loads(canonical_bytes(document))
    assert again["novelty"] == {"x": 1}
    assert again["nodes"][1]["data"] == raw["nodes"][1]["data"]
    assert ("unknown_node_type", "new") in problems(harness, raw)
    # What does not need the stranger can be run to.
    outcome, kept = harness.execute(document, options=RunOptions(until_node="c"))
    assert outcome.status == "succeeded" and kept.last_status() == {"c": "succeeded"}


# ---------------------------------------------------------------------- files
def test_a_file_that_is_no_image_and_a_ragged_table_are_named(harness: Any) -> None:
    folder = harness.folder / "files"
    (folder / "p/cat").mkdir(parents=True)
    (folder / "p/cat/1.png").write_bytes(b"not an image")
    (folder / "t.csv").write_text("a,b\n1,2\n3,4,5\n")
    for kind, param, name, words in (
        ("ImageFolder", "folder", "p", "p/cat/1.png: 1.png is not an image"),
        ("CsvDataset", "file", "t.csv", "line 3 of t.csv has 3 values; the header has 2"),
    ):
        graph = Builder(registry=harness.registry())
        graph.add(kind, "read", **{param: name})
        outcome, _ = harness.execute(graph.build())
        error = outcome.error
        assert (error.code, error.node_id, error.traceback) == ("node_failed", "read", None)
        assert words in error.message


def test_a_model_that_answers_with_nan_is_still_judged(harness: Any) -> None:
    @node(type="Lost", title="Lost", category="tests", icon="x")
    class Lost(Node):
        """A model whose weights are NaN."""

        model: Any = output("model")

        def run(self, ctx: NodeContext) -> Any:
            model = nn.Linear(2, 3)
            nn.init.constant_(model.weight, math.nan)
            return model.eval()

    graph = Builder(registry=harness.registry(Lost))
    graph.add("Evaluate", "e", data=graph.add("Blobs", "b"), model=graph.add("Lost"))
    outcome, kept = harness.execute(graph.build(), nodes=[Lost])
    assert outcome.status == "succeeded", outcome.error
    points = [point for body in kept.metrics for point in body["points"]]
    assert next(point["value"] for point in points if point["name"] == "test_loss") == "NaN"
