"""Priority within and across queues, with ageing (S-17, S-2)."""

from __future__ import annotations

from codefy_control_plane.scheduling.limits import Limits
from codefy_control_plane.scheduling.model import PRIORITY_STEP_S, DeviceView, QueuedRun
from codefy_control_plane.scheduling.scheduler import Scheduler

CPU = DeviceView(name="cpu", kind="cpu")


def run(
    number: int, at: float = 0.0, priority: int = 0, to: str = "local", devices: tuple[str, ...] = ()
) -> QueuedRun:
    device = devices[0] if devices else "cpu"
    return QueuedRun(
        run_id=f"r{number}",
        sequence=number,
        submitted_at=at,
        priority=priority,
        queue_key=device if to == "local" else f"{to}/{device}",
        worker=to,
        device=device,
        devices=devices,
    )


def order(*runs: QueuedRun) -> list[str]:
    """In which order they start, one at a time."""
    scheduler = Scheduler(Limits(cpu=1), (CPU,))
    for item in runs:
        scheduler.enqueue(item)
    started: list[str] = []
    while starts := scheduler.starts():
        started += [start.run_id for start in starts]
        for start in starts:
            scheduler.release(start.run_id)
    return started


def test_equal_priorities_keep_the_order_of_submission() -> None:
    assert order(run(1), run(2), run(3)) == ["r1", "r2", "r3"]


def test_a_higher_priority_goes_first() -> None:
    assert order(run(1), run(2, priority=1), run(3, priority=2), run(4, priority=-1)) == [
        "r3",
        "r2",
        "r1",
        "r4",
    ]


def test_priority_counts_across_queues_that_share_a_slot() -> None:
    assert order(run(1), run(2, priority=1, to="any")) == ["r2", "r1"]


def test_waiting_outweighs_priority_in_the_end() -> None:
    """A run is overtaken only by what comes within ten minutes per point after it."""
    early = run(1)
    assert order(early, run(2, at=PRIORITY_STEP_S - 1, priority=1)) == ["r2", "r1"]
    assert order(early, run(2, at=PRIORITY_STEP_S + 1, priority=1)) == ["r1", "r2"]
    assert order(early, run(2, at=5 * PRIORITY_STEP_S + 1, priority=5)) == ["r1", "r2"]


def test_a_changed_priority_moves_a_waiting_run() -> None:
    scheduler = Scheduler(Limits(cpu=1), (CPU,))
    for number in (1, 2, 3, 4):
        scheduler.enqueue(run(number))
    assert [start.run_id for start in scheduler.starts()] == ["r1"]
    assert scheduler.set_priority("r4", 1)
    assert [scheduler.position(f"r{number}") for number in (2, 3, 4)] == [2, 3, 1]
    assert scheduler.set_priority("r4", 0)
    assert [scheduler.position(f"r{number}") for number in (2, 3, 4)] == [1, 2, 3]
    assert not scheduler.set_priority("r1", 5)  # it runs
    assert scheduler.set_priority("r3", 9)
    scheduler.release("r1")
    assert [start.run_id for start in scheduler.starts()] == ["r3"]


def test_an_urgent_run_passes_the_cards_that_a_set_keeps() -> None:
    cards = tuple(DeviceView(name=f"cuda:{index}", kind="cuda", uuid=f"GPU-{index}") for index in range(2))
    scheduler = Scheduler(Limits(accelerator=1), cards)
    scheduler.enqueue(run(1, devices=("cuda:0",)))
    assert [start.run_id for start in scheduler.starts()] == ["r1"]
    scheduler.enqueue(run(2, devices=("cuda:0", "cuda:1")))
    scheduler.enqueue(run(3, devices=("cuda:1",)))
    assert scheduler.starts() == []
    assert scheduler.blockers("r3").reserved_for == ("r2",)
    scheduler.enqueue(run(4, priority=1, devices=("cuda:1",)))
    assert [start.run_id for start in scheduler.starts()] == ["r4"]
