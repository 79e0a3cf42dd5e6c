"""The executor of worker runs: decisions in, recorder calls and an outcome out."""

from __future__ import annotations

import asyncio
import dataclasses
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from codefy_control_plane.scheduling.model import Placement
from codefy_control_plane.workers import executor as executor_module
from codefy_control_plane.workers.decisions import (
    AttemptKey,
    Commit,
    Deliver,
    GiveUp,
    Reported,
    SetStatus,
    Warn,
)
from codefy_control_plane.workers.executor import WorkerExecutor
from codefy_engine.execution.executor import ExecutionOutcome, ExecutionRequest
from codefy_engine.execution.sinks import RunSinks
from codefy_engine.graph.document import canonical_bytes, graph_hash, parse_graph
from codefy_protocol.bodies import ConsoleBody, PeakMemory, RunError, RunFinishedBody
from codefy_protocol.capabilities import IMPLEMENTED, RUN_FACTS
from codefy_protocol.codec import MAX_MESSAGE_BYTES, encode_message
from codefy_protocol.envelope import encode_body
from codefy_protocol.frames import (
    Artifact,
    Assign,
    Console,
    DeviceIdentity,
    Event,
    Metrics,
    NodeSource,
    RunFacts,
    RunStarted,
    RunWarning,
)
from codefy_protocol.inputs import MAX_NODE_SOURCES, node_source_digest
from codefy_protocol.names import RunOptions
from codefy_protocol.reasons import WORKER_GONE, WORKER_RECONNECTED, Reason, reason

KEY = ("r1", 1)
GRAPH = b'{"format_version":1,"nodes":[],"edges":[]}'


class KeptRecorder:
    """Keeps every call in order; ``failures`` commits fail first."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.failures = 0
        self.failure: Exception = sqlite3.OperationalError("disk full")
        self.sinks = RunSinks(
            emit=lambda kind, ts, body: self.calls.append(("emit", kind, ts, body)),
            record_metrics=lambda ts, body: self.calls.append(("metrics", ts, body)),
            record_artifact=lambda ts, body: self.calls.append(("artifact", ts, body)),
            warn=lambda _, body: self.calls.append(("warn", msgspec.json.decode(body)["code"])),
            facts=lambda ts, body: self.calls.append(("facts", ts, body)),
        )

    def started(self, body: bytes) -> None:
        self.calls.append(("started", body))

    def console(self, body: ConsoleBody) -> None:
        self.calls.append(("console", body.text))

    def facts(self, facts: dict[str, Any]) -> None:
        self.calls.append(("facts", facts))

    def status(self, status: str) -> None:
        self.calls.append(("status", status))

    def drop_records(self, why: Reason) -> None:
        self.calls.append(("dropped", why.code))

    async def commit(self, recorded_seq: int | None = None, resume: dict[str, Any] | None = None) -> None:
        if self.failures:
            self.failures -= 1
            raise self.failure
        self.calls.append(("commit", recorded_seq, resume))


class KeptAttempts:
    """A registry that keeps what executors ask of it."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.assigned: Assign | None = None
        self.can = frozenset(IMPLEMENTED)

    def capabilities(self, worker: str) -> frozenset[str]:
        return self.can

    def place(
        self,
        worker: str,
        assign: Assign,
        executor: WorkerExecutor,
        *,
        recorded_seq: int | None,
        grace_s: float | None,
    ) -> None:
        self.assigned = assign
        self.calls.append(("place", worker, recorded_seq, grace_s))

    def cancel(self, worker: str, key: AttemptKey) -> None:
        self.calls.append(("cancel", worker, key))

    def committed(self, worker: str, key: AttemptKey, seq: int) -> None:
        self.calls.append(("committed", worker, key, seq))

    def settled(self, worker: str, key: AttemptKey, reported_seq: int | None) -> None:
        self.calls.append(("settled", worker, key, reported_seq))

    def detach(self, worker: str, key: AttemptKey) -> None:
        self.calls.append(("detach", worker, key))


