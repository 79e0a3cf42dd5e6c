"""Reading runs: lists, pages of events and metrics, artifacts. Everything comes from the database, off the loop."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import msgspec

from codefy_control_plane.api.schemas import (
    ArtifactList,
    EventList,
    MetricList,
    ProvenanceList,
    RunDetail,
    RunList,
    StoredArtifact,
)
from codefy_control_plane.runs.console import OUTPUT_LOG
from codefy_control_plane.runs.errors import Refused
from codefy_control_plane.runs.feed import Feed, Page
from codefy_control_plane.runs.views import LiveView, run_detail, run_summary
from codefy_control_plane.storage.artifacts import read_artifacts
from codefy_control_plane.storage.attempts import ENDED_STATUSES, LIVE_STATUSES
from codefy_control_plane.storage.database import Database
from codefy_control_plane.storage.events import read_events
from codefy_control_plane.storage.facts import read_fingerprint, read_provenance
from codefy_control_plane.storage.graphs import read_graph
from codefy_control_plane.storage.metrics import read_metrics
from codefy_control_plane.storage.runs import RunRow, count_runs, read_run, read_runs
from codefy_engine.execution.provenance import ProvenanceRecord
from codefy_protocol import reasons
from codefy_protocol.reasons import reason

MAX_PAGE = 5000
"""Rows in one answer at most."""
MAX_WAIT_S = 60.0

_decode_record = msgspec.json.Decoder(ProvenanceRecord).decode


def run_not_found(run_id: str) -> Refused:
    """The answer to a run id that does not exist."""
    return Refused(404, reason(reasons.RUN_NOT_FOUND, run_id=run_id))


async def read_page(
    database: Database, run_id: str, events_after: int, metrics_after: int, limit: int
) -> Page:
    """What follows two cursors, in one snapshot; for the feed. A run that does not exist has ended."""

    def read(connection: sqlite3.Connection) -> Page:
        run = read_run(connection, run_id)
        if run is None:
            return Page(events=[], metrics=[], metrics_cursor=metrics_after, ended=True)
        events = read_events(connection, run_id, events_after, limit)
        ended = run.ended and (events[-1].cursor if events else events_after) >= run.event_count
        if metrics_after < 0:
            return Page(events=events, metrics=[], metrics_cursor=metrics_after, ended=ended)
        points, last = read_metrics(connection, run_id, metrics_after, limit)
        return Page(
            events=events, metrics=points, metrics_cursor=last, ended=ended and last >= run.metric_count
        )

    return await database.read(read)


class RunReader:
    """The read side of the run service."""

    def __init__(
        self, database: Database, feed: Feed, runs_dir: Path, live_view: Callable[[str], LiveView | None]
    ) -> None:
        self._database = database
        self._feed = feed
        self._runs_dir = runs_dir
        self._live_view = live_view

    def run_dir(self, run_id: str) -> Path:
        """The folder of a run. Run ids come from us, but the one in a request is checked all the same."""
        if not run_id.isalnum():
            raise run_not_found(run_id)
        return self._runs_dir / run_id

    def log_path(self, run_id: str) -> Path:
        return self.run_dir(run_id) / OUTPUT_LOG

    async def list_runs(self, limit: int, cursor: str | None, status: str | None) -> RunList:
        before: int | None = None
        if cursor is not None:
            if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
                raise _bad_query("cursor", "expected the next_cursor of an earlier answer")
            before = int(cursor)
        if status is not None and status not in (*LIVE_STATUSES, *ENDED_STATUSES):
            raise _bad_query("status", f"expected one of {', '.join((*LIVE_STATUSES, *ENDED_STATUSES))}")
        limit = _limit(limit)

        def read(connection: sqlite3.Connection) -> tuple[list[RunRow], dict[str, int]]:
            return read_runs(connection, limit + 1, before, status), count_runs(connection)

        rows, counts = await self._database.read(read)
        shown = rows[:limit]
        return RunList(
            runs=[run_summary(row, self._live_view(row.run_id)) for row in shown],
            next_cursor=str(shown[-1].number) if len(rows) > limit else None,
            total=sum(counts.values()) if status is None else counts[status],
            counts=counts,
        )

    async def get(self, run_id: str) -> RunDetail:
        def read(connection: sqlite3.Connection) -> tuple[RunRow, bytes]:
            row = self._row(connection, run_id)
            return row, read_graph(connection, row.graph_hash) or b"null"

        row, graph = await self._database.read(read)
        return run_detail(row, graph, self._live_view(run_id))

    async def events(self, run_id: str, cursor: int, limit: int, wait_s: float) -> EventList:
        limit = _limit(limit)

        def read(connection: sqlite3.Connection) -> EventList:
            row = self._row(connection, run_id)
            events = read_events(connection, run_id, cursor, limit)
            last = events[-1].cursor if events else cursor
            return EventList(
                run_id=run_id, events=events, next_cursor=last, ended=row.ended and last >= row.event_count
            )

        found = await self._database.read(read)
        if found.events or found.ended or wait_s <= 0:
            return found
        with self._feed.watching(run_id) as channel:
            try:
                async with asyncio.timeout(min(wait_s, MAX_WAIT_S)):
                    while not (found.events or found.ended or self._feed.closed):
                        seen = channel.changed.version
                        found = await self._database.read(read)
                        if not (found.events or found.ended):
                            await channel.changed.wait(seen)
            except TimeoutError:
                pass
        return found

    async def metrics(self, run_id: str, cursor: int, limit: int, name: str | None) -> MetricList:
        limit = _limit(limit)

        def read(connection: sqlite3.Connection) -> MetricList:
            self._row(connection, run_id)
            points, last = read_metrics(connection, run_id, cursor, limit, name)
            return MetricList(run_id=run_id, points=points, next_cursor=last)

        return await self._database.read(read)

    async def provenance(self, run_id: str, cursor: int, limit: int) -> ProvenanceList:
        limit = _limit(limit)

        def read(
            connection: sqlite3.Connection,
        ) -> tuple[int, tuple[str, bytes] | None, list[tuple[int, bytes]]] | None:
            run = read_run(connection, run_id)
            if run is None:
                return None
            fingerprint = read_fingerprint(connection, run_id, run.attempt)
            return run.attempt, fingerprint, read_provenance(connection, run_id, run.attempt, cursor, limit)

        found = await self._database.read(read)
        if found is None:
            raise run_not_found(run_id)
        attempt, fingerprint, rows = found
        return ProvenanceList(
            run_id=run_id,
            attempt=attempt,
            fingerprint=msgspec.Raw(b"null" if fingerprint is None else fingerprint[1]),
            fingerprint_digest=None if fingerprint is None else fingerprint[0],
            records=[_decode_record(record) for _, record in rows],
            next_cursor=rows[-1][0] if rows else cursor,
        )

    async def artifacts(self, run_id: str) -> ArtifactList:
        return ArtifactList(run_id=run_id, artifacts=await self._artifacts(run_id, None))

    async def artifact_file(self, run_id: str, artifact_id: int) -> tuple[Path, StoredArtifact]:
        found = await self._artifacts(run_id, artifact_id)
        if not found:
            raise Refused(404, reason(reasons.ARTIFACT_NOT_FOUND, run_id=run_id, artifact=artifact_id))
        artifact = found[0]
        path = self._file(run_id, artifact)
        if path is None:
            raise Refused(410, reason(reasons.ARTIFACT_GONE, artifact=artifact.name))
        return path, artifact

    async def _artifacts(self, run_id: str, artifact_id: int | None) -> list[StoredArtifact]:
        def read(connection: sqlite3.Connection) -> list[StoredArtifact]:
            self._row(connection, run_id)
            artifacts = read_artifacts(connection, run_id, artifact_id)
            return [
                msgspec.structs.replace(artifact, available=self._file(run_id, artifact) is not None)
                for artifact in artifacts
            ]

        return await self._database.read(read)

    def _file(self, run_id: str, artifact: StoredArtifact) -> Path | None:
        """The file of an artifact, when it lies in the run's folder here. A path that leads out of it is none."""
        relative = PurePosixPath(artifact.path)
        if artifact.backend != "local" or relative.is_absolute() or ".." in relative.parts:
            return None
        folder = self.run_dir(run_id).resolve()
        path = folder.joinpath(*relative.parts).resolve()
        return path if path.is_relative_to(folder) and path.is_file() else None

    def _row(self, connection: sqlite3.Connection, run_id: str) -> RunRow:
        row = read_run(connection, run_id)
        if row is None:
            raise run_not_found(run_id)
        return row


def _limit(limit: int) -> int:
    return max(1, min(limit, MAX_PAGE))


def _bad_query(name: str, detail: str) -> Refused:
    return Refused(400, reason(reasons.INVALID_QUERY, name=name, detail=detail))
