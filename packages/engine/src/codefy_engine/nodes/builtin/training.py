"""The training loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from codefy_engine.nodes.base import Node, NodeContext, input, node, output, param

if TYPE_CHECKING:
    from torch import nn

    from codefy_engine.training.data import TensorDataset
    from codefy_engine.training.recipes import OptimizerRecipe


@node(type="TrainingLoop", title="Training loop", category="training", icon="refresh-cw")
class TrainingLoop(Node):
    """Train a model on data, epoch by epoch.

    The model is copied first, so the same Module can feed several loops, which then start from equal weights.
    Data without a loader is cut into shuffled batches of 64. After each epoch the model is judged by the
    validation data, if some is wired.

    **Metrics** — per step `loss`; per epoch `train_loss`, `val_loss`, `lr`, `samples_per_second`, `grad_norm` (of the
    last batch), `memory_mib`, and for classes `train_accuracy` and `val_accuracy` (0 to 1; the training figures are
    taken while it learns). A schedule that moves every step gives `lr` per step too, clipping gives `grad_norm` per
    step.

    **Checkpoints** are files that `torch.load(path, weights_only=True)` opens: `model`, `optimizer`, `progress`,
    `rng`, `config`, `architecture`, `metrics`, `state`. *Best* is the epoch with the best validation accuracy (or
    loss). When the run is stopped, *last* is written at that very batch.

    **Going on** from a checkpoint (wired to *resume*, or a file) gives the numbers that an uninterrupted training
    would have given: weights, optimizer, schedule, order of samples and random generators are all in the file.
    *Epochs* counts from the very start.

    A step counts every batch. With *accumulate* the weights change after every so many batches.

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
    resume: str | None = input(
        "value", required=False, doc="Path of a checkpoint to go on from, such as another loop's."
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
    clip_value: float | None = param(
        None,
        gt=0,
        le=1e6,
        doc="Cut every number of a gradient to this size. Empty: leave them.",
        advanced=True,
    )
    accumulate: int = param(
        1,
        ge=1,
        le=10_000,
        unit="batches",
        doc="Batches whose gradients are averaged for one step.",
        advanced=True,
    )
    precision: Literal["fp32", "bf16", "fp16"] = param(
        "fp32",
        choices=[("fp32", "Full (float32)"), ("bf16", "Mixed, bfloat16"), ("fp16", "Mixed, float16")],
        doc="Mixed precision computes in 16 bits where it is safe. float16 needs an accelerator.",
        advanced=True,
    )
    patience: int | None = param(
        None,
        ge=1,
        le=10_000,
        unit="epochs",
        label="Early stopping",
        doc="End after so many epochs without a better one. Empty: train them all.",
    )
    min_delta: float = param(
        0.0,
        ge=0,
        le=1e6,
        label="Least gain",
        doc="How much better counts as better for early stopping.",
        advanced=True,
    )
    log_gradients: bool = param(False, doc="Record the norm of the gradients of every step.", advanced=True)
    resume_from: str = param(
        "",
        kind="file",
        label="Go on from",
        doc="A checkpoint among your files. Empty: start anew, unless one is wired.",
        advanced=True,
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
        from codefy_engine.training.files import input_file
        from codefy_engine.training.session import TrainingRequest, run_training

        resume = self.resume or self.resume_from
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
                clip_value=self.clip_value,
                accumulate=self.accumulate,
                precision=self.precision,
                log_gradients=self.log_gradients,
                patience=self.patience,
                min_delta=self.min_delta,
                resume=input_file(ctx, resume) if resume else None,
            ),
        )
        return {
            "model": outcome.model,
            "metrics": outcome.metrics,
            "checkpoint": outcome.checkpoint_path,
        }
