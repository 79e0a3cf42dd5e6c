"""The control plane's side of one worker, over all its connections. Pure: events in, decisions out, the clock passed in.

The worker (``link``)::

    link          event                      next          decisions
    ------------  -------------------------  ------------  ------------------------------------------------------
    offline,      opened                     greeting      Send welcome (once nothing is on its way to the disk)
    disconnected
    greeting,     opened (same incarnation)  greeting      Close the old connection; then as lost, then welcome
    online        opened (another one)       greeting      Send reject `replaced` on the old one; the same
    greeting      run_alive                  online        per attempt, see below
    greeting      a record                   disconnected  Close: run_alive comes first
    online        records, heartbeat         online        Deliver, Warn (gap), Commit; acks when committed
    greeting,     closed, silence            disconnected  per attempt: SetStatus disconnected, Warn, Commit
    online
    any           tick                       same          Send ack, Send drain (a sign of life), GiveUp past the grace

Each attempt (phases in ``tracked``)::

    phase      event                                  next      decisions
    ---------  -------------------------------------  --------  --------------------------------------------------
    (none)     place, worker online                   assigned  Send assign
    (none)     place, worker not there                away      SetStatus, Warn worker_disconnected, Commit
    (none)     place an adopted one                   away      Close, where run_alive came before it
    assigned,  records                                running   Deliver, Commit
    running    run_finished                           finished  Commit, then Reported
    live       worker lost                            away      SetStatus, Warn worker_disconnected, Commit
    away       run_alive lists it                     running   SetStatus, Warn worker_reconnected, Commit; cancel again
    away       run_alive lacks it, nothing recorded   assigned  Send assign again
    away       run_alive lacks it, it had begun       over      GiveUp agent_restarted / worker_lost_after_restart
    away       grace expired                          over      GiveUp worker_gone
    waiting    cancel, never sent                     over      GiveUp cancelled
    live       cancel                                 same      Send cancel; again after every reconnect
    finished   settled                                (none)    Send ack of run_finished
    over       settled                                (none)
    (none)     run_alive lists it, or a record comes  stray     Send cancel with grace_s 0; acks
    stray      run_finished                           stray     KeepLateResult, ack when kept

A give-up of an attempt whose cancel was asked for ends ``cancelled``, any other ``interrupted``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from codefy_control_plane.workers.decisions import (
    AttemptKey,
    Close,
    Decision,
    KeepLateResult,
    Link,
    Send,
    WorkerChanged,
)
from codefy_control_plane.workers.tracked import Acks, Phase, Strays, TrackedAttempt
from codefy_protocol.capabilities import IMPLEMENTED, common
from codefy_protocol.frames import (
    Ack,
    Assign,
    Cancel,
    Catalog,
    Device,
    Drain,
    Frame,
    Heartbeat,
    Hello,
    RecordedSeq,
    Reject,
    RunAlive,
    RunFinished,
    RunRecord,
    Welcome,
)
from codefy_protocol.liveness import LATE_S, SilenceWatch
from codefy_protocol.reasons import (
    AGENT_RESTARTED,
    CONNECTION_CLOSED,
    CONNECTION_REPLACED,
    NO_HEARTBEAT,
    REPLACED,
    VERSION_MISMATCH,
    WORKER_DISCONNECTED,
    WORKER_GONE,
    WORKER_LOST_AFTER_RESTART,
    WORKER_RECONNECTED,
    Reason,
    reason,
)

LATE_GRACE_S = 60.0
"""A grace whose end was noticed late (the machine slept) is prolonged by this once: nobody could have come back."""
EXPECTED_S = 10.0
"""How long a welcome waits for the attempts that are about to be adopted. An agent waits longer for it."""


class SessionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Times in seconds."""

    product_version: str
    heartbeat_s: float = 10.0
    grace_s: float = 30.0
    resume_grace_s: float = 86_400.0
    ack_every: int = 64
    ack_after_s: float = 1.0
    missed_heartbeats: int = 3
    sign_of_life_s: float = 10.0
    """F-5: an online worker hears something at least this often."""
    backlog: int = 8192
    """Uncommitted records of one attempt beyond which reading stops (the agent is paused by TCP)."""


