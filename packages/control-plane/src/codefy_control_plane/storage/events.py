"""``exec_run_events``: the log of every run. Payloads are stored and read as the bytes they came in."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from codefy_control_plane.api.schemas import StoredEvent

NewEvent = tuple[str, float, bytes]
"""Type, Unix seconds, payload as JSON bytes."""


def insert_events(connection: sqlite3.Connection, run_id: str, last: int, events: Sequence[NewEvent]) -> None:
    """Store ``events`` so that the last one has the cursor ``last``."""
    first = last - len(events) + 1
    connection.executemany(
        "INSERT INTO exec_run_events (run_id, cursor, type, ts, payload) VALUES (?, ?, ?, ?, ?)",
        [(run_id, cursor, kind, ts, body) for cursor, (kind, ts, body) in enumerate(events, first)],
    )


def stored_events(last: int, events: Sequence[NewEvent]) -> list[StoredEvent]:
    """The events as readers see them, the last one with the cursor ``last``."""
    first = last - len(events) + 1
    return [
        StoredEvent(cursor=cursor, type=kind, ts=ts, payload=msgspec.Raw(body))
        for cursor, (kind, ts, body) in enumerate(events, first)
    ]


def read_events(connection: sqlite3.Connection, run_id: str, after: int, limit: int) -> list[StoredEvent]:
    """Events with a cursor over ``after``, in order, at most ``limit``."""
    rows = connection.execute(
        "SELECT cursor, type, ts, payload FROM exec_run_events WHERE run_id = ? AND cursor > ?"
        " ORDER BY cursor LIMIT ?",
        (run_id, after, limit),
    )
    return [
        StoredEvent(cursor=cursor, type=kind, ts=ts, payload=msgspec.Raw(body))
        for cursor, kind, ts, body in rows
    ]


def last_payload(connection: sqlite3.Connection, run_id: str, kind: str) -> bytes | None:
    """Payload of the newest event of a type."""
    row = connection.execute(
        "SELECT payload FROM exec_run_events WHERE run_id = ? AND type = ? ORDER BY cursor DESC LIMIT 1",
        (run_id, kind),
    ).fetchone()
    return None if row is None else row[0]
