"""What handlers work with: the services of one running server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import TypeVar

from codefy_control_plane.api.problems import api_error
from codefy_control_plane.drafts import DraftStore
from codefy_control_plane.examples import ExampleStore
from codefy_control_plane.files.store import FileStore
from codefy_control_plane.files.uploads import Uploads
from codefy_control_plane.graphs import GraphStore
from codefy_control_plane.presets import PresetStore
from codefy_control_plane.runs.service import RunService
from codefy_control_plane.settings import Settings
from codefy_control_plane.workers.registry import WorkerRegistry
from codefy_engine.nodes.registry import Registry
from codefy_protocol import reasons

T = TypeVar("T")


@dataclass(kw_only=True)
class Context:
    settings: Settings
    service: RunService
    workers: WorkerRegistry
    registry: Registry
    """Node types of this server."""
    graphs: GraphStore
    drafts: DraftStore
    presets: PresetStore
    examples: ExampleStore
    files: FileStore
    uploads: Uploads
    started_at: float = field(default_factory=time.time)
    """Unix seconds."""
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server begins to stop: sockets close and long polls answer."""

    async def until_closing(self, work: Awaitable[T]) -> T:
        """The result of ``work``, which is cancelled when the server begins to stop.

        Raises:
            ApiError: 503 ``shutting_down``.
        """
        task = asyncio.ensure_future(work)
        closing = asyncio.ensure_future(self.closing.wait())
        try:
            await asyncio.wait((task, closing), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise api_error(503, reasons.SHUTTING_DOWN)
        finally:
            for pending in (task, closing):
                pending.cancel()
            await asyncio.gather(task, closing, return_exceptions=True)
