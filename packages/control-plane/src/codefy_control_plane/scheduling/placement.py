"""Where a run may go (S-6, S-7), why it waits (S-9), and what can never run (S-8).

Rules:

======================  ==============================================================================================
target                  placement
======================  ==============================================================================================
``local``               the server: the run's device, or every device of a set (the run uses the first)
a worker's name         that worker, when it is online, takes new runs, is up to date and has reported every node type
                        of the graph: the set, the requested device, or the first free device of the requested kind
``any``                 the first worker in name order that is online, takes new runs, is up to date, reported a catalog
                        that has every node type of the graph, and has the devices free; the server comes last
                        (types from single files travel with the run to a worker that takes such files)
``any``, CUDA set of    workers only: a child's cards are numbered from ``cuda:0``, the server's are not
several cards or of one
other than ``cuda:0``
======================  ==============================================================================================

A device that is closed (a program outside of Codefy uses it, or a run left something on it) is given to nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

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
from codefy_protocol.names import ANY, LOCAL
from codefy_protocol.reasons import Reason, reason

AreFree = Callable[[Sequence[Slot]], bool]
"""Whether every one of these slots has room for one more run."""

BUSY = Wait()


def find_devices(devices: Sequence[DeviceView], wanted: Sequence[str]) -> list[list[DeviceView]]:
    """The choices of devices that satisfy ``wanted``, best first; empty when there are none.

    A set or a concrete device has one choice, a kind (``cuda``) one per device of that kind.
    """
    if len(wanted) == 1:
        name = wanted[0]
        if name == "cuda":
            return [[device] for device in devices if device.kind == "cuda"]
        return [[device] for device in devices if device.name == name][:1]
    by_name = {device.name: device for device in devices}
    if all(name in by_name for name in wanted):
        return [[by_name[name] for name in wanted]]
    return []


def server_qualifies(run: QueuedRun) -> bool:
    """Whether ``any`` may choose the server for this run (S-7)."""
    cards = [name for name in run.wanted if name.startswith("cuda:")]
    return not cards or cards == ["cuda:0"]


def wanted_here(run: QueuedRun) -> tuple[str, ...]:
    """The devices that a run takes in the server, where ``cuda`` is the current card, which is the first one."""
    return ("cuda:0",) if run.wanted == ("cuda",) else run.wanted


def lacks(worker: WorkerView, run: QueuedRun) -> Reason | None:
    """What of the run's node types the worker cannot have, by what it said; ``None`` when nothing is known to be amiss.

    Types that travel as files count as there, on a worker that takes files.
    """
    if run.file_types and NODE_SOURCES not in worker.capabilities:
        return reason(
            reasons.NODE_FILES_NOT_TAKEN, worker=worker.name, types=", ".join(sorted(run.file_types))
        )
    if worker.node_types is None:
        return None
    lacked = run.node_types - run.file_types - worker.node_types
    if not lacked:
        return None
    packages = sorted({run.packages[name] for name in lacked if name in run.packages}) or ["NAME"]
    return reason(
        reasons.WORKER_LACKS_TYPES,
        worker=worker.name,
        types=", ".join(sorted(lacked)),
        packages=" --with ".join(packages),
    )


def has_types(worker: WorkerView, run: QueuedRun) -> bool:
    """Whether the worker reported every node type of the graph that does not travel with it."""
    if worker.node_types is None or (run.file_types and NODE_SOURCES not in worker.capabilities):
        return False
    return run.node_types <= worker.node_types or run.node_types - run.file_types <= worker.node_types


def qualifies(worker: WorkerView, run: QueuedRun) -> bool:
    """Whether ``any`` may choose this worker, were it to take new runs and have the devices free."""
    return (
        worker.state == ONLINE
        and not worker.outdated
        and has_types(worker, run)
        and bool(find_devices(worker.devices, run.wanted))
    )


def place_among(
    provider: str, devices: Sequence[DeviceView], wanted: Sequence[str], are_free: AreFree
) -> Placement | Wait:
    """The first choice of a provider's devices that is open and free.

    Returns why to wait when all choices are closed, and plainly :data:`BUSY` when an open one is just taken.
    """
    if len(wanted) > 1:
        return _place_set(provider, devices, wanted, are_free)
    closed: Reason | None = None
    busy = False
    for device in devices:
        if device.name != wanted[0] and not (wanted[0] == "cuda" and device.kind == "cuda"):
            continue
        slots = ((provider, device.name),)
        if device.closed is not None:
            closed = closed or device.closed
        elif are_free(slots):
            return Placement(worker_id=provider, devices=(device.identity,), slots=slots)
        else:
            busy = True
    return BUSY if busy or closed is None else Wait(reason=closed)


def _place_set(
    provider: str, devices: Sequence[DeviceView], wanted: Sequence[str], are_free: AreFree
) -> Placement | Wait:
    for choice in find_devices(devices, wanted):
        for device in choice:
            if device.closed is not None:
                return Wait(reason=device.closed)
        slots = tuple((provider, device.name) for device in choice)
        if are_free(slots):
            identities = tuple(device.identity for device in choice)
            return Placement(worker_id=provider, devices=identities, slots=slots)
    return BUSY


def place_named(run: QueuedRun, worker: WorkerView | None, are_free: AreFree) -> Placement | Wait:
    """Where a run for one worker goes there, or why it waits."""
    if worker is None or worker.state != ONLINE:
        return Wait(reason=reason(reasons.WORKER_OFFLINE, worker=run.worker))
    if worker.outdated:
        return Wait(reason=reason(reasons.WORKER_OUTDATED, worker=run.worker))
    if worker.draining:
        return Wait(reason=reason(reasons.WORKER_DRAINING, worker=run.worker))
    if worker.node_types is None:
        return Wait(reason=reason(reasons.WORKER_WITHOUT_CATALOG, worker=run.worker))
    if not find_devices(worker.devices, run.wanted):
        return Wait(reason=reason(reasons.NO_WORKER_OFFERS, devices=", ".join(run.wanted)))
    why = lacks(worker, run)
    if why is not None:
        return Wait(reason=why)
    return place_among(run.worker, worker.devices, run.wanted, are_free)


def place_on(run: QueuedRun, worker: WorkerView, are_free: AreFree) -> Placement | Wait:
    """Where a run for ``any`` goes on this worker, its node types left aside, or why not."""
    if worker.state != ONLINE or worker.draining or worker.outdated:
        return BUSY
    return place_among(worker.name, worker.devices, run.wanted, are_free)


def place_here(run: QueuedRun, local: Sequence[DeviceView], are_free: AreFree) -> Placement | Wait:
    """Where a run goes in the server, or why it waits; of the runs for ``any``, those that may come here."""
    if run.worker == ANY and not server_qualifies(run):
        return BUSY
    return place_among(LOCAL, local, wanted_here(run), are_free)


def why_nowhere(
    run: QueuedRun, local: Sequence[DeviceView], workers: Mapping[str, WorkerView]
) -> Reason | None:
    """Why a head for ``any`` has no place: ``None`` when some provider would take it as soon as it is free."""
    draining: list[str] = []
    closed: Reason | None = None

    def nothing_is_free(slots: Sequence[Slot]) -> bool:
        return False

    for worker in workers.values():
        if not qualifies(worker, run):
            continue
        if worker.draining:
            draining.append(worker.name)
            continue
        answer = place_among(worker.name, worker.devices, run.wanted, nothing_is_free)
        if isinstance(answer, Placement) or answer.reason is None:
            return None
        closed = closed or answer.reason
    if server_qualifies(run) and find_devices(local, wanted_here(run)):
        answer = place_among(LOCAL, local, wanted_here(run), nothing_is_free)
        if isinstance(answer, Placement) or answer.reason is None:
            return None
        closed = closed or answer.reason
    if closed is not None:
        return closed
    devices = ", ".join(run.wanted)
    if draining:
        return reason(reasons.OFFERING_WORKERS_DRAINING, devices=devices, workers=", ".join(draining))
    return reason(reasons.NO_WORKER_OFFERS, devices=devices)


def never(run: QueuedRun, local: Sequence[DeviceView], workers: Mapping[str, WorkerView]) -> Reason | None:
    """Why ``run`` can never be placed, judged by everything seen since the start (S-8), or ``None``."""
    asked = ", ".join(run.wanted)
    if run.worker == LOCAL:
        if find_devices(local, wanted_here(run)):
            return None
        return reason(reasons.UNKNOWN_DEVICE, where="The server", device=asked, offered=_offered(local))
    if run.worker == ANY:
        return _never_anywhere(run, local, workers)
    worker = workers.get(run.worker)
    if worker is None:
        return reason(reasons.UNKNOWN_WORKER, worker=run.worker)
    # A worker that has not reported its devices yet may still have them; so with its node types.
    if worker.devices and not find_devices(worker.devices, run.wanted):
        return reason(
            reasons.UNKNOWN_DEVICE, where=run.worker, device=asked, offered=_offered(worker.devices)
        )
    # An outdated one may take node types and files once it is updated; until then the run waits for that.
    return None if worker.outdated or not worker.devices else lacks(worker, run)


def _never_anywhere(
    run: QueuedRun, local: Sequence[DeviceView], workers: Mapping[str, WorkerView]
) -> Reason | None:
    if server_qualifies(run) and find_devices(local, wanted_here(run)):
        return None
    offering = [worker for worker in workers.values() if find_devices(worker.devices, run.wanted)]
    lacked = [None if worker.outdated else lacks(worker, run) for worker in offering]
    if lacked:
        return None if None in lacked else lacked[0]
    everything = {device.name: device for worker in workers.values() for device in worker.devices}
    if server_qualifies(run):
        everything.update({device.name: device for device in local})
    return reason(
        reasons.UNKNOWN_DEVICE_ANYWHERE,
        device=", ".join(run.wanted),
        offered=_offered(tuple(everything.values())),
    )


def _offered(devices: Sequence[DeviceView]) -> str:
    return ", ".join(device.name for device in devices) or "none"
