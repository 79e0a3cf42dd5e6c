"""What the first run needs is loaded after the server is ready, once nobody waits for it: the nodes, and torch."""

from __future__ import annotations

import asyncio
import logging
import threading
import time

from starlette.types import ASGIApp, Receive, Scope, Send

from codefy_engine.execution.preload import preload_torch
from codefy_engine.nodes.registry import Registry

logger = logging.getLogger("codefy.warmup")

QUIET_S = 0.5
"""No request for so long, and the page that opened with the server is there."""
LATEST_S = 10.0
"""A page that polls is not waited for longer than this."""


class Activity:
    """Knows when the last request came or was answered."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    def watched(self, app: ASGIApp) -> ASGIApp:
        """The application, with its requests noted."""

        async def noting(scope: Scope, receive: Receive, send: Send) -> None:
            self.last = time.monotonic()
            try:
                await app(scope, receive, send)
            finally:
                self.last = time.monotonic()

        return noting


class WarmUp:
    """Imports the node types and torch in a thread.

    A run that comes first waits for what is under way, or imports it itself; nothing is done twice.
    """

    def __init__(self, registry: Registry, activity: Activity) -> None:
        self._registry = registry
        self._activity = activity
        self._thread: threading.Thread | None = None

    @property
    def importing(self) -> bool:
        """Whether the thread is at work. Python cannot end in an orderly way then: it would pull the ground from
        under the libraries that are being loaded."""
        return self._thread is not None and self._thread.is_alive()

    async def run(self, quiet_s: float = QUIET_S, latest_s: float = LATEST_S) -> None:
        """Wait for a quiet moment, then start importing; returns without waiting for its end."""
        latest = time.monotonic() + latest_s
        while (now := time.monotonic()) < latest:
            rest = self._activity.last + quiet_s - now
            if rest <= 0:
                break
            await asyncio.sleep(min(rest, latest - now))
        self._thread = threading.Thread(target=self._import, name="codefy-warm-up", daemon=True)
        self._thread.start()

    def _import(self) -> None:
        began = time.perf_counter()
        try:
            self._registry.loaded()
            preload_torch()
        except Exception as error:  # a stranger's nodes; the run that needs it tells its user
            logger.warning("what runs need could not be loaded ahead: %s: %s", type(error).__name__, error)
            return
        logger.debug("torch is there after %.1f s", time.perf_counter() - began)
