"""The attempts of an agent: their folders, spools and children, as the session's decisions order them."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from codefy_agent.inputs import Gather, carried
from codefy_agent.machine import Machine
from codefy_agent.records import AttemptRecords
from codefy_agent.runner import Folders, Record, Runner, RunnerSettings
from codefy_agent.session import AgentSession, AttemptKey, Decision, RestoredAttempt
from codefy_agent.spool import Spool
from codefy_agent.standby_children import StandbyChildren
from codefy_agent.state import RunState
from codefy_agent.store import AttemptStore
from codefy_protocol import reasons
from codefy_protocol.bodies import RunError, RunFinishedBody
from codefy_protocol.envelope import encode_body
from codefy_protocol.frames import Assign
from codefy_protocol.pipe import ChildRecord
from codefy_protocol.reasons import Reason, reason

logger = logging.getLogger(__name__)

_DEFAULT_CAP = 128 * 1024


class Workshop:
    """Starts, stops and records attempts.

    Args:
        engine_command: the child's command with ``{read}`` and ``{write}``; ``None`` when no engine was found: every
            assignment then fails with the remedy.
        files: where runs find files, when the control plane names no folder that is here.
        gather: gets what an assignment names by hash.
        standby: children that were started ahead, when there are to be any.
        machine: knows when a run has left its cards.
    """

    def __init__(
        self,
        store: AttemptStore,
        *,
        engine_command: Sequence[str] | None,
        files: Path,
        decided: Callable[[Sequence[Decision]], None],
        gather: Gather = carried,
        runner_settings: RunnerSettings | None = None,
        standby: StandbyChildren | None = None,
        machine: Machine | None = None,
    ) -> None:
        self._standby = standby
        self._machine = machine
        self._store = store
        self._engine_command = engine_command
        self._files = files
        self._decided = decided
        self._gather = gather
        self._runner_settings = runner_settings
        self._found: dict[AttemptKey, Spool] = {}
        self._records: dict[AttemptKey, AttemptRecords] = {}
        self._runners: dict[AttemptKey, Runner] = {}
        self._runs: dict[AttemptKey, RunState] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._session: AgentSession

    def restore(self) -> list[RestoredAttempt]:
        """What a process before this one left."""
        self._store.prune()
        found = self._store.find()
        for each in found:
            self._found[each.restored.run_id, each.restored.attempt] = each.spool
        return [each.restored for each in found]

    def use(self, session: AgentSession) -> None:
        """Before anything else: the session that numbers the records."""
        self._session = session
        for (run_id, attempt), spool in self._found.items():
            self._add_records(run_id, attempt, spool, _DEFAULT_CAP)
        self._found.clear()

    def runs(self) -> tuple[RunState, ...]:
        """What runs now, for ``status``."""
        return tuple(
            msgspec.structs.replace(run, pid=self._runners[key].pid) for key, run in self._runs.items()
        )

    def waiting_records(self) -> int:
        """Records without an acknowledgement."""
        return sum(self._session.unacknowledged(*key) for key in self._records)

    # -------------------------------------------------------------- decisions
    def start(self, assign: Assign) -> None:
        """Begin an attempt; what cannot begin ends at once with its reason."""
        key = (assign.run_id, assign.attempt)
        records = self._records_of(*key, payload_cap=assign.payload_cap)
        if self._engine_command is None:
            records.finish(failed(reason(reasons.ENGINE_MISSING, worker=self._session.worker_id)))
            return
        try:
            runner = Runner(
                assign,
                command=self._engine_command,
                folders=self._folders(assign),
                worker=self._session.worker_id,
                record=records.add if self._standby is None else self._watching(key, records, self._standby),
                gather=self._gather,
                take_standby=None if self._standby is None else self._standby.take,
                begun=None
                if self._machine is None
                else functools.partial(self._machine.run_started, key, assign),
                settings=self._runner_settings,
            )
        except OSError as error:
            records.finish(failed(reason(reasons.CHILD_NOT_STARTED, detail=str(error))))
            return
        if self._standby is not None:
            self._standby.run_assigned(key, assign)
        self._runners[key] = runner
        self._runs[key] = RunState(
            run_id=assign.run_id,
            attempt=assign.attempt,
            devices=tuple(device.name for device in assign.devices),
            since=time.time(),
        )
        task = asyncio.create_task(self._live(key, runner, records), name=f"run {assign.run_id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def cancel(self, run_id: str, attempt: int, grace_s: float, *, agent_stopped: bool) -> None:
        """Ask the attempt's child to stop."""
        runner = self._runners.get((run_id, attempt))
        if runner is not None:
            runner.cancel(grace_s, agent_stopped=agent_stopped)

    def finish(self, run_id: str, attempt: int, body: bytes) -> None:
        """Write the end of an attempt that has no child."""
        self._records_of(run_id, attempt).finish(body)

    def truncate(self, run_id: str, attempt: int, seq: int) -> None:
        """The control plane has everything up to ``seq``."""
        records = self._records.get((run_id, attempt))
        if records is not None:
            records.spool.truncate(seq)

    def forget(self, run_id: str, attempt: int) -> None:
        """Everything of an ended attempt was delivered."""
        records = self._records.pop((run_id, attempt), None)
        if records is not None:
            records.spool.delete()
        self._store.prune()

    def read(self, run_id: str, attempt: int, first_seq: int, last_seq: int) -> list[bytes]:
        """Encoded frames for the socket. What the disk does not give back is left out: the other side sees the gap."""
        records = self._records.get((run_id, attempt))
        if records is None:
            return []
        try:
            return records.spool.read(first_seq, last_seq)
        except OSError as error:
            logger.warning("run %s: its spool cannot be read: %s", run_id, error)
            return []

    def retry_writes(self) -> None:
        """Give the disk another chance where it refused."""
        for records in list(self._records.values()):
            records.retry()

    async def close(self) -> None:
        """End what still runs, and close the spools: they stay for the next process."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for records in self._records.values():
            records.spool.close()

    # -------------------------------------------------------------- one attempt
    async def _live(self, key: AttemptKey, runner: Runner, records: AttemptRecords) -> None:
        try:
            body = await runner.run()
        except Exception as error:
            logger.exception("run %s: its supervision failed", key[0])
            body = failed(reason(reasons.CHILD_DIED, how=f"its agent had an error ({error!r})"))
        finally:
            del self._runners[key]
            del self._runs[key]
            if self._standby is not None:
                self._standby.run_ended(key)
        try:
            if self._machine is not None:
                await self._machine.left(key, runner.stuck)
        finally:
            records.finish(body)

    @staticmethod
    def _watching(key: AttemptKey, records: AttemptRecords, standby: StandbyChildren) -> Record:
        """Takes records, and tells when the first event shows that the run is at work."""
        waiting = True

        def record(each: Sequence[ChildRecord]) -> None:
            nonlocal waiting
            records.add(each)
            if waiting and any(one.frame == "event" for one in each):
                waiting = False
                standby.run_at_work(key)

        return record

    def _folders(self, assign: Assign) -> Folders:
        """Where the attempt works: the control plane's own folders when they are on this machine, else ours.

        The control plane makes the run's folder before it assigns: where a folder of that name exists, it is that one.
        """
        home = self._store.home(assign.run_id, assign.attempt)
        home.mkdir(parents=True, exist_ok=True)
        run = _given_folder(assign, "run_dir")
        if run is None:
            run = home / "run"
            run.mkdir(exist_ok=True)
        files = _given_folder(assign, "files_dir") if run != home / "run" else None
        if files is None:
            files = self._files
            files.mkdir(parents=True, exist_ok=True)
        return Folders(home=home, run=run, files=files)

    def _records_of(self, run_id: str, attempt: int, *, payload_cap: int = _DEFAULT_CAP) -> AttemptRecords:
        records = self._records.get((run_id, attempt))
        if records is None:
            records = self._add_records(run_id, attempt, self._store.spool(run_id, attempt), payload_cap)
        return records

    def _add_records(self, run_id: str, attempt: int, spool: Spool, payload_cap: int) -> AttemptRecords:
        records = AttemptRecords(
            run_id,
            attempt,
            spool=spool,
            session=self._session,
            payload_cap=payload_cap,
            decided=self._decided,
        )
        self._records[run_id, attempt] = records
        return records


def _given_folder(assign: Assign, name: str) -> Path | None:
    given = assign.storage.get(name)
    if assign.storage.get("backend", "local") != "local" or not given:
        return None
    folder = Path(given)
    if not (folder.is_absolute() and folder.is_dir() and os.access(folder, os.W_OK)):
        return None
    return folder


def failed(why: Reason) -> bytes:
    """Body of a ``run_finished`` that failed for this reason."""
    error = RunError(code=why.code, message=why.message, params=why.params)
    return encode_body(RunFinishedBody(status="failed", error=error))
