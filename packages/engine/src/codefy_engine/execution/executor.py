"""The executor for this process, and the names that callers of the engine need."""

from __future__ import annotations

import asyncio
import contextvars
import threading

from codefy_engine.execution.request import (
    CANCELLED,
    DEFAULT_PAYLOAD_CAP,
    FAILED,
    SUCCEEDED,
    ExecutionOutcome,
    ExecutionRequest,
    Executor,
)
from codefy_engine.execution.run import execute_graph

__all__ = [
    "CANCELLED",
    "DEFAULT_PAYLOAD_CAP",
    "FAILED",
    "SUCCEEDED",
    "ExecutionOutcome",
    "ExecutionRequest",
    "Executor",
    "InProcessExecutor",
    "execute_graph",
]


class InProcessExecutor:
    """Executes in a thread of its own in this process; one object may execute several runs.

    A stop is cooperative: :meth:`run` returns when the thread has ended and not before, however long a node ignores
    the stop. A caller that does not want to wait shields the call and goes on without it. The thread is a daemon, so
    the interpreter can end all the same.
    """

    async def run(self, request: ExecutionRequest) -> ExecutionOutcome:
        """Execute. A cancelled call sets ``request.stop``; the thread then ends by itself."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[ExecutionOutcome] = loop.create_future()

        def settle(outcome: ExecutionOutcome) -> None:
            if not done.done():
                done.set_result(outcome)

        def work() -> None:
            outcome = execute_graph(request)
            try:
                loop.call_soon_threadsafe(settle, outcome)
            except RuntimeError:
                # The loop was closed while a stop was being ignored: nobody waits for the outcome.
                pass

        context = contextvars.copy_context()
        thread = threading.Thread(
            target=context.run, args=(work,), name=f"codefy-run-{request.run_id}", daemon=True
        )
        thread.start()
        try:
            return await done
        except asyncio.CancelledError:
            request.stop.set()
            raise
