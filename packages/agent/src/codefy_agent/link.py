"""The agent's connection over time: dial when the session says so, hand over what comes, send what it answers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from codefy_agent.connection import ControlPlane, NotConnected, NoToken, Refused
from codefy_agent.session import AgentSession, Decision, SendControl, Sending
from codefy_agent.store import legal_run_id
from codefy_protocol.codec import (
    MAX_MESSAGE_BYTES,
    MalformedMessage,
    control_frame_decoder,
    encode_message,
    join_encoded,
)
from codefy_protocol.frames import Assign, Frame

logger = logging.getLogger(__name__)

_MESSAGE_BYTES = MAX_MESSAGE_BYTES // 2

ReadRecords = Callable[[str, int, int, int], list[bytes]]
"""The encoded frames of an attempt, from seq to seq."""


class Link:
    """Keeps the connection, and nothing of what it carries.

    Args:
        decided: carries out what the session decided.
        read_records: reads a spool.
    """

    def __init__(
        self,
        control: ControlPlane,
        session: AgentSession,
        *,
        decided: Callable[[Sequence[Decision]], None],
        read_records: ReadRecords,
    ) -> None:
        self.problem = ""
        """Why there is no connection; empty while there is one."""
        self._control = control
        self._session = session
        self._decided = decided
        self._read_records = read_records
        self._socket: ClientConnection | None = None
        self._due = asyncio.Event()
        self._dial_at = 0.0
        self._wake = asyncio.Event()
        self._close_reason: str | None = None
        self._decoder = control_frame_decoder()
        self._reported_tags: set[str] = set()

    # -------------------------------------------------------------- from outside
    def dial_at(self, at: float) -> None:
        """Dial at this time of the monotonic clock."""
        self._dial_at = at
        self._due.set()

    def wake(self) -> None:
        """There may be something to send."""
        self._wake.set()

    def close(self, reason: str) -> None:
        """Close the socket that is open now."""
        self._close_reason = reason
        self._wake.set()

    async def run(self) -> None:
        """Dial, serve, and again, until cancelled."""
        while True:
            await self._due.wait()
            self._due.clear()
            delay = self._dial_at - time.monotonic()
            if delay > 0:
                await asyncio.sleep(delay)
            try:
                socket = await self._control.dial()
            except Refused as refusal:
                self._not_connected(str(refusal))
                self._decided(self._session.refused(refusal.code, str(refusal), time.monotonic()))
            except (NotConnected, NoToken) as error:
                self._not_connected(str(error))
                self._decided(self._session.disconnected(time.monotonic()))
            else:
                try:
                    await self._serve(socket)
                finally:
                    # Also when the agent exits: the other side is to know at once.
                    await socket.close()
                self._decided(self._session.disconnected(time.monotonic()))

    def _not_connected(self, problem: str) -> None:
        # The same problem every few seconds is one line, not hundreds.
        logger.log(logging.DEBUG if problem == self.problem else logging.WARNING, "%s", problem)
        self.problem = problem

    # -------------------------------------------------------------- one connection
    async def _serve(self, socket: ClientConnection) -> None:
        self._close_reason = None
        self._decided(self._session.connected(time.monotonic()))
        sender = asyncio.create_task(self._write(socket), name="sender")
        try:
            await self._read(socket)
        finally:
            sender.cancel()
            with contextlib.suppress(asyncio.CancelledError, ConnectionClosed):
                await sender
        if self._close_reason is not None:
            self.problem = self._close_reason
            logger.warning("disconnected from %s: %s", self._control.url, self._close_reason)
        else:
            words = socket.close_reason or "the connection was closed"
            self.problem = words
            logger.warning("disconnected from %s: %s", self._control.url, words)

    async def _read(self, socket: ClientConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            while True:
                message = await socket.recv()
                try:
                    frames = self._decode(message)
                except MalformedMessage as error:
                    self.close(f"the control plane sent something unreadable ({error})")
                    return
                self._decided(self._session.frames_received(frames, time.monotonic()))

    def _decode(self, message: str | bytes) -> list[Frame]:
        if isinstance(message, str):
            raise MalformedMessage("a text message")
        frames = self._decoder.decode(message)
        for tag in self._decoder.unknown_tags - self._reported_tags:
            self._reported_tags.add(tag)
            logger.info("the control plane sends %r frames, which this agent does not know", tag)
        return [frame for frame in frames if self._acceptable(frame)]

    @staticmethod
    def _acceptable(frame: Frame) -> bool:
        if isinstance(frame, Assign) and (not legal_run_id(frame.run_id) or frame.attempt < 1):
            logger.warning("an assignment with the run id %r is ignored", frame.run_id)
            return False
        return True

    async def _write(self, socket: ClientConnection) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._close_reason is None:
                sending = self._session.writable(time.monotonic())
                if not sending:
                    break
                for message in self._messages(sending):
                    await socket.send(message)
            if self._close_reason is not None:
                await socket.close()
                return

    def _messages(self, sending: Iterable[Sending]) -> Iterator[bytes]:
        """The fewest messages that keep the order, none over the limit."""
        control: list[Frame] = []
        batch: list[bytes] = []
        size = 0
        for each in sending:
            if isinstance(each, SendControl):
                control.append(each.frame)
                continue
            if control:
                yield encode_message(control)
                control = []
            for frame in self._read_records(each.run_id, each.attempt, each.first_seq, each.last_seq):
                if batch and size + len(frame) > _MESSAGE_BYTES:
                    yield join_encoded(batch)
                    batch, size = [], 0
                batch.append(frame)
                size += len(frame)
        if control:
            yield encode_message(control)
        if batch:
            yield join_encoded(batch)
