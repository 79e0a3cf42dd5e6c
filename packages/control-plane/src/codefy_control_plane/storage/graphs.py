"""``exec_graphs``: the documents of runs, each stored once under the SHA-256 of its canonical bytes (T-5)."""

from __future__ import annotations

import sqlite3


def insert_graph(connection: sqlite3.Connection, graph_hash: str, document: bytes, now: float) -> None:
    """Store a document unless it is there."""
    connection.execute(
        "INSERT OR IGNORE INTO exec_graphs (graph_hash, document, created_at) VALUES (?, ?, ?)",
        (graph_hash, document, now),
    )


def read_graph(connection: sqlite3.Connection, graph_hash: str) -> bytes | None:
    """The canonical bytes of a document, or ``None``."""
    row = connection.execute(
        "SELECT document FROM exec_graphs WHERE graph_hash = ?", (graph_hash,)
    ).fetchone()
    return None if row is None else row[0]


def drop_unused_graph(connection: sqlite3.Connection, graph_hash: str) -> None:
    """Delete a document that no run refers to any more."""
    connection.execute(
        "DELETE FROM exec_graphs WHERE graph_hash = ?1"
        " AND NOT EXISTS (SELECT 1 FROM exec_runs WHERE graph_hash = ?1)",
        (graph_hash,),
    )
