"""Runs on workers as the service sees them: placement, reasons, cancel, the seq of the end, and adoption (D-6)."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from codefy_control_plane.runs.errors import Refused
from codefy_control_plane.runs.recorder import AttemptRecorder
from codefy_control_plane.scheduling.model import (
    DISCONNECTED,
    OFFLINE,
    ONLINE,
    DeviceView,
    Placement,
    WorkerView,
)
from codefy_control_plane.storage.attempts import AttemptRow, read_attempt
from codefy_engine.execution.executor import ExecutionOutcome, ExecutionRequest
from codefy_protocol import reasons
from codefy_protocol.bodies import PeakMemory, RunError
from codefy_protocol.names import Target
from codefy_protocol.reasons import reason

if TYPE_CHECKING:
    from conftest import House

BOX = WorkerView(
    name="box",
    state=ONLINE,
    devices=(DeviceView(name="cpu", kind="cpu"), DeviceView(name="cuda:0", kind="cuda", uuid="GPU-7")),
    node_types=frozenset(("Count", "Say")),
)


class ObedientExecutor:
    """Does what a test tells it: commits what it recorded, ends as told, answers a cancel with the end."""

    def __init__(self, placement: Placement, recorder: AttemptRecorder, recorded_seq: int | None) -> None:
        self.placement = placement
        self.recorder = recorder
        self.recorded_seq = recorded_seq
        self.final_seq: int | None = None
        self.request: ExecutionRequest
        self.running = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.detached = False
        self.settled_with: str | None = None
        self.outcome: asyncio.Future[ExecutionOutcome] = asyncio.get_running_loop().create_future()
        self.row_at_settled: Callable[[], str] = lambda: "unknown"

    async def run(self, request: ExecutionRequest) -> ExecutionOutcome:
        self.request = request
        self.running.set()
        try:
            return await self.outcome
        except asyncio.CancelledError:
            self.detached = True
            raise

    async def cancel(self) -> None:
        self.cancelled.set()

    def settled(self) -> None:
        self.settled_with = self.row_at_settled()

    def end(self, status: str = "succeeded", seq: int | None = 9, error: RunError | None = None) -> None:
        self.final_seq = seq
        memory = PeakMemory(devices={"cuda:0": 5}, exact=True)
        self.outcome.set_result(ExecutionOutcome(status=status, error=error, peak_memory=memory))


class Staff:
    """A registry whose workers are what a test says."""

    def __init__(self, *views: WorkerView) -> None:
        self.known = list(views)
        self.executors: list[ObedientExecutor] = []
        self.arrived = asyncio.Event()
        self.expected: list[tuple[str, str, int]] = []

    def expect(self, worker_id: str, run_id: str, attempt: int) -> None:
        self.expected.append((worker_id, run_id, attempt))

    def views(self) -> Sequence[WorkerView]:
        return self.known

    def executor(
        self, placement: Placement, recorder: AttemptRecorder, *, recorded_seq: int | None = None
    ) -> ObedientExecutor:
        made = ObedientExecutor(placement, recorder, recorded_seq)
        self.executors.append(made)
        self.arrived.set()
        return made

    async def next(self, index: int = 0) -> ObedientExecutor:
        async with asyncio.timeout(20):
            while len(self.executors) <= index:
                self.arrived.clear()
                await self.arrived.wait()
            await self.executors[index].running.wait()
        return self.executors[index]


@pytest.fixture
async def staff() -> Staff:
    return Staff(BOX)


@pytest.fixture
async def staffed(make_house: Callable[..., House], staff: Staff) -> House:
    house = make_house()
    house.workers = staff
    await house.open()
    return house


def on(worker: str = "box", **target: Any) -> Target:
    return Target(worker=worker, **target)


async def attempt(house: House, run_id: str) -> AttemptRow:
    row = await house.database.read(lambda c: read_attempt(c, run_id, 1))
    assert row is not None
    return row


async def test_a_run_for_a_worker_is_committed_before_its_executor_is_asked(
    staffed: House, staff: Staff
) -> None:
    run = await staffed.submit(target=on(), device="cuda", name="far")
    assert run.queue_key == "box/cuda"
    executor = await staff.next()
    row = await attempt(staffed, run.run_id)
    assert (row.worker_id, row.slots, row.devices[0].uuid) == ("box", (("box", "cuda:0"),), "GPU-7")
    request = executor.request
    assert (request.device, request.attempt, executor.recorded_seq) == ("cuda:0", 1, None)
    assert request.run_dir.is_dir()
    detail = await staffed.service.get(run.run_id)
    assert (detail.status, detail.worker_id, detail.devices) == ("running", "box", ["cuda:0"])
    assert staffed.service.slots("box", "cuda:0").run_ids == [run.run_id]
    executor.end()
    events, _ = await staffed.watch(run.run_id)
    assert msgspec.json.decode(events[0].payload)["worker_id"] == "box"
    assert events[-1].type == "execution_complete"
    detail = await staffed.service.get(run.run_id)
    assert detail.peak_memory == PeakMemory(devices={"cuda:0": 5}, exact=True)
    await staffed.until_slots(0, "cuda:0", "box")


async def test_the_seq_of_the_end_is_stored_with_the_terminal_event_and_settled_after(
    staffed: House, staff: Staff
) -> None:
    run_id = (await staffed.submit(target=on())).run_id
    executor = await staff.next()
    stored = sqlite3.connect(staffed.database.path)
    executor.row_at_settled = lambda: str(
        stored.execute(
            "SELECT status, recorded_seq FROM exec_run_attempts WHERE run_id = ?", (run_id,)
        ).fetchone()
    )
    executor.recorder.sinks.emit("node_status", 1.0, b"{}")
    await executor.recorder.commit(recorded_seq=4)
    executor.recorder.sinks.emit("node_status", 1.0, b"{}")
    executor.end(seq=6)
    await staffed.ended(run_id)
    async with asyncio.timeout(20):
        while executor.settled_with is None:
            await asyncio.sleep(0.01)
    stored.close()
    assert executor.settled_with == "('succeeded', 6)"


async def test_a_disconnected_worker_shows_in_the_row(staffed: House, staff: Staff) -> None:
    run_id = (await staffed.submit(target=on())).run_id
    recorder = (await staff.next()).recorder
    recorder.status("disconnected")
    recorder.warn(reason(reasons.WORKER_DISCONNECTED, worker="box"))
    await recorder.commit()
    assert (await staffed.until(run_id, lambda run: run.status == "disconnected")).worker_id == "box"
    recorder.status("running")
    await recorder.commit()
    assert (await staffed.until(run_id, lambda run: run.status == "running")).worker_id == "box"
    staff.executors[0].end("interrupted", None, RunError(code="worker_gone", message="gone"))
    detail = await staffed.ended(run_id)
    assert detail.status == "interrupted"
    assert detail.execution_facts["error_reason"] == "worker_gone"
    events, _ = await staffed.watch(run_id)
    assert [event.type for event in events] == ["execution_start", "run_warning", "execution_error"]


async def test_a_stop_is_forwarded_as_a_cancel(staffed: House, staff: Staff) -> None:
    run_id = (await staffed.submit(target=on())).run_id
    executor = await staff.next()
    answer = await staffed.service.cancel(run_id)
    assert (answer.status, answer.cancel_requested) == ("running", True)
    await asyncio.wait_for(executor.cancelled.wait(), 20)
    assert executor.request.stop.is_set()
    executor.end("cancelled")
    assert (await staffed.ended(run_id)).status == "cancelled"


async def test_waiting_says_why_and_starts_when_the_worker_is_back(make_house: Any) -> None:
    staff = Staff(msgspec.structs.replace(BOX, state=OFFLINE))
    house: House = make_house()
    house.workers = staff
    await house.open()
    run = await house.submit(target=on())
    assert (run.status, run.queue_position) == ("queued", 1)
    detail = await house.service.get(run.run_id)
    assert detail.queue_reason == "waiting for worker box to reconnect"
    assert (detail.queue_reason_code, detail.queue_reason_params) == ("worker_offline", {"worker": "box"})
    staff.known = [msgspec.structs.replace(BOX, draining=True)]
    house.service.workers_changed()
    assert (await house.service.get(run.run_id)).queue_reason_code == "worker_draining"
    staff.known = [BOX]
    house.service.workers_changed()
    (await staff.next()).end()
    detail = await house.ended(run.run_id)
    assert (detail.status, detail.queue_reason) == ("succeeded", None)


async def test_refusals_name_what_the_worker_offers(staffed: House) -> None:
    with pytest.raises(Refused) as refused:
        await staffed.submit(target=on(devices=("cuda:4",)))
    assert refused.value.reason.message == "box has no device cuda:4; it offers cpu, cuda:0."
    with pytest.raises(Refused) as refused:
        await staffed.submit(target=on("nobody"))
    assert refused.value.reason.code == "unknown_worker"
    assert (await staffed.service.list_runs()).total == 0


async def test_a_commit_that_fails_has_the_worker_asked_again(
    staffed: House, staff: Staff, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codefy_control_plane.runs.execution.RETRY_S", 0.01)
    run_id = (await staffed.submit(target=on())).run_id
    first = await staff.next()
    first.recorder.sinks.emit("one", 1.0, b"{}")
    await first.recorder.commit(recorded_seq=1)
    first.recorder.sinks.emit("two", 1.0, b"{}")  # never committed
    first.outcome.set_exception(sqlite3.OperationalError("database or disk is full"))
    second = await staff.next(1)
    assert second.recorded_seq == 1
    second.recorder.sinks.emit("two", 1.0, b"{}")  # the worker sends it again
    second.end(seq=3)
    events, _ = await staffed.watch(run_id)
    assert [event.type for event in events] == ["execution_start", "one", "two", "execution_complete"]


async def test_an_executor_that_breaks_fails_the_run(staffed: House, staff: Staff) -> None:
    run_id = (await staffed.submit(target=on())).run_id
    (await staff.next()).outcome.set_exception(ZeroDivisionError("bug"))
    detail = await staffed.ended(run_id)
    assert detail.status == "failed"
    assert detail.error is not None
    assert detail.error.code == "internal_error"
    assert "bug" not in detail.error.message
    await staffed.until_slots(0, "cpu", "box")


# ---------------------------------------------------------------------- the next server


async def leave_running(house: House, staff: Staff) -> str:
    """A run whose worker reported up to seq 5, and whose server then stopped."""
    run_id = (await house.submit(target=on())).run_id
    executor = await staff.next()
    executor.recorder.sinks.emit("node_progress", 1.0, b'{"fraction":0.5}')
    executor.recorder.sinks.record_metrics(1.0, b'{"points":[{"name":"loss","value":0.5,"step":1}]}')
    await executor.recorder.commit(recorded_seq=5, resume={"seq": 5})
    await house.close()
    assert executor.detached
    assert executor.settled_with is None
    return run_id


async def test_a_stopping_server_leaves_worker_runs_and_the_next_one_adopts_them(
    staffed: House, staff: Staff, make_house: Any
) -> None:
    run_id = await leave_running(staffed, staff)
    next_staff = Staff()  # the worker is not known yet
    house: House = make_house()
    house.workers = next_staff
    await house.open()
    executor = await next_staff.next()
    assert executor.recorded_seq == 5
    assert executor.placement.slots == (("box", "cpu"),)
    assert house.service.slots("box", "cpu").run_ids == [run_id]
    detail = await house.until(run_id, lambda run: run.status == "disconnected")
    assert (detail.attempt, detail.worker_id) == (1, "box")
    assert detail.latest_metrics == {"loss": 0.5}
    assert bytes(detail.progress) == b'{"fraction":0.5}'
    executor.recorder.status("running")
    executor.recorder.sinks.emit("node_status", 2.0, b"{}")
    await executor.recorder.commit(recorded_seq=6)
    executor.end(seq=7)
    events, _ = await house.watch(run_id)
    assert [event.type for event in events] == [
        "execution_start",
        "node_progress",
        "run_warning",
        "node_status",
        "execution_complete",
    ]
    assert msgspec.json.decode(events[2].payload)["code"] == "worker_adopted"
    assert (await attempt(house, run_id)).recorded_seq == 7
    await house.until_slots(0, "cpu", "box")


async def test_a_graceful_stop_ends_adopted_runs_whose_worker_never_came_back(
    staffed: House, staff: Staff, make_house: Any
) -> None:
    run_id = await leave_running(staffed, staff)
    second: House = make_house()
    second.workers = Staff()
    await second.open()
    await second.until(run_id, lambda run: run.status == "disconnected")
    await second.close()
    third: House = make_house()
    await third.open()
    detail = await third.service.get(run_id)
    assert (detail.status, detail.error and detail.error.code) == ("interrupted", "server_stopped")


async def test_a_cancel_outlives_the_server(staffed: House, staff: Staff, make_house: Any) -> None:
    run_id = (await staffed.submit(target=on())).run_id
    executor = await staff.next()
    await staffed.service.cancel(run_id)
    await asyncio.wait_for(executor.cancelled.wait(), 20)
    await staffed.close()
    house: House = make_house()
    next_staff = Staff(msgspec.structs.replace(BOX, state=DISCONNECTED))
    house.workers = next_staff
    await house.open()
    executor = await next_staff.next()
    await asyncio.wait_for(executor.cancelled.wait(), 20)
    executor.end("cancelled", seq=None)
    assert (await house.ended(run_id)).status == "cancelled"


async def test_without_a_registry_worker_runs_of_before_are_interrupted(
    staffed: House, staff: Staff, make_house: Any
) -> None:
    run_id = await leave_running(staffed, staff)
    house: House = make_house()
    await house.open()
    detail = await house.service.get(run_id)
    assert (detail.status, detail.latest_metrics) == ("interrupted", {"loss": 0.5})


async def test_a_late_result_is_kept_unless_it_is_the_one_that_ended_the_run(
    staffed: House, staff: Staff
) -> None:
    run_id = (await staffed.submit(target=on())).run_id
    at_work = await staff.next()
    service = staffed.service
    worker = (await service.get(run_id)).worker_id
    assert worker is not None
    with pytest.raises(LookupError):
        await service.late_result(worker, run_id, 1, 6, b'{"status":"succeeded"}')
    at_work.end(seq=6)
    await staffed.ended(run_id)
    await service.late_result(worker, run_id, 1, 6, b'{"status":"succeeded"}')
    await service.late_result("other", run_id, 1, 8, b'{"status":"failed"}')
    await service.late_result(worker, "unknown", 1, 8, b"{}")
    assert "late_result" not in (await service.get(run_id)).execution_facts
    await service.late_result(worker, run_id, 1, 7, b'{"status":"failed"}')
    assert (await service.get(run_id)).execution_facts["late_result"] == {"status": "failed"}


async def test_the_attempts_of_a_worker_come_newest_first(staffed: House, staff: Staff) -> None:
    first = (await staffed.submit(target=on())).run_id
    (await staff.next(0)).end(seq=3)
    await staffed.ended(first)
    second = (await staffed.submit(target=on())).run_id
    await staff.next(1)
    found = await staffed.service.attempts_of("box")
    assert [(row.run_id, row.recorded_seq, row.status) for row in found] == [
        (second, 0, "running"),
        (first, 3, "succeeded"),
    ]
