"""The scheduler: queues and slots. Facts in, starts and reasons out; no I/O, no clock.

Rules:

1. Every queue key has one queue; a run waits behind all runs of its queue that were submitted earlier.
2. Only the head of a queue may start. Heads are considered in the order of submission.
3. A run takes one place in the slot of every device it gets, all at once or none, and gives them back all at once.
4. A slot never holds more runs than its limit. Lowering a limit stops nothing that runs.
5. A device set that is head and cannot start keeps its devices for itself: a head submitted later does not take them.
   A set for ``any`` keeps nothing.
6. Whatever may free something (an end, a cancel, a worker that came or changed) is followed by another look.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence

from codefy_control_plane.scheduling.limits import Limits
from codefy_control_plane.scheduling.model import (
    DeviceView,
    Placement,
    QueuedRun,
    Slot,
    Start,
    WorkerView,
)
from codefy_control_plane.scheduling.placement import never, place
from codefy_protocol.reasons import Reason


def _sequence(run: QueuedRun) -> int:
    return run.sequence


class Scheduler:
    """Decides which waiting run starts where.

    Args:
        limits: places per slot.
        local: the server's own devices.
    """

    def __init__(self, limits: Limits, local: Sequence[DeviceView] = ()) -> None:
        self.limits = limits
        self._local: tuple[DeviceView, ...] = tuple(local)
        self._workers: dict[str, WorkerView] = {}
        self._queues: dict[str, list[QueuedRun]] = {}
        self._waiting: dict[str, QueuedRun] = {}
        self._reasons: dict[str, Reason | None] = {}
        self._placed: dict[str, Placement] = {}
        self._used: dict[Slot, list[str]] = {}

    # ------------------------------------------------------------------ facts

    def set_local_devices(self, devices: Sequence[DeviceView]) -> None:
        """What the server offers."""
        self._local = tuple(devices)

    def set_workers(self, workers: Iterable[WorkerView]) -> None:
        """Every known worker, by its last report."""
        self._workers = {worker.name: worker for worker in sorted(workers, key=lambda worker: worker.name)}

    def enqueue(self, run: QueuedRun) -> None:
        """Add a waiting run.

        Raises:
            ValueError: it waits or runs already.
        """
        if run.run_id in self._waiting or run.run_id in self._placed:
            raise ValueError(f"the run {run.run_id} is known already")
        self._waiting[run.run_id] = run
        insort(self._queues.setdefault(run.queue_key, []), run, key=_sequence)

    def remove(self, run_id: str) -> bool:
        """Take a waiting run out of its queue; returns whether it was waiting."""
        run = self._waiting.pop(run_id, None)
        if run is None:
            return False
        queue = self._queues[run.queue_key]
        queue.remove(run)
        if not queue:
            del self._queues[run.queue_key]
        self._reasons.pop(run_id, None)
        return True

    def take(self, run_id: str, placement: Placement) -> None:
        """Occupy the slots of a run that was started before this scheduler was (D-6), over the limit if need be."""
        if run_id in self._placed:
            raise ValueError(f"the run {run_id} is placed already")
        self._placed[run_id] = placement
        for slot in placement.slots:
            self._used.setdefault(slot, []).append(run_id)

    def release(self, run_id: str) -> bool:
        """Free the slots of a run; returns whether it had any."""
        placement = self._placed.pop(run_id, None)
        if placement is None:
            return False
        for slot in placement.slots:
            users = self._used[slot]
            users.remove(run_id)
            if not users:
                del self._used[slot]
        return True

    # ------------------------------------------------------------------ decisions

    def starts(self) -> list[Start]:
        """Place every run that may start now; their slots are taken from here on. Sets the reasons of the others."""
        started: list[Start] = []
        reserved: set[Slot] = set()

        def is_free(slot: Slot) -> bool:
            return slot not in reserved and len(self._used.get(slot, ())) < self.limits.of(slot)

        heads = sorted((queue[0] for queue in self._queues.values()), key=_sequence)
        while heads:
            run = heads.pop(0)
            answer = place(run, self._local, self._workers, is_free)
            if isinstance(answer, Placement):
                self.remove(run.run_id)
                self.take(run.run_id, answer)
                started.append(Start(run_id=run.run_id, placement=answer))
                queue = self._queues.get(run.queue_key)
                if queue:
                    insort(heads, queue[0], key=_sequence)
                continue
            self._reasons[run.run_id] = answer.reason
            # A set for ``any`` names no worker yet, so what it would reserve is nobody's slot.
            if len(run.devices) > 1 and answer.reason is None:
                reserved.update((run.worker, device) for device in run.devices)
        return started

    def refusal(self, run: QueuedRun) -> Reason | None:
        """Why this run can never start (S-8), or ``None``. It need not be queued."""
        return never(run, self._local, self._workers)

    # ------------------------------------------------------------------ answers

    def position(self, run_id: str) -> int | None:
        """Place in its queue from 1, ``None`` when it does not wait."""
        run = self._waiting.get(run_id)
        return None if run is None else self._queues[run.queue_key].index(run) + 1

    def reason(self, run_id: str) -> Reason | None:
        """Why a waiting run waits, ``None`` when for nothing but a busy slot or runs before it."""
        return self._reasons.get(run_id)

    def placement(self, run_id: str) -> Placement | None:
        """Where a run is, ``None`` when it has no slot."""
        return self._placed.get(run_id)

    def users(self, slot: Slot) -> tuple[str, ...]:
        """Runs in a slot, in the order they came."""
        return tuple(self._used.get(slot, ()))

    @property
    def waiting(self) -> tuple[str, ...]:
        """Runs that wait, in the order of submission."""
        return tuple(run.run_id for run in sorted(self._waiting.values(), key=_sequence))
