"""What the agent costs before it does anything: import time and resident memory."""

from __future__ import annotations

import asyncio
import sys

from bench.measure import Figure, idle_mib, resident_mib, seconds_of
from codefy_agent.testing import Agent
from codefy_control_plane.testing import ControlPlane

FLOOR = "import msgspec, websockets, httpx, click"
ROUNDS = 11


def import_time() -> Figure:
    floor = [sys.executable, "-c", FLOOR]
    agent = [sys.executable, "-c", "import codefy_agent.agent, codefy_agent.cli"]
    for command in (floor, agent):
        seconds_of(command)
    rounds = [(seconds_of(agent), seconds_of(floor)) for _ in range(ROUNDS)]
    return Figure("agent_import_time", "agent import", f'python -c "{FLOOR}"', "s", rounds)


async def agent_mib() -> list[float]:
    """Resident memory of three agents that are connected and idle."""
    found: list[float] = []
    async with ControlPlane() as server:
        for index in range(3):
            async with Agent(server.url, token_file=server.token_file, name=f"w{index}") as agent:
                await agent.connected()
                found.append(resident_mib(agent.pid))
    return found


def measure() -> list[Figure]:
    memory = [(value, idle_mib(FLOOR)) for value in asyncio.run(agent_mib())]
    return [
        import_time(),
        Figure(
            "agent_resident_memory", "connected idle agent, resident", f'python -c "{FLOOR}"', "MiB", memory
        ),
    ]
