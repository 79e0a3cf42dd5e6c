"""From a submission to the first node that runs on a worker and to the first optimizer step: cold, and in a standby child.

The cold start is measured against the torch import that it cannot avoid, the warm one against the import it saves.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from bench.measure import ROOT, Figure, seconds_of
from codefy_agent.state import AgentState
from codefy_agent.testing import Agent
from codefy_control_plane.client import WatchedEvents, WatchedMetrics
from codefy_control_plane.testing import ControlPlane
from codefy_protocol.names import RunOptions, Target

ROUNDS = 5
WARM_ROUNDS = 9
GRAPH: dict[str, Any] = {
    "format_version": 1,
    "name": "first-node",
    # A seed makes the run import torch before its first node, as a training's first node would.
    "settings": {"seed": 1},
    "nodes": [{"id": "data", "type": "SklearnDataset", "position": {"x": 0, "y": 0}, "data": {"params": {}}}],
    "edges": [],
}
TORCH = [sys.executable, "-c", "import torch"]
STEP = """
import torch
from sklearn.datasets import load_wine
data = load_wine()
features, labels = torch.tensor(data.data, dtype=torch.float32), torch.tensor(data.target)
model = torch.nn.Sequential(torch.nn.Linear(13, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
optimizer.zero_grad()
torch.nn.functional.cross_entropy(model(features[:16]), labels[:16]).backward()
optimizer.step()
"""
"""The same first step by hand, in a process that is started for it."""


def training() -> dict[str, Any]:
    """The wine example, one epoch of it."""
    graph = json.loads((ROOT / "examples" / "wine-mlp.json").read_text())
    for node in graph["nodes"]:
        if node["type"] == "TrainingLoop":
            node["data"]["params"]["epochs"] = 1
    return graph


def node_runs(message: object) -> bool:
    return isinstance(message, WatchedEvents) and any(event.type == "node_status" for event in message.events)


def step_done(message: object) -> bool:
    return isinstance(message, WatchedMetrics) and any(point.name == "loss" for point in message.points)


async def seconds_until(server: ControlPlane, graph: dict[str, Any], reached: Any) -> float:
    """Seconds from the submission until a watcher is told what ``reached`` looks for."""
    started = time.perf_counter()
    submitted = await server.client.submit(graph, RunOptions(target=Target(worker="w1")))
    seconds = 0.0
    async for message in server.client.watch(submitted.run_id):
        if reached(message):
            seconds = seconds or time.perf_counter() - started
    ended = await server.client.run(submitted.run_id)
    if ended.status != "succeeded":
        raise RuntimeError(f"the run {ended.status}: {ended.error}")
    return seconds


async def cold_rounds() -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    async with (
        ControlPlane() as server,
        Agent(server.url, token_file=server.token_file, name="w1") as agent,
    ):
        await agent.connected()
        await seconds_until(server, GRAPH, node_runs)
        for _ in range(ROUNDS):
            floor = await asyncio.to_thread(seconds_of, TORCH)
            found.append((await seconds_until(server, GRAPH, node_runs), floor))
    return found


def standing_by(state: AgentState | None) -> bool:
    return state is not None and not state.runs and any(child.state == "ready" for child in state.standby)


async def warm_rounds(
    graph: dict[str, Any], reached: Any, floor: list[str], count: int
) -> list[tuple[float, float]]:
    """Every round in a standby child of its own; the floor is measured once a child is ready, so that they do not
    share the processor."""
    found: list[tuple[float, float]] = []
    async with (
        ControlPlane() as server,
        Agent(server.url, token_file=server.token_file, name="w1", standby="1") as agent,
    ):
        await agent.connected()
        await agent.until(standing_by, 600)
        await seconds_until(server, graph, reached)
        for _ in range(count):
            await agent.until(standing_by, 600)
            seconds = await asyncio.to_thread(seconds_of, floor)
            found.append((await seconds_until(server, graph, reached), seconds))
    return found


def measure() -> list[Figure]:
    return [
        Figure(
            "first_node_on_worker",
            "submit → first node running on a worker, cold",
            'python -c "import torch"',
            "s",
            asyncio.run(cold_rounds()),
        ),
        Figure(
            "first_node_warm",
            "submit → first node running on a worker, warm",
            'python -c "import torch"',
            "s",
            asyncio.run(warm_rounds(GRAPH, node_runs, TORCH, WARM_ROUNDS)),
        ),
        Figure(
            "first_step_warm",
            "submit → first optimizer step on a worker, warm",
            "a process that does that step",
            "s",
            asyncio.run(warm_rounds(training(), step_done, [sys.executable, "-c", STEP], ROUNDS)),
        ),
    ]
