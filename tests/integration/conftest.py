"""Real servers, agents and run children."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from codefy_agent.testing import Agent
from codefy_control_plane.api.schemas import StoredEvent
from codefy_control_plane.testing import ControlPlane
from codefy_engine.nodes.registry import default_registry

ROOT = Path(__file__).parent.parent.parent
DIGITS = ROOT / "examples" / "digits-cnn.json"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.integration)
            item.add_marker(pytest.mark.timeout(240))


@pytest.fixture
async def server() -> AsyncIterator[ControlPlane]:
    async with ControlPlane() as running:
        yield running


@pytest.fixture
async def agent(server: ControlPlane) -> AsyncIterator[Agent]:
    async with Agent(server.url, token_file=server.token_file, name="w1") as running:
        await running.connected()
        yield running


@pytest.fixture
async def scripted_agent(server: ControlPlane) -> AsyncIterator[Agent]:
    """An agent whose run children follow a script instead of importing torch."""
    async with Agent(
        server.url, token_file=server.token_file, name="w1", scripted=True, node_types=default_registry()
    ) as running:
        await running.connected()
        yield running


def digits(epochs: int | None = None) -> dict[str, Any]:
    """The digits example, its number of epochs changed."""
    graph = json.loads(DIGITS.read_text())
    if epochs is not None:
        for node in graph["nodes"]:
            if node["id"] == "train":
                node["data"]["params"]["epochs"] = epochs
    return graph


def scripted(*steps: list[Any]) -> dict[str, Any]:
    """A valid graph that tells a scripted run child what to do."""
    nodes = [{"id": "loss", "type": "CrossEntropyLoss", "position": {"x": 0, "y": 0}, "data": {"params": {}}}]
    return {"format_version": 1, "name": "scripted", "nodes": nodes, "edges": [], "script": list(steps)}


def payload(event: StoredEvent) -> Any:
    return json.loads(bytes(event.payload))


def assert_whole(events: list[StoredEvent]) -> None:
    """The list starts and ends as it must, without a gap, and nothing follows the end."""
    terminal = {"execution_complete", "execution_error", "execution_stopped"}
    assert [event.cursor for event in events] == list(range(1, len(events) + 1))
    assert events[0].type == "execution_start"
    assert [event.type for event in events if event.type in terminal] == [events[-1].type]


def run_dir(server: ControlPlane, run_id: str) -> Path:
    """Folder of a run on the server's own machine; a same-machine worker's child runs in it too."""
    return server.data_dir / "runs" / run_id


def go_on(server: ControlPlane, run_id: str, name: str) -> None:
    """Let a scripted child go on that waits for the file ``name``."""
    (run_dir(server, run_id) / name).touch()
