"""The queues: one per queue key, sorted, with their heads (S-1, S-2)."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

from codefy_control_plane.scheduling.model import Order, QueuedRun


class Queues:
    """Waiting runs by queue key, each queue in the order of :attr:`QueuedRun.order`."""

    def __init__(self) -> None:
        self._queues: dict[str, list[tuple[Order, str]]] = {}
        self._runs: dict[str, QueuedRun] = {}

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._runs

    def __len__(self) -> int:
        return len(self._runs)

    def add(self, run: QueuedRun) -> None:
        """Put a run in its queue."""
        self._runs[run.run_id] = run
        insort(self._queues.setdefault(run.queue_key, []), (run.order, run.run_id))

    def remove(self, run_id: str) -> QueuedRun | None:
        """Take a run out; ``None`` when it does not wait."""
        run = self._runs.pop(run_id, None)
        if run is None:
            return None
        queue = self._queues[run.queue_key]
        del queue[bisect_left(queue, (run.order, run_id))]
        if not queue:
            del self._queues[run.queue_key]
        return run

    def get(self, run_id: str) -> QueuedRun | None:
        """A waiting run."""
        return self._runs.get(run_id)

    def head(self, queue_key: str) -> QueuedRun | None:
        """The first run of a queue."""
        queue = self._queues.get(queue_key)
        return None if queue is None else self._runs[queue[0][1]]

    def length(self, queue_key: str) -> int:
        """Runs in a queue."""
        return len(self._queues.get(queue_key, ()))

    def position(self, run_id: str) -> int | None:
        """Place in its queue from 1; ``None`` when it does not wait."""
        run = self._runs.get(run_id)
        if run is None:
            return None
        return bisect_left(self._queues[run.queue_key], (run.order, run_id)) + 1

    def ahead(self, run_id: str) -> list[str]:
        """Runs before this one in its queue, the head first."""
        run = self._runs[run_id]
        queue = self._queues[run.queue_key]
        return [item[1] for item in queue[: bisect_left(queue, (run.order, run_id))]]

    def keys(self) -> Iterator[str]:
        """Keys of queues with runs."""
        return iter(self._queues)

    def in_order(self) -> list[QueuedRun]:
        """All waiting runs as they would start if everything were free."""
        return sorted(self._runs.values(), key=lambda run: run.order)
