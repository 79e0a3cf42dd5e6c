"""Rows of runs as the API shows them, with what only memory knows of live ones."""

from __future__ import annotations

from typing import Any

import msgspec

from codefy_control_plane.api.schemas import RunDetail, RunSummary
from codefy_control_plane.storage.runs import RunRow
from codefy_protocol.bodies import PeakMemory, RunError
from codefy_protocol.envelope import JsonNumber
from codefy_protocol.names import RunOptions
from codefy_protocol.reasons import Reason

_decode_error = msgspec.json.Decoder(RunError).decode
_decode_memory = msgspec.json.Decoder(PeakMemory).decode
_decode_options = msgspec.json.Decoder(RunOptions).decode
_decode_facts = msgspec.json.Decoder(dict[str, Any]).decode
_decode_latest = msgspec.json.Decoder(dict[str, JsonNumber]).decode
_decode_names = msgspec.json.Decoder(list[str]).decode

_NO_PROGRESS = msgspec.Raw(b"null")


class LiveView(msgspec.Struct, frozen=True, kw_only=True):
    """What memory knows of a run that has not ended."""

    queue_position: int | None = None
    queue_reason: Reason | None = None
    progress: bytes | None = None
    latest_metrics: dict[str, JsonNumber] | None = None
    cancel_requested: bool = False


def run_options(row: RunRow) -> RunOptions:
    """The options of a run."""
    return _decode_options(row.options)


def _summary_fields(row: RunRow, live: LiveView | None) -> dict[str, Any]:
    view = LiveView() if live is None or row.ended else live
    why = view.queue_reason
    return {
        "run_id": row.run_id,
        "number": row.number,
        "name": row.name,
        "graph_name": row.graph_name,
        "lane": row.lane,
        "status": row.status,
        "attempt": row.attempt,
        "queue_key": row.queue_key,
        "queue_position": view.queue_position,
        "queue_reason": None if why is None else why.message,
        "queue_reason_code": None if why is None else why.code,
        "queue_reason_params": None if why is None else why.params,
        "worker_id": row.worker_id,
        "device": row.device,
        "devices": _decode_names(row.devices),
        "created_at": row.created_at,
        "started_at": row.started_at,
        "ended_at": row.ended_at,
        "last_heard_at": row.last_heard_at,
        "error": None if row.error is None else _decode_error(row.error),
        "progress": _NO_PROGRESS if view.progress is None else msgspec.Raw(view.progress),
        "latest_metrics": _decode_latest(row.latest_metrics)
        if view.latest_metrics is None
        else dict(view.latest_metrics),
        "event_count": row.event_count,
        "cancel_requested": bool(row.cancel_requested) or view.cancel_requested,
    }


def run_summary(row: RunRow, live: LiveView | None) -> RunSummary:
    """A row of ``GET /api/runs``."""
    return RunSummary(**_summary_fields(row, live))


def run_detail(row: RunRow, graph: bytes, live: LiveView | None) -> RunDetail:
    """``GET /api/runs/{id}``."""
    return RunDetail(
        **_summary_fields(row, live),
        graph=msgspec.Raw(graph),
        options=run_options(row),
        graph_hash=row.graph_hash,
        execution_facts=_decode_facts(row.execution_facts),
        secret_names=_decode_names(row.secret_names),
        peak_memory=None if row.peak_memory is None else _decode_memory(row.peak_memory),
    )
