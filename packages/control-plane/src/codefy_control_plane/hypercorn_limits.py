"""What Hypercorn has no switch for, in one place. A test fails for each patch that is no longer needed.

* permessage-deflate is always on: half a megabyte from a client inflates to hundreds in the server.
* A WebSocket message over the limit is answered with 1009, yet what still comes of it is kept.
* Its listening sockets are inheritable: a program started by the server would hold the port after a ``kill -9``.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any, cast

from hypercorn.config import Config, Sockets
from hypercorn.protocol import ws_stream
from wsproto.events import Message


class _PlainHandshake(ws_stream.Handshake):
    """Offers no extension."""

    def __init__(self, headers: list[tuple[bytes, bytes]], http_version: str) -> None:
        super().__init__(headers, http_version)
        self.extensions = None


class _BoundedBuffer(ws_stream.WebsocketBuffer):
    """Refuses a part that would go over the limit before keeping it, and forgets the parts it has."""

    def extend(  # pyright: ignore[reportUnknownMemberType]  the base class leaves the type argument open
        self, event: Message[Any]
    ) -> None:
        if self.length + len(event.data) > self.max_length:
            # Later parts of the same message must not begin a new one.
            self.value = None
            self.length = self.max_length + 1
            raise ws_stream.FrameTooLargeError
        cast("Any", super()).extend(event)


def apply() -> None:
    """Patch Hypercorn. Doing it again changes nothing."""
    ws_stream.Handshake = _PlainHandshake
    ws_stream.WebsocketBuffer = _BoundedBuffer


class BoundConfig(Config):
    """A configuration over sockets that are bound already."""

    def __init__(self, sockets: Sequence[socket.socket]) -> None:
        super().__init__()
        self._bound = list(sockets)

    def create_sockets(self) -> Sockets:
        return Sockets(secure_sockets=[], insecure_sockets=self._bound, quic_sockets=[])
