"""What went on inside a node that repeats itself: statistics of chosen tensors, step by step, bounded in steps and bytes.

A trace keeps its first and its newest step and, between them, every n-th: whenever it grows too large, every second
one goes. How many steps there will be need not be known.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from codefy_protocol.envelope import JsonNumber, json_number

MAX_STEPS = 256
MAX_SERIES = 256
"""Activations, and as many parameters; what comes after is left out and counted."""
MAX_TRACE_BYTES = 16 << 20
MAX_GRADIENT_BYTES = 64 << 20
"""Of all whole gradients of one trace."""
MAX_TRACES = 64
"""Of one run."""
BINS = 16
_WHOLE = 1 << 24
"""Facts of more numbers than this are those of some of them, evenly spaced: looking must not need much memory."""
_TAIL = 4
"""A pause is told when it is farther than this part of the usual distance from the step that was told last."""


class TensorFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Of one tensor at one step; of its finite numbers where there are others."""

    count: int
    mean: JsonNumber
    std: JsonNumber
    min: JsonNumber
    max: JsonNumber
    zero: JsonNumber
    """Share of numbers that are 0, from 0 to 1."""
    norm: JsonNumber
    """Euclidean."""
    nonfinite: int = 0
    """How many are NaN or infinite."""
    histogram: list[int] = []
    """Numbers in equal parts of min to max."""