class WorkerSession:
    """One worker by name."""

    def __init__(self, name: str, settings: SessionSettings, *, draining: bool = False) -> None:
        self.name = name
        self.settings = settings
        self.draining = draining
        self.link = Link.OFFLINE
        self.hello: Hello | None = None
        """Of the present or the last connection."""
        self.outdated = False
        self.devices: tuple[Device, ...] = ()
        """By its last report."""
        self.catalog: Catalog | None = None
        self._connection: int | None = None
        self._attempts: dict[AttemptKey, TrackedAttempt] = {}
        self._strays = Strays(settings.ack_every, settings.ack_after_s)
        self._expected: dict[AttemptKey, float] = {}
        """Attempts that are about to be adopted, and until when a welcome waits for that."""
        self._incarnation = ""
        self._previous_incarnation = ""
        self._welcome_waits = False
        self._silence: SilenceWatch | None = None
        self._last_sent = 0.0

    # -------------------------------------------------------------- what the shell may ask

    @property
    def connection(self) -> int | None:
        """The present connection."""
        return self._connection

    @property
    def capabilities(self) -> frozenset[str]:
        """What both sides list."""
        return common(IMPLEMENTED, self.hello.capabilities if self.hello else ())

    def attempts(self, *, live: bool = False) -> list[AttemptKey]:
        """Attempts that have not been settled; with ``live`` only those that have not ended."""
        return [key for key, tracked in self._attempts.items() if tracked.live or not live]

    def attempt_devices(self, key: AttemptKey) -> tuple[str, ...]:
        """Devices of a tracked attempt."""
        return tuple(device.name for device in self._attempts[key].assign.devices)

    @property
    def overfull(self) -> bool:
        """Whether reading should pause until commits caught up (D-5)."""
        return any(tracked.uncommitted > self.settings.backlog for tracked in self._attempts.values())

    def next_tick(self) -> float | None:
        """When ``tick`` is due."""
        times: list[float | None] = [tracked.away_until for tracked in self._attempts.values()]
        if self._silence is not None:
            times.append(self._silence.deadline)
        if self._welcome_waits:
            times += self._expected.values()
        if self.link is Link.ONLINE:
            times.append(self._last_sent + self.settings.sign_of_life_s)
            times += [tracked.acks.due_at for tracked in self._attempts.values()]
            times.append(self._strays.due_at)
        return min((time for time in times if time is not None), default=None)

    # -------------------------------------------------------------- connections

    def opened(self, connection: int, hello: Hello, now: float, *, outdated: bool = False) -> list[Decision]:
        """A connection introduced itself and may speak for this worker. It replaces an older one."""
        decisions: list[Decision] = []
        if self._connection is not None:
            if hello.incarnation != self._incarnation or not hello.incarnation:
                why = reason(REPLACED, worker=self.name)
                decisions.append(Send(self._connection, Reject(code=why.code, text=why.message, fatal=True)))
            decisions.append(Close(self._connection, "replaced"))
            decisions += self._lost(reason(CONNECTION_REPLACED, worker=self.name), now)
        self._connection = connection
        self.link = Link.GREETING
        self.hello = hello
        self.outdated = outdated
        self.devices = hello.devices
        self._previous_incarnation, self._incarnation = self._incarnation, hello.incarnation
        self._strays.clear()
        self._silence = SilenceWatch(self.settings.missed_heartbeats * self.settings.heartbeat_s, now)
        self._welcome_waits = True
        return [*decisions, *self._welcome(now)]

    def closed(self, connection: int, now: float) -> list[Decision]:
        """A connection is closed. Nothing is cancelled (D-1)."""
        if connection != self._connection:
            return []
        return self._lost(reason(CONNECTION_CLOSED, worker=self.name), now)

    def frames(self, connection: int, frames: Sequence[Frame], now: float) -> list[Decision]:
        """Frames of one message. Those of a connection that is not the present one are ignored."""
        if connection != self._connection:
            return []
        if self._silence is not None:
            self._silence.heard(now)
        decisions: list[Decision] = []
        records: dict[AttemptKey, list[RunRecord]] = {}
        for frame in frames:
            if isinstance(frame, RunRecord):
                if self.link is not Link.ONLINE:
                    return [*decisions, *self._refuse("a record came before run_alive", now)]
                records.setdefault((frame.run_id, frame.attempt), []).append(frame)
            elif isinstance(frame, RunAlive):
                if self.link is not Link.GREETING or self._welcome_waits:
                    return [*decisions, *self._refuse("run_alive comes once, after welcome", now)]
                decisions += self._alive(frame, now)
            elif isinstance(frame, Heartbeat):
                if _identities(frame.devices) != _identities(self.devices):
                    decisions.append(WorkerChanged())
                self.devices = frame.devices
            elif isinstance(frame, Catalog):
                self.catalog = frame
                decisions.append(WorkerChanged())
            elif isinstance(frame, Hello):
                return [*decisions, *self._refuse("hello comes once", now)]
        for key, batch in records.items():
            decisions += self._records(key, batch, now)
        return decisions

    def reading(self, wanted: bool, now: float) -> None:
        """The shell stopped or resumed reading: silence counts only while this side reads (D-1)."""
        if self._silence is not None:
            if wanted:
                self._silence.resume(now)
            else:
                self._silence.pause(now)

    def tick(self, now: float) -> list[Decision]:
        """A time of ``next_tick`` has come, or passed."""
        self._expected = {key: until for key, until in self._expected.items() if until > now}
        decisions = self._welcome(now)
        if self._silence is not None and self._connection is not None and self._silence.silent(now):
            seconds = round(now - self._silence.last_heard)
            decisions.append(Close(self._connection, "no heartbeat"))
            decisions += self._lost(reason(NO_HEARTBEAT, worker=self.name, seconds=seconds), now)
        for tracked in list(self._attempts.values()):
            decisions += self._grace(tracked, now)
            decisions += self._ack(tracked.key, tracked.acks, now)
        for key, acks in self._strays.due(now):
            decisions += self._ack(key, acks, now)
        if self.link is Link.ONLINE and now >= self._last_sent + self.settings.sign_of_life_s:
            decisions += self._send(Drain(draining=self.draining), now)
        return decisions

    def drain(self, draining: bool, now: float) -> list[Decision]:
        """Take no new runs, or take them again (S-10)."""
        self.draining = draining
        told = self._send(Drain(draining=draining), now) if self.link is Link.ONLINE else []
        return [*told, WorkerChanged()]

    # -------------------------------------------------------------- attempts

    def place(
        self, assign: Assign, now: float, *, recorded_seq: int | None = None, grace_s: float | None = None
    ) -> list[Decision]:
        """An attempt belongs to this worker; its row is committed.

        Args:
            recorded_seq: for an attempt that an earlier server had here (D-6): what it recorded.
            grace_s: how long the attempt waits for its worker; the setting by default.

        Raises:
            ValueError: the attempt is tracked already.
        """
        key = (assign.run_id, assign.attempt)
        if key in self._attempts:
            raise ValueError(f"run {key[0]} attempt {key[1]} is on {self.name} already")
        settings = self.settings
        tracked = TrackedAttempt(
            assign,
            settings.resume_grace_s if grace_s is None else grace_s,
            Acks(recorded_seq or 0, settings.ack_every, settings.ack_after_s),
            adopted=recorded_seq is not None,
        )
        self._attempts[key] = tracked
        self._strays.forget(key)
        self._expected.pop(key, None)
        if tracked.adopted:
            # Only run_alive says whether the worker still has it.
            tracked.wait(now)
            return self._welcome(now) if self._welcome_waits else self._refuse("an attempt was adopted", now)
        if self.link is Link.ONLINE:
            return self._assign(tracked, now)
        if self.link is Link.GREETING:
            return []
        return [*tracked.lost(now, self._disconnected(reason(CONNECTION_CLOSED, worker=self.name)))]

    def expect(self, key: AttemptKey, now: float) -> None:
        """An attempt of an earlier server is about to be placed (D-6). The worker is not asked what it has before
        that, or it would be told to cancel a run that nobody seems to know."""
        self._expected[key] = now + EXPECTED_S

    def cancel(self, key: AttemptKey, now: float, grace_s: float | None = None) -> list[Decision]:
        """The attempt is to stop. The intent is kept until it ended, and told again after every reconnect.

        An attempt that ended already is left alone: its report wins.
        """
        tracked = self._attempts.get(key)
        if tracked is None or not tracked.live:
            return []
        grace_s = tracked.assign.grace_s if grace_s is None else grace_s
        tracked.cancel = grace_s if tracked.cancel is None else min(tracked.cancel, grace_s)
        if not tracked.sent_once:
            return [*tracked.give_up(reason(WORKER_GONE, worker=self.name, seconds=0))]
        if self.link is Link.ONLINE and tracked.phase is not Phase.AWAY:
            return self._send(Cancel(run_id=key[0], attempt=key[1], grace_s=tracked.cancel), now)
        return []

    def committed(self, key: AttemptKey, seq: int, now: float) -> list[Decision]:
        """The ``Commit`` of this seq is durable."""
        tracked = self._attempts.get(key)
        if tracked is None:
            return self._welcome(now)
        decisions: list[Decision] = [*tracked.committed(seq, now)]
        return [*decisions, *self._ack(key, tracked.acks, now), *self._welcome(now)]

    def settled(self, key: AttemptKey, now: float, *, reported_seq: int | None = None) -> list[Decision]:
        """The attempt's end is durable. ``reported_seq`` is the seq of the ``run_finished`` it came from, if any."""
        tracked = self._attempts.pop(key, None)
        if tracked is None:
            return []
        if reported_seq is not None:
            tracked.acks.committed(reported_seq, now)
        return [*self._ack(key, tracked.acks, now, at_once=True), *self._welcome(now)]

    def detach(self, key: AttemptKey, now: float) -> list[Decision]:
        """Stop tracking an attempt without ending it: the next server adopts it. Nothing of it is told any more."""
        self._attempts.pop(key, None)
        return self._welcome(now)

    def late_result_kept(self, key: AttemptKey, seq: int, now: float) -> list[Decision]:
        """The ``KeepLateResult`` is durable."""
        stray = self._strays.get(key)
        if stray is None:
            return []
        self._strays.committed(stray, seq, now)
        return self._ack(key, stray.acks, now, at_once=True)

    # -------------------------------------------------------------- inside

    def _welcome(self, now: float) -> list[Decision]:
        """Greet a new connection. What is recorded has to be certain by then: an agent whose spool was torn goes on
        after it, and would otherwise reuse a seq that is on its way to the disk."""
        if (
            not self._welcome_waits
            or any(until > now for until in self._expected.values())
            or not all(tracked.durable for tracked in self._attempts.values())
        ):
            return []
        self._welcome_waits = False
        recorded = tuple(
            RecordedSeq(run_id=run_id, attempt=attempt, seq=tracked.acks.told())
            for (run_id, attempt), tracked in self._attempts.items()
        )
        return self._send(
            Welcome(
                worker_id=self.name,
                product_version=self.settings.product_version,
                heartbeat_s=self.settings.heartbeat_s,
                grace_s=self.settings.grace_s,
                resume_grace_s=self.settings.resume_grace_s,
                capabilities=IMPLEMENTED,
                recorded=recorded,
                draining=self.draining,
                outdated=self.outdated,
            ),
            now,
        )

    def _alive(self, frame: RunAlive, now: float) -> list[Decision]:
        self.link = Link.ONLINE
        decisions: list[Decision] = []
        listed = {(state.run_id, state.attempt): state for state in frame.attempts}
        for key, tracked in list(self._attempts.items()):
            if tracked.live:
                decisions += self._returned(tracked, key in listed, now)
        for key, state in listed.items():
            if key not in self._attempts or self._attempts[key].phase is Phase.OVER:
                decisions += self._stray(key, now, running=state.state == "running")
        return [*decisions, WorkerChanged()]

    def _returned(self, tracked: TrackedAttempt, listed: bool, now: float) -> list[Decision]:
        """The worker is here; does it have the attempt?"""
        if listed:
            return [*self._back(tracked, Phase.RUNNING), *self._repeat_cancel(tracked, now)]
        if tracked.begun:
            code = WORKER_LOST_AFTER_RESTART
            if not tracked.adopted and self._previous_incarnation != self._incarnation:
                code = AGENT_RESTARTED
            return [*tracked.give_up(reason(code, worker=self.name))]
        if tracked.cancel is not None:
            return [*tracked.give_up(reason(WORKER_LOST_AFTER_RESTART, worker=self.name))]
        if self.outdated:
            return [*tracked.give_up(self._version_mismatch())]
        return [*self._assign(tracked, now), *self._back(tracked, Phase.ASSIGNED)]

    def _back(self, tracked: TrackedAttempt, phase: Phase) -> list[Decision]:
        if tracked.away_until is None:
            return []
        return [*tracked.back(phase, reason(WORKER_RECONNECTED, worker=self.name))]

    def _repeat_cancel(self, tracked: TrackedAttempt, now: float) -> list[Decision]:
        if tracked.cancel is None:
            return []
        run_id, attempt = tracked.key
        return self._send(Cancel(run_id=run_id, attempt=attempt, grace_s=tracked.cancel), now)

    def _assign(self, tracked: TrackedAttempt, now: float) -> list[Decision]:
        if self.outdated:
            return [*tracked.give_up(self._version_mismatch())]
        tracked.phase = Phase.ASSIGNED
        tracked.sent_once = True
        return self._send(tracked.assign, now)

    def _records(self, key: AttemptKey, batch: list[RunRecord], now: float) -> list[Decision]:
        tracked = self._attempts.get(key)
        if tracked is not None and tracked.phase is not Phase.OVER:
            return [*tracked.records(batch)]
        decisions = self._stray(key, now, running=not isinstance(batch[-1], RunFinished))
        stray = self._strays.of(key)
        for record in batch:
            if isinstance(record, RunFinished):
                decisions.append(KeepLateResult(*key, record.seq, record.body))
            else:
                self._strays.committed(stray, record.seq, now)
        return [*decisions, *self._ack(key, stray.acks, now)]

    def _stray(self, key: AttemptKey, now: float, *, running: bool) -> list[Decision]:
        stray = self._strays.of(key)
        if not running or stray.cancelled:
            return []
        stray.cancelled = True
        return self._send(Cancel(run_id=key[0], attempt=key[1], grace_s=0.0), now)

    def _lost(self, why: Reason, now: float) -> list[Decision]:
        self._connection = None
        self._silence = None
        self._welcome_waits = False
        self.link = Link.DISCONNECTED
        decisions: list[Decision] = []
        for tracked in self._attempts.values():
            if tracked.live and tracked.phase is not Phase.AWAY:
                decisions += tracked.lost(now, self._disconnected(why))
        return [*decisions, WorkerChanged()]

    def _refuse(self, why: str, now: float) -> list[Decision]:
        if self._connection is None:
            return []
        return [Close(self._connection, why), *self._lost(reason(CONNECTION_CLOSED, worker=self.name), now)]

    def _grace(self, tracked: TrackedAttempt, now: float) -> Iterable[Decision]:
        if tracked.away_until is None or now < tracked.away_until:
            return []
        if now - tracked.away_until > LATE_S and not tracked.away_late:
            tracked.away_late = True
            tracked.away_until = now + min(LATE_GRACE_S, tracked.grace_s)
            return []
        return tracked.give_up(reason(WORKER_GONE, worker=self.name, seconds=round(tracked.grace_s)))

    def _ack(self, key: AttemptKey, acks: Acks, now: float, *, at_once: bool = False) -> list[Decision]:
        if self.link is not Link.ONLINE:
            return []
        seq = acks.take(now, at_once=at_once)
        return [] if seq is None else self._send(Ack(run_id=key[0], attempt=key[1], seq=seq), now)

    def _send(self, frame: Frame, now: float) -> list[Decision]:
        if self._connection is None:
            return []
        self._last_sent = now
        return [Send(self._connection, frame)]

    def _disconnected(self, why: Reason) -> Reason:
        """A ``worker_disconnected`` warning with its cause (D-7)."""
        cause = {"code": why.code, "params": why.params, "text": why.message}
        return reason(WORKER_DISCONNECTED, worker=self.name, reason=cause)

    def _version_mismatch(self) -> Reason:
        version = self.hello.product_version if self.hello else ""
        return reason(VERSION_MISMATCH, worker=version, control_plane=self.settings.product_version)


def _identities(devices: Iterable[Device]) -> list[tuple[str, str | None]]:
    return [(device.name, device.uuid) for device in devices]
