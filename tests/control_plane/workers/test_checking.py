"""What a worker may report, and what is refused before it reaches the database or a browser."""

from __future__ import annotations

import math
from typing import Any

import pytest

from codefy_control_plane.workers.checking import (
    MAX_DEPTH,
    MalformedRecord,
    check_body,
    checked,
    checked_report,
)
from codefy_protocol.frames import Event, Metrics, RunFacts, RunWarning

AT: dict[str, Any] = {"run_id": "r", "attempt": 1, "seq": 1, "ts": 5.0}


@pytest.mark.parametrize("kind", ["node_status", "node_progress", "inner_node_status"])
def test_node_level_words_pass_unchanged(kind: str) -> None:
    record = Event(kind=kind, body='{"text":"é"}'.encode(), **AT)
    assert checked(record, 9.0) is record


@pytest.mark.parametrize(
    "kind",
    [
        "",
        "execution_start",
        "execution_complete",
        "run_warning",
        "node_" + "x" * 100,
        "node_status\n",
        "node_é",
    ],
)
def test_other_words_do_not(kind: str) -> None:
    with pytest.raises(MalformedRecord):
        checked(Event(kind=kind, body=b"{}", **AT), 9.0)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{oops",
        b'{"v":NaN}',
        b'{"v":Infinity}',
        b'{"v":"\xff"}',
        b"{} {}",
        b"[1]",
        b'{"v":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}",
        b'{"v":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
    ids=["empty", "cut", "nan", "infinity", "not utf-8", "two", "array", "deep", "very deep"],
)
@pytest.mark.parametrize("frame", [Event, RunFacts])
def test_a_body_that_is_no_json_object_is_refused(frame: type[Event | RunFacts], body: bytes) -> None:
    with pytest.raises(MalformedRecord):
        checked(frame(kind="node_status", body=body, **AT), 9.0)


def test_brackets_side_by_side_or_in_texts_are_not_deep() -> None:
    check_body(b"[" + b",".join([b"[1]"] * 500) + b"]")
    check_body(b'["' + b"[" * 500 + b'\\"' + b'"]')


@pytest.mark.parametrize("ts", [math.nan, math.inf, -math.inf, -1.0, 1e300])
def test_a_time_that_is_none_becomes_the_time_of_receipt(ts: float) -> None:
    record = checked(Metrics(body=b'{"points":[]}', **{**AT, "ts": ts}), 9.0)
    assert record.ts == 9.0


def test_a_warning_has_a_code_and_a_message() -> None:
    with pytest.raises(MalformedRecord):
        checked(RunWarning(body=b'{"code":"c"}', **AT), 9.0)


@pytest.mark.parametrize("body", [b"zz", b"{}", b'{"status":"running"}', b'{"status":"execution_complete"}'])
def test_a_report_that_decides_nothing_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedRecord):
        checked_report(body)
    assert checked_report(b'{"status":"failed"}').status == "failed"
