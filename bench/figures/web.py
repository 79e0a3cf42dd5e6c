"""What the web UI costs: the script it needs at first, its first paint, a frame of a large graph, and a large run shown.

The floors are the budgets that a person feels, so that 1 is the goal of each; growth is against twice the half.
"""

from __future__ import annotations

import asyncio
from typing import Any

from playwright.async_api import Browser, Page

from bench.figures.web_page import Frames, add_points, chromium, frames_of, large_graph, opened, save
from bench.measure import Figure
from codefy_control_plane.testing import ControlPlane

ROUNDS = 3
SCRIPT_KB = 350.0
PAINT_MS = 1000.0
FRAME_MS = 16.0
POINTS = 100_000
DRAW_MS = 200.0
SHOWN_MS = 500.0
NODES = 500
RUN_NODES = 1000

FIRST_NODE = """() => document.querySelector('article[data-node]') !== null"""
CATEGORIES = ("devtools.timeline", "devtools.timeline.frame", "disabled-by-default-devtools.timeline.frame")

ALL_DONE = """() => {
  // Looking must cost the page little: all nodes are read only when none can be running any more.
  if (document.querySelector('.run-stop') !== null) return 0;
  const nodes = [...document.querySelectorAll('article[data-node]')];
  const done = nodes.length > 0 && nodes.every((one) => /succeeded|reused/.test(one.getAttribute('aria-label')));
  return done ? Date.now() : 0;
}"""


async def first_load(browser: Browser, server: ControlPlane) -> tuple[float, float]:
    """Kilobytes of script that a graph needs to be shown, and milliseconds until its nodes were painted."""
    async with opened(browser, server) as page:
        await page.page.add_init_script(
            """new MutationObserver((_, observer) => {
              if (document.querySelector('article[data-node]') === null) return;
              observer.disconnect();
              requestAnimationFrame(() => requestAnimationFrame(() => { window.paintedMs = performance.now(); }));
            }).observe(document, { childList: true, subtree: true });"""
        )
        await page.page.goto(f"{server.url}/graphs/digits-cnn")
        await page.wait("() => window.paintedMs !== undefined")
        # What was asked for before the nodes were there is what the first sight needs.
        needed: list[str] = await page.page.evaluate(
            "() => performance.getEntriesByType('resource').filter((one) => one.startTime < window.paintedMs)"
            ".map((one) => one.name)"
        )
        painted: float = await page.page.evaluate("() => window.paintedMs")
        return sum(size for url, size in page.scripts.items() if url in needed) / 1000, painted


async def frames(browser: Browser, page: Page, act: str) -> Frames:
    """Trace one way to move a graph about."""
    await browser.start_tracing(page=page, categories=list(CATEGORIES))
    await MOVES[act](page)
    return frames_of(await browser.stop_tracing())


async def pan(page: Page) -> None:
    """Drag the canvas with the middle button, which never meets a node."""
    await page.mouse.move(700, 450)
    await page.mouse.down(button="middle")
    for step in range(60):
        await page.mouse.move(700 - 6 * step, 450 - 4 * step)
        await next_frame(page)
    await page.mouse.up(button="middle")


async def zoom(page: Page) -> None:
    await page.mouse.move(700, 450)
    for step in range(40):
        await page.mouse.wheel(0, -40 if step < 20 else 40)
        await next_frame(page)


async def drag(page: Page) -> None:
    box = await page.locator("article[data-node] .node-head").nth(3).bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    await page.mouse.move(x, y)
    await page.mouse.down()
    for step in range(60):
        await page.mouse.move(x + 3 * step, y + 2 * step)
        await next_frame(page)
    await page.mouse.up()


MOVES = {"pan": pan, "zoom": zoom, "drag": drag}


async def next_frame(page: Page) -> None:
    await page.evaluate("() => new Promise((resolve) => requestAnimationFrame(resolve))")


