"""Random histories: what starts is what the plain reading of the rules says, and the rules hold after every step."""

from __future__ import annotations

import os

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.control_plane.scheduling.naive import Naive

from codefy_control_plane.scheduling.limits import Limits
from codefy_control_plane.scheduling.model import (
    DISCONNECTED,
    OFFLINE,
    ONLINE,
    DeviceView,
    Placement,
    QueuedRun,
    WorkerView,
)
from codefy_control_plane.scheduling.scheduler import Scheduler
from codefy_protocol.frames import DeviceIdentity
from codefy_protocol.reasons import CARD_IN_USE, reason

CPU = DeviceView(name="cpu", kind="cpu")
MPS = DeviceView(name="mps:0", kind="mps")
USED = reason(CARD_IN_USE, device="cuda:0", worker="alpha", process="python (pid 7)")


def card(index: int, uuid: str | None) -> DeviceView:
    return DeviceView(name=f"cuda:{index}", kind="cuda", uuid=uuid)


LOCAL = (CPU, MPS, card(0, "GPU-s0"), card(1, "GPU-s1"), card(2, None))
TYPES = frozenset("AB")

# Cards of their own, the server's own cards in another order, another agent's cards, cards without UUID.
OFFERS = st.sampled_from(
    [
        (CPU, card(0, "GPU-a0"), card(1, "GPU-a1"), card(2, "GPU-a2")),
        (CPU, card(0, "GPU-a1"), card(1, "GPU-a0")),
        (CPU, MPS, card(0, "GPU-s1"), card(1, "GPU-s0")),
        (CPU, card(0, None), card(1, None)),
        (CPU, card(0, "GPU-a0"), card(1, "GPU-a0")),
        (MPS,),
        (),
    ]
)
WORKERS = st.sampled_from(["alpha", "beta", "gamma", "beta.one"])
TARGETS = st.sampled_from(["local", "any", "any", "alpha", "beta", "gamma", "beta.one"])
WANTS = st.sampled_from(
    [
        ("cpu", ()),
        ("cpu", ()),
        ("mps:0", ()),
        ("cuda", ()),
        ("cuda:0", ()),
        ("cuda:1", ()),
        ("cuda:0", ("cuda:0", "cuda:1")),
        ("cuda:1", ("cuda:1", "cuda:0")),
        ("cuda:2", ("cuda:2", "cuda:0", "cuda:1")),
        ("cuda:1", ("cuda:1",)),
    ]
)
LIMITS = st.builds(
    Limits,
    cpu=st.integers(1, 3),
    accelerator=st.integers(1, 2),
    overrides=st.dictionaries(
        st.sampled_from(["cpu", "cuda:0", "alpha/cpu", "alpha/cuda:0", "beta/cuda:1", "gamma/cuda:0"]),
        st.integers(0, 3),
        max_size=3,
    ),
)


