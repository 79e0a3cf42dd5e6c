"""Blocks of a denoising U-Net. Shapes are written without the batch dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codefy_engine.nodes.base import input, node, param
from codefy_engine.nodes.builtin._layer import Layer, Shape, channels_of, check_heads

if TYPE_CHECKING:
    from torch import Tensor, nn


@node(type="ResidualBlock2d", title="Residual block 2d", category="diffusion", icon="layers")
class ResidualBlock2d(Layer):
    """Two convolutions with group norm and SiLU around a shortcut, told the time step: the block of a U-Net.

    `c x h x w` and `width → out_channels x h x w`: `skip(x) + conv(silu(norm(h + W silu(time))))` with
    `h = conv(silu(norm(x)))` (Ho et al., 2020). The skip is a 1 x 1 convolution when the channels change. A fresh block
    passes its input on. Go down with **Average pool 2d** and up with **Upsample**, and join by **Concatenate**.
    """

    x: Tensor = input("tensor", doc="The pictures: c x h x w.")
    time: Tensor | None = input("tensor", required=False, doc="A vector that is added to every pixel: width.")
    out_channels: int = param(32, ge=1, le=8192, label="Channels", doc="Number of filters.")
    groups: int = param(8, ge=1, le=8192, doc="Of the group norms; they divide both numbers of channels.")
    dropout: float = param(0.0, ge=0, lt=1, doc="Share of the values to drop.", advanced=True)

    def build(self, *shapes: Any) -> nn.Module:
        from codefy_engine.modules.unet import ResidualBlock

        channels = channels_of(shapes[0], spatial=2)
        for count in (channels, self.out_channels):
            if count % self.groups:
                raise ValueError(f"{count} channels cannot be divided into {self.groups} equal groups")
        if shapes[1] is not None and len(shapes[1]) != 1:
            raise ValueError(f"the time is one vector per sample, got {len(shapes[1])} dimensions")
        return ResidualBlock(
            channels,
            self.out_channels,
            time_width=None if shapes[1] is None else shapes[1][0],
            groups=self.groups,
            dropout=self.dropout,
        )


@node(type="SpatialAttention", title="Attention over pixels", category="diffusion", icon="eye")
class SpatialAttention(Layer):
    """Let every pixel gather from all others; the result is added to the picture.

    `c x h x w → c x h x w`: `x + attention(norm(x))` over the `h · w` pixels as a sequence of vectors of size `c`.
    """

    heads: int = param(4, ge=1, le=256, doc="Parts of the width that look by themselves.")
    groups: int = param(8, ge=1, le=8192, doc="Number of groups; it divides the number of channels.")

    def build(self, *shapes: Shape) -> nn.Module:
        from codefy_engine.modules.unet import SpatialAttention

        channels = channels_of(shapes[0], spatial=2)
        check_heads(channels, self.heads)
        if channels % self.groups:
            raise ValueError(f"{channels} channels cannot be divided into {self.groups} equal groups")
        return SpatialAttention(channels, heads=self.heads, groups=self.groups)
