"""What all layer nodes share: they act on a tensor, or become part of a module (G-5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codefy_engine.nodes.base import Node, NodeContext, input, output

if TYPE_CHECKING:
    from torch import Tensor, nn

Shape = tuple[int, ...]
"""Shape of one sample, without the batch dimension."""


class JoiningLayer(Node):
    """Base of layer nodes with inputs of their own. A subclass declares them and has ``build``."""

    y: Tensor = output("tensor", doc="The batch that goes out.")

    def build(self, *shapes: Shape) -> nn.Module:
        """The layer for inputs of these shapes, one per input port, without the batch dimension.

        Raises:
            ValueError: the layer does not take such a shape.
        """
        raise NotImplementedError

    def run(self, ctx: NodeContext) -> Any:
        """Outside a module: make the layer for the tensors at hand, with weights from the run's seed, and apply it."""
        import torch

        from codefy_engine.training.seeding import SeededDropout, derive_seed, seeded_initialisation

        values: list[Tensor] = [getattr(self, port).to(ctx.device) for port in self.spec.inputs]
        seed = None if ctx.seed is None else derive_seed(ctx.seed, ctx.node_id)
        with seeded_initialisation(seed):
            layer = self.build(*(tuple(value.shape[1:]) for value in values))
        if isinstance(layer, SeededDropout):
            layer.seed = seed
        with torch.no_grad():
            return layer.to(ctx.device)(*values)


class Layer(JoiningLayer):
    """Base of layer nodes with one input."""

    x: Tensor = input("tensor", doc="The batch that comes in.")


def channels_of(shape: Shape, *, spatial: int) -> int:
    """The number of channels of a sample ``channels x …`` with ``spatial`` further dimensions.

    Raises:
        ValueError: the shape has another number of dimensions.
    """
    if len(shape) != spatial + 1:
        words = {1: "channels x length", 2: "channels x height x width"}.get(spatial, "channels x ...")
        raise ValueError(f"it expects {words}, which are {spatial + 1} dimensions, got {len(shape)}")
    return shape[0]


def last_of(shape: Shape) -> int:
    """The size of a sample's last dimension.

    Raises:
        ValueError: the sample is a single number.
    """
    if not shape:
        raise ValueError("it expects at least one dimension beside the batch")
    return shape[-1]
