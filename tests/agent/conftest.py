"""A control plane made of the real codec over a real WebSocket server, which does nothing by itself."""

from __future__ import annotations

import asyncio
import http
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from codefy_agent.testing import Agent
from codefy_protocol import __version__
from codefy_protocol.bodies import RunFinishedBody
from codefy_protocol.codec import agent_frame_decoder, encode_message
from codefy_protocol.frames import (
    Ack,
    Assign,
    Cancel,
    DeviceIdentity,
    Frame,
    Hello,
    RecordedSeq,
    RunFinished,
    RunRecord,
    Welcome,
)

TOKEN = "t0ken-of-the-session"
WAIT_S = 30.0


class FakeControlPlane:
    """Welcomes agents, keeps every frame, acknowledges when told to (``acks``)."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.records: dict[tuple[str, int], dict[int, RunRecord]] = {}
        self.hellos: list[Hello] = []
        self.acks = True
        self.heartbeat_s = 10.0
        self.denial: tuple[int, dict[str, Any]] | None = None
        self.headers: dict[str, str] = {}
        """Sent with a denial."""
        self.answer_hello: Callable[[Hello], Frame] | None = None
        self.sockets: set[ServerConnection] = set()
        self.paths: list[str] = []
        self.origins: list[str | None] = []
        self.inputs: dict[str, bytes] = {}
        """What it serves under ``/inputs/<sha256>``."""
        self.fetched: list[tuple[str, str | None]] = []
        """Paths of inputs that were asked for, and the worker that the request named."""
        self._changed = asyncio.Condition()
        self._server: Server | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        self._server = await serve(
            self._connection, "127.0.0.1", self.port, process_request=self._request, max_size=1024 * 1024
        )
        self.port = next(iter(self._server.sockets)).getsockname()[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
            self._server = None

    async def drop(self) -> None:
        """Close every socket; the server stays."""
        for socket in list(self.sockets):
            await socket.close()

    async def _request(self, connection: ServerConnection, request: Request) -> Response | None:
        self.paths.append(request.path)
        self.origins.append(request.headers.get("Origin"))
        if self.denial is not None:
            status, body = self.denial
            response = connection.respond(http.HTTPStatus(status), json.dumps(body))
            for name, value in self.headers.items():
                response.headers[name] = value
            return response
        if request.headers.get("X-Codefy-Token") != TOKEN:
            return connection.respond(
                http.HTTPStatus.UNAUTHORIZED,
                json.dumps({"code": 4401, "reason": "The session token is wrong."}),
            )
        if "/inputs/" in request.path:
            self.fetched.append((request.path, request.headers.get("X-Codefy-Worker")))
            await self._notify()
            content = self.inputs.get(request.path.rpartition("/")[2])
            if content is None:
                return connection.respond(http.HTTPStatus.NOT_FOUND, "not here")
            headers = Headers({"Content-Length": str(len(content)), "Connection": "close"})
            return Response(200, "OK", headers, content)
        return None

    async def _connection(self, socket: ServerConnection) -> None:
        self.sockets.add(socket)
        decoder = agent_frame_decoder()
        try:
            async for message in socket:
                assert isinstance(message, bytes)
                await self._take(socket, decoder.decode(message))
        except ConnectionClosed:
            pass
        finally:
            self.sockets.discard(socket)
            await self._notify()

    async def _take(self, socket: ServerConnection, frames: list[Frame]) -> None:
        acks: dict[tuple[str, int], int] = {}
        self.frames += frames
        for frame in frames:
            if isinstance(frame, Hello):
                self.hellos.append(frame)
                answer = self.answer_hello(frame) if self.answer_hello else self._welcome(frame)
                await socket.send(encode_message([answer]))
            elif isinstance(frame, RunRecord):
                key = (frame.run_id, frame.attempt)
                known = self.records.setdefault(key, {}).setdefault(frame.seq, frame)
                assert known == frame, "a seq was used for two records"
                acks[key] = frame.seq
        if acks and self.acks:
            await socket.send(
                encode_message([Ack(run_id=key[0], attempt=key[1], seq=seq) for key, seq in acks.items()])
            )
        await self._notify()

    def _welcome(self, hello: Hello) -> Welcome:
        recorded = [
            RecordedSeq(run_id=key[0], attempt=key[1], seq=max(records))
            for key, records in self.records.items()
        ]
        return Welcome(
            worker_id=hello.name,
            product_version=__version__,
            heartbeat_s=self.heartbeat_s,
            grace_s=30.0,
            resume_grace_s=3600.0,
            recorded=tuple(recorded) if self.acks else (),
        )

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    # -------------------------------------------------------------- what tests do
    async def until(self, condition: Callable[[], Any], timeout_s: float = WAIT_S) -> Any:
        async with asyncio.timeout(timeout_s), self._changed:
            await self._changed.wait_for(condition)
        return condition()

    async def send(self, *frames: Frame) -> None:
        await self.until(lambda: self.sockets)
        for socket in list(self.sockets):
            await socket.send(encode_message(frames))

    async def assign(
        self,
        run_id: str,
        *script: list[Any],
        attempt: int = 1,
        device: str = "cpu",
        devices: tuple[DeviceIdentity, ...] = (DeviceIdentity(name="cpu"),),
        **fields: Any,
    ) -> None:
        graph = msgspec.json.encode({"format_version": 1, "nodes": [], "edges": [], "script": script})
        fields.setdefault("graph", graph)
        await self.send(
            Assign(
                run_id=run_id,
                attempt=attempt,
                payload_cap=128 * 1024,
                device=device,
                devices=devices,
                grace_s=30.0,
                **fields,
            )
        )

    async def cancel(self, run_id: str, attempt: int = 1, grace_s: float | None = None) -> None:
        await self.send(Cancel(run_id=run_id, attempt=attempt, grace_s=grace_s))

    def of(self, run_id: str, kind: type[RunRecord], attempt: int = 1) -> list[RunRecord]:
        """Records of one type so far, in order of seq."""
        records = self.records.get((run_id, attempt), {})
        return [records[seq] for seq in sorted(records) if isinstance(records[seq], kind)]

    async def finished(self, run_id: str, attempt: int = 1) -> RunFinishedBody:
        records = await self.until(lambda: self.of(run_id, RunFinished, attempt))
        return msgspec.json.decode(records[0].body, type=RunFinishedBody)


@pytest.fixture
async def control() -> AsyncIterator[FakeControlPlane]:
    plane = FakeControlPlane()
    await plane.start()
    yield plane
    await plane.close()


@pytest.fixture
async def agent(control: FakeControlPlane, tmp_path: Path) -> AsyncIterator[Agent]:
    """A connected agent with scripted children."""
    async with Agent(control.url, token=TOKEN, data_dir=tmp_path / "agents", scripted=True) as started:
        await started.connected()
        yield started


@pytest.fixture
def token() -> str:
    return TOKEN
