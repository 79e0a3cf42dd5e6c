"""Whether a run could go somewhere now, later or never, provider by provider (S-14). Pure."""

from __future__ import annotations

import msgspec

from codefy_control_plane.scheduling.model import Placement, QueuedRun
from codefy_control_plane.scheduling.placement import never
from codefy_control_plane.scheduling.scheduler import Scheduler
from codefy_protocol.names import LOCAL, parse_device, worker_queue_key
from codefy_protocol.reasons import Reason

NOW = "now"
LATER = "later"
NEVER = "never"


class Prospect(msgspec.Struct, frozen=True, kw_only=True):
    """What would become of a run if it were sent to this provider."""

    worker_id: str
    """``local`` or a worker's name."""
    verdict: str
    """``now``, ``later`` or ``never``."""
    devices: tuple[str, ...] = ()
    """Which it would get, when it could start now."""
    reason: Reason | None = None
    """Why not now, when it is more than a busy slot."""
    ahead: int = 0
    """Runs that wait before it there."""


def prospects(scheduler: Scheduler, run: QueuedRun) -> list[Prospect]:
    """For the server and every known worker, the server first. ``run`` is not queued; its own target is left aside."""
    return [_prospect(scheduler, run, name) for name in (LOCAL, *scheduler.workers)]


def _prospect(scheduler: Scheduler, run: QueuedRun, provider: str) -> Prospect:
    there = _sent_to(run, provider)
    why = never(there, scheduler.local_devices, scheduler.workers)
    if why is not None:
        return Prospect(worker_id=provider, verdict=NEVER, reason=why)
    ahead = scheduler.queue_length(there.queue_key)
    answer = scheduler.look(there)
    if isinstance(answer, Placement) and ahead == 0:
        names = tuple(device.name for device in answer.devices)
        return Prospect(worker_id=provider, verdict=NOW, devices=names)
    reason = None if isinstance(answer, Placement) else answer.reason
    return Prospect(worker_id=provider, verdict=LATER, reason=reason, ahead=ahead)


def _sent_to(run: QueuedRun, provider: str) -> QueuedRun:
    if provider != LOCAL:
        key = worker_queue_key(provider, run.device)
        return msgspec.structs.replace(run, worker=provider, queue_key=key)
    device = run.device
    if not parse_device(device).concrete:
        device = f"{device}:0"
    return msgspec.structs.replace(run, worker=LOCAL, device=device, queue_key=device)
