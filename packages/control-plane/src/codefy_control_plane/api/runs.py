"""Runs over HTTP: submit, list, look, cancel, and their events, metrics and artifacts."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from codefy_control_plane.api.context import Context
from codefy_control_plane.api.schemas import (
    ArtifactList,
    ChangeRun,
    EventList,
    MetricList,
    Preflight,
    PreflightRequest,
    ProvenanceList,
    RunCancelled,
    RunDetail,
    RunList,
    RunSubmitted,
    SubmitRun,
    Waiting,
)

RunStatus = Literal["queued", "running", "disconnected", "succeeded", "failed", "cancelled", "interrupted"]
Position = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
PageSize = Annotated[int, msgspec.Meta(ge=1, le=5000)]
MAX_WAIT_S = 60.0


class RunsQuery(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 50
    cursor: str | None = None
    """``next_cursor`` of the page before."""
    status: RunStatus | None = None


class EventsQuery(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    cursor: Position = 0
    """Events after this one."""
    limit: PageSize = 1000
    wait: Annotated[float, msgspec.Meta(ge=0, le=MAX_WAIT_S)] = 0.0
    """Seconds to wait for an event when there is none yet."""


class MetricsQuery(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    cursor: Position = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=50_000)] = 5000
    name: str | None = None
    """Only the metric of this name."""


class ProvenanceQuery(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    cursor: Position = 0
    """Records after this one."""
    limit: PageSize = 1000


async def submit_run(context: Context, body: SubmitRun) -> RunSubmitted:
    """Queue a run.

    A graph with problems is refused with all of them, and nothing is stored. A graph that refers to secrets needs their
    values in ``secrets``.
    """
    return await context.service.submit(bytes(body.graph), body.options, body.name, secrets=body.secrets)


async def list_runs(context: Context, query: RunsQuery) -> RunList:
    """Runs, the newest first."""
    return await context.service.list_runs(query.limit, query.cursor, query.status)


async def show_run(context: Context, run_id: str) -> RunDetail:
    """One run with its graph and options."""
    return await context.service.get(run_id)


async def change_run(context: Context, run_id: str, body: ChangeRun) -> RunDetail:
    """Change the priority of a waiting run."""
    return await context.service.set_priority(run_id, body.priority)


async def explain_waiting(context: Context, run_id: str) -> Waiting:
    """Why a run waits, when it is expected to start, and what another target would change."""
    return await context.service.waiting(run_id)


async def preflight(context: Context, body: PreflightRequest) -> Preflight:
    """Where a graph with these options could run now, later or never, and why. Stores nothing."""
    return await context.service.preflight(bytes(body.graph), body.options)


async def delete_run(context: Context, run_id: str) -> None:
    """Delete an ended run with its events, metrics, files and log."""
    await context.service.delete(run_id)


async def cancel_run(context: Context, run_id: str) -> RunCancelled:
    """Ask a waiting or running run to stop."""
    return await context.service.cancel(run_id)


async def list_events(context: Context, run_id: str, query: EventsQuery) -> EventList:
    """Events of a run in order, without gaps.

    With ``wait`` the answer comes when there is an event after ``cursor``, or when the time is over.
    """
    work = context.service.events(run_id, query.cursor, query.limit, query.wait)
    return await (context.until_closing(work) if query.wait else work)


async def list_metrics(context: Context, run_id: str, query: MetricsQuery) -> MetricList:
    """Metric points of a run in the order in which they were recorded."""
    return await context.service.metrics(run_id, query.cursor, query.limit, query.name)


async def list_provenance(context: Context, run_id: str, query: ProvenanceQuery) -> ProvenanceList:
    """What computed a run, and where each of its results comes from.

    Records of nodes are kept of runs with ``options.provenance``.
    """
    return await context.service.provenance(run_id, query.cursor, query.limit)


async def list_artifacts(context: Context, run_id: str) -> ArtifactList:
    """What a run produced: checkpoints, pictures, tables."""
    return await context.service.artifacts(run_id)
