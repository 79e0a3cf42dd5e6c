"""Runs in the server: events, metrics, console, queue, cancel, grace, and what is refused."""

from __future__ import annotations

import asyncio
import platform
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from codefy_control_plane.runs.errors import Refused
from codefy_protocol.names import RunOptions, Target

if TYPE_CHECKING:
    from conftest import House


def payload(event: Any) -> Any:
    return msgspec.json.decode(event.payload)


async def test_a_run_goes_from_execution_start_to_execution_complete(house: House) -> None:
    submitted = await house.submit(("Count", {"steps": 5}), name="my run")
    assert (submitted.number, submitted.queue_key) == (1, "cpu")
    events, metrics = await house.watch(submitted.run_id)
    assert [event.cursor for event in events] == list(range(1, len(events) + 1))
    assert events[0].type == "execution_start"
    assert payload(events[0]) == {
        "name": "my run",
        "device": "cpu",
        "node_count": 1,
        "worker_id": None,
        "attempt": 1,
    }
    statuses = [payload(event)["status"] for event in events if event.type == "node_status"]
    assert statuses == ["running", "succeeded"]
    assert [event.type for event in events if event.type.startswith("execution_")][1:] == [
        "execution_complete"
    ]
    assert payload(events[-1])["duration_s"] >= 0
    assert [(point.name, point.value, point.step) for point in metrics] == [
        ("loss", 1 / step, step) for step in range(1, 6)
    ]
    detail = await house.service.get(submitted.run_id)
    assert (detail.status, detail.attempt, detail.worker_id, detail.devices) == (
        "succeeded",
        1,
        None,
        ["cpu"],
    )
    assert detail.event_count == len(events)
    assert detail.latest_metrics == {"loss": 0.2}
    assert bytes(detail.progress) == b"null"
    assert msgspec.json.decode(detail.graph)["name"] == "test"
    assert detail.created_at <= (detail.started_at or 0) <= (detail.ended_at or 0)


async def test_the_pages_of_events_and_metrics_follow_their_cursors(house: House) -> None:
    run_id = (await house.submit(("Count", {"steps": 7}))).run_id
    events, metrics = await house.watch(run_id)
    found: list[Any] = []
    cursor = 0
    while True:
        page = await house.service.events(run_id, cursor, 3)
        found += page.events
        cursor = page.next_cursor
        if page.ended:
            break
    assert found == events
    first = await house.service.metrics(run_id, 0, 4)
    rest = await house.service.metrics(run_id, first.next_cursor, 100)
    assert first.points + rest.points == metrics
    assert (await house.service.metrics(run_id, rest.next_cursor)).next_cursor == rest.next_cursor
    assert (await house.service.metrics(run_id, 0, 100, "loss")).points == metrics
    assert (await house.service.metrics(run_id, 0, 100, "accuracy")).points == []


async def test_numbers_that_are_none_survive(house: House) -> None:
    run_id = (await house.submit(("Diverge", {}))).run_id
    detail = await house.ended(run_id)
    assert detail.latest_metrics == {"loss": "NaN", "gain": "Infinity", "loss_low": "-Infinity"}
    points = (await house.service.metrics(run_id)).points
    assert {point.name: point.value for point in points} == detail.latest_metrics
    assert msgspec.json.decode(msgspec.json.encode(detail))["latest_metrics"]["loss"] == "NaN"


async def test_a_failing_node_fails_the_run(house: House) -> None:
    run_id = (await house.submit(("Break", {}))).run_id
    events, _ = await house.watch(run_id)
    detail = await house.service.get(run_id)
    assert detail.status == "failed"
    assert detail.error is not None
    assert detail.error.code == "node_failed"
    assert "this node always fails" in detail.error.message
    assert events[-1].type == "execution_error"
    assert payload(events[-1])["error"]["code"] == "node_failed"


