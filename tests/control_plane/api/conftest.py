"""A real server on a free port for every test, and a client with its token."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from codefy_control_plane.server import Server
from codefy_control_plane.settings import Settings, load_settings

BODY_LIMIT = 256 * 1024


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({}, data_dir=tmp_path / "data", port=0, max_body_bytes=BODY_LIMIT)


@pytest.fixture
async def server(settings: Settings) -> AsyncIterator[Server]:
    async with Server(settings) as server:
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
