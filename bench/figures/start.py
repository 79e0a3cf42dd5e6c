"""From a submission to the first node that runs on a worker, against the torch import that no cold start can avoid."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

from bench.measure import Figure, seconds_of
from codefy_agent.testing import Agent
from codefy_control_plane.client import WatchedEvents
from codefy_control_plane.testing import ControlPlane
from codefy_protocol.names import RunOptions, Target

ROUNDS = 5
GRAPH: dict[str, Any] = {
    "format_version": 1,
    "name": "first-node",
    # A seed makes the run import torch before its first node, as a training's first node would.
    "settings": {"seed": 1},
    "nodes": [{"id": "data", "type": "SklearnDataset", "position": {"x": 0, "y": 0}, "data": {"params": {}}}],
    "edges": [],
}


async def first_node_s(server: ControlPlane) -> float:
    """Seconds from the submission until a watcher sees the first node running."""
    started = time.perf_counter()
    submitted = await server.client.submit(GRAPH, RunOptions(target=Target(worker="w1")))
    seconds = 0.0
    async for message in server.client.watch(submitted.run_id):
        if isinstance(message, WatchedEvents) and any(
            event.type == "node_status" for event in message.events
        ):
            seconds = seconds or time.perf_counter() - started
    ended = await server.client.run(submitted.run_id)
    if ended.status != "succeeded":
        raise RuntimeError(f"the run {ended.status}: {ended.error}")
    return seconds


async def rounds() -> list[tuple[float, float]]:
    torch_import = [sys.executable, "-c", "import torch"]
    found: list[tuple[float, float]] = []
    async with (
        ControlPlane() as server,
        Agent(server.url, token_file=server.token_file, name="w1") as agent,
    ):
        await agent.connected()
        await first_node_s(server)
        for _ in range(ROUNDS):
            floor = await asyncio.to_thread(seconds_of, torch_import)
            found.append((await first_node_s(server), floor))
    return found


def measure() -> list[Figure]:
    return [
        Figure(
            "first_node_on_worker",
            "submit → first node running on a worker, cold",
            'python -c "import torch"',
            "s",
            asyncio.run(rounds()),
        )
    ]
