"""Arithmetic on tensors. Dimensions are counted with the batch as 0, negative ones from the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from codefy_engine.nodes.base import input, node, param
from codefy_engine.nodes.builtin._layer import TensorOperation

if TYPE_CHECKING:
    from torch import Tensor


@node(type="TensorFunction", title="Function", category="tensor", icon="function-square")
class TensorFunction(TensorOperation):
    """Apply a function to every number of a tensor. The shape stays."""

    x: Tensor = input("tensor", doc="Any shape.")
    function: Literal[
        "abs", "neg", "exp", "log", "sqrt", "square", "reciprocal", "sin", "cos", "tan", "tanh",
        "sigmoid", "sign", "floor", "ceil", "round", "isnan",
    ] = param("exp", doc="`isnan` gives true and false, `log` is the natural one.")  # fmt: skip

    def compute(self, *values: Any) -> Any:
        import torch

        (x,) = values
        return getattr(torch, self.function)(x)


@node(type="TensorArithmetic", title="Arithmetic", category="tensor", icon="calculator")
class TensorArithmetic(TensorOperation):
    """Combine two tensors, or a tensor and a number, value by value.

    The shapes are equal, or one broadcasts to the other: `[n, 1]` and `[n, k] → [n, k]`.
    """

    a: Tensor = input("tensor", label="A", doc="The first tensor.")
    b: Tensor | None = input(
        "tensor", label="B", required=False, doc="The second tensor. Without: the parameter *Number*."
    )
    operation: Literal[
        "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "pow", "maximum", "minimum"
    ] = param(
        "add",
        choices=[
            ("add", "A + B"),
            ("subtract", "A - B"),
            ("multiply", "A · B"),
            ("divide", "A / B"),
            ("floor_divide", "A / B, rounded down"),
            ("remainder", "Remainder of A / B"),
            ("pow", "A to the power of B"),
            ("maximum", "The larger"),
            ("minimum", "The smaller"),
        ],
        doc="What to do.",
    )
    number: float = param(1.0, ge=-1e30, le=1e30, doc="Stands for B when no second tensor is wired.")

    def compute(self, *values: Any) -> Any:
        import torch

        a, b = values
        if b is None:
            whole = self.number.is_integer() and not a.is_floating_point()
            b = torch.tensor(int(self.number) if whole else self.number, device=a.device)
        return getattr(torch, self.operation)(a, b)


@node(type="ScaleShift", title="Scale and shift", category="tensor", icon="sliders-horizontal")
class ScaleShift(TensorOperation):
    """`scale · x + shift` for every number. The shape stays.

    With scale 2 and shift -1, numbers from 0 to 1 come to lie from -1 to 1.
    """

    x: Tensor = input("tensor", doc="Any shape.")
    scale: float = param(1.0, ge=-1e30, le=1e30, doc="What to multiply by.")
    shift: float = param(0.0, ge=-1e30, le=1e30, doc="Added after it.")

    def compute(self, *values: Any) -> Any:
        return values[0] * self.scale + self.shift


@node(type="Clamp", title="Clamp", category="tensor", icon="minimize-2")
class Clamp(TensorOperation):
    """Cut every number to a range. The shape stays."""

    x: Tensor = input("tensor", doc="Any shape.")
    low: float | None = param(0.0, ge=-1e30, le=1e30, doc="The smallest number that is left. Empty: any.")
    high: float | None = param(1.0, ge=-1e30, le=1e30, doc="The largest number that is left. Empty: any.")

    def compute(self, *values: Any) -> Any:
        if self.low is None and self.high is None:
            return values[0]
        return values[0].clamp(self.low, self.high)


@node(type="MatMul", title="Matrix product", category="tensor", icon="grid")
class MatMul(TensorOperation):
    """Multiply matrices: `[…, n, k]` and `[…, k, m] → […, n, m]`; dimensions before the last two broadcast.

    Two vectors `[k]` give their scalar product, a matrix and a vector a vector.
    """

    a: Tensor = input("tensor", label="A", doc="The left factor.")
    b: Tensor = input("tensor", label="B", doc="The right factor.")
    transpose_b: bool = param(False, doc="Swap the last two dimensions of the right factor first.")

    def compute(self, *values: Any) -> Any:
        a, b = values
        return a @ (b.transpose(-1, -2) if self.transpose_b else b)


@node(type="Einsum", title="Einsum", category="tensor", icon="sigma")
class Einsum(TensorOperation):
    """Multiply tensors and sum, as an equation of letters says: `[i, j], [j, k] → [i, k]` for `ij,jk->ik`.

    `ij,jk->ik` is a matrix product, `bij->bji` swaps dimensions, `bi,bi->b` is a scalar product per sample. A letter
    stands for a dimension; those that are missing after `->` are summed over.
    """

    count: int = param(2, ge=1, le=8, doc="How many tensors.")
    x: list[Tensor] = input("tensor", repeat="count", doc="The tensors, in the order of the equation.")
    equation: str = param("ij,jk->ik", doc="Letters of every tensor, then those of the result.")

    def compute(self, *values: Any) -> Any:
        import torch

        return torch.einsum(self.equation, *values)


@node(type="Normalise", title="Normalise", category="tensor", icon="sliders-horizontal")
class Normalise(TensorOperation):
    """Bring the numbers along a dimension to a common scale. The shape stays.

    *Deviation*: `(x - mean) / deviation`. *Range*: `(x - min) / (max - min)`. *Length*: `x / sqrt(Σ x²)`. Where all
    numbers are equal the divisor is 1.
    """

    x: Tensor = input("tensor", doc="Any shape.")
    method: Literal["deviation", "range", "length"] = param(
        "deviation",
        choices=[("deviation", "Mean 0, deviation 1"), ("range", "From 0 to 1"), ("length", "Length 1")],
        doc="Which scale.",
    )
    dimension: int = param(0, ge=-8, le=8, doc="Counted with the batch as 0; -1 is the last one.")

    def compute(self, *values: Any) -> Any:
        import torch

        (x,) = values
        if self.method == "length":
            return x / _or_one(x.norm(dim=self.dimension, keepdim=True))
        if self.method == "range":
            low = x.amin(dim=self.dimension, keepdim=True)
            return (x - low) / _or_one(x.amax(dim=self.dimension, keepdim=True) - low)
        variance, mean = torch.var_mean(x, dim=self.dimension, keepdim=True, correction=0)
        return (x - mean) / _or_one(variance.sqrt())


@node(type="Compare", title="Compare", category="tensor", icon="scale")
class Compare(TensorOperation):
    """Ask of every pair of numbers whether it is so: true and false, of the broadcast shape."""

    a: Tensor = input("tensor", label="A", doc="The first tensor.")
    b: Tensor | None = input(
        "tensor", label="B", required=False, doc="The second tensor. Without: the parameter *Number*."
    )
    relation: Literal["eq", "ne", "lt", "le", "gt", "ge"] = param(
        "gt",
        choices=[
            ("eq", "A = B"),
            ("ne", "A ≠ B"),
            ("lt", "A < B"),
            ("le", "A ≤ B"),
            ("gt", "A > B"),
            ("ge", "A ≥ B"),
        ],
        doc="What to ask.",
    )
    number: float = param(0.0, ge=-1e30, le=1e30, doc="Stands for B when no second tensor is wired.")

    def compute(self, *values: Any) -> Any:
        import torch

        a, b = values
        return getattr(torch, self.relation)(a, self.number if b is None else b)


@node(type="Where", title="Where", category="tensor", icon="split")
class Where(TensorOperation):
    """Take numbers from A where the condition holds, from B elsewhere.

    All three broadcast, as in torch: `[n, 1], [n, m], [m] → [n, m]`.
    """

    condition: Tensor = input("tensor", doc="True or false, such as from **Compare**; numbers hold unless 0.")
    a: Tensor = input("tensor", label="A", doc="Taken where it holds.")
    b: Tensor = input("tensor", label="B", doc="Taken elsewhere.")

    def compute(self, *values: Any) -> Any:
        import torch

        condition, a, b = values
        return torch.where(condition.bool(), a, b)


def _or_one(divisor: Any) -> Any:
    import torch

    return torch.where(divisor > 0, divisor, torch.ones_like(divisor))
