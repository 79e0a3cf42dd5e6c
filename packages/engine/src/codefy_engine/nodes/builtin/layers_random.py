"""Layers that draw random numbers while training. The same seed gives the same numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codefy_engine.nodes.base import input, node, param
from codefy_engine.nodes.builtin._layer import JoiningLayer, Layer, Shape, channels_of

if TYPE_CHECKING:
    from torch import Tensor, nn


@node(type="Dropout", title="Dropout", category="layers", icon="droplets")
class Dropout(Layer):
    """While training, set a share of the values to zero and scale the rest up by `1 / (1 - p)`.

    The shape stays. In evaluation nothing happens. The same seed gives the same masks.
    """

    p: float = param(0.5, ge=0, lt=1, label="Share", doc="Share of the values to drop.")

    def build(self, *shapes: Shape) -> nn.Module:
        from codefy_engine.training.seeding import SeededDropout

        return SeededDropout(self.p)


@node(type="Dropout1d", title="Dropout 1d", category="layers", icon="droplets")
class Dropout1d(Layer):
    """While training, set a share of the channels of a sequence to zero and scale the rest up by `1 / (1 - p)`.

    `c x length`; the shape stays. Neighbours in a channel say nearly the same, so whole channels go. In evaluation
    nothing happens.
    """

    p: float = param(0.5, ge=0, lt=1, label="Share", doc="Share of the channels to drop.")

    def build(self, *shapes: Shape) -> nn.Module:
        from codefy_engine.modules.randomness import ChannelDropout

        channels_of(shapes[0], spatial=1)
        return ChannelDropout(self.p)


@node(type="Dropout2d", title="Dropout 2d", category="layers", icon="droplets")
class Dropout2d(Layer):
    """While training, set a share of the channels of an image to zero and scale the rest up by `1 / (1 - p)`.

    `c x h x w`; the shape stays. Neighbours in a channel say nearly the same, so whole channels go. In evaluation
    nothing happens.
    """

    p: float = param(0.5, ge=0, lt=1, label="Share", doc="Share of the channels to drop.")

    def build(self, *shapes: Shape) -> nn.Module:
        from codefy_engine.modules.randomness import ChannelDropout

        channels_of(shapes[0], spatial=2)
        return ChannelDropout(self.p)


@node(type="GaussianNoise", title="Gaussian noise", category="layers", icon="waves")
class GaussianNoise(Layer):
    """While training, add normal noise: `x + deviation · ε`. In evaluation nothing happens.

    The shape stays. A denoising auto-encoder learns to take it away again.
    """

    deviation: float = param(0.1, ge=0, le=100, doc="Standard deviation of the noise.")

    def build(self, *shapes: Shape) -> nn.Module:
        from codefy_engine.modules.randomness import GaussianNoise

        return GaussianNoise(self.deviation)


@node(type="GaussianSample", title="Gaussian sample", category="layers", icon="waves")
class GaussianSample(JoiningLayer):
    """Draw from the normal distribution that two branches describe: `mean + exp(log_variance / 2) · ε`.

    Both inputs have the same shape, which stays. Gradients flow through it, which is the trick of the variational
    auto-encoder (Kingma and Welling, 2013). In evaluation it gives the mean.
    """

    mean: Tensor = input("tensor", doc="The mean of every number.")
    log_variance: Tensor = input("tensor", doc="The logarithm of its variance.")

    def build(self, *shapes: Shape) -> nn.Module:
        from codefy_engine.modules.randomness import GaussianSample

        if shapes[0] != shapes[1]:
            raise ValueError("mean and log variance need the same shape")
        return GaussianSample()
