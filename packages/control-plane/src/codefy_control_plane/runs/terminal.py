"""The events that only the control plane makes (V-5): ``execution_start`` and the one terminal event."""

from __future__ import annotations

from typing import Any

from codefy_control_plane.storage.attempts import CANCELLED, SUCCEEDED, RunEnd
from codefy_control_plane.storage.events import NewEvent
from codefy_engine.graph.document import GraphDocument
from codefy_protocol.bodies import PeakMemory, RunError
from codefy_protocol.envelope import encode_body
from codefy_protocol.reasons import Reason

EXECUTION_START = "execution_start"
EXECUTION_COMPLETE = "execution_complete"
EXECUTION_ERROR = "execution_error"
EXECUTION_STOPPED = "execution_stopped"
TERMINAL_EVENTS = frozenset((EXECUTION_COMPLETE, EXECUTION_ERROR, EXECUTION_STOPPED))


def run_error(why: Reason) -> RunError:
    """A reason as the error of a run."""
    return RunError(code=why.code, message=why.message, params=why.params)


def start_event(
    at: float, *, name: str, device: str, document: GraphDocument, worker_id: str | None, attempt: int
) -> NewEvent:
    """The first event of an attempt."""
    payload = {
        "name": name,
        "device": device,
        "node_count": len(document.nodes),
        "worker_id": worker_id,
        "attempt": attempt,
    }
    return (EXECUTION_START, at, encode_body(payload))


def run_end(
    status: str,
    at: float,
    *,
    duration_s: float | None = None,
    error: RunError | None = None,
    peak_memory: PeakMemory | None = None,
) -> RunEnd:
    """How a run ends: ``succeeded`` → ``execution_complete``, ``cancelled`` → ``execution_stopped``, else
    ``execution_error`` with the error."""
    payload: dict[str, Any]
    if status == SUCCEEDED:
        kind, payload, error = EXECUTION_COMPLETE, {"duration_s": duration_s}, None
    elif status == CANCELLED:
        kind, payload, error = EXECUTION_STOPPED, {}, None
    else:
        kind, payload = EXECUTION_ERROR, {"error": error}
    return RunEnd(
        status=status,
        at=at,
        event=(kind, at, encode_body(payload)),
        error=None if error is None else encode_body(error),
        peak_memory=None if peak_memory is None else encode_body(peak_memory),
    )
