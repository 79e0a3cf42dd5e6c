"""Where a run may go (S-6, S-7), why it waits (S-9), and what can never run (S-8).

Rules:

======================  ==============================================================================================
target                  placement
======================  ==============================================================================================
``local``               the server: the run's device, or every device of a set (the run uses the first)
a worker's name         that worker, when it is online, takes new runs, is up to date and is not known to lack a node type
                        of the graph: the set, the requested device, or the first free device of the requested kind
``any``                 the first worker in name order that is online, takes new runs, is up to date, reported a catalog
                        that has every node type of the graph, and has the devices free; the server comes last
                        (types from single files travel with the run to a worker that takes such files)
``any``, CUDA set of    workers only: a child's cards are numbered from ``cuda:0``, the server's are not
several cards or of one
other than ``cuda:0``
======================  ==============================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from codefy_control_plane.scheduling.model import (
    ONLINE,
    DeviceView,
    Placement,
    QueuedRun,
    Slot,
    Wait,
    WorkerView,
)
from codefy_protocol import reasons
from codefy_protocol.capabilities import NODE_SOURCES
from codefy_protocol.frames import DeviceIdentity
from codefy_protocol.names import ANY, LOCAL
from codefy_protocol.reasons import Reason, reason

IsFree = Callable[[Slot], bool]


def find_devices(devices: Sequence[DeviceView], wanted: Sequence[str]) -> list[list[DeviceView]]:
    """The choices of devices that satisfy ``wanted``, best first; empty when there are none.

    A set or a concrete device has one choice, a kind (``cuda``) one per device of that kind.
    """
    by_name = {device.name: device for device in devices}
    if len(wanted) == 1 and wanted[0] == "cuda":
        return [[device] for device in devices if device.kind == "cuda"]
    if all(name in by_name for name in wanted):
        return [[by_name[name] for name in wanted]]
    return []


def server_qualifies(run: QueuedRun) -> bool:
    """Whether ``any`` may choose the server for this run (S-7)."""
    cards = [name for name in run.wanted if name.startswith("cuda:")]
    return not cards or cards == ["cuda:0"]


def _offers_types(worker: WorkerView, run: QueuedRun) -> bool:
    return worker.node_types is not None and _lacks(worker, run) is None


def _lacks(worker: WorkerView, run: QueuedRun) -> Reason | None:
    """What of the run's node types the worker cannot have, by what it said; ``None`` when nothing is known to be amiss.

    Types that travel as files count as there, on a worker that takes files.
    """
    if run.file_types and NODE_SOURCES not in worker.capabilities:
        return reason(
            reasons.NODE_FILES_NOT_TAKEN, worker=worker.name, types=", ".join(sorted(run.file_types))
        )
    lacked = run.node_types - run.file_types - (worker.node_types or frozenset())
    if worker.node_types is None or not lacked:
        return None
    packages = sorted({run.packages[name] for name in lacked if name in run.packages}) or ["NAME"]
    return reason(
        reasons.WORKER_LACKS_TYPES,
        worker=worker.name,
        types=", ".join(sorted(lacked)),
        packages=" --with ".join(packages),
    )


def _placed(worker_id: str, choices: Iterable[list[DeviceView]], is_free: IsFree) -> Placement | None:
    for choice in choices:
        slots = tuple((worker_id, device.name) for device in choice)
        if all(map(is_free, slots)):
            identities: tuple[DeviceIdentity, ...] = tuple(device.identity for device in choice)
            return Placement(worker_id=worker_id, devices=identities, slots=slots)
    return None


def place(
    run: QueuedRun, local: Sequence[DeviceView], workers: Mapping[str, WorkerView], is_free: IsFree
) -> Placement | Wait:
    """Where ``run`` goes now, or why it waits. ``workers`` are in name order."""
    if run.worker == LOCAL:
        return _placed(LOCAL, find_devices(local, run.wanted), is_free) or Wait()
    if run.worker == ANY:
        return _place_anywhere(run, local, workers, is_free)
    return _place_on(run, workers.get(run.worker), is_free)


def _place_on(run: QueuedRun, worker: WorkerView | None, is_free: IsFree) -> Placement | Wait:
    if worker is None or worker.state != ONLINE:
        return Wait(reason=reason(reasons.WORKER_OFFLINE, worker=run.worker))
    if worker.outdated:
        return Wait(reason=reason(reasons.WORKER_OUTDATED, worker=run.worker))
    if worker.draining:
        return Wait(reason=reason(reasons.WORKER_DRAINING, worker=run.worker))
    choices = find_devices(worker.devices, run.wanted)
    if not choices:
        return Wait(reason=reason(reasons.NO_WORKER_OFFERS, devices=", ".join(run.wanted)))
    lacks = _lacks(worker, run)
    if lacks is not None:
        return Wait(reason=lacks)
    return _placed(run.worker, choices, is_free) or Wait()


def _place_anywhere(
    run: QueuedRun, local: Sequence[DeviceView], workers: Mapping[str, WorkerView], is_free: IsFree
) -> Placement | Wait:
    busy = False
    draining: list[str] = []
    for worker in workers.values():
        choices = find_devices(worker.devices, run.wanted)
        if worker.state != ONLINE or worker.outdated or not choices or not _offers_types(worker, run):
            continue
        if worker.draining:
            draining.append(worker.name)
            continue
        placement = _placed(worker.name, choices, is_free)
        if placement is not None:
            return placement
        busy = True
    if server_qualifies(run):
        choices = find_devices(local, run.wanted)
        placement = _placed(LOCAL, choices, is_free)
        if placement is not None:
            return placement
        busy = busy or bool(choices)
    if busy:
        return Wait()
    devices = ", ".join(run.wanted)
    if draining:
        return Wait(
            reason=reason(reasons.OFFERING_WORKERS_DRAINING, devices=devices, workers=", ".join(draining))
        )
    return Wait(reason=reason(reasons.NO_WORKER_OFFERS, devices=devices))


def never(run: QueuedRun, local: Sequence[DeviceView], workers: Mapping[str, WorkerView]) -> Reason | None:
    """Why ``run`` can never be placed, judged by everything seen since the start (S-8), or ``None``."""
    asked = ", ".join(run.wanted)
    if run.worker == LOCAL:
        if find_devices(local, run.wanted):
            return None
        return reason(reasons.UNKNOWN_DEVICE, where="The server", device=asked, offered=_offered(local))
    if run.worker == ANY:
        if server_qualifies(run) and find_devices(local, run.wanted):
            return None
        if any(find_devices(worker.devices, run.wanted) for worker in workers.values()):
            return None
        everything = {device.name: device for worker in workers.values() for device in worker.devices}
        if server_qualifies(run):
            everything.update({device.name: device for device in local})
        return reason(
            reasons.UNKNOWN_DEVICE,
            where="No worker that was seen",
            device=asked,
            offered=_offered(tuple(everything.values())),
        )
    worker = workers.get(run.worker)
    if worker is None:
        return reason(reasons.UNKNOWN_WORKER, worker=run.worker)
    # A worker that has not reported its devices yet may still have them.
    if not worker.devices:
        return None
    if find_devices(worker.devices, run.wanted):
        # An outdated one may take them once it is updated; until then the run waits for that.
        return None if worker.outdated else _lacks(worker, run)
    return reason(reasons.UNKNOWN_DEVICE, where=run.worker, device=asked, offered=_offered(worker.devices))


def _offered(devices: Sequence[DeviceView]) -> str:
    return ", ".join(device.name for device in devices) or "none"
