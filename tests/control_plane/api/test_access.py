"""The session token, the cookie, hosts and origins."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from codefy_control_plane.access import (
    Access,
    HostPolicy,
    TokenFileUnreadable,
    cookie_name,
    load_session_token,
    split_authority,
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_token_is_made_once_and_private(tmp_path: Path) -> None:
    token = load_session_token(tmp_path)
    assert len(token) >= 40
    assert mode(tmp_path / "session-token") == 0o600
    assert load_session_token(tmp_path) == token


def test_token_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    token = load_session_token(tmp_path)
    (tmp_path / "session-token").chmod(0o644)
    assert load_session_token(tmp_path) == token
    assert mode(tmp_path / "session-token") == 0o600


@pytest.mark.parametrize("content", [b"", b"short\n", b"\xff" * 50])
def test_damaged_token_file_is_refused_in_words(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "session-token").write_bytes(content)
    with pytest.raises(TokenFileUnreadable, match="session-token"):
        load_session_token(tmp_path)


def test_token_and_cookie_match_only_themselves() -> None:
    access, other = Access("t" * 43), Access("u" * 43)
    assert access.token_matches("t" * 43)
    assert not access.token_matches("")
    assert not access.token_matches("t" * 42 + "é")
    cookie = f"theme=dark; {cookie_name('127.0.0.1:8000')}={access.cookie_value}"
    assert access.cookie_matches(cookie)
    assert not other.cookie_matches(cookie)
    assert "t" * 10 not in access.cookie_value
    # The token itself is no cookie: a log of cookies does not open the API by header, nor the other way round.
    assert not access.cookie_matches(f"codefy_session={access.token}")
    assert not access.cookie_matches("")
    assert not access.cookie_matches("codefy_session=\xff;;;=")


def test_cookies_of_two_servers_do_not_displace_each_other() -> None:
    first, second = Access("a" * 43), Access("b" * 43)
    both = "; ".join(
        f"{cookie_name(host)}={access.cookie_value}"
        for host, access in (("localhost:8000", first), ("localhost:8001", second))
    )
    assert first.cookie_matches(both)
    assert second.cookie_matches(both)


@pytest.mark.parametrize(
    ("authority", "expected"),
    [
        ("LOCALHOST:8000", ("localhost", 8000)),
        ("[::1]:9", ("::1", 9)),
        ("example.org.", ("example.org", None)),
        ("a@127.0.0.1", ("", None)),
        ("127.0.0.1/evil", ("", None)),
        ("127.0.0.1:port", ("", None)),
        ("", ("", None)),
    ],
)
def test_split_authority(authority: str, expected: tuple[str, int | None]) -> None:
    assert split_authority(authority) == expected


def test_hosts() -> None:
    policy = HostPolicy("192.0.2.7", ["Box.example.org", "proxy.example.org:8443", "[2001:db8::1]"])
    for host in (
        "localhost:1",
        "127.0.0.1",
        "[::1]:8000",
        "192.0.2.7:80",
        "box.example.org",
        "proxy.example.org",
        "[2001:db8::1]:1",
    ):
        assert policy.host_allowed(host), host
    for host in ("evil.example.org", "", "localhost.evil.org", "127.0.0.1.evil.org", "user@localhost"):
        assert not policy.host_allowed(host), host


def test_the_address_that_was_connected_to_is_served_but_no_name_is() -> None:
    policy = HostPolicy("0.0.0.0")
    assert policy.host_allowed("192.0.2.9:8000", "192.0.2.9")
    assert not policy.host_allowed("192.0.2.10:8000", "192.0.2.9")
    assert not policy.host_allowed("evil.example.org", "192.0.2.9")


@pytest.mark.parametrize(
    ("origin", "host", "allowed"),
    [
        ("http://localhost:8000", "localhost:8000", True),
        ("https://box.example.org", "box.example.org", True),
        ("http://localhost:9999", "localhost:8000", False),
        ("http://evil.example.org", "localhost:8000", False),
        ("null", "localhost:8000", False),
        ("", "localhost:8000", False),
        ("file:///tmp/x.html", "localhost:8000", False),
    ],
)
def test_origins(origin: str, host: str, allowed: bool) -> None:
    assert HostPolicy.origin_allowed(origin, host) is allowed
