"""Queues and slots: one head per queue, order of submission, limits, sets, and random histories against the rules."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from codefy_control_plane.scheduling.limits import Limits
from codefy_control_plane.scheduling.model import (
    DISCONNECTED,
    ONLINE,
    DeviceView,
    Placement,
    QueuedRun,
    WorkerView,
)
from codefy_control_plane.scheduling.scheduler import Scheduler
from codefy_protocol.frames import DeviceIdentity

CPU = DeviceView(name="cpu", kind="cpu")
CARDS = tuple(DeviceView(name=f"cuda:{index}", kind="cuda", uuid=f"GPU-{index}") for index in range(3))
TYPES = frozenset(("A",))


def box(name: str = "box", state: str = ONLINE, draining: bool = False) -> WorkerView:
    return WorkerView(name=name, state=state, draining=draining, devices=(CPU, *CARDS), node_types=TYPES)


class Shop:
    """A scheduler with short ways to submit and to see what started."""

    def __init__(self, limits: Limits | None = None, *workers: WorkerView) -> None:
        self.scheduler = Scheduler(limits or Limits(), (CPU, *CARDS))
        self.scheduler.set_workers(workers)
        self.count = 0

    def submit(self, device: str = "cpu", to: str = "local", devices: tuple[str, ...] = ()) -> str:
        self.count += 1
        run_id = f"r{self.count}"
        key = device if to == "local" else f"{to}/{device}"
        self.scheduler.enqueue(
            QueuedRun(
                run_id=run_id,
                sequence=self.count,
                queue_key=key,
                worker=to,
                device=device,
                devices=devices,
                node_types=TYPES,
            )
        )
        return run_id

    def starts(self) -> list[str]:
        return [start.run_id for start in self.scheduler.starts()]


def test_a_queue_is_first_in_first_out_within_the_limit() -> None:
    shop = Shop(Limits(cpu=2))
    for _ in range(4):
        shop.submit()
    assert shop.starts() == ["r1", "r2"]
    assert [shop.scheduler.position(f"r{n}") for n in (1, 2, 3, 4)] == [None, None, 1, 2]
    assert shop.starts() == []
    assert shop.scheduler.release("r1")
    assert shop.starts() == ["r3"]
    assert shop.scheduler.users(("local", "cpu")) == ("r2", "r3")


def test_queues_that_share_a_slot_take_turns_in_the_order_of_submission() -> None:
    shop = Shop(Limits(cpu=1), box())
    for to in ("box", "any", "box", "any"):
        shop.submit(to=to)
    order = shop.starts()
    assert order == ["r1", "r2"]  # box/cpu, then the server takes the one for any
    shop.scheduler.release("r2")
    assert shop.starts() == ["r4"]  # r3 still waits for box
    shop.scheduler.release("r1")
    assert shop.starts() == ["r3"]


def test_a_queue_whose_head_came_later_waits_for_the_other() -> None:
    one_card = WorkerView(name="box", state=ONLINE, devices=CARDS[:1], node_types=TYPES)
    shop = Shop(Limits(accelerator=1), one_card)
    running = shop.submit("cuda:0", "box")
    assert shop.starts() == [running]
    first = shop.submit("cuda:0", "box")
    other = shop.submit("cuda", "box")
    behind = shop.submit("cuda:0", "box")
    shop.scheduler.remove(first)
    shop.scheduler.release(running)
    assert shop.starts() == [other]
    shop.scheduler.release(other)
    assert shop.starts() == [behind]


def test_a_long_queue_does_not_starve_others() -> None:
    shop = Shop(Limits(accelerator=1), box())
    for _ in range(50):
        shop.submit("cuda", "box")
    late = shop.submit("cuda:0", "box")
    started = shop.starts()
    assert started == ["r1", "r2", "r3"]
    seen: list[str] = []
    while late not in seen:
        first = shop.scheduler.users(("box", "cuda:0"))[0]
        shop.scheduler.release(first)
        seen += shop.starts()
        assert len(seen) <= 50
    # Every run of the other queue that came before it went first, none that came after.
    assert seen[-1] == late


def test_cancelling_a_head_offers_the_next_at_once() -> None:
    shop = Shop(Limits(accelerator=1), box())
    running = shop.submit("cuda:0", "box")
    shop.starts()
    head, behind = (
        shop.submit("cuda:0", "box", ("cuda:0", "cuda:1")),
        shop.submit("cuda:0", "box", ("cuda:1",)),
    )
    assert shop.starts() == []
    assert shop.scheduler.remove(head)
    assert not shop.scheduler.remove(head)
    assert shop.starts() == [behind]
    assert shop.scheduler.placement(running) is not None


def test_a_set_is_all_or_nothing_and_keeps_what_it_needs_while_it_is_head() -> None:
    shop = Shop(Limits(accelerator=1), box())
    shop.submit("cuda:0", "box")
    assert shop.starts() == ["r1"]
    pair = shop.submit("cuda:0", "box", ("cuda:0", "cuda:1"))
    shop.submit("cuda:1", "box")  # later, would fit
    shop.submit("cuda:2", "box")  # not wanted by the set
    assert shop.starts() == ["r4"]
    assert shop.scheduler.users(("box", "cuda:1")) == ()
    shop.scheduler.release("r1")
    assert shop.starts() == [pair]
    shop.scheduler.release(pair)
    assert shop.scheduler.users(("box", "cuda:0")) == ()
    assert shop.starts() == ["r3"]


def test_a_set_for_any_keeps_nothing() -> None:
    shop = Shop(Limits(accelerator=1), box())
    shop.submit("cuda:0", "box")
    shop.starts()
    shop.submit("cuda:0", "any", ("cuda:0", "cuda:1"))
    later = shop.submit("cuda:1", "box")
    assert shop.starts() == [later]


def test_reasons_come_with_the_look_and_go_with_the_start() -> None:
    shop = Shop(None)
    run = shop.submit("cpu", "box")
    assert shop.starts() == []
    reason = shop.scheduler.reason(run)
    assert reason is not None
    assert reason.code == "worker_offline"
    shop.scheduler.set_workers([box(draining=True)])
    shop.starts()
    reason = shop.scheduler.reason(run)
    assert reason is not None
    assert reason.code == "worker_draining"
    shop.scheduler.set_workers([box()])
    assert shop.starts() == [run]
    assert shop.scheduler.reason(run) is None


def test_an_adopted_run_takes_its_slots_again_even_over_the_limit() -> None:
    shop = Shop(Limits(accelerator=1), box())
    for run_id in ("old1", "old2"):
        shop.scheduler.take(
            run_id,
            Placement(
                worker_id="box",
                devices=(DeviceIdentity(name="cuda:0", uuid="GPU-0"),),
                slots=(("box", "cuda:0"),),
            ),
        )
    run = shop.submit("cuda:0", "box")
    assert shop.starts() == []
    shop.scheduler.release("old1")
    assert shop.starts() == []
    shop.scheduler.release("old2")
    assert shop.starts() == [run]


def test_a_run_is_queued_once() -> None:
    shop = Shop()
    shop.submit()
    with pytest.raises(ValueError, match="known already"):
        shop.scheduler.enqueue(QueuedRun(run_id="r1", sequence=9, queue_key="cpu", device="cpu"))
    shop.starts()
    with pytest.raises(ValueError, match="known already"):
        shop.scheduler.enqueue(QueuedRun(run_id="r1", sequence=9, queue_key="cpu", device="cpu"))
    with pytest.raises(ValueError, match="placed already"):
        shop.scheduler.take("r1", Placement(worker_id="local", devices=(), slots=()))
    assert not shop.scheduler.release("r9")


DEVICES = st.sampled_from(["cpu", "cuda", "cuda:0", "cuda:1", "cuda:2"])
SETS = st.sampled_from([(), (), ("cuda:0", "cuda:1"), ("cuda:2", "cuda:0"), ("cuda:0", "cuda:1", "cuda:2")])
TARGETS = st.sampled_from(["local", "any", "alpha", "beta"])


class Histories(RuleBasedStateMachine):
    """Random submissions, ends, cancels, drains and disconnects; the rules hold after every step."""

    @initialize(cpu=st.integers(1, 3), accelerator=st.integers(1, 2))
    def open(self, cpu: int, accelerator: int) -> None:
        self.limits = Limits(cpu=cpu, accelerator=accelerator)
        self.shop = Shop(self.limits, box("alpha"), box("beta"))
        self.running: dict[str, Placement] = {}
        self.waiting: dict[str, QueuedRun] = {}
        self.views = {"alpha": box("alpha"), "beta": box("beta")}

    def look(self) -> None:
        queues: dict[str, list[QueuedRun]] = {}
        for run in self.waiting.values():
            queues.setdefault(run.queue_key, []).append(run)
        for start in self.shop.scheduler.starts():
            run = self.waiting.pop(start.run_id)
            # Only the head of its queue, to a place that takes new runs, on what it asked for.
            assert queues[run.queue_key].pop(0) is run
            place = start.placement
            if place.worker_id != "local":
                view = self.views[place.worker_id]
                assert view.state == ONLINE
                assert not view.draining
            names = tuple(device.name for device in place.devices)
            assert names == run.wanted or (run.wanted == ("cuda",) and names[0].startswith("cuda:"))
            assert run.worker in (place.worker_id, "any")
            self.running[start.run_id] = place

    @rule(device=DEVICES, to=TARGETS, devices=SETS)
    def submit(self, device: str, to: str, devices: tuple[str, ...]) -> None:
        if to == "local" and device == "cuda":
            device = "cuda:0"  # what a submission makes of it
        run_id = self.shop.submit(devices[0] if devices else device, to, devices)
        self.waiting[run_id] = self.shop.scheduler._waiting[run_id]
        self.look()

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        run_id = data.draw(st.sampled_from(sorted(self.running)))
        del self.running[run_id]
        assert self.shop.scheduler.release(run_id)
        self.look()

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        run_id = data.draw(st.sampled_from(sorted(self.waiting)))
        del self.waiting[run_id]
        assert self.shop.scheduler.remove(run_id)
        self.look()

    @rule(
        name=st.sampled_from(["alpha", "beta"]),
        state=st.sampled_from([ONLINE, DISCONNECTED]),
        drain=st.booleans(),
    )
    def change(self, name: str, state: str, drain: bool) -> None:
        self.views[name] = box(name, state, drain)
        self.shop.scheduler.set_workers(self.views.values())
        self.look()

    @invariant()
    def slots_hold_what_runs_and_no_more(self) -> None:
        used: dict[tuple[str, str], set[str]] = {}
        for run_id, placement in self.running.items():
            for slot in placement.slots:
                used.setdefault(slot, set()).add(run_id)
        for worker in ("local", "alpha", "beta"):
            for device in ("cpu", "cuda:0", "cuda:1", "cuda:2"):
                slot = (worker, device)
                assert set(self.shop.scheduler.users(slot)) == used.get(slot, set())
                assert len(self.shop.scheduler.users(slot)) <= self.limits.of(slot)

    @invariant()
    def nothing_waits_beside_a_free_place(self) -> None:
        """A head that could have all it asks for, and that no earlier set keeps from it, has started."""
        assert self.shop.scheduler.starts() == []
        for worker in ("local", "alpha", "beta"):
            view = self.views.get(worker)
            if view is not None and (view.state != ONLINE or view.draining):
                continue
            free = self.limits.of((worker, "cpu")) - len(self.shop.scheduler.users((worker, "cpu")))
            if free > 0:
                keys = [run.queue_key for run in self.waiting.values()]
                assert "any/cpu" not in keys
                assert (worker if worker == "local" else f"{worker}/cpu") not in keys
                assert worker != "local" or "cpu" not in keys

    @invariant()
    def positions_count_from_one(self) -> None:
        queues: dict[str, list[str]] = {}
        for run_id in self.shop.scheduler.waiting:
            queues.setdefault(self.waiting[run_id].queue_key, []).append(run_id)
        for queue in queues.values():
            assert [self.shop.scheduler.position(run_id) for run_id in queue] == list(
                range(1, len(queue) + 1)
            )

    def teardown(self) -> None:
        """Every run can come to its end: free everything again and again until nothing waits."""
        if not hasattr(self, "shop"):
            return
        self.views = {"alpha": box("alpha"), "beta": box("beta")}
        self.shop.scheduler.set_workers(self.views.values())
        self.look()
        while self.running:
            run_id = next(iter(self.running))
            del self.running[run_id]
            self.shop.scheduler.release(run_id)
            self.look()
        assert not self.waiting


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
