"""Layers that only move values: reshape, permute, grow, and pick. Shapes are written without the batch dimension."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from codefy_engine.nodes.base import input, node, param
from codefy_engine.nodes.builtin._layer import Layer, Shape, TensorOperation, channels_of

if TYPE_CHECKING:
    from torch import Tensor, nn


@node(type="Flatten", title="Flatten", category="layers", icon="align-justify")
class Flatten(Layer):
    """Lay the dimensions of a sample out in one row: `c x h x w → c·h·w`."""

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.Flatten()


@node(type="Reshape", title="Reshape", category="layers", icon="maximize-2")
class Reshape(Layer):
    """Read the values of every sample in another shape; their number and order stay.

    With *shape* 32, 4, 4: `512 → 32 x 4 x 4`. One size may be -1: it follows from the others.
    """

    shape: list[int] = param([-1], ge=-1, le=10**9, doc="Sizes of a sample after it; one may be -1.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        known = math.prod(size for size in self.shape if size != -1)
        count = math.prod(shapes[0])
        free = self.shape.count(-1)
        if free > 1 or (known == 0) or (count % known if free else known != count):
            wanted = " x ".join(map(str, self.shape))
            raise ValueError(f"{count} values per sample do not fit {wanted}")
        sizes = [count // known if size == -1 else size for size in self.shape]
        return (
            nn.Unflatten(1, sizes)
            if len(shapes[0]) == 1
            else nn.Sequential(nn.Flatten(), nn.Unflatten(1, sizes))
        )


@node(type="Permute", title="Permute", category="layers", icon="shuffle")
class Permute(TensorOperation):
    """Put the dimensions of every sample in another order.

    With *order* 2, 1: `length x features → features x length`. Dimensions are counted from 1, the batch stays first.
    """

    x: Tensor = input("tensor", doc="The batch that comes in.")
    order: list[int] = param([2, 1], ge=1, le=8, doc="The old number of every dimension, in the new order.")

    def compute(self, *values: Any) -> Any:
        (x,) = values
        if sorted(self.order) != list(range(1, x.dim())):
            raise ValueError(f"the order names each of the numbers 1 to {x.dim() - 1} once")
        return x.permute(0, *self.order)


@node(type="SelectStep", title="Select step", category="layers", icon="crosshair")
class SelectStep(TensorOperation):
    """Take one element along a dimension, such as the last step of a sequence.

    With dimension 1 and step -1: `length x features → features`.
    """

    x: Tensor = input("tensor", doc="The batch that comes in.")
    dimension: int = param(1, ge=1, le=8, doc="1 is the first dimension of a sample.")
    step: int = param(-1, ge=-(10**9), le=10**9, doc="Counted from 0; -1 is the last one.")

    def compute(self, *values: Any) -> Any:
        (x,) = values
        return x.select(self.dimension, self.step)


@node(type="MeanOver", title="Mean over", category="layers", icon="minimize-2")
class MeanOver(TensorOperation):
    """Average along a dimension of every sample, which goes away.

    With dimension 1: `length x features → features`, the mean over all steps.
    """

    x: Tensor = input("tensor", doc="The batch that comes in.")
    dimension: int = param(1, ge=1, le=8, doc="1 is the first dimension of a sample.")

    def compute(self, *values: Any) -> Any:
        (x,) = values
        return x.mean(dim=self.dimension)


@node(type="Upsample", title="Upsample", category="layers", icon="maximize-2")
class Upsample(Layer):
    """Make sequences, images or volumes larger without weights.

    `c x length`, `c x h x w` or `c x d x h x w`; all but the channels grow by the factor.
    """

    factor: int = param(2, ge=1, le=64, doc="How many times larger.")
    method: Literal["nearest", "linear"] = param(
        "nearest",
        choices=[("nearest", "Nearest"), ("linear", "Linear")],
        doc="Repeat values, or go straight from one to the next.",
    )

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        linear = {2: "linear", 3: "bilinear", 4: "trilinear"}
        if len(shapes[0]) not in linear:
            raise ValueError(f"it expects channels and 1 to 3 further dimensions, got {len(shapes[0])}")
        if self.method == "nearest":
            return nn.Upsample(scale_factor=self.factor, mode="nearest")
        return nn.Upsample(scale_factor=self.factor, mode=linear[len(shapes[0])], align_corners=False)


@node(type="PixelShuffle", title="Pixel shuffle", category="layers", icon="maximize-2")
class PixelShuffle(Layer):
    """Make images larger out of channels: `c·r² x h x w → c x r·h x r·w`, with the factor r."""

    factor: int = param(2, ge=1, le=64, doc="How many times larger.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels = channels_of(shapes[0], spatial=2)
        if channels % self.factor**2:
            raise ValueError(f"{channels} channels cannot be divided by {self.factor**2}")
        return nn.PixelShuffle(self.factor)


@node(type="PixelUnshuffle", title="Pixel unshuffle", category="layers", icon="minimize-2")
class PixelUnshuffle(Layer):
    """Make images smaller into channels: `c x r·h x r·w → c·r² x h x w`, with the factor r."""

    factor: int = param(2, ge=1, le=64, doc="How many times smaller.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels_of(shapes[0], spatial=2)
        if shapes[0][1] % self.factor or shapes[0][2] % self.factor:
            raise ValueError(f"height and width must be multiples of {self.factor}")
        return nn.PixelUnshuffle(self.factor)


@node(type="Pad", title="Pad", category="layers", icon="maximize-2")
class Pad(TensorOperation):
    """Add values at both ends of the last dimensions.

    With *amount* 1 and *dimensions* 2: `c x h x w → c x (h + 2) x (w + 2)`.
    """

    x: Tensor = input("tensor", doc="The batch that comes in.")
    amount: int = param(1, ge=0, le=4096, doc="How many values at each end.")
    dimensions: int = param(2, ge=1, le=3, doc="How many of the last dimensions grow.")
    method: Literal["constant", "reflect", "replicate", "circular"] = param(
        "constant",
        choices=[
            ("constant", "Constant"),
            ("reflect", "Mirror"),
            ("replicate", "Repeat the edge"),
            ("circular", "Wrap around"),
        ],
        doc="What is added.",
    )
    value: float = param(0.0, ge=-1e9, le=1e9, doc="The constant.", visible_if={"method": ["constant"]})

    def compute(self, *values: Any) -> Any:
        from torch.nn import functional

        (x,) = values
        sides = [self.amount] * (2 * self.dimensions)
        if self.method == "constant":
            return functional.pad(x, sides, value=self.value)
        return functional.pad(x, sides, mode=self.method)
