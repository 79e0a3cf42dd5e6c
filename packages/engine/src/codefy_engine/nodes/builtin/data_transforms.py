"""Nodes that choose, join, scale and alter data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from codefy_engine.nodes.base import Node, NodeContext, input, node, output, param

if TYPE_CHECKING:
    from codefy_engine.training.data import Alteration, TensorDataset


@node(type="NormalizeData", title="Normalise data", category="data", icon="ruler")
class NormalizeData(Node):
    """Scale features by what the **training** data shows, and all other data by the same numbers.

    *Standard* gives mean 0 and deviation 1, *range* gives 0 to 1. Shapes stay as they are. By feature, every number
    of a sample has its own scale; by channel, all pixels of a channel share one. A feature that never changes
    becomes 0.
    """

    train: TensorDataset = input("dataset", doc="What the scale is learned from.")
    validation: TensorDataset | None = input("dataset", required=False, doc="Scaled the same way.")
    test: TensorDataset | None = input("dataset", required=False, doc="Scaled the same way.")
    method: Literal["standard", "range"] = param(
        "standard", choices=[("standard", "Standard"), ("range", "Range")], doc="What the scale is."
    )
    per: Literal["feature", "channel"] = param(
        "feature",
        choices=[("feature", "Feature"), ("channel", "Channel")],
        doc="What has a scale of its own.",
    )
    scaled_train: TensorDataset = output("dataset", name="train", doc="The training data, scaled.")
    scaled_validation: TensorDataset | None = output(
        "dataset", name="validation", doc="Nothing if not wired."
    )
    scaled_test: TensorDataset | None = output("dataset", name="test", doc="Nothing if not wired.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.scaling import fit_scale

        scale = fit_scale(self.train, method=self.method, per=self.per)
        return {
            "train": scale(self.train),
            "validation": None if self.validation is None else scale(self.validation),
            "test": None if self.test is None else scale(self.test),
        }


@node(type="TakeSamples", title="Take samples", category="data", icon="scissors")
class TakeSamples(Node):
    """Keep some of the samples: the first ones, or a random choice.

    Shapes stay as they are. With fewer samples than asked for, all are kept.
    """

    dataset: TensorDataset = input("dataset", doc="What to choose from.")
    count: int = param(100, ge=1, le=100_000_000, unit="samples", doc="How many to keep.")
    random: bool = param(False, doc="Choose at random instead of the first ones.")
    taken: TensorDataset = output("dataset", name="dataset", doc="What was kept.")

    def run(self, ctx: NodeContext) -> Any:
        import torch

        count = min(self.count, len(self.dataset))
        if not self.random:
            return self.dataset.select(torch.arange(count))
        generator = torch.Generator()
        generator.manual_seed(ctx.seed or 0)
        return self.dataset.select(torch.randperm(len(self.dataset), generator=generator)[:count])


@node(type="JoinDatasets", title="Join data sets", category="data", icon="combine")
class JoinDatasets(Node):
    """Put the samples of two data sets one after the other.

    Samples and targets have equal shapes; names of classes are those of the first.
    """

    first: TensorDataset = input("dataset", doc="Its samples come first.")
    second: TensorDataset = input("dataset", doc="Its samples follow.")
    dataset: TensorDataset = output("dataset", doc="The samples of both.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.data import join_datasets

        return join_datasets(self.first, self.second)


@node(type="CrossValidationFold", title="Fold", category="data", icon="split")
class CrossValidationFold(Node):
    """One fold of a cross-validation: a part for testing, the others for training.

    The parts are equal in size (within one sample) and keep the shares of classes. All folds of one seed together
    test every sample once.
    """

    dataset: TensorDataset = input("dataset", doc="The data to divide.")
    folds: int = param(5, ge=2, le=100, doc="How many parts.")
    fold: int = param(1, ge=1, le=100, label="This part", doc="Which part is for testing, from 1.")
    seed: int | None = param(
        None, ge=0, le=2**31 - 1, doc="Decides who goes where. Empty: the run's seed.", advanced=True
    )
    train: TensorDataset = output("dataset", doc="What the model learns from.")
    test: TensorDataset = output("dataset", doc="What it is judged by at the end.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.data import fold_dataset

        seed = self.seed if self.seed is not None else (ctx.seed or 0)
        train, test = fold_dataset(self.dataset, folds=self.folds, fold=self.fold, seed=seed)
        return {"train": train, "test": test}


class _Augment(Node):
    """Base of augmentations: a subclass gives the alteration."""

    dataset: TensorDataset = input("dataset", doc="Training data.")
    altered: TensorDataset = output(
        "dataset", name="dataset", doc="The same data, altered while it is learned."
    )

    def alteration(self) -> Alteration:
        """What happens to every batch."""
        raise NotImplementedError

    def run(self, ctx: NodeContext) -> Any:
        return self.dataset.altered(self.alteration())


@node(type="AugmentFlip", title="Random flip", category="data", icon="flip-horizontal")
class AugmentFlip(_Augment):
    """Mirror some of the images of every batch while a model learns.

    Images `[n, channels, h, w]`; judging sees them as they are. The seed, the epoch and the batch decide which.
    """

    p: float = param(0.5, ge=0, le=1, label="Share", doc="Share of the images.")
    vertical: bool = param(False, doc="Upside down instead of left to right.")

    def alteration(self) -> Alteration:
        from codefy_engine.training.augment import Flip

        return Flip(self.p, self.vertical)


@node(type="AugmentShift", title="Random shift", category="data", icon="move")
class AugmentShift(_Augment):
    """Move the images of every batch by a few pixels while a model learns.

    Images `[n, channels, h, w]`; what comes in from outside is 0.
    """

    pixels: int = param(1, ge=1, le=256, unit="px", doc="How far at most, in both directions.")

    def alteration(self) -> Alteration:
        from codefy_engine.training.augment import Shift

        return Shift(self.pixels)


@node(type="AugmentRotate", title="Random rotation", category="data", icon="rotate-cw")
class AugmentRotate(_Augment):
    """Turn and scale the images of every batch a little while a model learns.

    Images `[n, channels, h, w]`, interpolated; what comes in from outside is 0.
    """

    degrees: float = param(10.0, ge=0, le=180, unit="degrees", doc="How far at most, either way.")
    zoom: float = param(0.0, ge=0, lt=1, doc="Share by which the size changes at most.")

    def alteration(self) -> Alteration:
        from codefy_engine.training.augment import Rotate

        return Rotate(self.degrees, self.zoom)


@node(type="AugmentNoise", title="Random noise", category="data", icon="sparkles")
class AugmentNoise(_Augment):
    """Add noise to the samples of every batch while a model learns.

    Samples of any shape.
    """

    deviation: float = param(0.05, ge=0, le=1000, doc="Deviation of the noise.")

    def alteration(self) -> Alteration:
        from codefy_engine.training.augment import Noise

        return Noise(self.deviation)


@node(type="AugmentErase", title="Random erasing", category="data", icon="eraser")
class AugmentErase(_Augment):
    """Blank out a square of some images of every batch while a model learns.

    Images `[n, channels, h, w]`; the model has to use the rest of the picture.
    """

    size: int = param(2, ge=1, le=1024, unit="px", doc="Height and width of the square.")
    p: float = param(0.5, ge=0, le=1, label="Share", doc="Share of the images.")

    def alteration(self) -> Alteration:
        from codefy_engine.training.augment import Erase

        return Erase(self.size, self.p)


@node(type="AugmentBrightness", title="Random brightness", category="data", icon="sun")
class AugmentBrightness(_Augment):
    """Change brightness and contrast of the samples of every batch while a model learns.

    Samples of any shape.
    """

    brightness: float = param(0.2, ge=0, le=1, doc="Share by which it changes at most.")
    contrast: float = param(0.2, ge=0, le=1, doc="Share by which it changes at most.")

    def alteration(self) -> Alteration:
        from codefy_engine.training.augment import Brightness

        return Brightness(self.brightness, self.contrast)
