"""Two who watch one run, one of them coming and going, see the same complete list."""

from __future__ import annotations

import asyncio

from codefy_agent.testing import Agent
from codefy_control_plane.api.schemas import StoredEvent
from codefy_control_plane.client import WatchedEvents
from codefy_control_plane.testing import ControlPlane
from codefy_protocol.names import RunOptions, Target

from .conftest import assert_whole, go_on, scripted


async def follow(
    server: ControlPlane, run_id: str, cursor: int = 0, leave_after: int | None = None
) -> list[StoredEvent]:
    seen: list[StoredEvent] = []
    async for message in server.client.watch(run_id, cursor):
        if isinstance(message, WatchedEvents):
            seen += message.events
            if leave_after is not None and len(seen) >= leave_after:
                return seen
    return seen


async def test_a_steady_and_a_reloading_watcher_see_the_same(
    server: ControlPlane, scripted_agent: Agent
) -> None:
    part = [["events", 50], ["metrics", 5]] * 13
    graph = scripted(*part, ["wait", "first"], *part, ["wait", "second"], *part)
    submitted = await server.client.submit(graph, RunOptions(target=Target(worker="w1")))

    async def reloading() -> list[StoredEvent]:
        first = await follow(server, submitted.run_id, leave_after=100)
        go_on(server, submitted.run_id, "first")
        second = await follow(server, submitted.run_id, cursor=first[-1].cursor, leave_after=700)
        go_on(server, submitted.run_id, "second")
        return first + second + await follow(server, submitted.run_id, cursor=second[-1].cursor)

    async with asyncio.timeout(90):
        steady, again = await asyncio.gather(follow(server, submitted.run_id), reloading())
    late = await follow(server, submitted.run_id)
    assert_whole(steady)
    as_tuples = [[(e.cursor, e.type, e.ts, bytes(e.payload)) for e in seen] for seen in (steady, again, late)]
    assert as_tuples[0] == as_tuples[1] == as_tuples[2]
    assert as_tuples[0] == [
        (e.cursor, e.type, e.ts, bytes(e.payload)) for e in await server.client.events(submitted.run_id)
    ]
    assert len(steady) >= 3 * 13 * 50
