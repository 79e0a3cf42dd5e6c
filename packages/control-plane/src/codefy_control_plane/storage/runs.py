"""``exec_runs``: one row per run. Its ``number`` counts up from 1 and is never given twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from codefy_control_plane.storage.attempts import ENDED_STATUSES, LIVE_STATUSES, QUEUED
from codefy_control_plane.storage.facts import delete_facts
from codefy_control_plane.storage.graphs import drop_unused_graph, insert_graph
from codefy_control_plane.storage.node_sources import drop_node_sources, insert_node_sources
from codefy_engine.nodes.travelling import SourceFile

NOTHING = "[]"


class NewRun(msgspec.Struct, frozen=True, kw_only=True):
    """A submission that was checked. Texts that hold JSON say so."""

    run_id: str
    name: str
    graph_name: str
    graph_hash: str
    graph: bytes
    node_types: str
    """JSON list."""
    lane: str
    options: str
    """JSON of ``names.RunOptions``."""
    queue_key: str
    requested_worker: str
    requested_device: str
    requested_devices: str
    """JSON list."""
    created_at: float
    node_files: tuple[SourceFile, ...] = ()
    """What the run takes to a worker."""
    secret_names: str = NOTHING
    """JSON list."""


class RunRow(msgspec.Struct, frozen=True):
    """A row, in the order of its columns. Texts that hold JSON say so."""

    number: int
    run_id: str
    name: str
    graph_name: str
    graph_hash: str
    node_types: str
    """JSON list."""
    lane: str
    options: str
    """JSON of ``names.RunOptions``."""
    status: str
    attempt: int
    queue_key: str
    requested_worker: str
    requested_device: str
    requested_devices: str
    """JSON list."""
    worker_id: str | None
    device: str
    devices: str
    """JSON list of names."""
    created_at: float
    started_at: float | None
    ended_at: float | None
    last_heard_at: float | None
    cancel_requested: int
    error: str | None
    """JSON of ``bodies.RunError``."""
    peak_memory: str | None
    """JSON of ``bodies.PeakMemory``."""
    execution_facts: str
    """JSON object."""
    latest_metrics: str
    """JSON object; written when the run ends."""
    event_count: int
    metric_count: int
    secret_names: str
    """JSON list of what its nodes refer to."""

    @property
    def ended(self) -> bool:
        return self.status in ENDED_STATUSES


_COLUMNS = ", ".join(RunRow.__struct_fields__)
_IN_LIVE = "status IN (" + ", ".join(f"'{status}'" for status in LIVE_STATUSES) + ")"
_IN_ENDED = "status IN (" + ", ".join(f"'{status}'" for status in ENDED_STATUSES) + ")"


def insert_run(connection: sqlite3.Connection, run: NewRun) -> int:
    """Store a queued run with its graph; returns its number."""
    insert_graph(connection, run.graph_hash, run.graph, run.created_at)
    row = connection.execute(
        "INSERT INTO exec_runs (run_id, name, graph_name, graph_hash, node_types, lane, options, status, queue_key,"
        " requested_worker, requested_device, requested_devices, device, created_at, secret_names)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number",
        (
            run.run_id,
            run.name,
            run.graph_name,
            run.graph_hash,
            run.node_types,
            run.lane,
            run.options,
            QUEUED,
            run.queue_key,
            run.requested_worker,
            run.requested_device,
            run.requested_devices,
            run.requested_device,
            run.created_at,
            run.secret_names,
        ),
    ).fetchone()
    insert_node_sources(connection, run.run_id, run.node_files, run.created_at)
    return int(row[0])


def read_run(connection: sqlite3.Connection, run_id: str) -> RunRow | None:
    """One row, or ``None``."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM exec_runs WHERE run_id = ?", (run_id,)).fetchone()
    return None if row is None else RunRow(*row)


def read_runs(
    connection: sqlite3.Connection, limit: int, before: int | None = None, status: str | None = None
) -> list[RunRow]:
    """Newest first, numbers under ``before``, at most ``limit``."""
    conditions = ["1"]
    values: list[object] = []
    if before is not None:
        conditions.append("number < ?")
        values.append(before)
    if status is not None:
        conditions.append("status = ?")
        values.append(status)
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM exec_runs WHERE {' AND '.join(conditions)} ORDER BY number DESC LIMIT ?",
        (*values, limit),
    )
    return [RunRow(*row) for row in rows]


