"""Who may speak for a worker."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from codefy_control_plane.access import Access, HostPolicy
from codefy_control_plane.workers.connection import Peer
from codefy_control_plane.workers.handshake import (
    Accepted,
    Denied,
    Rejected,
    authorise,
    check_hello,
    is_loopback,
)
from codefy_protocol import PROTOCOL_VERSION, __version__
from codefy_protocol.frames import Frame, Heartbeat, Hello

TOKEN = "t" * 40
ACCESS = Access(TOKEN)
HOSTS = HostPolicy("127.0.0.1", ())


def ask(
    headers: dict[str, str] | None = None, *, query: str | None = None, address: str = "127.0.0.1"
) -> Peer | Denied:
    given = {"host": "localhost:8000", "x-codefy-token": TOKEN, **(headers or {})}
    return authorise(
        Headers({name: value for name, value in given.items() if value}),
        query,
        address,
        "127.0.0.1",
        ACCESS,
        HOSTS,
    )


def hello(**fields: object) -> Hello:
    known: dict[str, object] = {
        "name": "w1",
        "product_version": __version__,
        "protocol_version": PROTOCOL_VERSION,
        "machine_id": "m1",
    }
    return Hello(**{**known, **fields})  # type: ignore[arg-type]  # fields of one struct, by name


def denied(answer: Peer | Denied) -> tuple[int, str]:
    assert isinstance(answer, Denied)
    return answer.code, answer.why.code


def rejected(answer: Accepted | Rejected) -> str:
    assert isinstance(answer, Rejected)
    return answer.why.code


def test_the_session_token_of_a_process_on_this_machine_is_accepted() -> None:
    assert ask() == Peer(address="127.0.0.1", loopback=True, authenticated_by="session-token")
    assert isinstance(ask({"x-codefy-token": ""}, query=TOKEN), Peer)
    assert isinstance(ask(address="::1"), Peer)


@pytest.mark.parametrize(
    ("headers", "address", "expected"),
    [
        ({"host": "evil.example"}, "127.0.0.1", (4003, "host_not_allowed")),
        ({"origin": "http://localhost:8000"}, "127.0.0.1", (4003, "origin_not_allowed")),
        ({"x-codefy-token": ""}, "127.0.0.1", (4401, "token_required")),
        ({"x-codefy-token": "x" * 40}, "127.0.0.1", (4401, "token_wrong")),
        ({}, "192.0.2.7", (4401, "not_loopback")),
        ({}, "", (4401, "not_loopback")),
        ({"x-forwarded-for": "192.0.2.7"}, "127.0.0.1", (4401, "not_loopback")),
        ({"forwarded": "for=192.0.2.7"}, "127.0.0.1", (4401, "not_loopback")),
    ],
)
def test_everything_else_is_denied(headers: dict[str, str], address: str, expected: tuple[int, str]) -> None:
    assert denied(ask(headers, address=address)) == expected


@pytest.mark.parametrize(
    ("address", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("::ffff:192.0.2.1", False),
        ("192.0.2.1", False),
        ("fe80::1%eth0", False),
        ("localhost", False),
        ("", False),
    ],
)
def test_loopback(address: str, loopback: bool) -> None:
    assert is_loopback(address) is loopback


@pytest.mark.parametrize("frame", [None, Heartbeat()])
def test_hello_comes_first(frame: Frame | None) -> None:
    answer = check_hello(frame, lambda _: None, 10.0)
    assert rejected(answer) == "hello_expected"
    assert isinstance(answer, Rejected)
    assert not answer.fatal


def test_another_protocol_is_rejected_and_says_which_side_to_update() -> None:
    newer = check_hello(hello(protocol_version=PROTOCOL_VERSION + 1), lambda _: None, 10.0)
    older = check_hello(hello(protocol_version=PROTOCOL_VERSION - 1), lambda _: None, 10.0)
    assert rejected(newer) == rejected(older) == "protocol_mismatch"
    assert isinstance(newer, Rejected)
    assert isinstance(older, Rejected)
    assert newer.why.params["side"] == "the control plane"
    assert older.why.params["side"] == "the agent"
    assert newer.frame.fatal


@pytest.mark.parametrize("name", ["local", "any", "W1", "", "a/b", "-a", "a" * 64])
def test_an_illegal_or_reserved_name_is_rejected(name: str) -> None:
    assert rejected(check_hello(hello(name=name), lambda _: None, 10.0)) == "bad_worker_name"


def test_a_name_that_another_machine_uses_is_rejected() -> None:
    assert rejected(check_hello(hello(), lambda _: hello(machine_id="m2"), 10.0)) == "name_in_use"
    assert isinstance(check_hello(hello(), lambda _: hello(), 10.0), Accepted)


def test_another_product_version_is_accepted_as_outdated() -> None:
    assert check_hello(hello(), lambda _: None, 10.0) == Accepted(hello=hello(), outdated=False)
    old = hello(product_version="0.0.9")
    assert check_hello(old, lambda _: None, 10.0) == Accepted(hello=old, outdated=True)
