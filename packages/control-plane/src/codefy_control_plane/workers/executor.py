"""The executor of attempts that run on a worker: the session's decisions become calls of the recorder (A-3)."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import sqlite3
import time
from typing import Protocol

import msgspec

from codefy_control_plane.scheduling.model import Placement
from codefy_control_plane.workers.checking import MalformedRecord, checked, checked_report
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
from codefy_control_plane.workers.seams import Recorder
from codefy_engine.execution.executor import ExecutionOutcome, ExecutionRequest
from codefy_engine.graph.document import canonical_bytes
from codefy_protocol.bodies import ConsoleBody, RunError, WarningBody
from codefy_protocol.capabilities import GRAPH_BY_HASH, NODE_SOURCES, RUN_FACTS
from codefy_protocol.codec import MAX_MESSAGE_BYTES
from codefy_protocol.envelope import encode_body
from codefy_protocol.frames import (
    Artifact,
    Assign,
    Console,
    Event,
    Metrics,
    RunFacts,
    RunRecord,
    RunStarted,
    RunWarning,
    frame_tag,
)
from codefy_protocol.inputs import MAX_GRAPH_BYTES, node_source_digest
from codefy_protocol.reasons import (
    CHILD_DIED,
    GRAPH_TOO_LARGE,
    MALFORMED_RECORD,
    NODE_FILES_NOT_TAKEN,
    PROVENANCE_NOT_TAKEN,
    Reason,
    reason,
)

logger = logging.getLogger("codefy.workers")

COMMIT_RETRY_S = 0.5
MAX_COMMIT_RETRY_S = 30.0
MAX_ASSIGN_BYTES = MAX_MESSAGE_BYTES - 64 * 1024
"""What an assignment carries; a larger graph is fetched by its hash, and the rest of the message is small (F-6)."""
_NODE_SOURCE_BYTES = 512
"""A name, a hash and a size at most, about."""

_console_decoder = msgspec.json.Decoder(ConsoleBody)

UNSTORABLE = (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.InterfaceError, OverflowError, ValueError)
"""What a commit raises because of the rows themselves: trying the same rows again cannot help."""


class Attempts(Protocol):
    """What an executor asks of the registry."""

    def place(
        self,
        worker: str,
        assign: Assign,
        executor: WorkerExecutor,
        *,
        recorded_seq: int | None,
        grace_s: float | None,
    ) -> None: ...

    def capabilities(self, worker: str) -> frozenset[str]: ...

    def cancel(self, worker: str, key: AttemptKey) -> None: ...

    def committed(self, worker: str, key: AttemptKey, seq: int) -> None: ...

    def settled(self, worker: str, key: AttemptKey, reported_seq: int | None) -> None: ...

    def detach(self, worker: str, key: AttemptKey) -> None: ...


class WorkerExecutor:
    """Runs one attempt on one worker.

    Implements the engine's ``Executor`` and adds :meth:`cancel`, :attr:`final_seq` and :meth:`settled` (see ``seams``).
    Cancelling the task that awaits :meth:`run` leaves the run going on the worker, for adoption by the next server.

    Args:
        recorded_seq: ``None`` for a new attempt, else the seq that was recorded before this server started (D-6).
    """

    def __init__(
        self,
        attempts: Attempts,
        placement: Placement,
        recorder: Recorder,
        *,
        payload_cap: int,
        grace_s: float,
        recorded_seq: int | None = None,
    ) -> None:
        self.placement = placement
        self.final_seq: int | None = None
        self._attempts = attempts
        self._recorder = recorder
        self._payload_cap = payload_cap
        self._grace_s = grace_s
        self._recorded_seq = recorded_seq
        self._inbox: asyncio.Queue[AttemptDecision] = asyncio.Queue()
        self._key: AttemptKey | None = None
        self._cancelled = False

    @property
    def worker_id(self) -> str:
        return self.placement.worker_id

    async def run(self, request: ExecutionRequest) -> ExecutionOutcome:
        """Assign the attempt, record what comes back, return how it ended.

        Every batch is committed before it is acknowledged. What is pending when this returns (nothing, or warnings) is
        committed by the caller together with the terminal event.
        """
        key = (request.run_id, request.attempt)
        # Encoding a large graph takes a while.
        assign = await asyncio.to_thread(self._assignment, request)
        why = self._refusal(assign, provenance=request.options.provenance)
        if why is not None:
            return ExecutionOutcome(status="failed", error=_error(why))
        with contextlib.suppress(OSError):
            # By this folder, named after the run, a worker knows that it is on the same machine.
            request.run_dir.mkdir(parents=True, exist_ok=True)
        self._key = key
        self._attempts.place(
            self.worker_id,
            assign,
            self,
            recorded_seq=self._recorded_seq,
            grace_s=request.options.resume_grace_s,
        )
        if self._cancelled or request.stop.is_set():
            self._attempts.cancel(self.worker_id, key)
        try:
            while True:
                outcome = await self._carry_out(key, await self._inbox.get())
                if outcome is not None:
                    return outcome
        except BaseException:
            self._attempts.detach(self.worker_id, key)
            raise

    async def cancel(self) -> None:
        """Forward a stop. The outcome still comes from the worker, or from the end of its grace."""
        self._cancelled = True
        if self._key is not None:
            self._attempts.cancel(self.worker_id, self._key)

    def settled(self) -> None:
        """The terminal event is committed: the worker may forget the attempt."""
        if self._key is not None:
            self._attempts.settled(self.worker_id, self._key, self.final_seq)

    def decide(self, decision: AttemptDecision) -> None:
        """Take a decision of the session, in order."""
        self._inbox.put_nowait(decision)

    # -------------------------------------------------------------- decisions

    async def _carry_out(self, key: AttemptKey, decision: AttemptDecision) -> ExecutionOutcome | None:
        match decision:
            case Deliver():
                for record in decision.records:
                    self._record(record)
            case Warn():
                self._warn(decision.reason)
            case SetStatus():
                self._recorder.status(decision.status)
            case Commit():
                await self._commit(key, decision.seq)
                self._attempts.committed(self.worker_id, key, decision.seq)
            case Reported():
                self.final_seq = decision.seq
                return self._reported(decision.body)
            case GiveUp():
                error = None if decision.reason is None else _error(decision.reason)
                return ExecutionOutcome(status=decision.status, error=error, peak_memory=None)
        return None

    async def _commit(self, key: AttemptKey, seq: int) -> None:
        """Commit, however long it takes: without it nothing is acknowledged, so the worker keeps everything."""
        delay = COMMIT_RETRY_S
        dropped = False
        while True:
            try:
                return await self._recorder.commit(recorded_seq=seq, resume=self._resume(seq))
            except UNSTORABLE as error:
                logger.exception(
                    "a batch of run %s attempt %s holds what cannot be stored; it is dropped", *key
                )
                self._recorder.drop_records(reason(MALFORMED_RECORD, frame="stored", detail=str(error)))
                if not dropped:
                    dropped = True
                    continue
            except (OSError, sqlite3.Error):
                logger.exception("a batch of run %s attempt %s could not be stored; trying again", *key)
            await asyncio.sleep(delay)
            delay = min(2 * delay, MAX_COMMIT_RETRY_S)

    def _record(self, record: RunRecord) -> None:
        try:
            self._keep(checked(record, time.time()))
        except (MalformedRecord, msgspec.DecodeError, RecursionError) as error:
            logger.warning(
                "run %s attempt %s: record %s cannot be read: %s",
                record.run_id,
                record.attempt,
                record.seq,
                error,
            )
            self._warn(reason(MALFORMED_RECORD, frame=frame_tag(type(record)), detail=str(error)))

    def _keep(self, record: RunRecord) -> None:
        """Put a record that passed into the batch.

        Raises:
            msgspec.DecodeError, RecursionError: it does not fit after all.
        """
        sinks = self._recorder.sinks
        match record:
            case Event():
                sinks.emit(record.kind, record.ts, record.body)
            case Metrics():
                sinks.record_metrics(record.ts, record.body)
            case Artifact():
                sinks.record_artifact(record.ts, record.body)
            case RunWarning():
                sinks.warn(record.ts, record.body)
            case RunStarted():
                self._recorder.started(record.body)
            case Console():
                self._recorder.console(_console_decoder.decode(record.body))
            case RunFacts():
                if sinks.facts is not None:
                    sinks.facts(record.ts, record.body)
            case _:
                pass

    def _warn(self, why: Reason) -> None:
        body = encode_body(WarningBody(code=why.code, message=why.message, params=why.params))
        self._recorder.sinks.warn(time.time(), body)

    def _reported(self, body: bytes) -> ExecutionOutcome:
        try:
            finished = checked_report(body)
        except MalformedRecord as error:
            why = reason(CHILD_DIED, how=f"its report cannot be read ({error})")
            return ExecutionOutcome(status="failed", error=_error(why), peak_memory=None)
        return ExecutionOutcome(
            status=finished.status, error=finished.error, peak_memory=finished.peak_memory
        )

    def _resume(self, seq: int) -> dict[str, object]:
        """``execution_facts.worker_resume`` (D-2): what a next server needs to take the run over."""
        return {
            "seq": seq,
            "worker_id": self.worker_id,
            "slots": [list(slot) for slot in self.placement.slots],
            "devices": [{"name": device.name, "uuid": device.uuid} for device in self.placement.devices],
        }

    def _refusal(self, assign: Assign, *, provenance: bool) -> Reason | None:
        """Why the worker cannot get this assignment. One that it may have already is not judged anew."""
        if self._recorded_seq is not None:
            return None
        capabilities = self._attempts.capabilities(self.worker_id)
        if assign.node_sources and NODE_SOURCES not in capabilities:
            names = ", ".join(source.name for source in assign.node_sources)
            return reason(NODE_FILES_NOT_TAKEN, worker=self.worker_id, types=names)
        if provenance and RUN_FACTS not in capabilities:
            return reason(PROVENANCE_NOT_TAKEN, worker=self.worker_id)
        if assign.graph is None:
            limit = MAX_GRAPH_BYTES if GRAPH_BY_HASH in capabilities else MAX_ASSIGN_BYTES
            if assign.graph_size > limit:
                return reason(GRAPH_TOO_LARGE, bytes=assign.graph_size, limit=limit)
        return None

    def _assignment(self, request: ExecutionRequest) -> Assign:
        graph = canonical_bytes(request.graph)
        options = msgspec.json.encode(request.options)
        secrets = sum(len(name) + len(value.encode()) for name, value in request.secrets.items())
        carried = len(graph) + len(options) + secrets + len(request.node_sources) * _NODE_SOURCE_BYTES
        fits = carried <= MAX_ASSIGN_BYTES
        return Assign(
            run_id=request.run_id,
            attempt=request.attempt,
            graph=graph if fits else None,
            graph_hash=hashlib.sha256(graph).hexdigest(),
            graph_size=0 if fits else len(graph),
            options=options,
            secrets=dict(request.secrets),
            payload_cap=self._payload_cap,
            device=request.device,
            devices=self.placement.devices,
            grace_s=self._grace_s,
            # Only a worker on this machine finds the run's folder there, and works in it; others use their own.
            storage={
                "backend": "local",
                "run_dir": str(request.run_dir.absolute()),
                "files_dir": str(request.files_dir.absolute()),
            },
            node_source_digest=node_source_digest(request.node_sources),
            node_sources=request.node_sources,
            node_packages=dict(request.node_packages),
        )


def _error(why: Reason) -> RunError:
    return RunError(code=why.code, message=why.message, params=why.params)
