"""The run child as its agent sees it: what comes over the pipe, and how the process ends (A-5, P-1, P-7)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codefy_engine import __version__
from codefy_protocol import PROTOCOL_VERSION
from codefy_protocol.pipe import ChildRecord, Preamble, StopRun

pytestmark = pytest.mark.integration

NewChild = Callable[..., Any]
Graph = Callable[..., bytes]
Body = Callable[[ChildRecord], Any]


def test_a_run_from_preamble_to_exit(new_child: NewChild, does: Graph, body: Body, tmp_path: Path) -> None:
    child = new_child()
    preamble = child.next()
    assert preamble == Preamble(
        protocol_version=PROTOCOL_VERSION, engine_version=__version__, pid=child.process.pid
    )
    child.start_run(does("facts"))
    records = child.rest()
    assert [(record.frame, record.kind) for record in records] == [
        ("run_started", ""),
        ("event", "node_status"),
        ("event", "node_status"),
        ("run_facts", ""),
        ("run_finished", ""),
    ]
    started = body(records[0])
    assert started["pid"] == child.process.pid
    assert started["engine_version"] == __version__
    assert started["torch"] and started["python"].startswith("3.")
    assert body(records[-2])["fingerprint"]["torch"] == started["torch"]
    finished = body(records[-1])
    assert finished["status"] == "succeeded"
    assert finished["peak_memory"]["devices"]["cpu"] > 1_000_000
    assert [record.ts for record in records] == sorted(record.ts for record in records)
    status, out, err = child.ended()
    assert status == 0
    facts = json.loads(out)
    # A run that needs none of them imports none of them.
    assert facts == {"heavy": [], "core": [0, 0], "device": "cpu", "run_dir": str(tmp_path / "run")}
    assert "to the console: " in err


def test_the_preamble_comes_before_anything_is_asked(new_child: NewChild) -> None:
    child = new_child()
    assert isinstance(child.next(), Preamble)
    assert child.process.poll() is None


def test_cards_are_named_as_the_run_sees_them(new_child: NewChild, does: Graph, body: Body) -> None:
    from codefy_protocol.frames import DeviceIdentity

    child = new_child(CUDA_VISIBLE_DEVICES="GPU-b,GPU-a")
    child.start_run(
        b"{}",
        devices=(DeviceIdentity(name="cuda:2", uuid="GPU-b"), DeviceIdentity(name="cuda:0", uuid="GPU-a")),
    )
    started = body(child.until("run_started"))
    assert started["visible_devices"] == ["GPU-b", "GPU-a"]
    assert started["device_aliases"] == {"cuda:0": "cuda:2", "cuda:1": "cuda:0"}


def test_a_failed_run_says_why_and_exits_zero(new_child: NewChild, does: Graph, body: Body) -> None:
    child = new_child()
    child.start_run(does("fail"))
    finished = body(child.rest()[-1])
    assert finished["status"] == "failed"
    assert finished["error"]["message"] == "it (Does) failed: ValueError: not today"
    assert "codefy_test_nodes.py" in finished["error"]["traceback"]
    assert child.ended()[0] == 0


@pytest.mark.parametrize(
    ("graph", "code", "problem"),
    [
        (b"{", "invalid_graph", "graph_not_json"),
        (b"[]", "invalid_graph", "graph_not_a_graph"),
        (b'{"nodes":[{"id":"a","type":"Nowhere"}]}', "invalid_graph", "unknown_node_type"),
    ],
)
def test_a_bad_graph_is_reported(
    new_child: NewChild, body: Body, graph: bytes, code: str, problem: str
) -> None:
    child = new_child()
    child.start_run(graph)
    finished = body(child.rest()[-1])
    assert (finished["status"], finished["error"]["code"]) == ("failed", code)
    assert [item["code"] for item in finished["error"]["problems"]] == [problem]
    assert child.ended()[0] == 0


def test_options_that_cannot_be_read_are_reported(new_child: NewChild, does: Graph, body: Body) -> None:
    child = new_child()
    child.start_run(does("nothing"), options=b'{"sede": 3}')
    finished = body(child.rest()[-1])
    assert finished["error"]["code"] == "engine_error"
    assert "sede" in finished["error"]["message"]


def test_a_stop_ends_the_run_cooperatively(new_child: NewChild, does: Graph, body: Body) -> None:
    child = new_child()
    child.start_run(does("hold"))
    child.until("node_progress")
    child.send(StopRun())
    records = child.rest()
    assert records[-2].frame == "run_facts"
    assert body(records[-3])["status"] == "cancelled"
    assert body(records[-1]) == {"status": "cancelled", "peak_memory": body(records[-1])["peak_memory"]}
    assert child.ended()[0] == 0


def test_the_end_of_its_agent_ends_the_child(new_child: NewChild, does: Graph) -> None:
    child = new_child()
    child.start_run(does("hold"))
    child.until("node_progress")
    child.close(child.to_child)
    child.close(child.from_child)
    started = time.monotonic()
    assert child.ended()[0] == 0
    assert time.monotonic() - started < 5


def test_even_when_the_run_ignores_it(new_child: NewChild, does: Graph) -> None:
    child = new_child()
    child.start_run(does("ignore"))
    child.until("node_progress")
    started = time.monotonic()
    child.close(child.to_child)
    assert child.ended()[0] == 1
    assert time.monotonic() - started < 5


def test_a_child_without_a_run_ends_with_the_pipe(new_child: NewChild) -> None:
    child = new_child()
    child.next()
    child.close(child.to_child)
    status, _, err = child.ended()
    assert status == 1
    assert "closed the pipe before it sent a run" in err


def test_a_pipe_that_speaks_something_else(new_child: NewChild) -> None:
    child = new_child()
    os.write(child.to_child, (6).to_bytes(4, "big") + b"hello!")
    status, _, err = child.ended()
    assert status == 1
    assert err.startswith("codefy_engine.child:") and "Traceback" not in err


def test_ctrl_c_in_the_terminal_is_the_agents_business(new_child: NewChild, does: Graph, body: Body) -> None:
    child = new_child()
    child.start_run(does("interrupt"))
    assert body(child.rest()[-1])["status"] == "succeeded"
    assert child.ended()[0] == 0


def test_many_records_arrive_complete_and_in_order(new_child: NewChild, does: Graph, body: Body) -> None:
    child = new_child()
    child.start_run(does("many", count=30_000))
    records = child.rest()
    steps = [
        point["step"] for record in records if record.frame == "metrics" for point in body(record)["points"]
    ]
    assert steps == list(range(1, 30_001))
    assert records[-1].frame == "run_finished"


def test_an_artifact_lies_in_the_runs_folder(
    new_child: NewChild, does: Graph, body: Body, tmp_path: Path
) -> None:
    child = new_child()
    child.start_run(does("artifact"))
    (record,) = [record for record in child.rest() if record.frame == "artifact"]
    assert (tmp_path / "run" / body(record)["path"]).read_text() == "hello"


def test_a_crash_leaves_its_stack_in_the_console_and_no_report(new_child: NewChild, does: Graph) -> None:
    child = new_child()
    child.start_run(does("crash"))
    frames = [record.frame for record in child.rest()]
    # The last records may still have waited for company; an end is none of them.
    assert frames[0] == "run_started" and "run_finished" not in frames
    status, _, err = child.ended()
    assert status == -signal.SIGSEGV
    assert "Segmentation fault" in err and "codefy_test_nodes.py" in err


def test_a_thread_left_behind_does_not_hold_the_exit(new_child: NewChild, does: Graph, body: Body) -> None:
    child = new_child()
    child.start_run(does("leave_thread"))
    assert body(child.rest()[-1])["status"] == "succeeded"
    status, out, _ = child.ended()
    assert (status, out) == (0, "exit handler ran\n")


def test_an_exit_handler_that_hangs_does_not_either(new_child: NewChild, does: Graph, body: Body) -> None:
    child = new_child()
    child.start_run(does("slow_exit"))
    assert body(child.until("run_finished"))["status"] == "succeeded"
    assert child.ended()[0] == 0


def test_what_a_run_started_does_not_hold_the_pipe(new_child: NewChild, does: Graph, body: Body) -> None:
    child = new_child()
    child.start_run(does("grandchild"))
    records = child.rest()  # would wait for the grandchild if that had the pipe
    (metrics,) = [record for record in records if record.frame == "metrics"]
    pid = int(body(metrics)["points"][0]["value"])
    os.kill(pid, signal.SIGKILL)
    assert records[-1].frame == "run_finished"


@pytest.mark.parametrize(
    "arguments",
    [[], ["--read-fd", "0"], ["--read-fd", "x", "--write-fd", "1"], ["--read-fd", "0", "--write-fd", "991"]],
)
def test_a_bad_command_line(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "codefy_engine.child", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("usage: python -m codefy_engine.child")
    assert "Traceback" not in done.stderr


def test_the_child_and_the_server_make_the_same_bytes(
    new_child: NewChild,
    does: Graph,
    body: Body,
    package: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """V-2: the events of a run do not tell where it ran."""
    import importlib
    import threading

    from codefy_engine.execution.executor import ExecutionRequest, execute_graph
    from codefy_engine.execution.sinks import RunSinks
    from codefy_engine.graph import parse_graph
    from codefy_engine.nodes.registry import Registry, builtin_classes, node_classes

    monkeypatch.syspath_prepend(str(package))
    module = importlib.import_module("codefy_test_nodes")
    sys.modules.pop("codefy_test_nodes")
    emitted: list[tuple[str, bytes]] = []
    execute_graph(
        ExecutionRequest(
            run_id="run-1",
            graph=parse_graph(does("fail")),
            run_dir=tmp_path / "here",
            files_dir=tmp_path,
            sinks=RunSinks(
                emit=lambda kind, ts, payload: emitted.append((kind, payload)),
                record_metrics=lambda ts, payload: None,
                record_artifact=lambda ts, payload: None,
                warn=lambda ts, payload: None,
            ),
            stop=threading.Event(),
            registry=Registry([*builtin_classes(), *node_classes(module)]),
        )
    )
    child = new_child()
    child.start_run(does("fail"))
    events = [(record.kind, record.body) for record in child.rest() if record.frame == "event"]

    def timeless(payloads: list[tuple[str, bytes]]) -> list[tuple[str, Any]]:
        return [(kind, {**json.loads(payload), "duration_s": 0}) for kind, payload in payloads]

    assert len(emitted) == 2
    assert timeless(events) == timeless(emitted)
    assert [list(json.loads(b)) for _, b in events] == [list(json.loads(b)) for _, b in emitted]
