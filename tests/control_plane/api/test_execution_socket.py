"""``/ws/execution``: run, attach with cursors, stop, watch, and what happens to messages that make no sense."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import msgspec
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from codefy_control_plane.api.execution_socket import MAX_REPLIES, MESSAGE_BYTES, Outbox, split_events
from codefy_control_plane.api.schemas import StoredEvent
from codefy_control_plane.api.socket_messages import Pong, RunsChanged
from codefy_control_plane.server import Server

GraphOf = Callable[..., dict[str, Any]]


class Watcher:
    """One connection: what it was told, by type and run."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.messages: list[dict[str, Any]] = []

    async def send(self, **message: Any) -> None:
        await self.socket.send(json.dumps(message))

    async def next(self) -> dict[str, Any]:
        message = json.loads(await asyncio.wait_for(self.socket.recv(), 30))
        self.messages.append(message)
        return message

    async def until(self, kind: str, **fields: Any) -> dict[str, Any]:
        while True:
            message = await self.next()
            if message["type"] == kind and fields.items() <= message.items():
                return message

    def events(self, run_id: str) -> list[dict[str, Any]]:
        return [
            event
            for message in self.messages
            if message["type"] == "events" and message["run_id"] == run_id
            for event in message["events"]
        ]

    def points(self, run_id: str) -> list[dict[str, Any]]:
        return [
            point
            for message in self.messages
            if message["type"] == "metrics" and message["run_id"] == run_id
            for point in message["points"]
        ]


@asynccontextmanager
async def watching(server: Server) -> AsyncIterator[Watcher]:
    url = server.url.replace("http://", "ws://") + "/ws/execution"
    async with connect(
        url, proxy=None, additional_headers={"x-codefy-token": server.token}, max_size=None
    ) as socket:
        yield Watcher(socket)


async def stored(client: httpx.AsyncClient, run_id: str) -> list[dict[str, Any]]:
    return (await client.get(f"/api/runs/{run_id}/events", params={"limit": 5000})).json()["events"]