async def test_what_a_run_prints_goes_to_its_own_log(house: House, capfd: pytest.CaptureFixture[str]) -> None:
    first, second = await asyncio.gather(
        house.submit(("Say", {"text": "first über"})), house.submit(("Say", {"text": "second"}))
    )
    await house.ended(first.run_id)
    await house.ended(second.run_id)
    print("the server's own")
    assert house.service.log_path(first.run_id).read_text("utf-8") == "first über\n"
    assert house.service.log_path(second.run_id).read_text("utf-8") == "second\n"
    assert capfd.readouterr().out == "the server's own\n"


async def test_the_standard_streams_are_put_back(make_house: Any) -> None:
    before = (sys.stdout, sys.stderr)
    house: House = make_house()
    await house.open()
    await house.ended((await house.submit()).run_id)
    assert sys.stdout is not before[0]
    await house.service.close()
    assert (sys.stdout, sys.stderr) == before


async def test_artifacts_are_listed_and_found(house: House) -> None:
    run_id = (await house.submit(("Say", {"text": "content", "file": "note.txt"}))).run_id
    await house.ended(run_id)
    (artifact,) = (await house.service.artifacts(run_id)).artifacts
    assert (artifact.name, artifact.kind, artifact.available) == ("note.txt", "text", True)
    path, same = await house.service.artifact_file(run_id, artifact.artifact_id)
    assert same == artifact
    assert path.read_text() == "content"
    path.unlink()
    assert not (await house.service.artifacts(run_id)).artifacts[0].available
    with pytest.raises(Refused) as gone:
        await house.service.artifact_file(run_id, artifact.artifact_id)
    assert (gone.value.status, gone.value.reason.code) == (410, "artifact_gone")
    with pytest.raises(Refused) as missing:
        await house.service.artifact_file(run_id, 99)
    assert (missing.value.status, missing.value.reason.code) == (404, "artifact_not_found")


async def test_a_queue_runs_two_at_once_on_the_cpu_and_tells_positions(house: House) -> None:
    held = [await house.submit(("Hold", {"gate": name})) for name in ("a", "b", "c", "d")]
    assert [run.status for run in held] == ["running", "running", "queued", "queued"]
    assert [run.queue_position for run in held] == [None, None, 1, 2]
    runs = (await house.service.list_runs()).runs
    assert [run.number for run in runs] == [4, 3, 2, 1]
    assert [run.queue_position for run in runs[:2]] == [2, 1]
    slots = house.service.slots("local", "cpu")
    assert (slots.limit, slots.used, slots.run_ids) == (2, 2, [held[0].run_id, held[1].run_id])
    house.gates.open("b")
    await house.ended(held[1].run_id)
    await house.gates.until_reached("c")
    assert (await house.service.get(held[3].run_id)).queue_position == 1
    for name in ("a", "c", "d"):
        house.gates.open(name)
    for run in held:
        assert (await house.ended(run.run_id)).status == "succeeded"
    assert house.service.slots("local", "cpu").used == 0


async def test_lists_page_filter_and_count(house: House) -> None:
    for _ in range(5):
        await house.ended((await house.submit()).run_id)
    await house.ended((await house.submit(("Break", {}))).run_id)
    first = await house.service.list_runs(limit=4)
    assert [run.number for run in first.runs] == [6, 5, 4, 3]
    assert first.next_cursor is not None
    second = await house.service.list_runs(limit=4, cursor=first.next_cursor)
    assert [run.number for run in second.runs] == [2, 1]
    assert second.next_cursor is None
    assert first.total == 6
    assert first.counts["succeeded"] == 5
    assert first.counts["queued"] == 0
    failed = await house.service.list_runs(status="failed")
    assert [run.number for run in failed.runs] == [6]
    assert failed.total == 1
    for bad in ({"cursor": "x"}, {"cursor": "-1"}, {"status": "fine"}):
        with pytest.raises(Refused) as refused:
            await house.service.list_runs(**bad)
        assert (refused.value.status, refused.value.reason.code) == (400, "invalid_query")


# ---------------------------------------------------------------------- cancel


