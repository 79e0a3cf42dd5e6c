"""What the run service needs of the rooms around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from codefy_control_plane.runs.recorder import AttemptRecorder
from codefy_control_plane.scheduling.model import Placement, WorkerView
from codefy_engine.execution.executor import ExecutionOutcome, ExecutionRequest


class RunExecutor(Protocol):
    """Executes one attempt and says how it ended."""

    async def run(self, request: ExecutionRequest) -> ExecutionOutcome:
        """Return when the attempt ended. The service commits what is pending then, and the terminal event with it."""
        ...


@runtime_checkable
class CancellableExecutor(Protocol):
    """An executor that has to be told of a stop beside ``request.stop`` being set."""

    async def cancel(self) -> None:
        """Forward the stop. Called once, after ``request.stop`` was set; may be called before ``run`` got far."""
        ...


@runtime_checkable
class AcknowledgingExecutor(Protocol):
    """An executor whose last record is acknowledged only when the run's end is stored."""

    @property
    def final_seq(self) -> int | None:
        """Seq of ``run_finished``, stored in the transaction of the terminal event."""
        ...

    def settled(self) -> None:
        """That transaction is committed."""
        ...


class Workers(Protocol):
    """The registry of workers, as the run service uses it.

    The registry calls ``RunService.workers_changed()`` when a view changed.
    """

    def views(self) -> Sequence[WorkerView]:
        """Every worker that is known, connected or not."""
        ...

    def executor(
        self, placement: Placement, recorder: AttemptRecorder, *, recorded_seq: int | None = None
    ) -> RunExecutor:
        """An executor for one attempt on ``placement.worker_id``.

        With a ``recorded_seq`` the attempt was started by an earlier process of this server (D-6): nothing is
        assigned, the executor waits for the worker (which may be unknown yet) and goes on after that seq.
        """
        ...

    def expect(self, worker_id: str, run_id: str, attempt: int) -> None:
        """An attempt that an earlier process had on this worker will be executed with its ``recorded_seq`` soon.

        Until then the worker is not asked what it has: a run that nobody knows yet would be cancelled there.
        """
        ...
