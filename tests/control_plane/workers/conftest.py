"""A real server in this process, and an agent that says exactly what a test wants over a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import msgspec
import pytest
from websockets.asyncio.client import ClientConnection, connect

from codefy_control_plane.server import Server
from codefy_control_plane.settings import Settings, load_settings
from codefy_engine.nodes.registry import default_registry
from codefy_protocol import PROTOCOL_VERSION, __version__
from codefy_protocol.bodies import RunFinishedBody
from codefy_protocol.capabilities import IMPLEMENTED
from codefy_protocol.codec import control_frame_decoder, encode_message
from codefy_protocol.envelope import encode_body
from codefy_protocol.frames import (
    Ack,
    Assign,
    AttemptState,
    Device,
    Event,
    Frame,
    Hello,
    RunAlive,
    RunFinished,
    RunRecord,
    RunStarted,
    Welcome,
)

WAIT_S = 30.0
GRAPH = msgspec.json.encode(
    {
        "format_version": 1,
        "nodes": [
            {
                "id": "data",
                "type": "SklearnDataset",
                "position": {"x": 0, "y": 0},
                "data": {"params": {"name": "digits"}},
            }
        ],
        "edges": [],
    }
)

F = TypeVar("F", bound=msgspec.Struct)


class ScriptedAgent:
    """Speaks the protocol and decides nothing."""

    def __init__(self, server: Server, **fields: Any) -> None:
        self._server = server
        self._decoder = control_frame_decoder()
        self._socket: ClientConnection
        self._waiting: list[Frame] = []
        self.welcome: Welcome | None = None
        known: dict[str, Any] = {
            "name": "w1",
            "product_version": __version__,
            "protocol_version": PROTOCOL_VERSION,
            "capabilities": IMPLEMENTED,
            "machine_id": "m1",
            "incarnation": "a",
            "devices": (Device(name="cpu", kind="cpu"),),
            "node_types": tuple(default_registry()),
        }
        self.hello = Hello(**{**known, **fields})

    async def __aenter__(self) -> ScriptedAgent:
        url = self._server.url.replace("http", "ws") + "/ws/worker"
        headers = {"X-Codefy-Token": self._server.token}
        self._socket = await connect(url, additional_headers=headers, compression=None, ping_interval=None)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._socket.close()

    @property
    def socket(self) -> ClientConnection:
        return self._socket

    async def send(self, *frames: Frame) -> None:
        await self._socket.send(encode_message(frames))

    async def greet(self, *held: tuple[str, int, str, int]) -> Welcome:
        """hello, welcome, run_alive with ``(run_id, attempt, state, last_seq)``."""
        await self.send(self.hello)
        self.welcome = await self.expect(Welcome)
        attempts = tuple(
            AttemptState(run_id=run_id, attempt=attempt, state=state, last_seq=seq)
            for run_id, attempt, state, seq in held
        )
        await self.send(RunAlive(attempts=attempts))
        return self.welcome

    async def expect(self, kind: type[F], matching: Callable[[F], bool] = lambda _: True) -> F:
        """The next frame of this kind; others before it are dropped."""
        async with asyncio.timeout(WAIT_S):
            while True:
                while self._waiting:
                    frame = self._waiting.pop(0)
                    if isinstance(frame, kind) and matching(frame):
                        return frame
                message = await self._socket.recv()
                assert isinstance(message, bytes)
                self._waiting += self._decoder.decode(message)

    async def ack_of(self, run_id: str, seq: int) -> Ack:
        """The acknowledgement of (at least) this seq."""
        return await self.expect(Ack, lambda ack: ack.run_id == run_id and ack.seq >= seq)

    async def until_closed(self) -> tuple[int | None, str | None]:
        async with asyncio.timeout(WAIT_S):
            await self._socket.wait_closed()
        return self._socket.close_code, self._socket.close_reason


def records(assign: Assign, first: int, count: int) -> list[RunRecord]:
    """``run_started`` as record 1, events after it."""
    made: list[RunRecord] = []
    for seq in range(first, first + count):
        common: dict[str, Any] = {
            "run_id": assign.run_id,
            "attempt": assign.attempt,
            "seq": seq,
            "ts": float(seq),
        }
        if seq == 1:
            made.append(RunStarted(body=b'{"pid":1,"engine_version":"1"}', **common))
        else:
            body = encode_body({"node_id": "data", "number": seq})
            made.append(Event(kind="node_progress", body=body, **common))
    return made


def finished(assign: Assign, seq: int, status: str = "succeeded") -> RunFinished:
    return RunFinished(
        run_id=assign.run_id,
        attempt=assign.attempt,
        seq=seq,
        ts=float(seq),
        body=encode_body(RunFinishedBody(status=status)),
    )


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({}, data_dir=tmp_path / "data", port=0, heartbeat_s=0.5, hello_timeout_s=0.5)


@pytest.fixture
async def server(settings: Settings) -> AsyncIterator[Server]:
    async with Server(settings) as running:
        yield running
