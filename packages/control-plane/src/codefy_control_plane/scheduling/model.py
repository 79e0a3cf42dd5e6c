"""What the scheduler is told and what it answers. Values only: no I/O, no clock."""

from __future__ import annotations

import msgspec

from codefy_protocol.frames import DeviceIdentity
from codefy_protocol.names import LOCAL
from codefy_protocol.reasons import Reason

Slot = tuple[str, str]
"""``(worker_id, device)``: ``("local", "cuda:0")``."""

ONLINE = "online"
DISCONNECTED = "disconnected"
OFFLINE = "offline"


class DeviceView(msgspec.Struct, frozen=True, kw_only=True):
    """A device that a provider offers."""

    name: str
    """``cpu``, ``cuda:0``, ``mps:0``."""
    kind: str
    uuid: str | None = None

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
    same_machine: bool = False
    capabilities: frozenset[str] = frozenset()


class QueuedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A waiting run."""

    run_id: str
    sequence: int
    """Order of submission."""
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
