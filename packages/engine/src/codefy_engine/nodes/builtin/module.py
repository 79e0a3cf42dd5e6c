"""Nodes that make a model of layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from codefy_engine.nodes.base import Node, NodeContext, input, node, output, param

if TYPE_CHECKING:
    from torch import Tensor, nn


@node(type="Module", title="Module", category="module", icon="layers")
class Module(Node):
    """A model made of the layers that are drawn inside it.

    Inside stand one **ModuleInput**, layers, and one **ModuleOutput**. Sizes that come in are not written down:
    each layer is made when the first data arrives, in the training loop, which then reports every layer's output
    shape and number of parameters. The run's seed decides the initial weights, layer by layer, so adding a layer
    does not change the others.
    """

    subgraph: str = param(
        "", kind="subgraph", label="Layers", doc="The subgraph of this file that holds the layers."
    )
    model: nn.Module = output("model", doc="The model, untrained.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.module import GraphModule

        return GraphModule(self.subgraph, ctx.subgraph(self.subgraph), seed=ctx.seed)


@node(type="ModuleInput", title="Module input", category="module", icon="log-in", layer=True)
class ModuleInput(Node):
    """Where the data enters a Module: a batch `[n, …sample]`.

    It stands inside a Module's subgraph only.
    """

    x: Tensor = output("tensor", doc="The batch that the model is called with.")

    def run(self, ctx: NodeContext) -> NoReturn:
        raise RuntimeError("ModuleInput stands inside a Module's subgraph only")


@node(type="ModuleOutput", title="Module output", category="module", icon="log-out", layer=True)
class ModuleOutput(Node):
    """What a Module gives back, such as `[n, classes]` scores.

    It stands inside a Module's subgraph only.
    """

    x: Tensor = input("tensor", doc="The result of the model.")

    def run(self, ctx: NodeContext) -> NoReturn:
        raise RuntimeError("ModuleOutput stands inside a Module's subgraph only")
