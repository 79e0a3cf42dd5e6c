"""What a start makes of the runs that an earlier process left (D-6).

==============================  =====================================================================================
row                             becomes
==============================  =====================================================================================
queued                          queued, in the order of submission (``CODEFY_QUEUE_ON_RESTART=interrupt``: interrupted)
queued, a cancel was asked for  cancelled
queued, interactive lane        interrupted: the canvas that waited is gone
queued, with secrets            interrupted, as ``secrets_lost``: their values were in memory only
running in the server           interrupted
running on a worker             disconnected: its slots are taken again and it waits for its worker
==============================  =====================================================================================
"""

from __future__ import annotations

import sqlite3

import msgspec

from codefy_control_plane.runs.live import LiveRun
from codefy_control_plane.runs.submission import INTERACTIVE_LANE
from codefy_control_plane.runs.views import run_options
from codefy_control_plane.scheduling.model import Placement, QueuedRun
from codefy_control_plane.storage.attempts import CANCELLED, INTERRUPTED, QUEUED, AttemptRow, read_attempt
from codefy_control_plane.storage.node_sources import read_file_types
from codefy_control_plane.storage.runs import RunRow, read_live_runs
from codefy_protocol.names import RunOptions


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A live row of an earlier process, and what becomes of it."""

    row: RunRow
    attempt: AttemptRow | None
    """Set when the run is adopted."""
    ends_as: str | None
    """``cancelled`` or ``interrupted`` when it does not go on."""
    file_types: frozenset[str] = frozenset()
    """Its node types that travel with it."""
    secrets_lost: bool = False
    """Whether it ends because of the secrets it waited with."""


def find_left_runs(connection: sqlite3.Connection, *, keep_queue: bool, adopt: bool) -> list[Found]:
    """The rows of an earlier process that have not ended, in the order of submission."""
    found: list[Found] = []
    for row in read_live_runs(connection):
        attempt: AttemptRow | None = None
        ends_as: str | None = None
        lost = False
        if row.status == QUEUED:
            if row.cancel_requested:
                ends_as = CANCELLED
            elif row.lane == INTERACTIVE_LANE or not keep_queue:
                ends_as = INTERRUPTED
            elif msgspec.json.decode(row.secret_names):
                ends_as, lost = INTERRUPTED, True
        else:
            if adopt and row.worker_id is not None:
                attempt = read_attempt(connection, row.run_id, row.attempt)
            if attempt is None:
                ends_as = INTERRUPTED
        types = frozenset[str]() if ends_as is not None else read_file_types(connection, row.run_id)
        found.append(Found(row=row, attempt=attempt, ends_as=ends_as, file_types=types, secrets_lost=lost))
    return found


def live_run(row: RunRow, file_types: frozenset[str] = frozenset()) -> LiveRun:
    """A live run as memory keeps it; ``file_types`` are its node types that travel with it."""
    options: RunOptions = run_options(row)
    request = QueuedRun(
        run_id=row.run_id,
        sequence=row.number,
        submitted_at=row.created_at,
        priority=options.priority,
        queue_key=row.queue_key,
        worker=row.requested_worker,
        device=row.requested_device,
        devices=msgspec.json.decode(row.requested_devices, type=tuple[str, ...]),
        node_types=msgspec.json.decode(row.node_types, type=frozenset[str]),
        file_types=file_types,
    )
    live = LiveRun(
        request, name=row.name or row.graph_name, graph_hash=row.graph_hash, lane=row.lane, options=options
    )
    live.cancel_requested = bool(row.cancel_requested)
    return live


def stored_placement(attempt: AttemptRow) -> Placement:
    """Where an attempt was placed."""
    return Placement(worker_id=attempt.worker_id, devices=attempt.devices, slots=attempt.slots)