class TraceStep(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step that was kept."""

    step: int
    epoch: JsonNumber | None = None
    values: dict[str, TensorFacts] = {}
    """By layer, or by what else goes through the steps."""
    gradients: dict[str, TensorFacts] = {}
    """By parameter, as the optimizer saw them."""


class TraceInfo(Struct, frozen=True, kw_only=True):
    """What a trace holds, without its numbers."""

    node_id: str
    kind: str
    """``training``, ``sampling`` or ``items``."""
    kept: int
    """Steps that are there."""
    first: int | None
    """Number of the first step, ``None`` while there is none."""
    last: int | None
    values: list[str]
    gradients: list[str]
    whole_gradients: list[str]
    """Parameters whose last gradient is kept as a whole."""
    left_out: int
    """Layers and parameters beyond the limits."""
    size: int
    """Bytes."""


class Trace(Struct, frozen=True, kw_only=True):
    """A trace, or a part of one."""

    info: TraceInfo
    steps: list[TraceStep]


class StepTrace:
    """Takes in the steps of one node. Read from any thread while it grows.

    ``room`` says how many bytes are left for it beyond those it takes already.
    """

    def __init__(self, node_id: str, kind: str, room: Callable[[], int]) -> None:
        self.node_id = node_id
        self.kind = kind
        self.size = 0
        self.gradients: dict[str, Any] = {}
        """The last whole gradients by parameter, on the CPU."""
        self._room = room
        self._lock = threading.Lock()
        self._steps: list[TraceStep] = []
        self._tail: TraceStep | None = None
        self._first: int | None = None
        self._stride = 1
        self._left_out = 0
        self._sizes: dict[int, int] = {}

    def wanted(self, step: int, *, end: bool = False, pause: bool = False) -> bool:
        """Whether ``step`` is to be told; ``end`` for the last one, ``pause`` for one that it may end with."""
        if end or self._first is None or (step - self._first) % self._stride == 0:
            return True
        newest = self._tail or (self._steps[-1] if self._steps else None)
        return pause and (newest is None or step - newest.step >= max(1, self._stride // _TAIL))

    def add(
        self,
        step: int,
        values: Mapping[str, Any] | None = None,
        gradients: Mapping[str, Any] | None = None,
        *,
        epoch: float | None = None,
    ) -> None:
        """Keep a step: facts by name, or tensors, of which the facts are worked out."""
        kept = TraceStep(
            step=step,
            epoch=None if epoch is None else json_number(epoch),
            values=_bounded(values or {}),
            gradients=_bounded(gradients or {}),
        )
        cut = max(0, len(values or {}) - MAX_SERIES) + max(0, len(gradients or {}) - MAX_SERIES)
        with self._lock:
            self._left_out = max(self._left_out, cut)
            if self._first is None:
                self._first = step
            if (step - self._first) % self._stride == 0:
                self._steps.append(kept)
                self._tail = None
            else:
                self._tail = kept
            self._measure()
            while len(self._steps) > 1 and (
                len(self._steps) > MAX_STEPS or self.size > MAX_TRACE_BYTES or self._room() < 0
            ):
                self._thin()
            if self._room() < 0 or self.size > MAX_TRACE_BYTES + MAX_GRADIENT_BYTES:
                self._steps, self._tail = [], None
                self._measure()

    def keep_gradients(self, gradients: Mapping[str, Any]) -> None:
        """Keep whole gradients in place of those before; what does not fit the limits is left out."""
        kept: dict[str, Any] = {}
        taken = 0
        for name, gradient in gradients.items():
            size = int(gradient.nbytes)
            if taken + size > min(MAX_GRADIENT_BYTES, self._room()):
                continue
            kept[name] = gradient.detach().to("cpu", copy=True)
            taken += size
        with self._lock:
            self.gradients = kept
            self._measure()

    def info(self) -> TraceInfo:
        """What it holds."""
        with self._lock:
            steps = self._all()
            # Layers keep the order in which they were met.
            values = dict.fromkeys(name for step in steps for name in step.values)
            gradients = dict.fromkeys(name for step in steps for name in step.gradients)
            return TraceInfo(
                node_id=self.node_id,
                kind=self.kind,
                kept=len(steps),
                first=steps[0].step if steps else None,
                last=steps[-1].step if steps else None,
                values=list(values),
                gradients=list(gradients),
                whole_gradients=list(self.gradients),
                left_out=self._left_out,
                size=self.size,
            )

    def read(
        self, names: Sequence[str] | None = None, first: int | None = None, last: int | None = None
    ) -> Trace:
        """The steps from ``first`` to ``last``, of some layers and parameters or of all."""
        info = self.info()
        with self._lock:
            steps = [
                step
                for step in self._all()
                if (first is None or step.step >= first) and (last is None or step.step <= last)
            ]
        if names is not None:
            chosen = set(names)
            steps = [
                TraceStep(
                    step=step.step,
                    epoch=step.epoch,
                    values={name: facts for name, facts in step.values.items() if name in chosen},
                    gradients={name: facts for name, facts in step.gradients.items() if name in chosen},
                )
                for step in steps
            ]
        return Trace(info=info, steps=steps)

    def _all(self) -> list[TraceStep]:
        return [*self._steps, self._tail] if self._tail is not None else list(self._steps)

    def _thin(self) -> None:
        """Leave every second step out, but not the newest."""
        assert self._first is not None
        self._stride *= 2
        newest = self._tail or self._steps[-1]
        self._steps = [step for step in self._steps if (step.step - self._first) % self._stride == 0]
        self._tail = newest if self._steps[-1].step != newest.step else None
        self._measure()

    def _measure(self) -> None:
        self._sizes = {step.step: self._sizes.get(step.step) or _size(step) for step in self._all()}
        self.size = sum(self._sizes.values()) + sum(int(value.nbytes) for value in self.gradients.values())


def _size(step: TraceStep) -> int:
    """About how many bytes a step takes."""
    return 200 + sum(
        400 + len(name) + 32 * len(facts.histogram)
        for part in (step.values, step.gradients)
        for name, facts in part.items()
    )


def _bounded(values: Mapping[str, Any]) -> dict[str, TensorFacts]:
    return {
        name: value if isinstance(value, TensorFacts) else facts_of(value)
        for name, value in list(values.items())[:MAX_SERIES]
    }


def _some(tensor: Any) -> Any:
    """The numbers of a tensor in a row, or evenly spaced ones of a huge one."""
    flat = tensor.detach().reshape(-1)
    return flat if flat.numel() <= _WHOLE else flat[:: -(-flat.numel() // _WHOLE)]


def moments(tensor: Any) -> Any:
    """float32 ``[7]`` on the tensor's device, nothing read from it: the numbers of :class:`TensorFacts` in order."""
    import torch

    with torch.no_grad():
        flat = _some(tensor).to(torch.float32)
        if flat.numel() == 0:
            return flat.new_zeros(7)
        finite = torch.isfinite(flat)
        count = finite.sum().clamp(min=1)
        clean = torch.where(finite, flat, torch.zeros_like(flat))
        mean = clean.sum() / count
        spread = torch.where(finite, flat - mean, torch.zeros_like(flat)).square().sum() / count
        infinity = torch.full_like(flat, float("inf"))
        return torch.stack(
            (
                mean,
                spread.sqrt(),
                torch.where(finite, flat, infinity).amin(),
                torch.where(finite, flat, -infinity).amax(),
                (flat == 0).sum() / flat.numel(),
                clean.square().sum().sqrt(),
                (~finite).sum().to(torch.float32),
            )
        )


def facts_from(numbers: Sequence[float], count: int, histogram: list[int] | None = None) -> TensorFacts:
    """Facts of the seven numbers that :func:`moments` gave."""
    mean, std, low, high, zero, norm, nonfinite = numbers
    if nonfinite >= count:
        mean = std = low = high = norm = float("nan")
    return TensorFacts(
        count=count,
        mean=json_number(mean),
        std=json_number(std),
        min=json_number(low),
        max=json_number(high),
        zero=json_number(zero),
        norm=json_number(norm),
        nonfinite=int(nonfinite),
        histogram=histogram or [],
    )


def facts_of(tensor: Any, *, histogram: bool = False) -> TensorFacts:
    """Facts of a tensor of real numbers; with ``histogram`` also how they are spread."""
    numbers: list[float] = moments(tensor).tolist()
    counts = histogram_of(tensor, numbers[2], numbers[3]) if histogram else None
    return facts_from(numbers, int(tensor.numel()), counts)


def histogram_of(tensor: Any, low: float, high: float) -> list[int]:
    """How many of the finite numbers lie in each of :data:`BINS` equal parts of ``low`` to ``high``."""
    import torch

    flat = _some(tensor).to(torch.float32)
    flat = flat[torch.isfinite(flat)]
    if not flat.numel():
        return []
    place = ((flat - low) / (high - low) * BINS) if high > low else torch.zeros_like(flat)
    counted: Any = torch.bincount(place.long().clamp(0, BINS - 1), minlength=BINS)
    return cast("list[int]", counted.tolist())
