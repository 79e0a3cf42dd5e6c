"""What a worker fetches for its runs: by hash, with its credential, of its own runs only (X-9, F-6, G-2)."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from codefy_control_plane.runs.errors import Refused
from codefy_control_plane.server import Server
from codefy_control_plane.settings import Settings
from codefy_protocol.capabilities import IMPLEMENTED
from codefy_protocol.frames import Assign, NodeSource
from codefy_protocol.inputs import input_path
from codefy_protocol.names import RunOptions, Target

from .conftest import ScriptedAgent, finished, records
from .test_socket import online, until

NODE = """
from codefy_engine.nodes.base import Node, node, output, param

@node(type="{type}", title="Filed", category="data", icon="file")
class Filed(Node):
    \"\"\"From a file.\"\"\"
    amount: float = param({default})
    value: float = output("value")
    def run(self, ctx):
        return self.amount
"""
ON_W1 = RunOptions(target=Target(worker="w1"))


def source(default: float = 1.0, type: str = "Filed") -> bytes:
    return NODE.format(type=type, default=default).encode()


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def graph(node_type: str = "Filed", text: str = "") -> bytes:
    the_node: dict[str, Any] = {
        "id": "n",
        "type": node_type,
        "position": {"x": 0, "y": 0},
        "data": {"params": {}, "note": text},
    }
    return msgspec.json.encode({"format_version": 1, "nodes": [the_node], "edges": []})


@pytest.fixture
async def server(settings: Settings) -> AsyncIterator[Server]:
    settings.nodes_dir.mkdir(parents=True)
    (settings.nodes_dir / "filters.py").write_bytes(source())
    (settings.nodes_dir / "unused.py").write_bytes(source(type="Unused"))
    async with Server(settings) as running:
        yield running


@pytest.fixture
async def client(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=30) as client:
        yield client


def of_w1(server: Server, **more: str) -> dict[str, str]:
    return {"X-Codefy-Token": server.token, "X-Codefy-Worker": "w1", **more}


async def assigned(server: Server, agent: ScriptedAgent, document: bytes | None = None) -> Assign:
    await server.context.service.submit(graph() if document is None else document, ON_W1)
    return await agent.expect(Assign)


async def test_the_files_of_a_run_come_as_they_were_at_its_submission(
    server: Server, client: httpx.AsyncClient, settings: Settings
) -> None:
    async with ScriptedAgent(server) as agent:
        await agent.greet()
        await online(server)
        assign = await assigned(server, agent)
        content = source()
        assert assign.node_sources == (NodeSource(name="filters.py", sha256=sha(content), size=len(content)),)
        # The file changes while the run goes on, and another run takes the new one.
        (settings.nodes_dir / "filters.py").write_bytes(source(default=2.0))
        await client.post("/api/nodes/reload", headers={"X-Codefy-Token": server.token})
        answer = await client.get(input_path(assign.run_id, sha(content)), headers=of_w1(server))
        assert (answer.status_code, answer.content) == (200, content)
        assert answer.headers["cache-control"] == "no-store"


async def test_a_run_that_waited_takes_what_it_was_submitted_with(
    server: Server, client: httpx.AsyncClient, settings: Settings
) -> None:
    async with ScriptedAgent(server) as agent:
        await agent.greet()
        await online(server)
    await until(lambda: server.context.workers.status("w1").state == "disconnected")
    await server.context.service.submit(graph(), ON_W1)
    (settings.nodes_dir / "filters.py").unlink()
    await client.post("/api/nodes/reload", headers={"X-Codefy-Token": server.token})
    async with ScriptedAgent(server) as agent:
        await agent.greet()
        assign = await agent.expect(Assign)
        answer = await client.get(input_path(assign.run_id, sha(source())), headers=of_w1(server))
        assert answer.content == source()


async def test_a_large_graph_is_fetched_the_same_way(server: Server, client: httpx.AsyncClient) -> None:
    async with ScriptedAgent(server) as agent:
        await agent.greet()
        await online(server)
        assign = await assigned(server, agent, graph("SklearnDataset", "x" * 2_000_000))
        assert assign.graph is None
        answer = await client.get(input_path(assign.run_id, assign.graph_hash), headers=of_w1(server))
        assert (answer.status_code, len(answer.content)) == (200, assign.graph_size)
        assert sha(answer.content) == assign.graph_hash


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"X-Codefy-Token": ""}, 401, "token_required"),
        ({"X-Codefy-Token": "wrong" * 10}, 401, "token_wrong"),
        ({"Origin": "http://localhost"}, 403, "origin_not_allowed"),
        ({"Host": "evil.example"}, 403, "host_not_allowed"),
        ({"X-Forwarded-For": "203.0.113.9"}, 401, "not_loopback"),
        ({"X-Codefy-Worker": ""}, 404, "input_not_found"),
        ({"X-Codefy-Worker": "w2"}, 404, "input_not_found"),
    ],
)
async def test_nobody_else_gets_them(
    server: Server, client: httpx.AsyncClient, headers: dict[str, str], status: int, code: str
) -> None:
    async with ScriptedAgent(server) as agent, ScriptedAgent(server, name="w2") as other:
        await agent.greet()
        await other.greet()
        await online(server)
        await online(server, "w2")
        assign = await assigned(server, agent)
        path = input_path(assign.run_id, sha(source()))
        answer = await client.get(path, headers=of_w1(server, **headers))
        assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert server.token not in answer.text
        assert b"codefy_engine" not in answer.content


async def test_a_token_in_the_address_or_a_cookie_is_no_credential_here(
    server: Server, client: httpx.AsyncClient
) -> None:
    async with ScriptedAgent(server) as agent:
        await agent.greet()
        await online(server)
        assign = await assigned(server, agent)
        path = input_path(assign.run_id, sha(source()))
        await client.get("/", params={"token": server.token})
        assert client.cookies
        answer = await client.get(path, params={"token": server.token}, headers={"X-Codefy-Worker": "w1"})
        assert answer.status_code == 401


async def test_only_what_the_run_needs_and_only_while_it_goes_on(
    server: Server, client: httpx.AsyncClient
) -> None:
    async with ScriptedAgent(server) as agent:
        await agent.greet()
        await online(server)
        assign = await assigned(server, agent)
        wrong = (
            input_path(assign.run_id, sha(source(type="Unused"))),
            input_path("0" * 16, sha(source())),
            input_path(assign.run_id, "..%2F" * 4 + "session-token"),
            input_path(assign.run_id, sha(source()).upper()),
            "/api/worker/",
        )
        for path in wrong:
            answer = await client.get(path, headers=of_w1(server))
            assert answer.status_code == 404, path
        path = input_path(assign.run_id, sha(source()))
        posted = await client.post(path, headers=of_w1(server))
        assert (posted.status_code, posted.json()["code"]) == (405, "method_not_allowed")
        assert (await client.get(path, headers=of_w1(server))).status_code == 200
        await agent.send(*records(assign, 1, 1), finished(assign, 2))
        await agent.ack_of(assign.run_id, 2)
        assert (await client.get(path, headers=of_w1(server))).status_code == 404
        # The bytes go with the last run that uses them.
        await server.context.service.delete(assign.run_id)
        assert await server.context.service.input_of(assign.run_id, sha(source())) is None


async def test_a_worker_that_takes_no_files_is_refused_with_the_remedy(server: Server) -> None:
    old = tuple(name for name in IMPLEMENTED if name != "node_sources")
    async with ScriptedAgent(server, capabilities=old) as agent:
        await agent.greet()
        await online(server)
        with pytest.raises(Refused) as refused:
            await server.context.service.submit(graph(), ON_W1)
        assert (refused.value.status, refused.value.reason.code) == (400, "node_files_not_taken")
        assert "Filed" in refused.value.reason.message
        await server.context.service.submit(graph("SklearnDataset"), ON_W1)
        assert (await agent.expect(Assign)).node_sources == ()


async def test_too_many_bytes_of_files_are_refused(server: Server, settings: Settings) -> None:
    padding = b"#" * (9 * 1024 * 1024)
    (settings.nodes_dir / "huge.py").write_bytes(source(type="Huge") + padding)
    from codefy_engine.nodes.registry import reload_files

    reload_files(server.context.registry, settings.nodes_dir)
    with pytest.raises(Refused) as refused:
        await server.context.service.submit(graph("Huge"), ON_W1)
    assert refused.value.reason.code == "node_files_too_large"


async def test_a_run_keeps_its_files_over_a_restart(settings: Settings, tmp_path: Path) -> None:
    settings.nodes_dir.mkdir(parents=True)
    (settings.nodes_dir / "filters.py").write_bytes(source())
    async with Server(settings) as server:
        async with ScriptedAgent(server) as agent:
            await agent.greet()
            await online(server)
        await until(lambda: server.context.workers.status("w1").state == "disconnected")
        await server.context.service.submit(graph(), ON_W1)
    (settings.nodes_dir / "filters.py").unlink()
    async with Server(settings) as server, ScriptedAgent(server, node_types=("SklearnDataset",)) as agent:
        await agent.greet()
        assign = await agent.expect(Assign)
        assert [each.sha256 for each in assign.node_sources] == [sha(source())]
        assert await server.context.service.input_of(assign.run_id, sha(source())) == source()
