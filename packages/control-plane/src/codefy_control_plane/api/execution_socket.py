"""``/ws/execution``: a browser's or a command line's live view of runs (V-4).

One connection is one scope of tasks: a reader that takes messages in order, a writer that sends what is in the outbox,
and a pump for each attached run. Pumps wait while the outbox is full, so a slow client holds a bounded amount of
memory and later reads the rest from the database. Payloads are put into the messages as the bytes that they are (V-7).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from typing import TypeVar, cast

import msgspec
from starlette.types import Receive, Scope, Send

from codefy_control_plane.api.context import Context
from codefy_control_plane.api.decoding import UNREADABLE, explain
from codefy_control_plane.api.routing import report_exception
from codefy_control_plane.api.schemas import StoredEvent
from codefy_control_plane.api.socket_messages import (
    Accepted,
    Attach,
    ClientMessage,
    Detach,
    Ended,
    Events,
    Metrics,
    Ping,
    Pong,
    Refusal,
    Run,
    RunsChanged,
    ServerMessage,
    Stop,
    WatchRuns,
)
from codefy_control_plane.runs.errors import Refused
from codefy_control_plane.runs.feed import FeedBatch
from codefy_engine.execution.state import ExecutionState
from codefy_protocol import reasons
from codefy_protocol.reasons import Reason, reason

logger = logging.getLogger("codefy.api")
T = TypeVar("T")

BATCH_INTERVAL_S = 0.025
RUNS_CHANGED_INTERVAL_S = 0.25
OUTBOX_BYTES = 1024 * 1024
MESSAGE_BYTES = 512 * 1024
MAX_METRICS = 2000
MAX_REPLIES = 512
"""Answers that may wait for a client that sends and never reads; beyond them it is cut off."""

LIVE = frozenset(("queued", "running", "disconnected"))

CLOSE_WITHIN_S = 1.0
CLOSE_NORMAL = 1000
CLOSE_GOING_AWAY = 1001
CLOSE_POLICY = 1008
CLOSE_ERROR = 1011

_decoder = msgspec.json.Decoder(ClientMessage)
_encoder = msgspec.json.Encoder()


class _Id(msgspec.Struct):
    id: str | None = None


class _Gone(Exception):
    """The connection is over; ``code`` closes it from this side."""

    def __init__(self, code: int | None = None) -> None:
        super().__init__(code)
        self.code = code


class Outbox:
    """Messages on their way to one client, in order. Bounded by bytes for pumps and by count for answers."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[bytes, bool]] = deque()
        self._bytes = 0
        self._replies = 0
        self._filled = asyncio.Event()
        self._drained = asyncio.Event()
        self._drained.set()

    def reply(self, message: ServerMessage) -> None:
        """Add an answer without waiting: the reader must go on reading.

        Raises:
            _Gone: the client has not read its last ``MAX_REPLIES`` answers.
        """
        if self._replies >= MAX_REPLIES:
            raise _Gone(CLOSE_POLICY)
        self._replies += 1
        self._append(_encoder.encode(message), True)

    async def put(self, message: ServerMessage) -> None:
        """Add a batch once there is room."""
        while self._bytes >= OUTBOX_BYTES:
            self._drained.clear()
            await self._drained.wait()
        self._append(_encoder.encode(message), False)

    def _append(self, encoded: bytes, is_reply: bool) -> None:
        self._waiting.append((encoded, is_reply))
        self._bytes += len(encoded)
        self._filled.set()

    async def take(self) -> bytes:
        """The next message. What was taken counts until the next call, when it has been sent."""
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        encoded, is_reply = self._waiting.popleft()
        self._bytes -= len(encoded)
        self._replies -= is_reply
        if self._bytes < OUTBOX_BYTES:
            self._drained.set()
        return encoded