def read_live_runs(connection: sqlite3.Connection) -> list[RunRow]:
    """Runs that have not ended, in the order of submission."""
    rows = connection.execute(f"SELECT {_COLUMNS} FROM exec_runs WHERE {_IN_LIVE} ORDER BY number")
    return [RunRow(*row) for row in rows]


def count_runs(connection: sqlite3.Connection) -> dict[str, int]:
    """How many runs have each status; statuses without a run are 0."""
    counts: dict[str, int] = dict.fromkeys((*LIVE_STATUSES, *ENDED_STATUSES), 0)
    counts.update(connection.execute("SELECT status, count(*) FROM exec_runs GROUP BY status").fetchall())
    return counts


def set_options(connection: sqlite3.Connection, run_id: str, options: str) -> bool:
    """Store other options of a run that waits; returns whether it did."""
    changed = connection.execute(
        "UPDATE exec_runs SET options = ? WHERE run_id = ? AND status = 'queued'", (options, run_id)
    )
    return changed.rowcount > 0


def usual_duration(connection: sqlite3.Connection, graph_hash: str) -> float | None:
    """How long the last runs of a graph took that succeeded, in seconds: their mean; ``None`` when there are none."""
    rows = connection.execute(
        "SELECT ended_at - started_at FROM exec_runs WHERE graph_hash = ? AND status = 'succeeded'"
        " AND started_at IS NOT NULL AND ended_at IS NOT NULL ORDER BY number DESC LIMIT 5",
        (graph_hash,),
    ).fetchall()
    return sum(row[0] for row in rows) / len(rows) if rows else None


def request_cancel(connection: sqlite3.Connection, run_id: str) -> bool:
    """Note that the run is to stop; returns whether it had not ended."""
    cursor = connection.execute(
        f"UPDATE exec_runs SET cancel_requested = 1 WHERE run_id = ? AND {_IN_LIVE}", (run_id,)
    )
    return cursor.rowcount == 1


def put_late_result(connection: sqlite3.Connection, run_id: str, late_result: bytes) -> None:
    """Keep what a worker reported of a run that had ended, as ``execution_facts.late_result`` (D-4)."""
    connection.execute(
        "UPDATE exec_runs SET execution_facts = json_set(execution_facts, '$.late_result', json(?)) WHERE run_id = ?",
        (late_result.decode(), run_id),
    )


def ended_beyond(connection: sqlite3.Connection, keep: int, limit: int) -> list[str]:
    """Ids of the oldest ended runs, when there are more than ``keep``, at most ``limit``."""
    rows = connection.execute(
        f"SELECT run_id FROM (SELECT run_id, number FROM exec_runs WHERE {_IN_ENDED} ORDER BY number DESC"
        " LIMIT -1 OFFSET ?) ORDER BY number LIMIT ?",
        (keep, limit),
    )
    return [row[0] for row in rows]


def delete_rows(connection: sqlite3.Connection, run_id: str, limit: int) -> bool:
    """Delete a part of what an ended run stored, at most ``limit`` rows of a table; the row of the run comes last.

    Returns whether it is all gone. Called again until then, so that no transaction is long.
    """
    for table in ("exec_run_events", "exec_run_metrics"):
        deleted = connection.execute(
            f"DELETE FROM {table} WHERE run_id = ?1 AND cursor IN"
            f" (SELECT cursor FROM {table} WHERE run_id = ?1 ORDER BY cursor LIMIT ?2)",
            (run_id, limit),
        ).rowcount
        if deleted == limit:
            return False
    if not delete_facts(connection, run_id, limit):
        return False
    connection.execute("DELETE FROM exec_run_artifacts WHERE run_id = ?", (run_id,))
    connection.execute("DELETE FROM exec_run_attempts WHERE run_id = ?", (run_id,))
    drop_node_sources(connection, run_id)
    hashes: Sequence[tuple[str]] = connection.execute(
        f"DELETE FROM exec_runs WHERE run_id = ? AND {_IN_ENDED} RETURNING graph_hash", (run_id,)
    ).fetchall()
    for (graph_hash,) in hashes:
        drop_unused_graph(connection, graph_hash)
    return True
