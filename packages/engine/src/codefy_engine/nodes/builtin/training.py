"""Nodes that train: losses, optimizers and the training loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from codefy_engine.nodes.base import Node, NodeContext, input, node, output, param

if TYPE_CHECKING:
    from torch import nn

    from codefy_engine.training.data import TensorDataset
    from codefy_engine.training.recipes import OptimizerRecipe


@node(type="CrossEntropyLoss", title="Cross-entropy", category="training", icon="target")
class CrossEntropyLoss(Node):
    """The loss for classes: how surprised the model is by the right answer.

    Takes scores `[n, classes]` (not shares: no Softmax before it) and class numbers `[n]`; gives their mean.
    """

    label_smoothing: float = param(
        0.0, ge=0, lt=1, doc="Share of the target that is spread over all classes.", advanced=True
    )
    loss: nn.Module = output("loss", doc="For the training loop.")

    def run(self, ctx: NodeContext) -> Any:
        from torch import nn

        return nn.CrossEntropyLoss(label_smoothing=self.label_smoothing)


@node(type="MSELoss", title="Mean squared error", category="training", icon="target")
class MSELoss(Node):
    """The loss for numbers: the mean of `(output - target)²`.

    Takes outputs and targets of one shape, such as `[n, 1]`.
    """

    loss: nn.Module = output("loss", doc="For the training loop.")

    def run(self, ctx: NodeContext) -> Any:
        from torch import nn

        return nn.MSELoss()


@node(type="AdamW", title="AdamW", category="training", icon="trending-down")
class AdamW(Node):
    """Adam with decoupled weight decay: a good first choice.

    Gives a recipe; the training loop makes the optimizer for its model.
    """

    lr: float = param(1e-3, gt=0, le=10, label="Learning rate", doc="Size of a step.")
    weight_decay: float = param(0.01, ge=0, le=10, doc="How strongly weights are pulled to 0.")
    beta1: float = param(0.9, ge=0, lt=1, label="β₁", doc="Memory of the mean of gradients.", advanced=True)
    beta2: float = param(0.999, ge=0, lt=1, label="β₂", doc="Memory of their squares.", advanced=True)
    eps: float = param(1e-8, gt=0, le=1, label="ε", doc="Added to the divisor.", advanced=True)
    optimizer: OptimizerRecipe = output("optimizer", doc="For the training loop.")

    def run(self, ctx: NodeContext) -> Any:
        return _adam("AdamW", self.lr, self.weight_decay, (self.beta1, self.beta2), self.eps)


@node(type="Adam", title="Adam", category="training", icon="trending-down")
class Adam(Node):
    """Steps scaled by running means of the gradients and their squares.

    Gives a recipe; the training loop makes the optimizer for its model.
    """

    lr: float = param(1e-3, gt=0, le=10, label="Learning rate", doc="Size of a step.")
    weight_decay: float = param(0.0, ge=0, le=10, doc="Added to the gradients: L2 penalty.")
    beta1: float = param(0.9, ge=0, lt=1, label="β₁", doc="Memory of the mean of gradients.", advanced=True)
    beta2: float = param(0.999, ge=0, lt=1, label="β₂", doc="Memory of their squares.", advanced=True)
    eps: float = param(1e-8, gt=0, le=1, label="ε", doc="Added to the divisor.", advanced=True)
    optimizer: OptimizerRecipe = output("optimizer", doc="For the training loop.")

    def run(self, ctx: NodeContext) -> Any:
        return _adam("Adam", self.lr, self.weight_decay, (self.beta1, self.beta2), self.eps)


@node(type="SGD", title="SGD", category="training", icon="trending-down")
class SGD(Node):
    """Plain steps against the gradient, with momentum if wanted.

    Gives a recipe; the training loop makes the optimizer for its model.
    """

    lr: float = param(0.05, gt=0, le=100, label="Learning rate", doc="Size of a step.")
    momentum: float = param(0.9, ge=0, lt=1, doc="Share of the last step that is kept.")
    nesterov: bool = param(False, doc="Look ahead along the momentum (needs momentum).", advanced=True)
    weight_decay: float = param(0.0, ge=0, le=10, doc="Added to the gradients: L2 penalty.")
    optimizer: OptimizerRecipe = output("optimizer", doc="For the training loop.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.recipes import OptimizerRecipe

        if self.nesterov and self.momentum == 0:
            raise ValueError("nesterov needs a momentum above 0")
        return OptimizerRecipe(
            name="SGD",
            options={
                "lr": self.lr,
                "momentum": self.momentum,
                "nesterov": self.nesterov,
                "weight_decay": self.weight_decay,
            },
        )


def _adam(
    name: str, lr: float, weight_decay: float, betas: tuple[float, float], eps: float
) -> OptimizerRecipe:
    from codefy_engine.training.recipes import OptimizerRecipe

    options = {"lr": lr, "weight_decay": weight_decay, "betas": betas, "eps": eps}
    return OptimizerRecipe(name=name, options=options)


@node(type="TrainingLoop", title="Training loop", category="training", icon="refresh-cw")
class TrainingLoop(Node):
    """Train a model on data, epoch by epoch.

    The model is copied first, so the same Module can feed several loops, which then start from equal weights.
    Data without a loader is cut into shuffled batches of 64. After each epoch the model is judged by the
    validation data, if some is wired.

    **Metrics** — per step `loss`; per epoch `train_loss`, `val_loss`, `lr`, `samples_per_second`, and for classes
    `train_accuracy` and `val_accuracy` (0 to 1; the training figures are taken while it learns).

    **Checkpoints** are files that `torch.load(path, weights_only=True)` opens: `model`, `optimizer`, `progress`,
    `rng`, `config`, `architecture`, `metrics`. *Best* is the epoch with the best validation accuracy (or loss).
    When the run is stopped, *last* is written at that very batch.

    A loss that is NaN or infinite is recorded as such, with a warning that names the step; checkpoints of good
    epochs are then kept.
    """

    train: TensorDataset = input("dataset", doc="What to learn from.")
    validation: TensorDataset | None = input(
        "dataset", required=False, doc="What to watch after every epoch."
    )
    model: nn.Module = input("model", doc="What to train.")
    optimizer: OptimizerRecipe = input("optimizer", doc="How to change the weights.")
    loss: nn.Module | None = input(
        "loss", required=False, doc="What to make small; else the parameter *Loss*."
    )

    epochs: int = param(10, ge=1, le=10_000, unit="epochs", doc="How often to go through the training data.")
    objective: Literal["auto", "cross_entropy", "mse"] = param(
        "auto",
        choices=[("auto", "By the data"), ("cross_entropy", "Cross-entropy"), ("mse", "Mean squared error")],
        label="Loss",
        doc="Used when no loss is wired. By the data: cross-entropy for classes, squared error for numbers.",
    )
    checkpoint: Literal["none", "last", "best", "best_and_last"] = param(
        "best_and_last",
        choices=[("none", "None"), ("last", "Last"), ("best", "Best"), ("best_and_last", "Best and last")],
        label="Checkpoints",
        doc="Which states of the training to keep as files.",
    )
    monitor: Literal["auto", "accuracy", "loss"] = param(
        "auto",
        choices=[("auto", "By the task"), ("accuracy", "Accuracy"), ("loss", "Loss")],
        label="Best by",
        doc="What makes an epoch the best one. By the task: accuracy for classes, else the loss.",
        advanced=True,
        visible_if={"checkpoint": ["best", "best_and_last"]},
    )
    checkpoint_every: int = param(
        1,
        ge=1,
        le=10_000,
        unit="epochs",
        doc="How often the last state is written.",
        advanced=True,
        visible_if={"checkpoint": ["last", "best_and_last"]},
    )
    log_every: int = param(
        1, ge=1, le=100_000, unit="steps", doc="Record the loss of every n-th step.", advanced=True
    )
    clip_norm: float | None = param(
        None, gt=0, le=1e6, doc="Scale gradients down to this norm at most. Empty: leave them.", advanced=True
    )
    stop_on_nan: bool = param(
        False, label="Stop at NaN", doc="Fail the run when the loss is not finite.", advanced=True
    )

    trained: nn.Module = output("model", name="model", doc="The model after the last epoch.")
    metrics: dict[str, Any] = output("metrics", doc="Values of the last epoch, and `history`: all epochs.")
    checkpoint_path: str = output(
        "value", name="checkpoint", doc="Path of the best checkpoint, else the last."
    )

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.session import TrainingRequest, run_training

        outcome = run_training(
            ctx,
            TrainingRequest(
                train=self.train,
                validation=self.validation,
                model=self.model,
                optimizer=self.optimizer,
                loss=self.loss,
                objective=self.objective,
                epochs=self.epochs,
                checkpoint=self.checkpoint,
                monitor=self.monitor,
                checkpoint_every=self.checkpoint_every,
                log_every=self.log_every,
                clip_norm=self.clip_norm,
                stop_on_nan=self.stop_on_nan,
            ),
        )
        return {
            "model": outcome.model,
            "metrics": outcome.metrics,
            "checkpoint": outcome.checkpoint_path,
        }
