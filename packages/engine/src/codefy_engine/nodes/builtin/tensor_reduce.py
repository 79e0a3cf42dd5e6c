"""Many numbers to few: sums, extremes, orders. Dimensions are counted with the batch as 0, negative from the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from codefy_engine.nodes.base import input, node, output, param
from codefy_engine.nodes.builtin._layer import TensorOperation

if TYPE_CHECKING:
    from torch import Tensor


@node(type="ReduceTensor", title="Reduce", category="tensor", icon="sigma")
class ReduceTensor(TensorOperation):
    """Bring dimensions down to one number each: their mean, sum, extremes, deviation.

    With dimensions 0, 1: `[n, k, m] → [m]`, or `[1, 1, m]` when they are kept. Without any, everything becomes one
    number. The deviation divides by the count, not by the count less one.
    """

    x: Tensor = input("tensor", doc="Any shape.")
    operation: Literal["mean", "sum", "max", "min", "std", "var", "prod", "norm", "any", "all"] = param(
        "mean",
        choices=[
            ("mean", "Mean"),
            ("sum", "Sum"),
            ("max", "Largest"),
            ("min", "Smallest"),
            ("std", "Deviation"),
            ("var", "Variance"),
            ("prod", "Product"),
            ("norm", "Length"),
            ("any", "Any true"),
            ("all", "All true"),
        ],
        doc="What is left of the numbers.",
    )
    dimensions: list[int] = param([], ge=-8, le=8, doc="Which ones. Empty: all.")
    keep: bool = param(False, doc="Leave the dimensions with size 1.")

    def compute(self, *values: Any) -> Any:
        import torch

        (x,) = values
        dims = tuple(self.dimensions) or tuple(range(x.dim()))
        if self.operation == "prod":
            for dim in sorted({dim % x.dim() for dim in dims}, reverse=True):
                x = x.prod(dim=dim, keepdim=self.keep)
            return x
        if self.operation in ("std", "var"):
            return getattr(torch, self.operation)(x, dim=dims, keepdim=self.keep, correction=0)
        if self.operation == "norm":
            linalg: Any = torch.linalg
            return linalg.vector_norm(x, dim=dims, keepdim=self.keep)
        function = {"max": "amax", "min": "amin"}.get(self.operation, self.operation)
        return getattr(torch, function)(x, dim=dims, keepdim=self.keep)


@node(type="ArgMax", title="Place of the largest", category="tensor", icon="crosshair")
class ArgMax(TensorOperation):
    """Where along a dimension the largest number stands, or the smallest: int64, without that dimension.

    Scores `[n, classes]` become class numbers `[n]`. The first of several counts.
    """

    x: Tensor = input("tensor", doc="Any shape.")
    dimension: int = param(-1, ge=-8, le=8, doc="Counted with the batch as 0; -1 is the last one.")
    smallest: bool = param(False, doc="Look for the smallest instead.")

    def compute(self, *values: Any) -> Any:
        (x,) = values
        return x.argmin(dim=self.dimension) if self.smallest else x.argmax(dim=self.dimension)


@node(type="TopK", title="Largest numbers", category="tensor", icon="arrow-up-narrow-wide")
class TopK(TensorOperation):
    """The k largest numbers of the last dimension, largest first, and where they stood: `[…, m] → […, k]`."""

    x: Tensor = input("tensor", doc="Any shape.")
    k: int = param(3, ge=1, le=1_000_000, doc="How many.")
    y: Tensor = output("tensor", doc="The numbers.")
    indices: Tensor = output("tensor", doc="Their places, int64.")

    def compute(self, *values: Any) -> Any:
        return tuple(values[0].topk(self.k, dim=-1))


@node(type="SortTensor", title="Sort", category="tensor", icon="arrow-up-narrow-wide")
class SortTensor(TensorOperation):
    """Sort along a dimension; equal numbers stay in their order. The shape stays."""

    x: Tensor = input("tensor", doc="Any shape.")
    dimension: int = param(-1, ge=-8, le=8, doc="Counted with the batch as 0; -1 is the last one.")
    descending: bool = param(False, doc="The largest first.")
    y: Tensor = output("tensor", doc="The sorted numbers.")
    indices: Tensor = output("tensor", doc="Where they stood, int64.")

    def compute(self, *values: Any) -> Any:
        return tuple(values[0].sort(dim=self.dimension, descending=self.descending, stable=True))


@node(type="CumulativeSum", title="Running sum", category="tensor", icon="trending-up")
class CumulativeSum(TensorOperation):
    """At every place the sum of all numbers up to it, along a dimension. The shape stays."""

    x: Tensor = input("tensor", doc="Any shape.")
    dimension: int = param(-1, ge=-8, le=8, doc="Counted with the batch as 0; -1 is the last one.")

    def compute(self, *values: Any) -> Any:
        return values[0].cumsum(dim=self.dimension)


@node(type="CountValues", title="Count values", category="tensor", icon="bar-chart-3")
class CountValues(TensorOperation):
    """How often each whole number from 0 on occurs: int64 `[…] → [size]`."""

    x: Tensor = input("tensor", doc="Whole numbers from 0 on, any shape.")
    size: int = param(10, ge=1, le=10**8, doc="How many numbers are counted; larger ones are left out.")

    def compute(self, *values: Any) -> Any:
        import torch

        flat = values[0].flatten().long()
        return torch.bincount(flat[flat < self.size], minlength=self.size)
