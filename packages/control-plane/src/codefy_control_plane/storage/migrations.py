"""The tables, as dated migrations that sqlite-utils applies once each, in a transaction of their own."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite_utils

    Migration = Callable[[sqlite_utils.Database], None]

SET = "codefy"
_migrations: dict[str, Migration] = {}
"""By name, oldest first."""


def migration(function: Migration) -> Migration:
    """Take the function, by its name, as the newest migration."""
    _migrations[function.__name__] = function
    return function


def migrate(path: Path) -> None:
    """Apply what ``path`` lacks; makes the file when there is none."""
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        if not _migrations.keys() <= _applied(connection):
            _apply(connection)
    finally:
        connection.close()


def _applied(connection: sqlite3.Connection) -> set[str]:
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = '_sqlite_migrations'").fetchone() is None:
        return set()
    rows = connection.execute("SELECT name FROM _sqlite_migrations WHERE migration_set = ?", (SET,))
    return {name for (name,) in rows}


def _apply(connection: sqlite3.Connection) -> None:
    # Imported only when there is something to do: it brings numpy along where that is installed.
    import sqlite_utils
    from sqlite_utils.migrations import Migrations

    migrations = Migrations(SET)
    for name, function in _migrations.items():
        migrations(name=name)(function)
    migrations.apply(sqlite_utils.Database(connection))


@migration
def m2026_12_01_runs(db: sqlite_utils.Database) -> None:
    """Runs, their graphs and attempts, and what an attempt records.

    Events and metrics are clustered by run: their keys ``(run_id, cursor)`` count 1, 2, 3 … within the run, given in
    the transaction that stores them from the counters of the run's row.
    """
    for statement in (
        """CREATE TABLE exec_graphs (
            graph_hash TEXT PRIMARY KEY,
            document BLOB NOT NULL,
            created_at REAL NOT NULL
        ) WITHOUT ROWID""",
        """CREATE TABLE exec_runs (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            run_id TEXT NOT NULL UNIQUE,
            name TEXT NOT NULL,
            graph_name TEXT NOT NULL,
            graph_hash TEXT NOT NULL REFERENCES exec_graphs (graph_hash),
            node_types TEXT NOT NULL,
            lane TEXT NOT NULL,
            options TEXT NOT NULL,
            status TEXT NOT NULL,
            attempt INTEGER NOT NULL DEFAULT 0,
            queue_key TEXT NOT NULL,
            requested_worker TEXT NOT NULL,
            requested_device TEXT NOT NULL,
            requested_devices TEXT NOT NULL DEFAULT '[]',
            worker_id TEXT,
            device TEXT NOT NULL,
            devices TEXT NOT NULL DEFAULT '[]',
            created_at REAL NOT NULL,
            started_at REAL,
            ended_at REAL,
            last_heard_at REAL,
            cancel_requested INTEGER NOT NULL DEFAULT 0,
            error TEXT,
            peak_memory TEXT,
            execution_facts TEXT NOT NULL DEFAULT '{}',
            latest_metrics TEXT NOT NULL DEFAULT '{}',
            event_count INTEGER NOT NULL DEFAULT 0,
            metric_count INTEGER NOT NULL DEFAULT 0
        )""",
        "CREATE INDEX exec_runs_by_status ON exec_runs (status, number)",
        "CREATE INDEX exec_runs_by_graph ON exec_runs (graph_hash)",
        """CREATE TABLE exec_run_attempts (
            run_id TEXT NOT NULL REFERENCES exec_runs (run_id),
            attempt INTEGER NOT NULL,
            worker_id TEXT NOT NULL,
            devices TEXT NOT NULL,
            slots TEXT NOT NULL,
            recorded_seq INTEGER NOT NULL DEFAULT 0,
            worker_resume TEXT,
            status TEXT NOT NULL,
            started_at REAL NOT NULL,
            ended_at REAL,
            PRIMARY KEY (run_id, attempt)
        ) WITHOUT ROWID""",
        "CREATE INDEX exec_run_attempts_by_worker ON exec_run_attempts (worker_id, started_at)",
        """CREATE TABLE exec_run_events (
            run_id TEXT NOT NULL,
            cursor INTEGER NOT NULL,
            type TEXT NOT NULL,
            ts REAL NOT NULL,
            payload BLOB NOT NULL,
            PRIMARY KEY (run_id, cursor)
        ) WITHOUT ROWID""",
        # The value column has no type on purpose: it keeps a REAL or one of the texts NaN, Infinity, -Infinity.
        """CREATE TABLE exec_run_metrics (
            run_id TEXT NOT NULL,
            cursor INTEGER NOT NULL,
            name TEXT NOT NULL,
            value NOT NULL,
            step INTEGER NOT NULL,
            epoch REAL,
            scope TEXT NOT NULL,
            node_id TEXT NOT NULL,
            ts REAL NOT NULL,
            PRIMARY KEY (run_id, cursor)
        ) WITHOUT ROWID""",
        """CREATE TABLE exec_run_artifacts (
            artifact_id INTEGER PRIMARY KEY AUTOINCREMENT,
            run_id TEXT NOT NULL,
            attempt INTEGER NOT NULL,
            kind TEXT NOT NULL,
            name TEXT NOT NULL,
            path TEXT NOT NULL,
            node_id TEXT NOT NULL,
            size INTEGER,
            sha256 TEXT,
            media_type TEXT NOT NULL,
            backend TEXT NOT NULL,
            meta TEXT NOT NULL,
            created_at REAL NOT NULL,
            UNIQUE (run_id, path)
        )""",
    ):
        db.conn.execute(statement)


@migration
def m2026_12_01_node_sources(db: sqlite_utils.Database) -> None:
    """Files of single nodes that runs take to workers, each content once."""
    for statement in (
        """CREATE TABLE exec_node_sources (
            sha256 TEXT PRIMARY KEY,
            content BLOB NOT NULL,
            created_at REAL NOT NULL
        )""",
        """CREATE TABLE exec_run_node_sources (
            run_id TEXT NOT NULL,
            name TEXT NOT NULL,
            sha256 TEXT NOT NULL REFERENCES exec_node_sources (sha256),
            size INTEGER NOT NULL,
            types TEXT NOT NULL,
            PRIMARY KEY (run_id, name)
        ) WITHOUT ROWID""",
        "CREATE INDEX exec_run_node_sources_by_content ON exec_run_node_sources (sha256)",
    ):
        db.conn.execute(statement)


@migration
def m2026_12_01_secrets_and_facts(db: sqlite_utils.Database) -> None:
    """Names of the secrets that runs wait with (never their values), fingerprints, and where results come from."""
    for statement in (
        "ALTER TABLE exec_runs ADD COLUMN secret_names TEXT NOT NULL DEFAULT '[]'",
        """CREATE TABLE exec_run_fingerprints (
            run_id TEXT NOT NULL,
            attempt INTEGER NOT NULL,
            digest TEXT NOT NULL,
            fingerprint TEXT NOT NULL,
            PRIMARY KEY (run_id, attempt)
        ) WITHOUT ROWID""",
        """CREATE TABLE exec_run_provenance (
            provenance_id INTEGER PRIMARY KEY AUTOINCREMENT,
            run_id TEXT NOT NULL,
            attempt INTEGER NOT NULL,
            node_id TEXT NOT NULL,
            record TEXT NOT NULL,
            UNIQUE (run_id, attempt, node_id)
        )""",
    ):
        db.conn.execute(statement)