class Bench:
    """One executor, running."""

    def __init__(self, folder: Path, recorded_seq: int | None = None, graph: bytes = GRAPH) -> None:
        self.recorder = KeptRecorder()
        self.attempts = KeptAttempts()
        placement = Placement(
            worker_id="w1",
            devices=(DeviceIdentity(name="cuda:0", uuid="GPU-1"),),
            slots=(("w1", "cuda:0"),),
        )
        self.executor = WorkerExecutor(
            self.attempts, placement, self.recorder, payload_cap=4096, grace_s=12.0, recorded_seq=recorded_seq
        )
        self.request = ExecutionRequest(
            run_id="r1",
            attempt=1,
            graph=parse_graph(graph),
            options=RunOptions(seed=3, resume_grace_s=50.0),
            device="cuda:0",
            run_dir=folder / "run",
            files_dir=folder,
            secrets={"KEY": "value"},
            sinks=self.recorder.sinks,
        )

    async def run(self, *decisions: Any) -> ExecutionOutcome:
        for decision in decisions:
            self.executor.decide(decision)
        return await asyncio.wait_for(self.executor.run(self.request), 20)


def report(seq: int = 9, **fields: Any) -> Reported:
    return Reported(*KEY, seq, encode_body(RunFinishedBody(**{"status": "succeeded", **fields})))


@pytest.fixture
def bench(tmp_path: Path) -> Callable[..., Bench]:
    return lambda *args, **fields: Bench(tmp_path, *args, **fields)


async def test_it_assigns_what_was_asked(bench: Callable[..., Bench]) -> None:
    one = bench()
    await one.run(report())
    assert one.attempts.calls == [("place", "w1", None, 50.0)]
    assign = one.attempts.assigned
    assert assign is not None
    assert assign.devices == (DeviceIdentity(name="cuda:0", uuid="GPU-1"),)
    assert (assign.device, assign.payload_cap, assign.grace_s) == ("cuda:0", 4096, 12.0)
    assert assign.secrets == {"KEY": "value"}
    assert msgspec.json.decode(assign.options, type=RunOptions).seed == 3
    assert assign.graph is not None
    assert parse_graph(assign.graph) == one.request.graph
    assert len(assign.graph_hash) == 64


async def test_records_become_the_calls_that_a_local_run_makes(bench: Callable[..., Bench]) -> None:
    one = bench()
    at: dict[str, Any] = {"run_id": "r1", "attempt": 1, "ts": 5.0}
    await one.run(
        Deliver(
            *KEY,
            (
                RunStarted(seq=1, body=b'{"pid":1}', **at),
                Event(seq=2, kind="node_status", body=b'{"node_id":"a"}', **at),
                Metrics(seq=3, body=b'{"points":[]}', **at),
                Artifact(seq=4, body=b'{"name":"x"}', **at),
                RunWarning(seq=5, body=b'{"code":"c","message":"m"}', **at),
                Console(seq=6, body=encode_body(ConsoleBody(offset=0, text="hi", size=2)), **at),
                RunFacts(seq=7, body=b'{"torch":"2"}', **at),
            ),
        ),
        report(),
    )
    assert one.recorder.calls == [
        ("started", b'{"pid":1}'),
        ("emit", "node_status", 5.0, b'{"node_id":"a"}'),
        ("metrics", 5.0, b'{"points":[]}'),
        ("artifact", 5.0, b'{"name":"x"}'),
        ("warn", "c"),
        ("console", "hi"),
        ("facts", 5.0, b'{"torch":"2"}'),
    ]


async def test_a_batch_is_committed_with_its_seq_before_that_is_told(bench: Callable[..., Bench]) -> None:
    one = bench()
    warning = reason(WORKER_RECONNECTED, worker="w1")
    await one.run(SetStatus(*KEY, "running"), Warn(*KEY, warning), Commit(*KEY, 4), report())
    assert one.recorder.calls[:2] == [("status", "running"), ("warn", "worker_reconnected")]
    name, seq, resume = one.recorder.calls[2]
    assert (name, seq) == ("commit", 4)
    assert resume == {
        "seq": 4,
        "worker_id": "w1",
        "slots": [["w1", "cuda:0"]],
        "devices": [{"name": "cuda:0", "uuid": "GPU-1"}],
    }
    assert one.attempts.calls[-1] == ("committed", "w1", KEY, 4)


