"""Modules with several inputs and outputs, modules within modules, and what is done with a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from codefy_engine.graph import Builder
from codefy_engine.graph.plan import plan_subgraph
from codefy_engine.nodes.base import Node, NodeContext, NodeError, input, node
from codefy_engine.nodes.registry import default_registry
from codefy_engine.training.module import GraphModule, ModuleBuildError, RepeatedModule, independent_copy
from codefy_engine.training.module_plan import plans_within


def drawn(draw: Callable[[Builder], None], *, seed: int | None = 0) -> GraphModule:
    graph = Builder("test")
    draw(graph)
    document = graph.build()

    def plan_of(name: str) -> Any:
        return plan_subgraph(document, name, default_registry())

    plan = plan_of("net")
    return GraphModule("net", plan, seed=seed, plans=plans_within(plan, plan_of))


def draw_block(graph: Builder) -> None:
    block = graph.subgraph("block")
    x = block.add("ModuleInput", "input")
    shift = block.add("ModuleInput", "shift", number=2)
    hidden = block.add("Linear", "hidden", x=x, out_features=4)
    block.add("ModuleOutput", "output", x=block.add("Add", "sum", a=hidden, b=shift))


def draw_nested(graph: Builder, *, repeat: int = 1) -> None:
    draw_block(graph)
    net = graph.subgraph("net")
    x = net.add("ModuleInput", "input")
    shift = net.add("ModuleInput", "shift", number=2)
    first = net.add("Submodule", "first", x=x, x2=shift, subgraph="block")
    second = net.add("Submodule", "second", x=first["y"], x2=shift, subgraph="block", repeat=repeat)
    net.add("ModuleOutput", "output", x=second["y"])


def test_several_inputs_and_outputs_are_in_the_order_of_their_numbers() -> None:
    def draw(graph: Builder) -> None:
        net = graph.subgraph("net")
        b = net.add("ModuleInput", "b", number=2)
        a = net.add("ModuleInput", "a", number=1)
        net.add("ModuleOutput", "second", number=2, x=net.add("Multiply", "product", a=a, b=b))
        net.add("ModuleOutput", "first", number=1, x=a)

    model = drawn(draw)
    a, b = torch.randn(3, 4), torch.randn(3, 4)
    first, second = model(a, b)
    assert torch.equal(first, a)
    assert torch.equal(second, a * b)
    assert (model.input_count, model.output_count, model.sample_shapes) == (2, 2, ((4,), (4,)))
    with pytest.raises(ValueError, match="has 2 inputs and was given 1"):
        model(a)
    with pytest.raises(ModuleBuildError, match="has 2 inputs and was given 3"):
        drawn(draw)(a, b, a)


def test_two_ends_with_one_number_are_refused() -> None:
    def draw(graph: Builder) -> None:
        net = graph.subgraph("net")
        x = net.add("ModuleInput", "input")
        net.add("ModuleOutput", "one", x=x)
        net.add("ModuleOutput", "other", x=x)

    with pytest.raises(ModuleBuildError, match="one and other in net are both number 1"):
        drawn(draw)


def test_layers_with_several_outputs() -> None:
    def draw(graph: Builder) -> None:
        net = graph.subgraph("net")
        lstm = net.add("LSTM", "lstm", x=net.add("ModuleInput", "input"), hidden=3)
        net.add("ModuleOutput", "output", x=lstm["last"])
        net.add("ModuleOutput", "cell", number=2, x=lstm["cell"])

    model = drawn(draw)
    x = torch.randn(2, 5, 4)
    last, cell = model(x)
    core: Any = model.get_submodule("lstm.core")
    assert torch.equal(last, core(x)[0][:, -1])
    assert torch.equal(cell, core(x)[1][1].transpose(0, 1))
    assert dict(model.reports[0].shapes) == {"y": (5, 3), "last": (3,), "state": (1, 3), "cell": (1, 3)}


def test_a_module_within_a_module_has_weights_of_its_own() -> None:
    model = drawn(draw_nested)
    x, shift = torch.randn(3, 4), torch.randn(3, 4)
    y = model(x, shift)
    first, second = model.get_submodule("first.hidden"), model.get_submodule("second.hidden")
    assert torch.allclose(y, second(first(x) + shift) + shift)
    assert not torch.equal(first.weight, second.weight)
    assert [(r.id, r.parameters, [inner.id for inner in r.inner]) for r in model.reports] == [
        ("first", 20, ["hidden", "sum"]),
        ("second", 20, ["hidden", "sum"]),
    ]
    again = drawn(draw_nested)
    assert torch.equal(again(x, shift), y)
    copied = independent_copy(model)
    assert torch.equal(copied(x, shift), y)
    assert set(model.state_dict()) == {
        f"{p}.hidden.{k}" for p in ("first", "second") for k in ("weight", "bias")
    }


def test_a_repeated_module_is_a_stack() -> None:
    model = drawn(lambda graph: draw_nested(graph, repeat=3))
    x, shift = torch.randn(3, 4), torch.randn(3, 4)
    y = model(x, shift)
    stack = model.get_submodule("second")
    assert isinstance(stack, RepeatedModule)
    wanted = model.get_submodule("first")(x, shift)
    for block in stack.blocks:
        wanted = block.get_submodule("hidden")(wanted) + shift
    assert torch.allclose(y, wanted)
    weights = {float(block.get_parameter("hidden.weight").detach()[0, 0]) for block in stack.blocks}
    assert len(weights) == 3


def test_an_output_that_a_submodule_does_not_have() -> None:
    def draw(graph: Builder) -> None:
        draw_block(graph)
        net = graph.subgraph("net")
        x = net.add("ModuleInput", "input")
        inner = net.add("Submodule", "inner", x=x, x2=x, subgraph="block")
        net.add("ModuleOutput", "output", x=inner["y3"])

    with pytest.raises(ModuleBuildError, match="inner in net gives nothing at its output y3"):
        drawn(draw)(torch.randn(1, 4))


def test_shapes_are_known_without_memory() -> None:
    model = drawn(draw_nested)
    model.build_for(torch.empty(1, 4, device="meta"), torch.empty(1, 4, device="meta"))
    assert {p.device.type for p in model.parameters()} == {"meta"}
    assert model.reports[-1].shape == (4,)


def test_parts_are_named_by_their_path() -> None:
    model = drawn(draw_nested)
    with pytest.raises(ValueError, match="not made yet"):
        model.part("first")
    model(torch.randn(1, 4), torch.randn(1, 4))
    assert model.part("first/hidden") is model.get_submodule("first.hidden")
    with pytest.raises(ValueError, match="no layer 'third'; it has first, second"):
        model.part("third")
    with pytest.raises(ValueError, match="hidden in block is not made of layers"):
        model.part("first/hidden/weight")
    made = default_registry().get("ModelPart").create({"path": "second"}, model=model)
    part = made.run(None)  # type: ignore[arg-type]  # it asks for nothing
    assert part is not model.part("second")
    x, shift = torch.randn(2, 4), torch.randn(2, 4)
    assert torch.equal(part(x, shift), model.part("second")(x, shift))
    with pytest.raises(NodeError, match="drawn as a Module"):
        default_registry().get("ModelPart").create(model=torch.nn.Linear(1, 1)).run(None)  # type: ignore[arg-type]


def test_models_and_submodules_act_on_tensors(harness: Any) -> None:
    seen: dict[str, Any] = {}

    @node(type="Keep", title="Keep", category="views", icon="eye")
    class Keep(Node):
        """Keep what comes in."""

        x: Any = input("tensor")

        def run(self, ctx: NodeContext) -> None:
            seen[ctx.node_id] = self.x

    graph = Builder("tensors", seed=3)
    draw_block(graph)
    net = graph.subgraph("net")
    x = net.add("ModuleInput", "input")
    net.add("ModuleOutput", "output", x=net.add("Linear", "scores", x=x, out_features=2))
    net.add("ModuleOutput", "same", number=2, x=x)
    random = graph.add("RandomTensor", "x", shape=[10, 4])
    inner = graph.add("Submodule", "inner", x=random, x2=random, subgraph="block")
    graph.add("Keep", "inner_y", x=inner["y"])
    applied = graph.add(
        "ApplyModel", "applied", model=graph.add("Module", subgraph="net"), x=random, batch_size=3
    )
    graph.add("Keep", "random", x=random)
    graph.add("Keep", "scores", x=applied["y"])
    graph.add("Keep", "same", x=applied["y2"])
    outcome, _ = harness.execute(graph.build(), nodes=[Keep])
    assert outcome.status == "succeeded", outcome.error
    assert seen["inner_y"].shape == (10, 4)
    assert torch.equal(seen["same"], seen["random"])
    assert seen["scores"].shape == (10, 2)
    again = dict(seen)
    harness.execute(graph.build(), nodes=[Keep])
    assert all(torch.equal(again[name], seen[name]) for name in again)
