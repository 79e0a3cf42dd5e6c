"""Which slots are one physical device, who uses it, and how many runs it holds (S-3, S-5).

A slot belongs to one provider, a device to one machine. Two agents, or an agent and the server, may offer the same
card: their slots form a group, and what runs in one of them counts in all.

=========================  ===========================================================================================
device                     its group
=========================  ===========================================================================================
a card with a UUID         every slot with that UUID, whoever offers it
a card without             itself: nobody can say what else it is
``cpu``, ``mps:0``         those of the server and of the workers recognised on its machine; those of the workers that
                           claim one machine id; else itself
=========================  ===========================================================================================

What runs on a card counts under the UUID that the card had when the run was placed, so a run of a worker that is away,
or that came back with its cards in another order, keeps the right one busy.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from codefy_control_plane.scheduling.limits import Limits
from codefy_control_plane.scheduling.model import ONLINE, DeviceView, Placement, Slot, WorkerView
from codefy_protocol.names import LOCAL

_K = TypeVar("_K")
_V = TypeVar("_V")

Group = tuple[str, str, str]
"""``("card", uuid, "")``, ``("machine", id, device)`` or ``("slot", worker, device)``."""


class _Use(NamedTuple):
    """A run in a slot."""

    run_id: str
    slot: Slot


class Cards:
    """Groups, occupancy and limits.

    Args:
        limits: places per slot.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._groups: dict[Slot, Group] = {}
        """Of every slot that a provider offers now."""
        self._offered: dict[str, list[Slot]] = {}
        """By provider."""
        self._members: dict[Group, list[Slot]] = {}
        self._online: set[str] = {LOCAL}
        self._same_machine: set[str] = set()
        self._used: dict[Group, list[_Use]] = {}
        self._counted: dict[str, list[_Use]] = {}
        self._groups_of_run: dict[str, list[Group]] = {}
        """Where each run counts, in the order of its slots."""
        self._in_slot: dict[Slot, list[str]] = {}
        self._by_name: dict[Slot, list[str]] = {}
        """Runs that count by the name of the slot, having no UUID: their group follows the slot's."""
        self._limit_of: dict[Group, int] = {}
        """Known limits of groups, forgotten when something they depend on changes."""

    # ------------------------------------------------------------------ providers

    @property
    def limits(self) -> Limits:
        return self._limits

    def set_limits(self, limits: Limits) -> None:
        """Other limits apply from now on; what runs goes on."""
        self._limits = limits
        self._limit_of.clear()

    def set_local(self, devices: Sequence[DeviceView]) -> set[Group]:
        """What the server offers; returns the groups that changed."""
        return self._offer(LOCAL, {(LOCAL, item.name): _local_group(item) for item in devices})

    def set_worker(self, view: WorkerView) -> set[Group]:
        """What a worker offers, and whether it is there; returns the groups that changed."""
        changed: set[Group] = set()
        name = view.name
        presence = (view.state == ONLINE, view.same_machine)
        if presence != (name in self._online, name in self._same_machine):
            _keep(self._online, name, presence[0])
            _keep(self._same_machine, name, presence[1])
            changed.update(self._groups[slot] for slot in self._offered.get(name, ()))
        changed |= self._offer(name, {(name, item.name): _worker_group(view, item) for item in view.devices})
        for group in changed:
            self._limit_of.pop(group, None)
        return changed

    def _offer(self, provider: str, groups: Mapping[Slot, Group]) -> set[Group]:
        changed: set[Group] = set()
        moved: list[Slot] = []
        for slot in self._offered.get(provider, ()):
            if groups.get(slot) != self._groups[slot]:
                changed.add(self._leave(slot))
                moved.append(slot)
        for slot, group in groups.items():
            if slot not in self._groups:
                self._groups[slot] = group
                insort(self._members.setdefault(group, []), slot, key=_server_first)
                changed.add(group)
                moved.append(slot)
        self._offered[provider] = list(groups)
        for slot in moved:
            changed |= self._follow(slot)
        for group in changed:
            self._limit_of.pop(group, None)
        return changed

    def _leave(self, slot: Slot) -> Group:
        group = self._groups.pop(slot)
        members = self._members[group]
        members.remove(slot)
        if not members:
            del self._members[group]
        return group

    def _follow(self, slot: Slot) -> set[Group]:
        """Count what counts by name in the group that the slot has now; returns the groups that gained or lost."""
        changed: set[Group] = set()
        new = self.group(slot)
        for run_id in self._by_name.get(slot, ()):
            for position, use in enumerate(self._counted[run_id]):
                old = self._groups_of_run[run_id][position]
                if use.slot == slot and old != new:
                    _drop(self._used, old, use)
                    self._used.setdefault(new, []).append(use)
                    self._groups_of_run[run_id][position] = new
                    changed |= {old, new}
        return changed

    # ------------------------------------------------------------------ occupancy

    def take(self, run_id: str, placement: Placement) -> None:
        """Count a run in every slot of its placement, over the limit if need be."""
        uses: list[_Use] = []
        groups: list[Group] = []
        for slot, device in zip(placement.slots, placement.devices, strict=True):
            use = _Use(run_id, slot)
            if device.uuid is None:
                self._by_name.setdefault(slot, []).append(run_id)
                group = self.group(slot)
            else:
                group = ("card", device.uuid, "")
            self._used.setdefault(group, []).append(use)
            self._in_slot.setdefault(slot, []).append(run_id)
            self._limit_of.pop(group, None)
            uses.append(use)
            groups.append(group)
        self._counted[run_id] = uses
        self._groups_of_run[run_id] = groups

    def release(self, run_id: str) -> set[Group]:
        """Stop counting a run; returns the groups that it leaves."""
        groups = self._groups_of_run.pop(run_id)
        for use, group in zip(self._counted.pop(run_id), groups, strict=True):
            _drop(self._used, group, use)
            _drop(self._in_slot, use.slot, run_id)
            if run_id in self._by_name.get(use.slot, ()):
                _drop(self._by_name, use.slot, run_id)
            self._limit_of.pop(group, None)
        return set(groups)

    # ------------------------------------------------------------------ answers

    def group(self, slot: Slot) -> Group:
        """The group of a slot, its own when nobody offers it now."""
        return self._groups.get(slot, ("slot", *slot))

    def members(self, group: Group) -> Sequence[Slot]:
        """The slots of a group that are offered now, the server's first, then in name order."""
        return self._members.get(group, ())

    def users(self, group: Group) -> tuple[str, ...]:
        """Runs on the device, in the order they came."""
        return tuple(use.run_id for use in self._used.get(group, ()))

    def slot_users(self, slot: Slot) -> tuple[str, ...]:
        """Runs that were placed in this very slot, in the order they came."""
        return tuple(self._in_slot.get(slot, ()))

    def limit(self, slot: Slot) -> tuple[int, str]:
        """How many runs the device of a slot holds, and which provider says so.

        The smallest limit counts of those who are online or still have a run there.
        """
        group = self.group(slot)
        saying = [member for member in self.members(group) if member[0] in self._online]
        saying += [use.slot for use in self._used.get(group, ()) if use.slot not in saying]
        limits = [(self._own_limit(member), member[0]) for member in saying or (slot,)]
        return min(limits, key=lambda item: item[0])

    def _own_limit(self, slot: Slot) -> int:
        """What the provider of a slot allows: a worker on the server's machine without a limit of its own, the
        server's."""
        found = self._limits.override(slot)
        if found is None and slot[0] in self._same_machine:
            first = self.members(self.group(slot))[:1]
            if first and first[0][0] == LOCAL:
                return self._limits.of(first[0])
        return self._limits.of(slot) if found is None else found

    def room(self, slot: Slot) -> int:
        """How many more runs the device of a slot holds; negative when it holds too many."""
        group = self.group(slot)
        limit = self._limit_of.get(group)
        if limit is None:
            limit = self._limit_of[group] = self.limit(slot)[0]
        return limit - len(self._used.get(group, ()))


def _local_group(device: DeviceView) -> Group:
    if device.kind == "cuda":
        return ("slot", LOCAL, device.name) if device.uuid is None else ("card", device.uuid, "")
    return ("machine", LOCAL, device.name)


def _worker_group(view: WorkerView, device: DeviceView) -> Group:
    if device.kind == "cuda":
        return ("slot", view.name, device.name) if device.uuid is None else ("card", device.uuid, "")
    if view.same_machine:
        return ("machine", LOCAL, device.name)
    # The worker's own word for its machine: good enough to be careful by, not to be taken for the server's machine.
    return (
        ("machine", f"id:{view.machine_id}", device.name)
        if view.machine_id
        else ("slot", view.name, device.name)
    )


def _server_first(slot: Slot) -> tuple[bool, Slot]:
    return (slot[0] != LOCAL, slot)


def _keep(names: set[str], name: str, there: bool) -> None:
    if there:
        names.add(name)
    else:
        names.discard(name)


def _drop(lists: dict[_K, list[_V]], key: _K, value: _V) -> None:
    values = lists[key]
    values.remove(value)
    if not values:
        del lists[key]
