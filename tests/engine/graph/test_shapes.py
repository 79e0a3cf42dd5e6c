"""Shapes and parameter counts without running, checked against the real thing (G-5)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codefy_engine.graph import GraphDocument, parse_graph
from codefy_engine.graph import shapes as shapes_module
from codefy_engine.graph.shape_sources import DATASETS
from codefy_engine.graph.shapes import graph_shapes
from codefy_engine.nodes.registry import Registry, default_registry

EXAMPLES = Path(__file__).parents[3] / "examples"


def node(node_id: str, type: str, **params: Any) -> dict[str, Any]:
    return {"id": node_id, "type": type, "data": {"params": params}}


def wire(text: str) -> dict[str, str]:
    (source, source_port), (target, target_port) = (end.split(".") for end in text.split())
    return {
        "source": source,
        "sourceHandle": source_port,
        "target": target,
        "targetHandle": target_port,
    }


def document(nodes: list[Any], wires: list[str], **rest: Any) -> GraphDocument:
    raw = {"nodes": nodes, "edges": [wire(item) for item in wires], **rest}
    return parse_graph(json.dumps(raw).encode())


def trained(layers: list[Any], wires: list[str], data: str = "digits", **subgraphs: Any) -> GraphDocument:
    net = {
        "nodes": [node("in", "ModuleInput"), *layers, node("out", "ModuleOutput")],
        "edges": [wire(item) for item in wires],
    }
    return document(
        [
            node("data", "SklearnDataset", name=data),
            node("split", "TrainTestSplit"),
            node("load", "DataLoader"),
            node("model", "Module", subgraph="net"),
            node("opt", "Adam"),
            node("train", "TrainingLoop"),
        ],
        [
            "data.dataset split.dataset",
            "split.train load.dataset",
            "load.loader train.train",
            "model.model train.model",
            "opt.optimizer train.optimizer",
        ],
        subgraphs={"net": net, **subgraphs},
    )


def test_the_digits_example_has_the_shapes_of_its_run() -> None:
    registry = default_registry()
    graph = parse_graph((EXAMPLES / "digits-cnn.json").read_bytes())
    shapes = graph_shapes(graph, registry)
    assert shapes.problems == []
    from codefy_engine.graph.plan import plan_subgraph
    from codefy_engine.training.module import GraphModule

    (name,) = graph.subgraphs
    module = GraphModule(name, plan_subgraph(graph, name, registry), seed=0)
    import torch

    module.build_for(torch.zeros(1, 1, 8, 8))
    found = {item.node_id: item for item in shapes.nodes}
    for report in module.reports:
        assert found[f"model/{report.id}"].outputs == {"y": [None, *report.shape]}
        assert found[f"model/{report.id}"].parameters == report.parameters
    assert found["model"].parameters == module.parameter_count
    wires = {(item.source, item.target): item for item in shapes.wires}
    assert wires["digits", "split"].shape == [1797, 1, 8, 8]
    assert len(wires) == len(graph.edges) + len(graph.subgraphs[name].edges)
    assert {item.edge_id for item in shapes.wires if "/" not in item.source} == {e.id for e in graph.edges}


@pytest.mark.parametrize("name", ["digits", "wine", "iris", "breast_cancer", "diabetes"])
def test_the_known_data_sets_are_what_they_load(name: str) -> None:
    from codefy_engine.training.sklearn_data import load_sklearn

    data = load_sklearn(name)
    count, sample, dtype = DATASETS["SklearnDataset"]({"name": name})
    assert (count, sample, f"torch.{dtype}") == (len(data), data.sample_shape, str(data.inputs.dtype))


def test_a_mismatch_inside_a_module_names_the_layer_and_keeps_the_rest(registry: Registry) -> None:
    graph = trained(
        [node("flat", "Flatten"), node("conv", "Conv2d"), node("lin", "Linear", out_features=3)],
        ["in.x flat.x", "flat.y conv.x", "conv.y lin.x", "lin.y out.x"],
    )
    shapes = graph_shapes(graph, registry)
    (problem,) = shapes.problems
    assert (problem.code, problem.node_id) == ("shape_mismatch", "model/conv")
    assert "n × 64" in problem.message and "channels x height x width" in problem.message
    found = {(item.source, item.target): item.text for item in shapes.wires}
    assert found["model/in", "model/flat"] == "n × 1 × 8 × 8"
    assert found["model/flat", "model/conv"] == "n × 64"
    assert found["model/conv", "model/lin"] == ""


def test_modules_within_modules_and_presets_of_layers(registry: Registry) -> None:
    block = {
        "nodes": [
            node("in", "ModuleInput"),
            node("lin", "Linear", out_features=13),
            node("out", "ModuleOutput"),
        ],
        "edges": [wire("in.x lin.x"), wire("lin.y out.x")],
    }
    head = {
        "nodes": [node("act", "ReLU"), node("last", "Linear", out_features=3)],
        "edges": [wire("act.y last.x")],
        "inputs": [{"name": "x", "node": "act", "port": "x"}],
        "outputs": [{"name": "y", "node": "last", "port": "y"}],
    }
    graph = trained(
        [node("deep", "Submodule", subgraph="block", repeat=2), node("head", "Preset", preset="head")],
        ["in.x deep.x", "deep.y head.x", "head.y out.x"],
        data="wine",
        block=block,
    )
    graph.presets["head"] = head
    shapes = graph_shapes(graph, registry)
    assert shapes.problems == []
    found = {item.node_id: item for item in shapes.nodes}
    assert found["model/deep"].parameters == 2 * (13 * 13 + 13)
    assert found["model/deep/lin"].outputs == {"y": [None, 13]}
    assert found["model/head/last"].parameters == 13 * 3 + 3
    assert found["model"].parameters == 2 * (13 * 13 + 13) + 13 * 3 + 3


def test_layers_and_tensors_outside_of_modules(registry: Registry) -> None:
    graph = document(
        [
            node("data", "SklearnDataset", name="digits"),
            node("tensors", "DatasetToTensors"),
            node("conv", "Conv2d", out_channels=4),
            node("flat", "Flatten"),
        ],
        ["data.dataset tensors.dataset", "tensors.inputs conv.x", "conv.y flat.x"],
    )
    shapes = graph_shapes(graph, registry)
    found = {(item.source, item.target): (item.shape, item.dtype) for item in shapes.wires}
    assert found["tensors", "conv"] == ([1797, 1, 8, 8], "float32")
    assert found["conv", "flat"] == ([1797, 4, 8, 8], "float32")
    assert {item.node_id: item.parameters for item in shapes.nodes}["conv"] == 40


@pytest.mark.parametrize("name", ["lstm-series", "unet-diffusion", "mixture-of-experts", "vit"])
def test_every_wire_in_the_modules_of_an_example_has_its_shape(name: str) -> None:
    graph = parse_graph((EXAMPLES / f"{name}.json").read_bytes())
    shapes = graph_shapes(graph, default_registry())
    assert shapes.problems == []
    inside = [item for item in shapes.wires if "/" in item.source]
    assert inside and all(item.shape is not None for item in inside)


def test_an_unfinished_graph_and_one_with_problems(registry: Registry) -> None:
    unfinished = document(
        [node("data", "SklearnDataset"), node("train", "TrainingLoop")], ["data.dataset train.train"]
    )
    assert [item.text for item in graph_shapes(unfinished, registry).wires] == ["1797 × 1 × 8 × 8"]
    broken = graph_shapes(document([node("x", "Nope")], []), registry)
    assert (broken.wires, [item.code for item in broken.problems]) == ([], ["unknown_node_type"])


def test_unknown_values_are_left_out(registry: Registry) -> None:
    graph = document([node("c", "Constant"), node("show", "Print")], ["c.value show.value"])
    (only,) = graph_shapes(graph, registry).wires
    assert (only.shape, only.text) == (None, "")


def test_nothing_is_drawn_from_the_runs_random_numbers(registry: Registry) -> None:
    import torch

    before = torch.get_rng_state()
    graph_shapes(parse_graph((EXAMPLES / "digits-cnn.json").read_bytes()), default_registry())
    assert torch.equal(before, torch.get_rng_state())


def test_modules_that_grow_in_number_with_every_level_are_walked_only_so_far(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shapes_module, "_MAX_INNER_NODES", 60)
    wires = [wire("in.x a.x"), wire("a.y b.x"), wire("b.y out.x")]
    inner: dict[str, Any] = {
        f"m{level}": {
            "nodes": [
                node("in", "ModuleInput"),
                node("a", "Submodule", subgraph=f"m{level + 1}"),
                node("b", "Submodule", subgraph=f"m{level + 1}"),
                node("out", "ModuleOutput"),
            ],
            "edges": wires,
        }
        for level in range(12)
    }
    inner["m12"] = {
        "nodes": [node("in", "ModuleInput"), node("a", "ReLU"), node("out", "ModuleOutput")],
        "edges": [wire("in.x a.x"), wire("a.y out.x")],
    }
    graph = trained([node("deep", "Submodule", subgraph="m0")], ["in.x deep.x", "deep.y out.x"], **inner)
    shapes = graph_shapes(graph, default_registry())
    assert shapes.problems == []
    assert len(shapes.nodes) < 100
