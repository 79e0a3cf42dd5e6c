"""When waiting runs are expected to start (S-15): the rules themselves, played forward on a copy. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping

from codefy_control_plane.scheduling.model import QueuedRun
from codefy_control_plane.scheduling.scheduler import Scheduler

MAX_STARTS = 2000
"""How far a forecast looks."""


def forecast(
    scheduler: Scheduler,
    remaining: Mapping[str, float | None],
    duration: Callable[[QueuedRun], float | None],
    *,
    max_starts: int = MAX_STARTS,
) -> dict[str, float]:
    """Seconds until each waiting run is expected to start.

    Args:
        scheduler: as it is now; it is not changed.
        remaining: seconds until each run that has slots ends; ``None`` or absent for unknown.
        duration: seconds that a waiting run is expected to take; ``None`` for unknown.

    Returns:
        The runs that are expected to start. Absent are those that wait for a run of unknown length, for a worker that
        is away, or beyond ``max_starts`` other starts.
    """
    ahead = scheduler.copy()
    runs = {run.run_id: run for run in scheduler.queued_runs}
    ends = [(left, run_id) for run_id in scheduler.placed if (left := remaining.get(run_id)) is not None]
    heapq.heapify(ends)
    expected: dict[str, float] = {}
    now = 0.0
    while len(expected) < max_starts:
        for start in ahead.starts():
            expected[start.run_id] = now
            length = duration(runs[start.run_id])
            if length is not None:
                heapq.heappush(ends, (now + length, start.run_id))
        if not ends or len(expected) == len(runs):
            break
        now, ended = heapq.heappop(ends)
        now = max(0.0, now)
        ahead.release(ended)
    return expected
