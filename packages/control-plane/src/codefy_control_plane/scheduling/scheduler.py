"""The scheduler: queues and slots. Facts in, starts and reasons out; no I/O, no clock.

What it decides by stands in :mod:`codefy_control_plane.scheduling.rules`. Facts only mark what has to be looked at;
:meth:`Scheduler.starts` looks at those heads and no others, so its cost grows with what changed.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from codefy_control_plane.scheduling.anywhere import Answer, Anywhere
from codefy_control_plane.scheduling.cards import Cards, Group
from codefy_control_plane.scheduling.limits import Limits
from codefy_control_plane.scheduling.model import (
    Blockers,
    DeviceView,
    Order,
    Placement,
    QueuedRun,
    Slot,
    Start,
    Wait,
    WorkerView,
)
from codefy_control_plane.scheduling.placement import (
    BUSY,
    find_devices,
    has_types,
    never,
    place_here,
    place_named,
    place_on,
    qualifies,
    server_qualifies,
    why_nowhere,
)
from codefy_control_plane.scheduling.queues import Queues
from codefy_protocol.names import ANY, LOCAL
from codefy_protocol.reasons import Reason


class Scheduler:
    """Decides which waiting run starts where.

    Args:
        limits: places per slot.
        local: the server's own devices.
    """

    def __init__(self, limits: Limits, local: Sequence[DeviceView] = ()) -> None:
        self._cards = Cards(limits)
        self._local: tuple[DeviceView, ...] = ()
        self._workers: dict[str, WorkerView] = {}
        """In name order."""
        self._queues = Queues()
        self._keys_of: dict[str, set[str]] = {}
        """Queue keys with waiting runs, by what they are for: a provider's name, or ``any``."""
        self._anywhere = Anywhere()
        self._placed: dict[str, Placement] = {}
        self._kept: dict[Group, dict[str, Order]] = {}
        """Devices that heads with device sets keep for themselves."""
        self._keeping: dict[str, list[Group]] = {}
        """By those heads."""
        self._fresh: set[str] = set()
        """Queue keys whose head nobody has looked at."""
        self._changed: set[str] = set()
        """Providers about which something changed since the last look."""
        self.set_local_devices(local)

    # ------------------------------------------------------------------ facts

    @property
    def limits(self) -> Limits:
        return self._cards.limits

    def set_limits(self, limits: Limits) -> None:
        """Other limits apply from now on; what runs goes on."""
        self._cards.set_limits(limits)
        self._mark(LOCAL)
        for name in self._workers:
            self._mark(name)

    def set_local_devices(self, devices: Sequence[DeviceView]) -> None:
        """What the server offers."""
        if tuple(devices) == self._local:
            return
        self._local = tuple(devices)
        self._mark_groups(self._cards.set_local(devices))
        self._mark(LOCAL)

    def set_workers(self, workers: Iterable[WorkerView]) -> None:
        """Every known worker, by its last report."""
        views = sorted(workers, key=lambda worker: worker.name)
        names = {view.name for view in views}
        for gone in [name for name in self._workers if name not in names]:
            self.remove_worker(gone)
        for view in views:
            self.set_worker(view)

    def set_worker(self, view: WorkerView) -> None:
        """A worker came, went or changed."""
        known = self._workers.get(view.name)
        if known == view:
            return
        self._workers[view.name] = view
        if known is None:
            self._workers = dict(sorted(self._workers.items()))
        self._mark_groups(self._cards.set_worker(view))
        self._mark(view.name)

    def remove_worker(self, name: str) -> None:
        """A worker is not known any more. Its runs keep their slots until they are released."""
        if name in self._workers:
            del self._workers[name]
            self._mark_groups(self._cards.set_worker(WorkerView(name=name, state="")))
            self._mark(name)

    def enqueue(self, run: QueuedRun) -> None:
        """Add a waiting run.

        Raises:
            ValueError: it waits or runs already.
        """
        if run.run_id in self._queues or run.run_id in self._placed:
            raise ValueError(f"the run {run.run_id} is known already")
        before = self._queues.head(run.queue_key)
        self._queues.add(run)
        self._keys_of.setdefault(run.worker, set()).add(run.queue_key)
        if run.worker == ANY:
            self._anywhere.enter(run, (*self._workers, LOCAL))
        if before is None or run.order < before.order:
            if before is not None:
                self._keep_no_more(before.run_id)
            self._fresh.add(run.queue_key)

    def remove(self, run_id: str) -> bool:
        """Take a waiting run out of its queue; returns whether it was waiting."""
        return self._remove(run_id) is not None

    def _remove(self, run_id: str) -> QueuedRun | None:
        run = self._queues.remove(run_id)
        if run is None:
            return None
        self._keep_no_more(run_id)
        head = self._queues.head(run.queue_key)
        if head is None:
            self._fresh.discard(run.queue_key)
            keys = self._keys_of[run.worker]
            keys.discard(run.queue_key)
            if not keys:
                del self._keys_of[run.worker]
        elif run.order < head.order:
            self._fresh.add(run.queue_key)
        if run.worker == ANY:
            self._anywhere.leave(run)
        return run

    def set_priority(self, run_id: str, priority: int) -> bool:
        """Move a waiting run within its queue (S-17); returns whether it was waiting."""
        run = self._remove(run_id)
        if run is None:
            return False
        self.enqueue(msgspec.structs.replace(run, priority=priority))
        return True

    def take(self, run_id: str, placement: Placement) -> None:
        """Occupy the slots of a run that was started before this scheduler was (D-6), over the limit if need be."""
        if run_id in self._placed:
            raise ValueError(f"the run {run_id} is placed already")
        self._placed[run_id] = placement
        self._cards.take(run_id, placement)

    def release(self, run_id: str) -> bool:
        """Free the slots of a run; returns whether it had any."""
        if self._placed.pop(run_id, None) is None:
            return False
        self._mark_groups(self._cards.release(run_id))
        return True

    # ------------------------------------------------------------------ decisions

    def starts(self) -> list[Start]:
        """Place every run that may start now; their slots are taken from here on."""
        started: list[Start] = []
        heads = _Heads()
        while True:
            self._gather(heads)
            run = heads.next(self._queues)
            if run is None:
                return started
            answer = self._place(run)
            if not isinstance(answer, Placement):
                self._keep_for(run, answer)
                continue
            self._remove(run.run_id)
            self.take(run.run_id, answer)
            started.append(Start(run_id=run.run_id, placement=answer))

    def _gather(self, heads: _Heads) -> None:
        """Put the heads that have to be looked at into the order of their turn."""
        keys, self._fresh = self._fresh, set()
        if self._changed:
            for provider in self._changed:
                keys |= self._keys_of.get(provider, set())
                self._anywhere.changed(provider)
            self._changed = set()
            keys |= self._keys_of.get(ANY, set())
        for key in keys:
            head = self._queues.head(key)
            if head is not None and (head.worker != ANY or self._anywhere.worth_a_look(head)):
                heads.add(head)

    def _place(self, run: QueuedRun) -> Placement | Wait:
        def are_free(slots: Sequence[Slot]) -> bool:
            return self._have_room(slots) and not self._kept_from(slots, run)

        if run.worker == LOCAL:
            return place_here(run, self._local, are_free)
        if run.worker != ANY:
            return place_named(run, self._workers.get(run.worker), are_free)
        found: Placement | None = None

        def ask(provider: str) -> Answer:
            nonlocal found
            worker = self._workers.get(provider)
            if provider == LOCAL:
                answer = place_here(run, self._local, self._have_room)
            elif worker is None:
                return Answer.FULL
            else:
                answer = place_on(run, worker, self._have_room)
            if not isinstance(answer, Placement):
                return Answer.FULL
            if worker is not None and not has_types(worker, run):
                return Answer.UNFIT
            if self._kept:
                # Room that a set keeps may be had by a run before that set, and other devices by this one.
                answer = (
                    place_here(run, self._local, are_free)
                    if worker is None
                    else place_on(run, worker, are_free)
                )
                if not isinstance(answer, Placement):
                    return Answer.KEPT
            found = answer
            return Answer.FITS

        self._anywhere.first(run, ask)
        return found or BUSY

    def _have_room(self, slots: Sequence[Slot]) -> bool:
        if len(slots) == 1:
            return self._cards.room(slots[0]) > 0
        # Two slots of a set may be one card, if a worker says so.
        needed = Counter(self._cards.group(slot) for slot in slots)
        return all(self._cards.room(slot) >= needed[self._cards.group(slot)] for slot in slots)

    def _kept_from(self, slots: Sequence[Slot], run: QueuedRun) -> bool:
        if not self._kept:
            return False
        for slot in slots:
            for holder, order in self._kept.get(self._cards.group(slot), {}).items():
                if order < run.order and holder != run.run_id:
                    return True
        return False

    # ------------------------------------------------------------------ reservations

    def _keep_for(self, run: QueuedRun, answer: Wait) -> None:
        """A head with a device set keeps its devices while nothing but their use is in its way (S-4)."""
        groups: list[Group] = []
        # A set for ``any`` names no provider yet, so what it would keep is nobody's device.
        if len(run.devices) > 1 and run.worker != ANY and answer.reason is None:
            groups = [self._cards.group((run.worker, device)) for device in run.devices]
        if groups != self._keeping.get(run.run_id, []):
            self._keep_no_more(run.run_id)
            if groups:
                self._keeping[run.run_id] = groups
            for group in groups:
                self._kept.setdefault(group, {})[run.run_id] = run.order

    def _keep_no_more(self, run_id: str) -> None:
        groups = self._keeping.pop(run_id, ())
        for group in set(groups):
            holders = self._kept[group]
            del holders[run_id]
            if not holders:
                del self._kept[group]
        self._mark_groups(groups)

    # ------------------------------------------------------------------ what to look at

    def _mark(self, provider: str) -> None:
        self._changed.add(provider)

    def _mark_groups(self, groups: Iterable[Group]) -> None:
        for group in groups:
            for member in self._cards.members(group):
                self._changed.add(member[0])

    # ------------------------------------------------------------------ answers

    def refusal(self, run: QueuedRun) -> Reason | None:
        """Why this run can never start (S-8), or ``None``. It need not be queued."""
        return never(run, self._local, self._workers)

    def look(self, run: QueuedRun) -> Placement | Wait:
        """Where a run that is not queued would go now, were it the head of its queue. It must not be for ``any``."""
        return self._place(run)

    def queue_length(self, queue_key: str) -> int:
        """Runs that wait in a queue."""
        return self._queues.length(queue_key)

    def position(self, run_id: str) -> int | None:
        """Place in its queue from 1, ``None`` when it does not wait."""
        return self._queues.position(run_id)

    def reason(self, run_id: str) -> Reason | None:
        """Why a waiting run waits, ``None`` when for nothing but a busy slot or runs before it (S-9)."""
        run = self._queues.get(run_id)
        if run is None or self._queues.head(run.queue_key) is not run:
            return None
        if run.worker == ANY:
            return why_nowhere(run, self._local, self._workers)
        answer = self._place(run)
        return answer.reason if isinstance(answer, Wait) else None

    def blockers(self, run_id: str) -> Blockers:
        """What a waiting run waits for."""
        run = self._queues.get(run_id)
        if run is None:
            return Blockers()
        running: dict[str, None] = {}
        holders: dict[str, None] = {}
        for slot in self._slots_for(run):
            group = self._cards.group(slot)
            running.update(dict.fromkeys(self._cards.users(group)))
            kept = self._kept.get(group, {})
            holders.update((holder, None) for holder, order in kept.items() if order < run.order)
        return Blockers(
            ahead=tuple(self._queues.ahead(run_id)), running=tuple(running), reserved_for=tuple(holders)
        )

    def _slots_for(self, run: QueuedRun) -> list[Slot]:
        providers: dict[str, Sequence[DeviceView]] = {}
        if run.worker == ANY:
            providers.update((w.name, w.devices) for w in self._workers.values() if qualifies(w, run))
        elif run.worker in self._workers:
            providers[run.worker] = self._workers[run.worker].devices
        if run.worker == LOCAL or (run.worker == ANY and server_qualifies(run)):
            providers[LOCAL] = self._local
        return [
            (name, device.name)
            for name, devices in providers.items()
            for choice in find_devices(devices, run.wanted)
            for device in choice
        ]

    def placement(self, run_id: str) -> Placement | None:
        """Where a run is, ``None`` when it has no slot."""
        return self._placed.get(run_id)

    def device(self, slot: Slot) -> DeviceView | None:
        """A device that a provider offers now."""
        worker_id, name = slot
        if worker_id == LOCAL:
            offered = self._local
        else:
            offered = self._workers[worker_id].devices if worker_id in self._workers else ()
        return next((device for device in offered if device.name == name), None)

    def users(self, slot: Slot) -> tuple[str, ...]:
        """Runs that were placed in a slot, in the order they came."""
        return self._cards.slot_users(slot)

    def sharing(self, slot: Slot) -> tuple[str, ...]:
        """Runs on the device of a slot, whichever provider they were placed with."""
        return self._cards.users(self._cards.group(slot))

    def limit(self, slot: Slot) -> tuple[int, str]:
        """How many runs the device of a slot holds, and the provider whose limit that is."""
        return self._cards.limit(slot)

    def same_card(self, slot: Slot) -> tuple[Slot, ...]:
        """The other slots of the same physical device (S-5)."""
        return tuple(member for member in self._cards.members(self._cards.group(slot)) if member != slot)

    @property
    def waiting(self) -> tuple[str, ...]:
        """Runs that wait, in the order in which they would start if everything were free."""
        return tuple(run.run_id for run in self._queues.in_order())

    @property
    def queued_runs(self) -> Sequence[QueuedRun]:
        """The same, as they were enqueued."""
        return self._queues.in_order()

    @property
    def placed(self) -> Mapping[str, Placement]:
        """Runs that have slots."""
        return self._placed

    @property
    def workers(self) -> Mapping[str, WorkerView]:
        """Known workers in name order."""
        return self._workers

    @property
    def local_devices(self) -> tuple[DeviceView, ...]:
        """What the server offers."""
        return self._local

    def copy(self) -> Scheduler:
        """A scheduler of its own with the same facts, for looking ahead."""
        other = Scheduler(self.limits, self._local)
        other.set_workers(self._workers.values())
        for run_id, placement in self._placed.items():
            other.take(run_id, placement)
        for run in self._queues.in_order():
            other.enqueue(run)
        return other


class _Heads:
    """Heads that have to be looked at, the next one first."""

    def __init__(self) -> None:
        self._heap: list[tuple[Order, str, str]] = []
        self._known: set[str] = set()

    def add(self, run: QueuedRun) -> None:
        if run.run_id not in self._known:
            self._known.add(run.run_id)
            heapq.heappush(self._heap, (run.order, run.run_id, run.queue_key))

    def next(self, queues: Queues) -> QueuedRun | None:
        while self._heap:
            _, run_id, key = heapq.heappop(self._heap)
            self._known.discard(run_id)
            head = queues.head(key)
            if head is not None and head.run_id == run_id:
                return head
        return None
