"""Messages of ``/ws/execution``: JSON objects whose ``type`` is the tag of a struct here."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from codefy_control_plane.api.schemas import StoredEvent, StoredMetric
from codefy_engine.graph.problems import GraphProblem
from codefy_protocol.names import RunOptions

Position = Annotated[int, msgspec.Meta(ge=0, le=2**62)]


class Run(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, tag="run"):
    """Run a graph on the interactive lane. Answered by ``accepted``, then attached from the start."""

    id: str | None = None
    """Echoed in the answer."""
    graph: msgspec.Raw
    options: RunOptions = RunOptions()
    name: str = ""
    secrets: dict[str, str] = {}
    """As in ``SubmitRun``."""

    def __repr__(self) -> str:
        return f"Run(id={self.id!r}, secrets={sorted(self.secrets)})"


class Attach(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, tag="attach"):
    """Send everything of a run after the cursors, and go on live. Attaching again moves the cursors."""

    id: str | None = None
    run_id: str
    cursor: Position = 0
    metrics_cursor: Position = 0


class Detach(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, tag="detach"):
    """Send no more of a run."""

    id: str | None = None
    run_id: str


class Stop(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, tag="stop"):
    """Ask a run to stop."""

    id: str | None = None
    run_id: str


class WatchRuns(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, tag="watch_runs"):
    """Send ``runs_changed`` whenever a row of the runs' list changed."""

    id: str | None = None


class Ping(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, tag="ping"):
    """Answered by ``pong``."""

    id: str | None = None


ClientMessage = Run | Attach | Detach | Stop | WatchRuns | Ping


class Accepted(msgspec.Struct, kw_only=True, tag="accepted"):
    id: str | None
    run_id: str
    number: int


class Events(msgspec.Struct, kw_only=True, tag="events"):
    """Events in order, without gaps or repeats."""

    run_id: str
    events: list[StoredEvent]


class Metrics(msgspec.Struct, kw_only=True, tag="metrics"):
    run_id: str
    metrics_cursor: int
    """Pass when attaching again: the cursor of the last point."""
    points: list[StoredMetric]


class Ended(msgspec.Struct, kw_only=True, tag="ended"):
    """Everything of the run was sent, the terminal event too."""

    run_id: str


class RunsChanged(msgspec.Struct, kw_only=True, tag="runs_changed"):
    """At most four times a second."""


class Refusal(msgspec.Struct, kw_only=True, tag="error"):
    """A message that could not be done. The socket lives on."""

    id: str | None = None
    code: str
    message: str
    params: dict[str, Any]
    run_id: str | None = None
    problems: list[GraphProblem] | None = None


class Pong(msgspec.Struct, kw_only=True, tag="pong"):
    id: str | None = None


ServerMessage = Accepted | Events | Metrics | Ended | RunsChanged | Refusal | Pong
CLIENT_MESSAGES: tuple[type[msgspec.Struct], ...] = (Run, Attach, Detach, Stop, WatchRuns, Ping)
SERVER_MESSAGES: tuple[type[msgspec.Struct], ...] = (
    Accepted,
    Events,
    Metrics,
    Ended,
    RunsChanged,
    Refusal,
    Pong,
)
