"""A run that has not ended, as the run service keeps it in memory. Everything that must last is in the database."""

from __future__ import annotations

import asyncio
import threading

from codefy_control_plane.runs.recorder import AttemptRecorder
from codefy_control_plane.scheduling.model import QueuedRun
from codefy_control_plane.storage.attempts import AttemptRow
from codefy_engine.execution.state import ExecutionState
from codefy_protocol.names import RunOptions
from codefy_protocol.reasons import Reason


class LiveRun:
    """What the service knows of one waiting or running run."""

    def __init__(
        self, request: QueuedRun, *, name: str, graph_hash: str, lane: str, options: RunOptions
    ) -> None:
        self.request = request
        self.name = name
        """What people call it: its own name, else the graph's."""
        self.graph_hash = graph_hash
        self.lane = lane
        self.options = options
        self.attempt = 0
        self.adopted: AttemptRow | None = None
        """The attempt that an earlier process of this server started."""
        self.recorder: AttemptRecorder | None = None
        self.stop = threading.Event()
        """Read by the engine's threads."""
        self.stopping = asyncio.Event()
        """Set together with ``stop``; what the event loop waits for."""
        self.cancel_requested = False
        self.state: ExecutionState | None = None
        """Of the editor's session that started it, whose earlier results it may reuse (L-1)."""
        self.interrupted: Reason | None = None
        """Why the server itself stops it."""

    @property
    def run_id(self) -> str:
        return self.request.run_id

    def request_stop(self) -> None:
        """Ask the run to stop. Call it in the event loop."""
        self.stop.set()
        self.stopping.set()
