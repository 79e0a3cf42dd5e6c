"""What a node tells its run: progress, metrics, artifacts, warnings, inner states (V-1, V-3, V-6)."""

from __future__ import annotations

import hashlib
import itertools
import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefy_engine.execution.context import ProgressThrottle
from codefy_engine.graph import Builder
from codefy_engine.graph.prepare import prepare_graph
from codefy_engine.nodes.base import Node, NodeContext, node, output
from codefy_protocol.bodies import MetricPoint
from codefy_protocol.reasons import reason


def _run(harness: Any, work: Any, **fields: Any) -> tuple[Any, Any]:
    """Run ``work(ctx)`` as the only node of a graph, with id ``only``."""

    @node(type="Work", title="Work", category="flow", icon="x")
    class Work(Node):
        """Doc."""

        value: Any = output("any")

        def run(self, ctx: NodeContext) -> Any:
            return work(ctx)

    graph = Builder(registry=harness.registry(Work))
    graph.add("Work", "only")
    return harness.execute(graph.build(), nodes=[Work], **fields)


# ---------------------------------------------------------------------- progress


def test_the_first_and_the_last_progress_are_kept_and_come_before_the_end(harness: Any) -> None:
    def work(ctx: NodeContext) -> None:
        for step in range(1, 2001):
            ctx.progress(current=step, total=2000, unit="steps", epoch=1, epochs=2, eta_s=3.5)

    _, kept = _run(harness, work)
    sent = kept.payloads("node_progress")
    assert 2 <= len(sent) < 2000
    assert sent[0] == {
        "node_id": "only",
        "fraction": 1 / 2000,
        "current": 1,
        "total": 2000,
        "unit": "steps",
        "epoch": 1,
        "epochs": 2,
        "eta_s": 3.5,
    }
    assert sent[-1]["current"] == 2000
    assert [item["current"] for item in sent] == sorted(item["current"] for item in sent)
    assert [kind for kind, _ in kept.events][-1] == "node_status"


def test_progress_of_a_failing_node_is_kept_too(harness: Any) -> None:
    def work(ctx: NodeContext) -> None:
        ctx.progress(0.25)
        ctx.progress(0.5)
        raise ValueError

    _, kept = _run(harness, work)
    assert [item["fraction"] for item in kept.payloads("node_progress")] == [0.25, 0.5]


def test_progress_after_the_end_is_dropped(harness: Any) -> None:
    contexts: list[NodeContext] = []
    _, kept = _run(harness, contexts.append)
    contexts[0].progress(1.0)
    assert kept.payloads("node_progress") == []


@pytest.mark.parametrize(
    ("given", "fraction"), [(-1.0, 0.0), (1.5, 1.0), (math.nan, 0.0), (math.inf, 1.0), (0.5, 0.5)]
)
def test_a_fraction_is_always_one(harness: Any, given: float, fraction: float) -> None:
    _, kept = _run(harness, lambda ctx: ctx.progress(given))
    assert kept.payloads("node_progress")[0]["fraction"] == fraction


@given(st.lists(st.floats(0, 0.5), min_size=1, max_size=40))
def test_at_most_five_a_second_and_the_newest_wins(gaps: list[float]) -> None:
    throttle = ProgressThrottle()
    now = 0.0
    sent: list[tuple[float, bytes]] = []
    for index, gap in enumerate(gaps):
        now += gap
        body = str(index).encode()
        due = throttle.offer(body, now)
        if due is not None:
            assert due == body
            sent.append((now, due))
    held = throttle.flush()
    last = str(len(gaps) - 1).encode()
    assert sent[0][1] == b"0"
    assert (held or sent[-1][1]) == last
    assert throttle.flush() is None
    for (before, _), (after, _) in itertools.pairwise(sent):
        assert after - before >= 0.2 - 1e-9


# ---------------------------------------------------------------------- metrics


def test_metrics_carry_node_and_time_and_survive_divergence(harness: Any) -> None:
    def work(ctx: NodeContext) -> None:
        ctx.metric("loss", math.nan, 1)
        ctx.metric("loss", math.inf, 2, epoch=1.0, scope="epoch")
        ctx.metrics(
            [MetricPoint(name="lr", value=0.1, step=3), MetricPoint(name="x", value=-math.inf, step=3)]
        )
        ctx.metrics([])
        ctx.progress(0.5, metrics={"loss": math.nan})

    outcome, kept = _run(harness, work)
    assert outcome.status == "succeeded", outcome.error
    assert len(kept.metrics) == 3
    points = [point for body in kept.metrics for point in body["points"]]
    assert [(p["name"], p["value"], p["step"], p["node_id"]) for p in points] == [
        ("loss", "NaN", 1, "only"),
        ("loss", "Infinity", 2, "only"),
        ("lr", 0.1, 3, "only"),
        ("x", "-Infinity", 3, "only"),
    ]
    assert (points[1]["epoch"], points[1]["scope"]) == (1.0, "epoch")
    assert all(point["ts"] > 1e9 for point in points)
    assert kept.payloads("node_progress")[0]["metrics"] == {"loss": "NaN"}


def test_metrics_of_torch_and_numpy_are_numbers(harness: Any) -> None:
    import numpy as np
    import torch

    def work(ctx: NodeContext) -> None:
        ctx.metric("loss", torch.tensor(1.5), 1)  # type: ignore[arg-type]  # what people do
        ctx.metric("loss", np.float32(2.5), np.int64(2))  # type: ignore[arg-type]
        ctx.progress(0.5, metrics={"loss": np.float64(0.5)})

    outcome, kept = _run(harness, work)
    assert outcome.status == "succeeded", outcome.error
    assert [body["points"][0]["value"] for body in kept.metrics] == [1.5, 2.5]


