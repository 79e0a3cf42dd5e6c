"""Activation functions: they act on every value by itself (Softmax: on a row) and keep the shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from codefy_engine.nodes.base import node, param
from codefy_engine.nodes.builtin._layer import Layer, Shape

if TYPE_CHECKING:
    from torch import nn


@node(type="ReLU", title="ReLU", category="layers", icon="activity")
class ReLU(Layer):
    """`max(0, x)`: negative values become 0. The shape stays."""

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.ReLU()


@node(type="LeakyReLU", title="Leaky ReLU", category="layers", icon="activity")
class LeakyReLU(Layer):
    """`x` where it is positive, `slope · x` elsewhere. The shape stays."""

    slope: float = param(0.01, ge=0, le=1, doc="Factor for negative values.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.LeakyReLU(self.slope)


@node(type="GELU", title="GELU", category="layers", icon="activity")
class GELU(Layer):
    """`x · Φ(x)` with the normal distribution's Φ: a smooth ReLU. The shape stays."""

    approximate: Literal["none", "tanh"] = param(
        "none", doc="`tanh` is a little faster and a little off.", advanced=True
    )

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.GELU(approximate=self.approximate)


@node(type="SiLU", title="SiLU", category="layers", icon="activity")
class SiLU(Layer):
    """`x · sigmoid(x)`, also called swish. The shape stays."""

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.SiLU()


@node(type="Sigmoid", title="Sigmoid", category="layers", icon="activity")
class Sigmoid(Layer):
    """`1 / (1 + exp(-x))`: everything between 0 and 1. The shape stays."""

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.Sigmoid()


@node(type="Tanh", title="Tanh", category="layers", icon="activity")
class Tanh(Layer):
    """The hyperbolic tangent: everything between -1 and 1. The shape stays."""

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.Tanh()


@node(type="Softmax", title="Softmax", category="layers", icon="percent")
class Softmax(Layer):
    """Turn scores into shares that are positive and sum to 1 along a dimension. The shape stays.

    Do not put it before **CrossEntropyLoss**, which takes raw scores.
    """

    dimension: int = param(-1, ge=-8, le=8, doc="Counted with the batch as 0; -1 is the last one.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.Softmax(dim=_checked(self.dimension, shapes[0]))


@node(type="ReLU6", title="ReLU6", category="layers", icon="activity")
class ReLU6(Layer):
    """`min(max(0, x), 6)`: a ReLU with a ceiling. The shape stays."""

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.ReLU6()


@node(type="ELU", title="ELU", category="layers", icon="activity")
class ELU(Layer):
    """`x` where it is positive, `alpha · (exp(x) - 1)` elsewhere. The shape stays."""

    alpha: float = param(1.0, gt=0, le=100, doc="Where it goes to for very negative values, with a minus.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.ELU(self.alpha)


@node(type="CELU", title="CELU", category="layers", icon="activity")
class CELU(Layer):
    """`max(0, x) + min(0, alpha · (exp(x / alpha) - 1))`: an ELU without a kink. The shape stays."""

    alpha: float = param(1.0, gt=0, le=100, doc="Where it goes to for very negative values, with a minus.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.CELU(self.alpha)


@node(type="SELU", title="SELU", category="layers", icon="activity")
class SELU(Layer):
    """An ELU scaled so that deep networks keep mean 0 and deviation 1 by themselves. The shape stays."""

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.SELU()


@node(type="Mish", title="Mish", category="layers", icon="activity")
class Mish(Layer):
    """`x · tanh(softplus(x))`: a smooth ReLU that dips below 0. The shape stays."""

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.Mish()


@node(type="Softplus", title="Softplus", category="layers", icon="activity")
class Softplus(Layer):
    """`log(1 + exp(beta · x)) / beta`: a smooth ReLU that is always positive. The shape stays."""

    beta: float = param(1.0, gt=0, le=100, doc="The larger, the closer to ReLU.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.Softplus(self.beta)


@node(type="Softsign", title="Softsign", category="layers", icon="activity")
class Softsign(Layer):
    """`x / (1 + |x|)`: everything between -1 and 1, slower than tanh. The shape stays."""

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.Softsign()


@node(type="LogSigmoid", title="Log sigmoid", category="layers", icon="activity")
class LogSigmoid(Layer):
    """`log(1 / (1 + exp(-x)))`: the logarithm of a chance. The shape stays."""

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.LogSigmoid()


@node(type="Hardtanh", title="Hard tanh", category="layers", icon="activity")
class Hardtanh(Layer):
    """`x` cut to the range from *low* to *high*. The shape stays."""

    low: float = param(-1.0, ge=-1e6, le=1e6, doc="The smallest value that is left.")
    high: float = param(1.0, ge=-1e6, le=1e6, doc="The largest value that is left.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        if self.low >= self.high:
            raise ValueError("low must be below high")
        return nn.Hardtanh(self.low, self.high)


@node(type="Hardswish", title="Hard swish", category="layers", icon="activity")
class Hardswish(Layer):
    """`x · min(max(x + 3, 0), 6) / 6`: a swish of straight lines. The shape stays."""

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.Hardswish()


@node(type="Hardsigmoid", title="Hard sigmoid", category="layers", icon="activity")
class Hardsigmoid(Layer):
    """`min(max(x + 3, 0), 6) / 6`: a sigmoid of straight lines. The shape stays."""

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.Hardsigmoid()


@node(type="PReLU", title="PReLU", category="layers", icon="activity")
class PReLU(Layer):
    """`x` where it is positive, `a · x` elsewhere, with a trained `a`. The shape stays."""

    per_channel: bool = param(False, doc="Train one factor for every channel instead of one for all.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        if self.per_channel and not shapes[0]:
            raise ValueError("it expects channels x ..., got a single number")
        return nn.PReLU(shapes[0][0] if self.per_channel else 1)


@node(type="GLU", title="GLU", category="layers", icon="activity")
class GLU(Layer):
    """Let one half of the values open or close the other: `a · sigmoid(b)`. The dimension is halved.

    `… x 2m → … x m`: `a` is the first half along the dimension, `b` the second; its size is even.
    """

    dimension: int = param(-1, ge=-8, le=8, doc="Counted with the batch as 0; -1 is the last one.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.GLU(dim=_checked(self.dimension, shapes[0]))


@node(type="LogSoftmax", title="Log softmax", category="layers", icon="percent")
class LogSoftmax(Layer):
    """The logarithm of **Softmax**, computed so that it stays finite. The shape stays."""

    dimension: int = param(-1, ge=-8, le=8, doc="Counted with the batch as 0; -1 is the last one.")

    def build(self, *shapes: Shape) -> nn.Module:
        from torch import nn

        return nn.LogSoftmax(dim=_checked(self.dimension, shapes[0]))


def _checked(dimension: int, shape: Shape) -> int:
    rank = len(shape) + 1
    if dimension == 0 or not -rank < dimension < rank:
        raise ValueError(f"dimension {dimension} is not one of a sample, which has {rank - 1}")
    return dimension
