"""Values, formulas, repetition, and models made of layers."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from codefy_engine.graph import Builder
from codefy_engine.graph.document import subgraph_from_builtins
from codefy_engine.graph.plan import plan_subgraph
from codefy_engine.nodes.registry import default_registry
from codefy_engine.training.module import GraphModule

from .case import Case, Place

FLOW = [
    Case("ConstantValue", 3, {"number": 2.6, "whole": True}),
    Case("ConstantValue", "a", {"kind": "text", "text": "a"}),
    Case(
        "Expression",
        7.5,
        {"names": "width, m", "formula": "width * 2 + m['k']"},
        {"width": 3.0, "m": {"k": 1.5}},
    ),
    Case("MakeList", [1, 3], {"count": 3}, {"values1": 1, "values3": 3}),
    Case(
        "PickEntry",
        1.0,
        {"entry": "history.-1.val_loss"},
        {"value": {"history": [{"val_loss": 2.0}, {"val_loss": 1.0}]}},
    ),
    Case(
        "PythonScript",
        {"double": torch.tensor(6.0), "name": "it"},
        {
            "inputs": "area",
            "outputs": "double, name",
            "code": "double = torch.tensor(area) * 2\nname = ctx.node_id\n",
        },
        {"area": 3.0},
    ),
    Case("ReduceList", 1.0, {"how": "std"}, {"items": [1, 3]}),
    Case("Switch", "no", {}, {"condition": torch.tensor(0), "yes": "yes", "no": "no"}),
]


def expose(kind: str, **items: str) -> list[dict[str, str]]:
    return [{"name": name, "node": at.split(".")[0], kind: at.split(".")[1]} for name, at in items.items()]


def squares() -> dict[str, Any]:
    """`a * a + b`."""
    formula = {"names": "a, b", "formula": "a * a + b"}
    return {
        "nodes": [{"id": "f", "type": "Expression", "data": {"params": formula}}],
        "inputs": expose("port", item="f.a", shared="f.b"),
        "outputs": expose("port", y="f.result"),
        "params": expose("param", what="f.formula"),
    }


def with_squares(graph: Builder) -> None:
    """Let the document have a preset and a subgraph called squares."""
    build = graph.build

    def building() -> Any:
        document = build()
        document.presets["squares"] = squares()
        document.subgraphs["squares"] = subgraph_from_builtins(squares(), "subgraphs.squares")
        return document

    graph.build = building  # type: ignore[method-assign]


def mapped(graph: Builder, place: Place) -> dict[str, Any]:
    with_squares(graph)
    items = graph.add("ConstantValue", "items", kind="list", numbers=[1, 2, 3])
    ten = graph.add("ConstantValue", "ten", number=10.0)
    it = graph.add("MapPreset", "it", items=items, shared=ten, preset="squares", result="y")
    return {"results": it["results"]}


def expanded(type: str) -> Any:
    def draw(graph: Builder, place: Place) -> dict[str, Any]:
        with_squares(graph)
        ten = graph.add("ConstantValue", "ten", number=10.0)
        name = "preset" if type == "Preset" else "subgraph"
        it = graph.add(type, "it", item=ten, shared=ten, what="a * b - 1", **{name: "squares"})
        return {"y": it["y"]}

    return draw


X = torch.tensor([[1.0, -2.0], [0.5, 3.0]])


def draw_net(graph: Builder) -> None:
    """`net` gives tanh(a + b) and b."""
    net = graph.subgraph("net")
    a, b = net.add("ModuleInput", "a"), net.add("ModuleInput", "b", number=2)
    net.add("ModuleOutput", "sum", x=net.add("Tanh", "tanh", x=net.add("Add", "add", a=a, b=b)))
    net.add("ModuleOutput", "same", number=2, x=b)


def as_module(graph: Builder, place: Place) -> dict[str, Any]:
    draw_net(graph)
    model = graph.add("Module", "it", subgraph="net")
    x = graph.add("TensorByHand", "x", values=X.tolist())
    applied = graph.add("ApplyModel", "apply", model=model, x=x, x2=x)
    return {"y": applied["y"], "y2": applied["y2"]}


def as_submodule(graph: Builder, place: Place) -> dict[str, Any]:
    draw_net(graph)
    x = graph.add("TensorByHand", "x", values=X.tolist())
    it = graph.add("Submodule", "it", x=x, x2=x, subgraph="net")
    return {"y": it["y"], "y2": it["y2"]}


BOTH = {"y": (2 * X).tanh(), "y2": X}


class Pair(nn.Module):
    """Two outputs of two inputs."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return a - b, a * b


def built() -> GraphModule:
    """A module of two layers, the first of which halves."""
    graph = Builder("parts")
    net = graph.subgraph("net")
    hidden = net.add("Linear", "hidden", x=net.add("ModuleInput", "input"), out_features=2, bias=False)
    net.add("ModuleOutput", "output", x=net.add("Tanh", "tanh", x=hidden))
    model = GraphModule("net", plan_subgraph(graph.build(), "net", default_registry()), seed=0)
    model.build_for(X)
    with torch.no_grad():
        model.get_parameter("hidden.weight").copy_(torch.eye(2) / 2)
    return model


MODULES = [
    *(Case(type, BOTH, draw=as_module) for type in ("Module", "ModuleInput", "ModuleOutput")),
    Case("Submodule", BOTH, draw=as_submodule),
    Case(
        "ApplyModel",
        {"y": X - X.flip(0), "y2": X * X.flip(0), "y3": None},
        {"batch_size": 1},
        {"model": Pair().eval(), "x": X, "x2": X.flip(0)},
    ),
    Case(
        "ModelPart",
        X / 2,
        {"path": "hidden"},
        lambda place: {"model": built()},
        see=lambda outputs: outputs["part"](X).detach(),
    ),
    Case("MapPreset", [11.0, 14.0, 19.0], draw=mapped),
    Case("Preset", 99.0, draw=expanded("Preset")),
    Case("Subgraph", 99.0, draw=expanded("Subgraph")),
]

CASES = [*FLOW, *MODULES]
