"""A training as a node runs it: model, data, optimizer and loss brought together, files and metrics reported."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import torch
from torch import nn

from codefy_engine.nodes.base import NodeContext, NodeError
from codefy_engine.training.checkpoints import (
    Checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from codefy_engine.training.data import Batching, TensorDataset, batches_of
from codefy_engine.training.loop import (
    LoopProgress,
    LoopResult,
    LoopSettings,
    NonFiniteLoss,
    TrainingLoop,
)
from codefy_engine.training.module import GraphModule, independent_copy
from codefy_engine.training.recipes import OptimizerRecipe, check_loss_fits, default_loss
from codefy_engine.training.schedules import Schedules
from codefy_engine.training.stepping import Precision, usable_precision
from codefy_engine.training.tracing import ModelTrace
from codefy_protocol import reasons
from codefy_protocol.bodies import MetricPoint
from codefy_protocol.envelope import json_number

VALIDATION_BATCHING = Batching(batch_size=256)
TRAINING_BATCHING = Batching(batch_size=64, shuffle=True)


@dataclass(frozen=True, kw_only=True)
class TrainingRequest:
    """What the TrainingLoop node was given; see its parameters."""

    train: TensorDataset
    validation: TensorDataset | None
    model: nn.Module
    optimizer: OptimizerRecipe
    loss: nn.Module | None
    epochs: int
    objective: Literal["auto", "cross_entropy", "mse"] = "auto"
    checkpoint: Literal["none", "last", "best", "best_and_last"] = "none"
    monitor: Literal["auto", "accuracy", "loss"] = "auto"
    checkpoint_every: int = 1
    log_every: int = 1
    clip_norm: float | None = None
    stop_on_nan: bool = False
    clip_value: float | None = None
    accumulate: int = 1
    precision: Precision = "fp32"
    log_gradients: bool = False
    patience: int | None = None
    min_delta: float = 0.0
    resume: Path | None = None
    """A checkpoint to go on from."""


@dataclass(frozen=True, kw_only=True)
class TrainingOutcome:
    """What the node gives on."""

    model: nn.Module
    """In evaluation mode, on the run's device."""
    metrics: dict[str, Any]
    checkpoint_path: str
    """Of the best checkpoint, else of the last, else empty."""


