"""``exec_run_metrics``: one row per metric point. A value is a REAL, or the text of a non-finite number (V-6)."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from codefy_control_plane.api.schemas import StoredMetric
from codefy_protocol.envelope import JsonNumber

NewMetric = tuple[str, JsonNumber, int, float | None, str, str, float]
"""Name, value, step, epoch, scope, node id, Unix seconds."""

_COLUMNS = "name, value, step, epoch, scope, node_id, ts"


def insert_metrics(
    connection: sqlite3.Connection, run_id: str, last: int, points: Sequence[NewMetric]
) -> None:
    """Store ``points`` so that the last one has the cursor ``last``."""
    first = last - len(points) + 1
    connection.executemany(
        f"INSERT INTO exec_run_metrics (run_id, cursor, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(run_id, cursor, *point) for cursor, point in enumerate(points, first)],
    )


def stored_metric(point: NewMetric) -> StoredMetric:
    """A point as readers see it."""
    name, value, step, epoch, scope, node_id, ts = point
    return StoredMetric(name=name, value=value, step=step, epoch=epoch, scope=scope, node_id=node_id, ts=ts)


def read_metrics(
    connection: sqlite3.Connection, run_id: str, after: int, limit: int, name: str | None = None
) -> tuple[list[StoredMetric], int]:
    """Points with a cursor over ``after``, in order, at most ``limit``, and the cursor of the last one."""
    named = "" if name is None else " AND name = ?"
    rows = connection.execute(
        f"SELECT cursor, {_COLUMNS} FROM exec_run_metrics WHERE run_id = ? AND cursor > ?{named}"
        " ORDER BY cursor LIMIT ?",
        (run_id, after, *(() if name is None else (name,)), limit),
    ).fetchall()
    return [stored_metric(row[1:]) for row in rows], rows[-1][0] if rows else after


def latest_metrics(connection: sqlite3.Connection, run_id: str) -> dict[str, JsonNumber]:
    """The last value of every metric of a run."""
    # With max() SQLite takes the other columns from the row that has the maximum.
    rows = connection.execute(
        "SELECT name, value, max(cursor) FROM exec_run_metrics WHERE run_id = ? GROUP BY name ORDER BY name",
        (run_id,),
    )
    return {name: value for name, value, _ in rows}
