"""Runs, a run, workers and home, in a real browser before a real server."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from codefy_agent.testing import Agent
from codefy_control_plane.testing import ControlPlane
from codefy_protocol.names import RunOptions, Target

from .conftest import PATIENCE_MS, ROOT, SHOTS, OpenPage

pytestmark = [pytest.mark.web, pytest.mark.timeout(600)]


def digits(epochs: int, *, name: str = "digits-cnn", printing: bool = False) -> bytes:
    """The example with another number of epochs; ``printing`` adds a node that writes to the console."""
    graph: dict[str, Any] = json.loads((ROOT / "examples" / "digits-cnn.json").read_text("utf-8"))
    graph["name"] = name
    (train,) = [node for node in graph["nodes"] if node["id"] == "train"]
    train["data"]["params"]["epochs"] = epochs
    if printing:
        graph["nodes"].append(
            {"id": "show", "type": "Print", "position": {"x": 0, "y": 600}, "data": {"params": {}}}
        )
        graph["edges"].append(
            {"source": "split", "sourceHandle": "train", "target": "show", "targetHandle": "value"}
        )
    return json.dumps(graph).encode()


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("row", name=re.compile(re.escape(name)))


async def test_the_first_visit_shows_what_to_do(open_page: OpenPage) -> None:
    page = await open_page("/runs")
    await expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
    await page.get_by_role("link", name="Open an example").click()
    await expect(page.get_by_role("heading", name="Examples")).to_be_visible()
    await expect(page.get_by_text("No runs yet.")).to_be_visible()
    await page.get_by_role("link", name="Open Read handwritten digits").click()
    await expect(page).to_have_url(re.compile("/graphs/digits-cnn$"))


async def test_runs_come_and_change_without_a_reload(server: ControlPlane, open_page: OpenPage) -> None:
    page = await open_page("/runs")
    await expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
    first = await server.client.submit(digits(400), name="long one")
    await expect(row(page, "long one")).to_contain_text("Running")
    await expect(row(page, "long one").get_by_role("progressbar")).to_be_visible()
    await expect(row(page, "long one")).to_contain_text(re.compile(r"epoch \d+ of 400, .* left"))
    await row(page, "long one").get_by_role("button", name="Cancel run 1").click()
    await expect(row(page, "long one")).to_contain_text("Cancelled")
    await server.client.wait(first.run_id)

    second = await server.client.submit(digits(1, name="digits-short"), name="short one")
    await expect(row(page, "short one")).to_contain_text("Succeeded")
    await expect(row(page, "short one")).to_contain_text("test accuracy")
    await expect(row(page, "short one").locator(".sparkline")).to_be_visible()

    chips = page.get_by_role("group", name="Show")
    await expect(chips.get_by_role("button", name="Succeeded 1")).to_be_visible()
    await chips.get_by_role("button", name="Cancelled 1").click()
    await expect(page).to_have_url(re.compile("status=cancelled"))
    await expect(row(page, "short one")).to_have_count(0)
    await expect(row(page, "long one")).to_be_visible()
    await page.get_by_role("searchbox", name="Search runs").fill("short")
    await expect(page.get_by_role("heading", name="No run matches")).to_be_visible()
    await page.get_by_role("button", name="Show all runs").click()
    await page.get_by_role("searchbox", name="Search runs").fill("#2")
    await expect(row(page, "long one")).to_have_count(0)
    await page.get_by_role("link", name="short one").click()
    await expect(page).to_have_url(re.compile(f"/runs/{second.run_id}$"))
    await expect(page.get_by_role("heading", name="short one")).to_be_visible()


@pytest.mark.parametrize(("theme", "language"), [("light", "en"), ("dark", "zh-Hant")])
async def test_a_run_tells_everything_of_itself(
    server: ControlPlane, open_page: OpenPage, tmp_path: Path, theme: str, language: str
) -> None:
    english = language == "en"
    submitted = await server.client.submit(digits(3, printing=True), name="look at me")
    page = await open_page(f"/runs/{submitted.run_id}", theme=theme, language=language)
    status = page.get_by_role("status").filter(has_text="Succeeded" if english else "成功")
    await expect(status).to_be_visible()

    loss = page.get_by_role("img", name=re.compile("^loss," if english else "^損失，"))
    points = 3 * 20 + 3 + 1
    await expect(loss).to_have_attribute("data-points", str(points))
    await expect(page.get_by_role("log")).to_contain_text("1,257 samples")
    picture = page.get_by_role("img", name=re.compile("confusion"))
    await expect(picture).to_be_visible()
    await page.wait_for_function(
        "[...document.images].every((image) => image.complete && image.naturalWidth > 0)"
    )
    SHOTS.mkdir(parents=True, exist_ok=True)
    await page.screenshot(path=SHOTS / f"run-{theme}-{language}.png")

    label = "Download checkpoint-last.pt" if english else "下載 checkpoint-last.pt"
    async with page.expect_download() as waiting:
        await page.get_by_role("link", name=label).click()
    download = await waiting.value
    await download.save_as(tmp_path / download.suggested_filename)
    artifacts = await server.client.artifacts(submitted.run_id)
    (checkpoint,) = [one for one in artifacts if one.name == "checkpoint-last.pt"]
    stored = await server.client.artifact_content(submitted.run_id, checkpoint.artifact_id)
    assert (tmp_path / "checkpoint-last.pt").read_bytes() == stored

    events = await server.client.events(submitted.run_id)
    await page.get_by_role("tab", name=re.compile("^(Events|事件)")).click()
    await expect(page).to_have_url(re.compile("/events$"))
    await expect(page.get_by_test_id("event-count")).to_contain_text(f"{len(events):,}")
    await page.get_by_role("row", name=re.compile("execution_start")).click()
    await expect(page.get_by_text('"node_count": 9')).to_be_visible()
    await page.get_by_role("tab", name=re.compile("^(Environment|環境)")).click()
    await expect(page.get_by_text((await server.client.run(submitted.run_id)).graph_hash)).to_be_visible()


async def test_a_run_is_cancelled_repeated_and_deleted(server: ControlPlane, open_page: OpenPage) -> None:
    submitted = await server.client.submit(digits(400), name="again")
    page = await open_page(f"/runs/{submitted.run_id}")
    await expect(page.get_by_text(re.compile(r"epoch \d+ of 400"))).to_be_visible()
    await page.get_by_role("button", name="Cancel run").click()
    await expect(page.get_by_role("status").filter(has_text="Cancelled")).to_be_visible()
    await page.get_by_role("button", name="Run again").click()
    await expect(page.get_by_label("Breadcrumb")).to_contain_text("2")
    await page.get_by_role("button", name="Cancel run").click()
    await expect(page.get_by_role("status").filter(has_text="Cancelled")).to_be_visible()
    await page.get_by_role("button", name="More", exact=True).click()
    await page.get_by_role("menuitem", name="Delete run").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete run").click()
    await expect(page).to_have_url(re.compile("/runs$"))
    await expect(page.get_by_role("row", name=re.compile("again"))).to_have_count(1)
    assert [run.number for run in (await server.client.runs()).runs] == [1]


async def test_a_run_opens_on_the_canvas_as_it_ran(server: ControlPlane, open_page: OpenPage) -> None:
    submitted = await server.client.submit(digits(2), name="two epochs")
    await server.client.wait(submitted.run_id)
    page = await open_page(f"/runs/{submitted.run_id}")
    await page.get_by_role("button", name="Open on the canvas").click()
    # The example has another number of epochs, so the run's graph comes as a copy of its own.
    await expect(page).to_have_url(re.compile("/graphs/digits-cnn-run-1$"))
    await expect(page.get_by_role("article", name=re.compile("^Training loop, succeeded"))).to_be_visible()


async def bare_page(server: ControlPlane, browser: Browser, path: str) -> Page:
    """A page that may report errors to its console: of an answer of 404, or of a server that is away."""
    page = await (await browser.new_context()).new_page()
    page.set_default_timeout(PATIENCE_MS)
    await page.goto(f"{server.url}/settings?token={server.token}")
    await page.goto(server.url + path)
    return page


async def test_an_unknown_run_says_so(server: ControlPlane, real_chromium: Browser) -> None:
    page = await bare_page(server, real_chromium, "/runs/nothing")
    await expect(page.get_by_role("heading", name="There is no such run")).to_be_visible()
    await page.get_by_role("link", name="All runs").click()
    await expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()


async def test_the_page_comes_back_with_the_server(server: ControlPlane, real_chromium: Browser) -> None:
    submitted = await server.client.submit(digits(400), name="interrupted by kill -9")
    page = await bare_page(server, real_chromium, f"/runs/{submitted.run_id}/events")
    await expect(page.get_by_text(re.compile(r"epoch \d+ of 400"))).to_be_visible()
    await server.kill()
    await expect(page.get_by_text("Connecting…")).to_be_visible()
    await server.start()
    await expect(page.get_by_role("status").filter(has_text="Interrupted")).to_be_visible()
    await expect(page.get_by_test_id("event-count")).to_contain_text("complete")
    async with page.expect_download() as waiting:
        await page.get_by_role("button", name="Download the events").click()
    shown = json.loads(Path(await (await waiting.value).path()).read_text("utf-8"))
    stored = await server.client.events(submitted.run_id)
    assert [event["cursor"] for event in shown] == list(range(1, len(stored) + 1))
    assert [event["type"] for event in shown] == [event.type for event in stored]


async def test_workers_are_added_watched_and_drained(server: ControlPlane, open_page: OpenPage) -> None:
    page = await open_page("/workers")
    await expect(page.get_by_role("heading", name="No workers yet")).to_be_visible()
    await page.get_by_role("button", name="Add worker").click()
    dialog = page.get_by_role("dialog", name="Add a worker")
    name = dialog.get_by_role("textbox", name="Name")
    await expect(name).to_have_value("worker-1")
    await name.fill("Not A Name")
    await expect(dialog.get_by_text("Waiting for")).to_have_count(0)
    await name.fill("w1")
    await expect(dialog.get_by_text(f"--control {server.url} ")).to_contain_text("--name w1")
    async with Agent(server.url, token_file=server.token_file, name="w1") as agent:
        await agent.connected()
        await expect(dialog.get_by_text("w1 is connected and takes runs.")).to_be_visible()
        await dialog.get_by_role("button", name="Done").click()
        await expect(page.get_by_text("1 worker and this server")).to_be_visible()

        target = RunOptions(target=Target(worker="w1"))
        submitted = await server.client.submit(digits(400), target, name="on w1")
        machine = page.locator("[data-worker=w1]")
        await expect(machine.get_by_role("link", name=re.compile("on w1"))).to_be_visible()
        await machine.get_by_role("button", name="Drain w1").click()
        await expect(machine.get_by_text("Draining")).to_be_visible()
        waiting = await server.client.submit(digits(1), target, name="waits")
        runs = await open_page("/runs")
        await expect(row(runs, "waits")).to_contain_text("worker w1 is draining")
        await row(runs, "waits").get_by_role("button", name="Undrain w1").click()
        await expect(machine.get_by_role("button", name="Drain w1")).to_be_visible()
        assert (await server.client.wait(waiting.run_id)).status == "succeeded"
        await server.client.cancel(submitted.run_id)
        await server.client.wait(submitted.run_id)
    await expect(machine.get_by_text(re.compile("Disconnected|Offline"))).to_be_visible()
