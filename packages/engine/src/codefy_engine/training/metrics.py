"""Metric points, gathered without making the device wait.

Reading a loss with ``.item()`` stops the host until the accelerator has caught up. The losses of the steps therefore
stay tensors until about a tenth of a second of them is there, and are then read with one copy.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import Tensor

from codefy_protocol.bodies import MetricPoint
from codefy_protocol.envelope import json_number

FLUSH_INTERVAL_S = 0.1


@dataclass(slots=True)
class RunningMean:
    """Loss and accuracy over the samples seen so far in an epoch."""

    loss_sum: float = 0.0
    samples: int = 0
    correct: int = 0
    answers: int = 0
    """Predictions compared with a class; 0 when the task is no classification."""

    @property
    def loss(self) -> float:
        """Mean loss per sample."""
        return self.loss_sum / self.samples if self.samples else math.nan

    @property
    def accuracy(self) -> float | None:
        """Share of right predictions from 0 to 1, or ``None`` for a regression."""
        return self.correct / self.answers if self.answers else None


@dataclass(slots=True)
class StepOutcome:
    """What a step left behind, still on the device."""

    step: int
    ts: float
    loss: Tensor
    """Scalar, detached."""
    samples: int
    correct: Tensor | None = None
    """Scalar int64: right predictions of the batch, where the loss counts them itself."""
    answers: int = 0
    """How many predictions ``correct`` is of."""
    predicted: Tensor | None = None
    """Class numbers, of the shape of ``targets``: compared with them when the steps are read."""
    targets: Tensor | None = None
    norm: Tensor | None = None
    """Scalar: norm of all gradients together, when it was measured."""
    lr: float | None = None
    """The learning rate of the step, when it changes within an epoch."""


@dataclass
class StepBuffer:
    """Steps whose loss was not read yet.

    :meth:`drain` reads them, adds them to the epoch's mean and hands out the metric points to record.
    """

    log_every: int = 1
    """Record the loss of every n-th step. Every loss is looked at all the same."""
    log_norms: bool = False
    """Record the gradient norms too."""
    interval_s: float = FLUSH_INTERVAL_S
    clock: Callable[[], float] = time.perf_counter
    mean: RunningMean = field(default_factory=RunningMean)
    last_loss: float | None = None
    """The loss of the last step that was read."""
    last_norm: float | None = None
    """The last gradient norm that was read."""
    first_nonfinite: tuple[int, float] | None = None
    """The first step whose loss was NaN or infinite, and that loss."""
    nonfinite_in_epoch: bool = False
    _pending: list[StepOutcome] = field(default_factory=list[StepOutcome])
    _drained_at: float = -math.inf

    def start_epoch(self, mean: RunningMean | None = None) -> None:
        """Forget the last epoch's mean; ``mean`` carries on an epoch that was interrupted."""
        self.mean = mean if mean is not None else RunningMean()
        self.nonfinite_in_epoch = False

    def add(self, outcome: StepOutcome) -> bool:
        """Keep a step; ``True`` when it is time to drain."""
        self._pending.append(outcome)
        return self.clock() - self._drained_at >= self.interval_s

    def drain(self) -> list[MetricPoint]:
        """Read what is pending with one copy from the device and return its metric points."""
        pending, self._pending = self._pending, []
        self._drained_at = self.clock()
        if not pending:
            return []
        losses: list[float] = cast("Any", torch.stack([outcome.loss for outcome in pending])).tolist()
        self._count_answers(pending)
        points: list[MetricPoint] = []
        norms = self._norms(pending)
        if not self.log_norms:
            norms = {}
        for outcome, loss in zip(pending, losses, strict=True):
            finite = math.isfinite(loss)
            self.mean.loss_sum += loss * outcome.samples
            self.mean.samples += outcome.samples
            if not finite:
                self.nonfinite_in_epoch = True
                if self.first_nonfinite is None:
                    self.first_nonfinite = (outcome.step, loss)
            if outcome.step % self.log_every == 0 or not finite:
                points.append(
                    MetricPoint(name="loss", value=json_number(loss), step=outcome.step, ts=outcome.ts)
                )
                for name, value in (("grad_norm", norms.get(outcome.step)), ("lr", outcome.lr)):
                    if value is not None:
                        points.append(
                            MetricPoint(name=name, value=json_number(value), step=outcome.step, ts=outcome.ts)
                        )
        self.last_loss = losses[-1]
        return points

    def _count_answers(self, pending: list[StepOutcome]) -> None:
        """Add what was right; all pending predictions are compared at once, which a step alone would pay for dearly."""
        counted = [outcome.correct for outcome in pending if outcome.correct is not None]
        if counted:
            self.mean.correct += int(torch.stack(counted).sum())
            self.mean.answers += sum(outcome.answers for outcome in pending)
        predicted = [outcome.predicted.flatten() for outcome in pending if outcome.predicted is not None]
        targets = [outcome.targets.flatten() for outcome in pending if outcome.targets is not None]
        if predicted:
            hits = torch.cat(predicted) == torch.cat(targets)
            self.mean.correct += int(hits.sum())
            self.mean.answers += hits.numel()

    def _norms(self, pending: list[StepOutcome]) -> dict[int, float]:
        """Gradient norms by step, read with one copy."""
        measured = [(outcome.step, outcome.norm) for outcome in pending if outcome.norm is not None]
        if not measured:
            return {}
        values: list[float] = cast("Any", torch.stack([norm for _, norm in measured])).tolist()
        self.last_norm = values[-1]
        return {step: value for (step, _), value in zip(measured, values, strict=True)}


def epoch_points(values: dict[str, float | None], *, step: int, epoch: int, ts: float) -> list[MetricPoint]:
    """One point of scope ``epoch`` for every value that is there."""
    return [
        MetricPoint(
            name=name, value=json_number(float(value)), step=step, epoch=float(epoch), scope="epoch", ts=ts
        )
        for name, value in values.items()
        if value is not None
    ]


def count_correct(outputs: Tensor, targets: Tensor, class_dim: int = 1) -> Tensor:
    """Right predictions as a scalar int64 tensor on the device.

    ``outputs`` has scores along ``class_dim``, such as ``[n, classes, …]``; ``targets`` is ``[n, …]`` with class
    numbers.
    """
    return (outputs.argmax(dim=class_dim) == targets).sum()


def answer_counter(loss: object) -> Callable[[Tensor, Tensor], Tensor] | None:
    """How right answers are counted under ``loss``; ``None`` when its outputs are no answers.

    A loss may have ``count_correct(outputs, targets)`` of its own, say ``class_dim`` for :func:`count_correct`, or
    ``counts_answers = False``.
    """
    if not getattr(loss, "counts_answers", True):
        return None
    own = getattr(loss, "count_correct", None)
    if callable(own):
        return cast("Callable[[Tensor, Tensor], Tensor]", own)
    dim = int(getattr(loss, "class_dim", 1))
    return count_correct if dim == 1 else functools.partial(count_correct, class_dim=dim)
