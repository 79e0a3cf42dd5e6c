"""Whatever is killed, the run ends with the truth, nothing is left behind, and the next run works."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from codefy_agent.testing import Agent
from codefy_control_plane.testing import ControlPlane
from codefy_protocol.names import RunOptions, Target

from .conftest import assert_whole, digits, go_on, payload, run_dir, scripted

ON_W1 = RunOptions(target=Target(worker="w1"))


async def until(condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
    async with asyncio.timeout(timeout_s):
        while not condition():
            await asyncio.sleep(0.01)


def run_children(agent_pid: int) -> list[psutil.Process]:
    """Run children below an agent, guards left out."""
    children = psutil.Process(agent_pid).children(recursive=True)
    return [child for child in children if not any("guard" in part for part in child.cmdline())]


async def training(server: ControlPlane, run_id: str) -> None:
    """Wait until a run has recorded a loss."""
    async for message in server.client.watch(run_id):
        points = getattr(message, "points", ())
        if any(point.name == "loss" for point in points):
            return
    raise AssertionError("the run ended without a loss")


async def test_kill_9_of_the_run_child_fails_the_run_and_the_next_one_works(
    server: ControlPlane, scripted_agent: Agent
) -> None:
    submitted = await server.client.submit(
        scripted(["print", "the last thing it said"], ["touch", "there"], ["hang"]), ON_W1
    )
    await until(lambda: (run_dir(server, submitted.run_id) / "there").exists())
    (child,) = run_children(scripted_agent.pid)
    loop = asyncio.get_running_loop()
    child.kill()
    killed = loop.time()
    ended = await server.client.wait(submitted.run_id, 20)
    assert loop.time() - killed < 10  # within 2 s on an idle machine; generous for a busy one
    assert ended.status == "failed"
    assert ended.error is not None
    assert "SIGKILL" in ended.error.message
    assert "the last thing it said" in (ended.error.output_tail or "")
    events = await server.client.events(submitted.run_id)
    assert_whole(events)
    assert payload(events[-1])["error"]["code"] == ended.error.code == "child_died"

    again = await server.client.submit(scripted(["events", 3]), ON_W1)
    assert (await server.client.wait(again.run_id, 60)).status == "succeeded"


async def test_kill_9_of_the_agent_leaves_no_run_child(server: ControlPlane, scripted_agent: Agent) -> None:
    submitted = await server.client.submit(
        scripted(["spawn", "double_fork", "grandchild"], ["touch", "there"], ["hang"]), ON_W1
    )
    await until(lambda: (run_dir(server, submitted.run_id) / "there").exists())
    family = psutil.Process(scripted_agent.pid).children(recursive=True)
    assert len(family) >= 2
    scripted_agent.kill()
    _, alive = await asyncio.to_thread(psutil.wait_procs, family, 10)
    assert alive == []


async def test_the_real_child_killed_in_a_training_names_the_signal(
    server: ControlPlane, agent: Agent
) -> None:
    submitted = await server.client.submit(digits(epochs=500), ON_W1)
    await training(server, submitted.run_id)
    (child,) = run_children(agent.pid)
    child.send_signal(signal.SIGKILL)
    ended = await server.client.wait(submitted.run_id, 30)
    assert (ended.status, ended.error and ended.error.code) == ("failed", "child_died")
    assert ended.error is not None
    assert "SIGKILL" in ended.error.message
    assert_whole(await server.client.events(submitted.run_id))


@pytest.mark.parametrize("where", ["w1", "local"])
async def test_cancel_stops_a_training_between_two_batches(
    server: ControlPlane, agent: Agent, where: str
) -> None:
    submitted = await server.client.submit(digits(epochs=5000), RunOptions(target=Target(worker=where)))
    await training(server, submitted.run_id)
    await server.client.cancel(submitted.run_id)
    ended = await server.client.wait(submitted.run_id, 25)
    assert ended.status == "cancelled"
    events = await server.client.events(submitted.run_id)
    assert_whole(events)
    assert events[-1].type == "execution_stopped"
    # Stopped by itself, not by a signal: the loop kept the checkpoint of the very batch.
    names = [artifact.name for artifact in await server.client.artifacts(submitted.run_id)]
    assert any("last" in name for name in names)


async def test_ctrl_c_in_codefy_run_stops_watching_only(
    server: ControlPlane, scripted_agent: Agent, tmp_path: Path
) -> None:
    import json

    graph = tmp_path / "graph.json"
    graph.write_text(json.dumps(scripted(["events", 1], ["touch", "there"], ["wait", "go"])))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "codefy_control_plane",
        "run",
        str(graph),
        "--worker",
        "w1",
        "--json",
        "--data-dir",
        str(server.data_dir),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    while b"node_progress" not in (line := await process.stdout.readline()):
        assert line, "codefy run ended early"
    process.send_signal(signal.SIGINT)
    _, err = await process.communicate()
    assert process.returncode == 130
    (run,) = (await server.client.runs()).runs
    assert run.run_id in err.decode()
    assert run.status == "running"
    go_on(server, run.run_id, "go")
    assert (await server.client.wait(run.run_id, 30)).status == "succeeded"
