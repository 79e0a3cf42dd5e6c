"""Pools: they make sequences, images and volumes smaller. Shapes are without the batch dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codefy_engine.nodes.base import node, param
from codefy_engine.nodes.builtin._layer import Layer, Shape, channels_of

if TYPE_CHECKING:
    from torch import nn


class _Pool(Layer):
    """Parameters of every pool with windows."""

    kernel_size: int = param(2, ge=1, le=64, label="Window", unit="px", doc="Height and width of a window.")
    stride: int | None = param(None, ge=1, le=64, unit="px", doc="Step between windows. Empty: the window.")
    padding: int = param(0, ge=0, le=32, unit="px", doc="At most half the window.", advanced=True)

    def _options(self) -> dict[str, Any]:
        return {"stride": self.stride or self.kernel_size, "padding": self.padding}


class _AdaptivePool(Layer):
    """Parameters of every pool to a fixed size."""

    output_size: int = param(1, ge=1, le=1024, unit="px", doc="Height and width after it.")


@node(type="MaxPool1d", title="Max pool 1d", category="layers", icon="minimize-2")
class MaxPool1d(_Pool):
    """Keep the largest value of every window of a sequence.

    `c x length → c x length'` with
    `length' = floor((length + 2 padding - kernel_size) / stride) + 1`. Without a stride the windows do not overlap.
    """

    kernel_size: int = param(2, ge=1, le=64, label="Window", unit="px", doc="Length of a window.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels_of(shapes[0], spatial=1)
        return nn.MaxPool1d(self.kernel_size, **self._options())


@node(type="MaxPool2d", title="Max pool 2d", category="layers", icon="minimize-2")
class MaxPool2d(_Pool):
    """Keep the largest value of every window.

    `c x h x w → c x h' x w'` with `h' = floor((h + 2 padding - kernel_size) / stride) + 1`. Without a stride the windows do not overlap.
    """

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels_of(shapes[0], spatial=2)
        return nn.MaxPool2d(self.kernel_size, **self._options())


@node(type="MaxPool3d", title="Max pool 3d", category="layers", icon="minimize-2")
class MaxPool3d(_Pool):
    """Keep the largest value of every window of a volume.

    `c x d x h x w → c x d' x h' x w'` with
    `d' = floor((d + 2 padding - kernel_size) / stride) + 1`, and so for height and width. Without a stride the windows do not overlap.
    """

    kernel_size: int = param(2, ge=1, le=64, label="Window", unit="px", doc="Edge of a cubic window.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels_of(shapes[0], spatial=3)
        return nn.MaxPool3d(self.kernel_size, **self._options())


@node(type="AvgPool1d", title="Average pool 1d", category="layers", icon="minimize-2")
class AvgPool1d(_Pool):
    """Take the mean of every window of a sequence.

    `c x length → c x length'` with
    `length' = floor((length + 2 padding - kernel_size) / stride) + 1`. Without a stride the windows do not overlap.
    """

    kernel_size: int = param(2, ge=1, le=64, label="Window", unit="px", doc="Length of a window.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels_of(shapes[0], spatial=1)
        return nn.AvgPool1d(self.kernel_size, **self._options())


@node(type="AvgPool2d", title="Average pool 2d", category="layers", icon="minimize-2")
class AvgPool2d(_Pool):
    """Take the mean of every window.

    `c x h x w → c x h' x w'` with `h' = floor((h + 2 padding - kernel_size) / stride) + 1`. Without a stride the windows do not overlap.
    """

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels_of(shapes[0], spatial=2)
        return nn.AvgPool2d(self.kernel_size, **self._options())


@node(type="AvgPool3d", title="Average pool 3d", category="layers", icon="minimize-2")
class AvgPool3d(_Pool):
    """Take the mean of every window of a volume.

    `c x d x h x w → c x d' x h' x w'` with
    `d' = floor((d + 2 padding - kernel_size) / stride) + 1`, and so for height and width. Without a stride the windows do not overlap.
    """

    kernel_size: int = param(2, ge=1, le=64, label="Window", unit="px", doc="Edge of a cubic window.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels_of(shapes[0], spatial=3)
        return nn.AvgPool3d(self.kernel_size, **self._options())


@node(type="AdaptiveAvgPool1d", title="Adaptive average pool 1d", category="layers", icon="minimize-2")
class AdaptiveAvgPool1d(_AdaptivePool):
    """Average a sequence of any length down to a fixed size.

    `c x length → c x output_size`. With 1 every channel becomes its mean.
    """

    output_size: int = param(1, ge=1, le=1024, unit="px", doc="Length after it.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels_of(shapes[0], spatial=1)
        return nn.AdaptiveAvgPool1d(self.output_size)


@node(type="AdaptiveAvgPool2d", title="Adaptive average pool 2d", category="layers", icon="minimize-2")
class AdaptiveAvgPool2d(_AdaptivePool):
    """Average an image of any size down to a fixed size.

    `c x h x w → c x output_size x output_size`. With 1 every channel becomes its mean.
    """

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels_of(shapes[0], spatial=2)
        return nn.AdaptiveAvgPool2d(self.output_size)


@node(type="AdaptiveAvgPool3d", title="Adaptive average pool 3d", category="layers", icon="minimize-2")
class AdaptiveAvgPool3d(_AdaptivePool):
    """Average a volume of any size down to a fixed size.

    `c x d x h x w → c x output_size x output_size x output_size`. With 1 every channel becomes its mean.
    """

    output_size: int = param(1, ge=1, le=1024, unit="px", doc="Edge of the volume after it.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels_of(shapes[0], spatial=3)
        return nn.AdaptiveAvgPool3d(self.output_size)


@node(type="AdaptiveMaxPool1d", title="Adaptive max pool 1d", category="layers", icon="minimize-2")
class AdaptiveMaxPool1d(_AdaptivePool):
    """Keep the largest values of a sequence of any length, at a fixed size.

    `c x length → c x output_size`. With 1 every channel becomes its largest value.
    """

    output_size: int = param(1, ge=1, le=1024, unit="px", doc="Length after it.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels_of(shapes[0], spatial=1)
        return nn.AdaptiveMaxPool1d(self.output_size)


@node(type="AdaptiveMaxPool2d", title="Adaptive max pool 2d", category="layers", icon="minimize-2")
class AdaptiveMaxPool2d(_AdaptivePool):
    """Keep the largest values of an image of any size, at a fixed size.

    `c x h x w → c x output_size x output_size`. With 1 every channel becomes its largest value.
    """

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels_of(shapes[0], spatial=2)
        return nn.AdaptiveMaxPool2d(self.output_size)


@node(type="AdaptiveMaxPool3d", title="Adaptive max pool 3d", category="layers", icon="minimize-2")
class AdaptiveMaxPool3d(_AdaptivePool):
    """Keep the largest values of a volume of any size, at a fixed size.

    `c x d x h x w → c x output_size x output_size x output_size`. With 1 every channel becomes its largest value.
    """

    output_size: int = param(1, ge=1, le=1024, unit="px", doc="Edge of the volume after it.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        channels_of(shapes[0], spatial=3)
        return nn.AdaptiveMaxPool3d(self.output_size)
