"""What the session of a worker decides, and the states of its link; registry and executors carry it out."""

from __future__ import annotations

from enum import Enum

import msgspec

from codefy_protocol.frames import Frame, RunRecord
from codefy_protocol.reasons import Reason

AttemptKey = tuple[str, int]
"""``(run_id, attempt)`` (F-4)."""

# ------------------------------------------------------------------ about the connection


class Send(msgspec.Struct, frozen=True):
    """Send a frame on a connection."""

    connection: int
    frame: Frame


class Close(msgspec.Struct, frozen=True):
    """Close a connection, after what was sent on it before."""

    connection: int
    reason: str


class WorkerChanged(msgspec.Struct, frozen=True):
    """State, draining or devices changed: placement and panels want to know."""


# ------------------------------------------------------------------ about one attempt


class Deliver(msgspec.Struct, frozen=True):
    """New records of an attempt, in order, none of them ``run_finished``: put them into its batch."""

    run_id: str
    attempt: int
    records: tuple[RunRecord, ...]


class Warn(msgspec.Struct, frozen=True):
    """Put a ``run_warning`` into the attempt's batch."""

    run_id: str
    attempt: int
    reason: Reason


class SetStatus(msgspec.Struct, frozen=True):
    """The run is ``running`` or ``disconnected`` from now on; part of the batch."""

    run_id: str
    attempt: int
    status: str


class Commit(msgspec.Struct, frozen=True):
    """Commit the attempt's batch with ``seq`` as its recorded seq, then call ``committed``. One at a time."""

    run_id: str
    attempt: int
    seq: int


class Reported(msgspec.Struct, frozen=True):
    """The worker's ``run_finished``; everything before it is committed. Ends with ``settled``."""

    run_id: str
    attempt: int
    seq: int
    body: bytes


class GiveUp(msgspec.Struct, frozen=True):
    """The attempt ends without a report: ``interrupted`` or ``cancelled``. Ends with ``settled``."""

    run_id: str
    attempt: int
    status: str
    reason: Reason | None


class KeepLateResult(msgspec.Struct, frozen=True):
    """An attempt that is not tracked any more reports its end: keep it, then call ``late_result_kept``."""

    run_id: str
    attempt: int
    seq: int
    body: bytes


AttemptDecision = Deliver | Warn | SetStatus | Commit | Reported | GiveUp
Decision = Send | Close | WorkerChanged | AttemptDecision | KeepLateResult


class Link(Enum):
    OFFLINE = "offline"
    GREETING = "greeting"
    ONLINE = "online"
    DISCONNECTED = "disconnected"
