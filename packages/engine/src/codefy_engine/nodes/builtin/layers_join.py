"""Layers where branches of a network meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codefy_engine.nodes.base import input, node, param
from codefy_engine.nodes.builtin._layer import Shape, TensorOperation

if TYPE_CHECKING:
    from torch import Tensor, nn


class _Join(TensorOperation):
    a: Tensor = input("tensor", label="A", doc="One branch.")
    b: Tensor = input("tensor", label="B", doc="The other branch.")


@node(type="Add", title="Add", category="layers", icon="plus")
class Add(_Join):
    """Add two branches value by value, such as a layer and the shortcut around it (a residual connection).

    Both inputs have the same shape, or one broadcasts to the other.
    """

    def build(self, *shapes: Shape) -> nn.Module:
        from codefy_engine.training.joins import Sum

        return Sum()

    def compute(self, *values: Any) -> Any:
        return values[0] + values[1]


@node(type="Multiply", title="Multiply", category="layers", icon="x")
class Multiply(_Join):
    """Multiply two branches value by value, such as a layer and the gate that opens or closes it.

    Both inputs have the same shape, or one broadcasts to the other.
    """

    def build(self, *shapes: Shape) -> nn.Module:
        from codefy_engine.training.joins import Product

        return Product()

    def compute(self, *values: Any) -> Any:
        return values[0] * values[1]


@node(type="Concat", title="Concatenate", category="layers", icon="merge")
class Concat(TensorOperation):
    """Put two branches one after the other along a dimension; all other dimensions are equal.

    With dimension 1: `c1 x h x w` and `c2 x h x w → (c1 + c2) x h x w`.
    """

    a: Tensor = input("tensor", label="A", doc="The first part.")
    b: Tensor = input("tensor", label="B", doc="The second part.")
    dimension: int = param(1, ge=1, le=8, doc="1 is the first dimension of a sample: channels, or features.")

    def build(self, *shapes: Shape) -> nn.Module:
        from codefy_engine.training.joins import Join

        first, second = shapes
        if len(first) != len(second) or len(first) < self.dimension:
            raise ValueError(f"the parts need the same number of dimensions, at least {self.dimension}")
        return Join(self.dimension)

    def compute(self, *values: Any) -> Any:
        first, second = values
        return self.build(first.shape[1:], second.shape[1:])(first, second)