class Histories(RuleBasedStateMachine):
    """Submissions, ends, cancels, changes of workers, limits and priorities, adopted runs; in any order."""

    @initialize(limits=LIMITS)
    def open(self, limits: Limits) -> None:
        self.scheduler = Scheduler(limits, LOCAL)
        self.naive = Naive(limits, LOCAL)
        self.count = 0
        self.now = 0.0
        # Two workers that take everything, so that most of what happens next has consequences.
        for name in ("alpha", "beta"):
            cards = tuple(card(index, f"GPU-{name}{index}") for index in range(3))
            view = WorkerView(name=name, state=ONLINE, devices=(CPU, *cards), node_types=TYPES)
            self.naive.workers[name] = view
            self.scheduler.set_worker(view)

    def look(self) -> None:
        started = [
            (
                start.run_id,
                start.placement.worker_id,
                tuple(device.name for device in start.placement.devices),
            )
            for start in self.scheduler.starts()
        ]
        assert started == self.naive.starts()

    @rule(
        to=TARGETS,
        wants=WANTS,
        types=st.sampled_from([frozenset("A"), frozenset("AB"), frozenset("C")]),
        priority=st.sampled_from([0, 0, 0, 1, -2]),
        pause=st.sampled_from([0.0, 1.0, 700.0]),
    )
    def submit(
        self, to: str, wants: tuple[str, tuple[str, ...]], types: frozenset[str], priority: int, pause: float
    ) -> None:
        device, devices = wants
        if to == "local" and device == "cuda":
            device = "cuda:0"  # what a submission makes of it
        self.count += 1
        self.now += pause
        run = QueuedRun(
            run_id=f"r{self.count}",
            sequence=self.count,
            submitted_at=self.now,
            priority=priority,
            queue_key=device if to == "local" else f"{to}/{device}",
            worker=to,
            device=device,
            devices=devices,
            node_types=types,
        )
        self.scheduler.enqueue(run)
        self.naive.waiting[run.run_id] = run
        self.look()

    @precondition(lambda self: self.naive.running)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        run_id = data.draw(st.sampled_from(sorted(self.naive.running)))
        del self.naive.running[run_id]
        assert self.scheduler.release(run_id)
        self.look()

    @precondition(lambda self: self.naive.waiting)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        run_id = data.draw(st.sampled_from(sorted(self.naive.waiting)))
        del self.naive.waiting[run_id]
        assert self.scheduler.remove(run_id)
        self.look()

    @precondition(lambda self: self.naive.waiting)
    @rule(data=st.data(), priority=st.integers(-2, 2))
    def prioritise(self, data: st.DataObject, priority: int) -> None:
        run_id = data.draw(st.sampled_from(sorted(self.naive.waiting)))
        self.naive.waiting[run_id] = msgspec.structs.replace(self.naive.waiting[run_id], priority=priority)
        assert self.scheduler.set_priority(run_id, priority)
        self.look()

    @rule(
        name=WORKERS,
        devices=OFFERS,
        state=st.sampled_from([ONLINE, ONLINE, ONLINE, DISCONNECTED, OFFLINE]),
        draining=st.sampled_from([False, False, True]),
        outdated=st.sampled_from([False, False, False, True]),
        types=st.sampled_from([TYPES, TYPES, frozenset("A"), None]),
        machine=st.sampled_from(["", "m1", "m2"]),
        same=st.sampled_from([False, False, True]),
        closed=st.sampled_from([False, False, True]),
    )
    def change(
        self,
        name: str,
        devices: tuple[DeviceView, ...],
        state: str,
        draining: bool,
        outdated: bool,
        types: frozenset[str] | None,
        machine: str,
        same: bool,
        closed: bool,
    ) -> None:
        if closed:
            devices = tuple(
                msgspec.structs.replace(item, closed=USED) if item.name == "cuda:0" else item
                for item in devices
            )
        view = WorkerView(
            name=name,
            state=state,
            draining=draining,
            outdated=outdated,
            devices=devices,
            node_types=types,
            machine_id=machine,
            same_machine=same,
        )
        self.naive.workers[name] = view
        self.scheduler.set_worker(view)
        self.look()

    @rule(name=WORKERS)
    def forget(self, name: str) -> None:
        self.naive.workers.pop(name, None)
        self.scheduler.set_workers(self.naive.workers.values())
        self.look()

    @rule(limits=LIMITS)
    def limit(self, limits: Limits) -> None:
        self.naive.limits = limits
        self.scheduler.set_limits(limits)
        self.look()

    @rule(
        name=WORKERS,
        uuid=st.sampled_from(["GPU-a0", "GPU-s0", None]),
        device=st.sampled_from(["cuda:0", "cpu"]),
    )
    def adopt(self, name: str, uuid: str | None, device: str) -> None:
        self.count += 1
        identity = DeviceIdentity(name=device, uuid=None if device == "cpu" else uuid)
        placement = Placement(worker_id=name, devices=(identity,), slots=((name, device),))
        self.scheduler.take(f"r{self.count}", placement)
        self.naive.running[f"r{self.count}"] = placement
        self.look()

    @invariant()
    def a_device_holds_what_the_plain_reading_says(self) -> None:
        if not hasattr(self, "scheduler"):
            return
        for provider in self.naive.providers():
            for device in self.naive.devices(provider):
                slot = (provider, device.name)
                physical = self.naive.physical(provider, device.name, device.uuid)
                assert sorted(self.scheduler.sharing(slot)) == sorted(
                    run for run, _ in self.naive.on(physical)
                )
                if provider == "local" or self.naive.workers[provider].state == ONLINE:
                    assert self.scheduler.limit(slot)[0] == self.naive.limit(physical)

    @invariant()
    def positions_count_from_one(self) -> None:
        if not hasattr(self, "scheduler"):
            return
        queues: dict[str, list[str]] = {}
        for run_id in self.scheduler.waiting:
            queues.setdefault(self.naive.waiting[run_id].queue_key, []).append(run_id)
        for queue in queues.values():
            assert [self.scheduler.position(run_id) for run_id in queue] == list(range(1, len(queue) + 1))

    @invariant()
    def only_heads_have_reasons_and_they_fit(self) -> None:
        if not hasattr(self, "scheduler"):
            return
        heads = {run.run_id: run for run in self.naive.heads()}
        for run_id, run in self.naive.waiting.items():
            why = self.scheduler.reason(run_id)
            if run_id not in heads:
                assert why is None
                continue
            could = any(self.naive.choices(run, provider) for provider in self.naive.providers())
            assert (why is None) == (could or run.worker == "local")

    def teardown(self) -> None:
        """Every run comes to its end when the workers do: nothing waits for ever."""
        if not hasattr(self, "scheduler"):
            return
        cards = tuple(card(index, f"GPU-x{index}") for index in range(3))
        types = frozenset("ABC")
        for name in ("alpha", "beta", "gamma", "beta.one"):
            view = WorkerView(name=name, state=ONLINE, devices=(CPU, MPS, *cards), node_types=types)
            self.naive.workers[name] = view
            self.scheduler.set_worker(view)
        self.look()
        frees = 0
        while self.naive.running:
            run_id = next(iter(self.naive.running))
            del self.naive.running[run_id]
            self.scheduler.release(run_id)
            self.look()
            frees += 1
        assert frees <= self.count
        assert not self.naive.waiting


# 400 histories of up to 50 steps: the 20,000 steps that every change has to stand.
TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=int(os.environ.get("CODEFY_SCHEDULING_HISTORIES", "400")),
    report_multiple_bugs=False,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
