"""The first story of the page: open the example, change a parameter, run it, watch it, come back to it."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from codefy_control_plane.testing import ControlPlane

from .conftest import PATIENCE_MS, SHOTS, OpenPage

pytestmark = [pytest.mark.web, pytest.mark.timeout(600)]

WORDS = {
    "en": {
        "epochs": "Epochs",
        "run": "Run here",
        "done": "succeeded",
        "running": "running",
        "saved": "Saved · revision",
        "loss": "loss",
        "parameters": "6,090 parameters",
    },
    "zh-Hant": {
        "epochs": "訓練回合",
        "run": "在此執行",
        "done": "成功",
        "running": "執行中",
        "saved": "已儲存 · 修訂",
        "loss": "損失",
        "parameters": "6,090 個參數",
    },
}
NODES = ("Digits", "Split", "Batches", "DigitsCNN", "AdamW", "Cross-entropy", "Training loop", "Evaluate")


def node(page: Page, title: str, state: str | None = None) -> Any:
    """A node by its accessible name: its title, then its state when one is given."""
    after = "([,，]|$)" if state is None else f"[,，] ?{state}"
    return page.get_by_role("article", name=re.compile(f"^{re.escape(title)}{after}"))


async def drawn(page: Page, title: str) -> int:
    """Pixels of the chart called ``title`` that are in its first series' colour."""
    script = """([title]) => {
      const figure = [...document.querySelectorAll('figure')].find((one) => one.textContent.includes(title));
      const canvas = figure?.querySelector('canvas');
      if (!canvas) return 0;
      const probe = document.createElement('i');
      probe.style.color = getComputedStyle(document.documentElement).getPropertyValue('--t-tensor');
      document.body.append(probe);
      const [r, g, b] = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
      probe.remove();
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      let count = 0;
      for (let i = 0; i < data.length; i += 4) {
        const near = Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b);
        if (near < 24 && data[i + 3] > 128) count += 1;
      }
      return count;
    }"""
    return await page.evaluate(script, [title])


async def until_drawn(page: Page, title: str) -> None:
    """Wait until the chart called ``title`` holds a line rather than a dot."""
    async with asyncio.timeout(PATIENCE_MS / 1000):
        while await drawn(page, title) < 60:
            await page.wait_for_timeout(50)


async def set_epochs(page: Page, words: dict[str, str], epochs: int) -> None:
    await node(page, "Training loop").click()
    field = page.get_by_role("textbox", name=words["epochs"])
    await field.fill(str(epochs))
    await field.press("Enter")
    await expect(page.get_by_text(words["saved"])).to_be_visible()


@pytest.mark.parametrize("language", ["en", "zh-Hant"])
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_the_example_is_changed_run_and_watched(
    server: ControlPlane, open_page: OpenPage, theme: str, language: str
) -> None:
    words = WORDS[language]
    page = await open_page("/graphs/digits-cnn", theme=theme, language=language)
    assert await page.evaluate("document.documentElement.dataset.theme") == theme
    assert await page.evaluate("document.documentElement.lang") == language
    for title in NODES:
        await expect(node(page, title)).to_be_visible()

    await set_epochs(page, words, 3)
    await page.get_by_role("button", name=words["run"]).click()
    for title in NODES:
        await expect(node(page, title, words["done"])).to_be_visible()
    await until_drawn(page, words["loss"])
    # What the run built is told on the module: its layers with their shapes, and how much there is to train.
    await expect(node(page, "DigitsCNN").get_by_text("32×4×4").first).to_be_visible()
    await expect(node(page, "DigitsCNN").get_by_text(words["parameters"])).to_be_visible()

    SHOTS.mkdir(parents=True, exist_ok=True)
    await page.screenshot(path=SHOTS / f"canvas-{theme}-{language}.png")

    runs = await server.client.runs()
    (run,) = runs.runs
    assert (run.status, run.lane, run.graph_name) == ("succeeded", "interactive", "digits-cnn")
    saved = await page.evaluate("fetch('/api/graphs/digits-cnn').then((answer) => answer.json())")
    (train,) = [one for one in saved["graph"]["nodes"] if one["id"] == "train"]
    assert train["data"]["params"]["epochs"] == 3


async def events_shown(page: Page, folder: Path) -> list[dict[str, Any]]:
    """The page's own list of events, as its download gives it."""
    async with page.expect_download() as waiting:
        await page.get_by_role("button", name="Download the events").click()
    download = await waiting.value
    path = folder / download.suggested_filename
    await download.save_as(path)
    return json.loads(path.read_text("utf-8"))


