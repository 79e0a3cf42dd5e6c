"""One agent and one control plane, with their real sessions, on a simulated network, disk and clock.

Everything random comes from one seed, so a schedule that fails is replayed by its seed. The world checks what must
always hold while it runs (:meth:`World.check`), and what must hold at the end (:meth:`World.verdict`).
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from codefy_agent.session import (
    AgentSession,
    CancelAttempt,
    CloseConnection,
    ConnectionState,
    ExitAgent,
    FinishAttempt,
    ForgetAttempt,
    ReconnectAt,
    RestoredAttempt,
    SendControl,
    SendRecords,
    SessionSettings,
    StartAttempt,
    TruncateSpool,
)
from codefy_control_plane.workers import session as control
from codefy_control_plane.workers.decisions import (
    Close,
    Commit,
    Deliver,
    GiveUp,
    KeepLateResult,
    Link,
    Reported,
    Send,
    SetStatus,
    Warn,
    WorkerChanged,
)
from codefy_protocol.bodies import RunFinishedBody
from codefy_protocol.envelope import encode_body
from codefy_protocol.frames import (
    Ack,
    Assign,
    Cancel,
    Device,
    DeviceIdentity,
    Drain,
    Event,
    Frame,
    Hello,
    RunFinished,
    RunRecord,
    RunStarted,
    Welcome,
)
from codefy_protocol.reasons import SEQUENCE_GAP, WORKER_GONE
from codefy_protocol.version import PROTOCOL_VERSION

Key = tuple[str, int]


MAX_STEPS = 30_000
"""A schedule of this size takes a few thousand."""


STOPPING_S = 20.0
"""Delays of both directions, a commit and the child's own time to stop."""


class Broken(AssertionError):
    """An invariant does not hold."""


@dataclass
class Plan:
    """How hard the world is on its inhabitants. Rates are per second of simulated time."""

    runs: int = 3
    records: int = 12
    quiet_after_s: float = 60.0
    """From then on nothing breaks any more, so that everything can end."""
    cut_rate: float = 0.1
    agent_crash_rate: float = 0.03
    control_crash_rate: float = 0.03
    cancel_rate: float = 0.02
    drain_rate: float = 0.0
    half_open: float = 0.3
    """Share of the cuts that one or both sides do not notice."""
    torn: float = 0.3
    """Share of the agent's crashes that are crashes of its machine: the spool's tail is lost."""
    disk_lost: float = 0.0
    """Share of the agent's crashes after which its disk is empty."""
    reboot_s: float = 10.0
    late_tick: float = 0.05
    """Share of the timers that fire late, by up to 20 s."""
    duplicate: float = 0.05
    """Share of the control frames that arrive twice."""
    delay_s: float = 0.3
    commit_s: float = 0.2
    window_frames: int = 8
    resume_grace_s: float = 400.0


# ------------------------------------------------------------------ disk of the control plane


@dataclass
class Row:
    """An attempt as stored."""

    key: Key
    status: str = "running"
    recorded_seq: int = 0
    records: list[tuple[int, bytes]] = field(default_factory=list)
    warnings: list[Any] = field(default_factory=list)
    cancel_requested: bool = False
    unwanted_since: float | None = None
    """When it was cancelled or ended here."""
    ended_by: str = ""
    """``report`` or the code of a give-up."""
    late_results: list[tuple[int, bytes]] = field(default_factory=list)

    @property
    def live(self) -> bool:
        return self.status in ("running", "disconnected")


# ------------------------------------------------------------------ network


