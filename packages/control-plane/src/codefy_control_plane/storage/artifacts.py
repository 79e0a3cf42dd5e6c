"""``exec_run_artifacts``: the files that runs made. Writing a path again replaces its row and keeps its id."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from codefy_control_plane.api.schemas import StoredArtifact
from codefy_protocol.bodies import ArtifactBody
from codefy_protocol.envelope import encode_body

_COLUMNS = "artifact_id, kind, name, path, node_id, size, sha256, media_type, backend, meta, created_at"


def insert_artifacts(
    connection: sqlite3.Connection, run_id: str, attempt: int, artifacts: Sequence[tuple[float, ArtifactBody]]
) -> None:
    """Store artifacts with the Unix seconds of their making."""
    connection.executemany(
        "INSERT INTO exec_run_artifacts"
        " (run_id, attempt, kind, name, path, node_id, size, sha256, media_type, backend, meta, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (run_id, path) DO UPDATE SET attempt = excluded.attempt, kind = excluded.kind,"
        " name = excluded.name, node_id = excluded.node_id, size = excluded.size, sha256 = excluded.sha256,"
        " media_type = excluded.media_type, backend = excluded.backend, meta = excluded.meta,"
        " created_at = excluded.created_at",
        [
            (
                run_id,
                attempt,
                body.kind,
                body.name,
                body.path,
                body.node_id,
                body.size,
                body.sha256,
                body.media_type,
                body.backend,
                encode_body(body.meta).decode(),
                ts,
            )
            for ts, body in artifacts
        ],
    )


def read_artifacts(
    connection: sqlite3.Connection, run_id: str, artifact_id: int | None = None
) -> list[StoredArtifact]:
    """The artifacts of a run in the order of their first making, or only one; ``available`` is left false."""
    only = "" if artifact_id is None else " AND artifact_id = ?"
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM exec_run_artifacts WHERE run_id = ?{only} ORDER BY artifact_id",
        (run_id, *(() if artifact_id is None else (artifact_id,))),
    )
    return [
        StoredArtifact(
            artifact_id=row[0],
            kind=row[1],
            name=row[2],
            path=row[3],
            node_id=row[4],
            size=row[5],
            sha256=row[6],
            media_type=row[7],
            backend=row[8],
            meta=msgspec.json.decode(row[9]),
            available=False,
            created_at=row[10],
        )
        for row in rows
    ]
