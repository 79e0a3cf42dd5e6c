"""``kill -9`` of the server: what was acknowledged is there, nothing twice, and it starts again on the same port."""

from __future__ import annotations

import asyncio
import socket

from codefy_agent.testing import Agent
from codefy_control_plane.client import WatchedEvents
from codefy_control_plane.testing import ControlPlane
from codefy_protocol.names import RunOptions, Target

from .conftest import assert_whole, digits, go_on, scripted

ON_W1 = RunOptions(target=Target(worker="w1"))
STEPS = 40
CHUNK = 100


async def shown(server: ControlPlane, run_id: str, count: int) -> list[tuple[int, str, bytes]]:
    """The first ``count`` events that a watcher saw: every one of them was committed."""
    seen: list[tuple[int, str, bytes]] = []
    async for message in server.client.watch(run_id):
        if isinstance(message, WatchedEvents):
            seen += [(event.cursor, event.type, bytes(event.payload)) for event in message.events]
        if len(seen) >= count:
            return seen
    raise AssertionError("the run ended early")


async def test_a_run_on_a_worker_goes_on_and_every_event_is_there_once(
    server: ControlPlane, scripted_agent: Agent
) -> None:
    steps: list[list[object]] = []
    for index in range(STEPS):
        steps += [["events", CHUNK], ["wait", f"go{index}"]] if index in (5, 6) else [["events", CHUNK]]
    submitted = await server.client.submit(scripted(*steps), ON_W1)
    before = await shown(server, submitted.run_id, 2 * CHUNK)
    await server.kill()
    # Nothing that the server started holds its port.
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", server.port))
    for index in (5, 6):
        go_on(server, submitted.run_id, f"go{index}")
    await server.start()
    ended = await server.client.wait(submitted.run_id, 90)
    assert ended.status == "succeeded"
    events = await server.client.events(submitted.run_id)
    assert_whole(events)
    assert [(e.cursor, e.type, bytes(e.payload)) for e in events][: len(before)] == before
    assert sum(event.type == "node_progress" for event in events) == STEPS * CHUNK
    assert len({bytes(event.payload) for event in events if event.type == "node_progress"}) >= CHUNK


async def test_a_local_run_is_interrupted_and_a_waiting_one_starts(server: ControlPlane) -> None:
    running = [await server.client.submit(digits(epochs=5000)) for _ in range(2)]
    waiting = await server.client.submit(digits(epochs=1))
    assert waiting.queue_position == 1
    async for message in server.client.watch(running[0].run_id):
        if getattr(message, "points", None):
            break
    seen = await server.client.events(running[0].run_id)
    await server.restart()
    for run in running:
        ended = await server.client.wait(run.run_id, 30)
        assert ended.status == "interrupted"
        assert ended.error is not None
        assert ended.error.code == "server_restarted"
    events = await server.client.events(running[0].run_id)
    assert_whole(events)
    assert [bytes(e.payload) for e in events[: len(seen)]] == [bytes(e.payload) for e in seen]
    assert (await server.client.wait(waiting.run_id, 120)).status == "succeeded"


async def test_many_kills_in_a_row_lose_nothing(server: ControlPlane, scripted_agent: Agent) -> None:
    submitted = await server.client.submit(scripted(*([["events", 500]] * 60)), ON_W1)
    for _ in range(3):
        await server.kill()
        await server.start()
        await asyncio.wait_for(scripted_agent.connected(), 60)
    ended = await server.client.wait(submitted.run_id, 90)
    assert ended.status == "succeeded"
    events = await server.client.events(submitted.run_id)
    assert_whole(events)
    assert sum(event.type == "node_progress" for event in events) == 30_000
