"""One card, several providers (S-5): groups, whose limit applies, and what is remembered of a card that moved."""

from __future__ import annotations

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

CPU = DeviceView(name="cpu", kind="cpu")
MPS = DeviceView(name="mps:0", kind="mps")


def card(index: int, uuid: str | None) -> DeviceView:
    return DeviceView(name=f"cuda:{index}", kind="cuda", uuid=uuid)


def worker(
    name: str, *devices: DeviceView, state: str = ONLINE, machine_id: str = "", same_machine: bool = False
) -> WorkerView:
    return WorkerView(
        name=name,
        state=state,
        devices=devices,
        node_types=frozenset("A"),
        machine_id=machine_id,
        same_machine=same_machine,
    )


def scheduler(
    *workers: WorkerView, limits: Limits | None = None, local: tuple[DeviceView, ...] = (CPU,)
) -> Scheduler:
    made = Scheduler(limits or Limits(cpu=1, accelerator=1), local)
    made.set_workers(workers)
    return made


def submit(to: Scheduler, number: int, worker: str, device: str, *devices: str) -> list[tuple[str, str]]:
    """Queue a run and look; returns what started, with the provider."""
    to.enqueue(
        QueuedRun(
            run_id=f"r{number}",
            sequence=number,
            queue_key=device if worker == "local" else f"{worker}/{device}",
            worker=worker,
            device=device,
            devices=devices,
            node_types=frozenset("A"),
        )
    )
    return look(to)


def look(at: Scheduler) -> list[tuple[str, str]]:
    return [(start.run_id, start.placement.worker_id) for start in at.starts()]


def test_two_agents_offering_one_card_never_run_two_runs_on_it() -> None:
    for first, second in (("a", "b"), ("b", "a")):
        box = scheduler(worker(first, card(0, "GPU-1")), worker(second, card(3, "GPU-1")))
        devices = {first: "cuda:0", second: "cuda:3"}
        assert submit(box, 1, first, devices[first]) == [("r1", first)]
        assert submit(box, 2, second, devices[second]) == []
        assert box.users((second, devices[second])) == ()
        assert box.sharing((second, devices[second])) == ("r1",)
        assert box.same_card(("a", devices["a"])) == (("b", devices["b"]),)
        box.release("r1")
        assert look(box) == [("r2", second)]


def test_a_card_stays_taken_while_its_agent_is_away_with_a_run() -> None:
    box = scheduler(worker("a", card(0, "GPU-1")), worker("b", card(0, "GPU-1")))
    submit(box, 1, "a", "cuda:0")
    for state in (DISCONNECTED, OFFLINE):
        box.set_worker(worker("a", card(0, "GPU-1"), state=state))
        assert submit(box, {DISCONNECTED: 2, OFFLINE: 3}[state], "b", "cuda:0") == []
    box.set_workers([worker("b", card(0, "GPU-1"))])  # not even known any more
    assert look(box) == []
    box.release("r1")
    assert look(box) == [("r2", "b")]


def test_an_adopted_run_keeps_its_card_before_its_worker_is_back() -> None:
    box = scheduler(worker("b", card(5, "GPU-1")))
    old = Placement(
        worker_id="a", devices=(DeviceIdentity(name="cuda:0", uuid="GPU-1"),), slots=(("a", "cuda:0"),)
    )
    box.take("old", old)
    assert submit(box, 1, "b", "cuda:5") == []
    box.release("old")
    assert look(box) == [("r1", "b")]


def test_cards_in_another_order_after_a_reboot_keep_what_runs_on_them() -> None:
    box = scheduler(worker("a", card(0, "GPU-1"), card(1, "GPU-2")))
    assert submit(box, 1, "a", "cuda:0") == [("r1", "a")]
    box.set_worker(worker("a", card(0, "GPU-2"), card(1, "GPU-1")))
    assert submit(box, 2, "a", "cuda:1") == []  # that is the card of r1
    assert submit(box, 3, "a", "cuda:0") == [("r3", "a")]
    assert box.users(("a", "cuda:0")) == ("r1", "r3")
    assert box.sharing(("a", "cuda:0")) == ("r3",)


def test_a_card_without_uuid_stays_alone() -> None:
    box = scheduler(worker("a", card(0, None)), worker("b", card(0, None)))
    assert submit(box, 1, "a", "cuda:0") == [("r1", "a")]
    assert submit(box, 2, "b", "cuda:0") == [("r2", "b")]
    assert box.same_card(("a", "cuda:0")) == ()


def test_a_worker_on_the_servers_machine_shares_its_cpu_and_mps() -> None:
    box = scheduler(worker("a", CPU, MPS, machine_id="m", same_machine=True), local=(CPU, MPS))
    assert submit(box, 1, "local", "cpu") == [("r1", "local")]
    assert submit(box, 2, "a", "cpu") == []
    assert submit(box, 3, "a", "mps:0") == [("r3", "a")]
    assert submit(box, 4, "local", "mps:0") == []
    assert box.same_card(("local", "cpu")) == (("a", "cpu"),)


