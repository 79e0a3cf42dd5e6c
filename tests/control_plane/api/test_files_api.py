"""The user's files over HTTP: uploads that are whole or not there, paths that stay inside, parts that go on."""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from codefy_control_plane.server import Server
from codefy_control_plane.settings import Settings, load_settings
from codefy_engine.nodes.registry import Registry

from .conftest import BODY_LIMIT

UPLOAD_LIMIT = 4 * BODY_LIMIT


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(
        {}, data_dir=tmp_path / "data", port=0, max_body_bytes=BODY_LIMIT, max_upload_bytes=UPLOAD_LIMIT
    )


@pytest.fixture
def files(settings: Settings) -> Path:
    return settings.files_dir


def left_over(files: Path) -> list[str]:
    parts = files / ".uploads"
    return [path.name for path in parts.iterdir()] if parts.exists() else []


async def test_upload_browse_download_move_delete(client: httpx.AsyncClient, files: Path) -> None:
    content = os.urandom(3 * BODY_LIMIT)
    put = await client.put("/api/files/圖片/my cat.zip", content=content)
    assert put.status_code == 200, put.text
    entry = put.json()["file"]
    assert (entry["path"], entry["size"]) == ("圖片/my cat.zip", len(content))
    assert entry["sha256"] == hashlib.sha256(content).hexdigest()
    assert (files / "圖片" / "my cat.zip").read_bytes() == content
    assert left_over(files) == []
    top = (await client.get("/api/files")).json()
    assert [(one["name"], one["kind"]) for one in top["entries"]] == [("圖片", "folder")]
    inside = (await client.get("/api/files", params={"folder": "圖片"})).json()
    assert [one["path"] for one in inside["entries"]] == ["圖片/my cat.zip"]
    got = await client.get("/api/files/圖片/my cat.zip", headers={"range": "bytes=10-19"})
    assert (got.status_code, got.content) == (206, content[10:20])
    assert got.headers["content-disposition"].startswith("attachment")
    moved = await client.post("/api/files/圖片/my cat.zip", json={"action": "move", "to": "cats/one.zip"})
    assert (moved.status_code, moved.json()["path"]) == (200, "cats/one.zip")
    assert (await client.delete("/api/files/cats")).json()["code"] == "folder_not_empty"
    assert (await client.delete("/api/files/cats", params={"with_content": "1"})).status_code == 204
    assert (await client.delete("/api/files/圖片")).status_code == 204
    assert (await client.get("/api/files/圖片")).json()["code"] == "file_not_found"


async def test_what_is_there_is_not_overwritten_unless_asked_to(
    client: httpx.AsyncClient, files: Path
) -> None:
    await client.put("/api/files/a.csv", content=b"one")
    refused = await client.put("/api/files/a.csv", content=b"two")
    assert (refused.status_code, refused.json()["code"]) == (409, "file_exists")
    numbered = await client.put("/api/files/a.csv", params={"if_exists": "number"}, content=b"three")
    assert numbered.json()["file"]["path"] == "a (2).csv"
    replaced = await client.put("/api/files/a.csv", params={"if_exists": "replace"}, content=b"four")
    assert replaced.status_code == 200
    assert sorted(path.name for path in files.glob("*.csv")) == ["a (2).csv", "a.csv"]
    assert (files / "a.csv").read_bytes() == b"four"
    made = await client.post("/api/files/a.csv", json={"action": "make_folder"})
    assert (made.status_code, made.json()["code"]) == (409, "file_exists")
    moved = await client.post("/api/files/a (2).csv", json={"action": "move", "to": "a.csv"})
    assert moved.json()["code"] == "file_exists"
    assert (files / "a.csv").read_bytes() == b"four"