async def moving(browser: Browser, server: ControlPlane) -> list[Figure]:
    """Frames of a graph of 500 nodes."""
    await save(server, large_graph("large", NODES))
    found: dict[str, list[Frames]] = {act: [] for act in MOVES}
    async with opened(browser, server) as page:
        await page.page.goto(f"{server.url}/graphs/large")
        await page.wait(FIRST_NODE)
        await page.page.wait_for_load_state("networkidle")
        for _ in range(ROUNDS):
            for act, seen in found.items():
                seen.append(await frames(browser, page.page, act))
    figures: list[Figure] = []
    for act, seen in found.items():
        rate = sum(one.per_second for one in seen) / len(seen)
        figures.append(
            Figure(
                f"web_{act}",
                f"{act} {NODES} nodes, script and layout a frame, p95 ({rate:.0f} frames/s)",
                "the budget",
                "ms",
                [(one.p95_ms, FRAME_MS) for one in seen],
            )
        )
    return figures


async def points_drawn(browser: Browser, server: ControlPlane) -> list[tuple[float, float]]:
    """Milliseconds from a press on the scale until 100,000 points are drawn anew."""
    submitted = await server.client.submit(large_graph("small", 1))
    await server.client.wait(submitted.run_id)
    await asyncio.to_thread(add_points, server, submitted.run_id, POINTS)
    script = """(name) => new Promise((resolve) => {
      const radio = [...document.querySelectorAll('[role=radio]')].find((one) => one.textContent === name);
      const began = performance.now();
      radio.click();
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)));
    })"""
    found: list[tuple[float, float]] = []
    async with opened(browser, server) as page:
        await page.page.goto(f"{server.url}/runs/{submitted.run_id}")
        await page.wait(f"() => document.querySelector('[data-points=\"{POINTS}\"]') !== null")
        await next_frame(page.page)
        for _ in range(ROUNDS):
            for name in ("Log", "Linear"):
                found.append((await page.page.evaluate(script, name), DRAW_MS))
    return found


async def run_shown(
    browser: Browser, server: ControlPlane, count: int, attempt: int = 0
) -> tuple[float, float]:
    """Milliseconds from the engine's last event until the page shows all of it, and from the press until then."""
    # A name of its own: a graph that has run shows its last run when it is opened.
    name = f"run{count}-{attempt}"
    graph: dict[str, Any] = large_graph(name, count)
    await save(server, graph)
    async with opened(browser, server) as page:
        await page.page.goto(f"{server.url}/graphs/{name}")
        await page.wait(FIRST_NODE)
        await page.page.wait_for_load_state("networkidle")
        pressed: float = await page.page.evaluate("() => Date.now()")
        await page.page.get_by_role("button", name="Run here").first.click()
        shown = await (await page.page.wait_for_function(ALL_DONE, polling="raf")).json_value()
        (run,) = [one for one in (await server.client.runs()).runs if one.graph_name == name][:1]
        assert run.ended_at is not None
        return shown - run.ended_at * 1000, shown - pressed


async def everything() -> list[Figure]:
    async with ControlPlane() as server, chromium() as browser:
        loads = [await first_load(browser, server) for _ in range(ROUNDS)]
        figures = [
            Figure(
                "web_script",
                "script of the first sight, gzip",
                "the budget",
                "kB",
                [(loads[0][0], SCRIPT_KB)],
            ),
            Figure(
                "web_paint",
                "first nodes painted, cold",
                "the budget",
                "ms",
                [(ms, PAINT_MS) for _, ms in loads],
            ),
        ]
        figures += await moving(browser, server)
        drawn = await points_drawn(browser, server)
        figures.append(Figure("web_points", f"{POINTS:,} points drawn", "the budget", "ms", drawn))
        await run_shown(browser, server, 10)
        halves: list[float] = []
        wholes: list[tuple[float, float]] = []
        for attempt in range(ROUNDS):
            halves.append((await run_shown(browser, server, RUN_NODES // 2, attempt))[1])
            wholes.append(await run_shown(browser, server, RUN_NODES, attempt))
    late = [(ms, SHOWN_MS) for ms, _ in wholes]
    growth = [(whole, 2 * half) for (_, whole), half in zip(wholes, halves, strict=True)]
    figures.append(Figure("web_run_shown", f"{RUN_NODES} nodes: ended → shown", "the budget", "ms", late))
    figures.append(
        Figure("web_run_growth", f"{RUN_NODES} nodes: press → shown", f"twice {RUN_NODES // 2}", "ms", growth)
    )
    return figures


def measure() -> list[Figure]:
    return asyncio.run(everything())
