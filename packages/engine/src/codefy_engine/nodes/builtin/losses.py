"""Losses. Each gives a function of the model's outputs and the targets, for the training loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codefy_engine.nodes.base import Node, NodeContext, input, node, output, param

if TYPE_CHECKING:
    from torch import Tensor, nn


class _Loss(Node):
    """Base of losses: a subclass has ``make``."""

    loss: nn.Module = output("loss", doc="For the training loop.")

    def make(self) -> nn.Module:
        """The loss as a module of outputs and targets."""
        raise NotImplementedError

    def run(self, ctx: NodeContext) -> Any:
        return self.make()


@node(type="CrossEntropyLoss", title="Cross-entropy", category="training", icon="target")
class CrossEntropyLoss(_Loss):
    """The loss for classes: how surprised the model is by the right answer.

    Takes scores `[n, classes]` (not shares: no Softmax before it) and class numbers `[n]`; gives their mean.
    With *Classes are last* it takes `[n, …, classes]` and `[n, …]`, as a language model gives them.
    """

    weights: Tensor | None = input(
        "tensor", required=False, doc="Weight of every class, `[classes]`; rare ones may count more."
    )
    label_smoothing: float = param(
        0.0, ge=0, lt=1, doc="Share of the target that is spread over all classes.", advanced=True
    )
    ignore_index: int = param(
        -100,
        ge=-1_000_000,
        le=1_000_000,
        label="Ignore class",
        doc="Targets of this number do not count.",
        advanced=True,
    )
    class_last: bool = param(
        False,
        label="Classes are last",
        doc="Scores stand in the last dimension, not the second.",
        advanced=True,
    )

    def make(self) -> nn.Module:
        from codefy_engine.training.loss_functions import ClassLoss

        return ClassLoss(
            weight=None if self.weights is None else self.weights.detach().float().flatten(),
            label_smoothing=self.label_smoothing,
            ignore_index=self.ignore_index,
            class_dim=-1 if self.class_last else 1,
        )


@node(type="NLLLoss", title="Negative log-likelihood", category="training", icon="target")
class NLLLoss(_Loss):
    """The loss for classes when the model gives log-probabilities (after a log-softmax).

    Takes log-probabilities `[n, classes]` and class numbers `[n]`; gives the mean of `-log p(target)`.
    """

    weights: Tensor | None = input(
        "tensor", required=False, doc="Weight of every class, `[classes]`; rare ones may count more."
    )

    def make(self) -> nn.Module:
        from torch import nn

        return nn.NLLLoss(weight=None if self.weights is None else self.weights.detach().float().flatten())


@node(type="MultiMarginLoss", title="Multi-class hinge", category="training", icon="target")
class MultiMarginLoss(_Loss):
    """The loss of a support vector machine: the right score must lead by a margin.

    Takes scores `[n, classes]` and class numbers `[n]`; as `torch.nn.MultiMarginLoss`.
    """

    margin: float = param(1.0, gt=0, le=1000, doc="By how much the right score must lead.")

    def make(self) -> nn.Module:
        from torch import nn

        return nn.MultiMarginLoss(margin=self.margin)


@node(type="FocalLoss", title="Focal loss", category="training", icon="target")
class FocalLoss(_Loss):
    """Cross-entropy that cares less about answers that are already sure.

    The mean of `(1 - p)^gamma · -log p` over the right classes' probabilities *p*; takes scores `[n, classes]` and
    class numbers `[n]`. For data with many easy samples.
    """

    gamma: float = param(2.0, ge=0, le=10, label="γ", doc="0 is plain cross-entropy.")

    def make(self) -> nn.Module:
        from codefy_engine.training.loss_functions import FocalLoss

        return FocalLoss(self.gamma)


@node(type="BCEWithLogitsLoss", title="Binary cross-entropy (scores)", category="training", icon="target")
class BCEWithLogitsLoss(_Loss):
    """The loss for yes or no, one score per question (no Sigmoid before it).

    Takes scores and targets from 0 to 1 of one shape, such as `[n, 1]`; gives the mean. With two classes as targets
    `[n]`, class 1 is *yes*.
    """

    positive_weight: float = param(1.0, gt=0, le=1e6, doc="How much more a missed yes counts.", advanced=True)

    def make(self) -> nn.Module:
        from codefy_engine.training.loss_functions import BinaryLoss

        return BinaryLoss(logits=True, positive_weight=self.positive_weight)


@node(type="BCELoss", title="Binary cross-entropy (shares)", category="training", icon="target")
class BCELoss(_Loss):
    """The loss for yes or no when the model ends in a Sigmoid.

    Takes shares and targets from 0 to 1 of one shape, such as `[n, 1]`; gives the mean. With two classes as targets
    `[n]`, class 1 is *yes*. Scores without the Sigmoid are kinder to numbers: see the other binary cross-entropy.
    """

    def make(self) -> nn.Module:
        from codefy_engine.training.loss_functions import BinaryLoss

        return BinaryLoss(logits=False)


@node(type="MSELoss", title="Mean squared error", category="training", icon="target")
class MSELoss(_Loss):
    """The loss for numbers: the mean of `(output - target)²`.

    Takes outputs and targets of one shape, such as `[n, 1]`.
    """

    def make(self) -> nn.Module:
        from torch import nn

        return nn.MSELoss()


@node(type="L1Loss", title="Mean absolute error", category="training", icon="target")
class L1Loss(_Loss):
    """The loss for numbers that outliers move little: the mean of `|output - target|`.

    Takes outputs and targets of one shape, such as `[n, 1]`.
    """

    def make(self) -> nn.Module:
        from torch import nn

        return nn.L1Loss()


@node(type="SmoothL1Loss", title="Smooth L1", category="training", icon="target")
class SmoothL1Loss(_Loss):
    """Squared error for small differences, absolute error for large ones.

    `(output - target)² / (2 beta)` below *beta*, `|output - target| - beta / 2` above; outputs and targets have one
    shape.
    """

    beta: float = param(1.0, gt=0, le=1e6, label="β", doc="Where the square becomes a line.")

    def make(self) -> nn.Module:
        from torch import nn

        return nn.SmoothL1Loss(beta=self.beta)


@node(type="HuberLoss", title="Huber", category="training", icon="target")
class HuberLoss(_Loss):
    """Half the squared error below a bound, a line above it.

    `(output - target)² / 2` below *delta*, `delta · (|output - target| - delta / 2)` above; outputs and targets have
    one shape.
    """

    delta: float = param(1.0, gt=0, le=1e6, label="δ", doc="Where the square becomes a line.")

    def make(self) -> nn.Module:
        from torch import nn

        return nn.HuberLoss(delta=self.delta)


@node(type="PoissonNLLLoss", title="Poisson", category="training", icon="target")
class PoissonNLLLoss(_Loss):
    """The loss for counts: how unlikely the target is under a Poisson distribution.

    The output is the logarithm of the expected count; outputs and targets have one shape.
    """

    def make(self) -> nn.Module:
        from torch import nn

        return nn.PoissonNLLLoss(log_input=True)


@node(type="KLDivLoss", title="Kullback-Leibler divergence", category="training", icon="target")
class KLDivLoss(_Loss):
    """How far the model's distribution is from the target's.

    Takes log-probabilities and probabilities, both `[n, classes]`; gives the sum over classes as a mean over samples.
    """

    def make(self) -> nn.Module:
        from torch import nn

        return nn.KLDivLoss(reduction="batchmean")


@node(type="CosineEmbeddingLoss", title="Cosine embedding", category="training", icon="target")
class CosineEmbeddingLoss(_Loss):
    """Turn the model's vectors in the direction of the targets' vectors.

    Takes outputs and targets `[n, features]`; gives the mean of `1 - cos(output, target)`.
    """

    margin: float = param(0.0, ge=-1, le=1, doc="Slack that costs nothing.", advanced=True)

    def make(self) -> nn.Module:
        from codefy_engine.training.loss_functions import CosineLoss

        return CosineLoss(self.margin)


@node(type="TripletLoss", title="Triplet", category="training", icon="target")
class TripletLoss(_Loss):
    """Bring vectors of one class together and push those of others away.

    Takes vectors `[n, features]` and class numbers `[n]`. For every sample of a batch the farthest of its class and
    the nearest of another are compared; gives the mean of `max(0, d⁺ - d⁻ + margin)` (batch-hard triplets).
    """

    margin: float = param(0.5, gt=0, le=1000, doc="How much farther others must be.")

    def make(self) -> nn.Module:
        from codefy_engine.training.loss_functions import BatchTripletLoss

        return BatchTripletLoss(self.margin)


@node(type="ComputeLoss", title="Compute loss", category="training", icon="target")
class ComputeLoss(Node):
    """Apply a loss to tensors at hand, outside a training.

    Outputs `[n, …]` and targets `[n, …]` as the loss takes them; gives one number.
    """

    loss: nn.Module = input("loss", doc="The loss.")
    outputs: Tensor = input("tensor", doc="What a model gave.")
    targets: Tensor = input("tensor", doc="What would be right.")
    value: float = output("value", doc="The mean loss.")

    def run(self, ctx: NodeContext) -> Any:
        import torch

        with torch.no_grad():
            return float(self.loss(self.outputs, self.targets))
