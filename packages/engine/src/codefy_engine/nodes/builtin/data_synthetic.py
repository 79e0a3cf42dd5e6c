"""Data sets that are made on the spot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codefy_engine.nodes.base import Node, NodeContext, node, output, param

if TYPE_CHECKING:
    from torch import Tensor

    from codefy_engine.training.data import TensorDataset


class _Made(Node):
    """Base: what all made data sets have."""

    samples: int = param(300, ge=2, le=1_000_000, unit="samples", doc="How many samples to make.")
    seed: int | None = param(
        None, ge=0, le=2**31 - 1, doc="Decides the random numbers. Empty: the run's seed.", advanced=True
    )
    dataset: TensorDataset = output("dataset", doc="All samples with their targets.")

    def chosen_seed(self, ctx: NodeContext) -> int:
        """The node's own seed, else the run's, in the range that scikit-learn takes."""
        return self.seed if self.seed is not None else (ctx.seed or 0) % 2**32


@node(type="Moons", title="Two moons", category="data", icon="moon")
class Moons(_Made):
    """Two half moons that reach into each other: not to be parted by a straight line.

    Samples `[n, 2]` float32, two classes; as `sklearn.datasets.make_moons`.
    """

    noise: float = param(0.1, ge=0, le=10, doc="Deviation of the points from their place.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.synthetic import two_dimensional

        return two_dimensional("moons", self.samples, self.noise, 0.5, self.chosen_seed(ctx))


@node(type="Circles", title="Two circles", category="data", icon="circle-dot")
class Circles(_Made):
    """A ring around another: parted by the distance from the center only.

    Samples `[n, 2]` float32, two classes; as `sklearn.datasets.make_circles`.
    """

    noise: float = param(0.1, ge=0, le=10, doc="Deviation of the points from their place.")
    factor: float = param(
        0.5, gt=0, lt=1, label="Inner ring", doc="Its radius as a share of the outer one's."
    )

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.synthetic import two_dimensional

        return two_dimensional("circles", self.samples, self.noise, self.factor, self.chosen_seed(ctx))


@node(type="Blobs", title="Clouds of points", category="data", icon="grip")
class Blobs(_Made):
    """One cloud of points per class, around centers that lie at random.

    Samples `[n, features]` float32; as `sklearn.datasets.make_blobs`.
    """

    classes: int = param(3, ge=1, le=1000, doc="How many clouds.")
    features: int = param(2, ge=1, le=10_000, doc="Numbers of a sample.")
    spread: float = param(1.0, gt=0, le=1000, doc="Deviation of a cloud; centers lie between -10 and 10.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.synthetic import blobs

        return blobs(self.samples, self.classes, self.features, self.spread, self.chosen_seed(ctx))


@node(type="Spirals", title="Spirals", category="data", icon="rotate-cw")
class Spirals(_Made):
    """Arms that wind around each other: hard to part without several layers.

    Samples `[n, 2]` float32, one class per arm.
    """

    arms: int = param(2, ge=2, le=20, doc="How many arms, each a class.")
    turns: float = param(1.0, gt=0, le=20, doc="How often an arm winds around the center.")
    noise: float = param(0.02, ge=0, le=10, doc="Deviation of the points from their place.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.synthetic import spirals

        return spirals(self.samples, self.arms, self.turns, self.noise, self.chosen_seed(ctx))


@node(type="LinearData", title="Linear function", category="data", icon="trending-up")
class LinearData(_Made):
    """Numbers that are a random linear function of some features, for a regression.

    Samples `[n, features]`, targets `[n, 1]`, both float32; as `sklearn.datasets.make_regression`.
    """

    features: int = param(5, ge=1, le=10_000, doc="Numbers of a sample.")
    informative: int = param(5, ge=1, le=10_000, doc="How many of them matter.")
    noise: float = param(1.0, ge=0, le=1e6, doc="Deviation of the targets.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.synthetic import regression

        return regression(self.samples, self.features, self.informative, self.noise, self.chosen_seed(ctx))


@node(type="SineSeries", title="Sine series", category="data", icon="activity")
class SineSeries(_Made):
    """A wave of several periods, cut into windows from which the next values are to be foretold.

    Samples `[n, window, 1]`, targets `[n, horizon]`, both float32, with `n = samples - window - horizon + 1`. A
    recurrent layer takes them as they are.
    """

    periods: list[int] = param([25, 60], ge=2, doc="Lengths of the waves that are mixed.")
    window: int = param(20, ge=1, le=10_000, doc="Values that are seen.")
    horizon: int = param(1, ge=1, le=1000, doc="Values to foretell.")
    noise: float = param(0.0, ge=0, le=10, doc="Deviation of the values.")
    series: Tensor = output("tensor", doc="The whole series, float32 `[samples]`.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.synthetic import wave, windows

        series = wave(self.samples, [float(p) for p in self.periods], self.noise, self.chosen_seed(ctx))
        return {"dataset": windows(series, self.window, self.horizon), "series": series}
