"""P-8 on real processes: an agent with scripted standby children."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from codefy_agent.environment import child_environment
from codefy_agent.standby import StandbyPool, StandbySettings
from codefy_agent.standby_children import StandbyChild, StandbyChildren
from codefy_agent.testing import Agent
from codefy_protocol.frames import DeviceIdentity

from .conftest import FakeControlPlane
from .test_runner import SCRIPTED
from .test_standby import CPU, KEY, machine, run_on

pytestmark = pytest.mark.integration


class Kept:
    """A pool with its processes, without an agent around it."""

    def __init__(self, folder: Path, **settings: float) -> None:
        self.watched = folder / "engine.py"
        self.watched.touch()
        self.children = StandbyChildren(
            StandbyPool(StandbySettings(**{"count": 1, "quiet_s": 0.0, **settings})),
            command=SCRIPTED,
            folder=folder,
            inherited={**os.environ, "CODEFY_SCRIPTED_WATCHES": str(self.watched), "CODEFY_AGENT_TOKEN": "t"},
            changed=lambda: None,
        )

    async def ready(self) -> int:
        """Wait for a child that is ready; returns its process id."""
        async with asyncio.timeout(20):
            while not any(each.state == "ready" for each in self.children.states()):
                await asyncio.sleep(0.002)
        (state,) = self.children.states()
        assert state.pid is not None
        return state.pid


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[Kept]:
    made = Kept(tmp_path)
    made.children.devices_read(machine())
    await made.ready()
    yield made
    await made.children.close()
    assert made.children.states() == ()


async def gone(pid: int) -> None:
    async with asyncio.timeout(20):
        while psutil.pid_exists(pid):
            await asyncio.sleep(0.002)


async def test_a_child_is_given_once_and_another_takes_its_place(kept: Kept) -> None:
    first = await kept.ready()
    kept.children.run_assigned(KEY, run_on(CPU))
    child = await kept.children.take(run_on(CPU))
    assert child is not None and child.pid == first
    assert await kept.children.take(run_on(CPU)) is None
    assert kept.children.states() == ()
    kept.children.run_at_work(KEY)
    assert await kept.ready() != first
    await child.process.close()


async def test_it_waits_in_the_environment_of_its_slot(kept: Kept) -> None:
    process = psutil.Process(await kept.ready())
    environment = process.environ()
    assert (
        environment.items() >= {"CUDA_VISIBLE_DEVICES": "", "PYTHONHASHSEED": "0", "PYTHONUTF8": "1"}.items()
    )
    assert "CODEFY_AGENT_TOKEN" not in environment
    card = DeviceIdentity(name="cuda:1", uuid="GPU-b")
    kept.children.run_assigned(KEY, run_on(card))
    kept.children.devices_read(machine(card))
    kept.children.run_ended(KEY)
    async with asyncio.timeout(20):
        while [each.device for each in kept.children.states()] != ["cuda:1"]:
            await asyncio.sleep(0.002)
    process = psutil.Process(await kept.ready())
    expected = child_environment({}, (card,))
    assert process.environ().items() >= expected.items()
    assert expected["CUDA_VISIBLE_DEVICES"] == "GPU-b"


async def test_one_whose_engine_changed_is_not_given_out(kept: Kept) -> None:
    pid = await kept.ready()
    os.utime(kept.watched, ns=(1, 1))
    assert await kept.children.take(run_on(CPU)) is None
    await gone(pid)


async def test_one_whose_engine_changed_is_replaced_while_it_waits(kept: Kept) -> None:
    pid = await kept.ready()
    kept.watched.unlink()
    kept.children.devices_read(machine())
    await gone(pid)
    assert await kept.ready() != pid


async def test_one_that_is_killed_is_noticed_and_not_given_out(kept: Kept) -> None:
    pid = await kept.ready()
    os.kill(pid, signal.SIGKILL)
    async with asyncio.timeout(20):
        while kept.children.states():
            await asyncio.sleep(0.002)
    assert await kept.children.take(run_on(CPU)) is None


async def test_a_program_that_is_no_engine_is_no_reason_to_fail(tmp_path: Path) -> None:
    for command in (["/nowhere/python", "{read}", "{write}"], ["/bin/echo", "{read}", "{write}"]):
        kept = Kept(tmp_path)
        kept.children = StandbyChildren(
            StandbyPool(StandbySettings(count=1)),
            command=command,
            folder=tmp_path,
            inherited=os.environ,
            changed=lambda: None,
        )
        kept.children.devices_read(machine())
        async with asyncio.timeout(20):
            while kept.children.states():
                await asyncio.sleep(0.002)
        await kept.children.close()


async def test_what_it_printed_belongs_to_its_run(tmp_path: Path) -> None:
    child = StandbyChild(1, CPU, SCRIPTED, os.environ, tmp_path)
    await child.process.start()
    async with asyncio.timeout(20):
        await child.ready.wait()
        printed: list[bytes] = []
        while b"".join(printed) != b"a line from the imports\n":
            child.attach(lambda data: None, printed.append)
            await asyncio.sleep(0.002)
    await child.process.close()


@pytest.fixture
async def standing_by(control: FakeControlPlane, token: str, tmp_path: Path) -> AsyncIterator[Agent]:
    async with Agent(
        control.url, token=token, data_dir=tmp_path / "agents", scripted=True, standby="1"
    ) as started:
        await started.connected()
        await ready(started)
        yield started


async def ready(agent: Agent) -> int:
    """Wait for a standby child; returns its process id."""
    await agent.until(lambda state: state is not None and any(s.state == "ready" for s in state.standby))
    state = agent.state()
    assert state is not None and state.standby[0].pid is not None
    return state.standby[0].pid


async def test_a_run_is_the_standby_childs_from_its_folder_to_its_log(
    control: FakeControlPlane, standing_by: Agent
) -> None:
    pid = await ready(standing_by)
    await control.assign(
        "r1", ["touch", "here"], ["print", "said"], ["spawn", "setsid", "other"], ["exit", 3]
    )
    finished = await control.finished("r1")
    assert finished.error is not None and finished.exit_code == 3
    folder = standing_by.run_folder("r1")
    assert (folder / "run" / "here").exists()
    assert (folder / "output.log").read_text() == "a line from the imports\nsaid\n"
    assert not psutil.pid_exists(int((folder / "run" / "other").read_text()))
    assert not psutil.pid_exists(pid)
    await standing_by.until(
        lambda state: state is not None and any(s.state == "ready" and s.pid != pid for s in state.standby)
    )


async def test_a_standby_child_that_dies_unnoticed_fails_no_run(
    control: FakeControlPlane, standing_by: Agent
) -> None:
    pid = await ready(standing_by)
    # Stopped, it is there and says nothing; it is killed while it is given its run.
    os.kill(pid, signal.SIGSTOP)
    await control.assign("r1", ["print", "said"])
    await standing_by.until(lambda state: state is not None and any(run.pid == pid for run in state.runs))
    os.kill(pid, signal.SIGKILL)
    assert (await control.finished("r1")).status == "succeeded"


@pytest.mark.parametrize("how", ["kill", "stop"])
async def test_it_ends_with_its_agent(standing_by: Agent, how: str) -> None:
    pid = await ready(standing_by)
    if how == "kill":
        standing_by.kill()
    else:
        assert await standing_by.stop() == 0
    await gone(pid)


async def test_a_run_on_cpu_beside_another_one_starts_cold(
    control: FakeControlPlane, standing_by: Agent
) -> None:
    pid = await ready(standing_by)
    await control.assign("r1", ["touch", "up"], ["wait", "go"])
    await control.assign("r2", ["print", "cold"])
    assert (await control.finished("r2")).status == "succeeded"
    await standing_by.until(lambda state: state is not None and [run.pid for run in state.runs] == [pid])
    (standing_by.run_folder("r1") / "run" / "go").touch()
    assert (await control.finished("r1")).status == "succeeded"
