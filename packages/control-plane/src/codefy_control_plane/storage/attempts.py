"""``exec_run_attempts`` and the three writes of an attempt's life: start, a batch of records, the end.

Each is one command of the writer. Guards are part of the statements: a run starts once, a batch counts only for the
current attempt of a run that goes on, a run ends once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from codefy_control_plane.storage.artifacts import insert_artifacts
from codefy_control_plane.storage.events import NewEvent, insert_events
from codefy_control_plane.storage.facts import NewProvenance, insert_provenance, put_fingerprint
from codefy_control_plane.storage.metrics import NewMetric, insert_metrics, latest_metrics
from codefy_protocol.bodies import ArtifactBody
from codefy_protocol.frames import DeviceIdentity

QUEUED = "queued"
RUNNING = "running"
DISCONNECTED = "disconnected"
SUCCEEDED = "succeeded"
FAILED = "failed"
CANCELLED = "cancelled"
INTERRUPTED = "interrupted"
LIVE_STATUSES = (QUEUED, RUNNING, DISCONNECTED)
ENDED_STATUSES = (SUCCEEDED, FAILED, CANCELLED, INTERRUPTED)

_GOING_ON = f"('{RUNNING}', '{DISCONNECTED}')"
_LIVE = f"('{QUEUED}', '{RUNNING}', '{DISCONNECTED}')"


class Counts(msgspec.Struct, frozen=True):
    """How many events and metric points a run has after a write."""

    events: int
    metrics: int


class AttemptStart(msgspec.Struct, frozen=True, kw_only=True):
    """A run leaves its queue: the attempt's row, the status and the ``execution_start`` event."""

    run_id: str
    attempt: int
    worker_id: str
    """``local`` or the worker's name."""
    devices: tuple[DeviceIdentity, ...]
    slots: tuple[tuple[str, str], ...]
    at: float
    event: NewEvent


class RecordedBatch(msgspec.Struct, kw_only=True):
    """What one batch of an attempt's records means."""

    run_id: str
    attempt: int
    at: float
    events: Sequence[NewEvent] = ()
    metrics: Sequence[NewMetric] = ()
    artifacts: Sequence[tuple[float, ArtifactBody]] = ()
    facts: bytes | None = None
    """A JSON object, merged into ``execution_facts``."""
    fingerprint: tuple[str, bytes] | None = None
    """Digest and JSON of the environment that computes the attempt."""
    provenance: Sequence[NewProvenance] = ()
    status: str | None = None
    """``running`` or ``disconnected``, when it changes."""
    recorded_seq: int | None = None
    worker_resume: bytes | None = None
    """JSON for adopting the attempt after a restart (D-2)."""


class RunEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ends: the terminal event and what its row keeps."""

    status: str
    at: float
    event: NewEvent
    error: bytes | None = None
    peak_memory: bytes | None = None
    latest_metrics: bytes | None = None
    """A JSON object: the last value of every metric; ``None`` has it read from the stored points."""


class AttemptRow(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt as stored."""

    run_id: str
    attempt: int
    worker_id: str
    devices: tuple[DeviceIdentity, ...]
    slots: tuple[tuple[str, str], ...]
    recorded_seq: int
    worker_resume: bytes | None
    status: str
    started_at: float
    ended_at: float | None


def start_attempt(connection: sqlite3.Connection, start: AttemptStart) -> Counts | None:
    """Store that the attempt starts; ``None`` when the run is not waiting any more."""
    names = msgspec.json.encode([device.name for device in start.devices]).decode()
    row = connection.execute(
        "UPDATE exec_runs SET status = ?, attempt = ?, worker_id = ?, device = ?, devices = ?, started_at = ?,"
        " last_heard_at = ?, event_count = event_count + 1"
        f" WHERE run_id = ? AND status = '{QUEUED}' AND cancel_requested = 0 RETURNING event_count, metric_count",
        (
            RUNNING,
            start.attempt,
            None if start.worker_id == "local" else start.worker_id,
            start.devices[0].name,
            names,
            start.at,
            start.at,
            start.run_id,
        ),
    ).fetchone()
    if row is None:
        return None
    connection.execute(
        "INSERT INTO exec_run_attempts (run_id, attempt, worker_id, devices, slots, status, started_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            start.run_id,
            start.attempt,
            start.worker_id,
            msgspec.json.encode(start.devices).decode(),
            msgspec.json.encode(start.slots).decode(),
            RUNNING,
            start.at,
        ),
    )
    insert_events(connection, start.run_id, row[0], [start.event])
    return Counts(*row)


