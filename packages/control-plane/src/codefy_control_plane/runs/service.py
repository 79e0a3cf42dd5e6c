"""The run service: takes submissions, queues them, executes them and keeps what they produce (A-1)."""

from __future__ import annotations

from pathlib import Path

from codefy_protocol.frames import Device
from codefy_protocol.names import RunOptions

from codefy_control_plane.api.schemas import (
    ArtifactList,
    EventList,
    MetricList,
    RunCancelled,
    RunDetail,
    RunList,
    RunSubmitted,
    Slots,
    StoredArtifact,
)
from codefy_control_plane.runs.feed import Broadcast, Feed
from codefy_control_plane.runs.ports import Workers
from codefy_control_plane.settings import Settings
from codefy_control_plane.storage.attempts import AttemptRow
from codefy_control_plane.storage.database import Database


class RunService:
    """Everything about runs. Make it, call :meth:`attach` when there is a registry of workers, then :meth:`start`."""

    runs_changed: Broadcast
    """Says that a run's row, queue position or progress changed."""
    feed: Feed

    def __init__(self, settings: Settings, database: Database) -> None:
        raise NotImplementedError

    def attach(self, workers: Workers) -> None:
        """Let runs be placed on these workers. Call it before :meth:`start`."""
        raise NotImplementedError

    async def start(self) -> None:
        """Take over what an earlier process left (D-6) and begin to start runs."""
        raise NotImplementedError

    async def close(self) -> None:
        """End local runs as interrupted, leave worker runs for adoption, end every subscription."""
        raise NotImplementedError

    def workers_changed(self) -> None:
        """A worker came, went, or offers something else: look again at what waits. Call it in the event loop."""
        raise NotImplementedError

    async def submit(self, graph: bytes, options: RunOptions, name: str = "") -> RunSubmitted:
        """Check and store a run, and start or queue it.

        Raises:
            Refused: 400 for what can never run (nothing is stored), 409 when the interactive lane is full, 503 while
                the server stops.
        """
        raise NotImplementedError

    async def cancel(self, run_id: str) -> RunCancelled:
        """Stop a run. The wish is stored before this returns.

        Raises:
            Refused: 404, or 409 when the run has ended.
        """
        raise NotImplementedError

    async def delete(self, run_id: str) -> None:
        """Delete an ended run with everything it stored. Raises Refused: 404, or 409 while it is live."""
        raise NotImplementedError

    async def list_runs(self, limit: int = 50, cursor: str | None = None, status: str | None = None) -> RunList:
        """Newest first. Raises Refused (400) for a cursor or status that is none."""
        raise NotImplementedError

    async def get(self, run_id: str) -> RunDetail:
        """One run. Raises Refused (404)."""
        raise NotImplementedError

    async def events(self, run_id: str, cursor: int = 0, limit: int = 1000, wait_s: float = 0.0) -> EventList:
        """Events after ``cursor``; waits up to ``wait_s`` for the first. Raises Refused (404)."""
        raise NotImplementedError

    async def metrics(
        self, run_id: str, cursor: int = 0, limit: int = 1000, name: str | None = None
    ) -> MetricList:
        """Metric points after ``cursor``. Raises Refused (404)."""
        raise NotImplementedError

    async def artifacts(self, run_id: str) -> ArtifactList:
        """Files of a run. Raises Refused (404)."""
        raise NotImplementedError

    async def artifact_file(self, run_id: str, artifact_id: int) -> tuple[Path, StoredArtifact]:
        """Where the file lies. Raises Refused: 404, or 410 when the file is gone."""
        raise NotImplementedError

    def log_path(self, run_id: str) -> Path:
        """``output.log`` of a run; it may not exist. Check the run with :meth:`get` first."""
        raise NotImplementedError

    def local_devices(self) -> tuple[Device, ...]:
        """What this machine offers, listed at :meth:`start`."""
        raise NotImplementedError

    def slots(self, worker_id: str, device: str) -> Slots:
        """Limit and users of a slot; ``worker_id`` is ``local`` for the server."""
        raise NotImplementedError

    async def attempts_of(self, worker_id: str) -> list[AttemptRow]:
        """The newest attempts that were placed on a worker, with recorded seq and status, newest first."""
        raise NotImplementedError
