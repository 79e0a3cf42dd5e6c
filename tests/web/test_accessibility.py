"""axe finds no serious fault on any page, in both themes, nor in what opens over a page."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.async_api import Page, expect

from codefy_control_plane.testing import ControlPlane

from .conftest import ROOT, OpenPage
from .test_canvas import node

pytestmark = [pytest.mark.web, pytest.mark.timeout(600)]

AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="module")
def axe() -> str:
    if not AXE.is_file():
        pytest.fail("axe is not here: run npm ci in web/")
    return AXE.read_text("utf-8")


async def faults(page: Page, axe: str, rules: list[str] | None) -> list[str]:
    """Each fault of serious or critical impact in one line: rule, element, why."""
    if not await page.evaluate("() => 'axe' in window"):
        # Evaluated by the debugger, because the page's policy lets no inline script in.
        await page.evaluate(axe)
    # What is still fading in has no colours of its own yet.
    await page.evaluate(
        """() => Promise.all(document.getAnimations()
          .filter((one) => one.effect?.getComputedTiming().iterations !== Infinity)
          .map((one) => one.finished.catch(() => undefined)))"""
    )
    script = """(rules) => axe
      .run(document, { resultTypes: ['violations'], ...(rules ? { runOnly: rules } : {}) })
      .then(({ violations }) => ({ all: violations }))"""
    found: dict[str, Any] = await page.evaluate(script, rules)
    return [
        f"{fault['id']}: {' '.join(one['target'])}: {one['failureSummary']}"
        for fault in found["all"]
        if fault["impact"] in ("serious", "critical")
        for one in fault["nodes"]
    ]


async def ran(server: ControlPlane) -> str:
    """A run of the example that has ended, whatever it learned."""
    graph = json.loads((ROOT / "examples" / "digits-cnn.json").read_text("utf-8"))
    (train,) = [one for one in graph["nodes"] if one["id"] == "train"]
    train["data"]["params"]["epochs"] = 1
    submitted = await server.client.submit(graph, name="digits-cnn")
    await server.client.wait(submitted.run_id)
    return submitted.run_id


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_no_page_has_a_serious_fault(
    server: ControlPlane, open_page: OpenPage, axe: str, theme: str
) -> None:
    run_id = await ran(server)
    page = await open_page("/", theme=theme)
    await page.emulate_media(reduced_motion="reduce", color_scheme="light" if theme == "light" else "dark")
    # The themes differ in their colours only.
    rules = ["color-contrast"] if theme == "dark" else None
    found: list[str] = []

    async def look(name: str) -> None:
        found.extend(f"{name}: {fault}" for fault in await faults(page, axe, rules))

    for path in ("/", "/runs", "/workers", "/settings", "/sweeps", *_run_pages(run_id)):
        await page.goto(server.url + path)
        await expect(page.get_by_role("heading").first).to_be_visible()
        await look(path)
    await page.goto(f"{server.url}/graphs/empty")
    await expect(page.get_by_role("heading", name="An empty canvas")).to_be_visible()
    await look("an empty canvas")

    await page.goto(f"{server.url}/graphs/digits-cnn")
    await node(page, "Training loop").click()
    panel = page.get_by_role("complementary", name="Selected node")
    results = page.get_by_role("region", name="Results")
    for tab in ("Parameters", "Outputs", "Help"):
        await panel.get_by_role("tab", name=tab).click()
        await expect(panel.get_by_role("tabpanel")).not_to_be_empty()
        await look(f"panel {tab}")
    for tab in ("Curves", "Console", "Outputs", "Problems"):
        await results.get_by_role("tab", name=tab).click()
        await expect(results.get_by_role("tabpanel")).not_to_be_empty()
        await look(f"results {tab}")
    for button, opened in (
        ("Queue on…", page.get_by_role("dialog")),
        ("All keys", page.get_by_role("dialog")),
        ("Add node", page.get_by_role("combobox")),
        ("Node library", page.get_by_role("complementary", name="Node library")),
    ):
        await page.get_by_role("button", name=button).first.click()
        await expect(opened.first).to_be_visible()
        await look(button)
        await page.keyboard.press("Escape")
    assert found == [], "\n".join(found)


def _run_pages(run_id: str) -> list[str]:
    return [f"/runs/{run_id}{tab}" for tab in ("", "/console", "/events", "/artifacts", "/environment")]
