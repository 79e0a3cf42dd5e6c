"""A run service over a real database, with small nodes that a test holds and lets go."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from codefy_control_plane.api.schemas import RunDetail, RunSubmitted, StoredEvent, StoredMetric
from codefy_control_plane.runs.local_devices import LocalDevices
from codefy_control_plane.runs.ports import Workers
from codefy_control_plane.runs.service import RunService
from codefy_control_plane.settings import Settings, load_settings
from codefy_control_plane.storage.database import Database
from codefy_engine.graph.builder import Builder
from codefy_engine.nodes.base import Node, NodeContext, Secret, node, output, param
from codefy_engine.nodes.registry import Registry
from codefy_protocol.frames import Device
from codefy_protocol.names import RunOptions
from codefy_protocol.reasons import DEVICE_FALLBACK, reason

PATIENCE_S = 30.0


class Gates:
    """Events by name that nodes wait for and announce themselves with."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.opened: dict[str, threading.Event] = {}
        self.reached: dict[str, threading.Event] = {}
        self.seen: list[str] = []
        """What nodes were given."""

    def _event(self, events: dict[str, threading.Event], name: str) -> threading.Event:
        with self.lock:
            return events.setdefault(name, threading.Event())

    def wait(self, name: str) -> bool:
        self._event(self.reached, name).set()
        return self._event(self.opened, name).wait(PATIENCE_S)

    def is_open(self, name: str) -> bool:
        self._event(self.reached, name).set()
        return self._event(self.opened, name).wait(0.005)

    def open(self, name: str) -> None:
        self._event(self.opened, name).set()

    def open_all(self) -> None:
        with self.lock:
            for event in self.opened.values():
                event.set()

    async def until_reached(self, name: str) -> None:
        assert await asyncio.to_thread(self._event(self.reached, name).wait, PATIENCE_S)


GATES = Gates()


@node(type="Count", title="Count", category="tests", icon="x")
class Count(Node):
    """Report a number of steps."""

    steps: int = param(3, ge=0)
    last: str = output("value")

    def run(self, ctx: NodeContext) -> Any:
        for step in range(1, self.steps + 1):
            ctx.metric("loss", 1.0 / step, step)
            ctx.progress(current=step, total=self.steps)
        return "done"


@node(type="Say", title="Say", category="tests", icon="x")
class Say(Node):
    """Print to the console and write a file."""

    text: str = param("hello")
    file: str = param("")
    said: str = output("value")

    def run(self, ctx: NodeContext) -> Any:
        print(self.text)
        if self.file:
            path = ctx.artifact_path(self.file)
            path.write_text(self.text)
            ctx.artifact("text", self.file, path, "text/plain")
        return self.text


@node(type="Diverge", title="Diverge", category="tests", icon="x")
class Diverge(Node):
    """Report numbers that are none."""

    done: str = output("value")

    def run(self, ctx: NodeContext) -> Any:
        ctx.metric("loss", float("nan"), 1)
        ctx.metric("gain", float("inf"), 1)
        ctx.metric("loss_low", float("-inf"), 1)
        return "done"


@node(type="Break", title="Break", category="tests", icon="x")
class Break(Node):
    """Fail."""

    done: str = output("value")

    def run(self, ctx: NodeContext) -> Any:
        raise RuntimeError("this node always fails")


@node(type="Hold", title="Hold", category="tests", icon="x")
class Hold(Node):
    """Go on until the gate opens, or the run is stopped."""

    gate: str = param("gate")
    done: str = output("value")

    def run(self, ctx: NodeContext) -> Any:
        while not GATES.is_open(self.gate):
            ctx.check_stop()
        return "let go"


@node(type="Stubborn", title="Stubborn", category="tests", icon="x")
class Stubborn(Node):
    """Go on until the gate opens, whatever anyone says."""

    gate: str = param("gate")
    done: str = output("value")

    def run(self, ctx: NodeContext) -> Any:
        GATES.wait(self.gate)
        return "let go"


