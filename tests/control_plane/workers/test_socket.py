"""``/ws/worker`` on a real server: who gets in, what is said, how runs live over breaks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

import msgspec
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from codefy_control_plane.api.schemas import RunDetail, WorkerStatus
from codefy_control_plane.runs.errors import Refused
from codefy_control_plane.server import Server
from codefy_control_plane.settings import Settings
from codefy_protocol.capabilities import IMPLEMENTED
from codefy_protocol.frames import Assign, Cancel, Device, Drain, Heartbeat, Reject
from codefy_protocol.names import RunOptions, Target

from .conftest import GRAPH, WAIT_S, ScriptedAgent, finished, records

ON_W1 = RunOptions(target=Target(worker="w1"))


async def until(what: Callable[[], bool] | Callable[[], Awaitable[bool]]) -> None:
    """Wait for a condition."""
    async with asyncio.timeout(WAIT_S):
        while True:
            answer = what()
            if answer if isinstance(answer, bool) else await answer:
                return
            await asyncio.sleep(0.01)


def status(server: Server, name: str = "w1") -> WorkerStatus:
    return server.context.workers.status(name)


async def online(server: Server, name: str = "w1") -> None:
    await until(
        lambda: any(
            worker.state == "online"
            for worker in server.context.workers.statuses()
            if worker.worker_id == name
        )
    )


async def run_of(server: Server, run_id: str, wanted: str) -> RunDetail:
    async def reached() -> bool:
        return (await server.context.service.get(run_id)).status == wanted

    await until(reached)
    return await server.context.service.get(run_id)


async def event_types(server: Server, run_id: str) -> list[str]:
    listed = await server.context.service.events(run_id)
    cursors = [event.cursor for event in listed.events]
    assert cursors == list(range(1, len(cursors) + 1))
    return [event.type for event in listed.events]


# ------------------------------------------------------------------ who gets in


@pytest.mark.parametrize(
    ("headers", "status_code", "code"),
    [
        ({}, 401, 4401),
        ({"X-Codefy-Token": "wrong" * 10}, 401, 4401),
        ({"X-Codefy-Token": "TOKEN", "Origin": "http://localhost"}, 403, 4003),
        ({"X-Codefy-Token": "TOKEN", "Host": "evil.example"}, 403, 4003),
    ],
)
async def test_a_denial_says_why_in_its_body(
    server: Server, headers: dict[str, str], status_code: int, code: int
) -> None:
    url = server.url.replace("http", "ws") + "/ws/worker"
    given = {name: server.token if value == "TOKEN" else value for name, value in headers.items()}
    if "Host" in given:
        del given["Host"]
        url = url.replace("127.0.0.1", "evil.example")
    with pytest.raises(InvalidStatus) as refused:
        await connect(
            url,
            host="127.0.0.1",
            port=int(server.url.rpartition(":")[2]),
            additional_headers=given,
            proxy=None,
        )
    assert refused.value.response.status_code == status_code
    body = json.loads(refused.value.response.body or b"")
    assert body["code"] == code
    assert body["reason"]
    assert server.token not in json.dumps(body)


async def test_hello_has_to_come_in_time(server: Server) -> None:
    async with ScriptedAgent(server) as agent:
        assert (await agent.expect(Reject)).code == "hello_expected"
        assert (await agent.until_closed())[0] == 1008


async def test_rejections_are_kept_by_name(server: Server) -> None:
    async with ScriptedAgent(server, name="bad name") as agent:
        await agent.send(agent.hello)
        reject = await agent.expect(Reject)
        assert (reject.code, reject.fatal) == ("bad_worker_name", True)
    assert server.context.workers.rejections["bad name"][1].code == "bad_worker_name"


@pytest.mark.parametrize("message", [b"\xff\xff", b"\x81\xa1x", "text"])
async def test_what_cannot_be_read_is_rejected_and_may_be_tried_again(
    server: Server, message: bytes | str
) -> None:
    async with ScriptedAgent(server) as agent:
        await agent.greet()
        await online(server)
        await agent.socket.send(message)
        reject = await agent.expect(Reject)
        assert (reject.code, reject.fatal) == ("malformed_frames", False)
        await agent.until_closed()
    await until(lambda: status(server).state == "disconnected")


async def test_unknown_frames_are_ignored(server: Server) -> None:
    async with ScriptedAgent(server) as agent:
        await agent.greet()
        await agent.socket.send(msgspec.msgpack.encode([{"type": "of_tomorrow", "x": 1}]))
        await agent.send(Heartbeat(devices=(Device(name="cuda:0", kind="cuda", uuid="GPU-1"),)))
        await until(lambda: [device.device.name for device in status(server).devices] == ["cuda:0"])


# ------------------------------------------------------------------ what is known of workers


async def test_a_worker_is_listed_while_it_is_here_and_after(server: Server) -> None:
    async with ScriptedAgent(server, platform="Linux") as agent:
        welcome = await agent.greet()
        assert (welcome.worker_id, welcome.heartbeat_s) == ("w1", 0.5)
        await online(server)
        shown = status(server)
        assert (shown.platform, shown.outdated, shown.same_machine) == ("Linux", False, False)
        assert shown.capabilities == sorted(IMPLEMENTED)
        assert shown.connected_at is not None
        (view,) = server.context.workers.views()
        assert (view.name, view.state) == ("w1", "online")
    await until(lambda: status(server).state == "disconnected")
    assert status(server).connected_at is None


async def test_silence_disconnects_and_the_socket_is_closed(server: Server) -> None:
    async with ScriptedAgent(server) as agent:
        await agent.greet()
        await online(server)
        await agent.until_closed()
        assert status(server).state == "disconnected"


async def test_a_newer_agent_of_the_same_machine_replaces_the_older(server: Server) -> None:
    async with ScriptedAgent(server) as older, ScriptedAgent(server, incarnation="b") as newer:
        await older.greet()
        await newer.greet()
        reject = await older.expect(Reject)
        assert (reject.code, reject.fatal) == ("replaced", True)
        await older.until_closed()
        await online(server)


async def test_a_name_in_use_on_another_machine_is_refused(server: Server) -> None:
    async with ScriptedAgent(server) as first, ScriptedAgent(server, machine_id="m2") as second:
        await first.greet()
        await second.send(second.hello)
        assert (await second.expect(Reject)).code == "name_in_use"
        await online(server)


async def test_an_outdated_agent_is_shown_and_gets_no_run(server: Server) -> None:
    async with ScriptedAgent(server, product_version="0.0.1") as agent:
        assert (await agent.greet()).outdated
        await online(server)
        assert status(server).outdated
        submitted = await server.context.service.submit(GRAPH, ON_W1)
        detail = await server.context.service.get(submitted.run_id)
        assert (detail.status, detail.queue_reason_code) == ("queued", "worker_outdated")


async def test_drain_is_told_and_kept(server: Server) -> None:
    with pytest.raises(Refused) as refused:
        await server.context.workers.drain("nobody")
    assert refused.value.status == 404
    async with ScriptedAgent(server) as agent:
        await agent.greet()
        await online(server)
        assert (await server.context.workers.drain("w1")).draining
        assert (await agent.expect(Drain)).draining
        submitted = await server.context.service.submit(GRAPH, ON_W1)
        assert (await server.context.service.get(submitted.run_id)).queue_reason_code == "worker_draining"
        assert not (await server.context.workers.undrain("w1")).draining
        assert (await agent.expect(Assign)).run_id == submitted.run_id


# ------------------------------------------------------------------ runs


async def test_a_run_is_assigned_recorded_acknowledged_and_ended(server: Server) -> None:
    async with ScriptedAgent(server) as agent:
        await agent.greet()
        await online(server)
        submitted = await server.context.service.submit(GRAPH, ON_W1)
        assign = await agent.expect(Assign)
        assert (assign.run_id, assign.attempt, assign.device) == (submitted.run_id, 1, "cpu")
        await agent.send(*records(assign, 1, 70))
        assert (await agent.ack_of(assign.run_id, 64)).seq == 70
        await agent.send(finished(assign, 71))
        await agent.ack_of(assign.run_id, 71)
        detail = await server.context.service.get(submitted.run_id)
        assert detail.status == "succeeded"
        assert await event_types(server, submitted.run_id) == [
            "execution_start",
            *["node_progress"] * 69,
            "execution_complete",
        ]
        assert status(server).run_ids == []


async def test_a_break_loses_nothing_and_doubles_nothing(server: Server) -> None:
    async with ScriptedAgent(server) as agent:
        await agent.greet()
        await online(server)
        submitted = await server.context.service.submit(GRAPH, ON_W1)
        assign = await agent.expect(Assign)
        await agent.send(*records(assign, 1, 10))
        await agent.ack_of(assign.run_id, 10)
    await run_of(server, submitted.run_id, "disconnected")
    async with ScriptedAgent(server) as again:
        welcome = await again.greet((assign.run_id, 1, "running", 12))
        assert [(state.run_id, state.seq) for state in welcome.recorded] == [(assign.run_id, 10)]
        await again.send(*records(assign, 5, 8), finished(assign, 13))
        await again.ack_of(assign.run_id, 13)
    detail = await server.context.service.get(submitted.run_id)
    assert detail.status == "succeeded"
    types = await event_types(server, submitted.run_id)
    assert types.count("node_progress") == 11
    assert types.count("run_warning") == 2
    assert types[-1] == "execution_complete"


async def test_an_assignment_that_never_arrived_comes_again(server: Server) -> None:
    async with ScriptedAgent(server) as agent:
        await agent.greet()
        await online(server)
        submitted = await server.context.service.submit(GRAPH, ON_W1)
        await agent.expect(Assign)
    async with ScriptedAgent(server, incarnation="b") as again:
        await again.greet()
        assign = await again.expect(Assign)
        assert (assign.run_id, assign.attempt) == (submitted.run_id, 1)


async def test_a_run_that_its_agent_lost_ends_interrupted(server: Server) -> None:
    async with ScriptedAgent(server) as agent:
        await agent.greet()
        await online(server)
        submitted = await server.context.service.submit(GRAPH, ON_W1)
        assign = await agent.expect(Assign)
        await agent.send(*records(assign, 1, 2))
        await agent.ack_of(assign.run_id, 2)
    async with ScriptedAgent(server, incarnation="b") as again:
        await again.greet()
        detail = await run_of(server, submitted.run_id, "interrupted")
        assert detail.error is not None
        assert detail.error.code == "agent_restarted"
        before = await event_types(server, submitted.run_id)
    async with ScriptedAgent(server) as late:
        await late.greet((assign.run_id, 1, "ended", 4))
        await late.send(*records(assign, 3, 1), finished(assign, 4))
        await late.ack_of(assign.run_id, 4)
        detail = await server.context.service.get(submitted.run_id)
        assert detail.execution_facts["late_result"]["status"] == "succeeded"
        assert detail.status == "interrupted"
        assert await event_types(server, submitted.run_id) == before  # nothing follows a terminal event


async def test_a_cancel_reaches_the_worker_and_comes_again_after_a_break(server: Server) -> None:
    async with ScriptedAgent(server) as agent:
        await agent.greet()
        await online(server)
        submitted = await server.context.service.submit(GRAPH, ON_W1)
        assign = await agent.expect(Assign)
        await agent.send(*records(assign, 1, 1))
        await server.context.service.cancel(submitted.run_id)
        assert (await agent.expect(Cancel)).run_id == submitted.run_id
    async with ScriptedAgent(server) as again:
        await again.greet((assign.run_id, 1, "running", 1))
        assert (await again.expect(Cancel)).run_id == submitted.run_id
        await again.send(*records(assign, 1, 1), finished(assign, 2, "cancelled"))
        detail = await run_of(server, submitted.run_id, "cancelled")
        assert detail.cancel_requested


async def test_a_run_nobody_knows_is_cancelled_at_once(server: Server) -> None:
    async with ScriptedAgent(server) as agent:
        await agent.greet(("ffffffffffffffff", 1, "running", 3))
        cancel = await agent.expect(Cancel)
        assert (cancel.run_id, cancel.grace_s) == ("ffffffffffffffff", 0.0)


async def test_a_server_that_stops_hangs_up_and_the_next_one_adopts(settings: Settings) -> None:
    async with Server(settings) as first, ScriptedAgent(first) as agent:
        await agent.greet()
        await online(first)
        submitted = await first.context.service.submit(GRAPH, ON_W1)
        assign = await agent.expect(Assign)
        await agent.send(*records(assign, 1, 5))
        await agent.ack_of(assign.run_id, 5)
        stopping = asyncio.create_task(first.__aexit__(None, None, None))
        assert await agent.until_closed() == (1001, "the server stops")
        await stopping
    async with Server(settings) as second:
        await run_of(second, submitted.run_id, "disconnected")
        async with ScriptedAgent(second) as again:
            welcome = await again.greet((assign.run_id, 1, "running", 6))
            assert [state.seq for state in welcome.recorded] == [5]
            await again.send(*records(assign, 6, 1), finished(assign, 7))
            await again.ack_of(assign.run_id, 7)
        types = await event_types(second, submitted.run_id)
        assert types.count("node_progress") == 5
        assert types[-1] == "execution_complete"
