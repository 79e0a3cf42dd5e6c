"""``exec_run_fingerprints`` and ``exec_run_provenance``: what computed an attempt, and where its results come from (X-8)."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

NewProvenance = tuple[str, bytes]
"""Id of the node, and its ``ProvenanceRecord`` as JSON."""


def put_fingerprint(
    connection: sqlite3.Connection, run_id: str, attempt: int, digest: str, fingerprint: bytes
) -> None:
    """Store the fingerprint of an attempt, in place of one that it told before."""
    connection.execute(
        "INSERT OR REPLACE INTO exec_run_fingerprints (run_id, attempt, digest, fingerprint) VALUES (?, ?, ?, ?)",
        (run_id, attempt, digest, fingerprint.decode()),
    )


def insert_provenance(
    connection: sqlite3.Connection, run_id: str, attempt: int, records: Sequence[NewProvenance]
) -> None:
    """Store records; a node that ran again within the attempt, as in a second try, has the newer one."""
    connection.executemany(
        "INSERT INTO exec_run_provenance (run_id, attempt, node_id, record) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (run_id, attempt, node_id) DO UPDATE SET record = excluded.record",
        [(run_id, attempt, node_id, record.decode()) for node_id, record in records],
    )


def read_fingerprint(connection: sqlite3.Connection, run_id: str, attempt: int) -> tuple[str, bytes] | None:
    """Digest and fingerprint (JSON) of an attempt, or ``None``."""
    row = connection.execute(
        "SELECT digest, fingerprint FROM exec_run_fingerprints WHERE run_id = ? AND attempt = ?",
        (run_id, attempt),
    ).fetchone()
    return None if row is None else (str(row[0]), str(row[1]).encode())


def read_provenance(
    connection: sqlite3.Connection, run_id: str, attempt: int, after: int, limit: int
) -> list[tuple[int, bytes]]:
    """Records of an attempt after a cursor, in the order in which the nodes ended, each with its cursor."""
    rows = connection.execute(
        "SELECT provenance_id, record FROM exec_run_provenance WHERE run_id = ? AND attempt = ? AND provenance_id > ?"
        " ORDER BY provenance_id LIMIT ?",
        (run_id, attempt, after, limit),
    )
    return [(int(number), str(record).encode()) for number, record in rows]


def delete_facts(connection: sqlite3.Connection, run_id: str, limit: int) -> bool:
    """Delete what a run told of itself, at most ``limit`` records; whether all is gone."""
    deleted = connection.execute(
        "DELETE FROM exec_run_provenance WHERE provenance_id IN"
        " (SELECT provenance_id FROM exec_run_provenance WHERE run_id = ? LIMIT ?)",
        (run_id, limit),
    ).rowcount
    if deleted == limit:
        return False
    connection.execute("DELETE FROM exec_run_fingerprints WHERE run_id = ?", (run_id,))
    return True
