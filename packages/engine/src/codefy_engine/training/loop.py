"""The training loop, as plain code over a model, batches, an optimizer and a loss.

It knows nothing of nodes or runs: what happens is told to a :class:`Reporter`. The order of samples depends on the
seed and the epoch alone and the random generators are part of a checkpoint, so a training that goes on from one
gives the same numbers as one that was never interrupted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, cast

import torch
from torch import Tensor, nn

from codefy_engine.training.checkpoints import (
    Checkpoint,
    CheckpointError,
    Progress,
    random_state,
    restore_random_state,
)
from codefy_engine.training.data import Batches
from codefy_engine.training.metrics import (
    FLUSH_INTERVAL_S,
    RunningMean,
    StepBuffer,
    StepOutcome,
    answer_counter,
    count_correct,
    epoch_points,
)
from codefy_engine.training.schedules import Schedules
from codefy_engine.training.stepping import LossFunction, Precision, Stepper
from codefy_engine.training.tracing import ModelTrace
from codefy_engine.training.usage import memory_mib
from codefy_engine.training.watching import Watch
from codefy_protocol.bodies import MetricPoint


class NonFiniteLoss(ArithmeticError):
    """The loss became NaN or infinite and the loop was told to stop then."""

    def __init__(self, step: int, value: float) -> None:
        super().__init__(f"the loss is {value} at step {step}")
        self.step = step
        self.value = value


@dataclass(frozen=True, kw_only=True)
class LoopProgress:
    """How far the training is; sent about ten times a second."""

    step: int
    total_steps: int
    epoch: int
    """The epoch under way, from 1."""
    epochs: int
    eta_s: float | None
    """Seconds left by the mean speed so far, validation included."""
    metrics: dict[str, float]
    """The latest values by name."""


class Reporter(Protocol):
    """What the loop tells, and the one thing it asks."""

    def stopped(self) -> bool:
        """Whether to stop; asked before every batch."""
        ...

    def metrics(self, points: list[MetricPoint]) -> None: ...

    def progress(self, progress: LoopProgress) -> None: ...

    def nonfinite_loss(self, step: int, value: float) -> None:
        """The first step whose loss was NaN or infinite."""
        ...


CheckpointSink = Callable[[Literal["last", "best"], Checkpoint], None]
"""Keeps a checkpoint under one of the two names."""


@dataclass(frozen=True, kw_only=True)
class LoopSettings:
    """Settings of the loop."""

    epochs: int
    log_every: int = 1
    """Record the loss of every n-th step."""
    keep_last: bool = False
    keep_best: bool = False
    checkpoint_every: int = 1
    """Epochs from one "last" checkpoint to the next."""
    monitor: Literal["auto", "loss", "accuracy"] = "auto"
    """What makes a checkpoint the best one; ``auto`` is accuracy when there is one. Validation counts when there is one."""
    stop_on_nonfinite: bool = False
    clip_norm: float | None = None
    """Upper bound for the norm of all gradients together."""
    clip_value: float | None = None
    """Upper bound for the size of every single number of a gradient."""
    accumulate: int = 1
    """Batches whose gradients are averaged before the optimizer steps."""
    precision: Precision = "fp32"
    log_gradients: bool = False
    """Record the gradient norm of every step, not only of the last one of an epoch."""
    patience: int | None = None
    """Epochs without improvement after which the training ends."""
    min_delta: float = 0.0
    """By how much the watched value must change to count as an improvement."""
    interval_s: float = FLUSH_INTERVAL_S
    """Seconds between two reports of metrics and progress."""


@dataclass
class LoopResult:
    """How the training went."""

    step: int = 0
    epoch: int = 0
    """Completed epochs."""
    stopped: bool = False
    stopped_early: bool = False
    """Whether ``patience`` ran out."""
    history: list[dict[str, float]] = field(default_factory=list[dict[str, float]])
    """The values of every completed epoch by metric name, with ``epoch`` and ``step``."""
    best_epoch: int | None = None
    best_value: float | None = None
    nonfinite_step: int | None = None


class TrainingLoop:
    """Trains ``model`` in place.

    Args:
        model: on the device already, its parameters known.
        train: batches to learn from.
        validation: batches to look at after every epoch, or ``None``.
        optimizer: over the model's parameters.
        loss: mean loss of a batch.
        classification: whether targets are class numbers, so that accuracy exists.
        settings: see :class:`LoopSettings`.
        reporter: told what happens.
        checkpoints: keeps checkpoints when ``settings`` asks for them.
        config: plain data that is written into checkpoints.
        schedules: change the optimizer's learning rate.
        trace: told the steps that it wants to keep; ``None`` works nothing out.

    Raises:
        ValueError: settings that cannot be joined.
    """

    def __init__(
        self,
        model: nn.Module,
        train: Batches,
        validation: Batches | None,
        optimizer: torch.optim.Optimizer,
        loss: LossFunction,
        *,
        classification: bool,
        settings: LoopSettings,
        reporter: Reporter,
        checkpoints: CheckpointSink | None = None,
        config: dict[str, Any] | None = None,
        schedules: Schedules | None = None,
        trace: ModelTrace | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.model = model
        self.train = train
        self.validation = validation
        self.optimizer = optimizer
        self.loss = loss
        self.classification = classification
        self.settings = settings
        self.reporter = reporter
        self.checkpoints = checkpoints
        self.config = config or {}
        self.clock = clock
        self.trace = trace
        self.result = LoopResult()
        self._buffer = StepBuffer(
            log_every=settings.log_every,
            log_norms=settings.log_gradients or settings.clip_norm is not None,
            interval_s=settings.interval_s,
            clock=clock,
        )
        self._total_steps = settings.epochs * len(train)
        self._latest: dict[str, float] = {}
        self._watch = Watch(
            monitor=settings.monitor, patience=settings.patience, min_delta=settings.min_delta
        )
        self._stepper = Stepper(
            model,
            optimizer,
            loss,
            schedules,
            batches=len(train),
            accumulate=settings.accumulate,
            clip_norm=settings.clip_norm,
            clip_value=settings.clip_value,
            precision=settings.precision,
            device=train.device,
        )
        self._schedules = schedules
        self._batch = 0
        self._first_step = 0
        self._started_at = 0.0

    def run(self, resume: Checkpoint | None = None) -> LoopResult:
        """Train until the last epoch, a stop, or an error.

        On a stop a "last" checkpoint of this very batch is kept, if those are kept.

        Raises:
            NonFiniteLoss: the loss was not finite and ``stop_on_nonfinite`` is set.
        """
        mean = self._restore(resume) if resume is not None else None
        # A schedule or a test may have replaced it since.
        self._stepper.loss = self.loss
        self._first_step = self.result.step
        self._started_at = self.clock()
        self._report()
        while self.result.epoch < self.settings.epochs and not self.result.stopped_early:
            if not self._epoch(mean):
                self.result.stopped = True
                if not self._buffer.nonfinite_in_epoch:
                    self._keep_last()
                break
            mean = None
        return self.result

    # ------------------------------------------------------------------ one epoch
    def _epoch(self, mean: RunningMean | None) -> bool:
        """Train one epoch and validate; ``False`` when stopped in it."""
        epoch = self.result.epoch
        self._buffer.start_epoch(mean)
        first_sample = self._buffer.mean.samples
        started = self.clock()
        try:
            finished = self._train_batches(epoch)
        finally:
            self._drain()
        if not finished:
            return False
        seconds = self.clock() - started
        trained = self._buffer.mean
        values: dict[str, float | None] = {"train_loss": trained.loss, "train_accuracy": trained.accuracy}
        if self.validation is not None:
            validated = evaluate(
                self.model,
                self.validation,
                self.loss,
                classification=self.classification,
                stopped=self.reporter.stopped,
                autocast=self._stepper.autocast,
            )
            if validated is None:
                return False
            values |= {"val_loss": validated.loss, "val_accuracy": validated.accuracy}
        values["lr"] = float(self.optimizer.param_groups[0]["lr"])
        samples = trained.samples - first_sample
        values["samples_per_second"] = samples / seconds if samples and seconds > 0 else None
        if not self._buffer.log_norms:
            values["grad_norm"] = self._buffer.last_norm
        values["memory_mib"] = memory_mib(self.train.device)
        self._end_epoch(values)
        return True

    def _train_batches(self, epoch: int) -> bool:
        step_on, groups = self._stepper, self.optimizer.param_groups
        buffer, stopped, step = self._buffer, self.reporter.stopped, self.result.step
        count = answer_counter(self.loss) if self.classification else None
        each, last = buffer.log_norms, len(self.train) - 1
        rate_moves = self._schedules is not None and self._schedules.each_step
        trace, traced = self.trace, False
        self.model.train()
        for inputs, targets in self.train.epoch(epoch, start=self._batch):
            if stopped():
                return False
            step_on.measure = each or self._batch == last
            rate = float(groups[0]["lr"]) if rate_moves else None
            if trace is not None:
                pause = self._batch == last
                traced = trace.begin(step + 1, end=pause and epoch + 1 == self.settings.epochs, pause=pause)
            outputs, loss = step_on(self._batch, inputs, targets)
            step += 1
            self.result.step = step
            self._batch += 1
            if traced and trace is not None:
                trace.finish(step / (last + 1), gradients=step_on.updated)
            outcome = StepOutcome(step, time.time(), loss.detach(), len(inputs), norm=step_on.norm, lr=rate)
            if count is not None and isinstance(outputs, Tensor):
                if count is count_correct:
                    outcome.predicted, outcome.targets = outputs.detach().argmax(1), targets
                else:
                    outcome.correct, outcome.answers = count(outputs.detach(), targets), targets.numel()
            if buffer.add(outcome):
                self._drain()
        return not stopped()

    def _end_epoch(self, values: dict[str, float | None]) -> None:
        result = self.result
        result.epoch += 1
        self._batch = 0
        present = {name: value for name, value in values.items() if value is not None}
        result.history.append({"epoch": float(result.epoch), "step": float(result.step), **present})
        self._latest |= present
        self.reporter.metrics(epoch_points(values, step=result.step, epoch=result.epoch, ts=time.time()))
        self._report()
        part: Literal["train", "val"] = "val" if self.validation is not None else "train"
        if self._schedules is not None:
            self._schedules.after_epoch(present[f"{part}_loss"])
        best = self._watch.look(result.epoch, present, part)
        result.best_epoch, result.best_value = self._watch.best_epoch, self._watch.best_value
        result.stopped_early = self._watch.exhausted
        # A model that met a NaN is no good: the file of the last good epoch stays.
        if self._buffer.nonfinite_in_epoch:
            return
        last = result.epoch == self.settings.epochs or result.stopped_early
        if last or result.epoch % self.settings.checkpoint_every == 0:
            self._keep_last()
        if best and self.settings.keep_best:
            self._keep("best")

    # ------------------------------------------------------------------ reports
    def _drain(self) -> None:
        """Read the pending losses, record them and tell how far the training is."""
        seen = self._buffer.first_nonfinite
        points = self._buffer.drain()
        if points:
            self.reporter.metrics(points)
        if self._buffer.last_loss is not None:
            self._latest["loss"] = self._buffer.last_loss
        found = self._buffer.first_nonfinite
        if seen is None and found is not None:
            self.result.nonfinite_step = found[0]
            self.reporter.nonfinite_loss(*found)
            if self.settings.stop_on_nonfinite:
                raise NonFiniteLoss(*found)
        self._report()

    def _report(self) -> None:
        step, done = self.result.step, self.result.step - self._first_step
        elapsed = self.clock() - self._started_at
        eta = elapsed / done * (self._total_steps - step) if done > 0 else None
        metrics = dict(self._latest)
        if done > 0 and elapsed > 0:
            # The mean since the start, validation included: what is left is counted with the same speed.
            metrics["samples_per_second"] = done * self.train.batching.batch_size / elapsed
        self.reporter.progress(
            LoopProgress(
                step=step,
                total_steps=self._total_steps,
                epoch=min(self.result.epoch + 1, self.settings.epochs),
                epochs=self.settings.epochs,
                eta_s=eta,
                metrics=metrics,
            )
        )

    # ------------------------------------------------------------------ checkpoints
    def _keep_last(self) -> None:
        if self.settings.keep_last:
            self._keep("last")

    def _keep(self, name: Literal["last", "best"]) -> None:
        if self.checkpoints is not None:
            self.checkpoints(name, self.checkpoint())

    def checkpoint(self) -> Checkpoint:
        """The training as it stands, between two batches."""
        mean = self._buffer.mean if self._batch else RunningMean()
        return Checkpoint(
            model=self.model.state_dict(),
            optimizer=self.optimizer.state_dict(),
            progress=Progress(
                epoch=self.result.epoch,
                step=self.result.step,
                batch=self._batch,
                loss_sum=mean.loss_sum,
                samples=mean.samples,
                correct=mean.correct,
                answers=mean.answers,
            ),
            rng=random_state(self.model),
            config=self.config,
            architecture=_architecture(self.model),
            metrics={name: value for name, value in self._latest.items() if math.isfinite(value)},
            state={
                **self._stepper.state(self._batch),
                "watch": self._watch.state(),
                "grad_norm": self._buffer.last_norm,
                "history": [dict(row) for row in self.result.history],
            },
        )

    def _restore(self, checkpoint: Checkpoint) -> RunningMean:
        """Take over a checkpoint; returns the mean of the epoch under way.

        Raises:
            CheckpointError: it is one of another model, optimizer or schedule.
        """
        try:
            self.model.load_state_dict(checkpoint.model)
        except RuntimeError as error:
            raise CheckpointError(f"the checkpoint does not fit the model: {error}") from error
        try:
            self.optimizer.load_state_dict(checkpoint.optimizer)
            self._stepper.restore(checkpoint.state)
        except (ValueError, KeyError) as error:
            raise CheckpointError(f"the checkpoint does not fit the optimizer: {error}") from error
        self._buffer.last_norm = checkpoint.state.get("grad_norm")
        if "watch" in checkpoint.state:
            self._watch.restore(checkpoint.state["watch"])
            self.result.best_epoch = self._watch.best_epoch
            self.result.best_value = self._watch.best_value
        self.result.history = [dict(row) for row in checkpoint.state.get("history", [])]
        restore_random_state(self.model, checkpoint.rng)
        progress = checkpoint.progress
        self.result.epoch, self.result.step, self._batch = progress.epoch, progress.step, progress.batch
        return RunningMean(progress.loss_sum, progress.samples, progress.correct, progress.answers)


def _architecture(model: nn.Module) -> list[dict[str, Any]]:
    describe = getattr(model, "architecture", None)
    return cast("list[dict[str, Any]]", describe()) if callable(describe) else []


@torch.no_grad()
def evaluate(
    model: nn.Module,
    batches: Batches,
    loss: LossFunction,
    *,
    classification: bool,
    stopped: Callable[[], bool],
    on_batch: Callable[[Any, Tensor], None] | None = None,
    autocast: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> RunningMean | None:
    """Mean loss and accuracy of ``model`` in evaluation mode, or ``None`` when stopped.

    ``on_batch`` gets every batch's outputs and targets, on the device. ``autocast`` makes what forward passes stand
    in.
    """
    count = answer_counter(loss) if classification else None
    was_training = model.training
    model.eval()
    losses: list[Tensor] = []
    sizes: list[int] = []
    counts: list[Tensor] = []
    mean = RunningMean()
    try:
        for inputs, targets in batches.epoch(0):
            if stopped():
                return None
            with autocast():
                outputs = model(inputs)
                losses.append(loss(outputs, targets))
            sizes.append(int(inputs.shape[0]))
            if count is not None and isinstance(outputs, Tensor):
                counts.append(count(outputs, targets))
                mean.answers += targets.numel()
            if on_batch is not None:
                on_batch(outputs, targets)
    finally:
        model.train(was_training)
    if losses:
        values: list[float] = cast("Any", torch.stack(losses).double()).tolist()
        mean.loss_sum = sum(value * size for value, size in zip(values, sizes, strict=True))
        mean.samples = sum(sizes)
    if counts:
        mean.correct = int(torch.stack(counts).sum())
    return mean
