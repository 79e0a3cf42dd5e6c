"""Where a run may go, why it waits, and what is refused (S-6 to S-9)."""

from __future__ import annotations

import msgspec
import pytest

from codefy_control_plane.scheduling.limits import Limits
from codefy_control_plane.scheduling.model import (
    DISCONNECTED,
    OFFLINE,
    ONLINE,
    DeviceView,
    Placement,
    QueuedRun,
    Wait,
    WorkerView,
)
from codefy_control_plane.scheduling.placement import never
from codefy_control_plane.scheduling.scheduler import Scheduler
from codefy_protocol.frames import DeviceIdentity
from codefy_protocol.reasons import CARD_IN_USE, reason

CPU = DeviceView(name="cpu", kind="cpu")


def card(index: int, uuid: str | None = None) -> DeviceView:
    return DeviceView(name=f"cuda:{index}", kind="cuda", uuid=uuid)


def worker(name: str, *devices: DeviceView, state: str = ONLINE, **more: object) -> WorkerView:
    return WorkerView(
        name=name,
        state=state,
        devices=devices or (CPU,),
        **{"node_types": frozenset(("A", "B")), **more},  # type: ignore[arg-type]
    )


def wants(device: str, to: str = "local", devices: tuple[str, ...] = ()) -> QueuedRun:
    return QueuedRun(
        run_id="r",
        sequence=1,
        queue_key="k",
        worker=to,
        device=device,
        devices=devices,
        node_types=frozenset("A"),
    )


def placed(
    run: QueuedRun,
    local: tuple[DeviceView, ...],
    *workers: WorkerView,
    busy: tuple[tuple[str, str], ...] = (),
) -> Placement | Wait:
    scheduler = Scheduler(Limits(cpu=1, accelerator=1), local)
    scheduler.set_workers(workers)
    for slot in busy:
        offered = (
            local
            if slot[0] == "local"
            else [view for item in workers if item.name == slot[0] for view in item.devices]
        )
        uuids = [view.uuid for view in offered if view.name == slot[1]]
        device = DeviceIdentity(name=slot[1], uuid=uuids[0] if uuids else None)
        scheduler.take(f"in {slot}", Placement(worker_id=slot[0], devices=(device,), slots=(slot,)))
    scheduler.enqueue(run)
    for start in scheduler.starts():
        return start.placement
    return Wait(reason=scheduler.reason(run.run_id))


def where(answer: Placement | Wait) -> tuple[str, ...]:
    assert isinstance(answer, Placement)
    return (answer.worker_id, *(device.name for device in answer.devices))


def why(answer: Placement | Wait) -> str | None:
    assert isinstance(answer, Wait)
    return None if answer.reason is None else answer.reason.message


def test_local_goes_to_the_server_only() -> None:
    assert where(placed(wants("cpu"), (CPU,), worker("box"))) == ("local", "cpu")
    assert why(placed(wants("cpu"), (CPU,), worker("box"), busy=(("local", "cpu"),))) is None


def test_placement_carries_the_uuid_of_the_moment() -> None:
    answer = placed(wants("cuda:1", "box"), (), worker("box", CPU, card(0, "GPU-a"), card(1, "GPU-b")))
    assert isinstance(answer, Placement)
    assert answer.devices == (DeviceIdentity(name="cuda:1", uuid="GPU-b"),)
    assert answer.slots == (("box", "cuda:1"),)


def test_a_kind_takes_the_first_free_device_of_that_kind() -> None:
    box = worker("box", CPU, card(0), card(1))
    assert where(placed(wants("cuda", "box"), (), box)) == ("box", "cuda:0")
    assert where(placed(wants("cuda", "box"), (), box, busy=(("box", "cuda:0"),))) == ("box", "cuda:1")


def test_a_set_takes_all_its_devices_in_the_order_asked() -> None:
    box = worker("box", card(0), card(1), card(2))
    run = wants("cuda:2", "box", ("cuda:2", "cuda:0"))
    assert where(placed(run, (), box)) == ("box", "cuda:2", "cuda:0")
    assert why(placed(run, (), box, busy=(("box", "cuda:0"),))) is None