class Wire:
    """One connection: two directions, each in order, each with its own delays."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.cut = False
        self.arrival = {"agent": 0.0, "control": 0.0}
        self.open_at = {"agent": True, "control": True}


# ------------------------------------------------------------------ disk of the agent


@dataclass
class Spool:
    acked: int = 0
    records: list[RunRecord] = field(default_factory=list)
    ended: bool = False

    def size(self, record: RunRecord) -> int:
        return len(record.body) + 40


class World:
    def __init__(self, seed: int, plan: Plan | None = None) -> None:
        self.seed = seed
        self.plan = plan or Plan()
        self.dice = random.Random(seed)
        self.now = 0.0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._steps = 0
        self.log: list[tuple[float, str, list[Frame] | None]] = []
        self.rows: dict[Key, Row] = {}
        self.spools: dict[Key, Spool] = {}
        self.produced: dict[Key, dict[int, set[bytes]]] = {}
        """Every body that was ever spooled, by seq: a torn spool may use a seq again that nobody has recorded."""
        self.torn: set[Key] = set()
        self.faults = {"agent": 0, "control": 0, "cut": 0}
        self.wire: Wire | None = None
        self._wires = 0
        self._hello_at = 0.0
        self.agent = Agent(self)
        self.control = Control(self)

    # -------------------------------------------------------------- clock

    def at(self, delay: float, action: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._queue, (self.now + max(0.0, delay), self._count, action))

    def run(self, until: float) -> None:
        while self._queue and self._queue[0][0] <= until:
            self.now, _, action = heapq.heappop(self._queue)
            action()
            self._steps += 1
            if self._steps > MAX_STEPS:
                self.fail("it goes round in circles")
        self.now = until

    def say(self, text: str, frames: list[Frame] | None = None) -> None:
        """Note what happened. Frames are put into words only when somebody reads them."""
        self.log.append((self.now, text, frames))

    def chance(self, share: float) -> bool:
        return self.dice.random() < share

    def lateness(self) -> float:
        if self.now < self.plan.quiet_after_s and self.chance(self.plan.late_tick):
            return self.dice.uniform(0, 20)
        return 0.0

    # -------------------------------------------------------------- network

    def dial(self) -> None:
        """The agent opens a connection."""
        self._wires += 1
        wire = self.wire = Wire(self._wires)
        self.agent.on_open(wire)

    def transmit(self, wire: Wire, to: str, frames: list[Frame]) -> None:
        """Frames of one message on their way; lost when the wire is cut before they arrive."""
        if wire.cut or not frames:
            return
        at = max(wire.arrival[to], self.now + self.dice.uniform(0, self.plan.delay_s))
        if isinstance(frames[0], Hello):
            # A socket is dialled only after the one before it is gone: hellos do not overtake each other.
            at = self._hello_at = max(self._hello_at, at)
        wire.arrival[to] = at
        if all(isinstance(frame, RunRecord) for frame in frames) and self.chance(self.plan.duplicate):
            frames = [*frames, *frames]

        def arrive() -> None:
            if not wire.cut and wire.open_at[to]:
                (self.agent if to == "agent" else self.control).on_message(wire, frames)

        self.at(at - self.now, arrive)

    def shut(self, wire: Wire, by: str) -> None:
        """One side closes; the other notices after what is on its way to it."""
        other = "control" if by == "agent" else "agent"
        wire.open_at[by] = False
        if wire.cut:
            return

        def notice() -> None:
            if wire.open_at[other] and not wire.cut:
                wire.open_at[other] = False
                (self.agent if other == "agent" else self.control).on_closed(wire)

        at = max(wire.arrival[other], self.now + self.dice.uniform(0, self.plan.delay_s))
        wire.arrival[other] = at
        self.at(at - self.now, notice)

    def cut_wire(self) -> None:
        """The cable is pulled: what is on its way is lost; each side notices now, or never."""
        wire = self.wire
        if wire is None or wire.cut:
            return
        wire.cut = True
        self.faults["cut"] += 1
        self.say(f"cut wire {wire.number}")
        for side, end in (("agent", self.agent), ("control", self.control)):
            if wire.open_at[side] and not self.chance(self.plan.half_open):
                wire.open_at[side] = False
                end.on_closed(wire)

    # -------------------------------------------------------------- the story

    def play(self) -> None:
        """Submit runs and let things break, then let everything end."""
        plan = self.plan
        self.control.boot()
        self.agent.boot()
        for number in range(plan.runs):
            self.at(
                self.dice.uniform(0, plan.quiet_after_s * 0.6),
                lambda n=number: self.control.submit(f"run{n}"),
            )
        for rate, fault in (
            (plan.cut_rate, self.cut_wire),
            (plan.agent_crash_rate, self.agent.crash),
            (plan.control_crash_rate, self.control.crash),
            (plan.cancel_rate, self.control.cancel_some),
            (plan.drain_rate, self.control.toggle_drain),
        ):
            if rate:
                self._recurring(rate, fault)
        self.run(plan.quiet_after_s)
        self.say("from now on nothing breaks")
        if self.control.session is not None and self.control.session.draining:
            self.control.act(self.control.session.drain(False, self.now))
        # A half-open socket is noticed after its silence, a back-off may be at its longest: then the grace may begin.
        deadline = plan.quiet_after_s + 200 + 3 * plan.resume_grace_s
        while self.now < deadline and not self.quiet():
            self.run(self.now + 5)

    def _recurring(self, rate: float, fault: Callable[[], None]) -> None:
        def strike() -> None:
            if self.now < self.plan.quiet_after_s:
                fault()
                self.at(self.dice.expovariate(rate), strike)

        self.at(self.dice.expovariate(rate), strike)

    def quiet(self) -> bool:
        """Whether everything has ended and is delivered."""
        return (
            not any(row.live for row in self.rows.values())
            and not self.agent.children
            and all(
                spool.acked == (spool.records[-1].seq if spool.records else spool.acked)
                for spool in self.spools.values()
            )
            and len(self.rows) == self.plan.runs
        )

    # -------------------------------------------------------------- what must hold

    def fail(self, text: str) -> None:
        tail = "\n".join(f"{at:9.3f} {what} {_short(frames or [])}" for at, what, frames in self.log[-80:])
        raise Broken(f"seed {self.seed}: {text}\n{tail}")

    def check_acked(self, key: Key, seq: int) -> None:
        """The agent drops records up to ``seq``: they have to be durable, or the attempt has ended here."""
        row = self.rows.get(key)
        if row is None or not row.live:
            return
        if row.recorded_seq < seq:
            self.fail(f"{key}: {seq} was acknowledged, {row.recorded_seq} is recorded")
        if self.spools[key].ended and seq == self.spools[key].records[-1].seq:
            self.fail(f"{key}: its end was acknowledged, yet it is {row.status}")

    def verdict(self) -> None:
        """Raise unless everything ended, nothing is lost, twice or out of order."""
        if not self.quiet():
            left = {key: (row.status, row.recorded_seq) for key, row in self.rows.items() if row.live}
            self.fail(
                f"not everything ended: live {left}, children {list(self.agent.children)},"
                f" spools {[(k, s.acked, len(s.records)) for k, s in self.spools.items()]}, {len(self.rows)} rows"
            )
        for row in self.rows.values():
            self._check_row(row)

    def _check_row(self, row: Row) -> None:
        seqs = [seq for seq, _ in row.records]
        if seqs != sorted(set(seqs)):
            self.fail(f"{row.key}: stored twice or out of order: {seqs}")
        gaps = {
            seq
            for warning in row.warnings
            if warning.code == SEQUENCE_GAP
            for seq in range(warning.params["first"], warning.params["last"] + 1)
        }
        highest = max(seqs, default=0)
        missing = set(range(1, highest + 1)) - set(seqs) - gaps
        if missing:
            self.fail(f"{row.key}: {sorted(missing)} is neither stored nor named in a gap")
        if gaps and row.key not in self.torn:
            self.fail(f"{row.key}: a gap {gaps} without a torn spool")
        for seq, body in row.records:
            if body not in self.produced[row.key].get(seq, ()):
                self.fail(f"{row.key}: record {seq} was never produced: {body!r}")
        if row.ended_by == "report" and row.recorded_seq != highest + 1 and not gaps:
            self.fail(f"{row.key}: ended by report {row.recorded_seq} after {highest}")
        patient = self.plan.resume_grace_s > 100
        untouched = not self.faults["agent"] and not row.cancel_requested and patient
        if untouched and row.status not in ("succeeded",) and not self.control.ever_drained:
            self.fail(
                f"{row.key}: no agent died and nobody cancelled, yet it is {row.status} ({row.ended_by})"
            )


class Agent:
    """The agent's shell: a spool, run children, one connection at a time."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.session: AgentSession | None = None
        self.wire: Wire | None = None
        self.children: dict[Key, int] = {}
        """Records that the child still has to write."""
        self.welcome_at = 0.0
        self.life = 0
        self._writing = False
        self._tick_at: float | None = None

    # -------------------------------------------------------------- life

    def boot(self) -> None:
        world = self.world
        self.life += 1
        self._tick_at = None
        self._writing = False
        restored = [
            RestoredAttempt(
                run_id=run_id,
                attempt=attempt,
                acked_seq=spool.acked,
                sizes=tuple(spool.size(record) for record in spool.records),
                ended=spool.ended,
            )
            for (run_id, attempt), spool in world.spools.items()
        ]
        hello = Hello(
            name="w1",
            product_version="1",
            protocol_version=PROTOCOL_VERSION,
            machine_id="m",
            incarnation=f"life{self.life}",
            devices=(Device(name="cpu", kind="cpu"),),
        )
        settings = SessionSettings(
            window_frames=world.plan.window_frames, window_bytes=2000, turn_frames=3, write_bytes=600
        )
        self.session = AgentSession(hello, random=world.dice.random, settings=settings, restored=restored)
        world.say(
            f"agent life {self.life}, spool {[(r.run_id, r.acked_seq, len(r.sizes), r.ended) for r in restored]}"
        )
        self.act(self.session.start(world.now))

    def crash(self) -> None:
        """``kill -9``, and its children with it (P-4). Sometimes the whole machine: the spool's tail is lost."""
        world = self.world
        if self.session is None:
            return
        world.faults["agent"] += 1
        self.session = None
        self.children.clear()
        if world.chance(world.plan.disk_lost):
            world.torn.update(world.spools)
            world.spools.clear()
        elif world.chance(world.plan.torn):
            for key, spool in world.spools.items():
                lost = world.dice.randrange(0, 4)
                if lost and spool.records:
                    world.torn.add(key)
                    del spool.records[-lost:]
                    spool.ended = bool(spool.records) and isinstance(spool.records[-1], RunFinished)
        world.say("agent crashes")
        if self.wire is not None:
            world.shut(self.wire, "agent")
            self.wire = None
        life = self.life
        world.at(
            world.dice.uniform(0.05, world.plan.reboot_s), lambda: self.boot() if self.life == life else None
        )

    def _alive(self, action: Callable[[], None]) -> Callable[[], None]:
        life = self.life

        def guarded() -> None:
            if self.life == life and self.session is not None:
                action()

        return guarded

    # -------------------------------------------------------------- connection

    def on_open(self, wire: Wire) -> None:
        assert self.session is not None
        self.wire = wire
        self.act(self.session.connected(self.world.now))

    def on_message(self, wire: Wire, frames: list[Frame]) -> None:
        if self.session is None or wire is not self.wire:
            return
        self.world.say("agent gets", frames)
        if any(isinstance(frame, Welcome) for frame in frames):
            self.welcome_at = self.world.now
        self.act(self.session.frames_received(frames, self.world.now))

    def on_closed(self, wire: Wire) -> None:
        if self.session is None or wire is not self.wire:
            return
        self.wire = None
        self.act(self.session.disconnected(self.world.now))

    def _dial(self) -> None:
        assert self.session is not None
        if self.session.state is not ConnectionState.DISCONNECTED or self.wire is not None:
            return
        if self.world.control.session is None:
            self.act(self.session.disconnected(self.world.now))
        else:
            self.world.dial()

    def _tick(self, at: float) -> None:
        assert self.session is not None
        if self._tick_at == at:
            self._tick_at = None
            self.act(self.session.tick(self.world.now))

    def _write(self) -> None:
        """The socket takes more."""
        self._writing = False
        assert self.session is not None
        if self.wire is None:
            return
        frames: list[Frame] = []
        for sending in self.session.writable(self.world.now):
            if isinstance(sending, SendControl):
                if frames and isinstance(frames[-1], RunRecord):
                    self.world.fail("a control frame after a record")
                frames.append(sending.frame)
            else:
                frames += self._read(sending)
        if frames:
            self.world.transmit(self.wire, "control", frames)
        self._after()

    def _read(self, sending: SendRecords) -> list[RunRecord]:
        spool = self.world.spools[sending.run_id, sending.attempt]
        in_flight = sending.last_seq - spool.acked
        flying = [record for record in spool.records if record.seq <= sending.last_seq]
        if in_flight > self.world.plan.window_frames:
            self.world.fail(f"{in_flight} frames in flight")
        if sum(spool.size(record) for record in flying) > 2000 and len(flying) > 1:
            self.world.fail("too many bytes in flight")
        return [record for record in flying if record.seq >= sending.first_seq]

    def _after(self) -> None:
        """What a shell does after every event: write if there is something, set the timer."""
        if self.session is None:
            return
        if self.session.wants_to_send and not self._writing and self.wire is not None:
            self._writing = True
            self.world.at(self.world.dice.uniform(0, 0.05), self._guard_write())
        due = self.session.next_tick()
        if due is not None and (self._tick_at is None or due < self._tick_at):
            self._tick_at = due
            self.world.at(due - self.world.now + self.world.lateness(), self._alive(lambda: self._tick(due)))

    def _guard_write(self) -> Callable[[], None]:
        life = self.life

        def write() -> None:
            if self.life == life and self.session is not None:
                self._write()

        return write

    # -------------------------------------------------------------- decisions

    def act(self, decisions: list[Any]) -> None:
        world = self.world
        assert self.session is not None
        for decision in decisions:
            match decision:
                case ReconnectAt():
                    world.at(decision.at - world.now, self._alive(self._dial))
                case StartAttempt():
                    self._start((decision.assign.run_id, decision.assign.attempt))
                case CancelAttempt():
                    key = (decision.run_id, decision.attempt)
                    world.at(
                        world.dice.uniform(0, min(decision.grace_s, 5.0)),
                        self._alive(lambda k=key: self._end(k, "cancelled")),
                    )
                case FinishAttempt():
                    self._append((decision.run_id, decision.attempt), "finished", decision.body)
                case TruncateSpool():
                    key = (decision.run_id, decision.attempt)
                    world.check_acked(key, decision.seq)
                    spool = world.spools[key]
                    spool.acked = decision.seq
                    spool.records = [record for record in spool.records if record.seq > decision.seq]
                case ForgetAttempt():
                    del world.spools[decision.run_id, decision.attempt]
                case CloseConnection():
                    if self.wire is not None:
                        wire, self.wire = self.wire, None
                        world.shut(wire, "agent")
                        self.act(self.session.disconnected(world.now))
                case ExitAgent():
                    world.fail(f"the agent exits: {decision.reason}")
                case _:
                    world.fail(f"unknown decision {decision}")
        self._after()

    def _start(self, key: Key) -> None:
        world = self.world
        world.say(f"start {key}")
        if world.rows[key].recorded_seq:
            world.fail(f"{key} is started again although it had begun")
        if key in self.children:
            world.fail(f"{key} runs twice at once")
        if any(run_id == key[0] for run_id, _ in self.children):
            world.fail(f"{key} runs beside another attempt of its run")
        self.children[key] = world.dice.randrange(1, 2 * world.plan.records)
        world.spools.setdefault(key, Spool())
        self._append(key, "started", b"{}")
        self._next_record(key)

    def _next_record(self, key: Key) -> None:
        def step() -> None:
            if key not in self.children:
                return
            self._check_wanted(key)
            self.children[key] -= 1
            if self.children[key] <= 0:
                self._end(key, "succeeded")
                return
            for _ in range(self.world.dice.choice((1, 1, 1, 5))):
                self._append(key, "event", b"%d" % self.world.dice.randrange(1_000_000))
            self._next_record(key)

        self.world.at(self.world.dice.expovariate(1.0), self._alive(step))

    def _check_wanted(self, key: Key) -> None:
        """A run that was cancelled, or that has ended at the control plane, stops once the two can talk."""
        since = self.world.rows[key].unwanted_since
        wire = self.wire
        assert self.session is not None
        if since is None or wire is None or wire.cut or not all(wire.open_at.values()):
            return
        if self.session.state is not ConnectionState.LIVE:
            return
        if self.world.now - max(since, self.welcome_at) > STOPPING_S:
            self.world.fail(f"{key} goes on although nobody wants it")

    def _end(self, key: Key, status: str) -> None:
        if self.children.pop(key, None) is not None:
            self._append(key, "finished", encode_body(RunFinishedBody(status=status)))

    def _append(self, key: Key, kind: str, body: bytes) -> None:
        assert self.session is not None
        spool = self.world.spools.setdefault(key, Spool())
        seq = self.session.reserve(*key)
        struct = {"started": RunStarted, "event": Event, "finished": RunFinished}[kind]
        record = struct(run_id=key[0], attempt=key[1], seq=seq, ts=self.world.now, body=body)
        last = spool.records[-1].seq if spool.records else spool.acked
        if seq != last + 1:
            self.world.fail(f"{key}: seq {seq} after {last}")
        spool.records.append(record)
        spool.ended = kind == "finished"
        self.world.produced.setdefault(key, {}).setdefault(seq, set()).add(body)
        self.act(
            self.session.records_appended(
                *key, seq, [spool.size(record)], self.world.now, final=kind == "finished"
            )
        )


