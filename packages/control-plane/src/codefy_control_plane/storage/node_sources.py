"""``exec_run_node_sources``: the files of single nodes that a run takes to a worker, as they were at its submission (G-2).

The bytes are stored once under their SHA-256 in ``exec_node_sources``, and go with the last run that uses them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from codefy_engine.nodes.travelling import SourceFile
from codefy_protocol.frames import NodeSource


def insert_node_sources(
    connection: sqlite3.Connection, run_id: str, files: Sequence[SourceFile], now: float
) -> None:
    """Store the files of a run; call it in the transaction that stores the run."""
    connection.executemany(
        "INSERT OR IGNORE INTO exec_node_sources (sha256, content, created_at) VALUES (?, ?, ?)",
        [(file.sha256, file.content, now) for file in files],
    )
    connection.executemany(
        "INSERT INTO exec_run_node_sources (run_id, name, sha256, size, types) VALUES (?, ?, ?, ?, ?)",
        [
            (run_id, file.name, file.sha256, len(file.content), msgspec.json.encode(file.types).decode())
            for file in files
        ],
    )


def read_node_sources(connection: sqlite3.Connection, run_id: str) -> tuple[NodeSource, ...]:
    """The files of a run by name, without their content."""
    rows = connection.execute(
        "SELECT name, sha256, size FROM exec_run_node_sources WHERE run_id = ? ORDER BY name", (run_id,)
    )
    return tuple(NodeSource(name=name, sha256=sha256, size=size) for name, sha256, size in rows)


def read_file_types(connection: sqlite3.Connection, run_id: str) -> frozenset[str]:
    """The node types of a run that come from its files."""
    rows = connection.execute("SELECT types FROM exec_run_node_sources WHERE run_id = ?", (run_id,))
    return frozenset(name for (types,) in rows for name in msgspec.json.decode(types, type=list[str]))


def read_input(connection: sqlite3.Connection, run_id: str, sha256: str) -> bytes | None:
    """The content of one of a run's files, or its graph as canonical bytes; ``None`` for anything else."""
    row = connection.execute(
        "SELECT content FROM exec_run_node_sources JOIN exec_node_sources USING (sha256)"
        " WHERE run_id = ?1 AND sha256 = ?2"
        " UNION ALL SELECT document FROM exec_runs JOIN exec_graphs USING (graph_hash)"
        " WHERE run_id = ?1 AND graph_hash = ?2 LIMIT 1",
        (run_id, sha256),
    ).fetchone()
    return None if row is None else row[0]


def drop_node_sources(connection: sqlite3.Connection, run_id: str) -> None:
    """Forget the files of a run, and the bytes that no other run uses."""
    hashes = connection.execute(
        "DELETE FROM exec_run_node_sources WHERE run_id = ? RETURNING sha256", (run_id,)
    ).fetchall()
    connection.executemany(
        "DELETE FROM exec_node_sources WHERE sha256 = ?1"
        " AND NOT EXISTS (SELECT 1 FROM exec_run_node_sources WHERE sha256 = ?1)",
        hashes,
    )