def run_training(ctx: NodeContext, request: TrainingRequest) -> TrainingOutcome:
    """Train a copy of the model.

    Raises:
        codefy_engine.nodes.base.RunStopped: the run was stopped; what was learned is in the last checkpoint.
        ValueError: data, model, loss and optimizer do not fit each other; the message says how.
        codefy_engine.training.checkpoints.CheckpointError: the checkpoint to go on from does not fit.
        NodeError: the loss is not finite, see ``stop_on_nan``; the message says at which step.
    """
    device = torch.device(ctx.device)
    if len(request.train) == 0:
        raise ValueError("there is no training data: the data set wired to train is empty")
    resume = None if request.resume is None else load_checkpoint(request.resume)
    seed = _seed(ctx, resume)
    train = batches_of(request.train, TRAINING_BATCHING, device=device, seed=seed)
    if len(train) == 0:
        raise ValueError(
            f"one batch of {train.batching.batch_size} needs more than the {len(request.train)} samples there are: "
            "make the batch smaller or keep the incomplete last one"
        )
    validation = (
        batches_of(request.validation.unaltered(), VALIDATION_BATCHING, device=device)
        if request.validation is not None and len(request.validation) > 0
        else None
    )
    classification = request.train.classification
    loss = _loss(request, classification).to(device)
    model = prepare_model(ctx, request.model, request.train, device)
    optimizer = request.optimizer.bind(model.parameters())
    schedules = (
        Schedules(
            request.optimizer.schedules,
            optimizer,
            epochs=request.epochs,
            steps_per_epoch=-(-len(train) // request.accumulate),
        )
        if request.optimizer.schedules
        else None
    )
    keep = request.checkpoint
    settings = LoopSettings(
        epochs=request.epochs,
        log_every=request.log_every,
        keep_last=keep in ("last", "best_and_last"),
        keep_best=keep in ("best", "best_and_last"),
        checkpoint_every=request.checkpoint_every,
        monitor=request.monitor,
        stop_on_nonfinite=request.stop_on_nan,
        clip_norm=request.clip_norm,
        clip_value=request.clip_value,
        accumulate=request.accumulate,
        precision=_precision(ctx, request.precision, device),
        log_gradients=request.log_gradients,
        patience=request.patience,
        min_delta=request.min_delta,
    )
    files = CheckpointFiles(ctx)
    told = ctx.trace("training")
    trace = None if told is None else ModelTrace(told, model)
    loop = TrainingLoop(
        model,
        train,
        validation,
        optimizer,
        loss,
        classification=classification,
        settings=settings,
        reporter=NodeReporter(ctx),
        checkpoints=files.keep,
        config=_config(request, seed),
        schedules=schedules,
        trace=trace,
    )
    try:
        result = loop.run(resume)
    except NonFiniteLoss as error:
        kept = "" if keep == "none" else "; checkpoints of the epochs before it are kept"
        raise NodeError(f"{error}{kept}. Try a smaller learning rate, or clip the gradients") from error
    finally:
        # Also after a stop or an error: what was written can be used.
        files.report()
        if trace is not None:
            trace.close()
    ctx.check_stop()
    model.eval()
    if isinstance(model, GraphModule):
        model.trained_steps += result.step
        model.trained_epochs += result.epoch
    return TrainingOutcome(model=model, metrics=_metrics(result), checkpoint_path=files.path)


def _seed(ctx: NodeContext, resume: Checkpoint | None) -> int:
    """The checkpoint's own seed when there is one: the order of its samples goes on."""
    kept = None if resume is None else resume.config.get("seed")
    if isinstance(kept, int):
        return kept
    return ctx.seed if ctx.seed is not None else secrets.randbits(31)


def _precision(ctx: NodeContext, wanted: Precision, device: torch.device) -> Precision:
    used = usable_precision(wanted, device)
    if used != wanted:
        ctx.warn(reasons.reason(reasons.PRECISION_FALLBACK, wanted=wanted, used=used, device=str(device)))
    return used


def prepare_model(ctx: NodeContext, model: nn.Module, data: TensorDataset, device: torch.device) -> nn.Module:
    """A copy of ``model`` on ``device``, its layers made for ``data`` and reported.

    Raises:
        codefy_engine.training.module.ModuleBuildError: a layer does not take the shape that reaches it.
    """
    own = independent_copy(model)
    if isinstance(own, GraphModule):
        fresh = not own.built
        for report in own.build_for(data.inputs[:1]):
            if fresh:
                ctx.inner(
                    [own.graph_name, report.id],
                    "built",
                    type=report.type,
                    shape=list(report.shape),
                    parameters=report.parameters,
                )
    return own.to(device)


class NodeReporter:
    """Passes what the loop tells on to the node's context."""

    def __init__(self, ctx: NodeContext) -> None:
        self._ctx = ctx

    def stopped(self) -> bool:
        return self._ctx.stopped

    def metrics(self, points: list[MetricPoint]) -> None:
        self._ctx.metrics(points)

    def progress(self, progress: LoopProgress) -> None:
        self._ctx.progress(
            current=progress.step,
            total=progress.total_steps,
            unit="steps",
            text=f"Epoch {progress.epoch} of {progress.epochs}",
            eta_s=progress.eta_s,
            epoch=progress.epoch,
            epochs=progress.epochs,
            metrics=progress.metrics,
        )

    def nonfinite_loss(self, step: int, value: float) -> None:
        self._ctx.warn(reasons.reason(reasons.NONFINITE_LOSS, value=json_number(value), step=step))


class CheckpointFiles:
    """The checkpoint files of one node; each name is one file that is replaced."""

    def __init__(self, ctx: NodeContext) -> None:
        self._ctx = ctx
        self._meta: dict[str, dict[str, Any]] = {}

    def keep(self, name: Literal["last", "best"], checkpoint: Checkpoint) -> None:
        """Write one checkpoint, whole or not at all."""
        save_checkpoint(self._ctx.artifact_path(f"checkpoint-{name}.pt"), checkpoint)
        progress = checkpoint.progress
        self._meta[name] = {
            "role": name,
            "epoch": progress.epoch,
            "step": progress.step,
            "metrics": dict(checkpoint.metrics),
        }

    def report(self) -> None:
        """Record the files that were written as artifacts of the run."""
        for name, meta in self._meta.items():
            file = f"checkpoint-{name}.pt"
            self._ctx.artifact(
                "checkpoint", file, self._ctx.artifact_path(file), "application/octet-stream", meta
            )

    @property
    def path(self) -> str:
        """Path of the best file, else of the last, else empty."""
        for name in ("best", "last"):
            if name in self._meta:
                return str(self._ctx.artifact_path(f"checkpoint-{name}.pt"))
        return ""


def _loss(request: TrainingRequest, classification: bool) -> nn.Module:
    if request.loss is not None:
        loss = request.loss
    elif request.objective == "cross_entropy":
        loss = nn.CrossEntropyLoss()
    elif request.objective == "mse":
        loss = nn.MSELoss()
    else:
        loss = default_loss(classification=classification)
    check_loss_fits(loss, classification=classification)
    return loss


def _config(request: TrainingRequest, seed: int) -> dict[str, Any]:
    return {
        "epochs": request.epochs,
        "seed": seed,
        "loss": request.objective if request.loss is None else type(request.loss).__name__,
        "optimizer": request.optimizer.name,
        "optimizer_options": {
            name: [*cast("tuple[Any, ...]", value)] if isinstance(value, tuple) else value
            for name, value in request.optimizer.options.items()
        },
        "schedules": [schedule.name for schedule in request.optimizer.schedules],
        "accumulate": request.accumulate,
        "precision": request.precision,
        "class_names": list(request.train.class_names),
        "sample_shape": list(request.train.sample_shape),
    }


def _metrics(result: LoopResult) -> dict[str, Any]:
    last = dict(result.history[-1]) if result.history else {}
    return {
        **last,
        "step": result.step,
        "epoch": result.epoch,
        "best_epoch": result.best_epoch,
        "nonfinite_step": result.nonfinite_step,
        "stopped_early": result.stopped_early,
        "history": result.history,
    }
