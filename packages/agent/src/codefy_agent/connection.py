"""Dialling the control plane (I-4, X-1, X-6): where it is, what proves who we are, and what a refusal means."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from pathlib import Path
from urllib.parse import SplitResult, urlsplit, urlunsplit

import msgspec
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as websocket_connect
from websockets.exceptions import InvalidHandshake, InvalidProxy, InvalidStatus, InvalidURI

from codefy_protocol import __version__
from codefy_protocol.codec import MAX_MESSAGE_BYTES

WORKER_PATH = "/ws/worker"
TOKEN_HEADER = "X-Codefy-Token"  # noqa: S105 - the header's name
_OPEN_TIMEOUT_S = 15.0
_CLOSE_TIMEOUT_S = 2.0
_FINAL_CODES = (4003, 4401)


class BadControlUrl(ValueError):
    """The address of the control plane cannot be one."""


class NotConnected(Exception):
    """No connection came about this time; another try may work. The message is for people."""


class Refused(Exception):
    """The control plane does not want this agent; its words are the message."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class NoToken(RuntimeError):
    """The credential cannot be read."""


class _Denial(msgspec.Struct):
    """Body of a denial response."""

    code: int = 0
    reason: str = ""
    message: str = ""
    detail: str = ""


class ControlPlane:
    """Where to dial.

    Args:
        url: ``http(s)://host:port``, with a path in front of ``/ws/worker`` when a proxy has one.
        token: gives the credential anew for every try: the server may have made a new one.

    Raises:
        BadControlUrl: ``url`` is not such an address.
    """

    def __init__(self, url: str, token: Callable[[], str]) -> None:
        self.url = url
        self.token = token
        """Gives the credential.

        Raises:
            NoToken: there is none to show.
        """
        self.socket_url, self.loopback = worker_socket(url)
        self.http_url = "http" + self.socket_url.removeprefix("ws").removesuffix(WORKER_PATH)
        """Where its HTTP paths begin, without a slash at the end."""

    async def dial(self) -> ClientConnection:
        """Open the socket.

        Raises:
            NotConnected: nobody answers, or something else does.
            Refused: the control plane said no before accepting.
            NoToken: there is no credential to show.
        """
        try:
            return await _Connect(
                self.socket_url,
                additional_headers={TOKEN_HEADER: self.token()},
                user_agent_header=f"codefy-agent/{__version__}",
                # Frames are small and binary; a shared deflate window would cost memory on both sides.
                compression=None,
                # Heartbeats keep the socket alive, and only frames count as a sign of life.
                ping_interval=None,
                open_timeout=_OPEN_TIMEOUT_S,
                close_timeout=_CLOSE_TIMEOUT_S,
                max_size=MAX_MESSAGE_BYTES,
                # A proxy that the environment names cannot reach this machine's loopback.
                proxy=None if self.loopback else True,
            )
        except InvalidStatus as error:
            raise _denied(error) from error
        except (InvalidHandshake, InvalidProxy, InvalidURI) as error:
            raise NotConnected(f"{self.url} does not answer like a Codefy server ({error})") from error
        except TimeoutError as error:
            raise NotConnected(f"{self.url} did not answer within {_OPEN_TIMEOUT_S:.0f} s") from error
        except OSError as error:
            raise NotConnected(f"{self.url} cannot be reached ({error.strerror or error})") from error


class _Connect(websocket_connect):
    """Never follows a redirect: the token is for the server that was named, not for wherever it points."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


def worker_socket(url: str) -> tuple[str, bool]:
    """The address of ``/ws/worker`` at a control plane, and whether it is this machine's loopback.

    Raises:
        BadControlUrl: with what is wrong.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise BadControlUrl(f"{url!r} is not an address: {error}") from error
    schemes = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}
    if parts.scheme not in schemes or not host:
        raise BadControlUrl(f"{url!r} is not the address of a server: write http://HOST:PORT or https://HOST")
    if parts.username is not None or parts.query or parts.fragment:
        raise BadControlUrl(f"{url!r}: give the address alone, and the token with --token-file")
    path = parts.path.rstrip("/") + WORKER_PATH
    socket = urlunsplit(SplitResult(schemes[parts.scheme], parts.netloc, path, "", ""))
    return socket, _is_loopback(host)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _denied(error: InvalidStatus) -> Exception:
    status = error.response.status_code
    try:
        denial = msgspec.json.decode(error.response.body or b"", type=_Denial)
    except msgspec.DecodeError:
        denial = _Denial()
    if denial.code in _FINAL_CODES:
        text = denial.reason or denial.message or denial.detail or f"the server answered {status}"
        return Refused(str(denial.code), text)
    return NotConnected(f"the server answered HTTP {status}, not a connection")


def token_reader(token: str | None, token_file: Path | None) -> Callable[[], str]:
    """What gives the credential: a fixed one, or the file's content at the moment of dialling."""
    if token is not None:
        return lambda: token
    if token_file is None:
        raise NoToken("No token was given.")

    def read() -> str:
        try:
            text = token_file.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not a token"
            raise NoToken(f"the token file {token_file} cannot be read: {why}") from error
        if not text or any(character.isspace() for character in text):
            raise NoToken(f"the token file {token_file} does not hold a token")
        return text

    return read
