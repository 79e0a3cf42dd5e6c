"""Workers and devices over HTTP."""

from __future__ import annotations

import platform
import socket

from codefy_control_plane.api.context import Context
from codefy_control_plane.api.schemas import DeviceList, DeviceStatus, WorkerList, WorkerStatus
from codefy_protocol import __version__, capabilities
from codefy_protocol.names import LOCAL


async def list_workers(context: Context) -> WorkerList:
    """The server itself, then the workers that were seen."""
    return WorkerList(workers=[_local_status(context), *context.workers.statuses()])


async def drain_worker(context: Context, worker_id: str) -> WorkerStatus:
    """Let a worker finish its runs and give it no others."""
    return await context.workers.drain(worker_id)


async def undrain_worker(context: Context, worker_id: str) -> WorkerStatus:
    """Give a drained worker runs again."""
    return await context.workers.undrain(worker_id)


async def reclaim_device(context: Context, worker_id: str, device: str) -> WorkerStatus:
    """Give runs to a device again although something of an earlier run is left on it."""
    return context.workers.reclaim(worker_id, device)


async def list_devices(context: Context) -> DeviceList:
    """The devices of the server's machine, and the runs on them."""
    return DeviceList(devices=_local_devices(context))


def _local_devices(context: Context) -> list[DeviceStatus]:
    service = context.service
    return [service.device_status(LOCAL, device) for device in service.local_devices()]


def _local_status(context: Context) -> WorkerStatus:
    devices = _local_devices(context)
    run_ids = dict.fromkeys(run_id for device in devices for run_id in device.slots.run_ids)
    return WorkerStatus(
        worker_id=LOCAL,
        label=socket.gethostname(),
        state="online",
        draining=False,
        outdated=False,
        same_machine=True,
        product_version=__version__,
        platform=f"{platform.system()} {platform.machine()}",
        connected_at=context.started_at,
        last_heard_at=None,
        devices=devices,
        run_ids=list(run_ids),
        capabilities=list(capabilities.IMPLEMENTED),
    )
