"""Who may talk to the server: the session token and its file, the browser's cookie, hosts and origins (X-9).

Everything here is pure but for :func:`load_session_token`. The middleware of ``api`` and the worker socket ask it.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import urlsplit

TOKEN_HEADER = "x-codefy-token"  # noqa: S105  a header's name
TOKEN_FILE = "session-token"  # noqa: S105  a file's name
COOKIE = "codefy_session"
COOKIE_MAX_AGE_S = 30 * 24 * 3600

_COOKIE_PURPOSE = b"codefy browser cookie 1"
_MIN_TOKEN_CHARS = 32


class TokenFileUnreadable(Exception):
    """The session token's file is there but cannot be used; the message says what to do."""


def load_session_token(data_dir: Path) -> str:
    """The session token of ``data_dir``; it is made, readable by its owner only, when there is none.

    A file that others can read is made private: a token seen by another account would let it run Python.

    Raises:
        TokenFileUnreadable: the file is empty, too short or not readable.
    """
    path = data_dir / TOKEN_FILE
    token = secrets.token_urlsafe(32)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read_token(path)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(token + "\n")
        file.flush()
        os.fsync(file.fileno())
    return token


def _read_token(path: Path) -> str:
    try:
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
        token = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise TokenFileUnreadable(f"The session token {path} cannot be read: {error}") from error
    if len(token) < _MIN_TOKEN_CHARS:
        raise TokenFileUnreadable(
            f"The session token {path} is damaged. Delete the file; the next start makes a new one."
        )
    return token


class Access:
    """The session token, and the cookie that stands for it in a browser.

    The cookie is derived from the token, so that it survives a restart and never shows the token itself.
    """

    def __init__(self, token: str) -> None:
        self.token = token
        self.cookie_value = hmac.new(token.encode(), _COOKIE_PURPOSE, hashlib.sha256).hexdigest()

    def token_matches(self, candidate: str) -> bool:
        """Whether ``candidate`` is the session token, in constant time."""
        return secrets.compare_digest(candidate.encode("utf-8", "replace"), self.token.encode())

    def cookie_matches(self, header: str) -> bool:
        """Whether a Cookie header holds the session, under the name of any port (see :func:`cookie_name`)."""
        jar: SimpleCookie = SimpleCookie()
        try:
            jar.load(header)
        except CookieError:
            return False
        expected = self.cookie_value.encode()
        return any(
            secrets.compare_digest(morsel.value.encode("utf-8", "replace"), expected)
            for name, morsel in jar.items()
            if name == COOKIE or name.startswith(COOKIE + "_")
        )


def cookie_name(host_header: str) -> str:
    """The cookie's name at this address. Browsers share cookies between ports, so the name tells servers apart."""
    port = split_authority(host_header)[1]
    return COOKIE if port is None else f"{COOKIE}_{port}"


def split_authority(authority: str) -> tuple[str, int | None]:
    """Host (lower case, IPv6 without brackets) and port of a Host header; host is empty when it is malformed."""
    try:
        parts = urlsplit("//" + authority.strip())
        port = parts.port
    except ValueError:
        return "", None
    if parts.path or parts.query or parts.fragment or "@" in parts.netloc:
        return "", None
    return (parts.hostname or "").rstrip("."), port


class HostPolicy:
    """Which Host headers and Origins are served. It stops DNS rebinding and pages of other origins."""

    def __init__(self, bind_host: str, extra: Iterable[str] = ()) -> None:
        names = {"localhost", "127.0.0.1", "::1"}
        names.update(
            split_authority(name)[0] or name.strip("[]").lower() for name in (bind_host, *extra) if name
        )
        self._names = frozenset(names)

    def host_allowed(self, host_header: str, local_address: str | None = None) -> bool:
        """Whether the Host header names this server.

        ``local_address`` is the address the connection arrived at: its literal is always fine, since a rebinding
        attack needs a name.
        """
        host = split_authority(host_header)[0]
        if not host:
            return False
        if host in self._names:
            return True
        return local_address is not None and _same_address(host, local_address)

    @staticmethod
    def origin_allowed(origin: str, host_header: str) -> bool:
        """Whether ``origin`` is the page that this very server sent (same host and port)."""
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https"):
            return False
        default = 443 if parts.scheme == "https" else 80
        wanted = split_authority(host_header)
        given = split_authority(parts.netloc)
        return bool(given[0]) and (given[0], given[1] or default) == (wanted[0], wanted[1] or default)


def _same_address(left: str, right: str) -> bool:
    try:
        return ipaddress.ip_address(left) == ipaddress.ip_address(right)
    except ValueError:
        return False
