"""The workers that are known: their sessions, their connections, and the executors of what runs there (A-2).

Everything is called in the event loop. A session decides, the registry carries out: frames go to the connection, what
concerns an attempt goes to its executor, timers call ``tick``.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from codefy_control_plane.api.schemas import DeviceStatus, Slots, WorkerStatus
from codefy_control_plane.runs.errors import Refused
from codefy_control_plane.scheduling.model import (
    DISCONNECTED,
    OFFLINE,
    ONLINE,
    DeviceView,
    Placement,
    WorkerView,
)
from codefy_control_plane.settings import Settings
from codefy_control_plane.workers.catalogs import differences, usable_types
from codefy_control_plane.workers.checking import MalformedRecord, checked_report
from codefy_control_plane.workers.closing import Closings
from codefy_control_plane.workers.connection import Connection, Peer
from codefy_control_plane.workers.decisions import (
    AttemptKey,
    Close,
    Decision,
    KeepLateResult,
    Link,
    Send,
    WorkerChanged,
)
from codefy_control_plane.workers.executor import WorkerExecutor
from codefy_control_plane.workers.seams import LateResult, Recorder, ignore_late_result
from codefy_control_plane.workers.session import SessionSettings, WorkerSession
from codefy_protocol.frames import Assign, Device, Frame, Heartbeat, Hello
from codefy_protocol.reasons import DEVICE_NOT_CLOSED, UNKNOWN_WORKER, Reason, reason
from codefy_protocol.version import __version__

logger = logging.getLogger("codefy.workers")

MAX_REJECTIONS = 100
MAX_LATE_RESULTS = 1000
"""Late results on their way to the disk at once."""
SERVER_STOPS = "the server stops"

_STATES = {
    Link.OFFLINE: OFFLINE,
    Link.GREETING: DISCONNECTED,
    Link.ONLINE: ONLINE,
    Link.DISCONNECTED: DISCONNECTED,
}


class _Worker:
    """A session with what the registry keeps beside it."""

    def __init__(self, session: WorkerSession) -> None:
        self.session = session
        self.connection: Connection | None = None
        self.executors: dict[AttemptKey, WorkerExecutor] = {}
        self.closings = Closings(session.name)
        self.same_machine = False
        self.connected_at: float | None = None
        self.last_heard_at: float | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.drained = asyncio.Event()
        """Set when reading may go on."""
        self.drained.set()


class WorkerRegistry:
    """All workers by name.

    Args:
        machine_id: of this machine (``codefy_protocol.machine.identity``), to tell workers that share it.
        on_change: called when a view changed; ``RunService.workers_changed``.
        devices: what the scheduler knows of a worker's device, for the panel; ``RunService.device_status``.
        late_result: where reports of runs that had ended already go.
        hashes: of the server's node types, what each declares (X-8).
    """

    def __init__(
        self,
        settings: Settings,
        *,
        machine_id: str = "",
        on_change: Callable[[], None] | None = None,
        devices: Callable[[str, Device], DeviceStatus] | None = None,
        late_result: LateResult = ignore_late_result,
        hashes: Callable[[], Mapping[str, str]] = dict,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._hashes = hashes
        self._session_settings = SessionSettings(
            product_version=__version__,
            heartbeat_s=settings.heartbeat_s,
            grace_s=settings.grace_s,
            resume_grace_s=settings.resume_grace_s,
        )
        self._machine_id = machine_id
        self._on_change = on_change
        self._devices = devices
        self._late_result = late_result
        self._clock = clock
        self._workers: dict[str, _Worker] = {}
        self._connections: dict[int, Connection] = {}
        self.rejections: dict[str, tuple[float, Reason]] = {}
        """When (Unix seconds) and why the last agent of a name was rejected."""
        self._numbers = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    # -------------------------------------------------------------- what others ask

    def views(self) -> list[WorkerView]:
        """Every worker that is known, in name order, as placement sees it."""
        return [self._view(name, worker) for name, worker in sorted(self._workers.items())]

    def statuses(self) -> list[WorkerStatus]:
        """Every worker that is known, in name order, as people see it."""
        return [self._status(name, worker) for name, worker in sorted(self._workers.items())]

    def status(self, worker_id: str) -> WorkerStatus:
        """One worker.

        Raises:
            Refused: 404, it was never seen.
        """
        return self._status(worker_id, self._known(worker_id))

    async def drain(self, worker_id: str) -> WorkerStatus:
        """Give the worker no new runs; what runs there goes on (S-10).

        Raises:
            Refused: 404, it was never seen.
        """
        return self._set_draining(worker_id, True)

    async def undrain(self, worker_id: str) -> WorkerStatus:
        """Give the worker runs again.

        Raises:
            Refused: 404, it was never seen.
        """
        return self._set_draining(worker_id, False)

    def reclaim(self, worker_id: str, device: str) -> WorkerStatus:
        """Give runs to a device again although something of an earlier run is left on it (P-9).

        Raises:
            Refused: 404, the worker was never seen; 409, nothing is left on the device.
        """
        worker = self._known(worker_id)
        found = next((item for item in worker.session.devices if item.name == device), None)
        if found is None or not worker.closings.reclaim(found):
            raise Refused(409, reason(DEVICE_NOT_CLOSED, worker=worker_id, device=device))
        self._tell_change()
        return self._status(worker_id, worker)

    def executor(
        self, placement: Placement, recorder: Recorder, *, recorded_seq: int | None = None
    ) -> WorkerExecutor:
        """An executor for one attempt on ``placement.worker_id``; its row is committed. See ``seams``.

        With a ``recorded_seq`` an earlier process of this server started the attempt (D-6): the executor waits for the
        worker, which may be unknown yet, and goes on after that seq.
        """
        return WorkerExecutor(
            self,
            placement,
            recorder,
            payload_cap=self._settings.payload_cap_bytes,
            grace_s=self._settings.grace_s,
            recorded_seq=recorded_seq,
        )

    def expect(self, worker_id: str, run_id: str, attempt: int) -> None:
        """An attempt that an earlier server had on this worker is about to be executed with its ``recorded_seq``.

        Call it before the server listens: a worker that connects first is not asked what it has until then.
        """
        self._worker(worker_id).session.expect((run_id, attempt), self._clock())

    def hang_up(self) -> None:
        """Close every connection, and every one that still comes. Runs go on at their workers."""
        self._closed = True
        for worker in self._workers.values():
            if worker.timer is not None:
                worker.timer.cancel()
            worker.drained.set()
        for connection in self._connections.values():
            connection.close(SERVER_STOPS)

    async def close(self) -> None:
        """Hang up and wait for what is being written."""
        self.hang_up()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def has_run(self, worker_id: str, run_id: str) -> bool:
        """Whether a run is a worker's and has not ended: the one it may fetch inputs of (X-9)."""
        worker = self._workers.get(worker_id)
        return worker is not None and any(run_id == key[0] for key in worker.session.attempts(live=True))

    # -------------------------------------------------------------- connections, for the socket

    def connect(self, peer: Peer) -> Connection:
        """A socket was accepted; it has said nothing yet."""
        connection = Connection(next(self._numbers), peer)
        self._connections[connection.number] = connection
        if self._closed:
            connection.close(SERVER_STOPS)
        return connection

    def connected_hello(self, name: str) -> Hello | None:
        """The hello of the connection that this name has now."""
        worker = self._workers.get(name)
        return None if worker is None or worker.connection is None else worker.session.hello

    def note_rejected(self, first: Frame | None, why: Reason) -> None:
        """Keep by name why an agent was rejected, for the panel (F-1); bounded."""
        if isinstance(first, Hello):
            self.rejections[first.name[:128]] = (time.time(), why)
            while len(self.rejections) > MAX_REJECTIONS:
                del self.rejections[next(iter(self.rejections))]

    def opened(self, connection: Connection, hello: Hello, *, outdated: bool) -> None:
        """The connection's hello was accepted: it speaks for the worker from now on."""
        worker = self._worker(hello.name)
        decisions = worker.session.opened(connection.number, hello, self._clock(), outdated=outdated)
        worker.connection = connection
        worker.connected_at = worker.last_heard_at = time.time()
        worker.same_machine = (
            connection.peer.loopback and bool(self._machine_id) and hello.machine_id == self._machine_id
        )
        worker.drained.set()
        worker.closings.report(hello.devices, self._clock())
        self._act(worker, decisions)
        logger.info(
            "worker %s connected from %s%s",
            hello.name,
            connection.peer.address,
            " (outdated)" if outdated else "",
        )

    async def received(self, connection: Connection, name: str, frames: Sequence[Frame]) -> None:
        """Frames of one message. Waits while the worker's records come faster than they can be stored (D-5)."""
        worker = self._workers[name]
        worker.last_heard_at = time.time()
        self._act(worker, worker.session.frames(connection.number, frames, self._clock()))
        if any(isinstance(frame, Heartbeat) for frame in frames):
            self._look_at_devices(worker)
        while worker.session.overfull and not self._closed and worker.connection is connection:
            worker.drained.clear()
            worker.session.reading(False, self._clock())
            await worker.drained.wait()
            worker.session.reading(True, self._clock())

    def disconnected(self, connection: Connection, name: str | None) -> None:
        """The socket is closed; ``name`` is the worker it spoke for, if any."""
        self._connections.pop(connection.number, None)
        if name is None:
            return
        worker = self._workers[name]
        if worker.connection is connection:
            worker.connection = None
            logger.info("worker %s disconnected", name)
        worker.drained.set()
        if not self._closed:
            self._act(worker, worker.session.closed(connection.number, self._clock()))

    # -------------------------------------------------------------- attempts, for the executors

    def place(
        self,
        worker: str,
        assign: Assign,
        executor: WorkerExecutor,
        *,
        recorded_seq: int | None,
        grace_s: float | None,
    ) -> None:
        """An executor takes over its attempt."""
        held = self._worker(worker)
        key = (assign.run_id, assign.attempt)
        held.executors[key] = executor
        now = self._clock()
        self._act(held, held.session.place(assign, now, recorded_seq=recorded_seq, grace_s=grace_s))

    def capabilities(self, worker: str) -> frozenset[str]:
        """What this server and a worker both can, by its last hello; nothing for one that was never seen."""
        held = self._workers.get(worker)
        return frozenset() if held is None else held.session.capabilities

    def cancel(self, worker: str, key: AttemptKey) -> None:
        """The attempt is to stop."""
        held = self._workers[worker]
        self._act(held, held.session.cancel(key, self._clock()))

    def committed(self, worker: str, key: AttemptKey, seq: int) -> None:
        """A commit is durable."""
        held = self._workers[worker]
        self._act(held, held.session.committed(key, seq, self._clock()))
        if not held.session.overfull:
            held.drained.set()

    def settled(self, worker: str, key: AttemptKey, reported_seq: int | None) -> None:
        """The attempt's end is durable."""
        held = self._workers[worker]
        held.executors.pop(key, None)
        self._act(held, held.session.settled(key, self._clock(), reported_seq=reported_seq))

    def detach(self, worker: str, key: AttemptKey) -> None:
        """Nobody awaits the attempt any more; the next server adopts it."""
        held = self._workers[worker]
        held.executors.pop(key, None)
        self._act(held, held.session.detach(key, self._clock()))

    # -------------------------------------------------------------- inside

    def _worker(self, name: str) -> _Worker:
        worker = self._workers.get(name)
        if worker is None:
            worker = self._workers[name] = _Worker(WorkerSession(name, self._session_settings))
        return worker

    def _known(self, name: str) -> _Worker:
        worker = self._workers.get(name)
        if worker is None:
            raise Refused(404, reason(UNKNOWN_WORKER, worker=name))
        return worker

    def _set_draining(self, name: str, draining: bool) -> WorkerStatus:
        worker = self._known(name)
        self._act(worker, worker.session.drain(draining, self._clock()))
        return self._status(name, worker)

    def _act(self, worker: _Worker, decisions: Iterable[Decision]) -> None:
        changed = False
        for decision in decisions:
            match decision:
                case Send():
                    connection = self._connections.get(decision.connection)
                    if connection is not None:
                        connection.send(decision.frame)
                case Close():
                    connection = self._connections.get(decision.connection)
                    if connection is not None:
                        connection.close(decision.reason)
                    if worker.connection is connection:
                        worker.connection = None
                case WorkerChanged():
                    changed = True
                case KeepLateResult():
                    self._keep(worker, decision)
                case _:
                    executor = worker.executors.get((decision.run_id, decision.attempt))
                    if executor is not None:
                        executor.decide(decision)
        if changed:
            self._tell_change()
        self._arm(worker)

    def _look_at_devices(self, worker: _Worker) -> None:
        if worker.closings.report(worker.session.devices, self._clock()):
            self._tell_change()

    def _tell_change(self) -> None:
        if self._on_change is not None and not self._closed:
            self._on_change()

    def _keep(self, worker: _Worker, late: KeepLateResult) -> None:
        if len(self._tasks) >= MAX_LATE_RESULTS:
            return  # it stays unacknowledged: the worker reports again when it reconnects
        task = asyncio.get_running_loop().create_task(self._keep_late_result(worker, late))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _keep_late_result(self, worker: _Worker, late: KeepLateResult) -> None:
        name = worker.session.name
        try:
            checked_report(late.body)
            await self._late_result(name, late.run_id, late.attempt, late.seq, late.body)
        except MalformedRecord as error:
            logger.warning("%s: the late result of run %s cannot be read: %s", name, late.run_id, error)
        except Exception:
            # It stays unacknowledged: the worker reports again when it reconnects.
            logger.exception("the late result of run %s could not be stored", late.run_id)
            return
        key = (late.run_id, late.attempt)
        self._act(worker, worker.session.late_result_kept(key, late.seq, self._clock()))

    def _arm(self, worker: _Worker) -> None:
        """Have ``tick`` called in time. A timer that fires early looks and sleeps again: most deadlines only move on."""
        if self._closed:
            return
        due = worker.session.next_tick()
        if due is None:
            return
        loop = asyncio.get_running_loop()
        at = loop.time() + max(0.0, due - self._clock())
        if worker.timer is not None and not worker.timer.cancelled():
            if worker.timer.when() <= at:
                return
            worker.timer.cancel()
        worker.timer = loop.call_at(at, self._tick, worker)

    def _tick(self, worker: _Worker) -> None:
        worker.timer = None
        if not self._closed:
            self._act(worker, worker.session.tick(self._clock()))

    def _view(self, name: str, worker: _Worker) -> WorkerView:
        session = worker.session
        return WorkerView(
            name=name,
            state=_STATES[session.link],
            draining=session.draining,
            outdated=session.outdated,
            devices=tuple(
                DeviceView(
                    name=device.name,
                    kind=device.kind,
                    uuid=device.uuid,
                    closed=worker.closings.get(device.name),
                )
                for device in session.devices
            ),
            node_types=usable_types(session.hello, session.catalog, self._hashes()),
            machine_id=session.hello.machine_id if session.hello is not None else "",
            same_machine=worker.same_machine,
            capabilities=session.capabilities,
        )

    def _status(self, name: str, worker: _Worker) -> WorkerStatus:
        session = worker.session
        hello = session.hello
        return WorkerStatus(
            worker_id=name,
            label=name,
            state=_STATES[session.link],
            draining=session.draining,
            outdated=session.outdated,
            same_machine=worker.same_machine,
            product_version=hello.product_version if hello else "",
            platform=hello.platform if hello else "",
            connected_at=worker.connected_at if worker.connection is not None else None,
            last_heard_at=worker.last_heard_at,
            devices=[self._device_status(name, worker, device) for device in session.devices],
            run_ids=[run_id for run_id, _ in session.attempts()],
            engine=session.catalog.engine if session.catalog is not None else None,
            node_differences=differences(session.catalog, self._hashes()),
            capabilities=sorted(session.capabilities),
        )

    def _device_status(self, name: str, worker: _Worker, device: Device) -> DeviceStatus:
        if self._devices is not None:
            return self._devices(name, device)
        session = worker.session
        used = [key[0] for key in session.attempts() if device.name in session.attempt_devices(key)]
        slots = Slots(limit=max(1, len(used)), used=len(used), run_ids=used)
        return DeviceStatus(device=device, slots=slots)
