"""What one attempt produces, batched: the sinks append, the batch's owner commits it (A-3, D-2).

One commit is one transaction: events, metrics, artifacts, facts, the status and the recorded seq of the batch. What
watchers see follows the commit. A batch of an attempt that is not the run's current one, or of a run that has ended,
changes nothing: nothing follows a terminal event.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from codefy_control_plane.runs.console import RunLog
from codefy_control_plane.runs.facts import FACTS_OF_THE_SERVER, WORKER_RUN, RunFacts
from codefy_control_plane.runs.feed import Feed
from codefy_control_plane.storage.attempts import (
    RUNNING,
    Counts,
    RecordedBatch,
    RunEnd,
    end_run,
    record_batch,
)
from codefy_control_plane.storage.database import Database
from codefy_control_plane.storage.events import NewEvent, stored_events
from codefy_control_plane.storage.metrics import NewMetric, stored_metric
from codefy_engine.execution.body_shape import BODY
from codefy_engine.execution.secrets import Redactor
from codefy_engine.execution.sinks import RunSinks
from codefy_protocol.bodies import ArtifactBody, ConsoleBody, MetricsBody, WarningBody
from codefy_protocol.envelope import JsonNumber, cap_body, encode_body, number_from_json
from codefy_protocol.reasons import MALFORMED_RECORD, Reason, reason

RUN_WARNING = "run_warning"
MAX_INTEGER = 2**63 - 1
"""The largest number that a column holds."""
MAX_TS = 1e11
NODE_PROGRESS = "node_progress"

T = TypeVar("T")

logger = logging.getLogger("codefy.runs")

_decode_metrics = msgspec.json.Decoder(MetricsBody).decode
_decode_artifact = msgspec.json.Decoder(ArtifactBody).decode
_UNREADABLE = (ValueError, msgspec.DecodeError, RecursionError)
_decode_facts = msgspec.json.Decoder(dict[str, Any]).decode


def warning_body(why: Reason, node_id: str | None = None) -> bytes:
    """The payload of a ``run_warning`` event."""
    return encode_body(WarningBody(code=why.code, message=why.message, params=why.params, node_id=node_id))


class _Pending:
    """What was produced since the last commit."""

    def __init__(self) -> None:
        self.events: list[NewEvent] = []
        self.metrics: list[tuple[float, bytes]] = []
        self.artifacts: list[tuple[float, bytes]] = []
        self.console: list[ConsoleBody] = []
        self.facts: dict[str, Any] = {}
        self.run_facts: list[tuple[float, bytes]] = []
        self.status: str | None = None
        self.recorded_seq: int | None = None
        self.resume: dict[str, Any] | None = None

    def prepend(self, earlier: _Pending) -> None:
        """Put a batch that could not be stored in front of this one."""
        self.events[:0] = earlier.events
        self.metrics[:0] = earlier.metrics
        self.artifacts[:0] = earlier.artifacts
        self.console[:0] = earlier.console
        self.facts = {**earlier.facts, **self.facts}
        self.run_facts[:0] = earlier.run_facts
        self.status = earlier.status if self.status is None else self.status
        self.recorded_seq = earlier.recorded_seq if self.recorded_seq is None else self.recorded_seq
        self.resume = earlier.resume if self.resume is None else self.resume


class AttemptRecorder:
    """Collects the records of one attempt. Its sinks may be called from any thread and never block.

    The owner of the batch calls :meth:`commit`: for a run in the server a task of the run service, for a run on a
    worker its executor, which acknowledges ``recorded_seq`` afterwards.
    """

    def __init__(
        self,
        run_id: str,
        attempt: int,
        *,
        database: Database,
        feed: Feed,
        log: RunLog,
        payload_cap: int,
        redactor: Redactor | None = None,
        source: str = WORKER_RUN,
    ) -> None:
        self.run_id = run_id
        self.attempt = attempt
        self.sinks = RunSinks(
            emit=self._emit,
            record_metrics=self._record_metrics,
            record_artifact=self._record_artifact,
            warn=self._warn,
            facts=self._run_facts,
        )
        self.latest_metrics: dict[str, JsonNumber] = {}
        """The last committed value of every metric."""
        self.progress: bytes | None = None
        """Payload of the last committed ``node_progress`` event."""
        self.returned = False
        """Whether a batch has set the status ``running``: the worker of an adopted run is back."""
        self.ended = False
        """Whether the terminal event is stored: nothing is taken any more."""
        self.on_pending: Callable[[], None] | None = None
        """Called from the producing thread when the batch stops being empty."""
        self.on_commit: Callable[[], None] | None = None
        """Called in the event loop after each commit."""
        self._database = database
        self._feed = feed
        self._log = log
        self._payload_cap = payload_cap
        self._redactor = redactor or None
        self._source = source
        self._pending = _Pending()
        self._dirty = False
        self._lock = threading.Lock()
        self._committing = asyncio.Lock()

    # ------------------------------------------------------------------ taking records, from any thread

    def _shown(self, body: bytes) -> bytes:
        """The body without secrets. Where the graph runs they are taken out already; this is the last door."""
        return body if self._redactor is None else self._redactor.body(body)

    def _emit(self, kind: str, ts: float, body: bytes) -> None:
        body = self._shown(body)
        self._append(lambda pending: pending.events.append((kind, ts, body)))

    def _record_metrics(self, ts: float, body: bytes) -> None:
        body = self._shown(body)
        self._append(lambda pending: pending.metrics.append((ts, body)))

    def _record_artifact(self, ts: float, body: bytes) -> None:
        body = self._shown(body)
        self._append(lambda pending: pending.artifacts.append((ts, body)))

    def _warn(self, ts: float, body: bytes) -> None:
        body = self._shown(body)
        self._append(lambda pending: pending.events.append((RUN_WARNING, ts, body)))

    def _run_facts(self, ts: float, body: bytes) -> None:
        body = self._shown(body)
        self._append(lambda pending: pending.run_facts.append((ts, body)))

    def started(self, body: bytes) -> None:
        """Take the body of ``run_started``: its fields become facts of the run."""
        try:
            facts = _decode_facts(body)
        except _UNREADABLE as error:
            self.warn(reason(MALFORMED_RECORD, frame="run_started", detail=str(error)))
            return
        self.facts(facts)

    def facts(self, facts: dict[str, Any]) -> None:
        """Merge ``facts`` into ``execution_facts``; a value of ``None`` removes its key.

        What only the server itself writes there is left out.
        """
        told = {key: value for key, value in facts.items() if key not in FACTS_OF_THE_SERVER}
        if self._redactor is not None:
            told = self._redactor.fields(told, BODY)
        self._append(lambda pending: pending.facts.update(told))

    def console(self, body: ConsoleBody) -> None:
        """Take console output; it is in the log before the commit."""
        self._append(lambda pending: pending.console.append(body))

    def status(self, status: str) -> None:
        """Let the next commit set the run's status to ``running`` or ``disconnected``."""

        def put(pending: _Pending) -> None:
            pending.status = status

        self._append(put)

    def warn(self, why: Reason) -> None:
        """Add a ``run_warning`` of the server itself."""
        self._warn(time.time(), warning_body(why))

    def discard(self) -> None:
        """Forget what is pending: whoever produced it will deliver it again."""
        self._take()

    def drop_records(self, why: Reason) -> None:
        """Forget what is pending but the status, and warn of it: the batch holds what cannot be stored."""
        dropped = self._take()
        if dropped is not None and dropped.status is not None:
            self.status(dropped.status)
        self.warn(why)

    def _append(self, put: Callable[[_Pending], None]) -> None:
        if self.ended:
            return
        with self._lock:
            put(self._pending)
            first, self._dirty = not self._dirty, True
        if first and self.on_pending is not None:
            self.on_pending()

    def _take(self) -> _Pending | None:
        """The batch so far, ``None`` when there is nothing in it."""
        with self._lock:
            if not self._dirty:
                return None
            pending, self._pending, self._dirty = self._pending, _Pending(), False
        return pending

    # ------------------------------------------------------------------ committing, in the event loop

    async def commit(self, recorded_seq: int | None = None, resume: dict[str, Any] | None = None) -> None:
        """Store everything taken so far in one transaction, then show it to watchers.

        ``recorded_seq`` says up to which seq the batch goes; ``resume`` is stored as ``worker_resume``. When the attempt
        is not the run's live one any more the batch is dropped.

        Raises:
            OSError, sqlite3.Error: nothing was stored; the batch is kept and the next commit tries again.
        """
        async with self._committing:
            pending = self._take()
            if self.ended or (pending is None and recorded_seq is None and resume is None):
                return
            pending = pending or _Pending()
            if recorded_seq is not None:
                pending.recorded_seq = recorded_seq
            if resume is not None:
                pending.resume = resume
            batch = self._prepare(pending)
            counts = await self._store(
                pending, lambda: self._database.write(lambda c: record_batch(c, batch))
            )
            if counts is not None:
                self._show(batch, counts)

    async def end(self, end: RunEnd, recorded_seq: int | None = None) -> bool:
        """Store what is pending, ``recorded_seq`` and the end of the run in one transaction. For the run service.

        Returns whether this call ended the run; ``False`` means that it had ended before.

        Raises:
            OSError, sqlite3.Error: nothing was stored.
        """
        async with self._committing:
            pending = self._take() or _Pending()
            if recorded_seq is not None:
                pending.recorded_seq = recorded_seq
            batch = self._prepare(pending)
            latest = dict(self.latest_metrics)
            for name, value, *_ in batch.metrics:
                latest[name] = value
            stored = msgspec.structs.replace(end, latest_metrics=msgspec.json.encode(latest))
            recorded, ended = await self._store(
                pending,
                lambda: self._database.write(lambda c: end_run(c, self.run_id, stored, batch)),
                ending=True,
            )
            self.ended = True
            if recorded is not None:
                self._show(batch, recorded)
            if ended is not None:
                self._feed.publish(
                    self.run_id,
                    event_count=ended.events,
                    events=lambda: stored_events(ended.events, [end.event]),
                    metric_count=ended.metrics,
                    ended=True,
                )
        return ended is not None

    async def _store(
        self, pending: _Pending, write: Callable[[], Awaitable[T]], *, ending: bool = False
    ) -> T:
        try:
            if pending.console:
                await self._write_log(pending.console, ending)
            return await write()
        except Exception:
            with self._lock:
                self._pending.prepend(pending)
                self._dirty = True
            raise

    async def _write_log(self, console: list[ConsoleBody], ending: bool) -> None:
        try:
            await asyncio.to_thread(self._log.write, console)
        except OSError:
            # A full disk may lose the last words of a run, but never keeps it from ending.
            if not ending:
                raise
            logger.exception("the console log of run %s could not be written", self.run_id)

    def _show(self, batch: RecordedBatch, counts: Counts) -> None:
        for name, value, *_ in batch.metrics:
            self.latest_metrics[name] = value
        for kind, _, body in reversed(batch.events):
            if kind == NODE_PROGRESS:
                self.progress = body
                break
        self.returned = self.returned or batch.status == RUNNING
        self._feed.publish(
            self.run_id,
            event_count=counts.events,
            events=lambda: stored_events(counts.events, batch.events),
            metric_count=counts.metrics,
            metrics=lambda: [stored_metric(point) for point in batch.metrics],
        )
        if self.on_commit is not None:
            self.on_commit()

    def _prepare(self, pending: _Pending) -> RecordedBatch:
        """Turn a batch into rows. A body that cannot be read becomes a warning in its place."""
        cap = self._payload_cap
        events = [event if len(event[2]) <= cap else _capped(event, cap) for event in pending.events]
        metrics: list[NewMetric] = []
        for ts, body in pending.metrics:
            try:
                metrics += _metric_rows(ts, body)
            except _UNREADABLE as error:
                events.append(_malformed("metrics", ts, error))
        artifacts: list[tuple[float, ArtifactBody]] = []
        for ts, body in pending.artifacts:
            try:
                artifact = _decode_artifact(body)
                if artifact.size is not None:
                    _check_integer("size", artifact.size, least=0)
                artifacts.append((ts, artifact))
            except _UNREADABLE as error:
                events.append(_malformed("artifact", ts, error))
        told = RunFacts(self._source)
        for ts, body in pending.run_facts:
            try:
                told.take(body)
            except _UNREADABLE as error:
                events.append(_malformed("run_facts", ts, error))
        facts = {**pending.facts, **told.facts}
        return RecordedBatch(
            run_id=self.run_id,
            attempt=self.attempt,
            at=time.time(),
            events=events,
            metrics=metrics,
            artifacts=artifacts,
            facts=encode_body(facts) if facts else None,
            fingerprint=told.fingerprint,
            provenance=told.provenance,
            status=pending.status,
            recorded_seq=pending.recorded_seq,
            worker_resume=None if pending.resume is None else encode_body(pending.resume),
        )


def _metric_rows(ts: float, body: bytes) -> list[NewMetric]:
    rows: list[NewMetric] = []
    for point in _decode_metrics(body).points:
        if isinstance(point.value, str):
            number_from_json(point.value)  # raises for a text that is no number
        _check_integer("step", point.step, least=-MAX_INTEGER)
        at = point.ts if 0 < point.ts < MAX_TS else ts
        rows.append((point.name, point.value, point.step, point.epoch, point.scope, point.node_id, at))
    return rows


def _check_integer(name: str, value: int, *, least: int) -> None:
    if not least <= value <= MAX_INTEGER:
        raise ValueError(f"{name} is out of range")


def _capped(event: NewEvent, cap: int) -> NewEvent:
    kind, ts, body = event
    try:
        return (kind, ts, cap_body(body, cap))
    except _UNREADABLE as error:
        return _malformed("event", ts, error)


def _malformed(frame: str, ts: float, error: Exception) -> NewEvent:
    return (RUN_WARNING, ts, warning_body(reason(MALFORMED_RECORD, frame=frame, detail=str(error))))