@pytest.mark.parametrize(
    ("box", "message"),
    [
        (None, "waiting for worker box to reconnect"),
        (worker("box", state=DISCONNECTED), "waiting for worker box to reconnect"),
        (worker("box", state=OFFLINE), "waiting for worker box to reconnect"),
        (worker("box", draining=True), "worker box is draining"),
        (worker("box", outdated=True), "worker box is outdated: update its agent"),
        (worker("box", card(3)), "waiting for a worker that offers cpu"),
        (worker("box", node_types=None), "waiting for worker box to say which node types it has"),
        (
            worker("box", node_types=frozenset("B")),
            "box lacks the node types A. Install there what has them: codefy-agent engine install --with NAME",
        ),
    ],
)
def test_a_named_worker_that_cannot_take_it_says_why(box: WorkerView | None, message: str) -> None:
    assert why(placed(wants("cpu", "box"), (CPU,), *([box] if box else []))) == message


def test_any_takes_the_first_worker_in_name_order_and_the_server_last() -> None:
    one, two = worker("alpha"), worker("beta")
    run = wants("cpu", "any")
    assert where(placed(run, (CPU,), two, one)) == ("alpha", "cpu")
    assert where(placed(run, (CPU,), two, one, busy=(("alpha", "cpu"),))) == ("beta", "cpu")
    assert where(placed(run, (CPU,), two, one, busy=(("alpha", "cpu"), ("beta", "cpu")))) == ("local", "cpu")


@pytest.mark.parametrize(
    "unfit",
    [
        worker("alpha", state=DISCONNECTED),
        worker("alpha", draining=True),
        worker("alpha", outdated=True),
        worker("alpha", card(0)),
        worker("alpha", node_types=None),
        worker("alpha", node_types=frozenset("B")),
    ],
)
def test_any_passes_over_a_worker_that_cannot_take_the_run(unfit: WorkerView) -> None:
    assert where(placed(wants("cpu", "any"), (), unfit, worker("beta"))) == ("beta", "cpu")


@pytest.mark.parametrize(
    ("device", "devices", "qualifies"),
    [
        ("cpu", (), True),
        ("cuda:0", ("cuda:0",), True),
        ("cuda:1", ("cuda:1",), False),
        ("cuda:0", ("cuda:0", "cuda:1"), False),
        ("cuda", (), True),
    ],
)
def test_the_server_takes_only_what_needs_no_renumbering(
    device: str, devices: tuple[str, ...], qualifies: bool
) -> None:
    answer = placed(wants(device, "any", devices), (CPU, card(0), card(1)))
    assert isinstance(answer, Placement) is qualifies


def test_any_waits_with_the_reason_that_helps() -> None:
    run = wants("cuda:1", "any", ("cuda:1",))
    assert why(placed(run, (CPU,), worker("box"))) == "waiting for a worker that offers cuda:1"
    draining = worker("box", card(1), draining=True)
    assert why(placed(run, (CPU,), draining)) == "waiting for a worker that offers cuda:1: box is draining"
    assert why(placed(run, (CPU,), worker("box", card(1)), busy=(("box", "cuda:1"),))) is None


def test_what_can_never_run_is_refused_with_a_remedy() -> None:
    box = worker("box", CPU, card(0), card(1))
    workers = {"box": box}
    unknown = never(wants("cpu", "nobody"), (CPU,), workers)
    assert unknown is not None
    assert unknown.code == "unknown_worker"
    assert "codefy-agent start --name nobody" in unknown.message
    missing = never(wants("cuda:4", "box"), (CPU,), workers)
    assert missing is not None
    assert missing.message == "box has no device cuda:4; it offers cpu, cuda:0, cuda:1."
    local = never(wants("cuda:0"), (CPU,), workers)
    assert local is not None
    assert local.message == "The server has no device cuda:0; it offers cpu."
    anywhere = never(wants("mps:0", "any"), (CPU,), workers)
    assert anywhere is not None
    assert anywhere.code == "unknown_device_anywhere"
    assert anywhere.message == (
        "Neither the server nor any worker seen since the start has mps:0. Seen so far: cpu, cuda:0, cuda:1."
    )
    lacking = never(wants("cpu", "box"), (CPU,), {"box": worker("box", node_types=frozenset("B"))})
    assert lacking is not None
    assert (
        lacking.message
        == "box lacks the node types A. Install there what has them: codefy-agent engine install --with NAME"
    )
    nobody = never(
        wants("mps:0", "any"),
        (),
        {"box": worker("box", DeviceView(name="mps:0", kind="mps"), node_types=frozenset("B"))},
    )
    assert nobody is not None
    assert nobody.code == "worker_lacks_types"


