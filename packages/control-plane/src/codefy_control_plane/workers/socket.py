"""``/ws/worker``: the socket that an agent dials (F, X-1).

A request that may not connect is refused before it is accepted, with a denial response whose JSON body holds ``code``
(4003 Host or Origin, 4401 credential) and ``reason`` in words: a close before accept would reach the agent as a bare
403. After accept the first frame is ``hello``; then one task reads and one writes until either side ends it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from codefy_control_plane.access import Access, HostPolicy
from codefy_control_plane.workers.connection import Connection, Peer
from codefy_control_plane.workers.handshake import FORBIDDEN, Denied, Rejected, authorise, check_hello
from codefy_control_plane.workers.registry import SERVER_STOPS, WorkerRegistry
from codefy_protocol.codec import (
    FrameDecoder,
    MalformedMessage,
    agent_frame_decoder,
    encode_message,
    pack_messages,
)
from codefy_protocol.frames import Frame, Reject
from codefy_protocol.reasons import MALFORMED_FRAMES, reason

logger = logging.getLogger("codefy.workers")

CLOSE_NORMAL = 1000
CLOSE_GOING_AWAY = 1001
CLOSE_POLICY = 1008
CLOSE_TIMEOUT_S = 5.0
"""How long a socket that is to be closed may take to send what is queued."""


class WorkerSocket:
    """The ASGI application of the endpoint.

    Args:
        hello_timeout_s: within this after accept ``hello`` has to come.
    """

    def __init__(
        self, registry: WorkerRegistry, access: Access, hosts: HostPolicy, *, hello_timeout_s: float = 10.0
    ) -> None:
        self._registry = registry
        self._access = access
        self._hosts = hosts
        self._hello_timeout_s = hello_timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        socket = WebSocket(scope, receive, send)
        server = cast("tuple[str, int | None] | None", scope.get("server"))
        peer = authorise(
            socket.headers,
            socket.query_params.get("token"),
            socket.client.host if socket.client else "",
            server[0] if server else None,
            self._access,
            self._hosts,
        )
        if isinstance(peer, Denied):
            await socket.send_denial_response(_denial(peer))
            return
        await socket.accept()
        with suppress(WebSocketDisconnect):
            await self._serve(socket, peer)

    async def _serve(self, socket: WebSocket, peer: Peer) -> None:
        connection = self._registry.connect(peer)
        name: str | None = None
        try:
            decoder = agent_frame_decoder()
            try:
                frames = await self._first_message(socket, decoder)
            except MalformedMessage as error:
                await _reject(socket, _malformed(error))
                return
            verdict = check_hello(
                frames[0] if frames else None, self._registry.connected_hello, self._hello_timeout_s
            )
            if isinstance(verdict, Rejected):
                logger.warning("an agent at %s was rejected: %s", peer.address, verdict.why.message)
                self._registry.note_rejected(frames[0] if frames else None, verdict.why)
                await _reject(socket, verdict.frame)
                return
            name = verdict.hello.name
            self._registry.opened(connection, verdict.hello, outdated=verdict.outdated)
            async with asyncio.TaskGroup() as tasks:
                ends = (
                    tasks.create_task(_write(socket, connection)),
                    tasks.create_task(self._read(socket, decoder, connection, name, frames[1:])),
                    tasks.create_task(_give_up_closing(connection)),
                )
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                for task in ends:
                    task.cancel()
        finally:
            self._registry.disconnected(connection, name)

    async def _first_message(self, socket: WebSocket, decoder: FrameDecoder) -> list[Frame]:
        try:
            async with asyncio.timeout(self._hello_timeout_s):
                return decoder.decode(await _receive(socket))
        except TimeoutError:
            return []

    async def _read(
        self,
        socket: WebSocket,
        decoder: FrameDecoder,
        connection: Connection,
        name: str,
        frames: Sequence[Frame],
    ) -> None:
        reported: set[str] = set()
        with suppress(WebSocketDisconnect):
            while True:
                await self._registry.received(connection, name, frames)
                try:
                    frames = decoder.decode(await _receive(socket))
                except MalformedMessage as error:
                    logger.warning("worker %s: %s", name, error)
                    connection.send(_malformed(error))
                    connection.close("malformed message")
                    await connection.until_closing()
                    await asyncio.sleep(CLOSE_TIMEOUT_S)
                    return
                for tag in decoder.unknown_tags - reported:
                    reported.add(tag)
                    logger.info("worker %s sends frames of type %r, which this version ignores", name, tag)


async def _write(socket: WebSocket, connection: Connection) -> None:
    with suppress(WebSocketDisconnect):
        while frames := await connection.take():
            for message in pack_messages(frames):
                await socket.send_bytes(message)
        code = CLOSE_GOING_AWAY if connection.closing == SERVER_STOPS else CLOSE_NORMAL
        await socket.close(code, connection.closing)


async def _give_up_closing(connection: Connection) -> None:
    """A peer that reads nothing any more would keep its socket open for ever."""
    await connection.until_closing()
    await asyncio.sleep(CLOSE_TIMEOUT_S)


async def _receive(socket: WebSocket) -> bytes:
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", CLOSE_NORMAL))
    data: bytes | None = message.get("bytes")
    if data is None:
        raise MalformedMessage("a text message; frames are sent as binary messages")
    return data


async def _reject(socket: WebSocket, frame: Reject) -> None:
    await socket.send_bytes(encode_message([frame]))
    await socket.close(CLOSE_POLICY, frame.code)


def _malformed(error: MalformedMessage) -> Reject:
    why = reason(MALFORMED_FRAMES, detail=str(error))
    return Reject(code=why.code, text=why.message, params=why.params, fatal=False)


def _denial(denied: Denied) -> JSONResponse:
    body: dict[str, Any] = {
        "code": denied.code,
        "reason": denied.why.message,
        "reason_code": denied.why.code,
        "params": denied.why.params,
    }
    return JSONResponse(body, status_code=403 if denied.code == FORBIDDEN else 401)
