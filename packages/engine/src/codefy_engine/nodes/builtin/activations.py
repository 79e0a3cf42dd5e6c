"""Activation functions: they act on every value by itself (Softmax: on a row) and keep the shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from codefy_engine.nodes.base import node, param
from codefy_engine.nodes.builtin._layer import Layer, Shape

if TYPE_CHECKING:
    from torch import nn


@node(type="ReLU", title="ReLU", category="layers", icon="activity")
class ReLU(Layer):
    """`max(0, x)`: negative values become 0. The shape stays."""

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.ReLU()


@node(type="LeakyReLU", title="Leaky ReLU", category="layers", icon="activity")
class LeakyReLU(Layer):
    """`x` where it is positive, `slope · x` elsewhere. The shape stays."""

    slope: float = param(0.01, ge=0, le=1, doc="Factor for negative values.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.LeakyReLU(self.slope)


@node(type="GELU", title="GELU", category="layers", icon="activity")
class GELU(Layer):
    """`x · Φ(x)` with the normal distribution's Φ: a smooth ReLU. The shape stays."""

    approximate: Literal["none", "tanh"] = param(
        "none", doc="`tanh` is a little faster and a little off.", advanced=True
    )

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.GELU(approximate=self.approximate)


@node(type="SiLU", title="SiLU", category="layers", icon="activity")
class SiLU(Layer):
    """`x · sigmoid(x)`, also called swish. The shape stays."""

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.SiLU()


@node(type="Sigmoid", title="Sigmoid", category="layers", icon="activity")
class Sigmoid(Layer):
    """`1 / (1 + exp(-x))`: everything between 0 and 1. The shape stays."""

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.Sigmoid()


@node(type="Tanh", title="Tanh", category="layers", icon="activity")
class Tanh(Layer):
    """The hyperbolic tangent: everything between -1 and 1. The shape stays."""

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.Tanh()


@node(type="Softmax", title="Softmax", category="layers", icon="percent")
class Softmax(Layer):
    """Turn scores into shares that are positive and sum to 1 along a dimension. The shape stays.

    Do not put it before **CrossEntropyLoss**, which takes raw scores.
    """

    dimension: int = param(-1, ge=-8, le=8, doc="Counted with the batch as 0; -1 is the last one.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        rank = len(shapes[0]) + 1
        if self.dimension == 0 or not -rank < self.dimension < rank:
            raise ValueError(f"dimension {self.dimension} is not one of a sample, which has {rank - 1}")
        return nn.Softmax(dim=self.dimension)
