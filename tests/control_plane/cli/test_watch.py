"""What a watched run looks like, line by line."""

from __future__ import annotations

import io
import json
from typing import Any

import msgspec
import pytest
from rich.console import Console

from codefy_control_plane.api.schemas import RunDetail, StoredEvent, StoredMetric
from codefy_control_plane.cli.watch import LineWatcher, LiveWatcher, duration, metric_text, place
from codefy_control_plane.client import WatchedEvents, WatchedMetrics
from codefy_protocol.bodies import RunError
from codefy_protocol.names import RunOptions


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (12, "12 s"), (60, "1:00"), (187, "3:07"), (3723, "1:02:03")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("position", "text"), [(1, "next"), (2, "2nd"), (3, "3rd"), (11, "11th"), (22, "22nd")]
)
def test_places(position: int, text: str) -> None:
    assert place(position) == f"{text} in the queue"


def test_a_diverged_metric_keeps_its_name() -> None:
    assert (metric_text("NaN"), metric_text(0.123456)) == ("NaN", "0.1235")


def events(*bodies: tuple[str, dict[str, Any]]) -> WatchedEvents:
    stored = [
        StoredEvent(cursor=i + 1, type=kind, ts=0.0, payload=msgspec.Raw(json.dumps(body).encode()))
        for i, (kind, body) in enumerate(bodies)
    ]
    return WatchedEvents(run_id="r", events=stored)


RUN = events(
    ("execution_start", {}),
    ("node_status", {"node_id": "train", "status": "running"}),
    ("node_progress", {"node_id": "train", "fraction": 0.1, "epoch": 1, "epochs": 2, "eta_s": 39.4}),
    ("node_progress", {"node_id": "train", "fraction": 0.2, "epoch": 1, "epochs": 2, "eta_s": "NaN"}),
    ("run_warning", {"code": "x", "message": "The loss is NaN at step 3."}),
    ("node_status", {"node_id": "train", "status": "failed", "duration_s": 2.5}),
)


def told(watcher_type: type[LineWatcher | LiveWatcher]) -> str:
    file = io.StringIO()
    watcher = watcher_type(Console(file=file, width=100, force_terminal=watcher_type is LiveWatcher))
    watcher.show(
        WatchedMetrics(
            run_id="r",
            metrics_cursor=1,
            points=[StoredMetric(name="loss", value=0.25, step=1, node_id="train")],
        )
    )
    watcher.show(RUN)
    watcher.close()
    return file.getvalue()


def test_plain_lines_say_each_node_and_each_epoch_once() -> None:
    lines = told(LineWatcher).splitlines()
    assert lines == [
        "started; the first node follows when torch is loaded",
        "  train  running",
        "  train  epoch 1 of 2  10 %  loss 0.25  39 s left",
        "warning: The loss is NaN at step 3.",
        "✗ train  failed  2.5 s",
    ]


def test_a_terminal_shows_a_bar_that_goes_and_keeps_the_outcome() -> None:
    text = told(LiveWatcher)
    assert "epoch 1 of 2" in text
    assert "train  failed" in text


def test_the_end_of_a_failed_run_holds_its_reason_and_last_output() -> None:
    file = io.StringIO()
    error = RunError(code="child_died", message="It was ended by SIGKILL.", output_tail="last words\n")
    LineWatcher(Console(file=file, width=100)).result(
        RunDetail(
            run_id="r",
            number=3,
            name="",
            graph_name="g",
            lane="queued",
            status="failed",
            attempt=1,
            queue_key="w1/cpu",
            created_at=0.0,
            started_at=1.0,
            ended_at=3.5,
            error=error,
            latest_metrics={"loss": "NaN", "val_loss": 0.5},
            graph=msgspec.Raw(b"{}"),
            options=RunOptions(),
            graph_hash="",
        )
    )
    assert file.getvalue().splitlines() == [
        "failed after 2.5 s",
        "It was ended by SIGKILL.",
        "last output:",
        "last words",
        "val_loss 0.5",
    ]
