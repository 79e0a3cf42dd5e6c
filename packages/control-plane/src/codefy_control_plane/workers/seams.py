"""What the workers' room needs of the run service, and gives to it.

The life of one attempt on a worker, seen from the run service::

    executor = registry.executor(placement, recorder)        # the attempt row is committed
    outcome = await executor.run(request)                    # batches are committed meanwhile
    ... one transaction: terminal event, status, recorded_seq = executor.final_seq when it is not None ...
    executor.settled()                                       # only now the worker may forget its run_finished

``executor.final_seq`` is the seq of the ``run_finished`` record. It is acknowledged by :meth:`settled` and not before:
a server that is killed between the outcome and that transaction gets the record again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from codefy_engine.execution.sinks import RunSinks
from codefy_protocol.bodies import ConsoleBody
from codefy_protocol.reasons import Reason


class Recorder(Protocol):
    """The part of ``runs.recorder.AttemptRecorder`` that a worker's records go through. All but ``commit`` append to
    the pending batch and return at once."""

    @property
    def sinks(self) -> RunSinks: ...

    def started(self, body: bytes) -> None:
        """A ``run_started`` record: JSON of ``bodies.RunStartedBody``."""
        ...

    def console(self, body: ConsoleBody) -> None: ...

    def facts(self, facts: dict[str, Any]) -> None:
        """Merge into ``execution_facts``."""
        ...

    def status(self, status: str) -> None:
        """``running`` or ``disconnected``: the run's status from this batch on."""
        ...

    def drop_records(self, why: Reason) -> None:
        """Forget what is pending but the status, and warn of it: the batch holds what cannot be stored."""
        ...

    async def commit(self, recorded_seq: int | None = None, resume: dict[str, Any] | None = None) -> None:
        """Everything pending, the status, ``recorded_seq`` and ``worker_resume`` in one transaction."""
        ...


LateResult = Callable[[str, str, int, int, bytes], Awaitable[None]]
"""``(worker, run_id, attempt, seq, RunFinishedBody as JSON)``: a run that ended here reports after all (D-4).

To be kept as ``execution_facts.late_result`` unless the attempt's recorded seq shows that this report is the one that
ended it (``seq <= recorded_seq``)."""


async def ignore_late_result(worker: str, run_id: str, attempt: int, seq: int, body: bytes) -> None:
    """For a control plane that keeps none."""
