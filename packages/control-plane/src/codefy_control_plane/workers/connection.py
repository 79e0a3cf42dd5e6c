"""One accepted socket of a worker: what waits to be sent on it, and whether it is to be closed."""

from __future__ import annotations

import asyncio
from collections import deque

import msgspec

from codefy_protocol.frames import Frame


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """Who is at the other end, by what the server itself saw."""

    address: str
    loopback: bool
    authenticated_by: str
    """``session-token``: a process of this account on this machine."""


class Connection:
    """Frames go in at once and out in order; the socket's writer takes them."""

    def __init__(self, number: int, peer: Peer) -> None:
        self.number = number
        self.peer = peer
        self.closing: str | None = None
        """Why it is to be closed, once everything was sent."""
        self._outbox: deque[Frame] = deque()
        self._wake = asyncio.Event()
        self._closing = asyncio.Event()

    def send(self, frame: Frame) -> None:
        """Queue a frame. After ``close`` it is dropped."""
        if self.closing is None:
            self._outbox.append(frame)
            self._wake.set()

    def close(self, reason: str) -> None:
        """Close the socket once everything queued was sent."""
        if self.closing is None:
            self.closing = reason
            self._closing.set()
            self._wake.set()

    async def until_closing(self) -> None:
        """Wait until somebody wants it closed."""
        await self._closing.wait()

    async def take(self) -> list[Frame]:
        """Wait for frames and take them all; empty once the connection is to be closed and nothing is left."""
        while not self._outbox and self.closing is None:
            self._wake.clear()
            await self._wake.wait()
        frames = list(self._outbox)
        self._outbox.clear()
        return frames
