"""Outputs of nodes that are kept for the inspector (O-3): a store bounded in bytes and in runs, and what is read of it.

Values are kept as they are, tensors detached; what a later node changes in place is seen changed. Reading never fails
for a value of an odd kind: it is then described in words.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from msgspec import Struct

from codefy_engine.execution.cache import size_of
from codefy_engine.execution.summaries import summarize
from codefy_engine.execution.wiring import Wiring
from codefy_protocol.envelope import JsonNumber, json_number

DEFAULT_MAX_BYTES = 512 << 20
MAX_RUNS = 20
MAX_SLICE = 4096
"""Numbers in one answer."""
MAX_TEXT = 16_384
MAX_CELL = 200
"""Characters of a text in an array."""
_BINS = 32


class CapturedOutput(Struct, kw_only=True, frozen=True):
    """One port that was kept."""

    node_id: str
    port: str
    type: str
    facts: dict[str, Any]
    size: int


class OutputSlice(Struct, kw_only=True, frozen=True):
    """A part of a value: of a tensor the numbers of its last two dimensions at an index of the others."""

    shape: list[int] = []
    dtype: str = ""
    index: list[int] = []
    """Of the leading dimensions."""
    start: list[int] = []
    """Where in the last two dimensions it begins."""
    values: Any = None
    """Nested lists of numbers, NaN and infinities as texts."""
    text: str = ""
    """In words, for what is no tensor."""


class OutputStatistics(Struct, kw_only=True, frozen=True):
    """Of all numbers of a tensor; the finite ones where it says so."""

    count: int
    finite: int
    nan: int
    infinite: int
    zero: int
    mean: JsonNumber = "NaN"
    std: JsonNumber = "NaN"
    min: JsonNumber = "NaN"
    max: JsonNumber = "NaN"
    histogram: list[int] = []
    """Finite numbers in equal parts of min to max."""


@dataclass(slots=True)
class _Run:
    values: dict[tuple[str, str], Any] = field(default_factory=dict[tuple[str, str], Any])
    about: dict[tuple[str, str], CapturedOutput] = field(
        default_factory=dict[tuple[str, str], CapturedOutput]
    )
    statistics: dict[tuple[str, str], OutputStatistics] = field(
        default_factory=dict[tuple[str, str], OutputStatistics]
    )
    size: int = 0
    redact: Callable[[str], str] | None = None
    wiring: Wiring = field(default_factory=Wiring)


class OutputStore:
    """Captured outputs by run. The oldest runs are dropped first, the newest never; used from any thread."""

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES, max_runs: int = MAX_RUNS) -> None:
        self.max_bytes = max_bytes
        self.max_runs = max_runs
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        return sum(run.size for run in self._runs.values())

    def runs(self) -> list[str]:
        """Ids of the runs that are kept, the oldest first."""
        with self._lock:
            return list(self._runs)

    def begin(
        self, run_id: str, redact: Callable[[str], str] | None = None, wiring: Wiring | None = None
    ) -> None:
        """Make room for a run; texts of its values are read through ``redact``, ``wiring`` says what fed what."""
        with self._lock:
            self._runs.pop(run_id, None)
            self._runs[run_id] = _Run(redact=redact, wiring=wiring or Wiring())
            while len(self._runs) > self.max_runs:
                self._runs.popitem(last=False)

    def capture(
        self, run_id: str, node_id: str, outputs: Mapping[str, Any], facts: Mapping[str, Mapping[str, Any]]
    ) -> bool:
        """Keep what a node gave; whether there was room for it beside the rest of its own run."""
        kept = {port: _detached(value) for port, value in outputs.items()}
        sizes = {port: size_of(value) for port, value in kept.items()}
        with self._lock:
            run = self._runs.get(run_id)
            if run is None or run.size + sum(sizes.values()) > self.max_bytes:
                return False
            for port, value in kept.items():
                at = (node_id, port)
                about = dict(facts[port])
                replaced = run.about.get(at)
                run.size += sizes[port] - (0 if replaced is None else replaced.size)
                run.values[at] = value
                run.about[at] = CapturedOutput(
                    node_id=node_id,
                    port=port,
                    type=str(about.get("type", "any")),
                    facts=about,
                    size=sizes[port],
                )
            while sum(item.size for item in self._runs.values()) > self.max_bytes:
                oldest = next(iter(self._runs))
                if oldest == run_id:
                    break
                del self._runs[oldest]
        return True

    def drop(self, run_id: str) -> None:
        """Forget a run."""
        with self._lock:
            self._runs.pop(run_id, None)

    def index(self, run_id: str) -> list[CapturedOutput]:
        """What is kept of a run.

        Raises:
            KeyError: nothing is kept of it.
        """
        with self._lock:
            return list(self._runs[run_id].about.values())

    def wiring(self, run_id: str) -> Wiring:
        """Where the inputs of a run's nodes came from.

        Raises:
            KeyError: nothing is kept of it.
        """
        return self._run(run_id).wiring

    def about(self, run_id: str, node_id: str, port: str) -> CapturedOutput:
        """What is known of a value.

        Raises:
            KeyError: it is not kept.
        """
        return self._run(run_id).about[node_id, port]

    def value(self, run_id: str, node_id: str, port: str) -> Any:
        """A value as it is kept.

        Raises:
            KeyError: it is not kept.
        """
        with self._lock:
            return self._runs[run_id].values[node_id, port]

    def slice(
        self,
        run_id: str,
        node_id: str,
        port: str,
        *,
        index: Sequence[int] = (),
        start: Sequence[int] = (),
        size: Sequence[int] = (),
    ) -> OutputSlice:
        """A part of a value.

        Raises:
            KeyError: it is not kept.
            IndexError: the index lies outside of the tensor.
        """
        run = self._run(run_id)
        return slice_of(run.values[node_id, port], index, start, size, run.redact)

    def statistics(self, run_id: str, node_id: str, port: str) -> OutputStatistics:
        """Statistics of a tensor, computed once.

        Raises:
            KeyError: it is not kept.
            TypeError: it is no tensor.
        """
        run = self._run(run_id)
        at = (node_id, port)
        found = run.statistics.get(at)
        if found is None:
            found = run.statistics[at] = statistics_of(run.values[at])
        return found

    def _run(self, run_id: str) -> _Run:
        with self._lock:
            return self._runs[run_id]


def _detached(value: Any) -> Any:
    detach = getattr(value, "detach", None)
    return detach() if callable(detach) and hasattr(value, "dtype") else value


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def slice_of(
    value: Any,
    index: Sequence[int] = (),
    start: Sequence[int] = (),
    size: Sequence[int] = (),
    redact: Callable[[str], str] | None = None,
) -> OutputSlice:
    """At most :data:`MAX_SLICE` numbers of a tensor, or a value in words.

    Raises:
        IndexError: the index lies outside of the tensor.
    """
    if not _is_tensor(value):
        return OutputSlice(text=_in_words(value, redact))
    shape = [int(length) for length in value.shape]
    leading = len(shape) - min(2, len(shape))
    at = [*index, *([0] * leading)][:leading]
    for dimension, position in enumerate(at):
        if not 0 <= position < shape[dimension]:
            raise IndexError(f"index {position} of dimension {dimension}, which has {shape[dimension]}")
    begin = [
        min(max(0, number), length) for number, length in zip([*start, 0, 0], shape[leading:], strict=False)
    ]
    lengths = [max(0, number) for number in size] or [64, 64]
    try:
        numbers = _cut(value, at, begin, lengths).tolist()
    except Exception:  # a sparse tensor, or whatever a stranger calls one
        return OutputSlice(text=_in_words(value, redact))
    return OutputSlice(
        shape=shape,
        dtype=str(value.dtype).removeprefix("torch."),
        index=at,
        start=begin,
        values=_plain(numbers, redact),
    )


def _in_words(value: Any, redact: Callable[[str], str] | None) -> str:
    text = value if isinstance(value, str) else str(summarize(value, "any")["summary"])
    return (text if redact is None else redact(text))[:MAX_TEXT]


def _cut(value: Any, at: Sequence[int], begin: Sequence[int], lengths: Sequence[int]) -> Any:
    part = value
    for position in at:
        part = part[position]
    if len(begin) == 1:
        part = part[begin[0] : begin[0] + min(lengths[-1], MAX_SLICE)]
    elif len(begin) == 2:
        wide = min(lengths[-1], MAX_SLICE)
        high = min(lengths[0], MAX_SLICE // max(1, wide)) or 1
        part = part[begin[0] : begin[0] + high, begin[1] : begin[1] + wide]
    return part


def _plain(value: Any, redact: Callable[[str], str] | None) -> Any:
    """Numbers and texts as JSON takes them, without secrets."""
    if isinstance(value, list):
        return [_plain(item, redact) for item in cast("list[Any]", value)]
    if isinstance(value, float):
        return json_number(value)
    if value is None or isinstance(value, bool):
        return value
    text = str(value)
    # Before it is cut: half a secret is one too.
    shown = text if redact is None else redact(text)
    return value if isinstance(value, int) and shown == text else shown[:MAX_CELL]


def statistics_of(value: Any) -> OutputStatistics:
    """Statistics of a tensor or array.

    Raises:
        TypeError: it is none, or holds no real numbers.
    """
    try:
        return _statistics(value)
    except (RuntimeError, ValueError, NotImplementedError) as error:
        # Sparse and quantized tensors, and whatever a stranger calls one.
        raise TypeError(f"a {type(value).__name__} has no statistics: {error}") from error


def _statistics(value: Any) -> OutputStatistics:
    if not _is_tensor(value):
        raise TypeError(f"a {type(value).__name__} has no statistics")
    import torch

    tensor = torch.as_tensor(value).detach()
    if tensor.is_complex():
        raise TypeError("complex numbers have no statistics")
    flat = tensor.reshape(-1).to(torch.float32 if tensor.dtype == torch.float32 else torch.float64)
    finite = flat[torch.isfinite(flat)]
    count, nan = flat.numel(), int(torch.isnan(flat).sum())
    facts = OutputStatistics(
        count=count,
        finite=finite.numel(),
        nan=nan,
        infinite=count - finite.numel() - nan,
        zero=int((flat == 0).sum()),
    )
    if finite.numel() == 0:
        return facts
    low, high = float(finite.min()), float(finite.max())
    histogram = torch.histc(finite.cpu(), bins=_BINS, min=low, max=high if high > low else low + 1)
    wide = finite.to(torch.float64)
    return OutputStatistics(
        count=count,
        finite=facts.finite,
        nan=nan,
        infinite=facts.infinite,
        zero=facts.zero,
        mean=json_number(float(wide.mean())),
        std=json_number(float(wide.std(correction=0)) if finite.numel() > 1 else 0.0),
        min=low,
        max=high,
        histogram=[int(number) for number in cast("list[float]", cast("Any", histogram).tolist())],
    )
