"""One attempt's child, from start to exit: its records, its console, how it is stopped and how it ended (P-1, P-3, P-7)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from codefy_agent.console import ConsoleStream
from codefy_agent.environment import child_environment, device_of_run
from codefy_agent.inputs import Gather, Inputs, InputsFailed, carried
from codefy_agent.process import MARK, GuardedProcess, ProcessEnd, ProcessNotStarted
from codefy_agent.standby_children import StandbyChild
from codefy_agent.stopping import Escalation, Stage
from codefy_protocol import PROTOCOL_VERSION, __version__, pipe, reasons
from codefy_protocol.bodies import ConsoleBody, RunError, RunFinishedBody
from codefy_protocol.envelope import encode_body
from codefy_protocol.frames import RECORD_BY_TAG, Assign
from codefy_protocol.reasons import Reason, reason

logger = logging.getLogger(__name__)

RUN_FINISHED = "run_finished"
_NO_ENGINE = "No module named 'codefy_engine'"
_finished_decoder = msgspec.json.Decoder(RunFinishedBody)

Begun = Callable[[int, str], None]
"""Told the process id and the mark of the run's main process."""

TakeStandby = Callable[[Assign], Awaitable[StandbyChild | None]]
"""A child that was started ahead and suits the assignment."""

Record = Callable[[Sequence[pipe.ChildRecord]], None]
"""Takes records for the spool, in order."""


class RunnerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Times in seconds."""

    preamble_timeout_s: float = 60.0
    """How long a fresh interpreter may take to say who it is; a cold network disk is slow."""
    exit_grace_s: float = 30.0
    """How long a child that reported its end may take to exit."""
    console_flush_s: float = 0.1


class Folders(msgspec.Struct, frozen=True):
    """Where one attempt reads and writes."""

    home: Path
    """The attempt's own folder on this machine: log and spool."""
    run: Path
    """Where the graph writes."""
    files: Path


