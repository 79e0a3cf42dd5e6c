"""A page in a real Chromium before a real server, for the figures of the web UI: opening it, and reading its traces."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Browser, Page, Response, async_playwright

from codefy_control_plane.testing import ControlPlane

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
PATIENCE_MS = 120_000
COLUMNS = 25
"""Of the grid in which the nodes of a large graph stand."""


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """The browser of the web tests.

    Raises:
        FileNotFoundError: there is none.
    """
    named = os.environ.get("CODEFY_CHROMIUM")
    path = (
        named or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    )
    if path is None:
        raise FileNotFoundError("no Chromium: run scripts/ensure-chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        await browser.close()


@dataclass
class Opened:
    """A page of a server in a context of its own, with an empty cache."""

    page: Page
    scripts: dict[str, int] = field(default_factory=dict[str, int])
    """Bytes of each script that was loaded, compressed as gzip does it by default."""

    async def wait(self, condition: str, argument: Any = None) -> None:
        """Until a JavaScript expression holds, looked at in every frame."""
        await self.page.wait_for_function(condition, arg=argument, polling="raf")


@asynccontextmanager
async def opened(browser: Browser, server: ControlPlane) -> AsyncIterator[Opened]:
    """A blank page that is let into the server."""
    context = await browser.new_context(
        viewport={"width": 1440, "height": 900}, color_scheme="light", locale="en-GB"
    )
    context.set_default_timeout(PATIENCE_MS)
    await context.add_cookies([await _session(server)])
    opened_page = Opened(await context.new_page())

    async def note(response: Response) -> None:
        if response.ok and response.url.endswith(".js"):
            opened_page.scripts[response.url] = len(gzip.compress(await response.body()))

    opened_page.page.on("response", note)
    yield opened_page
    await context.close()


async def _session(server: ControlPlane) -> Any:
    """The cookie that the link with the token sets."""
    async with async_playwright() as playwright:
        request = await playwright.request.new_context()
        await request.get(f"{server.url}/settings?token={server.token}")
        cookies = (await request.storage_state()).get("cookies", [])
        await request.dispose()
    return cookies[0]


def large_graph(name: str, count: int) -> dict[str, Any]:
    """``count`` cheap nodes in rows of a grid, each row a chain of additions."""
    nodes: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = []
    for index in range(count):
        row, column = divmod(index, COLUMNS)
        first = column == 0
        nodes.append(
            {
                "id": f"n{index}",
                "type": "TensorByHand" if first else "TensorArithmetic",
                "position": {"x": column * 260, "y": row * 180},
                "data": {"params": {}},
            }
        )
        if not first:
            edges.append(
                {
                    "source": f"n{index - 1}",
                    "sourceHandle": "tensor" if column == 1 else "y",
                    "target": f"n{index}",
                    "targetHandle": "a",
                }
            )
    return {"format_version": 1, "name": name, "nodes": nodes, "edges": edges}


async def save(server: ControlPlane, graph: dict[str, Any]) -> None:
    """Put a graph on the server under its name."""
    body = json.dumps({"graph": graph}).encode()
    await server.client.request("PUT", f"/api/graphs/{graph['name']}", body=body)


def add_points(server: ControlPlane, run_id: str, count: int) -> None:
    """Metric points of an ended run: a loss that falls and jitters, one point per step."""
    rows = [
        (
            run_id,
            at,
            "loss",
            2.0 / (1 + at / 5000) + (at * 7919 % 1000) / 4000,
            at,
            None,
            "step",
            "train",
            at / 100,
        )
        for at in range(1, count + 1)
    ]
    database = sqlite3.connect(server.data_dir / "codefy.db", timeout=30)
    with database:
        database.execute("DELETE FROM exec_run_metrics WHERE run_id = ?", (run_id,))
        database.executemany(
            "INSERT INTO exec_run_metrics (run_id, cursor, name, value, step, epoch, scope, node_id, ts)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
        database.execute("UPDATE exec_runs SET metric_count = ? WHERE run_id = ?", (count, run_id))
    database.close()


WORK = frozenset(
    (
        "EvaluateScript",
        "FunctionCall",
        "TimerFire",
        "FireAnimationFrame",
        "FireIdleCallback",
        "EventDispatch",
        "RunMicrotasks",
        "UpdateLayoutTree",
        "Layout",
        "PrePaint",
    )
)
"""Trace events of script, style and layout on the page's main thread."""


@dataclass(frozen=True)
class Frames:
    """The frames of a trace in which the page did something."""

    work_ms: Sequence[float]
    """Processor time of script, style and layout in each: what else the machine does meanwhile does not count."""
    seconds: float

    @property
    def p95_ms(self) -> float:
        ordered = sorted(self.work_ms)
        return ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]

    @property
    def per_second(self) -> float:
        return len(self.work_ms) / self.seconds


def frames_of(trace: bytes) -> Frames:
    """The work of each frame of the page's main thread.

    Raises:
        ValueError: the trace holds no frame.
    """
    events: list[dict[str, Any]] = json.loads(trace)["traceEvents"]
    mains = {
        (one["pid"], one["tid"])
        for one in events
        if one.get("name") == "thread_name" and one["args"].get("name") == "CrRendererMain"
    }
    # Other renderers (a blank page, a helper) draw hardly any frames.
    by_thread: dict[tuple[int, int], list[dict[str, Any]]] = {
        main: [one for one in events if (one.get("pid"), one.get("tid")) == main] for main in mains
    }
    starts_of = {
        main: sorted(one["ts"] for one in all_ if one.get("name") == "BeginMainThreadFrame")
        for main, all_ in by_thread.items()
    }
    main = max(starts_of, key=lambda one: len(starts_of[one]), default=None)
    if main is None or len(starts_of[main]) < 2:
        raise ValueError("the trace holds no frames of the page")
    starts = starts_of[main]
    busy = _outermost(
        (one["ts"], one["ts"] + one["dur"], one["tdur"])
        for one in by_thread[main]
        if one.get("ph") == "X" and one.get("name") in WORK and one.get("dur", 0) > 0 and "tdur" in one
    )
    # What is done between the start of one frame and the start of the next belongs to one frame.
    work = [0.0] * len(starts)
    at = 0
    for begin, taken in busy:
        while at + 1 < len(starts) and starts[at + 1] <= begin:
            at += 1
        work[at] += taken / 1000
    return Frames([one for one in work if one > 0], (starts[-1] - starts[0]) / 1e6)


def _outermost(spans: Iterable[tuple[float, float, float]]) -> list[tuple[float, float]]:
    """Of spans (begin, end, time on the processor) in any order: begin and time of those that lie in no other."""
    found: list[tuple[float, float]] = []
    covered = float("-inf")
    for begin, end, taken in sorted(spans, key=lambda one: (one[0], -one[1])):
        if begin >= covered:
            found.append((begin, taken))
            covered = end
    return found