def record_batch(connection: sqlite3.Connection, batch: RecordedBatch) -> Counts | None:
    """Store a batch; ``None`` (and nothing stored) when the attempt is not the current one of a run that goes on."""
    row = connection.execute(
        "UPDATE exec_runs SET event_count = event_count + ?1, metric_count = metric_count + ?2, last_heard_at = ?3,"
        " status = coalesce(?4, status),"
        " execution_facts = CASE WHEN ?5 IS NULL THEN execution_facts ELSE json_patch(execution_facts, ?5) END"
        f" WHERE run_id = ?6 AND attempt = ?7 AND status IN {_GOING_ON} RETURNING event_count, metric_count",
        (
            len(batch.events),
            len(batch.metrics),
            batch.at,
            batch.status,
            None if batch.facts is None else batch.facts.decode(),
            batch.run_id,
            batch.attempt,
        ),
    ).fetchone()
    if row is None:
        return None
    if batch.events:
        insert_events(connection, batch.run_id, row[0], batch.events)
    if batch.metrics:
        insert_metrics(connection, batch.run_id, row[1], batch.metrics)
    if batch.artifacts:
        insert_artifacts(connection, batch.run_id, batch.attempt, batch.artifacts)
    if batch.fingerprint is not None:
        put_fingerprint(connection, batch.run_id, batch.attempt, *batch.fingerprint)
    if batch.provenance:
        insert_provenance(connection, batch.run_id, batch.attempt, batch.provenance)
    if batch.recorded_seq is not None or batch.worker_resume is not None or batch.status is not None:
        connection.execute(
            "UPDATE exec_run_attempts SET recorded_seq = max(recorded_seq, coalesce(?, 0)),"
            " worker_resume = coalesce(?, worker_resume), status = coalesce(?, status)"
            " WHERE run_id = ? AND attempt = ?",
            (
                batch.recorded_seq,
                None if batch.worker_resume is None else batch.worker_resume.decode(),
                batch.status,
                batch.run_id,
                batch.attempt,
            ),
        )
    return Counts(*row)


def end_run(
    connection: sqlite3.Connection, run_id: str, end: RunEnd, batch: RecordedBatch | None = None
) -> tuple[Counts | None, Counts | None]:
    """Store the last batch and the end of a run in one command.

    Returns the counts after the batch and after the end; ``None`` where nothing was stored, because the batch is not
    of the current attempt, or because the run has ended already.
    """
    recorded = None if batch is None else record_batch(connection, batch)
    latest = end.latest_metrics
    if latest is None:
        latest = msgspec.json.encode(latest_metrics(connection, run_id))
    row = connection.execute(
        "UPDATE exec_runs SET status = ?, ended_at = ?, error = ?, peak_memory = ?, latest_metrics = ?,"
        f" event_count = event_count + 1 WHERE run_id = ? AND status IN {_LIVE} RETURNING event_count, metric_count",
        (
            end.status,
            end.at,
            None if end.error is None else end.error.decode(),
            None if end.peak_memory is None else end.peak_memory.decode(),
            latest.decode(),
            run_id,
        ),
    ).fetchone()
    if row is None:
        return recorded, None
    insert_events(connection, run_id, row[0], [end.event])
    connection.execute(
        f"UPDATE exec_run_attempts SET status = ?, ended_at = ? WHERE run_id = ? AND status IN {_GOING_ON}",
        (end.status, end.at, run_id),
    )
    return recorded, Counts(*row)


_COLUMNS = (
    "run_id, attempt, worker_id, devices, slots, recorded_seq, worker_resume, status, started_at, ended_at"
)


def _attempt_row(row: sqlite3.Row | tuple[object, ...]) -> AttemptRow:
    run_id, attempt, worker_id, devices, slots, recorded_seq, resume, status, started_at, ended_at = row
    return msgspec.convert(
        {
            "run_id": run_id,
            "attempt": attempt,
            "worker_id": worker_id,
            "devices": msgspec.json.decode(str(devices)),
            "slots": msgspec.json.decode(str(slots)),
            "recorded_seq": recorded_seq,
            "worker_resume": None if resume is None else str(resume).encode(),
            "status": status,
            "started_at": started_at,
            "ended_at": ended_at,
        },
        AttemptRow,
    )


def read_attempt(connection: sqlite3.Connection, run_id: str, attempt: int) -> AttemptRow | None:
    """One attempt, or ``None``."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM exec_run_attempts WHERE run_id = ? AND attempt = ?", (run_id, attempt)
    ).fetchone()
    return None if row is None else _attempt_row(row)


def attempts_of_worker(connection: sqlite3.Connection, worker_id: str, limit: int) -> list[AttemptRow]:
    """The newest attempts that were placed on a worker, live ones and ended ones, newest first."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM exec_run_attempts WHERE worker_id = ? ORDER BY started_at DESC LIMIT ?",
        (worker_id, limit),
    )
    return [_attempt_row(row) for row in rows]