class Control:
    """The control plane's shell: rows on a disk that a crash spares, executors that commit one batch at a time."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.session: control.WorkerSession | None = None
        self.life = 0
        self.ever_drained = False
        self._wires: dict[int, Wire] = {}
        self._greeted: set[int] = set()
        self._inboxes: dict[Key, deque[Any]] = {}
        self._busy: set[Key] = set()
        self._batch: dict[Key, list[Any]] = {}
        self._tick_at: float | None = None

    # -------------------------------------------------------------- life

    def boot(self) -> None:
        """Start, and adopt what a process before left (D-6)."""
        world = self.world
        self.life += 1
        self._tick_at = None
        self.session = control.WorkerSession(
            "w1",
            control.SessionSettings(
                product_version="1",
                resume_grace_s=world.plan.resume_grace_s,
                ack_every=4,
                ack_after_s=1.0,
                backlog=64,
            ),
        )
        world.say(f"control plane life {self.life}")
        for row in world.rows.values():
            if row.live:
                row.status = "disconnected"
                self.session.expect(row.key, world.now)
                self._later(world.dice.uniform(0, 3), lambda r=row: self._adopt(r))

    def _adopt(self, row: Row) -> None:
        assert self.session is not None
        self._inboxes[row.key] = deque()
        self.act(self.session.place(_assign(row.key), self.world.now, recorded_seq=row.recorded_seq))
        if row.cancel_requested:
            self.act(self.session.cancel(row.key, self.world.now))

    def crash(self) -> None:
        """``kill -9``: batches and commits that are not durable yet are lost."""
        world = self.world
        if self.session is None:
            return
        world.faults["control"] += 1
        world.say("control plane crashes")
        self.session = None
        for wire in self._wires.values():
            world.shut(wire, "control")
        for held in (self._wires, self._greeted, self._inboxes, self._busy, self._batch):
            held.clear()
        life = self.life
        world.at(world.dice.uniform(0.5, 10), lambda: self.boot() if self.life == life else None)

    # -------------------------------------------------------------- what people do

    def submit(self, run_id: str) -> None:
        world = self.world
        key = (run_id, 1)
        if self.session is None or self.session.draining or self.session.link is not Link.ONLINE:
            world.at(1.0, lambda: self.submit(run_id))
            return
        world.rows[key] = Row(key)
        self._inboxes[key] = deque()
        world.say(f"place {key}")
        self.act(self.session.place(_assign(key), world.now))

    def cancel_some(self) -> None:
        live = [row for row in self.world.rows.values() if row.live]
        if not live or self.session is None:
            return
        row = self.world.dice.choice(live)
        row.cancel_requested = True
        if row.unwanted_since is None:
            row.unwanted_since = self.world.now
        self.world.say(f"cancel {row.key}")
        self.act(self.session.cancel(row.key, self.world.now))

    def toggle_drain(self) -> None:
        if self.session is not None:
            self.ever_drained = True
            self.act(self.session.drain(not self.session.draining, self.world.now))

    # -------------------------------------------------------------- connections

    def on_message(self, wire: Wire, frames: list[Frame]) -> None:
        if self.session is None:
            return
        self.world.say("control gets", frames)
        now = self.world.now
        self._wires[wire.number] = wire
        if wire.number not in self._greeted:
            self._greeted.add(wire.number)
            hello, *frames = frames
            if not isinstance(hello, Hello):
                self.world.fail(f"first frame {hello}")
            self.act(self.session.opened(wire.number, hello, now))
        if frames:
            self.act(self.session.frames(wire.number, frames, now))

    def on_closed(self, wire: Wire) -> None:
        self._wires.pop(wire.number, None)
        if self.session is not None:
            self.act(self.session.closed(wire.number, self.world.now))

    def _tick(self, at: float, life: int) -> None:
        if self.session is not None and self.life == life and self._tick_at == at:
            self._tick_at = None
            self.act(self.session.tick(self.world.now))

    # -------------------------------------------------------------- decisions

    def act(self, decisions: list[Any]) -> None:
        world = self.world
        if self.session is None:
            world.fail("decisions of a dead control plane")
            return
        outgoing: dict[int, list[Frame]] = {}
        for decision in decisions:
            match decision:
                case Send():
                    frames = outgoing.setdefault(decision.connection, [])
                    frames.append(decision.frame)
                    repeatable = isinstance(decision.frame, Assign | Cancel | Ack | Drain)
                    if repeatable and world.chance(world.plan.duplicate):
                        frames.append(decision.frame)
                case Close():
                    wire = self._wires.get(decision.connection)
                    if wire is not None:
                        world.transmit(wire, "agent", outgoing.pop(decision.connection, []))
                        del self._wires[decision.connection]
                        world.shut(wire, "control")
                case WorkerChanged():
                    pass
                case KeepLateResult():
                    self._later(world.dice.uniform(0, world.plan.commit_s), lambda d=decision: self._keep(d))
                case _:
                    key = (decision.run_id, decision.attempt)
                    if key not in self._inboxes:
                        world.fail(f"{decision} for an attempt without an executor")
                    self._inboxes[key].append(decision)
        for number, frames in outgoing.items():
            wire = self._wires.get(number)
            if wire is not None:
                world.transmit(wire, "agent", frames)
        for key in [key for key, inbox in self._inboxes.items() if inbox]:
            self._work(key)
        if self.session is None:
            return
        due = self.session.next_tick()
        if due is not None and (self._tick_at is None or due < self._tick_at):
            self._tick_at = due
            life = self.life
            world.at(due - world.now + world.lateness(), lambda: self._tick(due, life))

    def _later(self, delay: float, action: Callable[[], None]) -> None:
        life = self.life
        self.world.at(delay, lambda: action() if self.life == life and self.session is not None else None)

    def _work(self, key: Key) -> None:
        """The executor of one attempt: it takes decisions in order and waits for its commits."""
        world = self.world
        batch = self._batch.setdefault(key, [])
        while key not in self._busy and self._inboxes.get(key):
            decision = self._inboxes[key].popleft()
            match decision:
                case Deliver():
                    batch += decision.records
                case Warn():
                    batch.append(decision.reason)
                case SetStatus():
                    batch.append(decision.status)
                case Commit():
                    self._busy.add(key)
                    items = list(batch)
                    batch.clear()
                    self._commit(key, lambda k=key, i=items, s=decision.seq: self._store(k, i, s))
                case Reported():
                    self._busy.add(key)
                    status = "succeeded" if b"succeeded" in decision.body else "cancelled"
                    status = "failed" if b"failed" in decision.body else status
                    items = list(batch)
                    self._commit(
                        key,
                        lambda k=key, s=status, n=decision.seq, i=items: self._finish(k, s, "report", n, i),
                    )
                case GiveUp():
                    self._busy.add(key)
                    code = decision.reason.code if decision.reason else "cancelled"
                    assert self.session is not None
                    if code == WORKER_GONE and self.session.link is Link.ONLINE:
                        world.fail(f"{key}: its worker is given up although it is here")
                    items = list(batch)
                    self._commit(
                        key, lambda k=key, s=decision.status, c=code, i=items: self._finish(k, s, c, None, i)
                    )
                case _:
                    world.fail(f"unknown decision {decision}")

    def _commit(self, key: Key, store: Callable[[], Callable[[], None]]) -> None:
        """A transaction: durable after a while, known to be durable a little later. A crash may come in between."""
        done: list[Callable[[], None]] = []
        first = self.world.dice.uniform(0, self.world.plan.commit_s)
        self._later(first, lambda: done.append(store()))
        self._later(first + self.world.dice.uniform(0, 0.1), lambda: self._known(key, done))

    def _known(self, key: Key, done: list[Callable[[], None]]) -> None:
        self._busy.discard(key)
        done[0]()
        if self.session is not None:
            self._work(key)

    def _store(self, key: Key, items: list[Any], seq: int) -> Callable[[], None]:
        row = self.world.rows[key]
        if not row.live:
            self.world.fail(f"{key}: a batch after its end")
        self._apply(row, items)
        row.recorded_seq = max(row.recorded_seq, seq)

        def known() -> None:
            assert self.session is not None
            self.act(self.session.committed(key, seq, self.world.now))

        return known

    def _apply(self, row: Row, items: list[Any]) -> None:
        for item in items:
            if isinstance(item, RunRecord):
                row.records.append((item.seq, item.body))
            elif isinstance(item, str):
                row.status = item
            else:
                row.warnings.append(item)

    def _finish(
        self, key: Key, status: str, by: str, seq: int | None, items: list[Any]
    ) -> Callable[[], None]:
        row = self.world.rows[key]
        if not row.live:
            self.world.fail(f"{key} ends twice")
        self._apply(row, items)
        row.status, row.ended_by = status, by
        if row.unwanted_since is None:
            row.unwanted_since = self.world.now
        if seq is not None:
            row.recorded_seq = seq
        self.world.say(f"end {key} {status} by {by}")

        def known() -> None:
            assert self.session is not None
            self._inboxes.pop(key, None)
            self.act(self.session.settled(key, self.world.now, reported_seq=seq))

        return known

    def _keep(self, decision: KeepLateResult) -> None:
        row = self.world.rows.get((decision.run_id, decision.attempt))
        if row is not None and row.recorded_seq < decision.seq:
            row.late_results.append((decision.seq, decision.body))
        assert self.session is not None
        self.act(
            self.session.late_result_kept((decision.run_id, decision.attempt), decision.seq, self.world.now)
        )


def _assign(key: Key) -> Assign:
    return Assign(
        run_id=key[0],
        attempt=key[1],
        graph=b"{}",
        payload_cap=1000,
        device="cpu",
        devices=(DeviceIdentity(name="cpu"),),
        grace_s=5.0,
    )


def _short(frames: list[Frame]) -> str:
    parts: list[str] = []
    for frame in frames:
        name = type(frame).__name__
        if isinstance(frame, RunRecord | Ack):
            name += f"({frame.run_id}#{frame.attempt} {frame.seq})"
        elif isinstance(frame, Assign | Cancel):
            name += f"({frame.run_id}#{frame.attempt})"
        parts.append(name)
    return " ".join(parts)