async def test_run_and_watch_to_the_end(server: Server, client: httpx.AsyncClient, graph_of: GraphOf) -> None:
    async with watching(server) as browser:
        await browser.send(type="run", id="q1", graph=graph_of("Chatter", points=4), name="from the canvas")
        accepted = await browser.next()
        assert (accepted["type"], accepted["id"]) == ("accepted", "q1")
        run_id = accepted["run_id"]
        await browser.until("ended", run_id=run_id)
        assert browser.messages[-1]["type"] == "ended"
    events = browser.events(run_id)
    assert events == await stored(client, run_id)
    assert [event["cursor"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["type"], events[-1]["type"]) == ("execution_start", "execution_complete")
    assert [point["value"] for point in browser.points(run_id)] == ["NaN", 0.5, 1 / 3, 0.25]
    detail = (await client.get(f"/api/runs/{run_id}")).json()
    assert (detail["lane"], detail["name"]) == ("interactive", "from the canvas")


async def test_two_browsers_see_the_same_list_and_one_reloads(
    server: Server, client: httpx.AsyncClient, graph_of: GraphOf, runs: Any, release: Any
) -> None:
    run_id = await runs.submit(graph_of("Wait"))
    async with watching(server) as first:
        await first.send(type="attach", run_id=run_id)
        await first.until("events", run_id=run_id)
        async with watching(server) as reloading:
            await reloading.send(type="attach", run_id=run_id)
            await reloading.until("events", run_id=run_id)
        seen = reloading.events(run_id)
        async with watching(server) as reloaded:
            await reloaded.send(type="attach", run_id=run_id, cursor=seen[-1]["cursor"])
            release()
            await reloaded.until("ended", run_id=run_id)
        await first.until("ended", run_id=run_id)
    assert first.events(run_id) == seen + reloaded.events(run_id) == await stored(client, run_id)


async def test_replay_of_many_events_and_points_continues_after_the_cursors(
    server: Server, client: httpx.AsyncClient, graph_of: GraphOf, runs: Any
) -> None:
    run_id = await runs.submit(graph_of("Chatter", warnings=2500, points=4500))
    await runs.wait(run_id)
    async with watching(server) as whole:
        await whole.send(type="attach", run_id=run_id)
        await whole.until("ended")
    cursors = [event["cursor"] for event in whole.events(run_id)]
    assert cursors == list(range(1, len(cursors) + 1))
    assert len(cursors) > 2500
    assert [point["step"] for point in whole.points(run_id)] == list(range(1, 4501))
    middle = next(message for message in whole.messages if message["type"] == "metrics")
    async with watching(server) as later:
        await later.send(type="attach", run_id=run_id, cursor=2000, metrics_cursor=middle["metrics_cursor"])
        await later.until("ended")
    assert later.events(run_id)[0]["cursor"] == 2001
    assert later.points(run_id)[0]["step"] == len(middle["points"]) + 1


async def test_payload_bytes_are_the_stored_bytes(server: Server, graph_of: GraphOf, runs: Any) -> None:
    run_id = await runs.submit(graph_of("Chatter", warnings=1))
    await runs.wait(run_id)
    listed = await server.context.service.events(run_id)
    async with watching(server) as watcher:
        await watcher.send(type="attach", run_id=run_id)
        raw = str(await watcher.socket.recv())
    for event in listed.events:
        assert bytes(event.payload).decode() in raw


async def test_detach_and_attach_again(
    server: Server, client: httpx.AsyncClient, graph_of: GraphOf, runs: Any, release: Any
) -> None:
    run_id = await runs.submit(graph_of("Wait"))
    async with watching(server) as watcher:
        await watcher.send(type="attach", run_id=run_id)
        await watcher.until("events")
        await watcher.send(type="detach", run_id=run_id)
        await watcher.send(type="ping", id="after")
        await watcher.until("pong", id="after")
        before = len(watcher.messages)
        release()
        await runs.wait(run_id)
        await watcher.send(type="ping", id="late")
        assert await watcher.next() == {"type": "pong", "id": "late"}
        assert len(watcher.messages) == before + 1
        watcher.messages.clear()
        # Twice at once: the second moves the cursors, and what it sends is whole and in order.
        await watcher.send(type="attach", run_id=run_id, cursor=1)
        await watcher.send(type="attach", run_id=run_id)
        whole = await stored(client, run_id)
        while watcher.events(run_id)[-len(whole) :] != whole:
            await watcher.until("ended")


async def test_stop(server: Server, graph_of: GraphOf) -> None:
    async with watching(server) as watcher:
        await watcher.send(type="run", id="q", graph=graph_of("Wait"))
        run_id = (await watcher.until("accepted"))["run_id"]
        await watcher.send(type="stop", run_id=run_id)
        await watcher.until("ended", run_id=run_id)
        assert watcher.events(run_id)[-1]["type"] == "execution_stopped"
        await watcher.send(type="stop", id="again", run_id=run_id)
        assert (await watcher.until("error", id="again"))["code"] == "run_ended"


async def test_closing_the_tab_does_not_stop_the_run(
    server: Server, client: httpx.AsyncClient, graph_of: GraphOf, runs: Any, release: Any
) -> None:
    async with watching(server) as watcher:
        await watcher.send(type="run", graph=graph_of("Wait"))
        run_id = (await watcher.until("accepted"))["run_id"]
    release()
    assert (await runs.wait(run_id))[-1]["type"] == "execution_complete"


@pytest.mark.parametrize(
    ("message", "code", "message_id"),
    [
        ("{", "invalid_body", None),
        ("", "invalid_body", None),
        ("[]", "invalid_body", None),
        ('"run"', "invalid_body", None),
        ('{"id":"a"}', "invalid_body", "a"),
        ('{"type":"dance","id":"b"}', "invalid_body", "b"),
        ('{"type":"attach","id":"c"}', "invalid_body", "c"),
        ('{"type":"attach","id":"d","run_id":"x","cursor":-1}', "invalid_body", "d"),
        ('{"type":"attach","id":"e","run_id":"x","cursor":1e400}', "invalid_body", "e"),
        ('{"type":"attach","id":"f","run_id":"nope"}', "run_not_found", "f"),
        ('{"type":"stop","id":"g","run_id":"nope"}', "run_not_found", "g"),
        ('{"type":"run","id":"h","graph":{"nodes":5}}', "invalid_graph", "h"),
        (
            '{"type":"run","id":"i","graph":{"nodes":[],"edges":[]},"options":{"devise":"cpu"}}',
            "invalid_body",
            "i",
        ),
        (b"\x00\x01", "invalid_body", None),
        ("[" * 5000 + "]" * 5000, "invalid_body", None),
        ('{"type":"run","id":"j","graph":' + "[" * 5000 + "]" * 5000 + "}", "invalid_body", None),
    ],
)
async def test_bad_messages_are_answered_and_the_socket_lives_on(
    server: Server, client: httpx.AsyncClient, message: str | bytes, code: str, message_id: str | None
) -> None:
    async with watching(server) as watcher:
        await watcher.socket.send(message)
        answer = await watcher.next()
        assert (answer["type"], answer["code"], answer["id"]) == ("error", code, message_id)
        assert answer["message"]
        assert "Traceback" not in json.dumps(answer)
        await watcher.send(type="ping", id="alive")
        assert await watcher.next() == {"type": "pong", "id": "alive"}
    assert (await client.get("/api/runs")).json()["total"] == 0


async def test_problems_of_a_graph_come_with_the_refusal(server: Server, graph_of: GraphOf) -> None:
    async with watching(server) as watcher:
        await watcher.send(type="run", id="q", graph=graph_of("NoSuchNode"))
        refusal = await watcher.next()
    assert [problem["code"] for problem in refusal["problems"]] == ["unknown_node_type"]


async def test_one_interactive_run_per_editor_and_two_at_all(
    server: Server, graph_of: GraphOf, release: Any
) -> None:
    async with watching(server) as first, watching(server) as second, watching(server) as third:
        for editor in (first, second):
            await editor.send(type="run", id="q", graph=graph_of("Wait"))
            await editor.until("accepted", id="q")
        run_id = first.messages[0]["run_id"]
        await first.send(type="run", id="more", graph=graph_of("Wait"))
        refusal = await first.until("error", id="more")
        assert (refusal["code"], refusal["params"]) == ("editor_busy", {"run_id": run_id})
        await third.send(type="run", id="q", graph=graph_of("Wait"))
        refusal = await third.until("error", id="q")
        assert (refusal["code"], refusal["params"]) == ("interactive_busy", {"running": 2})
        release()
        await first.until("ended", run_id=run_id)
        await first.send(type="run", id="next", graph=graph_of("Wait"))
        await first.until("accepted", id="next")


async def test_an_internal_error_is_answered_with_its_id(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(run_id: str) -> None:
        raise RuntimeError("disk on fire")

    monkeypatch.setattr(server.context.service, "cancel", broken)
    async with watching(server) as watcher:
        await watcher.send(type="stop", id="s", run_id="x")
        answer = await watcher.next()
        assert answer["code"] == "internal_error"
        assert answer["params"]["error_id"] in caplog.text
        await watcher.send(type="ping", id="alive")
        assert (await watcher.next())["type"] == "pong"


async def test_watch_runs(server: Server, graph_of: GraphOf, runs: Any, release: Any) -> None:
    async with watching(server) as watcher:
        await watcher.send(type="watch_runs")
        await watcher.send(type="ping", id="ready")
        await watcher.until("pong", id="ready")
        run_id = await runs.submit(graph_of("Wait"))
        await watcher.until("runs_changed")
        release()
        await runs.wait(run_id)
        await watcher.until("runs_changed")


async def test_a_message_over_the_limit_closes_only_its_own_socket(server: Server) -> None:
    limit = server.settings.max_body_bytes
    async with watching(server) as other, watching(server) as greedy:
        await greedy.socket.send(" " * (limit + 100_000))
        with pytest.raises(ConnectionClosed) as closed:
            await greedy.next()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
        await other.send(type="ping")
        assert (await other.next())["type"] == "pong"


async def test_sockets_close_first_when_the_server_stops(
    settings: Any, registry: Any, graph_of: GraphOf
) -> None:
    async with Server(settings, registry) as server:
        async with watching(server) as watcher:
            await watcher.send(type="run", graph=graph_of("Wait"))
            await watcher.until("accepted")
            stopping = asyncio.create_task(server.__aexit__(None, None, None))
            with pytest.raises(ConnectionClosed) as closed:
                while True:
                    await watcher.next()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1001
        await stopping


async def test_a_client_that_never_reads_costs_bounded_memory_and_blocks_nobody(
    server: Server, client: httpx.AsyncClient, graph_of: GraphOf, runs: Any
) -> None:
    run_id = await runs.submit(graph_of("Chatter", warnings=300, bytes_each=100_000))
    await runs.wait(run_id)
    reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
    try:
        writer.write(
            f"GET /ws/execution?token={server.token} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
        )
        await reader.readuntil(b"\r\n\r\n")
        text = json.dumps({"type": "attach", "run_id": run_id}).encode()
        writer.write(bytes((0x81, 0x80 | len(text), 0, 0, 0, 0)) + text)
        await writer.drain()
        # It reads nothing. Someone else gets all 30 MB meanwhile.
        async with watching(server) as watcher:
            await watcher.send(type="attach", run_id=run_id)
            await watcher.until("ended")
        assert len(watcher.events(run_id)) > 300
    finally:
        writer.transport.abort()


async def test_outbox_bounds_batches_by_bytes_and_answers_by_count() -> None:
    outbox = Outbox()
    message = RunsChanged()
    size = len(msgspec.json.encode(message))
    filled = 0

    async def fill() -> None:
        nonlocal filled
        while True:
            await outbox.put(message)
            filled += 1

    filling = asyncio.create_task(fill())
    for _ in range(5):
        await asyncio.sleep(0)
    assert filled * size < 1024 * 1024 + size
    before = filled
    await outbox.take()
    for _ in range(5):
        await asyncio.sleep(0)
    assert before < filled <= before + 1
    filling.cancel()
    await asyncio.wait((filling,))
    for _ in range(MAX_REPLIES):
        outbox.reply(Pong())
    with pytest.raises(Exception, match="1008"):
        outbox.reply(Pong())


def test_events_are_split_by_size_in_order() -> None:
    def event(cursor: int, size: int) -> StoredEvent:
        return StoredEvent(cursor=cursor, type="t", ts=0.0, payload=msgspec.Raw(b'"' + b"x" * size + b'"'))

    events = [
        event(number, size) for number, size in enumerate((10, MESSAGE_BYTES, 10, 10, MESSAGE_BYTES * 2))
    ]
    pieces = list(split_events(events))
    assert [[one.cursor for one in piece] for piece in pieces] == [[0], [1], [2, 3], [4]]
    assert list(split_events([])) == []


async def test_an_editor_reuses_what_did_not_change_and_another_does_not(
    server: Server, graph_of: GraphOf
) -> None:
    async def run(browser: Watcher, number: str, **options: Any) -> tuple[list[str], int]:
        await browser.send(type="run", id=number, graph=graph_of("Chatter", points=4), options=options)
        run_id = (await browser.until("accepted", id=number))["run_id"]
        await browser.until("ended", run_id=run_id)
        told = [event["payload"] for event in browser.events(run_id) if event["type"] == "node_status"]
        return [payload["status"] for payload in told], len(browser.points(run_id))

    async with watching(server) as browser:
        assert await run(browser, "1") == (["running", "succeeded"], 4)
        assert await run(browser, "2") == (["reused"], 4)
        assert await run(browser, "3", until_node="n") == (["reused"], 4)
        async with watching(server) as other:
            assert await run(other, "1") == (["running", "succeeded"], 4)
