"""The rules of scheduling again, written to be read and not to be fast: every look starts from nothing.

It shares with the product only the values it is told and answers with. ``test_histories`` plays both side by side.
"""

from __future__ import annotations

from codefy_control_plane.scheduling.limits import Limits
from codefy_control_plane.scheduling.model import ONLINE, DeviceView, Placement, QueuedRun, WorkerView
from codefy_protocol.frames import DeviceIdentity

Slot = tuple[str, str]


class Naive:
    """Lists of facts, and what follows from them."""

    def __init__(self, limits: Limits, local: tuple[DeviceView, ...]) -> None:
        self.limits = limits
        self.local = local
        self.workers: dict[str, WorkerView] = {}
        self.waiting: dict[str, QueuedRun] = {}
        self.running: dict[str, Placement] = {}

    # what is one device

    def devices(self, provider: str) -> tuple[DeviceView, ...]:
        if provider == "local":
            return self.local
        return self.workers[provider].devices if provider in self.workers else ()

    def providers(self) -> list[str]:
        return [*sorted(self.workers), "local"]

    def physical(self, provider: str, name: str, uuid: str | None) -> tuple[str, ...]:
        """What the device is, whoever offers it."""
        if uuid is not None:
            return ("card", uuid)
        view = self.workers.get(provider)
        offered = any(device.name == name for device in self.devices(provider))
        if not name.startswith("cuda") and offered:
            if provider == "local" or (view is not None and view.same_machine):
                return ("machine", "local", name)
            if view is not None and view.machine_id:
                return ("machine", "claims " + view.machine_id, name)
        return ("slot", provider, name)

    def physical_of_slot(self, slot: Slot) -> tuple[str, ...]:
        uuids = [device.uuid for device in self.devices(slot[0]) if device.name == slot[1]]
        return self.physical(*slot, uuids[0] if uuids else None)

    def on(self, physical: tuple[str, ...]) -> list[tuple[str, Slot]]:
        """Runs on a device, each with the slot it was placed in."""
        return [
            (run_id, slot)
            for run_id, placement in self.running.items()
            for slot, device in zip(placement.slots, placement.devices, strict=True)
            if (self.physical_of_slot(slot) if device.uuid is None else ("card", device.uuid)) == physical
        ]

    def own_limit(self, slot: Slot) -> int:
        name = slot[1] if slot[0] == "local" else "/".join(slot)
        if name in self.limits.overrides:
            return max(1, self.limits.overrides[name])
        view = self.workers.get(slot[0])
        if view is not None and view.same_machine:
            for device in self.local:
                if self.physical("local", device.name, device.uuid) == self.physical_of_slot(slot):
                    return self.own_limit(("local", device.name))
        return max(1, self.limits.cpu if slot[1] == "cpu" else self.limits.accelerator)

    def limit(self, physical: tuple[str, ...]) -> int:
        saying = {slot for _, slot in self.on(physical)}
        for provider in self.providers():
            online = provider == "local" or self.workers[provider].state == ONLINE
            for device in self.devices(provider):
                if online and self.physical(provider, device.name, device.uuid) == physical:
                    saying.add((provider, device.name))
        return min(map(self.own_limit, saying), default=1)

    # where a run may go

    def choices(self, run: QueuedRun, provider: str) -> list[tuple[DeviceView, ...]]:
        """Which devices of a provider would do, if it may take the run at all."""
        if run.worker not in (provider, "any"):
            return []
        wanted = run.wanted
        if provider == "local":
            if run.worker == "any":
                cards = [name for name in wanted if name.startswith("cuda:")]
                if len(cards) > 1 or (cards and cards != ["cuda:0"]):
                    return []
            wanted = ("cuda:0",) if wanted == ("cuda",) else wanted
        else:
            view = self.workers[provider]
            if view.state != ONLINE or view.outdated or view.draining or view.node_types is None:
                return []
            if run.node_types - view.node_types:
                return []
        devices = self.devices(provider)
        if wanted == ("cuda",):
            return [(device,) for device in devices if device.kind == "cuda" and device.closed is None]
        chosen = tuple(device for name in wanted for device in devices if device.name == name)
        if len(chosen) != len(wanted) or any(device.closed for device in chosen):
            return []
        return [chosen]

    def fits(self, choice: tuple[DeviceView, ...], provider: str, kept: list[tuple[str, ...]]) -> bool:
        cards = [self.physical(provider, device.name, device.uuid) for device in choice]
        return all(
            len(self.on(card)) + cards.count(card) <= self.limit(card) and card not in kept for card in cards
        )

    # the look

    def starts(self) -> list[tuple[str, str, tuple[str, ...]]]:
        started: list[tuple[str, str, tuple[str, ...]]] = []
        while (start := self.first_start()) is not None:
            run_id, placement = start
            del self.waiting[run_id]
            self.running[run_id] = placement
            started.append((run_id, placement.worker_id, tuple(device.name for device in placement.devices)))
        return started

    def heads(self) -> list[QueuedRun]:
        heads: dict[str, QueuedRun] = {}
        for run in sorted(
            self.waiting.values(), key=lambda run: (-600.0 * run.priority + run.submitted_at, run.sequence)
        ):
            heads.setdefault(run.queue_key, run)
        return list(heads.values())

    def first_start(self) -> tuple[str, Placement] | None:
        kept: list[tuple[str, ...]] = []
        for run in self.heads():
            for provider in self.providers():
                for choice in self.choices(run, provider):
                    if self.fits(choice, provider, kept):
                        devices = tuple(DeviceIdentity(name=item.name, uuid=item.uuid) for item in choice)
                        slots = tuple((provider, item.name) for item in choice)
                        return run.run_id, Placement(worker_id=provider, devices=devices, slots=slots)
                if len(run.devices) > 1 and run.worker != "any":
                    for choice in self.choices(run, provider):
                        kept += [self.physical(provider, item.name, item.uuid) for item in choice]
        return None
