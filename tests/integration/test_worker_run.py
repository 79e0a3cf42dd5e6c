"""One real training on a worker, submitted by the command line, as the README says."""

from __future__ import annotations

import asyncio
import io
import sys
from pathlib import Path

import torch

from codefy_agent.testing import Agent
from codefy_control_plane.testing import ControlPlane

from .conftest import DIGITS, assert_whole, digits, payload

TRAIN_STEPS = 20
"""1,797 digits, 70 % of them in batches of 64."""


async def codefy(server: ControlPlane, *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of one codefy command against the server."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "codefy_control_plane",
        *arguments,
        "--data-dir",
        str(server.data_dir),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def test_the_digits_example_trains_on_a_worker(
    server: ControlPlane, agent: Agent, tmp_path: Path
) -> None:
    code, out, err = await codefy(server, "run", str(DIGITS), "--worker", "w1")
    assert code == 0, out + err
    assert "succeeded" in out
    (run,) = (await server.client.runs()).runs
    assert run.worker_id == "w1"
    assert run.status == "succeeded"

    events = await server.client.events(run.run_id)
    assert_whole(events)
    assert events[-1].type == "execution_complete"
    assert payload(events[0])["worker_id"] == "w1"

    epochs = next(n for n in digits()["nodes"] if n["id"] == "train")["data"]["params"]["epochs"]
    loss = await server.client.metrics(run.run_id, "loss")
    assert [point.step for point in loss] == list(range(1, epochs * TRAIN_STEPS + 1))
    accuracy = await server.client.metrics(run.run_id, "val_accuracy")
    assert [point.epoch for point in accuracy] == list(range(1, epochs + 1))
    (test,) = await server.client.metrics(run.run_id, "test_accuracy")
    assert isinstance(test.value, float)
    assert test.value >= 0.95

    artifacts = await server.client.artifacts(run.run_id)
    checkpoints = [artifact for artifact in artifacts if artifact.kind == "checkpoint"]
    assert checkpoints
    assert all(artifact.available for artifact in artifacts)
    content = await server.client.artifact_content(run.run_id, checkpoints[-1].artifact_id)
    assert len(content) == checkpoints[-1].size
    checkpoint = torch.load(io.BytesIO(content), weights_only=True)
    assert any(value.shape == (16, 1, 3, 3) for value in checkpoint["model"].values())

    code, out, err = await codefy(server, "runs", "artifacts", str(run.number), "--download", str(tmp_path))
    assert code == 0, err
    assert (tmp_path / checkpoints[-1].path).read_bytes() == content


async def test_a_script_of_events_metrics_and_prints_arrives_whole(
    server: ControlPlane, scripted_agent: Agent
) -> None:
    from .conftest import scripted

    graph = scripted(["print", "hello from the run"], ["events", 500], ["metrics", 300])
    code, out, err = await codefy_run_json(server, graph)
    assert code == 0, out + err
    (run,) = (await server.client.runs()).runs
    events = await server.client.events(run.run_id)
    assert_whole(events)
    assert sum(event.type == "node_progress" for event in events) == 500
    assert len(await server.client.metrics(run.run_id)) == 300
    assert b"hello from the run" in await server.client.log(run.run_id)


async def codefy_run_json(server: ControlPlane, graph: dict[str, object]) -> tuple[int, str, str]:
    import json

    path = server.data_dir / "graph.json"
    path.write_text(json.dumps(graph))
    return await codefy(server, "run", str(path), "--worker", "w1", "--json")