async def test_a_reload_in_mid_run_loses_nothing(
    server: ControlPlane, open_page: OpenPage, tmp_path: Path
) -> None:
    words = WORDS["en"]
    canvas = await open_page("/graphs/digits-cnn")
    await set_epochs(canvas, words, 400)
    await canvas.get_by_role("button", name=words["run"]).click()
    await expect(node(canvas, "Training loop", "running")).to_be_visible()
    await until_drawn(canvas, words["loss"])
    (run,) = (await server.client.runs()).runs

    # Two more browsers follow the same run; one of them, and the canvas, are loaded again in the middle of it.
    steady = await open_page(f"/runs/{run.run_id}/events")
    restless = await open_page(f"/runs/{run.run_id}/events")
    for page in (steady, restless):
        await expect(page.get_by_role("table").get_by_text("execution_start")).to_be_visible()
    await restless.reload()
    await canvas.reload()
    await expect(node(canvas, "Digits", "succeeded")).to_be_visible()
    await expect(node(canvas, "Training loop", "running")).to_be_visible()
    await expect(node(canvas, "Evaluate", "queued")).to_be_visible()
    await until_drawn(canvas, words["loss"])

    await canvas.get_by_role("button", name="Stop").click()
    await expect(node(canvas, "Training loop", "cancelled")).to_be_visible()
    await expect(canvas.get_by_role("button", name=words["run"])).to_be_visible()
    for page in (steady, restless):
        await expect(page.get_by_test_id("event-count")).to_contain_text("complete")
    stored = await restless.evaluate(
        "id => fetch(`/api/runs/${id}/events?limit=5000`).then((answer) => answer.json())", run.run_id
    )
    assert stored["events"][-1]["type"] == "execution_stopped"
    assert await events_shown(steady, tmp_path) == stored["events"]
    assert await events_shown(restless, tmp_path) == stored["events"]


async def test_a_wrong_wire_is_refused_with_its_reason(open_page: OpenPage) -> None:
    page = await open_page("/graphs/digits-cnn")
    await expect(node(page, "Evaluate")).to_be_visible()
    await page.wait_for_timeout(300)
    start = await node(page, "AdamW").locator(".port-output").bounding_box()
    end = await node(page, "Evaluate").locator(".port-input").first.bounding_box()
    assert start is not None
    assert end is not None
    await page.mouse.move(start["x"] + 5, start["y"] + 7)
    await page.mouse.down()
    await page.mouse.move(end["x"] - 60, end["y"] + 60, steps=4)
    await page.mouse.move(end["x"] + 4, end["y"] + 6, steps=4)
    await expect(
        page.get_by_text("Evaluate takes dataset at data; this wire gives optimizer.")
    ).to_be_visible()
    await page.mouse.up()
    await expect(page.get_by_text("8 nodes · 9 wires")).to_be_visible()


async def test_problems_lead_to_their_node_and_undo_brings_all_back(open_page: OpenPage) -> None:
    page = await open_page("/graphs/digits-cnn")
    await node(page, "Batches").click()
    await page.keyboard.press("Delete")
    await expect(page.get_by_role("button", name="1 problem")).to_be_visible()
    await expect(node(page, "Training loop", "needs something")).to_be_visible()
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="1 problem").click()
    await page.get_by_role("button", name=re.compile("needs its input 'train'")).click()
    await expect(page.get_by_role("complementary", name="Selected node")).to_contain_text("Training loop")
    # A run of a graph with problems is refused, and nothing is stored of it.
    await page.get_by_role("button", name="Run here").click()
    await expect(page.get_by_role("alert").filter(has_text="The run was not started.")).to_be_visible()
    await page.get_by_role("button", name="Dismiss").click()
    await page.keyboard.press("Control+z")
    await expect(page.get_by_role("button", name="No problems")).to_be_visible()
    await expect(page.get_by_text("8 nodes · 9 wires")).to_be_visible()


async def test_a_node_is_added_and_wired_from_the_keyboard(open_page: OpenPage) -> None:
    page = await open_page("/graphs/untitled")
    await expect(page.get_by_role("heading", name="An empty canvas")).to_be_visible()
    await page.keyboard.press("/")
    await page.keyboard.type("built")
    await page.keyboard.press("Enter")
    await expect(node(page, "Built-in data")).to_be_focused()
    await page.keyboard.press("/")
    await page.keyboard.type("split")
    await page.keyboard.press("Enter")
    await expect(node(page, "Split")).to_be_focused()
    await expect(page.get_by_text("2 nodes · 0 wires")).to_be_visible()
    await page.keyboard.press("Control+z")
    await expect(node(page, "Split")).to_have_count(0)
    await page.keyboard.press("Control+Shift+z")
    await expect(node(page, "Split")).to_be_visible()
    await expect(page.get_by_text("Saved · revision")).to_be_visible()
    await page.reload()
    await expect(node(page, "Split")).to_be_visible()


async def test_queue_on_sends_the_graph_to_the_chosen_place(
    server: ControlPlane, open_page: OpenPage
) -> None:
    page = await open_page("/graphs/digits-cnn")
    await set_epochs(page, WORDS["en"], 1)
    await page.get_by_role("button", name="Queue on…").click()
    dialog = page.get_by_role("dialog", name="Queue a run")
    await expect(dialog.get_by_role("radio", name=re.compile("This server"))).to_be_checked()
    await dialog.get_by_role("button", name="Queue", exact=True).click()
    await expect(page.get_by_text("Run 1 is queued.")).to_be_visible()
    await expect(node(page, "Evaluate", "succeeded")).to_be_visible()
    (run,) = (await server.client.runs()).runs
    assert (run.lane, run.status) == ("queued", "succeeded")
