"""P-2, P-8, P-9, P-10 from the submission to the child: real servers and agents, on machines that do not exist."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from codefy_agent.state import AgentState
from codefy_agent.testing import Agent
from codefy_control_plane.api.schemas import DeviceStatus
from codefy_control_plane.testing import ControlPlane
from codefy_engine.nodes.registry import default_registry
from codefy_protocol.names import RunOptions, Target

from .conftest import digits, run_dir, scripted

A, B, C = ({"uuid": f"GPU-{letter}"} for letter in "abc")


def box(server: ControlPlane, cards: Any) -> Agent:
    """An agent with scripted children on a machine with these cards."""
    environment = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    return Agent(
        server.url,
        token_file=server.token_file,
        name="box",
        scripted=True,
        node_types=default_registry(),
        environment={**environment, **cards.environment},
    )


async def card(server: ControlPlane, name: str) -> DeviceStatus:
    (worker,) = [each for each in await server.client.workers() if each.worker_id == "box"]
    (found,) = [each for each in worker.devices if each.device.name == name]
    return found


async def test_a_set_reaches_the_child_as_uuids_in_its_order(
    server: ControlPlane, fake_cards: Callable[..., Any]
) -> None:
    async with box(server, fake_cards(A, B, C)) as agent:
        await agent.connected()
        pair = RunOptions(target=Target(worker="box", devices=("cuda:2", "cuda:0")))
        submitted = await server.client.submit(scripted(["events", 1]), pair)
        facts = (await server.client.wait(submitted.run_id, 60)).execution_facts
        assert facts["visible_devices"] == ["GPU-c", "GPU-a"]
        assert facts["device_aliases"] == {"cuda:0": "cuda:2", "cuda:1": "cuda:0"}
        submitted = await server.client.submit(scripted(), RunOptions(target=Target(worker="box")))
        facts = (await server.client.wait(submitted.run_id, 60)).execution_facts
        assert not facts.get("visible_devices") and not facts.get("device_aliases")


async def test_a_card_that_is_not_given_back_gets_no_run_until_it_is(
    server: ControlPlane, fake_cards: Callable[..., Any]
) -> None:
    cards = fake_cards(A)
    async with box(server, cards) as agent:
        await agent.connected()
        on_a = RunOptions(target=Target(worker="box", devices=("cuda:0",)))
        first = await server.client.submit(scripted(["touch", "up"], ["wait", "go"]), on_a)
        pid = 0

        def at_work(state: AgentState | None) -> bool:
            nonlocal pid
            pid = next((run.pid or 0 for run in (state.runs if state else ())), 0)
            return pid > 0

        await agent.until(at_work)
        cards.show({**A, "processes": [{"pid": pid}]})
        second = await server.client.submit(scripted(), on_a)
        (run_dir(server, first.run_id) / "go").touch()
        assert (await server.client.wait(first.run_id, 60)).status == "succeeded"
        status = await card(server, "cuda:0")
        assert status.closed is not None and status.device.unclean is not None
        assert status.device.unclean.pid == pid
        waiting = await server.client.run(second.run_id)
        assert waiting.status == "queued"
        cards.show(A)
        assert (await server.client.wait(second.run_id, 60)).status == "succeeded"


async def test_a_run_in_a_standby_child_has_the_metrics_of_one_in_a_new_process(server: ControlPlane) -> None:
    environment = {"OMP_NUM_THREADS": "1", "CODEFY_EXECUTION_PARALLEL_NODES": "1"}
    async with Agent(
        server.url, token_file=server.token_file, name="w1", standby="1", environment=environment
    ) as agent:
        await agent.connected()
        await agent.until(
            lambda state: state is not None and any(child.state == "ready" for child in state.standby), 170
        )
        state = agent.state()
        assert state is not None
        standby = state.standby[0].pid
        found: list[list[tuple[str, Any, int]]] = []
        pids: list[int] = []
        # Together: the second finds the child taken.
        runs = [
            await server.client.submit(digits(epochs=1), RunOptions(target=Target(worker="w1")))
            for _ in range(2)
        ]
        for run in runs:
            ended = await server.client.wait(run.run_id, 170)
            assert ended.status == "succeeded"
            pids.append(ended.execution_facts["pid"])
            points = await server.client.metrics(run.run_id)
            found.append(
                [
                    (p.name, p.value, p.step)
                    for p in points
                    if p.name in ("loss", "accuracy", "val_loss", "val_accuracy")
                ]
            )
        assert pids[0] == standby != pids[1]
        assert len(found[0]) > 5
        assert found[0] == found[1]
