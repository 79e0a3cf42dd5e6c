"""Schedules of the learning rate. Each stands between an optimizer and the training loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from codefy_engine.nodes.base import Node, NodeContext, input, node, output, param

if TYPE_CHECKING:
    from codefy_engine.training.recipes import OptimizerRecipe

_PER = [("epoch", "Epoch"), ("step", "Step")]
_PER_DOC = "When the rate moves: after every epoch, or after every step of the optimizer."


class _Schedule(Node):
    """Base: takes a recipe and gives it with one more schedule."""

    optimizer: OptimizerRecipe = input("optimizer", doc="Whose learning rate changes.")
    scheduled: OptimizerRecipe = output("optimizer", name="optimizer", doc="The same with this schedule.")

    torch_name = ""
    span = ""
    chains = True

    def options(self) -> dict[str, Any]:
        """By the names that torch gives them; the option named ``span`` may be ``None``."""
        raise NotImplementedError

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.schedules import ScheduleRecipe

        return self.optimizer.scheduled(
            ScheduleRecipe(
                name=self.torch_name or self.spec.definition.type,
                options=self.options(),
                per=getattr(self, "per", "step"),
                span=self.span,
                chains=self.chains,
            )
        )


@node(type="StepLR", title="Step decay", category="training", icon="trending-down")
class StepLR(_Schedule):
    """Multiply the learning rate by a factor every so many epochs.

    `lr(t) = lr · gamma^floor(t / step_size)`, as `torch.optim.lr_scheduler.StepLR`.
    """

    step_size: int = param(10, ge=1, le=1_000_000, label="Every", doc="Epochs or steps between two changes.")
    gamma: float = param(0.1, gt=0, le=10, label="Factor", doc="What the rate is multiplied by.")
    per: Literal["epoch", "step"] = param("epoch", choices=_PER, doc=_PER_DOC, advanced=True)

    def options(self) -> dict[str, Any]:
        return {"step_size": self.step_size, "gamma": self.gamma}


@node(type="MultiStepLR", title="Milestones", category="training", icon="trending-down")
class MultiStepLR(_Schedule):
    """Multiply the learning rate by a factor at chosen epochs.

    As `torch.optim.lr_scheduler.MultiStepLR`.
    """

    milestones: list[int] = param([10, 20], ge=1, doc="Epochs or steps after which the rate changes.")
    gamma: float = param(0.1, gt=0, le=10, label="Factor", doc="What the rate is multiplied by.")
    per: Literal["epoch", "step"] = param("epoch", choices=_PER, doc=_PER_DOC, advanced=True)

    def options(self) -> dict[str, Any]:
        return {"milestones": sorted(self.milestones), "gamma": self.gamma}


@node(type="ExponentialLR", title="Exponential decay", category="training", icon="trending-down")
class ExponentialLR(_Schedule):
    """Multiply the learning rate by a factor after every epoch.

    `lr(t) = lr · gamma^t`, as `torch.optim.lr_scheduler.ExponentialLR`.
    """

    gamma: float = param(0.95, gt=0, le=10, label="Factor", doc="What the rate is multiplied by.")
    per: Literal["epoch", "step"] = param("epoch", choices=_PER, doc=_PER_DOC, advanced=True)

    def options(self) -> dict[str, Any]:
        return {"gamma": self.gamma}


@node(type="PolynomialLR", title="Polynomial decay", category="training", icon="trending-down")
class PolynomialLR(_Schedule):
    """Let the learning rate fall to 0 along a power; power 1 is a straight line.

    `lr(t) = lr · (1 - t / T)^power`, as `torch.optim.lr_scheduler.PolynomialLR`.
    """

    span = "total_iters"
    total_iters: int | None = param(
        None, ge=1, le=10_000_000, label="Length", doc="Epochs or steps. Empty: the whole training."
    )
    power: float = param(1.0, gt=0, le=10, doc="Above 1 it falls faster at first.")
    per: Literal["epoch", "step"] = param("epoch", choices=_PER, doc=_PER_DOC, advanced=True)

    def options(self) -> dict[str, Any]:
        return {"total_iters": self.total_iters, "power": self.power}


@node(type="CosineAnnealingLR", title="Cosine", category="training", icon="trending-down")
class CosineAnnealingLR(_Schedule):
    """Let the learning rate fall along half a cosine wave.

    `lr(t) = min_lr + (lr - min_lr) · (1 + cos(π t / T)) / 2`, as `torch.optim.lr_scheduler.CosineAnnealingLR`.
    """

    span = "T_max"
    length: int | None = param(None, ge=1, le=10_000_000, doc="Epochs or steps. Empty: the whole training.")
    min_lr: float = param(0.0, ge=0, le=10, label="Lowest rate", doc="The rate at the end.")
    per: Literal["epoch", "step"] = param("epoch", choices=_PER, doc=_PER_DOC, advanced=True)

    def options(self) -> dict[str, Any]:
        return {"T_max": self.length, "eta_min": self.min_lr}


@node(type="CosineWarmRestarts", title="Cosine with restarts", category="training", icon="trending-down")
class CosineWarmRestarts(_Schedule):
    """Let the learning rate fall along a cosine again and again, each time starting anew.

    The first wave takes *period* epochs, each next one *factor* times as many; as
    `torch.optim.lr_scheduler.CosineAnnealingWarmRestarts`. It sets the rate by itself and cannot be joined with
    another schedule.
    """

    torch_name = "CosineAnnealingWarmRestarts"
    chains = False
    period: int = param(10, ge=1, le=1_000_000, doc="Epochs or steps of the first wave.")
    factor: int = param(1, ge=1, le=100, doc="How much longer each next wave is.")
    min_lr: float = param(0.0, ge=0, le=10, label="Lowest rate", doc="The rate at the end of a wave.")
    per: Literal["epoch", "step"] = param("epoch", choices=_PER, doc=_PER_DOC, advanced=True)

    def options(self) -> dict[str, Any]:
        return {"T_0": self.period, "T_mult": self.factor, "eta_min": self.min_lr}


@node(type="OneCycleLR", title="One cycle", category="training", icon="trending-down")
class OneCycleLR(_Schedule):
    """Raise the learning rate once to a peak and let it fall far below the start, step by step.

    Moves after every step and spans the whole training; as `torch.optim.lr_scheduler.OneCycleLR`. It sets the rate
    (and the momentum) by itself and cannot be joined with another schedule.
    """

    span = "total_steps"
    chains = False
    max_lr: float = param(0.1, gt=0, le=100, label="Peak rate", doc="The highest rate.")
    rise: float = param(0.3, gt=0, lt=1, doc="Share of the training in which the rate rises.")
    start_factor: float = param(
        25.0,
        ge=1,
        le=1e6,
        label="Start divisor",
        doc="The first rate is the peak divided by this.",
        advanced=True,
    )
    end_factor: float = param(
        1e4,
        ge=1,
        le=1e9,
        label="End divisor",
        doc="The last rate is the first divided by this.",
        advanced=True,
    )
    shape: Literal["cos", "linear"] = param(
        "cos", choices=[("cos", "Cosine"), ("linear", "Straight")], doc="How it moves.", advanced=True
    )

    def options(self) -> dict[str, Any]:
        return {
            "max_lr": self.max_lr,
            "total_steps": None,
            "pct_start": self.rise,
            "div_factor": self.start_factor,
            "final_div_factor": self.end_factor,
            "anneal_strategy": self.shape,
        }


@node(type="CyclicLR", title="Cyclic", category="training", icon="trending-down")
class CyclicLR(_Schedule):
    """Let the learning rate go up and down between two bounds, step by step.

    As `torch.optim.lr_scheduler.CyclicLR` without cycling the momentum. It sets the rate by itself and cannot be
    joined with another schedule.
    """

    chains = False
    base_lr: float = param(1e-3, gt=0, le=100, label="Lowest rate", doc="Where every cycle begins.")
    max_lr: float = param(0.1, gt=0, le=100, label="Peak rate", doc="The highest rate.")
    rise: int = param(200, ge=1, le=10_000_000, unit="steps", doc="Steps from the lowest rate to the peak.")
    mode: Literal["triangular", "triangular2"] = param(
        "triangular",
        choices=[("triangular", "Equal peaks"), ("triangular2", "Halved peaks")],
        doc="Whether each next peak is as high.",
    )

    def options(self) -> dict[str, Any]:
        if self.base_lr > self.max_lr:
            raise ValueError(f"the lowest rate ({self.base_lr:g}) is above the peak ({self.max_lr:g})")
        return {
            "base_lr": self.base_lr,
            "max_lr": self.max_lr,
            "step_size_up": self.rise,
            "mode": self.mode,
            "cycle_momentum": False,
        }


@node(type="ReduceLROnPlateau", title="Reduce on plateau", category="training", icon="trending-down")
class ReduceLROnPlateau(_Schedule):
    """Multiply the learning rate by a factor when the loss stops falling.

    Looks at the validation loss after every epoch (the training loss without validation data); as
    `torch.optim.lr_scheduler.ReduceLROnPlateau`.
    """

    per = "epoch"
    factor: float = param(0.1, gt=0, lt=1, doc="What the rate is multiplied by.")
    patience: int = param(5, ge=0, le=10_000, unit="epochs", doc="Epochs without improvement before it acts.")
    threshold: float = param(
        1e-4, ge=0, le=1, doc="Share by which the loss must fall to count.", advanced=True
    )
    min_lr: float = param(0.0, ge=0, le=10, label="Lowest rate", doc="It never falls below.", advanced=True)

    def options(self) -> dict[str, Any]:
        return {
            "factor": self.factor,
            "patience": self.patience,
            "threshold": self.threshold,
            "min_lr": self.min_lr,
        }


@node(type="LinearWarmup", title="Warm-up", category="training", icon="trending-up")
class LinearWarmup(_Schedule):
    """Start with a small learning rate and raise it in a straight line to the full one.

    As `torch.optim.lr_scheduler.LinearLR`. Put it before another schedule, such as **Cosine**: the two multiply.
    """

    torch_name = "LinearLR"
    length: int = param(100, ge=1, le=10_000_000, doc="Steps or epochs until the full rate.")
    start: float = param(0.01, gt=0, le=1, doc="Share of the rate at the first step.")
    per: Literal["epoch", "step"] = param("step", choices=_PER, doc=_PER_DOC, advanced=True)

    def options(self) -> dict[str, Any]:
        return {"start_factor": self.start, "end_factor": 1.0, "total_iters": self.length}