async def test_cancelling_a_queued_run_ends_it_at_once_and_lets_the_next_start(make_house: Any) -> None:
    house: House = make_house(max_concurrent_cpu=1)
    await house.open()
    running = await house.hold("a")
    waiting, last = await house.hold("b"), await house.hold("c")
    answer = await house.service.cancel(waiting)
    assert (answer.status, answer.cancel_requested) == ("cancelled", True)
    events, _ = await house.watch(waiting)
    assert [event.type for event in events] == ["execution_stopped"]
    assert (await house.service.get(last)).queue_position == 1
    house.gates.open("a")
    house.gates.open("c")
    assert (await house.ended(running)).status == "succeeded"
    assert (await house.ended(last)).status == "succeeded"


async def test_cancelling_a_running_run_stops_it_between_two_steps(house: House) -> None:
    run_id = await house.hold("never")
    await house.gates.until_reached("never")
    answer = await house.service.cancel(run_id)
    assert answer.cancel_requested
    events, _ = await house.watch(run_id)
    assert [event.type for event in events if event.type.startswith("execution_")] == [
        "execution_start",
        "execution_stopped",
    ]
    detail = await house.service.get(run_id)
    assert (detail.status, detail.error, detail.cancel_requested) == ("cancelled", None, True)
    with pytest.raises(Refused) as refused:
        await house.service.cancel(run_id)
    assert (refused.value.status, refused.value.reason.code) == (409, "run_ended")


async def test_a_cancel_right_after_submission_ends_it_too(house: House) -> None:
    for _ in range(10):
        run_id = await house.hold("never")
        await house.service.cancel(run_id)
        events, _ = await house.watch(run_id)
        assert events[-1].type == "execution_stopped"
        assert (await house.service.get(run_id)).status == "cancelled"
    await house.until_slots(0)


async def test_a_run_that_ignores_its_stop_is_cancelled_and_keeps_its_slot_until_its_thread_ends(
    make_house: Any,
) -> None:
    house: House = make_house(max_concurrent_cpu=1, local_grace_s=0.2)
    await house.open()
    stubborn = (await house.submit(("Stubborn", {"gate": "wall"}))).run_id
    await house.gates.until_reached("wall")
    behind = (await house.submit()).run_id
    await house.service.cancel(stubborn)
    events, _ = await house.watch(stubborn)
    assert (await house.service.get(stubborn)).status == "cancelled"
    assert events[-1].type == "execution_stopped"
    assert payload(events[-2])["code"] == "stop_ignored"
    assert house.service.slots("local", "cpu").run_ids == [stubborn]
    assert (await house.service.get(behind)).status == "queued"
    house.gates.open("wall")
    assert (await house.ended(behind)).status == "succeeded"
    # What the thread said after the end is nowhere.
    after, _ = await house.watch(stubborn)
    assert after == events


async def test_a_run_id_that_does_not_exist(house: House) -> None:
    service = house.service
    for call in (
        service.get("nope"),
        service.cancel("nope"),
        service.delete("nope"),
        service.events("nope", wait_s=5),
        service.metrics("nope"),
        service.artifacts("nope"),
        service.artifact_file("nope", 1),
    ):
        with pytest.raises(Refused) as refused:
            await call
        assert (refused.value.status, refused.value.reason.code) == (404, "run_not_found")
    with pytest.raises(Refused):
        service.log_path("../../etc")


# ---------------------------------------------------------------------- interactive lane


async def test_the_interactive_lane_holds_two_and_refuses_the_third(house: House) -> None:
    queued = await house.hold("q1"), await house.hold("q2")
    first = await house.hold("i1", lane="interactive")
    second = await house.hold("i2", lane="interactive")
    await house.gates.until_reached("i1")
    await house.gates.until_reached("i2")
    with pytest.raises(Refused) as refused:
        await house.hold("i3", lane="interactive")
    assert (refused.value.status, refused.value.reason.code) == (409, "interactive_busy")
    assert (await house.service.list_runs()).total == 4
    house.gates.open("i1")
    assert (await house.ended(first)).status == "succeeded"
    third = await house.hold("i3", lane="interactive")
    for gate in ("i2", "i3", "q1", "q2"):
        house.gates.open(gate)
    for run_id in (second, third, *queued):
        assert (await house.ended(run_id)).status == "succeeded"


