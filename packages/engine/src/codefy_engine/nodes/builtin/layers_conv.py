"""Convolutions and transposed convolutions in one, two and three dimensions. Shapes are without the batch dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codefy_engine.nodes.base import node, param
from codefy_engine.nodes.builtin._layer import Layer, Shape, channels_of

if TYPE_CHECKING:
    from torch import nn


class _Convolution(Layer):
    """Parameters of every convolution."""

    out_channels: int = param(16, ge=1, le=8192, label="Channels", doc="Number of filters.")
    kernel_size: int = param(3, ge=1, le=64, label="Kernel", unit="px", doc="Height and width of a filter.")
    stride: int = param(1, ge=1, le=64, unit="px", doc="How far a filter moves at a time.")
    padding: int = param(1, ge=0, le=64, unit="px", doc="Zeros added around the image.")
    dilation: int = param(1, ge=1, le=64, unit="px", doc="Distance of a filter's taps.", advanced=True)
    groups: int = param(1, ge=1, le=8192, doc="Parts of the channels that do not mix.", advanced=True)
    bias: bool = param(True, doc="Add a trained constant to every channel.", advanced=True)

    def _options(self) -> dict[str, Any]:
        return {
            "stride": self.stride,
            "padding": self.padding,
            "dilation": self.dilation,
            "groups": self.groups,
            "bias": self.bias,
        }


@node(type="Conv1d", title="Convolution 1d", category="layers", icon="scan")
class Conv1d(_Convolution):
    """Slide small trained filters along a sequence.

    `channels x length → out_channels x length'` with
    `length' = floor((length + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1`. A kernel of 3 with padding 1
    and stride 1 keeps the length.
    """

    kernel_size: int = param(3, ge=1, le=4096, label="Kernel", doc="Length of a filter.")
    stride: int = param(1, ge=1, le=4096, doc="How far a filter moves at a time.")
    padding: int = param(1, ge=0, le=4096, doc="Zeros added at both ends.")
    dilation: int = param(1, ge=1, le=4096, doc="Distance of a filter's taps.", advanced=True)

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels = channels_of(shapes[0], spatial=1)
        return nn.Conv1d(channels, self.out_channels, self.kernel_size, **self._options())


@node(type="Conv2d", title="Convolution 2d", category="layers", icon="scan")
class Conv2d(_Convolution):
    """Slide small trained filters over an image.

    `channels x h x w → out_channels x h' x w'` with
    `h' = floor((h + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1`. A kernel of 3 with padding 1 and
    stride 1 keeps height and width. The number of channels that come in follows from the data.
    """

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels = channels_of(shapes[0], spatial=2)
        return nn.Conv2d(channels, self.out_channels, self.kernel_size, **self._options())


@node(type="Conv3d", title="Convolution 3d", category="layers", icon="scan")
class Conv3d(_Convolution):
    """Slide small trained filters through a volume, or through the frames of a video.

    `channels x d x h x w → out_channels x d' x h' x w'` with
    `d' = floor((d + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1`, and so for height and width.
    """

    kernel_size: int = param(3, ge=1, le=64, label="Kernel", unit="px", doc="Edge of a cubic filter.")
    padding: int = param(1, ge=0, le=64, unit="px", doc="Zeros added around the volume.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels = channels_of(shapes[0], spatial=3)
        return nn.Conv3d(channels, self.out_channels, self.kernel_size, **self._options())


class _Transposed(Layer):
    """Parameters of every transposed convolution."""

    out_channels: int = param(16, ge=1, le=8192, label="Channels", doc="Number of filters.")
    kernel_size: int = param(2, ge=1, le=64, label="Kernel", doc="Edge of a filter.")
    stride: int = param(2, ge=1, le=64, doc="How much larger the result is.")
    padding: int = param(0, ge=0, le=64, doc="Cut off around the result.")
    output_padding: int = param(
        0, ge=0, le=63, doc="Added at one side of the result; less than the stride.", advanced=True
    )
    dilation: int = param(1, ge=1, le=64, doc="Distance of a filter's taps.", advanced=True)
    groups: int = param(1, ge=1, le=8192, doc="Parts of the channels that do not mix.", advanced=True)
    bias: bool = param(True, doc="Add a trained constant to every channel.", advanced=True)

    def _options(self) -> dict[str, Any]:
        return {
            "stride": self.stride,
            "padding": self.padding,
            "output_padding": self.output_padding,
            "dilation": self.dilation,
            "groups": self.groups,
            "bias": self.bias,
        }


@node(type="ConvTranspose1d", title="Transposed convolution 1d", category="layers", icon="scan")
class ConvTranspose1d(_Transposed):
    """Spread every value of a sequence by trained filters: the sequence grows.

    `channels x length → out_channels x length'` with
    `length' = (length - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1`. A kernel of 2 with
    stride 2 doubles the length.
    """

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels = channels_of(shapes[0], spatial=1)
        return nn.ConvTranspose1d(channels, self.out_channels, self.kernel_size, **self._options())


@node(type="ConvTranspose2d", title="Transposed convolution 2d", category="layers", icon="scan")
class ConvTranspose2d(_Transposed):
    """Spread every pixel by trained filters: the image grows.

    `channels x h x w → out_channels x h' x w'` with
    `h' = (h - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1`. A kernel of 2 with stride 2
    doubles height and width.
    """

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels = channels_of(shapes[0], spatial=2)
        return nn.ConvTranspose2d(channels, self.out_channels, self.kernel_size, **self._options())


@node(type="ConvTranspose3d", title="Transposed convolution 3d", category="layers", icon="scan")
class ConvTranspose3d(_Transposed):
    """Spread every voxel by trained filters: the volume grows.

    `channels x d x h x w → out_channels x d' x h' x w'` with
    `d' = (d - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1`, and so for height and width.
    """

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels = channels_of(shapes[0], spatial=3)
        return nn.ConvTranspose3d(channels, self.out_channels, self.kernel_size, **self._options())
