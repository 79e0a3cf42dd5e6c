"""Layers that multiply by weights, and tables of trained vectors. Shapes are written without the batch dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codefy_engine.nodes.base import input, node, param
from codefy_engine.nodes.builtin._layer import JoiningLayer, Layer, Shape, last_of

if TYPE_CHECKING:
    from torch import Tensor, nn


@node(type="Linear", title="Linear", category="layers", icon="move-right")
class Linear(Layer):
    """Multiply by a matrix of weights and add a bias.

    `[…, in] → […, out_features]`; the number of inputs follows from the data. With `[n, c, h, w]` images put a
    **Flatten** before it.
    """

    out_features: int = param(
        10, ge=1, le=65_536, label="Outputs", doc="Size of the last dimension after it."
    )
    bias: bool = param(True, doc="Add a trained constant to every output.", advanced=True)

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.Linear(last_of(shapes[0]), self.out_features, bias=self.bias)


@node(type="Bilinear", title="Bilinear", category="layers", icon="move-right")
class Bilinear(JoiningLayer):
    """Multiply two branches with each other through trained weights: `y_k = aᵀ W_k b + bias_k`.

    `[…, in1]` and `[…, in2] → […, out_features]`; all dimensions but the last are equal.
    """

    a: Tensor = input("tensor", label="A", doc="One branch.")
    b: Tensor = input("tensor", label="B", doc="The other branch.")
    out_features: int = param(
        10, ge=1, le=65_536, label="Outputs", doc="Size of the last dimension after it."
    )
    bias: bool = param(True, doc="Add a trained constant to every output.", advanced=True)

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.Bilinear(last_of(shapes[0]), last_of(shapes[1]), self.out_features, bias=self.bias)


@node(type="Embedding", title="Embedding", category="layers", icon="book-open")
class Embedding(Layer):
    """Look up a trained vector for every whole number, such as a token.

    int64 numbers from 0 to `entries - 1`: `[…] → […, width]`.
    """

    entries: int = param(256, ge=1, le=1_000_000, doc="How many numbers there are: the vocabulary's size.")
    width: int = param(64, ge=1, le=65_536, doc="Size of a vector.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.Embedding(self.entries, self.width)
