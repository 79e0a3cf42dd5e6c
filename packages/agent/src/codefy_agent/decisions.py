"""What the agent's session decides, and the states of its connection; the shell around it carries it out."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

import msgspec

from codefy_protocol import reasons
from codefy_protocol.bodies import RunError, RunFinishedBody
from codefy_protocol.envelope import encode_body
from codefy_protocol.frames import Assign, Device, Frame

AttemptKey = tuple[str, int]
"""``(run_id, attempt)``: the key of everything that travels (F-4)."""

# ------------------------------------------------------------------ decisions


class StartAttempt(msgspec.Struct, frozen=True):
    """Make the attempt's spool, then start its run child."""

    assign: Assign


class CancelAttempt(msgspec.Struct, frozen=True):
    """Ask the run child to stop; terminate it after ``grace_s``. May come again with a shorter grace."""

    run_id: str
    attempt: int
    grace_s: float
    cause: str = "cancel"
    """``cancel``, or ``agent_stopped`` when this agent is being stopped."""


class FinishAttempt(msgspec.Struct, frozen=True):
    """Append a ``run_finished`` record with this body to the attempt's spool (make the spool when there is none):
    ``reserve`` a seq, write, then ``records_appended(…, final=True)``."""

    run_id: str
    attempt: int
    body: bytes


class TruncateSpool(msgspec.Struct, frozen=True):
    """Everything up to and including ``seq`` is recorded by the control plane; drop it."""

    run_id: str
    attempt: int
    seq: int


class ForgetAttempt(msgspec.Struct, frozen=True):
    """Every record of the ended attempt is recorded: its spool can go."""

    run_id: str
    attempt: int


class CloseConnection(msgspec.Struct, frozen=True):
    """Close the socket; call ``disconnected`` when it is closed."""

    reason: str


class ReconnectAt(msgspec.Struct, frozen=True):
    """Dial at this time of the clock that was passed in."""

    at: float


class ExitAgent(msgspec.Struct, frozen=True):
    """End the agent process: close the socket, end what still runs, exit with ``code``."""

    code: int
    reason: str


class SendControl(msgspec.Struct, frozen=True):
    """Send this frame. Only from ``writable``, before any record."""

    frame: Frame


class SendRecords(msgspec.Struct, frozen=True):
    """Read these records from the spool and send them, in order. Only from ``writable``."""

    run_id: str
    attempt: int
    first_seq: int
    last_seq: int


Decision = (
    StartAttempt
    | CancelAttempt
    | FinishAttempt
    | TruncateSpool
    | ForgetAttempt
    | CloseConnection
    | ReconnectAt
    | ExitAgent
)
Sending = SendControl | SendRecords


class IllegalEvent(RuntimeError):
    """The shell reported something that cannot happen in this state."""


class ConnectionState(Enum):
    DISCONNECTED = "disconnected"
    HELLO_SENT = "hello_sent"
    LIVE = "live"
    REJECTED = "rejected"


def failed(key: AttemptKey, code: str, /, **params: str) -> FinishAttempt:
    """The end of an attempt that never ran here, or whose agent is gone."""
    why = reasons.reason(code, **params)
    error = RunError(code=why.code, message=why.message, params=why.params)
    return FinishAttempt(*key, encode_body(RunFinishedBody(status="failed", error=error)))


def device_refusal(assign: Assign, devices: Iterable[Device]) -> tuple[str, dict[str, str]] | None:
    """Why the assignment's devices cannot be had: one is missing, or has another UUID than at placement (S-5), or a set
    has an instance of a split card (P-10)."""
    devices = tuple(devices)
    offered = {device.name: device.uuid for device in devices}
    for wanted in assign.devices:
        if wanted.name not in offered or (wanted.uuid is not None and offered[wanted.name] != wanted.uuid):
            device = wanted.name if wanted.name not in offered else f"{wanted.name} ({wanted.uuid})"
            return reasons.DEVICE_NOT_OFFERED, {"device": device, "offered": ", ".join(offered) or "none"}
    if len(assign.devices) > 1:
        instances = {device.name for device in devices if device.mig}
        for wanted in assign.devices:
            if wanted.name in instances:
                return reasons.MIG_IN_SET, {"device": wanted.name}
    return None