@pytest.mark.parametrize(
    "path",
    [
        "..%2Fx",
        "a/..%2F..%2Fx",
        "%2Fetc/x",
        "a//b",
        ".hidden",
        "a/.uploads/x",
        "a%5Cb",
        "a%00b",
        "%20a",
        "x" * 250,
    ],
)
async def test_paths_that_are_none(client: httpx.AsyncClient, files: Path, path: str) -> None:
    for answer in (
        await client.put(f"/api/files/{path}", content=b"x"),
        await client.get(f"/api/files/{path}"),
        await client.post(f"/api/files/{path}", json={"action": "make_folder"}),
        await client.delete(f"/api/files/{path}"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_path"), answer.text
    assert not any(files.parent.glob("x"))


async def test_links_that_lead_out_are_not_followed(
    client: httpx.AsyncClient, files: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    files.mkdir(parents=True, exist_ok=True)
    (files / "way").symlink_to(outside)
    for answer in (
        await client.get("/api/files/way/secret.txt"),
        await client.put("/api/files/way/new.txt", content=b"x"),
        await client.delete("/api/files/way/secret.txt"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_path")
    assert [path.name for path in outside.iterdir()] == ["secret.txt"]


async def test_links_in_a_circle_are_refused(client: httpx.AsyncClient, files: Path) -> None:
    files.mkdir(parents=True, exist_ok=True)
    (files / "one").symlink_to(files / "two")
    (files / "two").symlink_to(files / "one")
    for answer in (
        await client.get("/api/files/one"),
        await client.get("/api/files/one/a.txt"),
        await client.put("/api/files/one/a.txt", content=b"x"),
        await client.delete("/api/files/two"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_path"), answer.text
        assert "circle" in answer.json()["params"]["detail"]


async def test_an_upload_in_parts_goes_on_where_it_was_cut_off(
    client: httpx.AsyncClient, settings: Settings, registry: Registry, server: Server
) -> None:
    content = os.urandom(3000)
    headers = {"x-codefy-upload": "from-my-laptop", "content-range": "bytes 0-999/3000"}
    first = await client.put("/api/files/big.bin", content=content[:1000], headers=headers)
    assert first.json() == {"received": 1000, "file": None}
    assert not (settings.files_dir / "big.bin").exists()
    # What another client sends is another upload.
    other = await client.put(
        "/api/files/big.bin", content=b"x" * 1000, headers={**headers, "x-codefy-upload": "other"}
    )
    assert other.json()["received"] == 1000
    ahead = await client.put(
        "/api/files/big.bin",
        content=content[2000:],
        headers={**headers, "content-range": "bytes 2000-2999/3000"},
    )
    assert (ahead.status_code, ahead.json()["code"]) == (409, "upload_offset")
    assert ahead.json()["params"]["offset"] == 1000
    wrong = {"x-codefy-sha256": "0" * 64}
    last = {**headers, "content-range": "bytes 1000-2999/3000"}
    damaged = await client.put("/api/files/big.bin", content=content[1000:], headers={**last, **wrong})
    assert (damaged.status_code, damaged.json()["code"]) == (400, "upload_damaged")
    # After that it begins anew.
    await client.put("/api/files/big.bin", content=content[:1000], headers=headers)
    right = {"x-codefy-sha256": hashlib.sha256(content).hexdigest()}
    done = await client.put("/api/files/big.bin", content=content[1000:], headers={**last, **right})
    assert done.json()["file"]["sha256"] == right["x-codefy-sha256"]
    assert (settings.files_dir / "big.bin").read_bytes() == content


@pytest.mark.parametrize("value", ["bytes 5-2/10", "bytes 0-10/10", "0-9/10", "bytes 0-9/*"])
async def test_a_range_that_is_none(client: httpx.AsyncClient, value: str) -> None:
    answer = await client.put("/api/files/a", content=b"x", headers={"content-range": value})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_header")


async def test_too_large_is_refused_and_leaves_nothing(client: httpx.AsyncClient, files: Path) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(UPLOAD_LIMIT // 65536 + 2):
            yield b"x" * 65536

    told = await client.put("/api/files/a.bin", content=b"x" * (UPLOAD_LIMIT + 1))
    streamed = await client.put("/api/files/b.bin", content=endless())
    for answer in (told, streamed):
        assert (answer.status_code, answer.json()["code"]) == (413, "file_too_large")
    assert [path for path in files.iterdir() if path.name != ".uploads"] == []
    assert left_over(files) == []


async def test_an_upload_that_breaks_off_leaves_nothing_to_see(server: Server, files: Path) -> None:
    def send_half() -> None:
        with socket.create_connection(("127.0.0.1", int(server.url.rsplit(":", 1)[1]))) as raw:
            head = (
                f"PUT /api/files/half.bin HTTP/1.1\r\nhost: 127.0.0.1\r\nx-codefy-token: {server.token}\r\n"
            )
            raw.sendall((head + "content-length: 1000\r\n\r\n").encode() + b"x" * 500)

    await asyncio.to_thread(send_half)
    async with asyncio.timeout(20):
        while not (files / ".uploads").exists() or left_over(files):
            await asyncio.sleep(0.01)
    assert not (files / "half.bin").exists()


async def test_a_folder_is_no_file_and_a_file_no_folder(client: httpx.AsyncClient) -> None:
    await client.post("/api/files/folder", json={"action": "make_folder"})
    assert (await client.put("/api/files/folder", content=b"x")).json()["code"] == "file_is_folder"
    assert (await client.get("/api/files/folder")).json()["code"] == "file_is_folder"
    about = (await client.get("/api/files/folder", params={"about": "1"})).json()
    assert (about["kind"], about["size"]) == ("folder", None)
    await client.put("/api/files/file", content=b"x")
    inside = await client.put("/api/files/file/inner", content=b"x")
    assert inside.status_code == 409
    into_itself = await client.post("/api/files/folder", json={"action": "move", "to": "folder/inner"})
    assert into_itself.json()["code"] == "invalid_path"


async def test_a_picture_is_shown_as_a_strangers_document(client: httpx.AsyncClient) -> None:
    await client.put("/api/files/plot.svg", content=b"<svg xmlns='http://www.w3.org/2000/svg'/>")
    shown = await client.get("/api/files/plot.svg")
    assert shown.headers["content-type"].startswith("image/svg+xml")
    assert "sandbox" in shown.headers["content-security-policy"]
    offered = await client.get("/api/files/plot.svg", params={"download": "1"})
    assert offered.headers["content-disposition"].startswith("attachment")


async def test_files_are_for_those_with_the_token(stranger: httpx.AsyncClient) -> None:
    assert (await stranger.get("/api/files")).status_code == 401
    assert (await stranger.put("/api/files/a", content=b"x")).status_code == 401
