"""The run service: takes submissions, queues them, executes them and keeps what they produce (A-1)."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any

import msgspec

from codefy_control_plane.api.schemas import (
    ArtifactList,
    DeviceStatus,
    EventList,
    MetricList,
    Preflight,
    ProvenanceList,
    RunCancelled,
    RunDetail,
    RunList,
    RunSubmitted,
    SameCard,
    Slots,
    StoredArtifact,
    Waiting,
)
from codefy_control_plane.outputs.reading import OutputReader
from codefy_control_plane.runs.console import AttributedOutput
from codefy_control_plane.runs.errors import Refused
from codefy_control_plane.runs.execution import AttemptRunner
from codefy_control_plane.runs.feed import Broadcast, Feed, Page
from codefy_control_plane.runs.live import LiveRun
from codefy_control_plane.runs.local_devices import LocalDevices
from codefy_control_plane.runs.lookahead import Lookahead
from codefy_control_plane.runs.ports import Workers
from codefy_control_plane.runs.reading import RunReader, read_page, run_not_found
from codefy_control_plane.runs.recorder import MAX_INTEGER
from codefy_control_plane.runs.recovery import Found, find_left_runs, live_run, stored_placement
from codefy_control_plane.runs.retention import delete_run, prune
from codefy_control_plane.runs.secrets import NO_SECRETS, SecretVault
from codefy_control_plane.runs.submission import (
    INTERACTIVE_LANE,
    Submission,
    check_priority,
    check_submission,
    run_id_maker,
)
from codefy_control_plane.runs.views import LiveView
from codefy_control_plane.scheduling.limits import Limits
from codefy_control_plane.scheduling.model import Placement
from codefy_control_plane.scheduling.scheduler import Scheduler
from codefy_control_plane.settings import Settings
from codefy_control_plane.storage.attempts import (
    CANCELLED,
    ENDED_STATUSES,
    FAILED,
    INTERRUPTED,
    QUEUED,
    RUNNING,
    AttemptRow,
    attempts_of_worker,
    read_attempt,
)
from codefy_control_plane.storage.database import Database, is_disk_full
from codefy_control_plane.storage.node_sources import read_input
from codefy_control_plane.storage.runs import (
    insert_run,
    put_late_result,
    read_run,
    request_cancel,
    set_options,
)
from codefy_engine.execution.outputs import OutputStore
from codefy_engine.execution.state import ExecutionState
from codefy_engine.nodes.registry import Registry, default_registry
from codefy_protocol import reasons
from codefy_protocol.frames import Device
from codefy_protocol.names import LOCAL, RunOptions
from codefy_protocol.reasons import reason

logger = logging.getLogger("codefy.runs")

ATTEMPTS_REMEMBERED = 1000


class RunService:
    """Everything about runs. Make it in the event loop, call :meth:`attach` when there is a registry of workers, then
    :meth:`start`; :meth:`close` before the database is closed.

    Args:
        registry: node types to check graphs against; those installed by default.
        devices: what this machine offers.
    """

    def __init__(
        self,
        settings: Settings,
        database: Database,
        *,
        registry: Registry | None = None,
        devices: LocalDevices | None = None,
    ) -> None:
        self.runs_changed = Broadcast()
        """Says that a run's row, queue position or progress changed."""
        self.feed = Feed(self._read_page)
        self._settings = settings
        self._database = database
        self._registry = registry
        self._devices = LocalDevices() if devices is None else devices
        limits = Limits(
            cpu=settings.max_concurrent_cpu,
            accelerator=settings.max_concurrent_gpu,
            overrides=settings.slot_overrides,
        )
        self._scheduler = Scheduler(limits)
        self._vault = SecretVault()
        self.outputs = OutputReader(OutputStore(settings.output_store_max_mb << 20))
        """What runs in the server keep of their outputs."""
        self._runner = AttemptRunner(
            settings,
            database,
            self.feed,
            registry=registry,
            changed=self.runs_changed.notify,
            vault=self._vault,
            outputs=self.outputs.store,
        )
        self._reader = RunReader(database, self.feed, settings.runs_dir, self._live_view)
        self._output = AttributedOutput(self._vault.without)
        self._new_run_id = run_id_maker()
        self._live: dict[str, LiveRun] = {}
        self._lookahead = Lookahead(self._scheduler, database, self._live)
        self._interactive: set[str] = set()
        """Interactive runs that are going on or being submitted."""
        self._attempts: dict[str, asyncio.Task[None]] = {}
        self._worker_attempts: set[str] = set()
        self._leftovers: set[asyncio.Task[Any]] = set()
        """Executors that ignored their stop, and tasks that wait for them."""
        self._last_submission = 0.0
        self._pruning: asyncio.Task[None] | None = None
        self._workers: Workers | None = None
        self._closing = False

    async def _read_page(self, run_id: str, events_after: int, metrics_after: int, limit: int) -> Page:
        return await read_page(self._database, run_id, events_after, metrics_after, limit)

    # ------------------------------------------------------------------ lifetime

    def attach(self, workers: Workers) -> None:
        """Let runs be placed on these workers. Call it before :meth:`start`."""
        self._workers = workers
        self._runner.workers = workers

    async def start(self) -> None:
        """Take over what an earlier process left (D-6) and begin to start runs."""
        for warning in self._settings.warnings:
            logger.warning("%s", warning.message)
        for folder in (self._settings.runs_dir, self._settings.files_dir):
            folder.mkdir(parents=True, exist_ok=True)
        self._scheduler.set_local_devices(await self._devices.load())
        keep, adopt = self._settings.queue_on_restart == "keep", self._workers is not None
        left = await self._database.read(lambda c: find_left_runs(c, keep_queue=keep, adopt=adopt))
        for found in left:
            await self._take_over(found)
        self.workers_changed()
        self._prune()

    async def _take_over(self, found: Found) -> None:
        live = live_run(found.row, found.file_types)
        if found.ends_as is not None:
            lost = reasons.SECRETS_LOST if found.secrets_lost else reasons.SERVER_RESTARTED
            why = None if found.ends_as == CANCELLED else reason(lost)
            await self._runner.end_unstarted(live, found.ends_as, why)
            return
        self._live[live.run_id] = live
        if found.attempt is None:
            self._scheduler.enqueue(live.request)
            return
        live.adopted = found.attempt
        if self._workers is not None:
            self._workers.expect(found.attempt.worker_id, live.run_id, found.attempt.attempt)
        if live.cancel_requested:
            live.request_stop()
        placement = stored_placement(found.attempt)
        self._scheduler.take(live.run_id, placement)
        self._launch(live, placement)

    async def close(self) -> None:
        """End local runs as interrupted, leave worker runs for adoption, end every subscription."""
        if self._closing:
            return
        self._closing = True
        self._runner.closing.set()
        for run_id in self._worker_attempts:
            self._attempts[run_id].cancel()
        for run_id in self._attempts.keys() - self._worker_attempts:
            live = self._live[run_id]
            live.interrupted = reason(reasons.SERVER_STOPPED)
            live.request_stop()
        await asyncio.gather(*self._attempts.values(), return_exceptions=True)
        for live in list(self._live.values()):
            await self._end_unreturned(live)
        for task in (*self._leftovers, *(() if self._pruning is None else (self._pruning,))):
            task.cancel()
        await asyncio.gather(*self._leftovers, return_exceptions=True)
        if self._pruning is not None:
            await asyncio.gather(self._pruning, return_exceptions=True)
        await self._devices.close()
        self.feed.close()
        self._output.remove()
        self._vault.close()

    async def _end_unreturned(self, live: LiveRun) -> None:
        """A graceful stop ends the adopted runs whose worker never came back (D-6)."""
        if live.adopted is None or live.recorder is None or live.recorder.returned:
            return
        if live.cancel_requested:
            await self._runner.end_unstarted(live, CANCELLED)
        else:
            await self._runner.end_unstarted(live, INTERRUPTED, reason(reasons.SERVER_STOPPED))

    def workers_changed(self) -> None:
        """A worker came, went, or offers something else: look again at what waits. Call it in the event loop."""
        if self._workers is not None:
            self._scheduler.set_workers(self._workers.views())
        self._schedule()

    # ------------------------------------------------------------------ submission

    async def submit(
        self,
        graph: bytes,
        options: RunOptions,
        name: str = "",
        *,
        secrets: Mapping[str, str] = NO_SECRETS,
        state: ExecutionState | None = None,
    ) -> RunSubmitted:
        """Check and store a run, and start or queue it.

        ``secrets`` are the values that the graph refers to. An interactive run reuses what earlier runs with the same
        ``state`` left in it.

        Raises:
            Refused: 400 for what can never run (nothing is stored), 409 when the interactive lane is full, 503 while
                the server stops, 507 when the disk is full.
        """
        if self._closing:
            raise Refused(503, reason(reasons.SHUTTING_DOWN))
        registry = self._registry
        submission = await asyncio.to_thread(
            lambda: check_submission(graph, options, name, registry or default_registry(), secrets)
        )
        run_id = self._new_run_id()
        why = self._scheduler.refusal(submission.queued(run_id, 0))
        if why is not None:
            raise Refused(400, why)
        if options.lane == INTERACTIVE_LANE:
            return await self._submit_interactive(run_id, submission, state, secrets)
        live = await self._store(run_id, submission, secrets)
        self._scheduler.enqueue(live.request)
        self._schedule()
        position = self._scheduler.position(run_id)
        return RunSubmitted(
            run_id=run_id,
            number=live.request.sequence,
            status=RUNNING if position is None else QUEUED,
            queue_key=submission.queue_key,
            queue_position=position,
        )

    async def _submit_interactive(
        self,
        run_id: str,
        submission: Submission,
        state: ExecutionState | None,
        secrets: Mapping[str, str],
    ) -> RunSubmitted:
        if len(self._interactive) >= self._settings.max_interactive:
            raise Refused(409, reason(reasons.INTERACTIVE_BUSY, running=len(self._interactive)))
        self._interactive.add(run_id)
        try:
            live = await self._store(run_id, submission, secrets)
        except BaseException:
            self._interactive.discard(run_id)
            raise
        live.state = state
        # The canvas does not wait for a slot, and takes none.
        devices = self._devices.identities(live.request.wanted)
        self._launch(live, Placement(worker_id=LOCAL, devices=devices, slots=()))
        return RunSubmitted(
            run_id=run_id,
            number=live.request.sequence,
            status=RUNNING,
            queue_key=submission.queue_key,
            queue_position=None,
        )

    async def _store(self, run_id: str, submission: Submission, secrets: Mapping[str, str]) -> LiveRun:
        row = submission.row(run_id, time.time())
        try:
            number = await self._database.write(lambda connection: insert_run(connection, row))
        except sqlite3.Error as error:
            if is_disk_full(error):
                raise Refused(507, reason(reasons.DISK_FULL, path=str(self._settings.data_dir))) from error
            raise
        live = LiveRun(
            submission.queued(run_id, number, self._submitted_at(row.created_at)),
            name=submission.name or submission.graph_name,
            graph_hash=submission.graph_hash,
            lane=submission.options.lane,
            options=submission.options,
        )
        self._live[run_id] = live
        self._vault.put(run_id, secrets)
        return live

    def _submitted_at(self, now: float) -> float:
        """A clock that was put back does not put a run before earlier ones."""
        self._last_submission = max(self._last_submission, now)
        return self._last_submission

    # ------------------------------------------------------------------ execution

    def _schedule(self) -> None:
        if not self._closing:
            for start in self._scheduler.starts():
                self._launch(self._live[start.run_id], start.placement)
        self.runs_changed.notify()

    def _launch(self, live: LiveRun, placement: Placement) -> None:
        if self._closing:
            return  # the row says that it waits; the next start decides
        if placement.local:
            self._output.install()
        else:
            self._worker_attempts.add(live.run_id)
        self._attempts[live.run_id] = asyncio.create_task(
            self._execute(live, placement), name=f"run-{live.run_id}"
        )

    async def _execute(self, live: LiveRun, placement: Placement) -> None:
        run_id = live.run_id
        leftover: asyncio.Task[Any] | None = None
        ended = False
        try:
            leftover = await self._runner.execute(live, placement)
            ended = True
        except Exception:
            logger.exception("run %s could not be executed", run_id)
            if not self._closing:
                why = reason(reasons.INTERNAL_ERROR, error_id=run_id)
                await self._runner.end_unstarted(live, FAILED, why)
                ended = True
        finally:
            self._attempts.pop(run_id, None)
            self._worker_attempts.discard(run_id)
            self._interactive.discard(run_id)
            if leftover is None:
                self._vault.drop(run_id)
            if ended:
                self._live.pop(run_id, None)
        if leftover is not None and not self._closing:
            self._keep(self._free_slots_after(leftover, run_id))
        else:
            self._scheduler.release(run_id)
        self._schedule()
        self._prune()

    async def _free_slots_after(self, leftover: asyncio.Task[Any], run_id: str) -> None:
        """Keep the slots of a run that ignored its stop until its thread has ended (L-4)."""
        await asyncio.wait((leftover,))
        self._vault.drop(run_id)
        self._scheduler.release(run_id)
        self._schedule()

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._leftovers.add(task)
        task.add_done_callback(self._leftovers.discard)

    # ------------------------------------------------------------------ what waits

    async def set_priority(self, run_id: str, priority: int) -> RunDetail:
        """Move a waiting run within its queue. Stored before this returns.

        Raises:
            Refused: 400 for a number out of range, 404, or 409 when it does not wait.
        """
        check_priority(priority, "$.priority")
        live = self._live.get(run_id)
        waits = live is not None and self._scheduler.position(run_id) is not None
        if live is not None and waits:
            options = msgspec.structs.replace(live.options, priority=priority)
            text = msgspec.json.encode(options).decode()
            waits = await self._database.write(lambda connection: set_options(connection, run_id, text))
            if waits:
                live.options = options
                self._scheduler.set_priority(run_id, priority)
                self._schedule()
        detail = await self.get(run_id)
        if not waits:
            raise Refused(409, reason(reasons.RUN_NOT_WAITING, run_id=run_id, status=detail.status))
        return detail

    async def waiting(self, run_id: str) -> Waiting:
        """Why a run waits, and until when (S-15).

        Raises:
            Refused: 404, or 409 when it does not wait.
        """
        if self._scheduler.position(run_id) is None:
            row = await self._database.read(lambda connection: read_run(connection, run_id))
            if row is None:
                raise run_not_found(run_id)
            raise Refused(409, reason(reasons.RUN_NOT_WAITING, run_id=run_id, status=row.status))
        return await self._lookahead.waiting(run_id)

    async def preflight(self, graph: bytes, options: RunOptions) -> Preflight:
        """Where a graph with these options could run now, later or never (S-14). Stores nothing.

        Raises:
            Refused: 400, for a graph or options with problems.
        """
        registry = self._registry
        submission = await asyncio.to_thread(
            lambda: check_submission(graph, options, "", registry or default_registry())
        )
        return await self._lookahead.preflight(submission.queued("", 0), submission.graph_hash)

    # ------------------------------------------------------------------ cancel and delete

    async def cancel(self, run_id: str) -> RunCancelled:
        """Stop a run. The wish is stored before this returns.

        Raises:
            Refused: 404, or 409 when the run has ended.
        """
        live = self._live.get(run_id)
        if live is not None and self._scheduler.remove(run_id):
            # It waits, and from here on cannot start: end it at once.
            live.cancel_requested = True
            self._live.pop(run_id, None)
            self._vault.drop(run_id)
            await self._runner.end_unstarted(live, CANCELLED)
            self._schedule()
            return RunCancelled(run_id=run_id, status=CANCELLED, cancel_requested=True)
        stored = await self._database.write(lambda connection: request_cancel(connection, run_id))
        row = await self._database.read(lambda connection: read_run(connection, run_id))
        if row is None:
            raise run_not_found(run_id)
        if not stored:
            raise Refused(409, reason(reasons.RUN_ENDED, run_id=run_id, status=row.status))
        if live is not None:
            live.cancel_requested = True
            live.request_stop()
        self.runs_changed.notify()
        return RunCancelled(run_id=run_id, status=row.status, cancel_requested=True)

    async def delete(self, run_id: str) -> None:
        """Delete an ended run with everything it stored. Raises Refused: 404, or 409 while it is live."""
        row = await self._database.read(lambda connection: read_run(connection, run_id))
        if row is None:
            raise run_not_found(run_id)
        if row.status not in ENDED_STATUSES:
            raise Refused(409, reason(reasons.RUN_ACTIVE, run_id=run_id, status=row.status))
        self.outputs.store.drop(run_id)
        await delete_run(self._database, run_id, self._reader.run_dir(run_id))
        self.runs_changed.notify()

    def _prune(self) -> None:
        if self._closing or (self._pruning is not None and not self._pruning.done()):
            return
        self._pruning = asyncio.create_task(self._prune_now())

    async def _prune_now(self) -> None:
        keep = self._settings.retention_keep_last
        try:
            if await prune(self._database, self._settings.runs_dir, keep, self.outputs.store.drop):
                self.runs_changed.notify()
        except Exception:
            logger.exception("old runs could not be deleted; the next end of a run tries again")

    # ------------------------------------------------------------------ reading

    def _live_view(self, run_id: str) -> LiveView | None:
        live = self._live.get(run_id)
        if live is None:
            return None
        recorder = live.recorder
        return LiveView(
            queue_position=self._scheduler.position(run_id),
            queue_reason=self._scheduler.reason(run_id),
            progress=None if recorder is None else recorder.progress,
            latest_metrics=None if recorder is None else recorder.latest_metrics,
            cancel_requested=live.cancel_requested,
        )

    async def list_runs(
        self, limit: int = 50, cursor: str | None = None, status: str | None = None
    ) -> RunList:
        """Newest first. Raises Refused (400) for a cursor or status that is none."""
        return await self._reader.list_runs(limit, cursor, status)

    async def get(self, run_id: str) -> RunDetail:
        """One run. Raises Refused (404)."""
        return await self._reader.get(run_id)

    async def events(self, run_id: str, cursor: int = 0, limit: int = 1000, wait_s: float = 0.0) -> EventList:
        """Events after ``cursor``; waits up to ``wait_s`` for the first. Raises Refused (404)."""
        return await self._reader.events(run_id, cursor, limit, wait_s)

    async def metrics(
        self, run_id: str, cursor: int = 0, limit: int = 1000, name: str | None = None
    ) -> MetricList:
        """Metric points after ``cursor``. Raises Refused (404)."""
        return await self._reader.metrics(run_id, cursor, limit, name)

    async def provenance(self, run_id: str, cursor: int = 0, limit: int = 1000) -> ProvenanceList:
        """Where results come from, after ``cursor``. Raises Refused (404)."""
        return await self._reader.provenance(run_id, cursor, limit)

    async def artifacts(self, run_id: str) -> ArtifactList:
        """Files of a run. Raises Refused (404)."""
        return await self._reader.artifacts(run_id)

    async def artifact_file(self, run_id: str, artifact_id: int) -> tuple[Path, StoredArtifact]:
        """Where the file lies. Raises Refused: 404, or 410 when the file is gone."""
        return await self._reader.artifact_file(run_id, artifact_id)

    async def input_of(self, run_id: str, sha256: str) -> bytes | None:
        """A graph or node file that the run needs, by its hash; ``None`` when it needs no such thing."""
        return await self._database.read(lambda connection: read_input(connection, run_id, sha256))

    def log_path(self, run_id: str) -> Path:
        """``output.log`` of a run; it may not exist. Check the run with :meth:`get` first."""
        return self._reader.log_path(run_id)

    def local_devices(self) -> tuple[Device, ...]:
        """What this machine offers, a few seconds old at most while it is asked for."""
        return self._devices.latest()

    def slots(self, worker_id: str, device: str) -> Slots:
        """How many runs a device holds, and which it has; ``worker_id`` is ``local`` for the server."""
        slot = (worker_id, device)
        users = self._scheduler.sharing(slot)
        limit, whose = self._scheduler.limit(slot)
        return Slots(
            limit=limit,
            used=len(users),
            run_ids=list(users),
            limited_by=None if whose == worker_id else whose,
        )

    def device_status(self, worker_id: str, device: Device) -> DeviceStatus:
        """A device as a provider offers it, with who is on it; ``worker_id`` is ``local`` for the server."""
        slot = (worker_id, device.name)
        view = self._scheduler.device(slot)
        closed = None if view is None else view.closed
        return DeviceStatus(
            device=device,
            slots=self.slots(worker_id, device.name),
            same_card=[
                SameCard(worker_id=other, device=name) for other, name in self._scheduler.same_card(slot)
            ],
            closed=None if closed is None else closed.message,
            closed_code=None if closed is None else closed.code,
            closed_params=None if closed is None else closed.params,
        )

    async def attempts_of(self, worker_id: str) -> list[AttemptRow]:
        """The newest attempts that were placed on a worker, with recorded seq and status, newest first."""
        return await self._database.read(lambda c: attempts_of_worker(c, worker_id, ATTEMPTS_REMEMBERED))

    async def late_result(self, worker: str, run_id: str, attempt: int, seq: int, body: bytes) -> None:
        """A worker reports the end of a run that had ended here: keep it beside the run (D-4).

        What another worker says of it is dropped.

        Raises:
            LookupError: the run goes on here. Its worker is to report again when the attempt is taken over.
        """
        if not 0 < attempt <= MAX_INTEGER:
            return
        row = await self._database.read(lambda connection: read_attempt(connection, run_id, attempt))
        if row is None or row.worker_id != worker or seq <= row.recorded_seq:
            return
        try:
            msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError):
            logger.warning("run %s: its late result cannot be read", run_id)
            return
        if row.status not in ENDED_STATUSES:
            raise LookupError(f"run {run_id} has not ended here")
        await self._database.write(lambda connection: put_late_result(connection, run_id, body))
