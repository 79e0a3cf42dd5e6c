"""Cut, join and turn tensors. Dimensions are counted with the batch as 0, negative ones from the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from codefy_engine.nodes.base import input, node, output, param
from codefy_engine.nodes.builtin._layer import TensorOperation

if TYPE_CHECKING:
    from torch import Tensor


@node(type="StackTensors", title="Stack", category="tensor", icon="layers")
class StackTensors(TensorOperation):
    """Lay tensors of one shape on each other, along a new dimension.

    With dimension 0, three times `[n, k] → [3, n, k]`.
    """

    count: int = param(2, ge=1, le=16, doc="How many tensors.")
    x: list[Tensor] = input("tensor", repeat="count", doc="The tensors in their order.")
    dimension: int = param(0, ge=-8, le=8, doc="Where the new dimension goes; -1 is at the end.")

    def compute(self, *values: Any) -> Any:
        import torch

        return torch.stack(values, dim=self.dimension)


@node(type="JoinTensors", title="Join", category="tensor", icon="merge")
class JoinTensors(TensorOperation):
    """Put tensors one after the other along a dimension; all other dimensions are equal.

    With dimension 0, `[n, k]` and `[m, k] → [n + m, k]`.
    """

    count: int = param(2, ge=1, le=16, doc="How many tensors.")
    x: list[Tensor] = input("tensor", repeat="count", doc="The tensors in their order.")
    dimension: int = param(0, ge=-8, le=8, doc="Counted with the batch as 0; -1 is the last one.")

    def compute(self, *values: Any) -> Any:
        import torch

        return torch.cat(values, dim=self.dimension)


@node(type="SplitTensor", title="Split tensor", category="tensor", icon="split")
class SplitTensor(TensorOperation):
    """Cut a tensor into equal parts along a dimension, such as the q, k and v of an attention.

    With three parts and dimension -1: `[n, 3k] →` three times `[n, k]`.
    """

    x: Tensor = input("tensor", doc="Any shape.")
    parts: int = param(2, ge=2, le=16, doc="How many parts; they divide the size.")
    dimension: int = param(-1, ge=-8, le=8, doc="Counted with the batch as 0; -1 is the last one.")
    y: Tensor = output("tensor", repeat="parts", doc="The parts in their order.")

    def compute(self, *values: Any) -> Any:
        (x,) = values
        size = x.shape[self.dimension]
        if size % self.parts:
            raise ValueError(f"{size} cannot be cut into {self.parts} equal parts")
        return x.split(size // self.parts, dim=self.dimension)


@node(type="SliceTensor", title="Slice", category="tensor", icon="scissors")
class SliceTensor(TensorOperation):
    """Take a stretch of a dimension: from *start* to before *stop*, every *step*-th.

    With dimension 0, start 2 and stop 5: `[n, k] → [3, k]`. Negative places are counted from the end.
    """

    x: Tensor = input("tensor", doc="Any shape.")
    dimension: int = param(0, ge=-8, le=8, doc="Counted with the batch as 0; -1 is the last one.")
    start: int | None = param(None, ge=-(10**9), le=10**9, doc="The first place. Empty: the beginning.")
    stop: int | None = param(None, ge=-(10**9), le=10**9, doc="The place after the last. Empty: the end.")
    step: int = param(1, ge=1, le=10**9, doc="Take every how-many-th.")

    def compute(self, *values: Any) -> Any:
        (x,) = values
        if not -x.dim() <= self.dimension < x.dim():
            raise ValueError(f"dimension {self.dimension} is not one of {x.dim()}")
        cut: list[Any] = [slice(None)] * x.dim()
        cut[self.dimension] = slice(self.start, self.stop, self.step)
        return x[tuple(cut)]


@node(type="TakeRows", title="Take rows", category="tensor", icon="list-filter")
class TakeRows(TensorOperation):
    """Take the elements of a dimension that a tensor of places names, in that order.

    `[n, …]` and int64 `[m] → [m, …]`; a place may be named several times.
    """

    x: Tensor = input("tensor", doc="Any shape.")
    indices: Tensor = input("tensor", doc="int64 `[m]`, counted from 0.")
    dimension: int = param(0, ge=-8, le=8, doc="Counted with the batch as 0; -1 is the last one.")

    def compute(self, *values: Any) -> Any:
        x, indices = values
        return x.index_select(self.dimension, indices.long())


@node(type="ReshapeTensor", title="Reshape tensor", category="tensor", icon="maximize-2")
class ReshapeTensor(TensorOperation):
    """Read a whole tensor, batch and all, in another shape; its numbers and their order stay.

    `[6, 4] → [2, 12]` with *shape* 2, 12 or 2, -1. **Reshape** does it to every sample.
    """

    x: Tensor = input("tensor", doc="Any shape.")
    shape: list[int] = param(
        [-1], ge=-1, le=10**9, doc="The new sizes; one may be -1: it follows from the others."
    )

    def compute(self, *values: Any) -> Any:
        return values[0].reshape(self.shape)


@node(type="Transpose", title="Transpose", category="tensor", icon="shuffle")
class Transpose(TensorOperation):
    """Swap two dimensions: `[n, k] → [k, n]`."""

    x: Tensor = input("tensor", doc="Any shape.")
    first: int = param(-2, ge=-8, le=8, doc="One of them, counted with the batch as 0.")
    second: int = param(-1, ge=-8, le=8, doc="The other, counted with the batch as 0.")

    def compute(self, *values: Any) -> Any:
        return values[0].transpose(self.first, self.second)


@node(type="AddDimension", title="Add dimension", category="tensor", icon="plus")
class AddDimension(TensorOperation):
    """Put in a dimension of size 1: with dimension 1, `[n, k] → [n, 1, k]`."""

    x: Tensor = input("tensor", doc="Any shape.")
    dimension: int = param(-1, ge=-8, le=8, doc="Where the new dimension goes; -1 is at the end.")

    def compute(self, *values: Any) -> Any:
        return values[0].unsqueeze(self.dimension)


@node(type="DropDimension", title="Drop dimension", category="tensor", icon="minus")
class DropDimension(TensorOperation):
    """Take out a dimension of size 1: with dimension 1, `[n, 1, k] → [n, k]`."""

    x: Tensor = input("tensor", doc="Any shape.")
    dimension: int = param(-1, ge=-8, le=8, doc="Counted with the batch as 0; -1 is the last one.")

    def compute(self, *values: Any) -> Any:
        (x,) = values
        if x.shape[self.dimension] != 1:
            raise ValueError(f"dimension {self.dimension} has size {x.shape[self.dimension]}, not 1")
        return x.squeeze(self.dimension)


@node(type="SlidingWindows", title="Sliding windows", category="tensor", icon="rows")
class SlidingWindows(TensorOperation):
    """Cut a series into overlapping stretches: `[t, …] → [(t - length) / step + 1, length, …]`.

    From a row of measurements it makes the samples from which a network learns what comes next.
    """

    x: Tensor = input("tensor", doc="The series: time first.")
    length: int = param(24, ge=1, le=10**8, doc="Length of a stretch.")
    step: int = param(1, ge=1, le=10**8, doc="From the start of one stretch to the next.")

    def compute(self, *values: Any) -> Any:
        (x,) = values
        if x.shape[0] < self.length:
            raise ValueError(f"a stretch of {self.length} does not fit in a series of {x.shape[0]}")
        return x.unfold(0, self.length, self.step).movedim(-1, 1).contiguous()


@node(type="FlipTensor", title="Flip", category="tensor", icon="flip-horizontal")
class FlipTensor(TensorOperation):
    """Reverse the order along a dimension. The shape stays."""

    x: Tensor = input("tensor", doc="Any shape.")
    dimension: int = param(-1, ge=-8, le=8, doc="Counted with the batch as 0; -1 is the last one.")

    def compute(self, *values: Any) -> Any:
        return values[0].flip(self.dimension)


@node(type="ConvertTensor", title="Convert type", category="tensor", icon="repeat")
class ConvertTensor(TensorOperation):
    """Give the numbers another type. The shape stays; a whole number is rounded towards 0."""

    x: Tensor = input("tensor", doc="Any shape.")
    type: Literal["float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool"] = param(
        "float32", doc="The type after it."
    )

    def compute(self, *values: Any) -> Any:
        import torch

        return values[0].to(getattr(torch, self.type))
