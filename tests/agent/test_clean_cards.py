"""P-9, P-10, S-16 with a real agent on machines that do not exist: what it tells of its cards, and what it refuses."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from codefy_agent.state import AgentState
from codefy_agent.testing import Agent
from codefy_protocol.bodies import RunStartedBody
from codefy_protocol.frames import Device, DeviceIdentity, Heartbeat, RunFinished, RunStarted, UncleanSlot

from .conftest import FakeControlPlane

pytestmark = pytest.mark.integration

A, B, C = ({"uuid": f"GPU-{letter}"} for letter in "abc")
ON_A = {"device": "cuda:0", "devices": (DeviceIdentity(name="cuda:0", uuid="GPU-a"),)}


@pytest.fixture
async def boxed(
    control: FakeControlPlane, token: str, tmp_path: Path, fake_cards: Callable[..., Any]
) -> AsyncIterator[Callable[..., Any]]:
    """Starts an agent on a machine with these cards; returns the cards and the agent."""
    started: list[Agent] = []

    async def start(*cards: Any, **options: Any) -> tuple[Any, Agent]:
        box = fake_cards(*cards)
        environment = {key: value for key, value in os.environ.items() if key != "CUDA_VISIBLE_DEVICES"}
        agent = Agent(
            control.url,
            token=token,
            data_dir=tmp_path / "agents",
            scripted=True,
            environment={**environment, **box.environment},
            **options,
        )
        started.append(agent)
        await agent.start()
        await agent.connected()
        return box, agent

    yield start
    for agent in started:
        await agent.__aexit__(None, None, None)


def heartbeats(control: FakeControlPlane, name: str = "cuda:0") -> list[Device]:
    """What every heartbeat said of a device."""
    beats = [frame for frame in control.frames if isinstance(frame, Heartbeat)]
    return [device for beat in beats for device in beat.devices if device.name == name]


async def pid_of(agent: Agent, run_id: str) -> int:
    found: list[int] = []

    def known(state: AgentState | None) -> bool:
        found[:] = [run.pid for run in (state.runs if state else ()) if run.run_id == run_id and run.pid]
        return bool(found)

    await agent.until(known)
    return found[0]


async def test_a_card_that_is_not_given_back_is_told_before_the_end_of_its_run(
    control: FakeControlPlane, boxed: Callable[..., Any]
) -> None:
    box, agent = await boxed(A, B)
    await control.assign("r1", ["touch", "up"], ["wait", "go"], **ON_A)
    pid = await pid_of(agent, "r1")
    box.show({**A, "processes": [{"pid": pid}]}, B)
    (agent.run_folder("r1") / "run" / "go").touch()
    await control.finished("r1")
    told = [
        type(frame)
        for frame in control.frames
        if isinstance(frame, RunFinished)
        or (isinstance(frame, Heartbeat) and any(device.unclean for device in frame.devices))
    ]
    assert told[:2] == [Heartbeat, RunFinished]
    unclean = heartbeats(control)[-1].unclean
    assert unclean == UncleanSlot(run_id="r1", pid=pid, pids=(pid,))
    assert heartbeats(control, "cuda:1")[-1].unclean is None
    box.show(A, B)
    await control.until(lambda: heartbeats(control)[-1].unclean is None)


async def test_a_clean_card_holds_no_run_up(control: FakeControlPlane, boxed: Callable[..., Any]) -> None:
    _, agent = await boxed(A)
    await control.assign("r1", ["print", "x"], **ON_A)
    assert (await control.finished("r1")).status == "succeeded"
    assert all(device.unclean is None for device in heartbeats(control))
    assert not heartbeats(control)[-1].cleanliness_unverifiable
    assert agent.returncode is None


async def test_another_programs_use_is_told_with_its_name(
    control: FakeControlPlane, boxed: Callable[..., Any]
) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            await boxed({**A, "processes": [{"pid": other.pid, "bytes": 5000}]}, {**B, "processes": None})
            (hello,) = control.hellos
            devices = {device.name: device for device in hello.devices}
            foreign = devices["cuda:0"].foreign
            assert foreign is not None
            assert (foreign.memory, foreign.pid, foreign.process) == (5000, other.pid, "sleep")
            assert devices["cuda:1"].cleanliness_unverifiable and devices["cuda:1"].foreign is None
        finally:
            other.kill()


async def test_a_set_reaches_the_child_in_its_order_and_a_processor_run_sees_no_card(
    control: FakeControlPlane, boxed: Callable[..., Any]
) -> None:
    await boxed(A, B, C)
    pair = (DeviceIdentity(name="cuda:2", uuid="GPU-c"), DeviceIdentity(name="cuda:0", uuid="GPU-a"))
    await control.assign("r1", device="cuda:2", devices=pair)
    await control.assign("r2")
    await control.finished("r1")
    await control.finished("r2")
    bodies = [
        msgspec.json.decode(control.of(run, RunStarted)[0].body, type=RunStartedBody) for run in ("r1", "r2")
    ]
    assert [(body.device, body.visible_devices, body.device_aliases) for body in bodies] == [
        ("cuda:0", ["GPU-c", "GPU-a"], {"cuda:0": "cuda:2", "cuda:1": "cuda:0"}),
        ("cpu", [], {}),
    ]


@pytest.mark.parametrize(
    ("devices", "code"),
    [
        (
            (DeviceIdentity(name="cuda:1", uuid="GPU-a"), DeviceIdentity(name="cuda:2", uuid="MIG-1")),
            "mig_in_set",
        ),
        ((DeviceIdentity(name="cuda:1", uuid="GPU-other"),), "device_not_offered"),
        ((DeviceIdentity(name="cuda:2", uuid="MIG-1"),), None),
    ],
)
async def test_an_instance_is_a_device_of_its_own_and_of_no_set(
    control: FakeControlPlane,
    boxed: Callable[..., Any],
    devices: tuple[DeviceIdentity, ...],
    code: str | None,
) -> None:
    await boxed({"uuid": "GPU-s", "mig": [{"uuid": "MIG-1"}, {"uuid": "MIG-2"}]}, A)
    assert [d.name for d in control.hellos[0].devices if d.mig] == ["cuda:2", "cuda:3"]
    await control.assign("r1", device=devices[0].name, devices=devices)
    finished = await control.finished("r1")
    assert (finished.error.code if finished.error else None) == code
    if code is None:
        (started,) = control.of("r1", RunStarted)
        assert msgspec.json.decode(started.body, type=RunStartedBody).visible_devices == ["MIG-1"]


async def test_a_standby_child_waits_in_the_environment_of_the_first_card(
    control: FakeControlPlane, boxed: Callable[..., Any]
) -> None:
    _, agent = await boxed(A, B, standby="1")
    await agent.until(lambda state: state is not None and any(s.state == "ready" for s in state.standby))
    state = agent.state()
    assert state is not None and state.standby[0].device == "cuda:0"
    await control.assign("r1", **ON_A)
    await control.finished("r1")
    (started,) = control.of("r1", RunStarted)
    body = msgspec.json.decode(started.body, type=RunStartedBody)
    assert (body.pid, body.visible_devices) == (state.standby[0].pid, ["GPU-a"])
