"""Which standby children there are to be, without I/O: events in, decisions out, the clock passed in (P-8).

A standby child has imported what a run needs, in the environment of one device, and waits. It serves one run::

    state      event                                      next      decisions
    ---------  -----------------------------------------  --------  ----------------------------------------------
    (none)     tick: wanted, memory, nothing is starting  starting  StartStandby
    starting   ready                                      ready
    ready      take for a run that it suits               (none)    the child is the run's from here on
    starting,  gone (it ended by itself)                  (none)    the next one after a pause that doubles
    ready
    starting,  outdated, memory short, another device     (none)    DiscardStandby
    ready      wanted, stop

A run that is starting comes first: nothing is started until it is at work, and a little longer.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

import msgspec

from codefy_protocol.frames import Assign, Device, DeviceIdentity

_GIB = 1024**3
_KINDS = ("cuda", "mps", "cpu")
_RECENT = 16


class StandbySettings(msgspec.Struct, frozen=True, kw_only=True):
    """Times in seconds, memory in bytes."""

    count: int | None = None
    """How many; ``None`` is one, on a machine that has the memory for it."""
    total_floor: int = 8 * _GIB
    """A machine with less has none unless it is told how many."""
    start_free: int = 3 * _GIB
    """With less free memory none is started."""
    keep_free: int = 3 * _GIB // 2
    """With less free memory none is kept."""
    quiet_s: float = 2.0
    """How long after a run got to work, or ended, the next child is started."""
    run_start_s: float = 120.0
    """A run that said nothing for so long is not waited for."""
    ready_s: float = 300.0
    """How long the imports may take."""
    pause_first_s: float = 10.0
    pause_max_s: float = 600.0


class StartStandby(msgspec.Struct, frozen=True):
    """Start a child for this device; tell ``ready`` or ``gone``."""

    id: int
    slot: DeviceIdentity


class DiscardStandby(msgspec.Struct, frozen=True):
    """Kill the child. It is forgotten already: no event is to follow."""

    id: int
    why: str


Decision = StartStandby | DiscardStandby


class Phase(Enum):
    STARTING = "starting"
    READY = "ready"


class _Held(msgspec.Struct):
    slot: DeviceIdentity
    phase: Phase
    since: float


class StandbyPool:
    """The standby children of one agent."""

    def __init__(self, settings: StandbySettings | None = None) -> None:
        self.settings = settings or StandbySettings()
        self._held: dict[int, _Held] = {}
        self._last_id = 0
        self._offered: dict[str, DeviceIdentity] = {}
        self._recent: list[str] = []
        """Names of the devices that runs were on, the last one first."""
        self._total: int | None = None
        self._free: int | None = None
        self._short = False
        self._starting: dict[tuple[str, int], float] = {}
        """Runs on their way, and since when."""
        self._quiet_until = 0.0
        self._failures = 0
        self._pause_until = 0.0
        self._stopped = False

    # -------------------------------------------------------------- what the shell may ask
    def children(self) -> list[tuple[int, DeviceIdentity, Phase]]:
        """Every child there is, the oldest first."""
        return [(number, held.slot, held.phase) for number, held in self._held.items()]

    def next_tick(self, now: float) -> float | None:
        """When ``tick`` is due, if nothing happens before."""
        times = [
            held.since + self.settings.ready_s for held in self._held.values() if held.phase is Phase.STARTING
        ]
        if self._room_for_one() and self._lacking():
            waits = [self._quiet_until, self._pause_until]
            waits += [since + self.settings.run_start_s for since in self._starting.values()]
            times.append(max(now, *waits))
        return min(times, default=None)

    # -------------------------------------------------------------- the machine
    def devices_read(self, devices: Iterable[Device], now: float) -> list[Decision]:
        """What the machine offers, and its memory (that of the processor)."""
        self._offered = {}
        for device in devices:
            self._offered[device.name] = DeviceIdentity(name=device.name, uuid=device.uuid)
            if device.kind == "cpu":
                self._total, self._free = device.memory_total, device.memory_free
        return self._decide(now)

    def tick(self, now: float) -> list[Decision]:
        """A time of ``next_tick`` has come."""
        return self._decide(now)

    def stop(self, now: float) -> list[Decision]:
        """The agent ends."""
        self._stopped = True
        return self._decide(now)

    # -------------------------------------------------------------- runs
    def run_assigned(self, key: tuple[str, int], assign: Assign, now: float) -> None:
        """A run begins: its start is not to be disturbed, and the next one may well be on its device."""
        self._starting[key] = now
        if len(assign.devices) == 1:
            name = assign.devices[0].name
            self._recent = [name, *(each for each in self._recent if each != name)][:_RECENT]

    def run_at_work(self, key: tuple[str, int], now: float) -> list[Decision]:
        """Its first node runs."""
        if self._starting.pop(key, None) is not None:
            self._quiet_until = now + self.settings.quiet_s
        return self._decide(now)

    def run_ended(self, key: tuple[str, int], now: float) -> list[Decision]:
        """Every process of it is gone."""
        self._starting.pop(key, None)
        self._quiet_until = now + self.settings.quiet_s
        return self._decide(now)

    def take(self, assign: Assign) -> int | None:
        """The child for this run, which is its own then; ``None`` when the run has to start cold."""
        if self._stopped or len(assign.devices) != 1 or assign.node_sources or assign.node_source_digest:
            return None
        for number, held in self._held.items():
            if held.phase is Phase.READY and held.slot == assign.devices[0]:
                del self._held[number]
                self._failures = 0
                return number
        return None

    # -------------------------------------------------------------- children
    def ready(self, number: int) -> None:
        """The child has imported everything and waits."""
        held = self._held.get(number)
        if held is not None:
            held.phase = Phase.READY

    def gone(self, number: int, now: float) -> list[Decision]:
        """The child ended without a run, or could not be started."""
        if self._held.pop(number, None) is not None:
            self._failed(now)
        return self._decide(now)

    def outdated(self, number: int, now: float) -> list[Decision]:
        """What the child was made from has changed."""
        return [*self._discard(number, "its engine or its nodes changed"), *self._decide(now)]

    # -------------------------------------------------------------- decisions
    def _decide(self, now: float) -> list[Decision]:
        if self._stopped:
            return self._discard_all("the agent stops")
        self._measure()
        if self._short:
            return self._discard_all("memory is short")
        decisions: list[Decision] = []
        for number, held in list(self._held.items()):
            if held.phase is Phase.STARTING and now - held.since >= self.settings.ready_s:
                decisions += self._discard(number, "its imports take too long")
                self._failed(now)
            elif self._offered.get(held.slot.name) != held.slot:
                decisions += self._discard(number, f"{held.slot.name} is not offered any more")
        if not self._may_start(now):
            return decisions
        lacking = self._lacking()
        if lacking:
            decisions += self._make_room()
            self._last_id += 1
            self._held[self._last_id] = _Held(lacking[0], Phase.STARTING, now)
            decisions.append(StartStandby(self._last_id, lacking[0]))
        return decisions

    def _may_start(self, now: float) -> bool:
        oldest_that_counts = now - self.settings.run_start_s
        busy = any(since > oldest_that_counts for since in self._starting.values())
        return not busy and now >= max(self._quiet_until, self._pause_until) and self._room_for_one()

    def _room_for_one(self) -> bool:
        """Whether memory and the other children, rather than time, allow one more."""
        enough = self._free is None or self._free >= self.settings.start_free
        return enough and all(held.phase is Phase.READY for held in self._held.values())

    def _count(self) -> int:
        if self.settings.count is not None:
            return self.settings.count
        return 1 if self._total is not None and self._total >= self.settings.total_floor else 0

    def _wanted(self) -> list[DeviceIdentity]:
        """The slots to be ready for: where runs were last, then the accelerators, then the processor."""
        order = [self._offered[name] for name in self._recent if name in self._offered]
        for kind in _KINDS:
            order += [
                each
                for name, each in self._offered.items()
                if name.partition(":")[0] == kind and each not in order
            ]
        return [order[index % len(order)] for index in range(self._count())] if order else []

    def _lacking(self) -> list[DeviceIdentity]:
        if self._stopped or self._short:
            return []
        there = [held.slot for held in self._held.values()]
        lacking: list[DeviceIdentity] = []
        for slot in self._wanted():
            if slot in there:
                there.remove(slot)
            else:
                lacking.append(slot)
        return lacking

    def _make_room(self) -> list[Decision]:
        """Discard what nobody wants any more, now that another can take its place."""
        wanted = self._wanted()
        decisions: list[Decision] = []
        for number, held in list(self._held.items()):
            if held.slot in wanted:
                wanted.remove(held.slot)
            else:
                decisions += self._discard(number, "runs go to another device")
        return decisions

    def _measure(self) -> None:
        if self._free is None:
            self._short = False
        elif self._free < self.settings.keep_free:
            self._short = True
        elif self._free >= self.settings.start_free:
            self._short = False

    def _failed(self, now: float) -> None:
        self._failures += 1
        pause = min(self.settings.pause_first_s * 2 ** min(self._failures - 1, 20), self.settings.pause_max_s)
        self._pause_until = now + pause

    def _discard(self, number: int, why: str) -> list[Decision]:
        return [DiscardStandby(number, why)] if self._held.pop(number, None) is not None else []

    def _discard_all(self, why: str) -> list[Decision]:
        return [each for number in list(self._held) for each in self._discard(number, why)]