def test_a_tunnelled_agent_that_only_looks_local_shares_nothing_with_the_server() -> None:
    box = scheduler(worker("a", CPU, card(0, "GPU-a"), machine_id="other"), local=(CPU, card(0, "GPU-s")))
    assert submit(box, 1, "local", "cpu") == [("r1", "local")]
    assert submit(box, 2, "a", "cpu") == [("r2", "a")]
    assert submit(box, 3, "local", "cuda:0") == [("r3", "local")]
    assert submit(box, 4, "a", "cuda:0") == [("r4", "a")]


def test_a_claimed_machine_id_shares_among_workers_and_not_with_the_server() -> None:
    box = scheduler(worker("a", CPU, machine_id="m"), worker("b", CPU, machine_id="m"), worker("c", CPU))
    assert submit(box, 1, "a", "cpu") == [("r1", "a")]
    assert submit(box, 2, "b", "cpu") == []
    assert submit(box, 3, "c", "cpu") == [("r3", "c")]
    assert submit(box, 4, "local", "cpu") == [("r4", "local")]
    assert box.same_card(("a", "cpu")) == (("b", "cpu"),)


def test_a_set_takes_the_cards_it_names_from_every_provider() -> None:
    box = scheduler(worker("a", card(0, "GPU-1"), card(1, "GPU-2")), local=(CPU, card(0, "GPU-2")))
    assert submit(box, 1, "local", "cuda:0") == [("r1", "local")]
    assert submit(box, 2, "a", "cuda:0", "cuda:0", "cuda:1") == []
    assert submit(box, 3, "a", "cuda", "cuda") == []  # GPU-1 is kept for r2, GPU-2 is taken
    box.release("r1")
    assert look(box) == [("r2", "a")]


def test_two_slots_that_are_one_card_cannot_both_be_had() -> None:
    box = scheduler(worker("a", card(0, "GPU-1"), card(1, "GPU-1")))
    assert submit(box, 1, "a", "cuda:0", "cuda:0", "cuda:1") == []
    wide = scheduler(worker("a", card(0, "GPU-1"), card(1, "GPU-1")), limits=Limits(accelerator=2))
    assert submit(wide, 1, "a", "cuda:0", "cuda:0", "cuda:1") == [("r1", "a")]
    assert wide.sharing(("a", "cuda:0")) == ("r1", "r1")


def test_the_smallest_limit_of_those_online_or_with_a_run_there_applies() -> None:
    limits = Limits(cpu=2, accelerator=1, overrides={"a/cuda:0": 3, "b/cuda:0": 2})
    box = scheduler(worker("a", card(0, "GPU-1")), worker("b", card(0, "GPU-1")), limits=limits)
    assert box.limit(("a", "cuda:0")) == (2, "b")
    box.set_worker(worker("b", card(0, "GPU-1"), state=OFFLINE))
    assert box.limit(("a", "cuda:0")) == (3, "a")
    box.set_worker(worker("b", card(0, "GPU-1")))
    submit(box, 1, "b", "cuda:0")
    box.set_worker(worker("b", card(0, "GPU-1"), state=OFFLINE))
    assert box.limit(("a", "cuda:0")) == (2, "b")
    box.release("r1")
    assert box.limit(("a", "cuda:0")) == (3, "a")


def test_a_same_machine_worker_without_an_override_takes_the_servers_limit() -> None:
    limits = Limits(cpu=1, accelerator=1, overrides={"cuda:1": 4, "cpu": 5})
    local = (CPU, card(0, "GPU-1"), card(1, "GPU-2"))
    box = scheduler(worker("a", CPU, card(0, "GPU-2"), same_machine=True), limits=limits, local=local)
    assert box.limit(("a", "cuda:0")) == (4, "local")
    assert box.limit(("a", "cpu")) == (5, "local")
    own = Limits(cpu=1, accelerator=1, overrides={"cuda:1": 4, "a/cuda:0": 2})
    box = scheduler(worker("a", CPU, card(0, "GPU-2"), same_machine=True), limits=own, local=local)
    assert box.limit(("local", "cuda:1")) == (2, "a")
    elsewhere = scheduler(worker("a", CPU, card(0, "GPU-9")), limits=limits, local=local)
    assert elsewhere.limit(("a", "cuda:0")) == (1, "a")


def test_room_that_comes_with_a_leaving_provider_is_used_at_once() -> None:
    limits = Limits(accelerator=1, overrides={"a/cuda:0": 2})
    box = scheduler(worker("a", card(0, "GPU-1")), worker("b", card(0, "GPU-1")), limits=limits)
    submit(box, 1, "a", "cuda:0")
    assert submit(box, 2, "a", "cuda:0") == []
    box.set_worker(worker("b", card(0, "GPU-1"), state=OFFLINE))
    assert look(box) == [("r2", "a")]


def test_a_lower_limit_stops_nothing_and_a_higher_one_starts_at_once() -> None:
    box = scheduler(limits=Limits(cpu=2))
    submit(box, 1, "local", "cpu")
    submit(box, 2, "local", "cpu")
    box.set_limits(Limits(cpu=1))
    assert submit(box, 3, "local", "cpu") == []
    box.release("r1")
    assert look(box) == []
    box.set_limits(Limits(cpu=2))
    assert look(box) == [("r3", "local")]