def test_what_may_run_later_is_not_refused() -> None:
    away = worker("box", card(0), state=OFFLINE, draining=True)
    assert never(wants("cuda", "box"), (CPU,), {"box": away}) is None
    assert never(wants("cuda:0", "any"), (CPU,), {"box": away}) is None
    assert never(wants("cpu", "any"), (CPU,), {}) is None
    silent = WorkerView(name="new", state=ONLINE)
    assert never(wants("cuda:7", "new"), (CPU,), {"new": silent}) is None


def test_limits_of_slots() -> None:
    limits = Limits(cpu=2, accelerator=1, overrides={"cuda:0": 3, "box/cuda:0": 0, "cpu": 5})
    assert limits.of(("local", "cpu")) == 5
    assert limits.of(("box", "cpu")) == 2
    assert limits.of(("local", "cuda:0")) == 3
    assert limits.of(("local", "cuda:1")) == 1
    assert limits.of(("box", "cuda:0")) == 1


USED = reason(CARD_IN_USE, device="cuda:0", worker="box", process="python (pid 7)")


def test_a_closed_device_is_given_to_nobody_and_says_why() -> None:
    shut = DeviceView(name="cuda:0", kind="cuda", uuid="GPU-a", closed=USED)
    box = worker("box", shut, card(1, "GPU-b"))
    assert where(placed(wants("cuda", "box"), (), box)) == ("box", "cuda:1")
    assert (
        why(placed(wants("cuda:0", "box"), (), box))
        == "cuda:0 of box is used by python (pid 7), which is not a run"
    )
    assert why(placed(wants("cuda", "box"), (), box, busy=(("box", "cuda:1"),))) is None
    assert why(placed(wants("cuda:0", "any"), (CPU,), box)) == USED.message
    assert why(placed(wants("cuda:0", "box", ("cuda:0", "cuda:1")), (), box)) == USED.message


def test_cuda_in_the_server_is_its_first_card() -> None:
    """S-7: a single card other than cuda:0 of the server never serves a run for any."""
    local = (CPU, card(0, "GPU-a"), card(1, "GPU-b"))
    assert where(placed(wants("cuda", "any"), local)) == ("local", "cuda:0")
    assert why(placed(wants("cuda", "any"), local, busy=(("local", "cuda:0"),))) is None


def files(device: str, to: str, file_types: str = "F", **more: object) -> QueuedRun:
    """A run whose types are A and those of files that travel with it."""
    run = wants(device, to)
    return msgspec.structs.replace(
        run, node_types=run.node_types | frozenset(file_types), file_types=frozenset(file_types), **more
    )


TAKES_FILES = {"capabilities": frozenset(("node_sources",))}


def test_types_that_travel_are_not_missed() -> None:
    box = worker("box", **TAKES_FILES)
    assert where(placed(files("cpu", "box"), (), box)) == ("box", "cpu")
    assert where(placed(files("cpu", "any"), (CPU,), box)) == ("box", "cpu")
    unread = worker("box", node_types=None, **TAKES_FILES)
    assert (
        why(placed(files("cpu", "box"), (), unread))
        == "waiting for worker box to say which node types it has"
    )
    assert never(files("cpu", "box"), (), {"box": box}) is None


def test_a_worker_that_takes_no_files_gets_no_run_that_needs_them() -> None:
    box = worker("box", capabilities=frozenset(("ack",)))
    answer = placed(files("cpu", "box"), (), box)
    assert isinstance(answer, Wait)
    assert answer.reason is not None
    assert answer.reason.code == "node_files_not_taken"
    assert "box does not take node files, and the graph needs F" in answer.reason.message
    assert never(files("cpu", "box"), (), {"box": box}) == answer.reason
    assert where(placed(files("cpu", "any"), (CPU,), box)) == ("local", "cpu")
    # Once it is updated it may take them.
    assert never(files("cpu", "box"), (), {"box": worker("box", outdated=True)}) is None


def test_a_type_of_a_package_that_a_named_worker_lacks_is_refused_with_what_to_install() -> None:
    box = worker("box", **TAKES_FILES)
    run = files("cpu", "box", packages={"Blur": "codefy-blur"})
    run = msgspec.structs.replace(run, node_types=run.node_types | {"Blur"})
    why = never(run, (), {"box": box})
    assert why is not None
    assert (why.code, why.params["types"]) == ("worker_lacks_types", "Blur")
    assert "codefy-agent engine install --with codefy-blur" in why.message
    assert placed(run, (), box) == Wait(reason=why)
    # Nobody knows yet what this one has.
    assert never(run, (), {"box": worker("box", node_types=None, **TAKES_FILES)}) is None
