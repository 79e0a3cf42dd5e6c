"""One attempt on a worker, as its session tracks it: phase, seq counters, cancel intent, deadlines.

Phases::

    phase      meaning                                             leaves by
    ---------  --------------------------------------------------  ------------------------------------------
    waiting    to be assigned when the worker is online            assign sent → assigned; worker lost → away
    assigned   assign was sent, nothing came back yet              a record, run_alive → running; → away
    running    it has begun: records came, or it was listed        run_finished → finished; worker lost → away
    away       the worker is not connected; the grace runs         run_alive → running or assigned; grace → over
    finished   run_finished is here, not settled yet               settled → (dropped)
    over       given up, not settled yet                           settled → (dropped)

A cancel is an intent beside the phase: ``cancel`` is the number of seconds it grants, and it outlives connections.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum

from codefy_control_plane.workers.checking import MAX_SEQ
from codefy_control_plane.workers.decisions import (
    AttemptDecision,
    AttemptKey,
    Commit,
    Deliver,
    GiveUp,
    Reported,
    SetStatus,
    Warn,
)
from codefy_protocol.frames import Assign, RunFinished, RunRecord, frame_tag
from codefy_protocol.reasons import MALFORMED_RECORD, SEQUENCE_GAP, Reason, reason


class Phase(Enum):
    WAITING = "waiting"
    ASSIGNED = "assigned"
    RUNNING = "running"
    AWAY = "away"
    FINISHED = "finished"
    OVER = "over"


MAX_STRAYS = 1000
"""Attempts of one worker that nobody here tracks and that are remembered at once."""
LIVE = frozenset((Phase.WAITING, Phase.ASSIGNED, Phase.RUNNING, Phase.AWAY))


class Acks:
    """When to acknowledge: every ``every`` records or ``after_s`` seconds after the first unacknowledged commit (D-2)."""

    def __init__(self, seq: int, every: int, after_s: float) -> None:
        self.durable = seq
        """Highest seq that is committed."""
        self.sent = seq
        """Highest seq that was acknowledged on this connection, or told in ``welcome``."""
        self._every = every
        self._after_s = after_s
        self.due_at: float | None = None

    def committed(self, seq: int, now: float) -> None:
        self.durable = max(self.durable, seq)
        if self.due_at is None and self.durable > self.sent:
            self.due_at = now + self._after_s

    def take(self, now: float, *, at_once: bool = False) -> int | None:
        """The seq to acknowledge now, if it is time."""
        if self.durable <= self.sent:
            return None
        due = self.due_at is not None and now >= self.due_at
        if not (at_once or due or self.durable - self.sent >= self._every):
            return None
        return self.told()

    def told(self) -> int:
        """The other side knows, or is told now."""
        self.sent = self.durable
        self.due_at = None
        return self.sent


class TrackedAttempt:
    """Counters: acks.sent ≤ acks.durable ≤ received."""

    def __init__(self, assign: Assign, grace_s: float, acks: Acks, *, adopted: bool) -> None:
        self.assign = assign
        self.key: AttemptKey = (assign.run_id, assign.attempt)
        self.grace_s = grace_s
        """How long it waits for its worker (D-3)."""
        self.acks = acks
        self.adopted = adopted
        """Taken over from an earlier process of this server (D-6)."""
        self.phase = Phase.WAITING
        self.received = acks.durable
        """Highest seq that is in a batch, or recorded."""
        self.sent_once = adopted
        """Whether the worker may have it."""
        self.cancel: float | None = None
        self.away_until: float | None = None
        self.away_late = False
        self._pending = False
        """Whether the batch holds something that no commit was asked for."""
        self._committing = False
        self._report: RunFinished | None = None

    @property
    def live(self) -> bool:
        """Whether it may still get records and warnings."""
        return self.phase in LIVE

    @property
    def begun(self) -> bool:
        """Whether anything of it came here."""
        return self.received > 0

    @property
    def durable(self) -> bool:
        """Whether nothing that came is still on its way to the disk."""
        return not self._committing and not self._pending

    @property
    def uncommitted(self) -> int:
        """Records that came and are not committed."""
        return self.received - self.acks.durable

    def records(self, records: Sequence[RunRecord]) -> list[AttemptDecision]:
        """Records in the order they came. Seen ones are dropped, holes are noted, what follows the end is ignored."""
        decisions: list[AttemptDecision] = []
        fresh: list[RunRecord] = []
        beyond: RunRecord | None = None
        for record in records:
            if record.seq <= self.received or not self.live:
                continue
            if record.seq > MAX_SEQ:
                beyond = record
                continue
            if record.seq > self.received + 1:
                decisions += self._deliver(fresh)
                fresh = []
                gap = reason(SEQUENCE_GAP, first=self.received + 1, last=record.seq - 1)
                decisions.append(Warn(*self.key, gap))
                self._pending = True
            self.received = record.seq
            if isinstance(record, RunFinished):
                decisions += self._deliver(fresh)
                fresh = []
                self.phase = Phase.FINISHED
                self._report = record
            else:
                fresh.append(record)
        decisions += self._deliver(fresh)
        if beyond is not None:
            why = reason(MALFORMED_RECORD, frame=frame_tag(type(beyond)), detail="its seq is out of range")
            decisions.append(Warn(*self.key, why))
            self._pending = True
        return [*decisions, *self.next_commit()]

    def note(self, *decisions: AttemptDecision) -> list[AttemptDecision]:
        """Put warnings or a status into the batch and have it committed."""
        self._pending = True
        return [*decisions, *self.next_commit()]

    def committed(self, seq: int, now: float) -> list[AttemptDecision]:
        """The commit that was asked for is durable."""
        self._committing = False
        self.acks.committed(seq, now)
        return self.next_commit()

    def next_commit(self) -> list[AttemptDecision]:
        """The next commit, or the report once everything before it is durable. One commit at a time: what comes in
        the meantime shares the next one."""
        if self._committing or self.phase is Phase.OVER:
            return []
        if self._pending:
            self._pending = False
            self._committing = True
            return [Commit(*self.key, self.received if self._report is None else self._report.seq - 1)]
        if self.phase is Phase.FINISHED and self._report is not None:
            report, self._report = self._report, None
            return [Reported(*self.key, report.seq, report.body)]
        return []

    def give_up(self, why: Reason) -> list[AttemptDecision]:
        """End it without a report: ``interrupted`` with that reason, or ``cancelled`` when a cancel was asked for."""
        self.phase = Phase.OVER
        self.away_until = None
        if self.cancel is not None:
            return [GiveUp(*self.key, "cancelled", None)]
        return [GiveUp(*self.key, "interrupted", why)]

    def wait(self, now: float) -> None:
        """Wait for the worker, as long as the grace says."""
        self.phase = Phase.AWAY
        self.away_until = now + self.grace_s
        self.away_late = False

    def lost(self, now: float, why: Reason) -> list[AttemptDecision]:
        """Its worker is gone."""
        self.wait(now)
        return self.note(SetStatus(*self.key, "disconnected"), Warn(*self.key, why))

    def back(self, phase: Phase, why: Reason) -> list[AttemptDecision]:
        """Its worker is here again."""
        self.phase = phase
        self.away_until = None
        return self.note(SetStatus(*self.key, "running"), Warn(*self.key, why))

    def _deliver(self, records: list[RunRecord]) -> list[AttemptDecision]:
        if not records:
            return []
        self._pending = True
        if self.phase is not Phase.FINISHED:
            self.phase = Phase.RUNNING
        return [Deliver(*self.key, tuple(records))]


class Stray:
    """An attempt that the worker has and nobody here tracks: it is cancelled, its records are taken and dropped."""

    def __init__(self, acks: Acks) -> None:
        self.acks = acks
        self.cancelled = False


class Strays:
    """The strays of one worker, the newest :data:`MAX_STRAYS` of them. What is forgotten comes again after a reconnect."""

    def __init__(self, every: int, after_s: float) -> None:
        self.due_at: float | None = None
        """No acknowledgement is due before this: one deadline for all, however many there are."""
        self._every = every
        self._after_s = after_s
        self._strays: dict[AttemptKey, Stray] = {}

    def get(self, key: AttemptKey) -> Stray | None:
        return self._strays.get(key)

    def of(self, key: AttemptKey) -> Stray:
        """The stray of that attempt, from now on."""
        stray = self._strays.get(key)
        if stray is None:
            if len(self._strays) >= MAX_STRAYS:
                del self._strays[next(iter(self._strays))]
            stray = self._strays[key] = Stray(Acks(0, self._every, self._after_s))
        return stray

    def forget(self, key: AttemptKey) -> None:
        self._strays.pop(key, None)

    def clear(self) -> None:
        self._strays.clear()
        self.due_at = None

    def committed(self, stray: Stray, seq: int, now: float) -> None:
        """Records up to ``seq`` are taken care of."""
        stray.acks.committed(seq, now)
        due = stray.acks.due_at
        if due is not None and (self.due_at is None or due < self.due_at):
            self.due_at = due

    def due(self, now: float) -> Iterator[tuple[AttemptKey, Acks]]:
        """Everything that may be acknowledged now; sets the next deadline once it was."""
        if self.due_at is None or now < self.due_at:
            return
        for key, stray in self._strays.items():
            yield key, stray.acks
        times = (stray.acks.due_at for stray in self._strays.values())
        self.due_at = min((time for time in times if time is not None), default=None)