class ExecutionSocket:
    """The ASGI application of the endpoint. Host, Origin and credential were checked before (``Guards``)."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        code = await _Connection(self._context, receive, send).serve()
        if code is not None:
            # A client that reads nothing would hold this for ever.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_WITHIN_S):
                    await send({"type": "websocket.close", "code": code})


class _Connection:
    def __init__(self, context: Context, receive: Receive, send: Send) -> None:
        self._context = context
        self._receive = receive
        self._send = send
        self._outbox = Outbox()
        self._pumps: dict[str, asyncio.Task[None]] = {}
        self._watching: asyncio.Task[None] | None = None
        self._own_run: str | None = None
        """The interactive run of this editor: one at a time (L-1)."""
        self._state = ExecutionState()
        """What its runs keep for the next one."""
        self._tasks: asyncio.TaskGroup

    async def serve(self) -> int | None:
        """Serve until either side ends it; the close code to send, or ``None`` when the client is gone."""
        code: int | None = CLOSE_NORMAL
        try:
            async with asyncio.TaskGroup() as self._tasks:
                self._tasks.create_task(self._write())
                self._tasks.create_task(self._close_with_server())
                self._tasks.create_task(self._read())
        except* _Gone as group:
            codes = [error.code for error in group.exceptions if isinstance(error, _Gone)]
            code = next(filter(None, codes), None)
        except* Exception:
            logger.exception("a connection to /ws/execution failed")
            code = CLOSE_ERROR
        return code

    async def _close_with_server(self) -> None:
        await self._context.closing.wait()
        raise _Gone(CLOSE_GOING_AWAY)

    async def _write(self) -> None:
        while True:
            encoded = await self._outbox.take()
            await self._send({"type": "websocket.send", "text": encoded.decode()})

    async def _read(self) -> None:
        while True:
            incoming = await self._receive()
            if incoming["type"] == "websocket.disconnect":
                raise _Gone
            text: str | None = incoming.get("text")
            if text is None:
                why = reason(reasons.INVALID_BODY, path="$", detail="messages are text, not binary")
                self._refuse(None, why)
                continue
            try:
                message = _decoder.decode(text)
            except UNREADABLE as error:
                path, detail = explain(error)
                self._refuse(_id_of(text), reason(reasons.INVALID_BODY, path=path, detail=detail))
                continue
            await self._do(message)

    async def _do(self, message: ClientMessage) -> None:
        run_id = None if isinstance(message, Run | WatchRuns | Ping) else message.run_id
        try:
            if isinstance(message, Run):
                await self._run(message)
            elif isinstance(message, Attach):
                await self._context.service.get(message.run_id)
                await self._attach(message.run_id, message.cursor, message.metrics_cursor)
            elif isinstance(message, Detach):
                await self._detach(message.run_id)
            elif isinstance(message, Stop):
                await self._context.service.cancel(message.run_id)
            elif isinstance(message, WatchRuns):
                if self._watching is None:
                    self._watching = self._tasks.create_task(self._watch_runs())
            else:
                self._outbox.reply(Pong(id=message.id))
        except Refused as error:
            self._refuse(message.id, error.reason, error, run_id)
        except _Gone:
            raise
        except Exception:
            # One message that fails must not take the live view of everything else with it.
            error_id = report_exception(f"/ws/execution {type(message).__name__}")
            self._refuse(message.id, reason(reasons.INTERNAL_ERROR, error_id=error_id), None, run_id)

    def _refuse(
        self, message_id: str | None, why: Reason, error: Refused | None = None, run_id: str | None = None
    ) -> None:
        self._outbox.reply(
            Refusal(
                id=message_id,
                code=why.code,
                message=why.message,
                params=why.params,
                run_id=run_id,
                problems=error.problems if error is not None else None,
            )
        )

    async def _run(self, message: Run) -> None:
        service = self._context.service
        if self._own_run is not None and await self._is_live(self._own_run):
            raise Refused(409, reason(reasons.EDITOR_BUSY, run_id=self._own_run))
        options = msgspec.structs.replace(message.options, lane="interactive")
        submitted = await service.submit(
            bytes(message.graph), options, message.name, secrets=message.secrets, state=self._state
        )
        self._own_run = submitted.run_id
        self._outbox.reply(Accepted(id=message.id, run_id=submitted.run_id, number=submitted.number))
        await self._attach(submitted.run_id, 0, 0)

    async def _is_live(self, run_id: str) -> bool:
        try:
            return (await self._context.service.get(run_id)).status in LIVE
        except Refused:
            return False  # deleted meanwhile

    async def _attach(self, run_id: str, cursor: int, metrics_cursor: int) -> None:
        await self._detach(run_id)
        self._pumps[run_id] = self._tasks.create_task(self._pump(run_id, cursor, metrics_cursor))

    async def _detach(self, run_id: str) -> None:
        pump = self._pumps.pop(run_id, None)
        if pump is not None:
            pump.cancel()
            # Nothing of the old attachment may follow what is answered after this.
            await asyncio.wait((pump,))

    async def _pump(self, run_id: str, cursor: int, metrics_cursor: int) -> None:
        loop = asyncio.get_running_loop()
        subscription = self._context.service.feed.subscribe(run_id, cursor, metrics_cursor)
        async with aclosing(cast("AsyncGenerator[FeedBatch]", subscription)) as batches:
            async for batch in batches:
                sent_at = loop.time()
                for events in split_events(batch.events):
                    await self._outbox.put(Events(run_id=run_id, events=events))
                reached = batch.metrics_cursor - len(batch.metrics)
                for points in _chunks(batch.metrics, MAX_METRICS):
                    reached += len(points)
                    await self._outbox.put(Metrics(run_id=run_id, metrics_cursor=reached, points=points))
                if batch.ended:
                    await self._outbox.put(Ended(run_id=run_id))
                    break
                # A pause gathers what is committed meanwhile into one message.
                await asyncio.sleep(max(0.0, sent_at + BATCH_INTERVAL_S - loop.time()))
        if self._pumps.get(run_id) is asyncio.current_task():
            del self._pumps[run_id]

    async def _watch_runs(self) -> None:
        changes = self._context.service.runs_changed
        seen = changes.version
        while True:
            seen = await changes.wait(seen)
            await self._outbox.put(RunsChanged())
            await asyncio.sleep(RUNS_CHANGED_INTERVAL_S)


def split_events(events: Sequence[StoredEvent]) -> Iterator[list[StoredEvent]]:
    """Events in order, in pieces whose payloads have at most ``MESSAGE_BYTES`` (one event may be alone and larger)."""
    piece: list[StoredEvent] = []
    size = 0
    for event in events:
        length = len(event.payload) + 80
        if piece and size + length > MESSAGE_BYTES:
            yield piece
            piece, size = [], 0
        piece.append(event)
        size += length
    if piece:
        yield piece


def _chunks(items: Sequence[T], size: int) -> Iterator[list[T]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])


def _id_of(text: str) -> str | None:
    with contextlib.suppress(*UNREADABLE):
        return msgspec.json.decode(text, type=_Id).id
    return None