def test_every_body_is_json_whatever_came_out_of_a_node(harness: Any) -> None:
    import numpy as np

    _, kept = _run(harness, lambda ctx: {"a": math.nan, "b": np.float64(math.inf), "c": 1})
    for body in kept.bodies:
        msgspec.json.decode(body)
    outputs = kept.payloads("node_status")[-1]["outputs"]
    assert outputs["value"]["values"] == {"a": "NaN", "b": "Infinity", "c": 1}


# ---------------------------------------------------------------------- artifacts, warnings, inner states


def test_an_artifact_is_recorded_with_size_and_digest(harness: Any) -> None:
    def work(ctx: NodeContext) -> None:
        path = ctx.artifact_path("weights.pt")
        path.write_bytes(b"x" * 1000)
        ctx.artifact(
            "checkpoint", "weights.pt", path, meta={"epoch": 3, "accuracy": math.nan, "path": Path("a/b")}
        )

    _, kept = _run(harness, work)
    (recorded,) = kept.artifacts
    assert recorded["path"] == "artifacts/only/weights.pt"
    assert recorded["size"] == 1000
    assert recorded["sha256"] == hashlib.sha256(b"x" * 1000).hexdigest()
    assert recorded["meta"] == {"epoch": 3, "accuracy": "NaN", "path": "a/b"}
    assert (recorded["kind"], recorded["node_id"]) == ("checkpoint", "only")


def test_an_artifact_lies_in_the_runs_folder(harness: Any, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("secret")

    def climb(ctx: NodeContext) -> None:
        ctx.artifact("text", "x", ctx.run_dir / ".." / "outside.txt")

    def link(ctx: NodeContext) -> None:
        path = ctx.artifact_path("link.txt")
        path.symlink_to(outside)
        ctx.artifact("text", "x", path)

    for work in (climb, link):
        outcome, kept = _run(harness, work)
        assert "lies outside the run's folder" in outcome.error.message
        assert kept.artifacts == []


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", "a\\b", "a\0b", "/etc/passwd"])
def test_an_artifacts_file_name_is_plain(harness: Any, name: str) -> None:
    outcome, _ = _run(harness, lambda ctx: ctx.artifact_path(name))
    assert "is not a plain file name" in outcome.error.message


def test_every_node_has_a_folder_of_its_own(harness: Any, new_kept: Any, tmp_path: Path) -> None:
    import threading

    from codefy_engine.execution.callbacks import RunCallbacks
    from codefy_engine.execution.context import RunContext, RunScope
    from codefy_engine.graph import GraphDocument

    scope = RunScope(
        run_id="r",
        prepared=prepare_graph(GraphDocument(), harness.registry()),
        registry=harness.registry(),
        device="cpu",
        seed=None,
        deterministic=False,
        run_dir=tmp_path,
        files_dir=tmp_path,
        callbacks=RunCallbacks(new_kept().sinks(), 1000),
        stop=threading.Event(),
        halt=threading.Event(),
    )
    ids = ["train", "a/b", "a_b", "..", ".hidden", "名", "x" * 200]
    folders = [RunContext(scope, node_id).artifact_path("f").parent for node_id in ids]
    assert len(set(folders)) == len(ids)
    for folder in folders:
        assert folder.parent == tmp_path / "artifacts"
        assert len(folder.name) < 100 and folder.is_dir()
    assert folders[0].name == "train"


def test_warnings_and_inner_states(harness: Any) -> None:
    def work(ctx: NodeContext) -> None:
        ctx.warn(reason("nonfinite_loss", value="NaN", step=3))
        ctx.inner(["net", "conv1"], "built", shape=(1, 2), parameters=3)
        ctx.inner("step", "done")

    _, kept = _run(harness, work)
    assert kept.warnings == [
        {
            "code": "nonfinite_loss",
            "message": "The loss is NaN at step 3.",
            "params": {"value": "NaN", "step": 3},
            "node_id": "only",
        }
    ]
    assert kept.payloads("inner_node_status") == [
        {"node_id": "only", "path": ["net", "conv1"], "status": "built", "shape": [1, 2], "parameters": 3},
        {"node_id": "only", "path": ["step"], "status": "done"},
    ]


def test_a_payload_over_the_cap_has_its_outputs_elided(harness: Any) -> None:
    outcome, kept = _run(harness, lambda ctx: {f"name-{i}": i for i in range(24)}, payload_cap=300)
    assert outcome.status == "succeeded"
    done = kept.payloads("node_status")[-1]
    assert done["outputs"]["elided"] is True and done["outputs"]["cap"] == 300
    assert done["status"] == "succeeded"
    assert all(len(body) <= 300 for body in kept.bodies)


def test_a_node_sees_the_plan_of_a_subgraph(harness: Any) -> None:
    names: list[str] = []

    @node(type="Reader", title="Reader", category="flow", icon="x")
    class Reader(Node):
        """Doc."""

        def run(self, ctx: NodeContext) -> None:
            names.extend(planned.id for planned in ctx.subgraph("net").nodes)

    graph = Builder(registry=harness.registry(Reader))
    net = graph.subgraph("net")
    net.add("ReLU", "relu", x=net.add("ModuleInput", "in"))
    graph.add("Reader")
    outcome, _ = harness.execute(graph.build(), nodes=[Reader])
    assert outcome.status == "succeeded", outcome.error
    assert names == ["in", "relu"]
