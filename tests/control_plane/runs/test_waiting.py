"""Priority of waiting runs, why they wait and until when, and where they could go (S-14, S-15, S-17)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codefy_control_plane.runs.errors import Refused
from codefy_protocol.names import RunOptions, Target

from .conftest import House


async def test_a_higher_priority_starts_first_and_can_be_given_later(house: House) -> None:
    a, b = [await house.hold(name) for name in "ab"]
    c, d, e = [await house.hold(name, priority=number) for name, number in (("c", 0), ("d", 2), ("e", 0))]
    positions = [(await house.service.get(run_id)).queue_position for run_id in (c, d, e)]
    assert positions == [2, 1, 3]
    changed = await house.service.set_priority(e, 5)
    assert (changed.queue_position, changed.options.priority) == (1, 5)
    house.gates.open("a")
    await house.ended(a)
    assert (await house.until(e, lambda run: run.status == "running")).options.priority == 5
    with pytest.raises(Refused) as refused:
        await house.service.set_priority(b, 1)
    assert (refused.value.status, refused.value.reason.code) == (409, "run_not_waiting")
    with pytest.raises(Refused) as refused:
        await house.service.set_priority(c, 101)
    assert refused.value.reason.message == "At $.priority: a whole number from -100 to 100, got 101."


async def test_a_changed_priority_outlives_a_restart(make_house: Callable[..., House]) -> None:
    house = make_house(max_concurrent_cpu=1)
    await house.open()
    first = await house.hold("a")
    second, third = await house.hold("b"), await house.hold("c")
    await house.service.set_priority(third, 1)
    await house.close()
    del house.service
    again = make_house(max_concurrent_cpu=1)
    await again.open()
    await again.until(third, lambda run: run.status == "running")
    assert (await again.service.get(first)).status == "interrupted"
    waits = await again.service.get(second)
    assert (waits.status, waits.queue_position) == ("queued", 1)


async def test_a_waiting_run_says_what_is_in_its_way_and_when_it_ends(
    make_house: Callable[..., House],
) -> None:
    house = make_house(max_concurrent_cpu=1)
    await house.open()
    done = await house.submit(("Hold", {"gate": "a"}))
    house.gates.open("a")
    took = await house.ended(done.run_id)
    assert took.started_at is not None
    assert took.ended_at is not None
    house.gates.opened.clear()
    running = await house.hold("a")
    head = await house.hold("a")
    behind = await house.hold("b")
    told = await house.service.waiting(head)
    assert (told.position, told.blocked_by, told.ahead, told.reason) == (1, [running], [], None)
    assert told.sentence.startswith("Waiting for #2 test to end; expected to start in less than a minute")
    assert told.expected_start_at is not None
    second = await house.service.waiting(behind)
    assert (second.position, second.ahead) == (2, [head])
    assert second.sentence.startswith("1 run before it in its queue; expected to start in less than")
    with pytest.raises(Refused) as refused:
        await house.service.waiting(running)
    assert refused.value.reason.code == "run_not_waiting"
    with pytest.raises(Refused) as refused:
        await house.service.waiting("nobody")
    assert refused.value.status == 404


async def test_without_earlier_runs_no_time_is_promised(make_house: Callable[..., House]) -> None:
    house = make_house(max_concurrent_cpu=1)
    await house.open()
    await house.hold("a")
    told = await house.service.waiting(await house.hold("b"))
    assert told.expected_start_at is None
    assert told.sentence == "Waiting for #1 test to end."


async def test_preflight_says_where_and_stores_nothing(house: House) -> None:
    found = await house.service.preflight(house.graph(("Count", {})), RunOptions())
    (server,) = found.providers
    assert (server.worker_id, server.verdict, server.devices) == ("local", "now", ["cpu"])
    assert found.usual_duration_s is None
    await house.ended((await house.submit(("Count", {}))).run_id)
    assert (
        await house.service.preflight(house.graph(("Count", {})), RunOptions())
    ).usual_duration_s is not None
    card = await house.service.preflight(
        house.graph(("Count", {})), RunOptions(target=Target(worker="any", devices=("cuda:0",)))
    )
    (server,) = card.providers
    assert server.verdict == "never"
    assert server.reason is not None
    assert server.reason.message == "The server has no device cuda:0; it offers cpu."
    assert (await house.service.list_runs()).total == 1
    with pytest.raises(Refused) as refused:
        await house.service.preflight(b"{}", RunOptions())
    assert refused.value.status == 400
