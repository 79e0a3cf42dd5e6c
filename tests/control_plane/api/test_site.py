"""The web UI's files: caching, packed variants, the page for every address of the UI, and nothing outside the folder."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from codefy_control_plane.api.site import Site

INDEX = "<!doctype html><title>Codefy</title><script type=module src=/assets/app-1a2b.js></script>"
SCRIPT = "console.log('codefy');" * 50


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    root = tmp_path / "web_dist"
    (root / "assets").mkdir(parents=True)
    (root / "index.html").write_text(INDEX)
    (root / "assets" / "app-1a2b.js").write_text(SCRIPT)
    (root / "assets" / "app-1a2b.js.gz").write_bytes(gzip.compress(SCRIPT.encode()))
    (root / "icon.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (tmp_path / "secret.txt").write_text("secret")
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    return root


@pytest.fixture
async def site(dist: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(Site(dist)),
        base_url="http://127.0.0.1",
        headers={"accept-encoding": "identity"},
    ) as client:
        yield client


async def test_every_page_of_the_ui_is_the_index(site: httpx.AsyncClient) -> None:
    for path in ("/", "/runs", "/runs/0198-abc", "/graphs/digits.v2", "/index.html"):
        page = await site.get(path)
        assert (page.status_code, page.text) == (200, INDEX), path
        assert page.headers["content-type"].startswith("text/html")
        assert page.headers["cache-control"] == "no-cache"


async def test_hashed_assets_are_kept_and_the_page_is_asked_for_again(site: httpx.AsyncClient) -> None:
    script = await site.get("/assets/app-1a2b.js")
    assert script.text == SCRIPT
    assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
    page = await site.get("/")
    again = await site.get("/", headers={"if-none-match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == page.headers["etag"]
    assert (await site.get("/", headers={"if-none-match": '"other"'})).status_code == 200


async def test_packed_variant_is_sent_to_who_takes_it(site: httpx.AsyncClient) -> None:
    packed = await site.get("/assets/app-1a2b.js", headers={"accept-encoding": "gzip, br"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.text == SCRIPT
    assert packed.headers["content-type"].startswith("text/javascript")
    plain = await site.get("/assets/app-1a2b.js")
    assert "content-encoding" not in plain.headers
    assert plain.headers["vary"] == packed.headers["vary"] == "accept-encoding"


async def test_a_missing_asset_is_not_the_page(site: httpx.AsyncClient) -> None:
    # A page of an older build must learn that its script is gone, not get HTML for it.
    for path in ("/assets/app-old.js", "/favicon.ico"):
        assert (await site.get(path)).status_code == 404


async def test_nothing_outside_the_folder(site: httpx.AsyncClient) -> None:
    for path in (
        "/../secret.txt",
        "/..%2fsecret.txt",
        "/link.txt",
        "/assets/%2e%2e/%2e%2e/secret.txt",
        "/a%00b",
    ):
        response = await site.get(path)
        assert response.text != "secret", path
        assert response.text == INDEX or response.status_code == 404


async def test_only_reading(site: httpx.AsyncClient) -> None:
    response = await site.post("/")
    assert (response.status_code, response.headers["allow"]) == (405, "GET, HEAD")


async def test_a_ui_that_was_not_built_says_so(tmp_path: Path) -> None:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(Site(tmp_path / "nothing")), base_url="http://127.0.0.1"
    ) as client:
        page = await client.get("/runs")
    assert page.status_code == 200
    assert "make web" in page.text
    assert page.headers["cache-control"] == "no-store"
