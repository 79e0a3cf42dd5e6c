"""Normalisation layers. Shapes are written without the batch dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codefy_engine.nodes.base import node, param
from codefy_engine.nodes.builtin._layer import Layer, Shape, channels_of

if TYPE_CHECKING:
    from torch import nn


class _BatchNorm(Layer):
    """Parameters of every batch norm."""

    eps: float = param(1e-5, gt=0, le=1, doc="Added to the variance.", advanced=True)
    momentum: float = param(0.1, gt=0, le=1, doc="Weight of a new batch in the running means.", advanced=True)


@node(type="BatchNorm1d", title="Batch norm 1d", category="layers", icon="sliders-horizontal")
class BatchNorm1d(_BatchNorm):
    """Bring every feature to mean 0 and deviation 1 over the batch, then scale and shift it by trained numbers.

    `features → features` or `channels x length → channels x length`. Evaluation uses running means instead of the
    batch. A batch must hold at least two samples.
    """

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        if len(shapes[0]) not in (1, 2):
            raise ValueError(f"it expects features, or channels x length; got {len(shapes[0])} dimensions")
        return nn.BatchNorm1d(shapes[0][0], eps=self.eps, momentum=self.momentum)


@node(type="BatchNorm2d", title="Batch norm 2d", category="layers", icon="sliders-horizontal")
class BatchNorm2d(_BatchNorm):
    """Bring every channel of images to mean 0 and deviation 1 over the batch, then scale and shift it.

    `c x h x w → c x h x w`. Evaluation uses running means instead of the batch.
    """

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.BatchNorm2d(channels_of(shapes[0], spatial=2), eps=self.eps, momentum=self.momentum)


@node(type="BatchNorm3d", title="Batch norm 3d", category="layers", icon="sliders-horizontal")
class BatchNorm3d(_BatchNorm):
    """Bring every channel of volumes to mean 0 and deviation 1 over the batch, then scale and shift it.

    `c x d x h x w → c x d x h x w`. Evaluation uses running means instead of the batch.
    """

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.BatchNorm3d(channels_of(shapes[0], spatial=3), eps=self.eps, momentum=self.momentum)


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


@node(type="RMSNorm", title="RMS norm", category="layers", icon="sliders-horizontal")
class RMSNorm(Layer):
    """Divide the last dimensions of every sample by the root of their mean square, then scale them.

    `y = x / sqrt(mean(x²) + eps) · weight`. The shape stays. Like **LayerNorm** without mean and shift, and cheaper.
    """

    dimensions: int = param(1, ge=1, le=8, doc="How many of the last dimensions are taken together.")
    eps: float = param(1e-6, gt=0, le=1, doc="Added to the mean square.", advanced=True)

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        shape = shapes[0]
        if len(shape) < self.dimensions:
            raise ValueError(f"it takes the last {self.dimensions} dimensions together, got {len(shape)}")
        return nn.RMSNorm(list(shape[-self.dimensions :]), eps=self.eps)


@node(type="GroupNorm", title="Group norm", category="layers", icon="sliders-horizontal")
class GroupNorm(Layer):
    """Bring groups of channels of every sample to mean 0 and deviation 1, then scale and shift every channel.

    `c x … → c x …`; the groups divide the channels evenly. One group is a layer norm over everything, as many groups
    as channels is an instance norm. It does not look at other samples.
    """

    groups: int = param(8, ge=1, le=8192, doc="Number of groups; it divides the number of channels.")
    eps: float = param(1e-5, gt=0, le=1, doc="Added to the variance.", advanced=True)

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        if not shapes[0]:
            raise ValueError("it expects channels x ..., got a single number")
        if shapes[0][0] % self.groups:
            raise ValueError(f"{shapes[0][0]} channels cannot be divided into {self.groups} equal groups")
        return nn.GroupNorm(self.groups, shapes[0][0], eps=self.eps)


@node(type="InstanceNorm", title="Instance norm", category="layers", icon="sliders-horizontal")
class InstanceNorm(Layer):
    """Bring every channel of every sample to mean 0 and deviation 1 by itself.

    `c x length`, `c x h x w` or `c x d x h x w`; the shape stays. It takes contrast out of images.
    """

    affine: bool = param(False, doc="Scale and shift every channel by trained numbers.")
    eps: float = param(1e-5, gt=0, le=1, doc="Added to the variance.", advanced=True)

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        kinds = {2: nn.InstanceNorm1d, 3: nn.InstanceNorm2d, 4: nn.InstanceNorm3d}
        kind = kinds.get(len(shapes[0]))
        if kind is None:
            raise ValueError(f"it expects channels and 1 to 3 further dimensions, got {len(shapes[0])}")
        return kind(shapes[0][0], eps=self.eps, affine=self.affine)
