"""X-1, X-6: where the agent dials, what it shows, and what it makes of a refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

from codefy_agent.connection import (
    BadControlUrl,
    ControlPlane,
    NotConnected,
    NoToken,
    Refused,
    token_reader,
    worker_socket,
)


@pytest.mark.parametrize(
    ("url", "socket", "loopback"),
    [
        ("http://127.0.0.1:8000", "ws://127.0.0.1:8000/ws/worker", True),
        ("http://localhost:8000/", "ws://localhost:8000/ws/worker", True),
        ("http://[::1]:8000", "ws://[::1]:8000/ws/worker", True),
        ("https://codefy.example", "wss://codefy.example/ws/worker", False),
        ("https://example.org/codefy/", "wss://example.org/codefy/ws/worker", False),
        ("ws://10.0.0.5:80", "ws://10.0.0.5:80/ws/worker", False),
    ],
)
def test_the_socket_of_a_control_plane(url: str, socket: str, loopback: bool) -> None:
    assert worker_socket(url) == (socket, loopback)


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:8000",
        "ftp://host",
        "http://",
        "http://host:port",
        "http://me:secret@host",
        "http://host/?token=abc",
        "http://[::1",
        "",
    ],
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(BadControlUrl):
        worker_socket(url)


async def test_a_denial_is_told_in_the_servers_words(control, token) -> None:
    plane = ControlPlane(control.url, lambda: "wrong")
    with pytest.raises(Refused, match="The session token is wrong") as refused:
        await plane.dial()
    assert refused.value.code == "4401"
    control.denial = (403, {"code": 4003, "reason": "This host is not served."})
    with pytest.raises(Refused, match="not served"):
        await ControlPlane(control.url, lambda: token).dial()


@pytest.mark.parametrize("status", [404, 500, 502, 503])
async def test_another_answer_may_pass(status: int, control, token) -> None:
    control.denial = (status, {"detail": "not now"})
    with pytest.raises(NotConnected, match=str(status)):
        await ControlPlane(control.url, lambda: token).dial()


async def test_a_redirect_is_not_followed_with_the_token(control, token) -> None:
    control.denial = (307, {})
    control.headers["Location"] = "http://127.0.0.1:1/ws/worker"
    with pytest.raises(NotConnected, match="307"):
        await ControlPlane(control.url, lambda: token).dial()
    assert len(control.paths) == 1


async def test_nobody_answers(control, token) -> None:
    await control.close()
    with pytest.raises(NotConnected, match="cannot be reached"):
        await ControlPlane(control.url, lambda: token).dial()


async def test_a_proxy_of_the_environment_is_not_asked_for_loopback(
    control, token, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("ws_proxy", "http://127.0.0.1:1")
    socket = await ControlPlane(control.url, lambda: token).dial()
    await socket.close()


def test_a_token_file_is_read_anew_each_time(tmp_path: Path) -> None:
    file = tmp_path / "session-token"
    file.write_text("first\n")
    read = token_reader(None, file)
    assert read() == "first"
    file.write_text("second")
    assert read() == "second"
    for content in ("", "  \n", "two words"):
        file.write_text(content)
        with pytest.raises(NoToken, match="does not hold a token"):
            read()
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(NoToken, match="not a token"):
        read()
    file.unlink()
    with pytest.raises(NoToken, match="No such file"):
        read()
    assert token_reader("given", file)() == "given"