async def test_interactive_with_a_worker_is_refused(house: House) -> None:
    with pytest.raises(Refused) as refused:
        await house.submit(lane="interactive", target=Target(worker="box"))
    assert (refused.value.status, refused.value.reason.code) == (400, "interactive_with_worker")


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"lane": "fast"}, "invalid_body"),
        ({"device": "gpu"}, "invalid_body"),
        ({"seed": -1}, "invalid_body"),
        ({"resume_grace_s": float("nan")}, "invalid_body"),
        ({"device": "cuda:0"}, "unknown_device"),
        ({"device": "cuda"}, "unknown_device"),
        ({"target": Target(devices=("cuda:0", "cpu"))}, "invalid_target"),
        ({"target": Target(devices=("cuda",))}, "invalid_target"),
        ({"target": Target(devices=())}, "invalid_target"),
        ({"target": Target(worker="Bad Name")}, "invalid_target"),
        ({"target": Target(worker="box")}, "unknown_worker"),
        ({"target": Target(worker="any", devices=("cuda:3",))}, "unknown_device_anywhere"),
        ({"target": Target(memory_gib=4)}, "not_supported_yet"),
        ({"target": Target(pool="one-shot")}, "not_supported_yet"),
        ({"record_outputs": True, "target": Target(worker="box")}, "outputs_on_worker"),
        ({"record_outputs": True, "target": Target(worker="any")}, "outputs_on_worker"),
        ({"retry": {"max": 1}}, "not_supported_yet"),
        ({"priority": 101}, "invalid_body"),
    ],
)
async def test_what_can_never_run_is_refused_and_stored_nowhere(
    house: House, options: dict[str, Any], code: str
) -> None:
    with pytest.raises(Refused) as refused:
        await house.submit(**options)
    assert (refused.value.status, refused.value.reason.code) == (400, code)
    assert (await house.service.list_runs()).total == 0
    assert await house.database.read(lambda c: c.execute("SELECT count(*) FROM exec_graphs").fetchone()) == (
        0,
    )


async def test_all_problems_of_a_graph_come_together(house: House) -> None:
    document = house.graph(("Count", {"steps": -1}), ("Hold", {"gate": 5})).replace(b"Hold", b"Nothing")
    with pytest.raises(Refused) as refused:
        await house.service.submit(document, RunOptions())
    assert refused.value.reason.code == "invalid_graph"
    assert refused.value.problems is not None
    assert {problem.code for problem in refused.value.problems} == {"param_invalid", "unknown_node_type"}
    assert refused.value.reason.params == {"count": 2}


@pytest.mark.parametrize("document", [b"", b"{", b"[]", b'"graph"', b'{"nodes": 5}', b"\xff\xfe"])
async def test_a_file_that_is_no_graph_is_refused(house: House, document: bytes) -> None:
    with pytest.raises(Refused) as refused:
        await house.service.submit(document, RunOptions())
    assert refused.value.status == 400
    assert refused.value.problems
    assert (await house.service.list_runs()).total == 0


async def test_a_document_with_the_same_content_is_stored_once(house: House) -> None:
    first, second = await house.submit(), await house.submit()
    details = [await house.ended(run.run_id) for run in (first, second)]
    assert details[0].graph_hash == details[1].graph_hash
    assert await house.database.read(lambda c: c.execute("SELECT count(*) FROM exec_graphs").fetchone()) == (
        1,
    )


# ---------------------------------------------------------------------- delete and retention


