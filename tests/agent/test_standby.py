"""P-8: which standby children an agent keeps, decided without a process and without a clock."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefy_agent.standby import (
    Decision,
    DiscardStandby,
    Phase,
    StandbyPool,
    StandbySettings,
    StartStandby,
)
from codefy_protocol.frames import Assign, Device, DeviceIdentity, NodeSource

GIB = 1024**3
CPU = DeviceIdentity(name="cpu")
A = DeviceIdentity(name="cuda:0", uuid="GPU-a")
B = DeviceIdentity(name="cuda:1", uuid="GPU-b")
KEY = ("r1", 1)


def machine(*cards: DeviceIdentity, free: float | None = 16, total: float | None = 32) -> tuple[Device, ...]:
    cpu = Device(
        name="cpu",
        kind="cpu",
        memory_total=None if total is None else int(total * GIB),
        memory_free=None if free is None else int(free * GIB),
    )
    return (cpu, *(Device(name=card.name, kind="cuda", uuid=card.uuid) for card in cards))


def run_on(*devices: DeviceIdentity, **fields: Any) -> Assign:
    return Assign(
        run_id="r1", attempt=1, payload_cap=1, device=devices[0].name, devices=devices, grace_s=30.0, **fields
    )


def pool(
    count: int | None = None, *cards: DeviceIdentity, **facts: Any
) -> tuple[StandbyPool, list[Decision]]:
    made = StandbyPool(StandbySettings(count=count))
    return made, made.devices_read(machine(*cards, **facts), 0.0)


def with_ready(count: int | None = None, *cards: DeviceIdentity) -> StandbyPool:
    made, decisions = pool(count, *cards)
    while decisions:
        (start,) = decisions
        assert isinstance(start, StartStandby)
        made.ready(start.id)
        decisions = made.tick(0.0)
    return made


def slots(made: StandbyPool) -> list[str]:
    return [slot.name for _, slot, _ in made.children()]


def test_auto_is_one_for_the_first_card_else_for_the_processor() -> None:
    assert pool()[1] == [StartStandby(1, CPU)]
    assert pool(None, A, B)[1] == [StartStandby(1, A)]


@pytest.mark.parametrize(("total", "free"), [(4, 4), (None, None), (32, 2)])
def test_auto_needs_memory(total: float | None, free: float | None) -> None:
    assert pool(None, total=total, free=free)[1] == []


def test_a_number_is_a_word() -> None:
    assert pool(0)[1] == []
    assert pool(1, total=4, free=3.5)[1] == [StartStandby(1, CPU)]
    assert slots(with_ready(3, A, B)) == ["cuda:0", "cuda:1", "cpu"]
    assert slots(with_ready(2)) == ["cpu", "cpu"]


def test_one_is_made_at_a_time() -> None:
    made, _ = pool(2, A, B)
    assert made.tick(1.0) == []
    made.ready(1)
    assert made.tick(1.0) == [StartStandby(2, B)]


def test_a_run_takes_the_child_of_its_device_once_and_the_next_is_made_when_it_is_at_work() -> None:
    made = with_ready()
    made.run_assigned(KEY, run_on(CPU), 1.0)
    assert made.take(run_on(CPU)) == 1
    assert made.take(run_on(CPU)) is None
    assert made.tick(60.0) == []
    assert made.run_at_work(KEY, 61.0) == []
    assert made.next_tick(61.0) == 63.0
    assert made.tick(63.0) == [StartStandby(2, CPU)]


def test_a_run_that_says_nothing_is_not_waited_for_for_ever() -> None:
    made = with_ready()
    made.run_assigned(KEY, run_on(CPU), 1.0)
    made.take(run_on(CPU))
    assert made.next_tick(1.0) == 121.0
    assert made.tick(121.0) == [StartStandby(2, CPU)]


def test_a_run_that_ended_at_once_leaves_room_for_the_next_one() -> None:
    made = with_ready()
    made.run_assigned(KEY, run_on(CPU), 1.0)
    made.take(run_on(CPU))
    assert made.run_ended(KEY, 2.0) == []
    assert made.tick(4.0) == [StartStandby(2, CPU)]


@pytest.mark.parametrize(
    "assign",
    [
        run_on(B),
        run_on(CPU),
        run_on(A, B),
        run_on(DeviceIdentity(name="cuda:0", uuid="GPU-other")),
        run_on(DeviceIdentity(name="cuda:0")),
        run_on(A, node_source_digest="d"),
        run_on(A, node_sources=(NodeSource(name="x.py", sha256="0", size=1),)),
    ],
)
def test_a_run_that_the_child_does_not_suit_starts_cold(assign: Assign) -> None:
    made = with_ready(None, A, B)
    assert made.take(assign) is None
    assert made.take(run_on(A)) == 1


def test_a_child_that_is_not_ready_is_not_given_out() -> None:
    made, _ = pool()
    assert made.take(run_on(CPU)) is None
    assert made.children() == [(1, CPU, Phase.STARTING)]


def test_it_follows_the_device_of_the_last_run() -> None:
    made = with_ready(None, A, B)
    made.run_assigned(KEY, run_on(B), 1.0)
    assert made.take(run_on(B)) is None
    assert made.run_at_work(KEY, 5.0) == []
    assert made.take(run_on(A)) == 1  # there until its successor is made
    made = with_ready(None, A, B)
    made.run_assigned(KEY, run_on(B), 1.0)
    made.run_at_work(KEY, 5.0)
    assert made.tick(7.0) == [DiscardStandby(1, "runs go to another device"), StartStandby(2, B)]


def test_short_memory_discards_and_comes_back_only_with_room() -> None:
    made = with_ready()
    assert made.devices_read(machine(free=1), 1.0) == [DiscardStandby(1, "memory is short")]
    assert made.next_tick(1.0) is None
    assert made.devices_read(machine(free=2), 2.0) == []
    assert made.devices_read(machine(free=4), 3.0) == [StartStandby(2, CPU)]


def test_less_memory_than_a_start_needs_keeps_what_is_there() -> None:
    made = with_ready()
    assert made.devices_read(machine(free=2), 1.0) == []
    assert slots(made) == ["cpu"]


def test_changed_files_discard_and_make_anew() -> None:
    made = with_ready()
    discard, start = made.outdated(1, 1.0)
    assert isinstance(discard, DiscardStandby)
    assert start == StartStandby(2, CPU)
    assert made.outdated(1, 1.0) == []


def test_a_card_that_is_gone_or_another_one_takes_its_child_along() -> None:
    made = with_ready(None, A)
    assert made.devices_read(machine(DeviceIdentity(name="cuda:0", uuid="GPU-new")), 1.0) == [
        DiscardStandby(1, "cuda:0 is not offered any more"),
        StartStandby(2, DeviceIdentity(name="cuda:0", uuid="GPU-new")),
    ]


def test_a_child_that_keeps_dying_is_tried_less_and_less_often() -> None:
    made, _ = pool()
    assert made.gone(1, 0.0) == []
    assert made.next_tick(0.0) == 10.0
    assert made.tick(10.0) == [StartStandby(2, CPU)]
    made.gone(2, 10.0)
    assert made.next_tick(10.0) == 30.0
    before, now = 10.0, 30.0
    for number in range(3, 12):
        assert made.tick(now) == [StartStandby(number, CPU)]
        made.gone(number, now)
        before, now = now, made.next_tick(now) or 0.0
    assert now - before == 600.0


def test_imports_that_never_end_are_given_up() -> None:
    made, _ = pool()
    assert made.next_tick(0.0) == 300.0
    assert made.tick(300.0) == [DiscardStandby(1, "its imports take too long")]
    assert made.next_tick(300.0) == 310.0


def test_nothing_is_left_or_made_once_the_agent_stops() -> None:
    made = with_ready(2, A)
    assert len(made.stop(1.0)) == 2
    assert made.tick(100.0) == [] and made.next_tick(100.0) is None
    assert made.take(run_on(A)) is None


@given(st.data())
def test_whatever_happens_there_are_never_more_than_asked_and_none_is_given_twice(
    data: st.DataObject,
) -> None:
    count = data.draw(st.integers(0, 3))
    made = StandbyPool(StandbySettings(count=count))
    alive: set[int] = set()
    given: set[int] = set()
    now = 0.0
    keys = [("r", n) for n in range(3)]
    for _ in range(data.draw(st.integers(1, 40))):
        now += data.draw(st.sampled_from((0.0, 1.0, 5.0, 200.0)))
        known = sorted(alive) or [0]
        decisions: list[Decision] = []
        match data.draw(
            st.sampled_from(("read", "tick", "ready", "gone", "old", "run", "work", "end", "take"))
        ):
            case "read":
                cards = data.draw(st.sampled_from(((), (A,), (A, B), (B,))))
                decisions = made.devices_read(
                    machine(*cards, free=data.draw(st.sampled_from((1, 2, 8)))), now
                )
            case "tick":
                decisions = made.tick(now)
            case "ready":
                made.ready(data.draw(st.sampled_from(known)))
            case "gone":
                number = data.draw(st.sampled_from(known))
                alive.discard(number)
                decisions = made.gone(number, now)
            case "old":
                decisions = made.outdated(data.draw(st.sampled_from(known)), now)
            case "run":
                slot = data.draw(st.sampled_from((CPU, A, B)))
                made.run_assigned(data.draw(st.sampled_from(keys)), run_on(slot), now)
            case "work":
                decisions = made.run_at_work(data.draw(st.sampled_from(keys)), now)
            case "end":
                decisions = made.run_ended(data.draw(st.sampled_from(keys)), now)
            case _:
                number = made.take(run_on(data.draw(st.sampled_from((CPU, A, B)))))
                if number is not None:
                    assert number in alive and number not in given
                    given.add(number)
                    alive.discard(number)
        for decision in decisions:
            if isinstance(decision, StartStandby):
                alive.add(decision.id)
            else:
                assert decision.id in alive
                alive.discard(decision.id)
        due = made.next_tick(now)
        if due is not None and due <= now:
            # What is due now is done now: a timer that comes again and again would eat the processor.
            for decision in made.tick(now):
                (alive.add if isinstance(decision, StartStandby) else alive.discard)(decision.id)
            due = made.next_tick(now)
            assert due is None or due > now
        assert {number for number, _, _ in made.children()} == alive
        assert len(alive) <= count
