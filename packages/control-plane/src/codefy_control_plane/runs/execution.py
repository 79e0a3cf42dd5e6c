"""One attempt from its placement to its end: start row, executor, stop and grace, terminal event."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import sqlite3
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

import msgspec

from codefy_control_plane.runs.console import OUTPUT_LOG, ConsoleCapture, RunLog, capture_into
from codefy_control_plane.runs.facts import SERVER, WORKER_RUN
from codefy_control_plane.runs.feed import Feed
from codefy_control_plane.runs.live import LiveRun
from codefy_control_plane.runs.ports import AcknowledgingExecutor, CancellableExecutor, RunExecutor, Workers
from codefy_control_plane.runs.recorder import NODE_PROGRESS, AttemptRecorder
from codefy_control_plane.runs.secrets import SecretVault
from codefy_control_plane.runs.submission import INTERACTIVE_LANE
from codefy_control_plane.runs.terminal import run_end, run_error, start_event
from codefy_control_plane.scheduling.model import Placement
from codefy_control_plane.settings import Settings
from codefy_control_plane.storage.attempts import (
    CANCELLED,
    DISCONNECTED,
    FAILED,
    INTERRUPTED,
    AttemptStart,
    end_run,
    read_attempt,
    start_attempt,
)
from codefy_control_plane.storage.database import Database
from codefy_control_plane.storage.events import last_payload, stored_events
from codefy_control_plane.storage.graphs import read_graph
from codefy_control_plane.storage.metrics import latest_metrics
from codefy_control_plane.storage.node_sources import read_node_sources
from codefy_engine.execution.executor import ExecutionOutcome, ExecutionRequest, InProcessExecutor
from codefy_engine.execution.outputs import OutputStore
from codefy_engine.execution.secrets import Redactor
from codefy_engine.graph.document import GraphDocument, parse_graph
from codefy_engine.nodes.registry import Registry, default_registry
from codefy_engine.nodes.travelling import packages_of
from codefy_protocol import reasons
from codefy_protocol.frames import NodeSource
from codefy_protocol.names import RunOptions
from codefy_protocol.reasons import reason

T = TypeVar("T")

logger = logging.getLogger("codefy.runs")

FLUSH_S = 0.03
"""How often the records of a run in the server are committed at most."""
RETRY_S = 1.0
"""Pause after the database or the disk refused a write."""
ERRORS_OF_STORAGE = (OSError, sqlite3.Error)


class AttemptRunner:
    """Executes attempts, here or on workers.

    Args:
        changed: called when a run's row or progress changed.
        vault: values of secrets of runs.
        registry: node types of runs in the server; those installed by default.
        outputs: where runs in the server keep their outputs.
    """

    def __init__(
        self,
        settings: Settings,
        database: Database,
        feed: Feed,
        *,
        changed: Callable[[], None],
        vault: SecretVault,
        registry: Registry | None = None,
        outputs: OutputStore | None = None,
    ) -> None:
        self.workers: Workers | None = None
        self.closing = asyncio.Event()
        """Set when the server stops: runs here end, runs on workers are left to the next server."""
        self._settings = settings
        self._database = database
        self._feed = feed
        self._changed = changed
        self._vault = vault
        self._registry = registry
        self._outputs = outputs

    async def execute(self, live: LiveRun, placement: Placement) -> asyncio.Task[ExecutionOutcome] | None:
        """Run an attempt to its end, which is stored when this returns.

        Returns the task of an executor that ignored its stop: its thread goes on, and keeps its slots until the task
        is done (L-4). Cancelled, it leaves a worker's run to the next server.
        """
        document = await self._document(live)
        began = (
            await self._adopt(live)
            if live.adopted is not None
            else await self._start(live, placement, document)
        )
        if not began:
            return None
        recorder = live.recorder
        assert recorder is not None
        run_dir = self._settings.runs_dir / live.run_id
        # Before a worker on this machine is told of it: it works in this folder when it finds it.
        await self._insist(lambda: asyncio.to_thread(run_dir.mkdir, parents=True, exist_ok=True))
        sources, packages = await self._luggage(live, placement)
        since = time.monotonic()
        request = ExecutionRequest(
            run_id=live.run_id,
            attempt=live.attempt,
            graph=document,
            options=_options(live, placement),
            device=placement.device,
            run_dir=run_dir,
            files_dir=self._settings.files_dir,
            payload_cap=self._settings.payload_cap_bytes,
            secrets=self._vault.of(live.run_id),
            sinks=recorder.sinks,
            stop=live.stop,
            registry=self._registry,
            state=live.state if placement.local else None,
            node_sources=sources,
            node_packages=packages,
            outputs=self._outputs if placement.local else None,
        )
        executor: RunExecutor | None = None
        leftover: asyncio.Task[ExecutionOutcome] | None = None
        try:
            if placement.local:
                outcome, leftover = await self._run_here(live, recorder, request)
            else:
                outcome, executor = await self._run_on_worker(live, placement, recorder, request)
        except Exception:
            logger.exception("run %s: its executor failed", live.run_id)
            why = reason(reasons.INTERNAL_ERROR, error_id=live.run_id)
            outcome = ExecutionOutcome(status=FAILED, error=run_error(why))
        duration_s = time.monotonic() - since
        if live.adopted is not None:
            duration_s = max(duration_s, time.time() - live.adopted.started_at)
        await self._finish(live, recorder, outcome, executor, duration_s)
        return leftover

    async def end_unstarted(self, live: LiveRun, status: str, why: reasons.Reason | None = None) -> bool:
        """Store the end of a run that has no attempt; returns whether it had not ended before."""
        end = run_end(status, time.time(), error=None if why is None else run_error(why))
        _, counts = await self._insist(lambda: self._database.write(lambda c: end_run(c, live.run_id, end)))
        if counts is not None:
            self._feed.publish(
                live.run_id,
                event_count=counts.events,
                events=lambda: stored_events(counts.events, [end.event]),
                metric_count=counts.metrics,
                ended=True,
            )
        return counts is not None

    # ------------------------------------------------------------------ the start

    async def _document(self, live: LiveRun) -> GraphDocument:
        stored = await self._insist(
            lambda: self._database.read(lambda connection: read_graph(connection, live.graph_hash))
        )
        if stored is None:
            raise LookupError(f"the graph {live.graph_hash} of run {live.run_id} is not stored")
        return await asyncio.to_thread(parse_graph, stored)

    async def _luggage(
        self, live: LiveRun, placement: Placement
    ) -> tuple[tuple[NodeSource, ...], dict[str, str]]:
        """What a worker needs beside the graph: node files, and the packages that its engine must have."""
        if placement.local:
            return (), {}
        sources = await self._insist(
            lambda: self._database.read(lambda connection: read_node_sources(connection, live.run_id))
        )
        registry = self._registry or default_registry()
        return sources, packages_of(live.request.node_types - live.request.file_types, registry)

    def _recorder(self, live: LiveRun, source: str = WORKER_RUN) -> AttemptRecorder:
        path = self._settings.runs_dir / live.run_id
        recorder = AttemptRecorder(
            live.run_id,
            live.attempt,
            database=self._database,
            feed=self._feed,
            log=RunLog(path / OUTPUT_LOG, self._settings.max_log_bytes),
            payload_cap=self._settings.payload_cap_bytes,
            redactor=Redactor(self._vault.of(live.run_id)),
            source=source,
        )
        recorder.on_commit = self._changed
        live.recorder = recorder
        return recorder

    async def _start(self, live: LiveRun, placement: Placement, document: GraphDocument) -> bool:
        """Commit the attempt and ``execution_start``; whether the run may go on (it may be cancelled by now)."""
        live.attempt += 1
        now = time.time()
        event = start_event(
            now,
            name=live.name,
            device=placement.device,
            document=document,
            worker_id=None if placement.local else placement.worker_id,
            attempt=live.attempt,
        )
        start = AttemptStart(
            run_id=live.run_id,
            attempt=live.attempt,
            worker_id=placement.worker_id,
            devices=placement.devices,
            slots=placement.slots,
            at=now,
            event=event,
        )
        counts = await self._insist(lambda: self._database.write(lambda c: start_attempt(c, start)))
        if counts is None:
            await self.end_unstarted(live, CANCELLED)
            return False
        self._recorder(live, SERVER if placement.local else WORKER_RUN)
        self._feed.publish(
            live.run_id,
            event_count=counts.events,
            events=lambda: stored_events(counts.events, [event]),
            metric_count=counts.metrics,
        )
        self._changed()
        return True

    async def _adopt(self, live: LiveRun) -> bool:
        """Go on with an attempt that an earlier process started (D-6)."""
        assert live.adopted is not None
        live.attempt = live.adopted.attempt
        recorder = self._recorder(live)
        recorder.latest_metrics, recorder.progress = await self._insist(
            lambda: self._database.read(
                lambda c: (latest_metrics(c, live.run_id), last_payload(c, live.run_id, NODE_PROGRESS))
            )
        )
        recorder.status(DISCONNECTED)
        recorder.warn(reason(reasons.WORKER_ADOPTED, worker=live.adopted.worker_id))
        await self._insist(recorder.commit)
        return True

    # ------------------------------------------------------------------ in the server

    async def _run_here(
        self, live: LiveRun, recorder: AttemptRecorder, request: ExecutionRequest
    ) -> tuple[ExecutionOutcome, asyncio.Task[ExecutionOutcome] | None]:
        context = contextvars.copy_context()
        console = ConsoleCapture(recorder.console, request.secrets.values())
        context.run(capture_into, console)
        async with _flushing(recorder):
            running = asyncio.create_task(InProcessExecutor().run(request), context=context)
            try:
                await self._until_ended_or_given_up(live, running)
            except asyncio.CancelledError:
                running.cancel()
                raise
        console.finish()
        if running.done():
            return running.result(), None
        recorder.warn(reason(reasons.STOP_IGNORED, seconds=self._settings.local_grace_s))
        return ExecutionOutcome(status=CANCELLED), running

    async def _until_ended_or_given_up(self, live: LiveRun, running: asyncio.Task[ExecutionOutcome]) -> None:
        stopping = asyncio.create_task(live.stopping.wait())
        closing = asyncio.create_task(self.closing.wait())
        try:
            await asyncio.wait((running, stopping), return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait(
                (running, closing), timeout=self._settings.local_grace_s, return_when=asyncio.FIRST_COMPLETED
            )
            if not running.done() and self.closing.is_set():
                await asyncio.wait((running,), timeout=self._settings.shutdown_grace_s)
        finally:
            stopping.cancel()
            closing.cancel()

    # ------------------------------------------------------------------ on a worker

    async def _run_on_worker(
        self, live: LiveRun, placement: Placement, recorder: AttemptRecorder, request: ExecutionRequest
    ) -> tuple[ExecutionOutcome, RunExecutor]:
        if self.workers is None:
            raise LookupError("this server has no registry of workers")
        recorded_seq = None if live.adopted is None else live.adopted.recorded_seq
        while True:
            executor = self.workers.executor(placement, recorder, recorded_seq=recorded_seq)
            try:
                return await _run_with_cancel(live, executor, request), executor
            except ERRORS_OF_STORAGE:
                logger.exception(
                    "run %s: what its worker sent could not be stored; asking again", live.run_id
                )
            # The worker keeps what was not acknowledged and sends it again.
            recorder.discard()
            await asyncio.sleep(RETRY_S)
            row = await self._insist(
                lambda: self._database.read(lambda c: read_attempt(c, live.run_id, live.attempt))
            )
            recorded_seq = 0 if row is None else row.recorded_seq

    # ------------------------------------------------------------------ the end

    async def _finish(
        self,
        live: LiveRun,
        recorder: AttemptRecorder,
        outcome: ExecutionOutcome,
        executor: RunExecutor | None,
        duration_s: float,
    ) -> None:
        status, error = outcome.status, outcome.error
        if error is not None:
            # What became of a worker's run is told by its agent too.
            error = Redactor(self._vault.of(live.run_id)).error(error)
        if status == CANCELLED and live.interrupted is not None and not live.cancel_requested:
            status, error = INTERRUPTED, run_error(live.interrupted)
        if status in (FAILED, INTERRUPTED) and error is None:
            error = run_error(reason(reasons.INTERNAL_ERROR, error_id=live.run_id))
        if status == INTERRUPTED and executor is not None and error is not None:
            recorder.facts({"error_reason": error.code})
        end = run_end(
            status, time.time(), duration_s=duration_s, error=error, peak_memory=outcome.peak_memory
        )
        acknowledging = executor if isinstance(executor, AcknowledgingExecutor) else None
        final_seq = None if acknowledging is None else acknowledging.final_seq
        await self._insist(lambda: recorder.end(end, recorded_seq=final_seq))
        if acknowledging is not None:
            acknowledging.settled()
        self._changed()

    async def _insist(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Try again while the disk or the database refuses, until the server stops."""
        while True:
            try:
                return await attempt()
            except ERRORS_OF_STORAGE:
                if self.closing.is_set():
                    raise
                logger.exception("the database could not be used; trying again in %s s", RETRY_S)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.closing.wait(), RETRY_S)


