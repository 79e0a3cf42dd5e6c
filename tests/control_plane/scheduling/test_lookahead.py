"""When runs are expected to start (S-15), what a target would change (S-14), and cards that others use (S-16)."""

from __future__ import annotations

import pytest

from codefy_control_plane.scheduling.forecast import forecast
from codefy_control_plane.scheduling.foreign import (
    CLOSE_BYTES,
    OPEN_AFTER_S,
    OPEN_BYTES,
    ForeignUse,
    ForeignWatch,
)
from codefy_control_plane.scheduling.limits import Limits
from codefy_control_plane.scheduling.model import OFFLINE, ONLINE, DeviceView, QueuedRun, WorkerView
from codefy_control_plane.scheduling.prospects import LATER, NEVER, NOW, prospects
from codefy_control_plane.scheduling.scheduler import Scheduler

CPU = DeviceView(name="cpu", kind="cpu")
CARD = DeviceView(name="cuda:0", kind="cuda", uuid="GPU-1")


def run(number: int, device: str = "cpu", to: str = "local", types: str = "A") -> QueuedRun:
    return QueuedRun(
        run_id=f"r{number}",
        sequence=number,
        queue_key=device if to == "local" else f"{to}/{device}",
        worker=to,
        device=device,
        node_types=frozenset(types),
    )


def ready(*runs: QueuedRun, cpu: int = 1) -> Scheduler:
    scheduler = Scheduler(Limits(cpu=cpu), (CPU,))
    for item in runs:
        scheduler.enqueue(item)
    scheduler.starts()
    return scheduler


def test_a_forecast_plays_the_queue_forward() -> None:
    scheduler = ready(run(1), run(2), run(3), run(4))
    expected = forecast(scheduler, {"r1": 10.0}, lambda item: 100.0)
    assert expected == {"r2": 10.0, "r3": 110.0, "r4": 210.0}
    assert scheduler.waiting == ("r2", "r3", "r4")  # nothing was started by looking


def test_a_forecast_uses_every_place() -> None:
    scheduler = ready(run(1), run(2), run(3), run(4), cpu=2)
    assert forecast(scheduler, {"r1": 10.0, "r2": 30.0}, lambda item: 100.0) == {"r3": 10.0, "r4": 30.0}


def test_a_run_past_its_time_counts_as_ending_now() -> None:
    assert forecast(ready(run(1), run(2)), {"r1": -5.0}, lambda item: None) == {"r2": 0.0}


@pytest.mark.parametrize("remaining", [{}, {"r1": None}])
def test_what_waits_for_a_run_of_unknown_length_has_no_time(remaining: dict[str, float | None]) -> None:
    assert forecast(ready(run(1), run(2)), remaining, lambda item: 1.0) == {}


def test_a_run_behind_one_of_unknown_length_has_no_time() -> None:
    scheduler = ready(run(1), run(2), run(3))
    assert forecast(scheduler, {"r1": 5.0}, lambda item: None) == {"r2": 5.0}
    assert forecast(scheduler, {"r1": 5.0}, lambda item: 1.0, max_starts=1) == {"r2": 5.0}


def test_a_run_for_a_worker_that_is_away_has_no_time() -> None:
    scheduler = ready(run(1, to="box"))
    assert forecast(scheduler, {}, lambda item: 1.0) == {}


def worker(name: str, state: str = ONLINE, types: str = "AB", draining: bool = False) -> WorkerView:
    return WorkerView(
        name=name, state=state, draining=draining, devices=(CPU, CARD), node_types=frozenset(types)
    )


def test_prospects_say_now_later_or_never_with_the_reason() -> None:
    scheduler = ready(run(1))
    scheduler.set_workers(
        [
            worker("away", OFFLINE),
            worker("busy"),
            worker("drained", draining=True),
            worker("free"),
            worker("old", types="B"),
        ]
    )
    for number in (2, 3):
        scheduler.enqueue(run(number, to="busy"))
    scheduler.starts()
    found = {item.worker_id: item for item in prospects(scheduler, run(9))}
    assert list(found) == ["local", "away", "busy", "drained", "free", "old"]
    assert (found["free"].verdict, found["free"].devices) == (NOW, ("cpu",))
    assert found["local"].verdict == LATER
    assert found["local"].reason is None
    assert (found["busy"].verdict, found["busy"].ahead) == (LATER, 1)
    codes = {name: found[name].reason.code for name in ("away", "drained", "old")}  # type: ignore[union-attr]
    assert codes == {"away": "worker_offline", "drained": "worker_draining", "old": "worker_lacks_types"}
    assert found["old"].verdict == NEVER


def test_prospects_of_a_kind_of_device() -> None:
    scheduler = Scheduler(Limits(), (CPU, CARD))
    scheduler.set_worker(worker("box"))
    scheduler.enqueue(run(1, "cuda:0"))
    scheduler.starts()
    found = {item.worker_id: item.verdict for item in prospects(scheduler, run(2, "cuda", "any"))}
    assert found == {"local": LATER, "box": LATER}  # both offer the same card
    scheduler.release("r1")
    assert {item.verdict for item in prospects(scheduler, run(2, "cuda", "any"))} == {NOW}


def test_blockers_name_runs_in_the_way() -> None:
    scheduler = ready(run(1), run(2), run(3))
    assert scheduler.blockers("r2").running == ("r1",)
    assert scheduler.blockers("r3").ahead == ("r2",)
    assert scheduler.blockers("r1").running == ()


def test_a_used_card_closes_at_once_and_opens_after_a_while() -> None:
    watch = ForeignWatch()
    small, big = ForeignUse(memory=OPEN_BYTES), ForeignUse(memory=CLOSE_BYTES, process="python (pid 7)")
    between = ForeignUse(memory=OPEN_BYTES + 1, process="python (pid 7)")
    assert watch.report("cuda:0", small, 0.0) is None
    assert watch.report("cuda:0", between, 1.0) is None
    assert watch.report("cuda:0", big, 2.0) is big
    assert watch.report("cuda:0", between, 3.0) is between  # not yet low enough
    assert watch.report("cuda:1", small, 3.0) is None
    assert watch.next_look(3.0) is None
    assert watch.report("cuda:0", small, 4.0) is not None
    assert watch.next_look(4.0) == 4.0 + OPEN_AFTER_S
    assert watch.report("cuda:0", big, 5.0) is big  # it came back
    assert watch.report("cuda:0", small, 6.0) is not None
    assert watch.report("cuda:0", small, 6.0 + OPEN_AFTER_S - 0.1) is not None
    assert watch.report("cuda:0", small, 6.0 + OPEN_AFTER_S) is None
    assert watch.next_look(100.0) is None
