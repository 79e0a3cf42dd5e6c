"""A recorder's commits: one transaction each, bad records named, failed writes kept, nothing after the end."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from codefy_control_plane.runs.console import RunLog
from codefy_control_plane.runs.feed import Feed, Page
from codefy_control_plane.runs.reading import read_page
from codefy_control_plane.runs.recorder import AttemptRecorder
from codefy_control_plane.runs.terminal import run_end
from codefy_control_plane.storage.attempts import AttemptStart, read_attempt, start_attempt
from codefy_control_plane.storage.database import Database
from codefy_control_plane.storage.events import read_events
from codefy_control_plane.storage.facts import read_fingerprint, read_provenance
from codefy_control_plane.storage.metrics import read_metrics
from codefy_control_plane.storage.runs import NewRun, RunRow, delete_rows, insert_run, read_run
from codefy_engine.execution.fingerprint import Fingerprint, fingerprint_digest
from codefy_engine.execution.provenance import ProvenanceRecord
from codefy_protocol.bodies import (
    ArtifactBody,
    ConsoleBody,
    MetricPoint,
    MetricsBody,
    RunError,
    RunStartedBody,
)
from codefy_protocol.envelope import encode_body
from codefy_protocol.frames import DeviceIdentity
from codefy_protocol.reasons import MALFORMED_RECORD, reason

CAP = 1024


class Desk:
    """A started run in a database, and its recorder."""

    def __init__(self, database: Database, folder: Path) -> None:
        self.database = database
        self.log = folder / "runs" / "r" / "output.log"
        self.feed = Feed(self._page)
        self.recorder = self.recorder_of(1)

    def recorder_of(self, attempt: int) -> AttemptRecorder:
        log = RunLog(self.log, 10_000)
        return AttemptRecorder("r", attempt, database=self.database, feed=self.feed, log=log, payload_cap=CAP)

    async def _page(self, run_id: str, events: int, metrics: int, limit: int) -> Page:
        return await read_page(self.database, run_id, events, metrics, limit)

    async def row(self) -> RunRow:
        row = await self.database.read(lambda c: read_run(c, "r"))
        assert row is not None
        return row

    async def events(self) -> list[tuple[str, Any]]:
        stored = await self.database.read(lambda c: read_events(c, "r", 0, 100_000))
        assert [event.cursor for event in stored] == list(range(1, len(stored) + 1))
        return [(event.type, msgspec.json.decode(event.payload)) for event in stored]

    async def recorded_seq(self) -> int:
        attempt = await self.database.read(lambda c: read_attempt(c, "r", 1))
        assert attempt is not None
        return attempt.recorded_seq


@pytest.fixture
async def desk(tmp_path: Path):
    database = await Database.open(tmp_path / "codefy.db")
    run = NewRun(
        run_id="r",
        name="",
        graph_name="",
        graph_hash="h",
        graph=b"{}",
        node_types="[]",
        lane="queued",
        options="{}",
        queue_key="cpu",
        requested_worker="local",
        requested_device="cpu",
        requested_devices="[]",
        created_at=0.0,
    )
    start = AttemptStart(
        run_id="r",
        attempt=1,
        worker_id="box",
        devices=(DeviceIdentity(name="cpu"),),
        slots=(("box", "cpu"),),
        at=1.0,
        event=("execution_start", 1.0, b"{}"),
    )
    await database.write(lambda c: insert_run(c, run))
    await database.write(lambda c: start_attempt(c, start))
    yield Desk(database, tmp_path)
    await database.close()


def points(*values: Any) -> bytes:
    return encode_body(
        MetricsBody(points=[MetricPoint(name="loss", value=v, step=n) for n, v in enumerate(values)])
    )


async def test_one_commit_holds_the_whole_batch(desk: Desk) -> None:
    recorder = desk.recorder
    recorder.started(
        encode_body(RunStartedBody(pid=7, engine_version="1", device_aliases={"cuda:0": "cuda:2"}))
    )
    recorder.facts({"fingerprint": {"torch": "2"}})
    recorder.status("running")
    recorder.sinks.emit("node_progress", 2.0, b'{"fraction":0.5}')
    recorder.sinks.record_metrics(2.0, points(0.25, "NaN"))
    recorder.sinks.record_artifact(2.0, encode_body(ArtifactBody(kind="file", name="f", path="f")))
    recorder.console(ConsoleBody(offset=0, text="hi\n", size=3))
    transactions: list[str] = []
    await desk.database.write(lambda c: c.set_trace_callback(transactions.append))
    transactions.clear()
    await recorder.commit(recorded_seq=9, resume={"seq": 9})
    await desk.database.write(lambda c: c.set_trace_callback(None))
    assert [statement for statement in transactions if statement in ("COMMIT", "ROLLBACK")][:1] == ["COMMIT"]
    assert transactions.index("COMMIT") > max(
        index for index, statement in enumerate(transactions) if statement.startswith(("INSERT", "UPDATE"))
    )
    row = await desk.row()
    facts = msgspec.json.decode(row.execution_facts)
    assert (facts["pid"], facts["device_aliases"], facts["fingerprint"]) == (
        7,
        {"cuda:0": "cuda:2"},
        {"torch": "2"},
    )
    assert (row.event_count, row.metric_count) == (2, 2)
    assert await desk.recorded_seq() == 9
    assert desk.log.read_text() == "hi\n"
    assert recorder.latest_metrics == {"loss": "NaN"}
    assert recorder.progress == b'{"fraction":0.5}'
    assert recorder.returned


async def test_an_empty_commit_writes_nothing(desk: Desk) -> None:
    seen: list[str] = []
    await desk.database.write(lambda c: c.set_trace_callback(seen.append))
    await desk.recorder.commit()
    await desk.database.write(lambda c: c.set_trace_callback(None))
    assert not [statement for statement in seen if statement.startswith(("INSERT", "UPDATE"))]


async def test_records_that_cannot_be_read_become_warnings_and_the_rest_is_stored(desk: Desk) -> None:
    recorder = desk.recorder
    recorder.sinks.record_metrics(2.0, b"not json")
    recorder.sinks.record_metrics(2.0, points("twelve"))
    recorder.sinks.record_artifact(2.0, b'{"kind":"file"}')
    recorder.started(b"[]")
    recorder.sinks.record_metrics(2.0, points(1.0))
    await recorder.commit(recorded_seq=5)
    events = await desk.events()
    warnings = [body for kind, body in events if kind == "run_warning"]
    assert {warning["code"] for warning in warnings} == {"malformed_record"}
    assert [warning["params"]["frame"] for warning in warnings] == [
        "run_started",
        "metrics",
        "metrics",
        "artifact",
    ]
    stored, _ = await desk.database.read(lambda c: read_metrics(c, "r", 0, 10))
    assert [point.value for point in stored] == [1.0]
    assert await desk.recorded_seq() == 5


async def test_only_a_body_over_the_cap_is_changed_and_only_once(desk: Desk) -> None:
    fits = b'{ "outputs" :1}'
    large = encode_body({"node_id": "n", "status": "succeeded", "outputs": {"a": "x" * 5000}})
    desk.recorder.sinks.emit("node_status", 2.0, fits)
    desk.recorder.sinks.emit("node_status", 2.0, large)
    await desk.recorder.commit()
    stored = await desk.database.read(lambda c: read_events(c, "r", 1, 10))
    assert bytes(stored[0].payload) == fits
    assert len(stored[1].payload) <= CAP
    assert msgspec.json.decode(stored[1].payload)["outputs"]["elided"] is True


async def test_a_batch_that_could_not_be_stored_is_kept_in_order(desk: Desk, monkeypatch: Any) -> None:
    recorder = desk.recorder
    recorder.sinks.emit("first", 2.0, b"{}")
    write = desk.database.write

    async def full(fn: Any) -> Any:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(desk.database, "write", full)
    with pytest.raises(sqlite3.OperationalError):
        await recorder.commit(recorded_seq=3)
    recorder.sinks.emit("second", 2.0, b"{}")
    monkeypatch.setattr(desk.database, "write", write)
    await recorder.commit()
    assert [kind for kind, _ in await desk.events()] == ["execution_start", "first", "second"]
    assert await desk.recorded_seq() == 3


async def test_the_log_is_written_before_the_commit_and_a_failing_disk_stops_it(desk: Desk) -> None:
    desk.log.parent.parent.mkdir(parents=True)
    desk.log.parent.write_text("in the way")
    desk.recorder.console(ConsoleBody(offset=0, text="x", size=1))
    with pytest.raises(OSError, match=r"exists|directory"):
        await desk.recorder.commit(recorded_seq=2)
    assert await desk.recorded_seq() == 0
    # The end of a run does not wait for its last words.
    assert await desk.recorder.end(run_end("succeeded", 3.0, duration_s=1.0), recorded_seq=2)
    assert (await desk.row()).status == "succeeded"


async def test_console_bytes_land_at_their_offset_and_within_the_limit(desk: Desk) -> None:
    for offset, text in ((0, "hello "), (6, "world"), (0, "hello "), (9_998, "abc"), (20_000, "far")):
        desk.recorder.console(ConsoleBody(offset=offset, text=text, size=len(text)))
        await desk.recorder.commit()
    content = desk.log.read_bytes()
    assert content[:11] == b"hello world"
    assert content[9_998:] == b"ab"


async def test_the_end_takes_what_is_pending_along_and_nothing_follows(desk: Desk) -> None:
    recorder = desk.recorder
    recorder.sinks.emit("last", 2.0, b"{}")
    recorder.sinks.record_metrics(2.0, points(3.0))
    error = RunError(code="node_failed", message="no")
    assert await recorder.end(run_end("failed", 3.0, error=error), recorded_seq=11)
    recorder.sinks.emit("too late", 4.0, b"{}")
    await recorder.commit(recorded_seq=12)
    other = desk.recorder_of(1)
    other.sinks.emit("too late", 4.0, b"{}")
    await other.commit(recorded_seq=13)
    assert not await other.end(run_end("succeeded", 5.0, duration_s=1.0))
    assert [kind for kind, _ in await desk.events()] == ["execution_start", "last", "execution_error"]
    assert await desk.recorded_seq() == 11
    row = await desk.row()
    assert (row.status, row.latest_metrics) == ("failed", '{"loss":3.0}')


async def test_another_attempt_changes_nothing(desk: Desk) -> None:
    stale = desk.recorder_of(2)
    stale.sinks.emit("x", 2.0, b"{}")
    stale.status("disconnected")
    await stale.commit(recorded_seq=4)
    assert (await desk.row()).status == "running"
    assert len(await desk.events()) == 1


async def test_many_threads_lose_nothing_and_keep_their_own_order(desk: Desk) -> None:
    recorder = desk.recorder
    woken = threading.Semaphore(0)
    recorder.on_pending = woken.release

    def produce(name: str) -> None:
        for number in range(500):
            recorder.sinks.emit(name, time.time(), encode_body(number))

    threads = [threading.Thread(target=produce, args=(f"t{index}",)) for index in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        await recorder.commit()
        await asyncio.sleep(0)
    await recorder.commit()
    assert woken.acquire(blocking=False)
    events = (await desk.events())[1:]
    assert len(events) == 2000
    for index in range(4):
        assert [body for kind, body in events if kind == f"t{index}"] == list(range(500))


async def test_watchers_see_a_batch_only_after_its_commit(desk: Desk) -> None:
    shown: list[int] = []
    publish = desk.feed.publish
    durable = sqlite3.connect(desk.database.path)

    def check(run_id: str, **rows: Any) -> None:
        # What a crash right now would leave.
        shown.append(rows["event_count"])
        count = durable.execute("SELECT count(*) FROM exec_run_events").fetchone()[0]
        assert count >= rows["event_count"]
        publish(run_id, **rows)

    desk.feed.publish = check  # type: ignore[method-assign]
    desk.recorder.sinks.emit("x", 2.0, b"{}")
    await desk.recorder.commit()
    await desk.recorder.end(run_end("cancelled", 3.0))
    durable.close()
    assert shown == [2, 2, 3]


async def test_numbers_no_column_holds_become_warnings(desk: Desk) -> None:
    recorder = desk.recorder
    good = b'{"name":"loss","value":1,"step":1,"ts":1e300}'
    recorder.sinks.record_metrics(7.0, b'{"points":[' + good + b"]}")
    recorder.sinks.record_metrics(7.0, b'{"points":[{"name":"loss","value":1,"step":9223372036854775808}]}')
    recorder.sinks.record_artifact(7.0, b'{"kind":"f","name":"n","path":"p","size":1180591620717411303424}')
    recorder.sinks.emit("node_status", 7.0, b"{" * (CAP + 1))
    await recorder.commit(4)
    warnings = [payload for kind, payload in await desk.events() if kind == "run_warning"]
    assert {payload["code"] for payload in warnings} == {"malformed_record"}
    assert {payload["params"]["frame"] for payload in warnings} == {"metrics", "artifact", "event"}
    times = await desk.database.read(lambda c: c.execute("SELECT ts FROM exec_run_metrics").fetchall())
    assert times == [(7.0,)]
    assert await desk.recorded_seq() == 4


async def test_facts_of_the_server_are_not_a_workers_to_tell(desk: Desk) -> None:
    desk.recorder.started(b'{"pid":1,"worker_resume":"x","late_result":{"status":"succeeded"}}')
    desk.recorder.facts({"late_result": 1, "torch": "2"})
    await desk.recorder.commit(1)
    assert msgspec.json.decode((await desk.row()).execution_facts) == {"pid": 1, "torch": "2"}


async def test_a_batch_that_cannot_be_stored_can_be_dropped(desk: Desk) -> None:
    recorder = desk.recorder
    recorder.status("disconnected")
    recorder.sinks.emit("node_status", float("nan"), b"{}")
    with pytest.raises(sqlite3.IntegrityError):
        await recorder.commit(3)
    recorder.drop_records(reason(MALFORMED_RECORD, frame="stored", detail="no time"))
    await recorder.commit(3)
    assert (await desk.row()).status == "disconnected"
    assert [kind for kind, _ in await desk.events()][-1] == "run_warning"
    assert await desk.recorded_seq() == 3


FINGERPRINT = {
    "engine": "1",
    "python": "3.11",
    "implementation": "CPython",
    "system": "Linux",
    "machine": "x86_64",
    "torch": "2",
    "cuda": "",
    "cudnn": "",
    "devices": [],
    "packages": {"torch": "2"},
    "numerics": {"threads": 1},
}


def record(node_id: str, **fields: Any) -> dict[str, Any]:
    return {"node_id": node_id, "type": "Count", "version": 1, "params_hash": "0" * 64, **fields}


async def test_fingerprint_and_provenance_are_sorted_and_the_digest_is_our_own(desk: Desk) -> None:
    told = desk.recorder.sinks.facts
    assert told is not None
    for fact in (
        {"fingerprint": FINGERPRINT, "fingerprint_digest": "made up", "late_result": 1, "note": "kept"},
        {"provenance": [record("b"), record("a")]},
        {"provenance": [record("a", status="reused", seed=2**63 - 1)]},
    ):
        told(2.0, encode_body(fact))
    await desk.recorder.commit()
    row = await desk.row()
    digest = fingerprint_digest(msgspec.convert(FINGERPRINT, Fingerprint))
    facts = msgspec.json.decode(row.execution_facts)
    assert facts == {"fingerprint_digest": digest, "fingerprint_source": "worker-run", "note": "kept"}
    found = await desk.database.read(lambda c: read_fingerprint(c, "r", 1))
    assert found is not None and (found[0], msgspec.json.decode(found[1])) == (digest, FINGERPRINT)
    rows = await desk.database.read(lambda c: read_provenance(c, "r", 1, 0, 10))
    records = [msgspec.json.decode(body, type=ProvenanceRecord) for _, body in rows]
    assert [(item.node_id, item.status) for item in records] == [("b", "succeeded"), ("a", "reused")]
    assert await desk.database.read(lambda c: read_provenance(c, "r", 1, rows[0][0], 10)) == rows[1:]


@pytest.mark.parametrize(
    "body",
    [
        b"nope",
        b"[1]",
        encode_body({"fingerprint": {"torch": "2"}}),
        encode_body({"provenance": [{"node_id": "a"}]}),
        encode_body({"provenance": [record("a", inputs={"x": "y" * 70_000})]}),
    ],
)
async def test_facts_that_are_none_are_told_as_such(desk: Desk, body: bytes) -> None:
    told = desk.recorder.sinks.facts
    assert told is not None
    told(2.0, body)
    await desk.recorder.commit()
    (_, warning) = (await desk.events())[-1]
    assert (warning["code"], warning["params"]["frame"]) == ("malformed_record", "run_facts")
    assert await desk.database.read(lambda c: read_provenance(c, "r", 1, 0, 10)) == []


async def test_facts_go_with_their_run(desk: Desk) -> None:
    told = desk.recorder.sinks.facts
    assert told is not None
    told(2.0, encode_body({"fingerprint": FINGERPRINT, "provenance": [record(str(n)) for n in range(5)]}))
    await desk.recorder.end(run_end("succeeded", 3.0))
    parts = 0
    while not await desk.database.write(lambda c: delete_rows(c, "r", 2)):
        parts += 1
    assert parts == 3  # two events, and twice two records
    for table in ("exec_run_fingerprints", "exec_run_provenance", "exec_runs"):
        count = await desk.database.read(lambda c, t=table: c.execute(f"SELECT count(*) FROM {t}").fetchone())
        assert count == (0,)
