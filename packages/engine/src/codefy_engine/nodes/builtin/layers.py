"""Layers with weights, pools, norms and what joins branches. Shapes are written without the batch dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codefy_engine.nodes.base import input, node, param
from codefy_engine.nodes.builtin._layer import JoiningLayer, Layer, Shape, channels_of, last_of

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


@node(type="Conv2d", title="Convolution 2d", category="layers", icon="scan")
class Conv2d(Layer):
    """Slide small trained filters over an image.

    `channels x h x w → out_channels x h' x w'` with
    `h' = floor((h + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1`. A kernel of 3 with padding 1 and
    stride 1 keeps height and width. The number of channels that come in follows from the data.
    """

    out_channels: int = param(16, ge=1, le=8192, label="Channels", doc="Number of filters.")
    kernel_size: int = param(3, ge=1, le=64, label="Kernel", unit="px", doc="Height and width of a filter.")
    stride: int = param(1, ge=1, le=64, unit="px", doc="How far a filter moves at a time.")
    padding: int = param(1, ge=0, le=64, unit="px", doc="Zeros added around the image.")
    dilation: int = param(1, ge=1, le=64, unit="px", doc="Distance of a filter's taps.", advanced=True)
    groups: int = param(1, ge=1, le=8192, doc="Parts of the channels that do not mix.", advanced=True)
    bias: bool = param(True, doc="Add a trained constant to every channel.", advanced=True)

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels = channels_of(shapes[0], spatial=2)
        return nn.Conv2d(
            channels,
            self.out_channels,
            self.kernel_size,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            groups=self.groups,
            bias=self.bias,
        )


@node(type="MaxPool2d", title="Max pool 2d", category="layers", icon="minimize-2")
class MaxPool2d(Layer):
    """Keep the largest value of every window.

    `c x h x w → c x h' x w'` with `h' = floor((h + 2 padding - kernel_size) / stride) + 1`. Without a stride the
    windows do not overlap.
    """

    kernel_size: int = param(2, ge=1, le=64, label="Window", unit="px", doc="Height and width of a window.")
    stride: int | None = param(None, ge=1, le=64, unit="px", doc="Step between windows. Empty: the window.")
    padding: int = param(0, ge=0, le=32, unit="px", doc="At most half the window.", advanced=True)

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels_of(shapes[0], spatial=2)
        return nn.MaxPool2d(self.kernel_size, stride=self.stride or self.kernel_size, padding=self.padding)


@node(type="AvgPool2d", title="Average pool 2d", category="layers", icon="minimize-2")
class AvgPool2d(Layer):
    """Take the mean of every window.

    `c x h x w → c x h' x w'` with `h' = floor((h + 2 padding - kernel_size) / stride) + 1`. Without a stride the
    windows do not overlap.
    """

    kernel_size: int = param(2, ge=1, le=64, label="Window", unit="px", doc="Height and width of a window.")
    stride: int | None = param(None, ge=1, le=64, unit="px", doc="Step between windows. Empty: the window.")
    padding: int = param(0, ge=0, le=32, unit="px", doc="At most half the window.", advanced=True)

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels_of(shapes[0], spatial=2)
        return nn.AvgPool2d(self.kernel_size, stride=self.stride or self.kernel_size, padding=self.padding)


@node(type="AdaptiveAvgPool2d", title="Adaptive average pool 2d", category="layers", icon="minimize-2")
class AdaptiveAvgPool2d(Layer):
    """Average an image of any size down to a fixed size.

    `c x h x w → c x output_size x output_size`. With 1 every channel becomes its mean.
    """

    output_size: int = param(1, ge=1, le=1024, unit="px", doc="Height and width after it.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels_of(shapes[0], spatial=2)
        return nn.AdaptiveAvgPool2d(self.output_size)


@node(type="BatchNorm1d", title="Batch norm 1d", category="layers", icon="sliders-horizontal")
class BatchNorm1d(Layer):
    """Bring every feature to mean 0 and deviation 1 over the batch, then scale and shift it by trained numbers.

    `features → features` or `channels x length → channels x length`. Evaluation uses running means instead of the
    batch. A batch must hold at least two samples.
    """

    eps: float = param(1e-5, gt=0, le=1, doc="Added to the variance.", advanced=True)
    momentum: float = param(0.1, gt=0, le=1, doc="Weight of a new batch in the running means.", advanced=True)

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        if len(shapes[0]) not in (1, 2):
            raise ValueError(f"it expects features, or channels x length; got {len(shapes[0])} dimensions")
        return nn.BatchNorm1d(shapes[0][0], eps=self.eps, momentum=self.momentum)


@node(type="BatchNorm2d", title="Batch norm 2d", category="layers", icon="sliders-horizontal")
class BatchNorm2d(Layer):
    """Bring every channel of images to mean 0 and deviation 1 over the batch, then scale and shift it.

    `c x h x w → c x h x w`. Evaluation uses running means instead of the batch.
    """

    eps: float = param(1e-5, gt=0, le=1, doc="Added to the variance.", advanced=True)
    momentum: float = param(0.1, gt=0, le=1, doc="Weight of a new batch in the running means.", advanced=True)

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.BatchNorm2d(channels_of(shapes[0], spatial=2), eps=self.eps, momentum=self.momentum)


@node(type="LayerNorm", title="Layer norm", category="layers", icon="sliders-horizontal")
class LayerNorm(Layer):
    """Bring the last dimensions of every sample to mean 0 and deviation 1, then scale and shift them.

    The shape stays. It does not look at other samples, so any batch size works.
    """

    dimensions: int = param(1, ge=1, le=8, doc="How many of the last dimensions are taken together.")
    eps: float = param(1e-5, gt=0, le=1, doc="Added to the variance.", advanced=True)

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        shape = shapes[0]
        if len(shape) < self.dimensions:
            raise ValueError(f"it takes the last {self.dimensions} dimensions together, got {len(shape)}")
        return nn.LayerNorm(list(shape[-self.dimensions :]), eps=self.eps)


@node(type="Dropout", title="Dropout", category="layers", icon="droplets")
class Dropout(Layer):
    """While training, set a share of the values to zero and scale the rest up by `1 / (1 - p)`.

    The shape stays. In evaluation nothing happens. The same seed gives the same masks.
    """

    p: float = param(0.5, ge=0, lt=1, label="Share", doc="Share of the values to drop.")

    def build(self, *shapes: Shape) -> nn.Module:
        from codefy_engine.training.seeding import SeededDropout

        return SeededDropout(self.p)


@node(type="Flatten", title="Flatten", category="layers", icon="align-justify")
class Flatten(Layer):
    """Lay the dimensions of a sample out in one row: `c x h x w → c·h·w`."""

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.Flatten()


@node(type="Add", title="Add", category="layers", icon="plus")
class Add(JoiningLayer):
    """Add two branches value by value, such as a layer and the shortcut around it (a residual connection).

    Both inputs have the same shape, or one broadcasts to the other.
    """

    a: Tensor = input("tensor", label="A", doc="One branch.")
    b: Tensor = input("tensor", label="B", doc="The other branch.")

    def build(self, *shapes: Shape) -> nn.Module:
        from codefy_engine.training.joins import Sum

        return Sum()


@node(type="Concat", title="Concatenate", category="layers", icon="merge")
class Concat(JoiningLayer):
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
