"""A real server on a free port for every test, a client with its token, and nodes that need no torch."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from codefy_control_plane.server import Server
from codefy_control_plane.settings import Settings, load_settings
from codefy_engine.nodes.base import Node, NodeContext, node, output, param
from codefy_engine.nodes.registry import Registry, builtin_classes

BODY_LIMIT = 256 * 1024
RELEASED = threading.Event()
"""Lets every ``Wait`` node go on."""


@node(type="Chatter", title="Chatter", category="tests", icon="message")
class Chatter(Node):
    """Report many things and end."""

    warnings: int = param(3)
    points: int = param(0)
    bytes_each: int = param(10)
    seen: str = output("value")

    def run(self, ctx: NodeContext) -> Any:
        for number in range(self.warnings):
            ctx.inner(["part", str(number)], "built", text="x" * self.bytes_each)
        for step in range(1, self.points + 1):
            ctx.metric("loss", float("nan") if step == 1 else 1.0 / step, step)
        print("chatter is done")
        return "done"


@node(type="Wait", title="Wait", category="tests", icon="hourglass")
class Wait(Node):
    """Run until released or stopped."""

    seen: str = output("value")

    def run(self, ctx: NodeContext) -> Any:
        print("waiting")
        while not RELEASED.wait(0.01):
            ctx.check_stop()
        return "released"


@node(type="Files", title="Files", category="tests", icon="file")
class Files(Node):
    """Make a picture and a binary file."""

    seen: str = output("value")

    def run(self, ctx: NodeContext) -> Any:
        picture = ctx.artifact_path("plot.svg")
        picture.write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
        ctx.artifact("image", "plot.svg", picture, "image/svg+xml")
        page = ctx.artifact_path("report.html")
        page.write_bytes(bytes(range(256)))
        ctx.artifact("file", "report «1».html", page, "text/html")
        return "done"


@pytest.fixture(scope="session")
def registry() -> Registry:
    return Registry([*builtin_classes(), Chatter, Wait, Files])


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({}, data_dir=tmp_path / "data", port=0, max_body_bytes=BODY_LIMIT)


@pytest.fixture
async def server(settings: Settings, registry: Registry) -> AsyncIterator[Server]:
    RELEASED.clear()
    async with Server(settings, registry) as server:
        yield server


@pytest.fixture
async def client(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"x-codefy-token": server.token}
    async with httpx.AsyncClient(base_url=server.url, headers=headers, trust_env=False, timeout=30) as client:
        yield client


@pytest.fixture
async def stranger(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    """A client without the token."""
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=30) as client:
        yield client


@pytest.fixture
def release() -> Callable[[], None]:
    return RELEASED.set


@pytest.fixture
def graph_of() -> Callable[..., dict[str, Any]]:
    """Make a graph of one node: ``graph_of("Chatter", points=5)``."""

    def make(node_type: str, **params: Any) -> dict[str, Any]:
        the_node = {"id": "n", "type": node_type, "position": {"x": 0, "y": 0}, "data": {"params": params}}
        return {"format_version": 1, "name": "test", "nodes": [the_node], "edges": []}

    return make


class Runs:
    """Submits runs and waits for them over HTTP."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def submit(self, graph: dict[str, Any], **body: Any) -> str:
        response = await self._client.post("/api/runs", json={"graph": graph, **body})
        assert response.status_code == 201, response.text
        return response.json()["run_id"]

    async def wait(self, run_id: str) -> list[dict[str, Any]]:
        """All events of the run, once it has ended."""
        events: list[dict[str, Any]] = []
        async with asyncio.timeout(60):
            while True:
                answer = await self._client.get(
                    f"/api/runs/{run_id}/events", params={"cursor": len(events), "wait": 10}
                )
                page = answer.json()
                events += page["events"]
                if page["ended"] and not page["events"]:
                    return events


@pytest.fixture
def runs(client: httpx.AsyncClient) -> Runs:
    return Runs(client)
