"""Layers that say where and when: positions, time steps, patches. Shapes are written without the batch dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codefy_engine.nodes.base import input, node, param
from codefy_engine.nodes.builtin._layer import JoiningLayer, Layer, Shape, channels_of, sequence_of

if TYPE_CHECKING:
    from torch import Tensor, nn


@node(type="SinusoidalPositions", title="Sinusoidal positions", category="layers", icon="map-pin")
class SinusoidalPositions(Layer):
    """Add waves of many lengths to a sequence, so that a transformer knows where each vector stands.

    `length x width → length x width`; `sin(p · w_i)` is added at `2i` and `cos(p · w_i)` at `2i + 1` with
    `w_i = 10000^(-2i / width)` (Vaswani et al., 2017). Nothing is trained, any length works.
    """

    def build(self, *shapes: Shape) -> nn.Module:
        from codefy_engine.modules.positions import SinusoidalPositions

        sequence_of(shapes[0])
        return SinusoidalPositions()


@node(type="LearnedPositions", title="Learned positions", category="layers", icon="map-pin")
class LearnedPositions(Layer):
    """Add a trained vector for every position to a sequence.

    `length x width → length x width`. Later sequences may be shorter than the first one, not longer.
    """

    def build(self, *shapes: Shape) -> nn.Module:
        from codefy_engine.modules.positions import LearnedPositions

        return LearnedPositions(*sequence_of(shapes[0]))


@node(type="TimestepEmbedding", title="Time step embedding", category="layers", icon="clock")
class TimestepEmbedding(JoiningLayer):
    """Turn the number of a time step into a vector of waves, for a network that removes noise.

    `[n] → [n, width]`, from a single number per sample: `sin(t · w_i)` at `2i`, `cos(t · w_i)` at `2i + 1` with
    `w_i = period^(-2i / width)`.
    """

    x: Tensor = input("tensor", doc="The step of every sample: a single number.")
    width: int = param(64, ge=2, le=65_536, doc="Size of a vector.")
    period: float = param(10_000.0, gt=1, le=1e9, doc="Length of the longest wave, over 2π.", advanced=True)

    def build(self, *shapes: Shape) -> nn.Module:
        from codefy_engine.modules.positions import TimestepEmbedding

        if shapes[0] != ():
            raise ValueError("it expects a single number per sample")
        return TimestepEmbedding(self.width, self.period)


@node(type="ClassToken", title="Class token", category="layers", icon="tag")
class ClassToken(Layer):
    """Put one trained vector before a sequence, in which a transformer collects what it finds out.

    `length x width → (length + 1) x width`. Take it out again with **Select step** 0.
    """

    def build(self, *shapes: Shape) -> nn.Module:
        from codefy_engine.modules.positions import ClassToken

        return ClassToken(sequence_of(shapes[0])[1])


@node(type="PatchEmbedding", title="Patch embedding", category="layers", icon="grid")
class PatchEmbedding(Layer):
    """Cut an image into squares and make a vector of each: the start of a vision transformer.

    `c x h x w → (h / patch · w / patch) x width`, row by row (Dosovitskiy et al., 2021).
    """

    patch: int = param(
        2, ge=1, le=256, unit="px", doc="Edge of a square; height and width are multiples of it."
    )
    width: int = param(64, ge=1, le=65_536, doc="Size of a vector.")

    def build(self, *shapes: Shape) -> nn.Module:
        from codefy_engine.modules.positions import PatchEmbedding

        channels = channels_of(shapes[0], spatial=2)
        if shapes[0][1] % self.patch or shapes[0][2] % self.patch:
            raise ValueError(f"height and width must be multiples of {self.patch}")
        return PatchEmbedding(channels, self.width, self.patch)
