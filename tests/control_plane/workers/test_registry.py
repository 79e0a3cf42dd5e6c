"""The registry without sockets: pausing, hanging up, late results, slots."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from codefy_control_plane.api.schemas import DeviceStatus, NodeDifferences, SameCard, Slots
from codefy_control_plane.runs.errors import Refused
from codefy_control_plane.scheduling.model import DeviceView
from codefy_control_plane.settings import load_settings
from codefy_control_plane.workers.connection import Connection, Peer
from codefy_control_plane.workers.decisions import AttemptDecision
from codefy_control_plane.workers.registry import SERVER_STOPS, WorkerRegistry
from codefy_protocol.frames import (
    Ack,
    Assign,
    AttemptState,
    Catalog,
    Device,
    DeviceIdentity,
    Event,
    ForeignUse,
    Heartbeat,
    Hello,
    RunAlive,
    RunFinished,
    UncleanSlot,
)
from codefy_protocol.reasons import BAD_WORKER_NAME, Reason, reason

PEER = Peer(address="127.0.0.1", loopback=True, authenticated_by="session-token")
CPU = Device(name="cpu", kind="cpu")


class KeptDecisions:
    """An executor that keeps what it is told and commits nothing by itself."""

    def __init__(self) -> None:
        self.decisions: list[AttemptDecision] = []

    def decide(self, decision: AttemptDecision) -> None:
        self.decisions.append(decision)


class Changes:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


def hello(**fields: str) -> Hello:
    return Hello(
        name="w1",
        product_version="1",
        protocol_version=1,
        incarnation="a",
        devices=(CPU,),
        **{"machine_id": "m1", **fields},
    )


def make(folder: Path, **fields: object) -> WorkerRegistry:
    return WorkerRegistry(load_settings({}, data_dir=folder), machine_id="m1", **fields)  # type: ignore[arg-type]


async def greet(registry: WorkerRegistry, *held: tuple[str, str]) -> Connection:
    connection = registry.connect(PEER)
    registry.opened(connection, hello(), outdated=False)
    attempts = tuple(
        AttemptState(run_id=run_id, attempt=1, state=state, last_seq=1) for run_id, state in held
    )
    await registry.received(connection, "w1", [RunAlive(attempts=attempts)])
    return connection


def place(registry: WorkerRegistry) -> KeptDecisions:
    executor = KeptDecisions()
    assign = Assign(
        run_id="r1",
        attempt=1,
        graph=b"{}",
        payload_cap=1,
        device="cpu",
        devices=(DeviceIdentity(name="cpu"),),
        grace_s=1.0,
    )
    registry.place("w1", assign, executor, recorded_seq=None, grace_s=None)  # type: ignore[arg-type]  # decides nothing
    return executor


async def test_reading_pauses_until_the_store_has_caught_up(tmp_path: Path) -> None:
    registry = make(tmp_path)
    connection = await greet(registry)
    place(registry)
    flood = [Event(run_id="r1", attempt=1, seq=seq, ts=0.0, kind="k", body=b"{}") for seq in range(1, 9000)]
    reading = asyncio.create_task(registry.received(connection, "w1", flood))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not reading.done()
    registry.committed("w1", ("r1", 1), 100)
    for _ in range(5):
        await asyncio.sleep(0)
    assert not reading.done()
    registry.committed("w1", ("r1", 1), 8999)
    await asyncio.wait_for(reading, 5)
    await registry.close()


async def test_a_paused_reader_goes_on_when_its_connection_ends(tmp_path: Path) -> None:
    registry = make(tmp_path)
    connection = await greet(registry)
    place(registry)
    flood = [Event(run_id="r1", attempt=1, seq=seq, ts=0.0, kind="k", body=b"{}") for seq in range(1, 9000)]
    reading = asyncio.create_task(registry.received(connection, "w1", flood))
    await asyncio.sleep(0)
    registry.disconnected(connection, "w1")
    await asyncio.wait_for(reading, 5)
    await registry.close()


async def test_hanging_up_closes_what_is_open_and_what_still_comes(tmp_path: Path) -> None:
    changes = Changes()
    registry = make(tmp_path, on_change=changes)
    connection = await greet(registry)
    executor = place(registry)
    registry.hang_up()
    assert connection.closing == SERVER_STOPS
    assert registry.connect(PEER).closing == SERVER_STOPS
    before = changes.count
    registry.disconnected(connection, "w1")
    assert changes.count == before
    assert executor.decisions == []  # the run goes on at its worker: nothing is to be noted
    await registry.close()


async def test_a_late_result_is_acknowledged_once_it_is_kept(tmp_path: Path) -> None:
    kept: list[tuple[str, str, int, int, bytes]] = []
    release = asyncio.Event()

    async def keep(worker: str, run_id: str, attempt: int, seq: int, body: bytes) -> None:
        await release.wait()
        kept.append((worker, run_id, attempt, seq, body))

    report = b'{"status":"succeeded"}'
    registry = make(tmp_path, late_result=keep)
    connection = await greet(registry, ("r9", "ended"))
    await connection.take()
    await registry.received(
        connection, "w1", [RunFinished(run_id="r9", attempt=1, seq=2, ts=0.0, body=report)]
    )
    taking = asyncio.create_task(connection.take())
    await asyncio.sleep(0)
    assert not taking.done()
    release.set()
    assert await asyncio.wait_for(taking, 5) == [Ack(run_id="r9", attempt=1, seq=2)]
    assert kept == [("w1", "r9", 1, 2, report)]
    await registry.close()


async def test_a_late_result_that_cannot_be_read_is_dropped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept: list[bytes] = []

    async def keep(worker: str, run_id: str, attempt: int, seq: int, body: bytes) -> None:
        kept.append(body)

    registry = make(tmp_path, late_result=keep)
    connection = await greet(registry, ("r9", "ended"))
    await connection.take()
    await registry.received(
        connection, "w1", [RunFinished(run_id="r9", attempt=1, seq=2, ts=0.0, body=b'{"status":"foo"}')]
    )
    assert await asyncio.wait_for(connection.take(), 5) == [Ack(run_id="r9", attempt=1, seq=2)]
    assert kept == []
    assert "cannot be read" in caplog.text
    await registry.close()


async def test_a_late_result_that_cannot_be_kept_is_not_acknowledged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tried = asyncio.Event()

    async def refuse(worker: str, run_id: str, attempt: int, seq: int, body: bytes) -> None:
        tried.set()
        raise OSError("disk full")

    report = b'{"status":"succeeded"}'
    registry = make(tmp_path, late_result=refuse)
    connection = await greet(registry, ("r9", "ended"))
    await connection.take()
    await registry.received(
        connection, "w1", [RunFinished(run_id="r9", attempt=1, seq=2, ts=0.0, body=report)]
    )
    await asyncio.wait_for(tried.wait(), 5)
    await registry.close()
    assert await connection.take() == []
    assert "could not be stored" in caplog.text


async def test_what_placement_and_people_see(tmp_path: Path) -> None:
    changes = Changes()
    registry = make(tmp_path, on_change=changes)
    assert registry.views() == []
    connection = await greet(registry)
    assert changes.count >= 1
    place(registry)
    (view,) = registry.views()
    assert view.devices == (DeviceView(name="cpu", kind="cpu"),)
    assert view.same_machine
    assert view.node_types is None
    await registry.received(connection, "w1", [Catalog(catalog_hash="h", node_types=("A", "B"))])
    assert registry.views()[0].node_types == frozenset({"A", "B"})
    (shown,) = registry.statuses()
    assert shown.run_ids == ["r1"]
    assert shown.devices[0].slots == Slots(limit=1, used=1, run_ids=["r1"])
    await registry.close()


async def test_devices_are_described_by_the_run_service(tmp_path: Path) -> None:
    slots = Slots(limit=4, used=1, run_ids=["r9"], limited_by="local")
    registry = make(
        tmp_path,
        devices=lambda worker, device: DeviceStatus(
            device=device, slots=slots, same_card=[SameCard(worker_id=worker, device=device.name)]
        ),
    )
    await greet(registry)
    (shown,) = registry.statuses()[0].devices
    assert shown.slots is slots
    assert shown.same_card == [SameCard(worker_id="w1", device="cpu")]
    await registry.close()


async def test_a_worker_with_other_node_types_is_degraded_and_the_differences_are_listed(
    tmp_path: Path,
) -> None:
    registry = make(tmp_path, hashes=lambda: {"A": "1", "B": "2", "C": "3"})
    connection = await greet(registry)
    assert registry.views()[0].node_types is None
    assert registry.statuses()[0].engine is None
    catalog = Catalog(
        catalog_hash="h", node_types=("A", "B", "D"), hashes={"A": "1", "B": "x", "D": "4"}, engine="0.1"
    )
    await registry.received(connection, "w1", [catalog])
    # Of the same name is not the same: B is declared otherwise there.
    assert registry.views()[0].node_types == frozenset("AD")
    (shown,) = registry.statuses()
    assert shown.engine == "0.1"
    assert shown.node_differences == NodeDifferences(only_here=["C"], only_there=["D"], different=["B"])
    await registry.received(connection, "w1", [Catalog(catalog_hash="", node_types=())])
    assert registry.views()[0].node_types == frozenset()
    assert registry.statuses()[0].engine == ""
    same = Catalog(
        catalog_hash="h", node_types=tuple("ABC"), hashes={"A": "1", "B": "2", "C": "3"}, engine="0.1"
    )
    await registry.received(connection, "w1", [same])
    assert registry.statuses()[0].node_differences is None
    await registry.close()


async def test_a_device_that_is_not_clean_gets_nothing_until_it_is_or_is_reclaimed(tmp_path: Path) -> None:
    changes: list[int] = []
    registry = make(tmp_path, on_change=lambda: changes.append(1))
    connection = await greet(registry)
    card = Device(name="cuda:0", kind="cuda", uuid="GPU-1")
    dirty = msgspec.structs.replace(card, unclean=UncleanSlot(run_id="r1", pid=77))

    async def beat(device: Device) -> Reason | None:
        await registry.received(connection, "w1", [Heartbeat(devices=(device,))])
        return registry.views()[0].devices[0].closed

    assert await beat(card) is None
    changes.clear()
    why = await beat(dirty)
    assert why is not None
    assert why.message == "cuda:0 of w1 is not clean: process 77 of an earlier run still uses it"
    assert changes == [1]
    assert await beat(dirty) == why
    assert changes == [1]
    assert await beat(card) is None
    assert changes == [1, 1]
    await beat(dirty)
    registry.reclaim("w1", "cuda:0")
    assert registry.views()[0].devices[0].closed is None
    assert await beat(dirty) is None
    other = msgspec.structs.replace(card, unclean=UncleanSlot(run_id="r2", pid=78))
    assert await beat(other) is not None  # that one was not waved through
    await beat(card)
    with pytest.raises(Refused) as refused:
        registry.reclaim("w1", "cuda:0")
    assert refused.value.reason.code == "device_not_closed"
    await registry.close()


async def test_a_card_that_others_use_is_closed_with_their_name_and_opens_late(tmp_path: Path) -> None:
    clock = [100.0]
    registry = make(tmp_path, clock=lambda: clock[0])
    connection = await greet(registry)

    async def beat(memory: int) -> str | None:
        foreign = ForeignUse(memory=memory, pid=4711, process="python") if memory else None
        card = Device(name="cuda:0", kind="cuda", uuid="GPU-1", foreign=foreign)
        await registry.received(connection, "w1", [Heartbeat(devices=(card,))])
        why = registry.views()[0].devices[0].closed
        return None if why is None else why.message

    assert await beat(100 << 20) is None
    used = "cuda:0 of w1 is used by python (pid 4711), which is not a run"
    assert await beat(2 << 30) == used
    assert await beat(300 << 20) == used
    assert await beat(0) is not None
    clock[0] += 14
    assert await beat(0) is not None
    clock[0] += 2
    assert await beat(0) is None
    await registry.close()


@pytest.mark.parametrize(
    ("loopback", "machine", "same"), [(True, "m1", True), (True, "m2", False), (False, "m1", False)]
)
async def test_same_machine_needs_loopback_and_the_machine_id(
    tmp_path: Path, loopback: bool, machine: str, same: bool
) -> None:
    registry = make(tmp_path)
    connection = registry.connect(Peer(address="x", loopback=loopback, authenticated_by="session-token"))
    registry.opened(connection, hello(machine_id=machine), outdated=False)
    assert registry.views()[0].same_machine is same
    await registry.close()


async def test_rejections_are_bounded(tmp_path: Path) -> None:
    registry = make(tmp_path)
    for number in range(300):
        odd = Hello(name=f"X{number}", product_version="1", protocol_version=1)
        registry.note_rejected(odd, reason(BAD_WORKER_NAME, detail="no"))
    assert len(registry.rejections) == 100
    assert "X299" in registry.rejections
    await registry.close()