def _options(live: LiveRun, placement: Placement) -> RunOptions:
    """The options as the engine gets them: the canvas looks at what its runs gave without asking for it (L-1)."""
    if placement.local and live.lane == INTERACTIVE_LANE:
        return msgspec.structs.replace(live.options, record_outputs=True)
    return live.options


async def _run_with_cancel(
    live: LiveRun, executor: RunExecutor, request: ExecutionRequest
) -> ExecutionOutcome:
    running = asyncio.create_task(executor.run(request))
    stopping = asyncio.create_task(live.stopping.wait())
    try:
        await asyncio.wait((running, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not running.done() and isinstance(executor, CancellableExecutor):
            await executor.cancel()
        return await running
    finally:
        stopping.cancel()
        if not running.done():
            running.cancel()
            await asyncio.wait((running,))


@asynccontextmanager
async def _flushing(recorder: AttemptRecorder) -> AsyncGenerator[None]:
    """Commit what a run here produces, every ``FLUSH_S`` at most, while the block runs."""
    loop = asyncio.get_running_loop()
    pending, done = asyncio.Event(), asyncio.Event()
    pending.set()

    def on_pending() -> None:
        # The loop is closed when a thread that ignored its stop outlives the server.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(pending.set)

    async def flush() -> None:
        while not done.is_set():
            await pending.wait()
            pending.clear()
            pause = FLUSH_S
            try:
                await recorder.commit()
            except ERRORS_OF_STORAGE:
                logger.exception("what run %s produced could not be stored; trying again", recorder.run_id)
                pending.set()
                pause = RETRY_S
            with suppress(TimeoutError):
                await asyncio.wait_for(done.wait(), pause)

    recorder.on_pending = on_pending
    task = asyncio.create_task(flush())
    try:
        yield
    finally:
        recorder.on_pending = None
        done.set()
        pending.set()
        await task
