"""Start, batch and end of an attempt: guards, counters, and what is stored by halves never."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
import pytest

from codefy_control_plane.storage.artifacts import read_artifacts
from codefy_control_plane.storage.attempts import (
    AttemptStart,
    Counts,
    RecordedBatch,
    RunEnd,
    attempts_of_worker,
    end_run,
    read_attempt,
    record_batch,
    start_attempt,
)
from codefy_control_plane.storage.database import connect_writer
from codefy_control_plane.storage.events import read_events
from codefy_control_plane.storage.metrics import latest_metrics, read_metrics
from codefy_control_plane.storage.migrations import migrate
from codefy_control_plane.storage.runs import (
    NewRun,
    count_runs,
    delete_rows,
    ended_beyond,
    insert_run,
    put_late_result,
    read_run,
    request_cancel,
)
from codefy_protocol.bodies import ArtifactBody
from codefy_protocol.frames import DeviceIdentity


@pytest.fixture
def connection(tmp_path: Path):
    migrate(tmp_path / "codefy.db")
    opened = connect_writer(tmp_path / "codefy.db")
    yield opened
    opened.close()


def new_run(run_id: str, graph_hash: str = "hash") -> NewRun:
    return NewRun(
        run_id=run_id,
        name="",
        graph_name="g",
        graph_hash=graph_hash,
        graph=b'{"nodes":[]}',
        node_types="[]",
        lane="queued",
        options="{}",
        queue_key="cpu",
        requested_worker="local",
        requested_device="cpu",
        requested_devices="[]",
        created_at=1.0,
    )


def start(run_id: str, worker: str = "local") -> AttemptStart:
    return AttemptStart(
        run_id=run_id,
        attempt=1,
        worker_id=worker,
        devices=(DeviceIdentity(name="cuda:0", uuid="GPU-1"),),
        slots=((worker, "cuda:0"),),
        at=2.0,
        event=("execution_start", 2.0, b"{}"),
    )


def started(connection: sqlite3.Connection, run_id: str = "r1", worker: str = "local") -> None:
    insert_run(connection, new_run(run_id))
    assert start_attempt(connection, start(run_id, worker)) == Counts(1, 0)


def end(status: str = "succeeded") -> RunEnd:
    return RunEnd(status=status, at=9.0, event=("execution_complete", 9.0, b"{}"))


def batch(**fields: object) -> RecordedBatch:
    return RecordedBatch(run_id="r1", attempt=1, at=3.0, **fields)  # type: ignore[arg-type]


def test_numbers_count_up_and_are_never_given_twice(connection: sqlite3.Connection) -> None:
    assert [insert_run(connection, new_run(f"r{index}")) for index in range(3)] == [1, 2, 3]
    end_run(connection, "r2", end("cancelled"))
    assert delete_rows(connection, "r2", 100)
    assert read_run(connection, "r2") is None
    assert insert_run(connection, new_run("r3")) == 4


def test_start_stores_attempt_status_and_first_event_together(connection: sqlite3.Connection) -> None:
    started(connection, worker="box")
    row = read_run(connection, "r1")
    assert row is not None
    assert (row.status, row.attempt, row.worker_id, row.device, row.devices) == (
        "running",
        1,
        "box",
        "cuda:0",
        '["cuda:0"]',
    )
    attempt = read_attempt(connection, "r1", 1)
    assert attempt is not None
    assert attempt.slots == (("box", "cuda:0"),)
    assert attempt.devices == (DeviceIdentity(name="cuda:0", uuid="GPU-1"),)
    assert attempt.recorded_seq == 0
    assert [event.type for event in read_events(connection, "r1", 0, 10)] == ["execution_start"]
    assert attempts_of_worker(connection, "box", 10) == [attempt]


def test_a_run_starts_once_and_not_after_a_cancel(connection: sqlite3.Connection) -> None:
    started(connection)
    assert start_attempt(connection, start("r1")) is None
    insert_run(connection, new_run("r2"))
    assert request_cancel(connection, "r2")
    assert start_attempt(connection, start("r2")) is None


def test_a_batch_counts_its_cursors_up_and_keeps_payload_bytes(connection: sqlite3.Connection) -> None:
    started(connection)
    odd = b'{"b" : 1,\n "a":"\xc3\xbc"}'
    counts = record_batch(
        connection,
        batch(
            events=[("node_status", 3.0, odd), ("node_status", 3.1, b"{}")],
            metrics=[
                ("loss", 0.5, 1, None, "step", "train", 3.0),
                ("loss", "NaN", 2, 0.5, "step", "train", 3.1),
            ],
            artifacts=[(3.0, ArtifactBody(kind="file", name="a", path="a.txt", meta={"loss": float("nan")}))],
            facts=b'{"torch":"2.15"}',
            recorded_seq=7,
            worker_resume=b'{"seq":7}',
        ),
    )
    assert counts == Counts(3, 2)
    events = read_events(connection, "r1", 1, 10)
    assert [(event.cursor, bytes(event.payload)) for event in events] == [(2, odd), (3, b"{}")]
    points, last = read_metrics(connection, "r1", 0, 10)
    assert [point.value for point in points] == [0.5, "NaN"]
    assert last == 2
    assert connection.execute("SELECT typeof(value) FROM exec_run_metrics").fetchall() == [
        ("real",),
        ("text",),
    ]
    assert latest_metrics(connection, "r1") == {"loss": "NaN"}
    assert read_artifacts(connection, "r1")[0].meta == {"loss": "NaN"}
    attempt = read_attempt(connection, "r1", 1)
    assert attempt is not None
    assert (attempt.recorded_seq, attempt.worker_resume) == (7, b'{"seq":7}')
    row = read_run(connection, "r1")
    assert row is not None
    assert msgspec.json.decode(row.execution_facts) == {"torch": "2.15"}


def test_facts_merge(connection: sqlite3.Connection) -> None:
    started(connection)
    record_batch(connection, batch(facts=b'{"a":1,"b":{"x":1}}'))
    record_batch(connection, batch(facts=b'{"a":2,"b":{"y":2}}'))
    row = read_run(connection, "r1")
    assert row is not None
    assert msgspec.json.decode(row.execution_facts) == {"a": 2, "b": {"x": 1, "y": 2}}


def test_the_recorded_seq_never_goes_back(connection: sqlite3.Connection) -> None:
    started(connection, worker="box")
    record_batch(connection, batch(recorded_seq=9))
    record_batch(connection, batch(recorded_seq=4))
    attempt = read_attempt(connection, "r1", 1)
    assert attempt is not None
    assert attempt.recorded_seq == 9


def test_nothing_is_stored_for_another_attempt(connection: sqlite3.Connection) -> None:
    started(connection)
    stale = RecordedBatch(run_id="r1", attempt=2, at=3.0, events=[("x", 3.0, b"{}")], recorded_seq=5)
    assert record_batch(connection, stale) is None
    assert len(read_events(connection, "r1", 0, 10)) == 1


def test_nothing_follows_the_terminal_event(connection: sqlite3.Connection) -> None:
    started(connection)
    last = batch(events=[("node_status", 8.0, b"{}")], metrics=[("loss", 1.0, 1, None, "step", "", 8.0)])
    assert end_run(connection, "r1", end(), last) == (Counts(2, 1), Counts(3, 1))
    assert record_batch(connection, batch(events=[("node_status", 9.5, b"{}")])) is None
    assert end_run(connection, "r1", end("failed"), batch()) == (None, None)
    assert not request_cancel(connection, "r1")
    assert [event.type for event in read_events(connection, "r1", 0, 10)] == [
        "execution_start",
        "node_status",
        "execution_complete",
    ]
    row = read_run(connection, "r1")
    assert row is not None
    assert (row.status, row.event_count, row.metric_count) == ("succeeded", 3, 1)
    assert row.latest_metrics == '{"loss":1.0}'
    attempt = read_attempt(connection, "r1", 1)
    assert attempt is not None
    assert (attempt.status, attempt.ended_at) == ("succeeded", 9.0)


def test_a_path_written_again_keeps_its_artifact_id(connection: sqlite3.Connection) -> None:
    started(connection)
    for size in (1, 2):
        body = ArtifactBody(kind="checkpoint", name="last", path="c/last.pt", size=size)
        record_batch(connection, batch(artifacts=[(float(size), body)]))
    (artifact,) = read_artifacts(connection, "r1")
    assert (artifact.artifact_id, artifact.size, artifact.created_at) == (1, 2, 2.0)


def test_a_late_result_stands_beside_the_run(connection: sqlite3.Connection) -> None:
    started(connection)
    end_run(connection, "r1", end("interrupted"))
    put_late_result(connection, "r1", b'{"status":"succeeded"}')
    row = read_run(connection, "r1")
    assert row is not None
    assert msgspec.json.decode(row.execution_facts) == {"late_result": {"status": "succeeded"}}
    assert row.status == "interrupted"


def test_deleting_goes_in_small_groups_and_drops_the_graph_with_its_last_run(
    connection: sqlite3.Connection,
) -> None:
    started(connection)
    insert_run(connection, new_run("r2"))
    record_batch(connection, batch(events=[("x", 3.0, b"{}")] * 9, recorded_seq=1))
    assert not ended_beyond(connection, 0, 10)
    end_run(connection, "r1", end())
    assert ended_beyond(connection, 0, 10) == ["r1"]
    calls = 1
    while not delete_rows(connection, "r1", 4):
        calls += 1
    assert calls == 3
    for table in ("exec_run_events", "exec_run_attempts", "exec_run_metrics"):
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    assert connection.execute("SELECT count(*) FROM exec_graphs").fetchone() == (1,)
    end_run(connection, "r2", end("cancelled"))
    delete_rows(connection, "r2", 4)
    assert connection.execute("SELECT count(*) FROM exec_graphs").fetchone() == (0,)
    assert set(count_runs(connection).values()) == {0}
