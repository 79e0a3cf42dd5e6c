"""A real server with the built page, and a real Chromium in front of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from codefy_control_plane.testing import ControlPlane

ROOT = Path(__file__).parents[2]
SHOTS = ROOT / "web" / "test-results"

# Software rendering on a busy machine: what a person would wait for may take its time here.
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)

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

OpenPage = Callable[..., Awaitable[Page]]
"""``await open_page(path, theme=…, language=…, width=…, height=…)`` in a browser context of its own."""


def chromium() -> str:
    named = os.environ.get("CODEFY_CHROMIUM")
    found = named or next(
        filter(None, (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if found is None:
        pytest.fail("no Chromium: run scripts/ensure-chromium")
    return found


@pytest.fixture
async def server() -> AsyncIterator[ControlPlane]:
    async with ControlPlane() as running:
        yield running


@pytest.fixture
async def real_chromium() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        yield running
        await running.close()


@pytest.fixture
async def open_page(server: ControlPlane, real_chromium: Browser) -> AsyncIterator[OpenPage]:
    """Opens pages of the server, and fails the test when any of them reported an error."""
    errors: list[str] = []

    async def open_one(
        path: str, *, theme: str = "light", language: str = "en", width: int = 1440, height: int = 900
    ) -> Page:
        context = await real_chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if theme == "dark" else "light",
            locale="zh-TW" if language == "zh-Hant" else "en-GB",
        )
        context.set_default_timeout(PATIENCE_MS)
        page = await context.new_page()
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on(
            "request",
            lambda request: (
                errors.append(f"left the host: {request.url}")
                if not request.url.startswith((server.url, "data:", "blob:"))
                else None
            ),
        )
        # The first page sets the session cookie; after that addresses need no token.
        await page.goto(f"{server.url}/settings?token={server.token}")
        await page.goto(server.url + path)
        return page

    yield open_one
    assert errors == []
