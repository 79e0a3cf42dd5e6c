"""One attempt's child without an agent around it: limits, refusals and verdicts, with short times."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from codefy_agent.runner import Folders, Runner, RunnerSettings
from codefy_protocol.bodies import ConsoleBody, RunFinishedBody
from codefy_protocol.frames import Assign, DeviceIdentity
from codefy_protocol.pipe import ChildRecord

SCRIPTED = [
    sys.executable,
    "-P",
    "-m",
    "codefy_agent.scripted_child",
    "--read-fd",
    "{read}",
    "--write-fd",
    "{write}",
]
FAST = RunnerSettings(exit_grace_s=0.3, console_flush_s=0.01)


class Run:
    """A runner with what it recorded."""

    def __init__(self, folder: Path, *script: list[Any], **options: Any) -> None:
        self.records: list[ChildRecord] = []
        (folder / "run").mkdir(exist_ok=True)
        self.folder = folder
        assign = Assign(
            run_id="r1",
            attempt=1,
            graph=json.dumps({"nodes": [], "edges": [], "script": script}).encode(),
            payload_cap=1000,
            device="cpu",
            devices=options.pop("devices", (DeviceIdentity(name="cpu"),)),
            grace_s=30.0,
            secrets=options.pop("secrets", {}),
        )
        self.runner = Runner(
            assign,
            command=options.pop("command", SCRIPTED),
            folders=Folders(home=folder, run=folder / "run", files=folder),
            worker="w1",
            record=self.records.extend,
            settings=options.pop("settings", FAST),
            inherited=options.pop("inherited", None),
        )
        assert not options

    async def finish(self) -> RunFinishedBody:
        return msgspec.json.decode(await self.runner.run(), type=RunFinishedBody)

    async def reached(self, file: str) -> None:
        async with asyncio.timeout(20):
            while not (self.folder / "run" / file).exists():
                await asyncio.sleep(0.002)

    def console(self) -> str:
        bodies = [
            msgspec.json.decode(each.body, type=ConsoleBody)
            for each in self.records
            if each.frame == "console"
        ]
        return "".join(body.text for body in bodies)

    def frames(self) -> list[str]:
        return [each.frame for each in self.records if each.frame != "console"]


async def test_a_run_that_succeeds(tmp_path: Path) -> None:
    run = Run(tmp_path, ["event", "node_status", {}], ["metrics", 2], ["print", "done"])
    assert (await run.finish()).status == "succeeded"
    assert run.frames() == ["run_started", "event", "metrics", "metrics"]
    assert run.console() == (tmp_path / "output.log").read_text() == "done\n"


async def test_what_the_child_reported_stands(tmp_path: Path) -> None:
    finished = await Run(tmp_path, ["finish", "failed"], ["die", "SIGSEGV"]).finish()
    assert finished.status == "failed"
    assert finished.error is not None and finished.error.message == "as the script says"


async def test_nothing_is_recorded_after_the_end(tmp_path: Path) -> None:
    run = Run(tmp_path, ["finish", "succeeded"], ["event", "node_status", {}])
    assert (await run.finish()).status == "succeeded"
    assert run.frames() == ["run_started"]


async def test_a_child_that_does_not_exit_is_ended(tmp_path: Path) -> None:
    assert (await Run(tmp_path, ["finish", "succeeded"], ["hang"]).finish()).status == "succeeded"


@pytest.mark.parametrize(
    ("step", "how", "signal"),
    [(["die", "SIGKILL"], "killed by SIGKILL", "SIGKILL"), (["exit", 3], "exit code 3", None)],
)
async def test_a_child_that_dies_without_a_word(
    step: list[Any], how: str, signal: str | None, tmp_path: Path
) -> None:
    finished = await Run(tmp_path, ["print", "last words"], step).finish()
    assert (finished.status, finished.signal) == ("failed", signal)
    assert finished.error is not None
    assert (finished.error.code, finished.error.params) == ("child_died", {"how": how})
    assert finished.error.output_tail == "last words\n"


async def test_a_guard_that_is_killed_after_the_start_is_a_death_of_the_run(tmp_path: Path) -> None:
    run = Run(tmp_path, ["touch", "up"], ["hang"])
    running = asyncio.create_task(run.finish())
    await run.reached("up")
    assert run.runner.pid is not None
    guard = int(Path(f"/proc/{run.runner.pid}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(guard, signal.SIGKILL)
    finished = await running
    assert finished.error is not None and finished.error.code == "child_died"


async def test_a_crash_says_where(tmp_path: Path) -> None:
    finished = await Run(tmp_path, ["die", "SIGSEGV"]).finish()
    assert finished.error is not None and finished.signal == "SIGSEGV"
    assert "Fatal Python error" in (finished.error.output_tail or "")


async def test_a_stop_that_is_obeyed(tmp_path: Path) -> None:
    run = Run(tmp_path, ["touch", "up"], ["wait_stop"])
    running = asyncio.create_task(run.finish())
    await run.reached("up")
    run.runner.cancel(30.0)
    finished = await running
    assert (finished.status, finished.signal) == ("cancelled", None)


async def test_a_stop_before_the_child_is_up(tmp_path: Path) -> None:
    run = Run(tmp_path, ["wait_stop"])
    running = asyncio.create_task(run.finish())
    await asyncio.sleep(0)
    run.runner.cancel(30.0)
    finished = await running
    assert (finished.status, finished.signal) == ("cancelled", None)


async def test_a_stop_that_is_ignored_ends_in_terminate(tmp_path: Path) -> None:
    run = Run(tmp_path, ["ignore_stop"], ["touch", "up"], ["hang"])
    running = asyncio.create_task(run.finish())
    await run.reached("up")
    run.runner.cancel(30.0)
    run.runner.cancel(0.1)  # a shorter grace counts
    finished = await running
    assert (finished.status, finished.signal, finished.error) == ("cancelled", "SIGTERM", None)


async def test_a_terminate_that_is_ignored_ends_in_a_kill(tmp_path: Path) -> None:
    run = Run(tmp_path, ["ignore_stop"], ["ignore_sigterm"], ["touch", "up"], ["hang"])
    running = asyncio.create_task(run.finish())
    await run.reached("up")
    run.runner.cancel(0.0)
    finished = await running
    assert (finished.status, finished.signal) == ("cancelled", "SIGKILL")


async def test_an_agent_that_stops_says_so(tmp_path: Path) -> None:
    run = Run(tmp_path, ["touch", "up"], ["wait_stop"])
    running = asyncio.create_task(run.finish())
    await run.reached("up")
    run.runner.cancel(10.0, agent_stopped=True)
    finished = await running
    assert finished.status == "failed"
    assert finished.error is not None and finished.error.code == "agent_stopped"


async def test_a_cancelled_run_stays_cancelled_when_the_agent_stops_too(tmp_path: Path) -> None:
    run = Run(tmp_path, ["ignore_stop"], ["touch", "up"], ["hang"])
    running = asyncio.create_task(run.finish())
    await run.reached("up")
    run.runner.cancel(30.0)
    run.runner.cancel(0.0, agent_stopped=True)
    assert (await running).status == "cancelled"


async def test_another_engine_version_is_refused_before_it_gets_anything(tmp_path: Path) -> None:
    run = Run(
        tmp_path, ["touch", "started"], inherited={**os.environ, "CODEFY_SCRIPTED_ENGINE_VERSION": "9.9.9"}
    )
    finished = await run.finish()
    assert finished.error is not None and finished.error.code == "engine_version_mismatch"
    assert finished.error.params["engine"] == "9.9.9"
    assert not (tmp_path / "run" / "started").exists()


async def test_a_child_that_writes_nonsense_is_ended(tmp_path: Path) -> None:
    finished = await Run(tmp_path, ["garbage"], ["hang"]).finish()
    assert finished.error is not None and finished.error.code == "child_died"
    assert "something else than records" in finished.error.message


async def test_a_child_that_never_greets_is_ended(tmp_path: Path) -> None:
    command = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
    settings = RunnerSettings(preamble_timeout_s=0.3)
    finished = await Run(tmp_path, command=command, settings=settings).finish()
    assert finished.error is not None and finished.error.code == "child_not_started"


async def test_an_interpreter_without_the_engine(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", "-m", "codefy_engine.child"]
    finished = await Run(tmp_path, command=command).finish()
    assert finished.error is not None and finished.error.code == "engine_missing"


async def test_an_interpreter_that_is_not_there(tmp_path: Path) -> None:
    finished = await Run(tmp_path, command=[str(tmp_path / "python")]).finish()
    assert finished.error is not None and finished.error.code == "child_not_started"
    assert "No such file" in finished.error.message


async def test_secrets_are_not_printed(tmp_path: Path) -> None:
    run = Run(tmp_path, ["print", "the key is s3cr3t-v4lue"], ["exit", 1], secrets={"key": "s3cr3t-v4lue"})
    finished = await run.finish()
    assert finished.error is not None and finished.error.output_tail == "the key is [secret]\n"
    assert "s3cr3t-v4lue" not in run.console() + (tmp_path / "output.log").read_text()


async def test_grandchildren_that_hold_everything_open_do_not_keep_the_run(tmp_path: Path) -> None:
    script = [["spawn", how, how] for how in ("plain", "setsid", "double_fork")]
    run = Run(tmp_path, *script, ["finish", "succeeded"], ["exit", 0])
    assert (await run.finish()).status == "succeeded"
    pids = [int((tmp_path / "run" / how).read_text()) for how in ("plain", "setsid", "double_fork")]
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


async def test_the_child_sees_the_assigned_cards(tmp_path: Path) -> None:
    devices = (DeviceIdentity(name="cuda:2", uuid="GPU-c"), DeviceIdentity(name="cuda:0", uuid="GPU-a"))
    run = Run(tmp_path, devices=devices)
    await run.finish()
    assert json.loads(run.records[0].body)["visible_devices"] == ["GPU-c", "GPU-a"]
