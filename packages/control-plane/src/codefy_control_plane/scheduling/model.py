"""What the scheduler is told and what it answers. Values only: no I/O, no clock."""

from __future__ import annotations

import msgspec

from codefy_protocol.frames import DeviceIdentity
from codefy_protocol.names import LOCAL
from codefy_protocol.reasons import Reason

Slot = tuple[str, str]
"""``(worker_id, device)``: ``("local", "cuda:0")``."""

Order = tuple[float, int]
"""When a run counts as submitted, and its number."""

PRIORITY_STEP_S = 600.0
"""Seconds of waiting that one point of priority is worth."""
MAX_PRIORITY = 100

ONLINE = "online"
DISCONNECTED = "disconnected"
OFFLINE = "offline"


class DeviceView(msgspec.Struct, frozen=True, kw_only=True):
    """A device that a provider offers."""

    name: str
    """``cpu``, ``cuda:0``, ``mps:0``."""
    kind: str
    uuid: str | None = None
    closed: Reason | None = None
    """Why no run is given this device for now: a program outside of Codefy uses it (S-16), or a run left something on
    it (P-9)."""

    @property
    def identity(self) -> DeviceIdentity:
        return DeviceIdentity(name=self.name, uuid=self.uuid)


class WorkerView(msgspec.Struct, frozen=True, kw_only=True):
    """A worker as placement sees it, by its last report."""

    name: str
    state: str
    """``online``, ``disconnected`` or ``offline``."""
    draining: bool = False
    outdated: bool = False
    devices: tuple[DeviceView, ...] = ()
    node_types: frozenset[str] | None = None
    """What its engine offers; ``None`` while it has reported no catalog."""
    machine_id: str = ""
    """As the agent claims; empty when it says none."""
    same_machine: bool = False
    """It was recognised as running on the server's machine (S-5)."""
    capabilities: frozenset[str] = frozenset()


class QueuedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A waiting run."""

    run_id: str
    sequence: int
    """Order of submission."""
    submitted_at: float = 0.0
    """In seconds of any clock that never goes back from one submission to the next."""
    priority: int = 0
    """Higher goes first; see :attr:`order`."""
    queue_key: str
    worker: str = LOCAL
    """``local``, ``any`` or a worker's name."""
    device: str
    """As requested: a concrete device, or ``cuda`` for any card of a worker."""
    devices: tuple[str, ...] = ()
    """A device set, or empty."""
    node_types: frozenset[str] = frozenset()
    """Types the graph uses, those of presets too: a worker that lacks one is not chosen by ``any``."""
    file_types: frozenset[str] = frozenset()
    """Those of them that travel with the run, as files: a worker need not have them."""
    packages: dict[str, str] = {}
    """Those of them that come from packages → the package, for sentences."""

    @property
    def wanted(self) -> tuple[str, ...]:
        """The set, or the one device asked for."""
        return self.devices or (self.device,)

    @property
    def order(self) -> Order:
        """What runs are sorted by (S-2, S-17).

        A point of priority counts as much as ``PRIORITY_STEP_S`` of waiting. All runs age alike, so the order of two
        runs never changes, nothing has to be sorted again as time goes by, and a run is overtaken only by what is
        submitted within a bounded time after it.
        """
        return (self.submitted_at - PRIORITY_STEP_S * self.priority, self.sequence)


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run goes: which provider, which devices with their UUIDs, which slots."""

    worker_id: str
    """``local`` or the worker's name."""
    devices: tuple[DeviceIdentity, ...]
    slots: tuple[Slot, ...]

    @property
    def local(self) -> bool:
        return self.worker_id == LOCAL

    @property
    def device(self) -> str:
        """The run's device: the first one."""
        return self.devices[0].name


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """The run may start there; its slots are taken from now on."""

    run_id: str
    placement: Placement


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """Why a head has to wait; ``reason`` is ``None`` when its slots are just busy (S-9)."""

    reason: Reason | None = None


class Blockers(msgspec.Struct, frozen=True, kw_only=True):
    """What a waiting run waits for (S-15)."""

    ahead: tuple[str, ...] = ()
    """Runs before it in its queue, the head first."""
    running: tuple[str, ...] = ()
    """Runs in the slots that it could use."""
    reserved_for: tuple[str, ...] = ()
    """Heads with device sets for which those slots are kept."""
