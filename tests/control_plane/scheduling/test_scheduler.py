"""Queues and slots: one head per queue, order of submission, limits and sets."""

from __future__ import annotations

import pytest

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


def kept_and_waiting() -> tuple[Shop, str, str, str]:
    """A shop whose cuda:1 is free and kept for a set, with a run behind that set that wants it."""
    shop = Shop(Limits(accelerator=1), box())
    busy = shop.submit("cuda:0", "box")
    assert shop.starts() == [busy]
    held = shop.submit("cuda:0", "box", ("cuda:0", "cuda:1"))
    later = shop.submit("cuda:1", "box")
    assert shop.starts() == []
    return shop, busy, held, later


def test_what_a_set_kept_is_free_when_it_is_cancelled() -> None:
    shop, _, held, later = kept_and_waiting()
    assert shop.scheduler.remove(held)
    assert shop.starts() == [later]


def test_what_a_set_kept_is_free_when_it_is_overtaken_in_its_queue() -> None:
    shop, _, held, later = kept_and_waiting()
    # Another run of the same queue comes first and wants cuda:0 only: the set is no longer head.
    urgent = QueuedRun(
        run_id="urgent",
        sequence=99,
        priority=1,
        queue_key="box/cuda:0",
        worker="box",
        device="cuda:0",
        node_types=TYPES,
    )
    shop.scheduler.enqueue(urgent)
    assert shop.starts() == [later]
    assert shop.scheduler.position(held) == 2


def test_a_set_keeps_nothing_while_its_worker_is_away() -> None:
    other = WorkerView(name="other", state=ONLINE, devices=(CARDS[1],), node_types=TYPES)
    shop, _, _, _ = kept_and_waiting()
    shop.scheduler.set_workers([box(), other])
    elsewhere = shop.submit("cuda:1", "other")
    assert shop.starts() == []  # it is the same card, kept for the set
    shop.scheduler.set_workers([box(state=DISCONNECTED), other])
    assert shop.starts() == [elsewhere]


def test_what_a_set_kept_goes_to_it_when_it_starts() -> None:
    shop, busy, held, later = kept_and_waiting()
    assert shop.scheduler.release(busy)
    assert shop.starts() == [held]
    assert shop.scheduler.release(held)
    assert shop.starts() == [later]
