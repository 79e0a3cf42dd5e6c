"""The training loop, as plain code over a model, batches, an optimizer and a loss.

It knows nothing of nodes or runs: what happens is told to a :class:`Reporter`. The order of samples depends on the
seed and the epoch alone and the random generators are part of a checkpoint, so a training that goes on from one
gives the same numbers as one that was never interrupted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, cast

import torch
from torch import Tensor, nn

from codefy_engine.training.checkpoints import (
    Checkpoint,
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
    count_correct,
    epoch_points,
)
from codefy_protocol.bodies import MetricPoint

LossFunction = Callable[[Tensor, Tensor], Tensor]
"""``(outputs, targets)`` to a scalar: the mean over the batch."""


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
    interval_s: float = FLUSH_INTERVAL_S
    """Seconds between two reports of metrics and progress."""


@dataclass
class LoopResult:
    """How the training went."""

    step: int = 0
    epoch: int = 0
    """Completed epochs."""
    stopped: bool = False
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
        self.result = LoopResult()
        self._buffer = StepBuffer(log_every=settings.log_every, interval_s=settings.interval_s, clock=clock)
        self._total_steps = settings.epochs * len(train)
        self._latest: dict[str, float] = {}
        self._best_rank: tuple[float, float] | None = None
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
        self._first_step = self.result.step
        self._started_at = self.clock()
        self._report()
        while self.result.epoch < self.settings.epochs:
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
            )
            if validated is None:
                return False
            values |= {"val_loss": validated.loss, "val_accuracy": validated.accuracy}
        values["lr"] = float(self.optimizer.param_groups[0]["lr"])
        samples = trained.samples - first_sample
        values["samples_per_second"] = samples / seconds if samples and seconds > 0 else None
        self._end_epoch(values)
        return True

    def _train_batches(self, epoch: int) -> bool:
        model, optimizer, loss_of = self.model, self.optimizer, self.loss
        buffer, stopped, clip = self._buffer, self.reporter.stopped, self.settings.clip_norm
        classification, step = self.classification, self.result.step
        model.train()
        for inputs, targets in self.train.epoch(epoch, start=self._batch):
            if stopped():
                return False
            outputs = model(inputs)
            loss = loss_of(outputs, targets)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # pyright: ignore[reportUnknownMemberType]  # torch leaves its arguments untyped
            if clip is not None:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            step += 1
            self.result.step = step
            self._batch += 1
            outcome = StepOutcome(step, time.time(), loss.detach(), len(inputs))
            if classification:
                outcome.predicted, outcome.targets = outputs.detach().argmax(1), targets
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
        # A model that met a NaN is no good: the file of the last good epoch stays.
        if self._buffer.nonfinite_in_epoch:
            return
        last = result.epoch == self.settings.epochs
        if last or result.epoch % self.settings.checkpoint_every == 0:
            self._keep_last()
        if self._is_best(present):
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
        self.reporter.progress(
            LoopProgress(
                step=step,
                total_steps=self._total_steps,
                epoch=min(self.result.epoch + 1, self.settings.epochs),
                epochs=self.settings.epochs,
                eta_s=eta,
                metrics=dict(self._latest),
            )
        )

    # ------------------------------------------------------------------ checkpoints
    def _is_best(self, values: dict[str, float]) -> bool:
        """Whether the epoch beats all before it; a lower loss decides between equal accuracies."""
        if not self.settings.keep_best:
            return False
        part = "val" if self.validation is not None else "train"
        loss = values[f"{part}_loss"]
        accuracy = None if self.settings.monitor == "loss" else values.get(f"{part}_accuracy")
        rank = (0.0 if accuracy is None else -accuracy, loss)
        if not math.isfinite(loss) or (self._best_rank is not None and rank >= self._best_rank):
            return False
        self._best_rank = rank
        self.result.best_epoch = self.result.epoch
        self.result.best_value = loss if accuracy is None else accuracy
        return True

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
        )

    def _restore(self, checkpoint: Checkpoint) -> RunningMean:
        """Take over a checkpoint; returns the mean of the epoch under way."""
        self.model.load_state_dict(checkpoint.model)
        self.optimizer.load_state_dict(checkpoint.optimizer)
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
    on_batch: Callable[[Tensor, Tensor], None] | None = None,
) -> RunningMean | None:
    """Mean loss and accuracy of ``model`` in evaluation mode, or ``None`` when stopped.

    ``on_batch`` gets every batch's outputs and targets, on the device.
    """
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
            outputs = model(inputs)
            losses.append(loss(outputs, targets))
            sizes.append(int(inputs.shape[0]))
            if classification:
                counts.append(count_correct(outputs, targets))
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
