"""Outputs of nodes that are kept for the inspector (O-3): a store bounded in bytes and in runs, and what is read of it.

Values are kept as they are, tensors detached; what a later node changes in place is seen changed. Reading never fails
for a value of an odd kind: it is then described in words.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from codefy_engine.execution.cache import size_of
from codefy_engine.execution.reading import OutputSlice, OutputStatistics, slice_of, statistics_of
from codefy_engine.execution.traces import MAX_TRACES, StepTrace, Trace, TraceInfo
from codefy_engine.execution.wiring import Wiring

__all__ = [
    "CapturedOutput",
    "OutputSlice",
    "OutputStatistics",
    "OutputStore",
    "slice_of",
    "statistics_of",
]

DEFAULT_MAX_BYTES = 512 << 20
MAX_RUNS = 20


class CapturedOutput(Struct, kw_only=True, frozen=True):
    """One port that was kept."""

    node_id: str
    port: str
    type: str
    facts: dict[str, Any]
    size: int


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
    """Of the values; see :attr:`total`."""
    redact: Callable[[str], str] | None = None
    wiring: Wiring = field(default_factory=Wiring)
    traces: dict[str, StepTrace] = field(default_factory=dict[str, StepTrace])

    @property
    def total(self) -> int:
        """Bytes of values and traces."""
        return self.size + sum(trace.size for trace in self.traces.values())


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
        with self._lock:
            return sum(run.total for run in self._runs.values())

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
            if run is None or run.total + sum(sizes.values()) > self.max_bytes:
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
            self._let_go(run_id)
        return True

    def _let_go(self, run_id: str) -> None:
        """Drop the oldest runs until everything fits, but not ``run_id``; called with the lock held."""
        while sum(item.total for item in self._runs.values()) > self.max_bytes:
            oldest = next(iter(self._runs))
            if oldest == run_id:
                break
            del self._runs[oldest]

    # ------------------------------------------------------------------ traces
    def begin_trace(self, run_id: str, node_id: str, kind: str) -> StepTrace | None:
        """A trace to fill; ``None`` when nothing is kept of the run, or it has too many traces."""

        def room() -> int:
            with self._lock:
                run = self._runs.get(run_id)
                # A run that was dropped goes on; what it tells is dropped too.
                if run is None:
                    return -1
                self._let_go(run_id)
                return self.max_bytes - run.total

        with self._lock:
            run = self._runs.get(run_id)
            if run is None or (len(run.traces) >= MAX_TRACES and node_id not in run.traces):
                return None
            found = run.traces[node_id] = StepTrace(node_id, kind, room)
            return found

    def adopt_trace(self, run_id: str, trace: StepTrace) -> None:
        """Keep the trace of a node that was reused."""
        with self._lock:
            run = self._runs.get(run_id)
            if run is not None and len(run.traces) < MAX_TRACES and run.total + trace.size <= self.max_bytes:
                run.traces[trace.node_id] = trace
                self._let_go(run_id)

    def traces(self, run_id: str) -> list[TraceInfo]:
        """The traces of a run's nodes.

        Raises:
            KeyError: nothing is kept of it.
        """
        with self._lock:
            found = list(self._runs[run_id].traces.values())
        return [trace.info() for trace in found]

    def trace(
        self,
        run_id: str,
        node_id: str,
        *,
        names: Sequence[str] | None = None,
        first: int | None = None,
        last: int | None = None,
    ) -> Trace:
        """The steps of a node from ``first`` to ``last``, of the layers and parameters ``names`` or of all.

        Raises:
            KeyError: there is no such trace.
        """
        return self._trace(run_id, node_id).read(names, first, last)

    def gradient(
        self,
        run_id: str,
        node_id: str,
        parameter: str,
        *,
        index: Sequence[int] = (),
        start: Sequence[int] = (),
        size: Sequence[int] = (),
    ) -> OutputSlice:
        """A part of the last gradient of a parameter, as :meth:`slice` gives it.

        Raises:
            KeyError: it is not kept.
            IndexError: the index lies outside of the gradient.
        """
        return slice_of(self._trace(run_id, node_id).gradients[parameter], index, start, size)

    def gradient_statistics(self, run_id: str, node_id: str, parameter: str) -> OutputStatistics:
        """Statistics of the last gradient of a parameter.

        Raises:
            KeyError: it is not kept.
        """
        return statistics_of(self._trace(run_id, node_id).gradients[parameter])

    def _trace(self, run_id: str, node_id: str) -> StepTrace:
        with self._lock:
            return self._runs[run_id].traces[node_id]

    # ------------------------------------------------------------------ outputs

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