@node(type="Login", title="Log in", category="tests", icon="key")
class Login(Node):
    """Use a secret, and tell everybody."""

    token: Secret | None = param(None, kind="secret")
    fail: bool = param(False)
    done: str = output("value")

    def run(self, ctx: NodeContext) -> Any:
        value = ctx.secret(self.token)
        GATES.seen.append(value)
        print(f"printed: {value}")
        print("printed in parts: " + value[:9], end="")
        print(value[9:])
        sys.stderr.write(f"and {value}, at once")
        logging.getLogger("a.node").warning("a node logs: %s", value)
        ctx.progress(0.5, text=f"with {value}")
        ctx.warn(reason(DEVICE_FALLBACK, wanted=value, used="cpu"))
        if self.fail:
            raise RuntimeError(f"not liked: {value}")
        return f"<{value}>"


REGISTRY = Registry([Count, Say, Diverge, Break, Hold, Stubborn, Login])


def graph(*nodes: tuple[str, dict[str, Any]], name: str = "test", device: str | None = None) -> bytes:
    """A document of independent nodes."""
    builder = Builder(name, registry=REGISTRY, device=device)
    for node_type, params in nodes:
        builder.add(node_type, **params)
    return builder.to_bytes()


class House:
    """A service with its database, and short ways to use it."""

    def __init__(self, data_dir: Path, **settings: Any) -> None:
        self.settings: Settings = load_settings({}, data_dir=data_dir, **settings)
        self.devices = [Device(name="cpu", kind="cpu")]
        self.workers: Workers | None = None
        self.gates = GATES
        self.database: Database
        self.service: RunService

    graph = staticmethod(graph)
    registry = REGISTRY

    async def open(self) -> None:
        self.database = await Database.open(self.settings.database_path)
        self.service = RunService(
            self.settings,
            self.database,
            registry=REGISTRY,
            devices=LocalDevices(lambda: self.devices),
        )
        if self.workers is not None:
            self.service.attach(self.workers)
        await self.service.start()

    async def close(self) -> None:
        await self.service.close()
        await self.database.close()

    async def submit(
        self, *nodes: tuple[str, dict[str, Any]], name: str = "", **options: Any
    ) -> RunSubmitted:
        document = graph(*(nodes or (("Count", {}),)))
        return await self.service.submit(document, RunOptions(**options), name)

    async def hold(self, gate: str, **options: Any) -> str:
        """Submit a run that holds until ``house.gates.open(gate)``; returns its id."""
        return (await self.submit(("Hold", {"gate": gate}), **options)).run_id

    async def watch(
        self, run_id: str, cursor: int = 0, metrics_cursor: int = 0
    ) -> tuple[list[StoredEvent], list[StoredMetric]]:
        """Everything of a run until its end, from the feed."""
        events: list[StoredEvent] = []
        metrics: list[StoredMetric] = []
        async with asyncio.timeout(PATIENCE_S):
            async with aclosing(self.service.feed.subscribe(run_id, cursor, metrics_cursor)) as feed:
                async for batch in feed:
                    events += batch.events
                    metrics += batch.metrics
        return events, metrics

    async def ended(self, run_id: str) -> RunDetail:
        await self.watch(run_id)
        return await self.service.get(run_id)

    async def until(self, run_id: str, true: Callable[[RunDetail], bool]) -> RunDetail:
        """The run once ``true`` holds of it."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                seen = self.service.runs_changed.version
                detail = await self.service.get(run_id)
                if true(detail):
                    return detail
                await self.service.runs_changed.wait(seen)

    async def until_slots(self, used: int, device: str = "cpu", worker: str = "local") -> None:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                seen = self.service.runs_changed.version
                if self.service.slots(worker, device).used == used:
                    return
                await self.service.runs_changed.wait(seen)


@pytest.fixture
async def make_house(tmp_path: Path) -> AsyncIterator[Callable[..., House]]:
    """Makes houses over one data folder; closes those that were opened."""
    GATES.opened.clear()
    GATES.reached.clear()
    houses: list[House] = []

    def make(**settings: Any) -> House:
        house = House(tmp_path / "data", **settings)
        houses.append(house)
        return house

    yield make
    GATES.open_all()
    for house in houses:
        if hasattr(house, "service"):
            await house.close()


@pytest.fixture
async def house(make_house: Callable[..., House]) -> House:
    opened = make_house()
    await opened.open()
    return opened
