"""What the pages say while the server does not answer, and to a browser without the token."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Browser, expect

from codefy_control_plane.testing import ControlPlane

from .conftest import PATIENCE_MS, SHOTS
from .test_pages import bare_page

pytestmark = [pytest.mark.web, pytest.mark.timeout(300)]


async def test_nothing_is_shown_as_fresh_while_the_server_is_away(
    server: ControlPlane, real_chromium: Browser
) -> None:
    workers = await bare_page(server, real_chromium, "/workers")
    await workers.get_by_role("button", name="Add worker").click()
    dialog = workers.get_by_role("dialog", name="Add a worker")
    await expect(dialog.get_by_text(f"--control {server.url} ")).to_contain_text(
        f"--token-file {server.token_file} "
    )
    await workers.screenshot(path=SHOTS / "add-worker.png")
    await dialog.get_by_role("button", name="Close").last.click()
    canvas = await bare_page(server, real_chromium, "/graphs/digits-cnn")
    await expect(canvas.get_by_role("button", name="Run here")).to_be_enabled()
    await server.kill()
    for page in (workers, canvas):
        banner = page.get_by_role("alert").filter(has_text="The server does not answer. Shown as of ")
        await expect(banner).to_be_visible()
    await expect(workers.get_by_text(re.compile(r"Ready at \d\d:\d\d"))).to_be_visible()
    await expect(canvas.get_by_role("button", name="Run here")).to_be_disabled()
    await expect(canvas.get_by_text("The run goes on")).to_have_count(0)
    await workers.screenshot(path=SHOTS / "workers-away.png")
    await canvas.screenshot(path=SHOTS / "canvas-away.png")
    await server.start()
    for page in (workers, canvas):
        await expect(page.get_by_text("The server does not answer.")).to_have_count(0)
    await expect(canvas.get_by_role("button", name="Run here")).to_be_enabled()


@pytest.mark.parametrize("path", ["/", "/runs", "/workers", "/graphs/digits-cnn"])
async def test_a_browser_without_the_token_is_told_how_to_get_in(
    server: ControlPlane, real_chromium: Browser, path: str
) -> None:
    page = await (await real_chromium.new_context()).new_page()
    page.set_default_timeout(PATIENCE_MS)
    await page.goto(server.url + path)
    await expect(page.get_by_role("alert")).to_contain_text("open the link that codefy serve printed")
