"""D-8: what a full spool gives up, in which order, and that it says so; a refusing disk is tried again."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from codefy_agent.records import MAX_BODY_BYTES, AttemptRecords
from codefy_agent.session import AgentSession
from codefy_agent.spool import Spool
from codefy_protocol.bodies import MetricPoint, MetricsBody
from codefy_protocol.codec import agent_frame_decoder, encode_message, join_encoded
from codefy_protocol.envelope import encode_body
from codefy_protocol.frames import Assign, Hello, RunRecord, Welcome
from codefy_protocol.pipe import ChildRecord

LIMIT = 100_000


class Attempt:
    def __init__(self, folder: Path, *, limit: int = LIMIT) -> None:
        self.session = AgentSession(
            Hello(name="w1", product_version="0.1.0", protocol_version=1, devices=()), random=lambda: 0.5
        )
        self.session.connected(0.0)
        welcome = Welcome(worker_id="w1", product_version="0", heartbeat_s=10, grace_s=30, resume_grace_s=60)
        assign = Assign(
            run_id="r1", attempt=1, graph=b"{}", payload_cap=1000, device="cpu", devices=(), grace_s=30
        )
        self.session.frames_received([welcome, assign], 0.0)
        self.decisions: list[object] = []
        self.records = AttemptRecords(
            "r1",
            1,
            spool=Spool(folder / "spool"),
            session=self.session,
            payload_cap=1000,
            decided=self.decisions.extend,
            limit_bytes=limit,
        )

    def written(self) -> list[RunRecord]:
        frames = self.records.spool.read(1, 1 << 40)
        return [frame for each in frames for frame in agent_frame_decoder().decode(join_encoded([each]))]

    def counts(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for record in self.written():
            tag = str(type(record).__struct_config__.tag)
            counts[tag] = counts.get(tag, 0) + 1
        return counts

    def warnings(self) -> list[str]:
        return [
            json.loads(record.body)["params"]["what"]
            for record in self.written()
            if type(record).__struct_config__.tag == "warning"
        ]

    def fill(self, share: float) -> None:
        """With node events, up to this share of the limit."""
        while self.records.spool.bytes_on_disk < LIMIT * share:
            self.records.add([event(1000)])


def event(size: int = 10) -> ChildRecord:
    return ChildRecord(frame="event", ts=1.0, kind="node_status", body=b"x" * size)


def console() -> ChildRecord:
    return ChildRecord(frame="console", ts=1.0, body=b"c" * 100)


def metrics(scope: str = "step") -> ChildRecord:
    point = MetricPoint(name="loss", value=1.0, step=1, scope=scope)
    return ChildRecord(frame="metrics", ts=1.0, body=encode_body(MetricsBody(points=[point])))


def test_records_are_numbered_frames(tmp_path: Path) -> None:
    attempt = Attempt(tmp_path)
    attempt.records.add([event(), metrics()])
    attempt.records.add([console()])
    attempt.records.finish(b"{}")
    written = attempt.written()
    assert [record.seq for record in written] == [1, 2, 3, 4]
    assert [type(record).__name__ for record in written] == ["Event", "Metrics", "Console", "RunFinished"]
    assert (written[0].kind, written[0].ts, written[0].body) == ("node_status", 1.0, b"x" * 10)
    assert attempt.session.running() == []


def test_the_console_goes_first_then_step_metrics_then_events_and_never_the_end(tmp_path: Path) -> None:
    attempt = Attempt(tmp_path)
    attempt.records.add([console(), metrics()])
    attempt.fill(0.5)
    attempt.records.add([console(), console(), metrics()])
    assert attempt.counts()["console"] == 1 and attempt.counts()["metrics"] == 2
    assert attempt.warnings() == ["console"]

    attempt.fill(0.75)
    attempt.records.add([metrics() for _ in range(100)])
    assert attempt.counts()["metrics"] == 2 + 10
    attempt.records.add([metrics("epoch")])
    assert attempt.counts()["metrics"] == 2 + 10 + 1

    attempt.fill(0.9)
    attempt.records.add([metrics() for _ in range(100)])
    assert attempt.counts()["metrics"] == 2 + 10 + 1
    assert attempt.warnings() == ["console", "metrics"]

    attempt.fill(1.0)
    before = attempt.counts()["event"]
    attempt.records.add([event(), event()])
    assert attempt.counts()["event"] == before
    assert attempt.warnings() == ["console", "metrics", "event"]
    attempt.records.finish(b"{}")
    assert attempt.counts()["run_finished"] == 1
    seqs = [record.seq for record in attempt.written()]
    assert seqs == list(range(1, len(seqs) + 1))


def test_room_that_was_acknowledged_is_used_again(tmp_path: Path) -> None:
    attempt = Attempt(tmp_path, limit=4 * 1024 * 1024)
    for _ in range(40):
        attempt.records.add([event(100_000)])
    attempt.records.add([console()])
    assert "console" not in attempt.counts()
    attempt.records.spool.truncate(attempt.records.spool.last_seq)
    attempt.records.add([console()])
    assert attempt.counts()["console"] == 1


def test_a_body_that_fits_no_message_never_reaches_the_socket(tmp_path: Path) -> None:
    attempt = Attempt(tmp_path, limit=1 << 30)
    outputs = {"node_id": "a", "outputs": "y" * MAX_BODY_BYTES}
    attempt.records.add([ChildRecord(frame="event", ts=1.0, kind="node_status", body=encode_body(outputs))])
    attempt.records.add([ChildRecord(frame="artifact", ts=1.0, body=b"z" * (MAX_BODY_BYTES + 1))])
    written = attempt.written()
    assert json.loads(written[0].body)["outputs"]["elided"] is True
    assert attempt.warnings() == ["artifact"]
    assert all(len(record.body) < 2000 for record in written)


def test_a_disk_that_refuses_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempt = Attempt(tmp_path)
    attempt.records.add([event()])
    real = Spool.append

    def refuse(self: Spool, *_: object) -> tuple[int, ...]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Spool, "append", refuse)
    attempt.records.add([event(20), event(30)])
    attempt.records.retry()
    attempt.records.finish(b"{}")
    assert attempt.records.unwritten
    assert attempt.session.running() == [("r1", 1)]  # its end is not on disk
    monkeypatch.setattr(Spool, "append", real)
    attempt.records.retry()
    assert not attempt.records.unwritten
    assert [len(record.body) for record in attempt.written()] == [10, 20, 30, 2]
    assert attempt.session.running() == []


def test_a_disk_that_goes_on_refusing_costs_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = Attempt(tmp_path, limit=1 << 30)

    def refuse(self: Spool, *_: object) -> tuple[int, ...]:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Spool, "append", refuse)
        for _ in range(30):
            attempt.records.add([event(500_000), console()])
    attempt.records.retry()
    total = sum(len(record.body) for record in attempt.written())
    assert 8_000_000 <= total < 9_000_000
    assert "event" in attempt.warnings() and "console" in attempt.warnings()


def test_frames_survive_their_way_as_messages(tmp_path: Path) -> None:
    """What lies in the spool, joined, is what the codec would have made."""
    attempt = Attempt(tmp_path)
    attempt.records.add([event() for _ in range(20)])
    raw = attempt.records.spool.read(1, 20)
    assert join_encoded(raw) == encode_message(attempt.written())
    assert msgspec.msgpack.decode(raw[0])["type"] == "event"
