"""Token, cookie, Host, Origin, body limit and answer headers, over a real socket."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.typing import Origin

from codefy_control_plane.server import Server

BODY_LIMIT = 256 * 1024
"""As the fixture ``settings`` has it."""


def assert_problem(response: httpx.Response, status: int, code: str) -> dict[str, object]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["code"] == code
    assert problem["status"] == status
    assert problem["detail"]
    assert "Traceback" not in response.text
    return problem.get("params", {})


async def test_health_is_free_and_everything_else_of_the_api_is_not(stranger: httpx.AsyncClient) -> None:
    health = await stranger.get("/api/health")
    assert health.json() == {"status": "ok", "version": "0.1.0", "protocol_version": 1}
    for method, path in (
        ("GET", "/api/runs"),
        ("GET", "/openapi.json"),
        ("POST", "/api/runs"),
        ("GET", "/api/nowhere"),
        ("POST", "/api/health"),
        ("GET", "/api"),
    ):
        assert_problem(await stranger.request(method, path), 401, "token_required")


async def test_wrong_token(stranger: httpx.AsyncClient) -> None:
    for token in ("wrong", "", "\xe9" * 43):
        response = await stranger.get("/api/runs", headers={"x-codefy-token": token.encode("latin-1")})
        assert_problem(response, 401, "token_wrong")


async def test_token_in_a_query_opens_no_api(server: Server, stranger: httpx.AsyncClient) -> None:
    assert_problem(await stranger.get("/api/runs", params={"token": server.token}), 401, "token_required")


async def test_link_sets_a_cookie_and_hides_the_token(server: Server, stranger: httpx.AsyncClient) -> None:
    page = await stranger.get("/runs/abc", params={"token": server.token, "tab": "log"})
    assert page.status_code == 303
    assert page.headers["location"] == "/runs/abc?tab=log"
    assert page.headers["cache-control"] == "no-store"
    cookie = page.headers["set-cookie"]
    for part in ("HttpOnly", "SameSite=strict", "Path=/"):
        assert part.lower() in cookie.lower()
    assert server.token not in cookie
    # httpx keeps the cookie, as a browser does.
    assert (await stranger.get("/api/runs")).status_code == 200
    assert (await stranger.get(server.link.removeprefix(server.url))).status_code == 303


async def test_link_leads_to_no_other_host(server: Server, stranger: httpx.AsyncClient) -> None:
    page = await stranger.get(f"{server.url}//elsewhere.example/%5Cx", params={"token": server.token})
    assert page.status_code == 303
    assert page.headers["location"] == "/elsewhere.example/%5Cx"


async def test_wrong_link_says_what_to_do_in_words(stranger: httpx.AsyncClient) -> None:
    page = await stranger.get("/?token=old")
    assert page.status_code == 401
    assert "codefy serve" in page.text
    assert "set-cookie" not in page.headers


async def test_a_header_beats_the_cookie(server: Server, stranger: httpx.AsyncClient) -> None:
    await stranger.get("/", params={"token": server.token})
    assert_problem(await stranger.get("/api/runs", headers={"x-codefy-token": "wrong"}), 401, "token_wrong")


async def test_hosts(server: Server, client: httpx.AsyncClient) -> None:
    port = urlsplit(server.url).port
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", "[::1]", "LOCALHOST"):
        assert (await client.get("/api/runs", headers={"host": host})).status_code == 200, host
    for path in ("/api/runs", "/api/health", "/"):
        response = await client.get(path, headers={"host": "evil.example.org"})
        assert assert_problem(response, 403, "host_not_allowed") == {"host": "evil.example.org"}


async def test_origins_of_what_changes_things(server: Server, client: httpx.AsyncClient) -> None:
    for origin in ("http://evil.example.org", "http://127.0.0.1:1", "null"):
        response = await client.post("/api/graphs/validate", json={"graph": {}}, headers={"origin": origin})
        assert_problem(response, 403, "origin_not_allowed")
        assert (await client.get("/api/runs", headers={"origin": origin})).status_code == 200
    response = await client.post("/api/graphs/validate", json={"graph": {}}, headers={"origin": server.url})
    assert response.status_code == 200


async def test_answer_headers(client: httpx.AsyncClient) -> None:
    for path in ("/", "/api/runs", "/api/nowhere"):
        headers = (await client.get(path)).headers
        policy = headers["content-security-policy"]
        script = next(part for part in policy.split("; ") if part.startswith("script-src"))
        assert script == "script-src 'self'"
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in headers
    assert (await client.get("/api/runs")).headers["cache-control"] == "no-store"


async def test_unknown_path_and_method(client: httpx.AsyncClient) -> None:
    assert assert_problem(await client.get("/api/nowhere"), 404, "not_found") == {"path": "/api/nowhere"}
    response = await client.put("/api/runs")
    params = assert_problem(response, 405, "method_not_allowed")
    assert params["allowed"] == "GET, HEAD, POST"
    assert response.headers["allow"] == "GET, HEAD, POST"
    assert (await client.head("/api/runs")).status_code == 200


@pytest.mark.parametrize(
    ("body", "path", "words"),
    [
        (b"{", "$", "truncated"),
        (b"", "$", "truncated"),
        (b'{"graph":{}', "$", "truncated"),
        (b"\xff\xfe", "$", ""),
        (b"[]", "$", "expected `object`"),
        (b'{"options":{}}', "$.graph", "missing"),
        (b'{"graph":{},"option":{}}', "$.option", "unknown field"),
        (b'{"graph":{},"options":{"devise":"cpu"}}', "$.options.devise", "unknown field"),
        (b'{"graph":{},"options":{"seed":"x"}}', "$.options.seed", "expected `int | null`"),
    ],
)
async def test_bodies_that_do_not_fit(client: httpx.AsyncClient, body: bytes, path: str, words: str) -> None:
    params = assert_problem(await client.post("/api/runs", content=body), 400, "invalid_body")
    assert params["path"] == path
    assert words in str(params["detail"])
    assert (await client.get("/api/runs")).json()["total"] == 0


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("status=finished", "status"),
        ("limit=0", "limit"),
        ("limit=many", "limit"),
        ("limit=99999999999999999999999", "limit"),
        ("colour=red", "colour"),
        ("limit=1&limit=2", "limit"),
    ],
)
async def test_queries_that_do_not_fit(client: httpx.AsyncClient, query: str, name: str) -> None:
    assert assert_problem(await client.get(f"/api/runs?{query}"), 400, "invalid_query")["name"] == name


async def test_body_over_the_limit_by_its_length(client: httpx.AsyncClient) -> None:
    response = await client.post("/api/runs", content=b"x" * (BODY_LIMIT + 1))
    assert assert_problem(response, 413, "body_too_large") == {"limit_bytes": BODY_LIMIT}


async def test_body_over_the_limit_while_it_streams(client: httpx.AsyncClient) -> None:
    sent = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(64):
            sent += 64 * 1024
            yield b" " * 64 * 1024

    response = await client.post("/api/runs", content=chunks())
    assert_problem(response, 413, "body_too_large")
    assert sent > BODY_LIMIT
    # The connection was not reset, and the server goes on.
    assert (await client.get("/api/runs")).status_code == 200


async def test_refused_upload_is_answered_though_it_was_not_read(stranger: httpx.AsyncClient) -> None:
    response = await stranger.post("/api/runs", content=b"x" * (BODY_LIMIT - 1))
    assert_problem(response, 401, "token_required")


async def test_internal_error_names_an_id_that_the_log_has(
    server: Server,
    client: httpx.AsyncClient,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken() -> None:
        raise RuntimeError("disk on fire")

    monkeypatch.setattr(server.context.examples, "list", broken)
    with caplog.at_level(logging.ERROR):
        params = assert_problem(await client.get("/api/examples"), 500, "internal_error")
    assert str(params["error_id"]) in caplog.text
    assert "disk on fire" in caplog.text


async def test_no_log_ever_holds_a_token(
    server: Server,
    stranger: httpx.AsyncClient,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with caplog.at_level(logging.DEBUG):
        for name in ("httpx", "httpcore", "websockets"):
            logging.getLogger(name).setLevel(logging.WARNING)
        await stranger.get("/", params={"token": server.token})
        await stranger.get("/api/nowhere", params={"token": server.token})
        await stranger.get("/api/runs", headers={"x-codefy-token": server.token})
    output = capfd.readouterr()
    assert server.token not in caplog.text + output.out + output.err


def socket_url(server: Server, path: str = "/ws/execution") -> str:
    return server.url.replace("http://", "ws://") + path


async def test_socket_without_token_is_told_why_by_its_close_code(server: Server) -> None:
    for query, words in (("", "session token"), ("?token=wrong", "wrong")):
        async with connect(socket_url(server) + query, proxy=None) as socket:
            with pytest.raises(ConnectionClosedError) as closed:
                await socket.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4401
        assert words in closed.value.rcvd.reason


async def test_socket_of_another_origin_or_host_is_denied_before_it_opens(server: Server) -> None:
    address = urlsplit(server.url)
    for url, origin, code in (
        (socket_url(server), "http://evil.example.org", "origin_not_allowed"),
        ("ws://evil.example.org/ws/execution", None, "host_not_allowed"),
    ):
        with pytest.raises(InvalidStatus) as refused:
            async with connect(
                url,
                proxy=None,
                host=address.hostname,
                port=address.port,
                origin=Origin(origin) if origin else None,
                additional_headers={"x-codefy-token": server.token},
            ):
                pass
        assert refused.value.response.status_code == 403
        body = json.loads(refused.value.response.body or b"")
        assert (body["code"], body["close_code"]) == (code, 4003)


async def test_socket_opens_with_token_cookie_or_header(server: Server, stranger: httpx.AsyncClient) -> None:
    await stranger.get("/", params={"token": server.token})
    cookie = "; ".join(f"{name}={value}" for name, value in stranger.cookies.items())
    for query, headers in (
        (f"?token={server.token}", {}),
        ("", {"x-codefy-token": server.token}),
        ("", {"cookie": cookie, "origin": server.url}),
    ):
        async with connect(socket_url(server) + query, proxy=None, additional_headers=headers) as socket:
            await socket.send('{"type":"ping","id":"p"}')
            assert json.loads(await asyncio.wait_for(socket.recv(), 10)) == {"type": "pong", "id": "p"}


async def test_unknown_socket(server: Server) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with connect(
            socket_url(server, "/ws/nowhere"), proxy=None, additional_headers={"x-codefy-token": server.token}
        ):
            pass
    assert refused.value.response.status_code == 403
