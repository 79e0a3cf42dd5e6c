"""The server process: data folder, sockets, Hypercorn, and an orderly end.

:class:`Server` is what ``codefy serve`` runs and what tests start on a free port.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import sqlite3
from contextlib import AsyncExitStack
from types import TracebackType
from typing import cast

from hypercorn.asyncio import (
    serve,  # pyright: ignore[reportUnknownVariableType]  its types leave an argument open
)
from hypercorn.typing import ASGIFramework

from codefy_control_plane import data_dir, hypercorn_limits
from codefy_control_plane.access import Access, HostPolicy, TokenFileUnreadable, load_session_token
from codefy_control_plane.api.context import Context
from codefy_control_plane.api.site import WEB_DIST
from codefy_control_plane.app import create_app, running_services
from codefy_control_plane.settings import Settings
from codefy_control_plane.storage.database import is_disk_full
from codefy_control_plane.warmup import Activity
from codefy_engine.nodes.registry import Registry

WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  what a bind to all addresses is reached by
GRACEFUL_S = 2.0
KEEP_ALIVE_S = 75.0
BACKLOG = 1024

_ADDRESS_REMEDIES = {
    errno.EADDRINUSE: "is taken. Choose another with --port (0 takes a free one), or stop what listens there",
    errno.EACCES: "may not be opened by this account. Choose one above 1023 with --port",
    errno.EADDRNOTAVAIL: "is no address of this machine. Choose another with --host",
}


class CannotServe(Exception):
    """The server cannot start; the message says why and what to do."""


class Server:
    """A control plane on a socket, from ``async with`` entered to left.

    Entering returns when it listens. Leaving closes the sockets first, then ends runs and storage.

    Args:
        registry: node types to use instead of those installed.
    """

    def __init__(self, settings: Settings, registry: Registry | None = None) -> None:
        self.settings = settings
        self._registry = registry
        self.url = ""
        """Such as ``http://127.0.0.1:8000``, known once entered."""
        self.token = ""
        self.context: Context
        self.activity = Activity()
        """When the last request came."""
        self._stack = AsyncExitStack()
        self._stop = asyncio.Event()
        self._listening = asyncio.Event()
        self._serving: asyncio.Task[None]

    @property
    def link(self) -> str:
        """The address that opens the UI in a browser; it holds the token."""
        return f"{self.url}/?token={self.token}"

    async def __aenter__(self) -> Server:
        try:
            await self._start()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def wait_failed(self) -> None:
        """Return when serving ended by itself, which it does only by an error.

        Raises:
            Exception: what ended it.
        """
        await asyncio.shield(self._serving)

    async def _start(self) -> None:
        settings = self.settings
        try:
            self._stack.enter_context(data_dir.owned(settings.data_dir))
            self.token = load_session_token(settings.data_dir)
        except (data_dir.DataDirUnusable, TokenFileUnreadable) as error:
            raise CannotServe(str(error)) from error
        listener = bind(settings.host, settings.port)
        self._stack.callback(listener.close)
        self.url = url_of(listener)
        try:
            self.context = await self._stack.enter_async_context(running_services(settings, self._registry))
        except sqlite3.DatabaseError as error:
            raise CannotServe(_database_remedy(settings, error)) from error
        app = create_app(
            self.context,
            Access(self.token),
            HostPolicy(settings.host, settings.allowed_hosts),
            settings.web_dist or WEB_DIST,
        )
        hypercorn_limits.apply()
        config = _hypercorn_config(settings, listener)
        self._serving = asyncio.create_task(
            serve(
                cast("ASGIFramework", self.activity.watched(app)),
                config,
                shutdown_trigger=self._until_stopped,
                mode="asgi",
            )
        )
        self._stack.push_async_callback(self._stop_serving)
        listening = asyncio.create_task(self._listening.wait())
        await asyncio.wait((self._serving, listening), return_when=asyncio.FIRST_COMPLETED)
        listening.cancel()
        if self._serving.done():
            self._serving.result()
        data_dir.write_server_file(settings.server_file, self.url)
        self._stack.callback(data_dir.remove_server_file, settings.server_file)

    async def _until_stopped(self) -> None:
        # Hypercorn asks for this once its sockets listen.
        self._listening.set()
        await self._stop.wait()

    async def _stop_serving(self) -> None:
        # Our own sockets and long polls end first; Hypercorn would wait for them, then cut them off.
        self.context.closing.set()
        self.context.workers.hang_up()
        await self.context.workers.close()
        self._stop.set()
        await asyncio.wait((self._serving,))
        # Cutting off a connection makes Hypercorn end as if it were cancelled.
        if not self._serving.cancelled():
            error = self._serving.exception()
            if error is not None:
                raise error


def _database_remedy(settings: Settings, error: sqlite3.DatabaseError) -> str:
    path = settings.database_path
    if is_disk_full(error):
        return f"The disk of {path} is full. Make room there, or choose another folder with --data-dir."
    if isinstance(error, sqlite3.OperationalError):
        return f"The database {path} cannot be opened ({error}). Choose another folder with --data-dir."
    return (
        f"The database {path} is damaged ({error}). Put a backup in its place, or move it and its -wal and -shm files "
        "away to start with an empty one, or choose another folder with --data-dir."
    )


def bind(host: str, port: int) -> socket.socket:
    """A bound TCP socket that programs started by the server do not inherit.

    Raises:
        CannotServe: the address cannot be had.
    """
    where = f"{host} port {port}"
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError) as error:
        raise CannotServe(f"The host {host!r} is not known. Choose another with --host.") from error
    listener = socket.socket(family, kind, protocol)
    try:
        # A port whose last connections are still winding down is free at once for the next start.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        remedy = _ADDRESS_REMEDIES.get(error.errno or 0, f"cannot be opened: {error.strerror}")
        raise CannotServe(f"{where} {remedy}.") from error
    listener.setblocking(False)
    return listener


def url_of(listener: socket.socket) -> str:
    """The address a browser on this machine uses."""
    address: tuple[str, int] = listener.getsockname()[:2]
    port = address[1]
    host = WILDCARDS.get(address[0], address[0])
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _hypercorn_config(settings: Settings, listener: socket.socket) -> hypercorn_limits.BoundConfig:
    config = hypercorn_limits.BoundConfig([listener])
    # No access log: request lines hold the token of a link.
    config.accesslog = None
    config.errorlog = logging.getLogger("codefy.http")
    config.loglevel = "WARNING"
    config.alpn_protocols = ["http/1.1"]
    config.backlog = BACKLOG
    config.graceful_timeout = GRACEFUL_S
    config.include_server_header = False
    config.keep_alive_timeout = KEEP_ALIVE_S
    # A run over the socket holds a graph in a little envelope.
    config.websocket_max_message_size = settings.max_body_bytes + 4096
    return config
