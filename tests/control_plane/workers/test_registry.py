"""The registry without sockets: pausing, hanging up, late results, slots."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from codefy_control_plane.api.schemas import Slots
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
    Hello,
    RunAlive,
    RunFinished,
)
from codefy_protocol.reasons import BAD_WORKER_NAME, reason

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


async def test_slots_come_from_the_run_service(tmp_path: Path) -> None:
    registry = make(tmp_path, slots=lambda worker, device: Slots(limit=4, used=0, run_ids=[worker, device]))
    await greet(registry)
    assert registry.statuses()[0].devices[0].slots == Slots(limit=4, used=0, run_ids=["w1", "cpu"])
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