async def test_a_commit_that_fails_is_tried_again_and_not_told(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(executor_module, "COMMIT_RETRY_S", 0.001)
    one = bench()
    one.recorder.failures = 3
    await one.run(Commit(*KEY, 4), report())
    assert [call[0] for call in one.recorder.calls] == ["commit"]
    assert one.attempts.calls[1:] == [("committed", "w1", KEY, 4)]
    assert len(caplog.records) == 3


async def test_records_that_cannot_be_read_do_not_stop_the_rest(bench: Callable[..., Bench]) -> None:
    one = bench()
    at: dict[str, Any] = {"run_id": "r1", "attempt": 1, "ts": 5.0}
    broken = (
        Console(seq=1, body=b"{", **at),
        RunFacts(seq=2, body=b"nope", **at),
        RunFacts(seq=3, body=b"[1]", **at),
        Event(seq=4, kind="node_status", body=b"{}", **at),
    )
    await one.run(Deliver(*KEY, broken), report())
    assert one.recorder.calls == [("warn", "malformed_record")] * 3 + [("emit", "node_status", 5.0, b"{}")]


async def test_a_batch_that_can_never_be_stored_is_dropped_with_a_warning(
    bench: Callable[..., Bench], caplog: pytest.LogCaptureFixture
) -> None:
    one = bench()
    one.recorder.failures = 1
    one.recorder.failure = sqlite3.IntegrityError("NOT NULL constraint failed")
    await one.run(Commit(*KEY, 4), report())
    assert [call[:2] for call in one.recorder.calls] == [("dropped", "malformed_record"), ("commit", 4)]
    assert one.attempts.calls[1:] == [("committed", "w1", KEY, 4)]


async def test_the_report_is_the_outcome_and_is_settled_by_its_seq(bench: Callable[..., Bench]) -> None:
    one = bench()
    error = RunError(code="node_failed", message="no")
    memory = PeakMemory(devices={"cuda:0": 5}, exact=True)
    outcome = await one.run(report(7, status="failed", error=error, peak_memory=memory))
    assert outcome == ExecutionOutcome(status="failed", error=error, peak_memory=memory)
    assert one.executor.final_seq == 7
    one.executor.settled()
    assert one.attempts.calls[-1] == ("settled", "w1", KEY, 7)


async def test_a_report_that_cannot_be_read_is_a_failure(bench: Callable[..., Bench]) -> None:
    one = bench()
    outcome = await one.run(Reported(*KEY, 7, b"{"))
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert outcome.error.code == "child_died"
    assert one.executor.final_seq == 7


@pytest.mark.parametrize("status", ["running", "queued", "interrupted", "foo\x00", ""])
async def test_a_status_that_no_worker_decides_is_a_failure(bench: Callable[..., Bench], status: str) -> None:
    outcome = await bench().run(report(status=status))
    assert (outcome.status, outcome.error and outcome.error.code) == ("failed", "child_died")


async def test_given_up(bench: Callable[..., Bench]) -> None:
    one = bench()
    outcome = await one.run(GiveUp(*KEY, "interrupted", reason(WORKER_GONE, worker="w1", seconds=9)))
    assert outcome.status == "interrupted"
    assert outcome.error is not None
    assert outcome.error.code == "worker_gone"
    assert one.executor.final_seq is None
    one.executor.settled()
    assert one.attempts.calls[-1] == ("settled", "w1", KEY, None)


@pytest.mark.parametrize("when", ["before", "stop set", "meanwhile"])
async def test_a_stop_is_forwarded(bench: Callable[..., Bench], when: str) -> None:
    one = bench()
    if when == "before":
        await one.executor.cancel()
    if when == "stop set":
        one.request.stop.set()
    running = asyncio.create_task(one.run())
    while not one.attempts.calls:
        await asyncio.sleep(0)
    if when == "meanwhile":
        await one.executor.cancel()
    one.executor.decide(report(status="cancelled"))
    assert (await running).status == "cancelled"
    assert one.attempts.calls == [("place", "w1", None, 50.0), ("cancel", "w1", KEY)]


async def test_cancelling_the_task_leaves_the_run_going(bench: Callable[..., Bench]) -> None:
    one = bench(5)
    running = asyncio.create_task(one.run())
    while not one.attempts.calls:
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert one.attempts.calls == [("place", "w1", 5, 50.0), ("detach", "w1", KEY)]


LARGE = msgspec.json.encode(
    {
        "format_version": 1,
        "nodes": [
            {
                "id": f"n{number}",
                "type": "Print",
                "position": {"x": 0, "y": 0},
                "data": {"params": {"text": "x" * 900}},
            }
            for number in range(1200)
        ],
        "edges": [],
    }
)


async def test_a_graph_over_the_size_of_a_message_is_fetched_by_its_hash(bench: Callable[..., Bench]) -> None:
    one = bench(graph=LARGE)
    assert (await one.run(report())).status == "succeeded"
    assign = one.attempts.assigned
    assert assign is not None
    canonical = canonical_bytes(one.request.graph)
    assert assign.graph is None
    assert (assign.graph_hash, assign.graph_size) == (graph_hash(one.request.graph), len(canonical))
    assert len(encode_message([assign])) < MAX_MESSAGE_BYTES // 8


async def test_a_worker_that_fetches_no_graph_gets_no_large_one(bench: Callable[..., Bench]) -> None:
    one = bench(graph=LARGE)
    one.attempts.can = frozenset(("ack",))
    outcome = await one.run()
    assert outcome.error is not None
    assert outcome.error.code == "graph_too_large"
    assert one.attempts.calls == []
    one.executor.settled()
    assert one.attempts.calls == []
    # One that an earlier server gave it is waited for all the same.
    adopted = bench(3, graph=LARGE)
    adopted.attempts.can = frozenset()
    assert (await adopted.run(report())).status == "succeeded"


async def test_node_files_go_along_by_hash_to_a_worker_that_takes_them(bench: Callable[..., Bench]) -> None:
    source = NodeSource(name="filters.py", sha256="a" * 64, size=3)
    one = bench()
    one.request = replace(one.request, node_sources=(source,), node_packages={"Blur": "codefy-blur"})
    await one.run(report())
    assign = one.attempts.assigned
    assert assign is not None
    assert assign.node_sources == (source,)
    assert assign.node_source_digest == node_source_digest([source])
    assert assign.node_packages == {"Blur": "codefy-blur"}
    other = bench()
    other.request = one.request
    other.attempts.can = frozenset(("ack", "graph_by_hash"))
    outcome = await other.run()
    assert outcome.error is not None
    assert outcome.error.code == "node_files_not_taken"
    assert other.attempts.calls == []


async def test_the_names_of_many_node_files_leave_room_in_the_message(bench: Callable[..., Bench]) -> None:
    sources = tuple(
        NodeSource(name=f"{number:03}{'x' * 240}.py", sha256="a" * 64, size=3)
        for number in range(MAX_NODE_SOURCES)
    )
    nodes = msgspec.json.decode(LARGE)["nodes"][:950]
    one = bench(graph=msgspec.json.encode({"format_version": 1, "nodes": nodes, "edges": []}))
    one.request = replace(one.request, node_sources=sources)
    await one.run(report())
    assert one.attempts.assigned is not None
    assert len(encode_message([one.attempts.assigned])) < MAX_MESSAGE_BYTES


async def test_a_worker_that_tells_no_facts_is_not_asked_for_provenance(bench: Callable[..., Bench]) -> None:
    one = bench()
    one.attempts.can = frozenset(IMPLEMENTED) - {RUN_FACTS}
    one.request = dataclasses.replace(one.request, options=RunOptions(provenance=True))
    outcome = await one.run()
    assert outcome.error is not None
    assert (outcome.status, outcome.error.code) == ("failed", "provenance_not_taken")
    assert one.attempts.calls == []


async def test_an_assignment_shows_no_secret(bench: Callable[..., Bench]) -> None:
    one = bench()
    await one.run(report())
    assert "value" not in repr(one.attempts.assigned) and "KEY" in repr(one.attempts.assigned)