class Runner:
    """Supervises one attempt. ``run`` is its whole life.

    Args:
        command: the child's command with ``{read}`` and ``{write}`` (see ``engine_env``).
        worker: the name this agent is known by, for sentences.
        record: called with every record but ``run_finished``.
        gather: gets what the assignment names by hash, before the child is started.
        take_standby: gives a child that was started ahead, when there is one.
        begun: called when the run has a process; again, when it has to have another one.
    """

    def __init__(
        self,
        assign: Assign,
        *,
        command: Sequence[str],
        folders: Folders,
        worker: str,
        record: Record,
        gather: Gather = carried,
        take_standby: TakeStandby | None = None,
        begun: Begun | None = None,
        inherited: Mapping[str, str] | None = None,
        settings: RunnerSettings | None = None,
    ) -> None:
        self.pid: int | None = None
        self.stuck: tuple[int, ...] = ()
        """Processes of the run that could not be killed."""
        self._assign = assign
        self._command = command
        self._folders = folders
        self._worker = worker
        self._record = record
        self._gather = gather
        self._take_standby = take_standby
        self._begun = begun
        self._inputs: Inputs | None = None
        self._inherited = os.environ if inherited is None else inherited
        self._settings = settings or RunnerSettings()
        self._escalation = Escalation()
        self._agent_stopped = False
        self._changed = asyncio.Event()
        self._process: GuardedProcess | None = None
        self._chunks = pipe.ChunkReader()
        self._console = ConsoleStream(folders.home / "output.log", assign.secrets.values())
        self._console_timer: asyncio.TimerHandle | None = None
        self._greeted = False
        self._started = False
        """Whether the child reported anything of the run."""
        self._refusal: Reason | None = None
        self._finished: bytes | None = None
        self._finished_at = 0.0
        self._born = 0.0

    # -------------------------------------------------------------- from outside
    def cancel(self, grace_s: float, *, agent_stopped: bool = False) -> None:
        """Ask the run to stop; terminated after ``grace_s``, killed 5 s later. A later call can only shorten that."""
        self._agent_stopped = self._agent_stopped or (
            agent_stopped and self._escalation.stage is Stage.RUNNING
        )
        if self._escalation.ask(grace_s, time.monotonic()) and self._greeted:
            self._send(pipe.StopRun())
        self._changed.set()

    async def run(self) -> bytes:
        """Run the child; returns the body of ``run_finished`` once every process of the run is gone."""
        assign = self._assign
        try:
            self._inputs = await self._gathered()
        except InputsFailed as failure:
            return self._failed(failure.why)
        if self._inputs is None:
            if self._agent_stopped:
                return self._failed(reason(reasons.AGENT_STOPPED, worker=self._worker))
            return encode_body(RunFinishedBody(status="cancelled"))
        try:
            process, end = await self._execute()
        except ProcessNotStarted as error:
            return self._failed(reason(reasons.CHILD_NOT_STARTED, detail=str(error)))
        finally:
            self._finish_console()
        self.stuck = end.stuck
        if end.stuck:
            logger.warning("run %s: processes %s cannot be killed", assign.run_id, end.stuck)
        return self._verdict(process, end)

    async def _execute(self) -> tuple[GuardedProcess, ProcessEnd]:
        """Run in a child that was started ahead, when there is one for this run, else in a new one.

        Raises:
            ProcessNotStarted: there is none to run in.
        """
        standby = None if self._take_standby is None else await self._take_standby(self._assign)
        if standby is not None:
            end = await self._live(standby.process, standby)
            if self._started or self._refusal is not None or self._escalation.stage is not Stage.RUNNING:
                return standby.process, end
            # Waiting is no part of the run: what ended the child then is not this run's failure.
            logger.warning("run %s starts anew: its standby child ended (%s)", self._assign.run_id, end)
            self._greeted, self._chunks = False, pipe.ChunkReader()
        process = self._new_process()
        return process, await self._live(process)

    def _new_process(self) -> GuardedProcess:
        assign = self._assign
        environment = child_environment(self._inherited, assign.devices)
        environment[MARK] = f"{assign.run_id}.{assign.attempt}.{secrets.token_hex(8)}"
        return GuardedProcess(
            self._command,
            environment=environment,
            folder=self._folders.run,
            on_records=self._received,
            on_console=self._printed,
        )

    async def _live(self, process: GuardedProcess, standby: StandbyChild | None = None) -> ProcessEnd:
        """From the start, or the hand-over, to the end of every process of the run."""
        self._process = process
        self._born = time.monotonic()
        try:
            if standby is None:
                self.pid = await process.start()
            else:
                self.pid = standby.pid
                standby.attach(self._received, self._printed)
                self._begin()
            if self._begun is not None:
                self._begun(self.pid, process.mark)
            await self._watch(process)
            return await process.wait()
        finally:
            await process.close()

    async def _gathered(self) -> Inputs | None:
        """What the child is to be given; ``None`` when the run was stopped first.

        Raises:
            InputsFailed: it cannot be had.
        """
        gathering = asyncio.ensure_future(self._gather(self._assign))
        try:
            while not gathering.done() and self._escalation.stage is Stage.RUNNING:
                self._changed.clear()
                changed = asyncio.ensure_future(self._changed.wait())
                try:
                    await asyncio.wait((gathering, changed), return_when="FIRST_COMPLETED")
                finally:
                    changed.cancel()
            return gathering.result() if self._escalation.stage is Stage.RUNNING else None
        finally:
            gathering.cancel()
            with contextlib.suppress(asyncio.CancelledError, InputsFailed):
                await gathering

    # -------------------------------------------------------------- supervision
    async def _watch(self, process: GuardedProcess) -> None:
        """Until the main process exits: carry out the escalation and the limits."""
        exited = asyncio.ensure_future(process.exited.wait())
        try:
            while not exited.done():
                now = time.monotonic()
                stage = self._escalation.due(now)
                if stage is Stage.TERMINATED:
                    process.terminate()
                limit = self._limit()
                if limit is not None and now >= limit:
                    self._overdue()
                if self._escalation.stage is Stage.KILLED:
                    process.kill()
                deadlines = [each for each in (self._escalation.deadline, self._limit()) if each is not None]
                timeout = max(min(deadlines) - now, 0.0) if deadlines else None
                self._changed.clear()
                changed = asyncio.ensure_future(self._changed.wait())
                try:
                    await asyncio.wait((exited, changed), timeout=timeout, return_when="FIRST_COMPLETED")
                finally:
                    changed.cancel()
        finally:
            exited.cancel()

    def _limit(self) -> float | None:
        """When the child is overdue with its greeting or its exit."""
        if self._escalation.stage is Stage.KILLED:
            return None
        if not self._greeted:
            return self._born + self._settings.preamble_timeout_s
        if self._finished is not None:
            return self._finished_at + self._settings.exit_grace_s
        return None

    def _overdue(self) -> None:
        if not self._greeted:
            seconds = f"{self._settings.preamble_timeout_s:.0f}"
            self._refuse(
                reason(reasons.CHILD_NOT_STARTED, detail=f"the engine did not answer within {seconds} s")
            )
        else:
            logger.warning("run %s reported its end and did not exit; it is killed", self._assign.run_id)
            self._escalation.kill()

    def _refuse(self, why: Reason) -> None:
        """Give the child up for this reason."""
        self._refusal = self._refusal or why
        self._escalation.kill()
        self._changed.set()

    # -------------------------------------------------------------- the pipe
    def _send(self, message: pipe.StartRun | pipe.StopRun) -> None:
        if self._process is not None:
            self._process.send(pipe.encode_chunk([message]))

    def _received(self, data: bytes) -> None:
        if self._refusal is not None:
            return
        try:
            for chunk in self._chunks.feed(data):
                self._take(pipe.decode_child_messages(chunk))
        except pipe.MalformedPipe as error:
            self._refuse(reason(reasons.CHILD_DIED, how=f"it wrote something else than records ({error})"))

    def _take(self, messages: Sequence[pipe.ChildMessage]) -> None:
        records: list[pipe.ChildRecord] = []
        for message in messages:
            if isinstance(message, pipe.Preamble):
                self._greet(message)
            elif isinstance(message, pipe.Warm):
                raise pipe.MalformedPipe("it was not asked to get ready for a run")
            elif not self._greeted:
                raise pipe.MalformedPipe("a record before the preamble")
            elif self._finished is not None:
                logger.warning(
                    "run %s: a %s record after its end is dropped", self._assign.run_id, message.frame
                )
            elif message.frame == RUN_FINISHED:
                # Held back: the run ends when its process does.
                self._started = True
                self._finished, self._finished_at = message.body, time.monotonic()
                self._changed.set()
            elif message.frame in RECORD_BY_TAG:
                records.append(message)
        if records and self._refusal is None:
            self._started = True
            self._record(records)

    def _greet(self, preamble: pipe.Preamble) -> None:
        if (preamble.protocol_version, preamble.engine_version) != (PROTOCOL_VERSION, __version__):
            self._refuse(
                reason(
                    reasons.ENGINE_VERSION_MISMATCH,
                    worker=self._worker,
                    engine=preamble.engine_version,
                    agent=__version__,
                )
            )
            return
        self._begin()

    def _begin(self) -> None:
        """Give the child its run."""
        self._greeted = True
        assign, given = self._assign, self._inputs or Inputs(b"")
        self._send(
            pipe.StartRun(
                run_id=assign.run_id,
                attempt=assign.attempt,
                graph=given.graph,
                options=assign.options,
                payload_cap=assign.payload_cap,
                device=device_of_run(assign.device, assign.devices),
                devices=assign.devices,
                run_dir=str(self._folders.run),
                files_dir=str(self._folders.files),
                secrets=assign.secrets,
                memory_budgets=assign.memory_budgets,
                node_files=given.node_files,
                node_packages=assign.node_packages,
            )
        )
        if self._escalation.stage is Stage.ASKED:  # cancelled before it could be told
            self._send(pipe.StopRun())
        self._changed.set()

    # -------------------------------------------------------------- the console
    def _printed(self, data: bytes) -> None:
        if self._console.feed(data):
            self._flush_console()
        elif self._console_timer is None:
            loop = asyncio.get_running_loop()
            self._console_timer = loop.call_later(self._settings.console_flush_s, self._flush_console)

    def _flush_console(self) -> None:
        if self._console_timer is not None:
            self._console_timer.cancel()
            self._console_timer = None
        self._record_console(self._console.records())

    def _finish_console(self) -> None:
        if self._console_timer is not None:
            self._console_timer.cancel()
        self._record_console(self._console.finish())
        if self._console.log_error is not None:
            logger.warning(
                "run %s: output.log is incomplete: %s", self._assign.run_id, self._console.log_error
            )

    def _record_console(self, bodies: Sequence[ConsoleBody]) -> None:
        if bodies:
            now = time.time()
            self._record(
                [pipe.ChildRecord(frame="console", ts=now, body=encode_body(body)) for body in bodies]
            )

    # -------------------------------------------------------------- the end
    def _verdict(self, process: GuardedProcess, end: ProcessEnd) -> bytes:
        if self._refusal is not None:
            return self._failed(self._refusal, end)
        if self._finished is not None:
            if self._agent_stopped and self._status(self._finished) == "cancelled":
                return self._failed(reason(reasons.AGENT_STOPPED, worker=self._worker), end)
            return self._finished
        if self._agent_stopped:
            return self._failed(reason(reasons.AGENT_STOPPED, worker=self._worker), end)
        if self._escalation.stage is not Stage.RUNNING:
            # Exactly like a stop in process: however hard it had to be asked.
            return encode_body(RunFinishedBody(status="cancelled", exit_code=end.code, signal=end.signal))
        if process.failure and self._greeted:
            return self._failed(reason(reasons.CHILD_DIED, how=process.failure), end)
        if process.failure:
            return self._failed(reason(reasons.CHILD_NOT_STARTED, detail=process.failure), end)
        if not self._greeted and _NO_ENGINE in self._console.tail:
            return self._failed(reason(reasons.ENGINE_MISSING, worker=self._worker), end)
        return self._failed(reason(reasons.CHILD_DIED, how=str(end)), end)

    def _failed(self, why: Reason, end: ProcessEnd | None = None) -> bytes:
        error = RunError(
            code=why.code, message=why.message, params=why.params, output_tail=self._console.tail or None
        )
        return encode_body(
            RunFinishedBody(
                status="failed",
                error=error,
                exit_code=end.code if end else None,
                signal=end.signal if end else None,
            )
        )

    @staticmethod
    def _status(body: bytes) -> str:
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            return _finished_decoder.decode(body).status
        return ""
