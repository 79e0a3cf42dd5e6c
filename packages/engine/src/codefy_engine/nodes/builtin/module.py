"""Nodes that make a model of layers, and use one."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, NoReturn, cast

from codefy_engine.nodes.base import Node, NodeContext, NodeError, input, node, output, param
from codefy_engine.nodes.builtin._layer import derived_seed, input_tensors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor, nn

    from codefy_engine.graph.plan import Plan


@node(type="Module", title="Module", category="module", icon="layers")
class Module(Node):
    """A model made of the layers that are drawn inside it.

    Inside stand a **ModuleInput**, layers, and a **ModuleOutput**; several of either have numbers. Sizes that come
    in are not written down: each layer is made when the first data arrives, in the training loop, which then reports
    every layer's output shape and number of parameters. The run's seed decides the initial weights, layer by layer,
    so adding a layer does not change the others. Without one they are random, and stay the same for the runs of a
    session.

    With several outputs the model gives a tuple, in the order of their numbers. A module within a module is a
    **Submodule**.
    """

    subgraph: str = param(
        "", kind="subgraph", label="Layers", doc="The subgraph of this file that holds the layers."
    )
    model: nn.Module = output("model", doc="The model, untrained.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.module import GraphModule
        from codefy_engine.training.module_plan import plans_within

        plan = ctx.subgraph(self.subgraph)
        seed = ctx.seed
        if seed is None:
            seed = ctx.persistent("seed", lambda: secrets.randbits(31))
        return GraphModule(self.subgraph, plan, seed=seed, plans=plans_within(plan, ctx.subgraph))


@node(type="ModuleInput", title="Module input", category="module", icon="log-in", layer=True)
class ModuleInput(Node):
    """Where the data enters a Module: a batch `[n, …sample]`.

    It stands inside a Module's subgraph only.
    """

    number: int = param(
        1, ge=1, le=16, doc="Its place among several, from 1: each has another.", advanced=True
    )
    x: Tensor = output("tensor", doc="The batch that the model is called with.")

    def run(self, ctx: NodeContext) -> NoReturn:
        raise RuntimeError("ModuleInput stands inside a Module's subgraph only")


@node(type="ModuleOutput", title="Module output", category="module", icon="log-out", layer=True)
class ModuleOutput(Node):
    """What a Module gives back, such as `[n, classes]` scores.

    It stands inside a Module's subgraph only.
    """

    number: int = param(
        1, ge=1, le=16, doc="Its place among several, from 1: each has another.", advanced=True
    )
    x: Tensor = input("tensor", doc="The result of the model.")

    def run(self, ctx: NodeContext) -> NoReturn:
        raise RuntimeError("ModuleOutput stands inside a Module's subgraph only")


@node(type="Submodule", title="Submodule", category="module", icon="layers")
class Submodule(Node):
    """The layers of another subgraph as one layer: a block that is drawn once and used in several places.

    Every Submodule has weights of its own, also of the same subgraph. Its inputs are those of the subgraph by
    number (`x` is number 1, `x2` number 2 …), and so are its outputs.

    With *Repeat* above 1 that many blocks stand one after the other: the output of one is the first input of the
    next, and further inputs go to all of them. The subgraph then has one output, of the first input's shape.
    """

    subgraph: str = param(
        "", kind="subgraph", label="Layers", doc="The subgraph of this file that holds the layers."
    )
    repeat: int = param(1, ge=1, le=256, doc="How many of these blocks follow each other.")
    x: Tensor = input("tensor", doc="Its first input.")
    x2: Tensor | None = input("tensor", required=False, doc="Its second input.")
    x3: Tensor | None = input("tensor", required=False, doc="Its third input.")
    x4: Tensor | None = input("tensor", required=False, doc="Its fourth input.")
    y: Tensor = output("tensor", doc="Its first output.")
    y2: Tensor = output("tensor", doc="Its second output.")
    y3: Tensor = output("tensor", doc="Its third output.")
    y4: Tensor = output("tensor", doc="Its fourth output.")

    def build(self, *shapes: Any) -> NoReturn:
        """A submodule is made by :meth:`build_nested`; having this marks it as a layer."""
        raise RuntimeError("a Submodule is made of its subgraph's plan")

    def build_nested(self, plans: Mapping[str, Plan], seed: int | None) -> nn.Module:
        """The module of the subgraph, its layers not made yet.

        Raises:
            ValueError: the subgraph cannot be repeated.
        """
        from codefy_engine.training.module import GraphModule, RepeatedModule
        from codefy_engine.training.seeding import derive_seed

        def block(seed: int | None) -> GraphModule:
            return GraphModule(self.subgraph, plans[self.subgraph], seed=seed, plans=plans)

        if self.repeat == 1:
            return block(seed)
        return RepeatedModule(
            [block(None if seed is None else derive_seed(seed, str(index))) for index in range(self.repeat)]
        )

    def run(self, ctx: NodeContext) -> Any:
        import torch

        from codefy_engine.training.module_plan import plans_within

        plan = ctx.subgraph(self.subgraph)
        plans = {**plans_within(plan, ctx.subgraph), self.subgraph: plan}
        values = input_tensors(self, ctx)
        if ctx.seed is None:
            shapes = [None if value is None else tuple(value.shape[1:]) for value in values]
            made = ctx.persistent(f"layers {shapes}", lambda: self.build_nested(plans, None))
        else:
            made = self.build_nested(plans, derived_seed(ctx))
        with torch.no_grad():
            result: Any = made.to(ctx.device)(*values)
        results = cast("tuple[Any, ...]", result if isinstance(result, tuple) else (result,))
        return {
            port: results[index] if index < len(results) else None
            for index, port in enumerate(self.spec.outputs)
        }


@node(type="ApplyModel", title="Apply model", category="module", icon="play")
class ApplyModel(Node):
    """Run a model on a tensor, batch by batch, in evaluation mode.

    `[n, …sample] → [n, …result]`. A model with several outputs gives them one by one; outputs that it does not have
    are empty. A module whose layers were not made yet is made for this tensor, with the run's seed.
    """

    model: nn.Module = input("model", doc="The model; it is not changed.")
    x: Tensor = input("tensor", doc="The samples, the batch first.")
    x2: Tensor | None = input("tensor", required=False, doc="Its second input.")
    batch_size: int = param(256, ge=1, le=65_536, unit="samples", doc="Samples at a time.", advanced=True)
    y: Tensor = output("tensor", doc="Its first output.")
    y2: Tensor = output("tensor", doc="Its second output.")
    y3: Tensor = output("tensor", doc="Its third output.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.applying import apply_model

        inputs = [self.x] if self.x2 is None else [self.x, self.x2]
        results = apply_model(ctx, self.model, inputs, batch_size=self.batch_size)
        return {
            port: results[index] if index < len(results) else None
            for index, port in enumerate(self.spec.outputs)
        }


@node(type="ModelPart", title="Model part", category="module", icon="scissors")
class ModelPart(Node):
    """Take one layer, or one Submodule, out of a trained model: a decoder, an encoder, an embedding.

    The part is a model of its own with the trained weights; it can be applied, trained on or saved. *Path* is the
    id of the node inside the Module, or ids with `/` between for a part of a part: `decoder/hidden`.
    """

    model: nn.Module = input("model", doc="A model whose layers are made, such as a trained one.")
    path: str = param("", doc="Id of the node inside, such as decoder.")
    part: nn.Module = output("model", doc="That part, a copy.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.module import GraphModule, independent_copy

        if not isinstance(self.model, GraphModule):
            raise NodeError("only a model that is drawn as a Module has parts with names")
        return independent_copy(self.model.part(self.path)).eval()
