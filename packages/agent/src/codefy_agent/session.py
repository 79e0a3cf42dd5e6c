"""The agent's side of a worker session, without I/O: events in, decisions out, the clock and the dice passed in.

The shell around it dials, reads, writes, keeps the spool and runs children. It calls one method per event, carries
out the returned decisions in order, and asks ``writable`` for what to send whenever the socket can take more.

Connection (``state``)::

    state         event                          next          decisions
    ------------  -----------------------------  ------------  -----------------------------------------------
    disconnected  start                          disconnected  ReconnectAt(now)
    disconnected  connected                      hello_sent    (hello queued)
    disconnected  disconnected (dial failed)     disconnected  ReconnectAt(back-off)
    disconnected  refused, nothing ever ran      rejected      ExitAgent
    disconnected  refused, else                  disconnected  ReconnectAt(back-off)
    hello_sent    welcome                        live          TruncateSpool, FinishAttempt; (run_alive queued)
    hello_sent    reject, or any other frame     rejected/…    ExitAgent, or CloseConnection
    hello_sent    tick, no welcome in time       hello_sent    CloseConnection
    live          assign, cancel, drain, ack     live          see below
    live          reject                         rejected/…    ExitAgent when fatal, else CloseConnection
    live          tick, silence                  live          CloseConnection
    hello_sent,   disconnected                   disconnected  ReconnectAt(back-off)
    live
    any           stop                           same          CancelAttempt for all; ExitAgent once delivered

Attempt::

    state      event                             next       decisions
    ---------  --------------------------------  ---------  ---------------------------------------------------
    (none)     assign that can be honoured       running    StartAttempt
    (none)     assign: draining, device missing, refused    FinishAttempt (failed)
               a second copy of the run
    (none)     found in the spool without end    orphaned
    (none)     found in the spool with its end   ended
    running    assign (the same attempt again)   running    none: the running copy answers for itself
    running    cancel                            running    CancelAttempt
    running    records_appended                  running    (sent when the window and its turn allow)
    orphaned   welcome                           refused    FinishAttempt (failed, agent_restarted)
    running,   records_appended(final)           ended
    refused
    any        ack, welcome                      same       TruncateSpool
    ended      ack of the last record            tombstone  TruncateSpool, ForgetAttempt
    tombstone  cancel, ack                       tombstone  none
    tombstone  assign                            refused    FinishAttempt (failed)

``seq`` of an attempt is given here (:meth:`AgentSession.reserve`), 1, 2, 3 … without a hole, also when a record was
written by an agent process before this one.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence

import msgspec

from codefy_agent.decisions import (
    AttemptKey,
    CancelAttempt,
    CloseConnection,
    ConnectionState,
    Decision,
    ExitAgent,
    FinishAttempt,
    ForgetAttempt,
    IllegalEvent,
    ReconnectAt,
    SendControl,
    Sending,
    SendRecords,
    StartAttempt,
    TruncateSpool,
    device_refusal,
    failed,
)
from codefy_agent.delivery import HeldAttempt, Phase, RestoredAttempt, SessionSettings
from codefy_protocol import reasons
from codefy_protocol.frames import (
    Ack,
    Assign,
    AttemptState,
    Cancel,
    Catalog,
    Device,
    Drain,
    Frame,
    Heartbeat,
    Hello,
    Reject,
    RunAlive,
    Welcome,
)
from codefy_protocol.liveness import SilenceWatch

__all__ = [
    "AgentSession",
    "AttemptKey",
    "CancelAttempt",
    "CloseConnection",
    "ConnectionState",
    "Decision",
    "ExitAgent",
    "FinishAttempt",
    "ForgetAttempt",
    "IllegalEvent",
    "Phase",
    "ReconnectAt",
    "RestoredAttempt",
    "SendControl",
    "SendRecords",
    "Sending",
    "SessionSettings",
    "StartAttempt",
    "TruncateSpool",
]


class AgentSession:
    """One agent process over all its connections.

    Args:
        hello: who this agent is; its devices are those that were read last (:meth:`devices_read`).
        random: gives numbers in 0..1 for the jitter of the back-off.
        restored: what lies in the spool from before.
    """

    def __init__(
        self,
        hello: Hello,
        *,
        random: Callable[[], float],
        settings: SessionSettings | None = None,
        restored: Sequence[RestoredAttempt] = (),
    ) -> None:
        self.settings = settings or SessionSettings()
        self.state = ConnectionState.DISCONNECTED
        self.welcome: Welcome | None = None
        """Of the present or the last connection."""
        self.draining = False
        self.stopping = False
        self._hello = hello
        self._random = random
        self._devices = hello.devices
        self._catalog: Catalog | None = None
        self._attempts: dict[AttemptKey, HeldAttempt] = {}
        self._tombstones: OrderedDict[AttemptKey, int] = OrderedDict()
        self._turns: deque[AttemptKey] = deque()
        self._control: deque[Frame] = deque()
        self._failures = 0
        self._live_since = 0.0
        self._closing = False
        self._silence: SilenceWatch | None = None
        self._next_heartbeat: float | None = None
        self._stop_deadline: float | None = None
        for found in restored:
            phase = Phase.ENDED if found.ended else Phase.ORPHANED
            self._attempts[found.run_id, found.attempt] = HeldAttempt(phase, found.acked_seq, found.sizes)
        self._turns.extend(self._attempts)

    # -------------------------------------------------------------- what the shell may ask

    @property
    def worker_id(self) -> str:
        """The name it is known by: the control plane's word, or its own before the first welcome."""
        return self.welcome.worker_id if self.welcome else self._hello.name

    @property
    def devices(self) -> tuple[Device, ...]:
        """What the machine offered when it was read last."""
        return self._devices

    def running(self) -> list[AttemptKey]:
        """Attempts whose child may be alive, in the order they came."""
        return [key for key, attempt in self._attempts.items() if attempt.phase is Phase.RUNNING]

    def unacknowledged(self, run_id: str, attempt: int) -> int:
        """Records of an attempt that the control plane has not acknowledged."""
        held = self._attempts.get((run_id, attempt))
        return 0 if held is None else held.last - held.acked

    def next_tick(self) -> float | None:
        """When ``tick`` is due."""
        times: list[float | None] = [self._stop_deadline]
        if self.state in (ConnectionState.LIVE, ConnectionState.HELLO_SENT) and not self._closing:
            times += [self._next_heartbeat, self._silence.deadline if self._silence else None]
        return min((time for time in times if time is not None), default=None)

    @property
    def wants_to_send(self) -> bool:
        """Whether ``writable`` would answer something now."""
        if self.state not in (ConnectionState.LIVE, ConnectionState.HELLO_SENT) or self._closing:
            return False
        if self._control:
            return True
        return self.state is ConnectionState.LIVE and any(
            attempt.may_send(self.settings) for attempt in self._attempts.values()
        )

    # -------------------------------------------------------------- the connection

    def start(self, now: float) -> list[Decision]:
        """The agent is ready to dial."""
        return [ReconnectAt(now)]

    def connected(self, now: float) -> list[Decision]:
        """The socket is open: hello is the first frame."""
        if self.state is not ConnectionState.DISCONNECTED:
            raise IllegalEvent(f"connected while {self.state.value}")
        self.state = ConnectionState.HELLO_SENT
        self._closing = False
        self._control = deque([msgspec.structs.replace(self._hello, devices=self._devices)])
        self._silence = SilenceWatch(self.settings.welcome_timeout_s, now)
        self._next_heartbeat = None
        for attempt in self._attempts.values():
            attempt.rewind()
        return []

    def disconnected(self, now: float) -> list[Decision]:
        """The socket is closed, or could not be opened."""
        if self.state is ConnectionState.REJECTED:
            return []
        if self.state is ConnectionState.LIVE and now - self._live_since >= self.settings.steady_after_s:
            self._failures = 0
        self.state = ConnectionState.DISCONNECTED
        self._closing = False
        self._control.clear()
        self._silence = None
        self._next_heartbeat = None
        longest = min(
            self.settings.backoff_max_s, self.settings.backoff_first_s * 2 ** min(self._failures, 30)
        )
        self._failures += 1
        delay = longest * (0.5 + 0.5 * self._random())
        return [*self._exit_when_stopped(now), ReconnectAt(now + delay)]

    def refused(self, code: str, text: str, now: float) -> list[Decision]:
        """The control plane refused the connection before accepting it (credential, host).

        An agent that was never welcome and has nothing to deliver exits, so that the mistake is seen at once; one that
        was keeps trying: its runs go on.
        """
        if self.welcome is None and not self._attempts:
            self.state = ConnectionState.REJECTED
            return [ExitAgent(1, text or code)]
        return self.disconnected(now)

    def frames_received(self, frames: Iterable[Frame], now: float) -> list[Decision]:
        """Frames of one message, in order. Frames of a connection that is being closed are ignored."""
        decisions: list[Decision] = []
        if self._silence is not None:
            self._silence.heard(now)
        for frame in frames:
            if self._closing or self.state not in (ConnectionState.HELLO_SENT, ConnectionState.LIVE):
                break
            if isinstance(frame, Reject):
                decisions += self._rejected(frame)
            elif self.state is ConnectionState.HELLO_SENT:
                decisions += self._welcomed(frame, now)
            elif isinstance(frame, Assign):
                decisions += self._assigned(frame)
            elif isinstance(frame, Cancel):
                decisions += self._cancelled(frame)
            elif isinstance(frame, Ack):
                decisions += self._recorded((frame.run_id, frame.attempt), frame.seq)
            elif isinstance(frame, Drain):
                self.draining = frame.draining
            elif isinstance(frame, Welcome):
                decisions += self._close("the control plane sent a second welcome")
        return [*decisions, *self._exit_when_stopped(now)]

    def tick(self, now: float) -> list[Decision]:
        """A time of ``next_tick`` has come (or passed: a late tick proves nothing about the other side)."""
        decisions: list[Decision] = []
        if self.state in (ConnectionState.HELLO_SENT, ConnectionState.LIVE) and not self._closing:
            if self._silence is not None and self._silence.silent(now):
                heard = now - self._silence.last_heard
                decisions += self._close(f"nothing was heard from the control plane for {heard:.0f} s")
            elif self._next_heartbeat is not None and now >= self._next_heartbeat:
                self._beat(now)
        return [*decisions, *self._exit_when_stopped(now)]

    def writable(self, now: float) -> list[Sending]:
        """What to send now: control frames first, then the runs' records in turns. Empty when there is nothing."""
        if self.state not in (ConnectionState.LIVE, ConnectionState.HELLO_SENT) or self._closing:
            return []
        sending: list[Sending] = [SendControl(frame) for frame in self._control]
        self._control.clear()
        if self.state is not ConnectionState.LIVE:
            return sending
        budget = self.settings.write_bytes
        idle = 0
        while self._turns and idle < len(self._turns) and budget > 0:
            key = self._turns[0]
            self._turns.rotate(-1)
            turn = self._attempts[key].take_turn(self.settings, min(self.settings.turn_bytes, budget))
            if turn is None:
                idle += 1
                continue
            idle = 0
            first, last, size = turn
            budget -= max(size, 1)
            sending.append(SendRecords(key[0], key[1], first, last))
        return sending

    # -------------------------------------------------------------- the machine and its runs

    def devices_read(self, devices: tuple[Device, ...], now: float) -> None:
        """What the machine offers now; goes out with the next heartbeat, at once when a card became unclean or clean."""
        before = {device.name: device.unclean for device in self._devices}
        changed = any(device.unclean != before.get(device.name) for device in devices)
        self._devices = devices
        if changed and self.state is ConnectionState.LIVE:
            self._beat(now)

    def catalog_known(self, catalog: Catalog) -> None:
        """Node catalog and fingerprint are known or changed; told now and after every welcome."""
        self._catalog = catalog
        if self.state is ConnectionState.LIVE:
            self._control.append(catalog)

    def reserve(self, run_id: str, attempt: int, count: int = 1) -> int:
        """Give the next ``count`` records of an attempt their seq; returns the first.

        Raises:
            IllegalEvent: the attempt is not held, or has ended.
        """
        held = self._held(run_id, attempt)
        if held.phase is Phase.ENDED:
            raise IllegalEvent(f"a record of run {run_id} attempt {attempt} after its run_finished")
        first = held.next
        held.next += count
        return first

    def records_appended(
        self,
        run_id: str,
        attempt: int,
        first_seq: int,
        sizes: Sequence[int],
        now: float,
        *,
        final: bool = False,
    ) -> list[Decision]:
        """Records ``first_seq …`` lie in the spool, with these sizes in bytes. ``final``: the last is ``run_finished``,
        the run's processes are gone.

        Raises:
            IllegalEvent: the records were not reserved, or not in this order.
        """
        held = self._held(run_id, attempt)
        if held.phase is Phase.ENDED or first_seq != held.last + 1 or first_seq + len(sizes) > held.next:
            raise IllegalEvent(
                f"run {run_id} attempt {attempt}: {len(sizes)} records from {first_seq} after {held.last}"
            )
        held.sizes.extend(sizes)
        held.last += len(sizes)
        if final:
            if held.next != held.last + 1:
                raise IllegalEvent(f"run {run_id} attempt {attempt} ended before its records were written")
            held.phase = Phase.ENDED
        return self._exit_when_stopped(now)

    def stop(self, now: float, grace_s: float = 10.0) -> list[Decision]:
        """The agent is asked to stop: its runs are cancelled, what they left is delivered, then it exits."""
        self.stopping = True
        decisions: list[Decision] = []
        for (run_id, attempt), held in self._attempts.items():
            if held.phase is Phase.RUNNING:
                held.cancel_grace = grace_s
                decisions.append(CancelAttempt(run_id, attempt, grace_s, "agent_stopped"))
        return [*decisions, *self._exit_when_stopped(now)]

    # -------------------------------------------------------------- frames

    def _welcomed(self, frame: Frame, now: float) -> list[Decision]:
        if not isinstance(frame, Welcome):
            return self._close(f"the first frame was {type(frame).__name__}, not welcome")
        self.state = ConnectionState.LIVE
        self.welcome = frame
        self.draining = frame.draining
        self._live_since = now
        self._silence = SilenceWatch(self.settings.missed_heartbeats * self._heartbeat_s, now)
        decisions: list[Decision] = []
        for recorded in frame.recorded:
            key = (recorded.run_id, recorded.attempt)
            held = self._attempts.get(key)
            if held is not None and recorded.seq > held.last and held.phase is Phase.ORPHANED:
                # A torn spool: the machine lost what the control plane has. Go on after it, never reuse a seq.
                held.last, held.next = recorded.seq, recorded.seq + 1
                held.acked = held.sent = recorded.seq
                held.sizes.clear()
                decisions.append(TruncateSpool(recorded.run_id, recorded.attempt, recorded.seq))
                continue
            decisions += self._recorded(key, recorded.seq)
        self._control.append(
            RunAlive(
                attempts=tuple(
                    AttemptState(
                        run_id=run_id,
                        attempt=attempt,
                        state="running" if held.phase is Phase.RUNNING else "ended",
                        last_seq=held.last,
                    )
                    for (run_id, attempt), held in self._attempts.items()
                )
            )
        )
        if self._catalog is not None:
            self._control.append(self._catalog)
        self._beat(now)
        for key, held in self._attempts.items():
            if held.phase is Phase.ORPHANED:
                held.phase = Phase.REFUSED
                decisions.append(failed(key, reasons.AGENT_RESTARTED, worker=self.worker_id))
        return decisions

    def _rejected(self, frame: Reject) -> list[Decision]:
        if not frame.fatal:
            return self._close(frame.text)
        self.state = ConnectionState.REJECTED
        return [ExitAgent(1, frame.text)]

    def _assigned(self, assign: Assign) -> list[Decision]:
        key = (assign.run_id, assign.attempt)
        if key in self._attempts:
            return []
        refusal = self._why_not(assign)
        buried = self._tombstones.pop(key, 0)
        held = HeldAttempt(Phase.RUNNING if refusal is None else Phase.REFUSED, buried)
        held.assign_grace = assign.grace_s
        self._attempts[key] = held
        self._turns.append(key)
        if refusal is not None:
            code, params = refusal
            return [failed(key, code, worker=self.worker_id, **params)]
        return [StartAttempt(assign)]

    def _why_not(self, assign: Assign) -> tuple[str, dict[str, str]] | None:
        if self.draining or self.stopping:
            return reasons.AGENT_DRAINING, {}
        same_run = any(
            run_id == assign.run_id and held.phase is Phase.RUNNING
            for (run_id, _), held in self._attempts.items()
        )
        if same_run or (assign.run_id, assign.attempt) in self._tombstones:
            return reasons.DUPLICATE_ASSIGNMENT, {"run_id": assign.run_id}
        return device_refusal(assign, self._devices)

    def _cancelled(self, frame: Cancel) -> list[Decision]:
        held = self._attempts.get((frame.run_id, frame.attempt))
        if held is None or held.phase is not Phase.RUNNING:
            return []
        grace_s = held.assign_grace if frame.grace_s is None else frame.grace_s
        if held.cancel_grace is not None and grace_s >= held.cancel_grace:
            return []
        held.cancel_grace = grace_s
        return [CancelAttempt(frame.run_id, frame.attempt, grace_s)]

    def _recorded(self, key: AttemptKey, seq: int) -> list[Decision]:
        held = self._attempts.get(key)
        if held is None or not held.recorded(seq):
            return []
        decisions: list[Decision] = [TruncateSpool(key[0], key[1], held.acked)]
        if held.delivered:
            del self._attempts[key]
            self._turns.remove(key)
            self._tombstones[key] = held.last
            while len(self._tombstones) > self.settings.tombstones:
                self._tombstones.popitem(last=False)
            decisions.append(ForgetAttempt(*key))
        return decisions

    # -------------------------------------------------------------- helpers

    @property
    def _heartbeat_s(self) -> float:
        # F-5: traffic at least every 20 s, whatever the control plane asks for.
        return min(self.welcome.heartbeat_s, 20.0) if self.welcome else 10.0

    def _beat(self, now: float) -> None:
        self._next_heartbeat = now + self._heartbeat_s
        # The latest word counts: one that still waits for the socket is out of date.
        self._control = deque(frame for frame in self._control if not isinstance(frame, Heartbeat))
        run_ids = tuple(run_id for run_id, _ in self.running())
        self._control.append(Heartbeat(devices=self._devices, run_ids=run_ids))

    def _close(self, reason: str) -> list[Decision]:
        self._closing = True
        return [CloseConnection(reason)]

    def _held(self, run_id: str, attempt: int) -> HeldAttempt:
        held = self._attempts.get((run_id, attempt))
        if held is None:
            raise IllegalEvent(f"run {run_id} attempt {attempt} is not held here")
        return held

    def _exit_when_stopped(self, now: float) -> list[Decision]:
        """Once nothing runs: exit when all is delivered, when it cannot be, or when that takes too long."""
        if not self.stopping or any(
            held.phase in (Phase.RUNNING, Phase.REFUSED) for held in self._attempts.values()
        ):
            return []
        if self._stop_deadline is None:
            self._stop_deadline = now + self.settings.stop_flush_s
        waiting = any(held.phase is Phase.ENDED for held in self._attempts.values())
        if waiting and self.state is ConnectionState.LIVE and now < self._stop_deadline:
            return []
        self.state = ConnectionState.REJECTED
        return [ExitAgent(0, "stopped")]