async def test_only_an_ended_run_is_deleted_and_with_it_all_it_stored(house: House) -> None:
    run_id = await house.hold("a")
    with pytest.raises(Refused) as refused:
        await house.service.delete(run_id)
    assert (refused.value.status, refused.value.reason.code) == (409, "run_active")
    house.gates.open("a")
    await house.ended(run_id)
    spoken = (await house.submit(("Say", {"file": "a.txt"}))).run_id
    await house.ended(spoken)
    folder = house.service.log_path(spoken).parent
    assert folder.exists()
    await house.service.delete(spoken)
    assert not folder.exists()
    with pytest.raises(Refused):
        await house.service.get(spoken)
    assert [run.run_id for run in (await house.service.list_runs()).runs] == [run_id]


async def test_the_oldest_ended_runs_go_beyond_the_limit(make_house: Any) -> None:
    house: House = make_house(retention_keep_last=2)
    await house.open()
    held = await house.hold("a")
    for _ in range(4):
        await house.ended((await house.submit()).run_id)
    async with asyncio.timeout(20):
        while True:
            seen = house.service.runs_changed.version
            numbers = [run.number for run in (await house.service.list_runs()).runs]
            if numbers == [5, 4, 1]:
                break
            await house.service.runs_changed.wait(seen)
    assert (await house.service.get(held)).status == "running"
    house.gates.open("a")


async def test_a_full_disk_is_named(house: House) -> None:
    # The database may not grow by a page: what SQLite says when the disk is full.
    await house.database.write(lambda c: c.execute("PRAGMA max_page_count = 1").fetchall())
    with pytest.raises(Refused) as refused:
        await house.submit(("Say", {"text": "x" * 100_000}))
    assert (refused.value.status, refused.value.reason.code) == (507, "disk_full")


# ---------------------------------------------------------------------- captured outputs


async def test_outputs_go_with_their_run(make_house: Callable[..., House]) -> None:
    house = make_house(retention_keep_last=2)
    await house.open()
    kept: list[str] = []
    for _ in range(3):
        run_id = (await house.submit(record_outputs=True)).run_id
        await house.ended(run_id)
        kept.append(run_id)
    async with asyncio.timeout(30):
        while (await house.service.list_runs()).total > 2:
            seen = house.service.runs_changed.version
            if (await house.service.list_runs()).total > 2:
                await house.service.runs_changed.wait(seen)
    outputs = house.service.outputs
    assert [outputs.list_outputs(run_id).kept for run_id in kept] == [False, True, True]
    (only,) = outputs.list_outputs(kept[2]).outputs
    assert (only.port, only.facts["summary"]) == ("last", "done")
    await house.service.delete(kept[1])
    assert not outputs.list_outputs(kept[1]).kept


async def test_without_memory_for_outputs_none_are_kept(make_house: Callable[..., House]) -> None:
    house = make_house(output_store_max_mb=0)
    await house.open()
    run_id = (await house.submit(record_outputs=True)).run_id
    assert (await house.ended(run_id)).status == "succeeded"
    with pytest.raises(Refused) as refused:
        await house.service.outputs.values(run_id, "count", "last")
    assert (refused.value.status, refused.value.reason.code) == (404, "output_not_kept")


# ---------------------------------------------------------------------- what computed it


async def test_a_run_says_what_computed_it_and_on_demand_where_results_come_from(house: House) -> None:
    plain = (await house.submit()).run_id
    facts = (await house.ended(plain)).execution_facts
    assert facts["fingerprint_source"] == "server"
    found = await house.service.provenance(plain)
    assert found.fingerprint_digest == facts["fingerprint_digest"]
    assert msgspec.json.decode(found.fingerprint)["python"] == platform.python_version()
    assert found.records == []
    asked = (await house.submit(("Count", {}), ("Say", {}), provenance=True, seed=4)).run_id
    await house.ended(asked)
    first = await house.service.provenance(asked, 0, 1)
    rest = await house.service.provenance(asked, first.next_cursor, 10)
    records = [*first.records, *rest.records]
    assert sorted(record.type for record in records) == ["Count", "Say"]
    assert {record.seed for record in records} == {4}
    assert (await house.service.provenance(asked, rest.next_cursor)).records == []
    with pytest.raises(Refused) as refused:
        await house.service.provenance("nothing")
    assert refused.value.reason.code == "run_not_found"
