"""A real agent says what its engine can run; only then it is given runs (X-8, S-7)."""

from __future__ import annotations

import pytest

from codefy_agent.testing import Agent
from codefy_control_plane.testing import ControlPlane
from codefy_engine.graph import Builder
from codefy_protocol.names import RunOptions, Target

pytestmark = pytest.mark.integration


def small_graph() -> bytes:
    build = Builder("tiny")
    build.add("ConstantValue", "n")
    return build.to_bytes()


async def test_any_chooses_a_worker_once_it_has_told_its_node_types() -> None:
    async with ControlPlane() as server, Agent(server.url, token_file=server.token_file, name="w1") as agent:
        await agent.connected()
        client = server.client
        # It waits for the worker's word, if that is not there yet.
        run = await client.submit(small_graph(), RunOptions(target=Target(worker="w1")))
        detail = await client.wait(run.run_id)
        assert (detail.status, detail.worker_id) == ("succeeded", "w1")
        run = await client.submit(small_graph(), RunOptions(target=Target(worker="any")))
        detail = await client.wait(run.run_id)
        assert (detail.status, detail.worker_id) == ("succeeded", "w1")
        (_, worker) = await client.workers()
        assert worker.engine
        assert worker.node_differences is None
