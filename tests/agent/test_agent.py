"""The agent process as a whole, with scripted children, against a control plane of the real codec."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from codefy_agent.testing import Agent
from codefy_protocol.frames import (
    Console,
    DeviceIdentity,
    Event,
    Heartbeat,
    Reject,
    RunAlive,
    RunFinished,
    RunStarted,
)

from .conftest import FakeControlPlane


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


async def until(condition: Callable[[], object], timeout_s: float = 30.0) -> None:
    async with asyncio.timeout(timeout_s):
        while not condition():
            await asyncio.sleep(0.005)


async def test_hello_says_who_and_what(control, agent) -> None:
    hello = control.hellos[0]
    assert (hello.name, hello.pid, hello.protocol_version) == ("w1", agent.pid, 1)
    assert hello.devices[0].name == "cpu"
    assert hello.incarnation and hello.platform
    assert {"ack", "console"} <= set(hello.capabilities)
    assert control.paths == ["/ws/worker"] and control.origins == [None]
    await control.until(lambda: any(isinstance(frame, Heartbeat) for frame in control.frames))
    assert any(isinstance(frame, RunAlive) for frame in control.frames)


async def test_a_run_from_assign_to_finish(control, agent) -> None:
    await control.assign(
        "r1", ["event", "node_status", {"node_id": "a", "status": "running"}], ["print", "hello"]
    )
    finished = await control.finished("r1")
    assert finished.status == "succeeded"
    assert len(control.of("r1", RunStarted)) == 1
    assert [event.body for event in control.of("r1", Event)] == [b'{"node_id":"a","status":"running"}']
    assert sorted(control.records["r1", 1]) == list(range(1, len(control.records["r1", 1]) + 1))
    assert isinstance(control.records["r1", 1][max(control.records["r1", 1])], RunFinished)
    assert (agent.run_folder("r1") / "output.log").read_text() == "hello\n"
    await agent.until(lambda state: not Path(agent.run_folder("r1") / "spool").exists())
    assert list((agent.run_folder("r1") / "run").iterdir()) == []


async def test_heartbeats_carry_devices_and_runs(control, tmp_path, token) -> None:
    control.heartbeat_s = 0.2
    async with Agent(control.url, token=token, data_dir=tmp_path, scripted=True) as agent:
        await agent.connected()
        await control.assign("r1", ["touch", "up"], ["wait_stop"])
        beats = lambda: [frame for frame in control.frames if isinstance(frame, Heartbeat)]  # noqa: E731
        await control.until(lambda: any(beat.run_ids == ("r1",) for beat in beats()))
        assert all(beat.devices[0].name == "cpu" for beat in beats())
        await control.cancel("r1")
        assert (await control.finished("r1")).status == "cancelled"
        await control.until(lambda: beats()[-1].run_ids == ())


async def test_the_end_of_a_killed_child_names_the_signal_and_the_next_run_works(control, agent) -> None:
    await control.assign("r1", ["print", "on the way"], ["touch", "up"], ["hang"])
    (started,) = await control.until(lambda: control.of("r1", RunStarted))
    await until(lambda: (agent.run_folder("r1") / "run" / "up").exists())
    killed_at = time.monotonic()
    os.kill(json.loads(started.body)["pid"], signal.SIGKILL)
    finished = await control.finished("r1")
    assert time.monotonic() - killed_at < 20  # 2 s on a machine of one's own
    assert finished.error.code == "child_died" and finished.signal == "SIGKILL"
    assert "SIGKILL" in finished.error.message and finished.error.output_tail == "on the way\n"
    await control.assign("r2")
    assert (await control.finished("r2")).status == "succeeded"


async def test_no_child_survives_a_killed_agent(control, agent) -> None:
    spawned = [["spawn", how, how] for how in ("plain", "setsid", "double_fork")]
    await control.assign("r1", ["ignore_sigterm"], *spawned, ["touch", "up"], ["hang"])
    (started,) = await control.until(lambda: control.of("r1", RunStarted))
    run = agent.run_folder("r1") / "run"
    await until(lambda: (run / "up").exists())
    pids = [json.loads(started.body)["pid"]]
    pids += [int((run / how).read_text()) for how in ("plain", "setsid", "double_fork")]
    assert all(alive(pid) for pid in pids)
    agent.kill()
    await agent.wait()
    await until(lambda: not any(alive(pid) for pid in pids))


async def test_a_killed_agent_delivers_what_its_runs_left(control, agent) -> None:
    """D-8: everything spooled, then the end of the run, with seqs that go on."""
    control.acks = False
    await control.assign("r1", ["events", 1000], ["touch", "up"], ["wait", "go"], ["events", 2000], ["hang"])
    await control.until(lambda: len(control.of("r1", Event)) == 1000)
    await control.close()
    (agent.run_folder("r1") / "run" / "go").touch()
    await agent.until(lambda state: state is not None and state.waiting_records == 3001)
    agent.kill()
    await agent.wait()
    control.acks = True
    await control.start()
    await agent.start()
    finished = await control.finished("r1")
    assert finished.status == "failed" and finished.error.code == "agent_restarted"
    records = control.records["r1", 1]
    assert sorted(records) == list(range(1, len(records) + 1))
    numbers = [json.loads(event.body)["number"] for event in control.of("r1", Event)]
    assert numbers == [*range(1000), *range(2000)]
    assert control.hellos[0].incarnation != control.hellos[1].incarnation
    await agent.until(lambda state: not (agent.run_folder("r1") / "spool").exists())
    await control.assign("r2")
    assert (await control.finished("r2")).status == "succeeded"


async def test_a_broken_connection_costs_nothing(control, agent) -> None:
    control.acks = False
    await control.assign("r1", ["events", 500], ["touch", "half"], ["wait", "go"], ["events", 500])
    run = agent.run_folder("r1") / "run"
    await until(lambda: (run / "half").exists())
    await control.drop()
    (run / "go").touch()
    control.acks = True
    assert (await control.finished("r1")).status == "succeeded"
    records = control.records["r1", 1]
    assert sorted(records) == list(range(1, len(records) + 1))
    assert len(control.of("r1", Event)) == 1000


async def test_a_server_that_was_away_gets_everything_when_it_is_back(control, agent) -> None:
    await control.assign("r1", ["touch", "up"], ["wait", "go"], ["events", 2000], ["touch", "written"])
    run = agent.run_folder("r1") / "run"
    await until(lambda: (run / "up").exists())
    await control.close()
    (run / "go").touch()
    await until(lambda: (run / "written").exists())
    await agent.until(lambda state: state is not None and state.connection != "live")
    await control.start()
    assert (await control.finished("r1")).status == "succeeded"
    assert len(control.of("r1", Event)) == 2000
    assert control.hellos[0].incarnation == control.hellos[-1].incarnation


async def test_runs_side_by_side(control, agent) -> None:
    for number in range(4):
        await control.assign(f"r{number}", ["events", 300], ["metrics", 50], ["print", str(number)])
    for number in range(4):
        assert (await control.finished(f"r{number}")).status == "succeeded"
        assert len(control.of(f"r{number}", Event)) == 300
        console = control.of(f"r{number}", Console)
        assert "".join(json.loads(record.body)["text"] for record in console) == f"{number}\n"


async def test_a_second_copy_and_a_missing_device_are_refused_at_once(control, agent) -> None:
    await control.assign("r1", ["touch", "up"], ["wait_stop"])
    await control.until(lambda: control.of("r1", RunStarted))
    await control.assign("r1", attempt=2)
    assert (await control.finished("r1", 2)).error.code == "duplicate_assignment"
    devices = (DeviceIdentity(name="cuda:9", uuid="GPU-9"),)
    await control.assign("r2", device="cuda:9", devices=devices)
    finished = await control.finished("r2")
    assert finished.error.code == "device_not_offered"
    await control.cancel("r1")
    assert (await control.finished("r1")).status == "cancelled"


async def test_nothing_is_written_outside_the_agents_folder(control, agent) -> None:
    for run_id in ("../../evil", "a/b", "..", "", "x" * 65, "dot.1"):
        await control.assign(run_id, ["touch", "here"])
    await control.assign("fine", graph=None)
    finished = await control.finished("fine")
    assert finished.error.code == "input_wrong"
    assert {key[0] for key in control.records} == {"fine"}
    assert sorted(path.name for path in (agent.folder / "agent-runs").iterdir()) == ["fine"]


async def test_a_further_attempt_has_a_folder_of_its_own(control, agent) -> None:
    await control.assign("r1", ["print", "first"])
    await control.finished("r1")
    await control.assign("r1", ["print", "second"], attempt=2)
    await control.finished("r1", 2)
    assert (agent.run_folder("r1") / "output.log").read_text() == "first\n"
    assert (agent.run_folder("r1.2") / "output.log").read_text() == "second\n"


async def test_a_run_works_in_the_servers_own_folder_when_it_is_here(control, agent, tmp_path) -> None:
    theirs = tmp_path / "server" / "runs" / "r1"
    theirs.mkdir(parents=True)
    (tmp_path / "server" / "files").mkdir()
    storage = {"backend": "local", "run_dir": str(theirs), "files_dir": str(tmp_path / "server" / "files")}
    await control.assign("r1", ["touch", "made-here"], storage=storage)
    await control.finished("r1")
    assert (theirs / "made-here").exists()
    storage["run_dir"] = str(tmp_path / "elsewhere" / "r2")
    await control.assign("r2", ["touch", "made-here"], storage=storage)
    await control.finished("r2")
    assert (agent.run_folder("r2") / "run" / "made-here").exists()


async def test_stop_ends_the_runs_delivers_and_exits_0(control, agent) -> None:
    await control.assign("r1", ["touch", "up"], ["wait_stop"])
    await control.until(lambda: control.of("r1", RunStarted))
    assert await agent.stop() == 0
    finished = await control.finished("r1")
    assert finished.status == "failed" and finished.error.code == "agent_stopped"


async def test_a_second_stop_does_not_wait(control, agent) -> None:
    await control.assign("r1", ["ignore_stop"], ["ignore_sigterm"], ["touch", "up"], ["hang"])
    (started,) = await control.until(lambda: control.of("r1", RunStarted))
    await until(lambda: (agent.run_folder("r1") / "run" / "up").exists())
    agent.signal(signal.SIGTERM)
    await agent.until(lambda state: state is not None and state.stopping)
    agent.signal(signal.SIGTERM)
    assert await agent.wait(timeout_s=20) == 1
    assert not alive(json.loads(started.body)["pid"])


async def test_a_refused_credential_ends_the_agent_with_the_servers_words(control, tmp_path) -> None:
    async with Agent(control.url, token="wrong", data_dir=tmp_path) as agent:
        assert await agent.wait() == 1
        assert "codefy-agent: The session token is wrong." in agent.log()
        assert "Traceback" not in agent.log()


async def test_a_rejected_name_ends_the_agent(control, tmp_path, token) -> None:
    control.answer_hello = lambda hello: Reject(code="name_in_use", text="w1 is taken.", params={})
    async with Agent(control.url, token=token, data_dir=tmp_path) as agent:
        assert await agent.wait() == 1
        assert "codefy-agent: w1 is taken." in agent.log()


async def test_a_server_that_is_not_there_yet(control, tmp_path, token) -> None:
    await control.close()
    async with Agent(control.url, token=token, data_dir=tmp_path, scripted=True) as agent:
        await agent.until(lambda state: state is not None and "cannot be reached" in state.problem)
        await control.start()
        await agent.connected()
        assert "Traceback" not in agent.log()


async def test_one_agent_per_name(control, agent, tmp_path, token) -> None:
    async with Agent(control.url, token=token, data_dir=agent.data_dir) as second:
        assert await second.wait() == 1
        assert f"in use by the process {agent.pid}" in second.log()
    assert agent.returncode is None


async def test_a_started_agent_holds_no_torch(control, tmp_path, token) -> None:
    """I-7: after a run, in the process itself."""
    found = tmp_path / "modules.json"
    code = (
        "import atexit, json, sys\n"
        "from codefy_agent.cli import main\n"
        "atexit.register(lambda: open(sys.argv.pop(), 'w').write(json.dumps(sorted(sys.modules))))\n"
        "main(sys.argv[1:-1])"
    )
    command = [
        sys.executable,
        "-c",
        code,
        "start",
        "--control",
        control.url,
        "--token",
        token,
        "--name",
        "w1",
    ]
    command += ["--data-dir", str(tmp_path), "--engine-module", "codefy_agent.scripted_child", str(found)]
    process = await asyncio.create_subprocess_exec(*command)
    await control.assign("r1", ["print", "x"])
    assert (await control.finished("r1")).status == "succeeded"
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 0
    modules = json.loads(found.read_text())
    assert "codefy_agent.agent" in modules and "websockets.asyncio.client" in modules
    heavy = {"torch", "numpy", "codefy_engine", "codefy_control_plane", "httpx", "rich", "sklearn"}
    assert {name.partition(".")[0] for name in modules} & heavy == set()


async def test_what_survives_its_guard_and_its_agent_is_ended_by_the_next_agent(
    control: FakeControlPlane, agent: Agent
) -> None:
    await control.assign("r1", ["spawn", "double_fork", "other"], ["hang"])
    other = agent.run_folder("r1") / "run" / "other"
    async with asyncio.timeout(20):
        while not other.exists():
            await asyncio.sleep(0.002)
    stray = psutil.Process(int(other.read_text()))
    agent.signal(signal.SIGSTOP)
    guard = stray.parent()
    assert guard is not None and any("guard" in word for word in guard.cmdline())
    guard.kill()
    agent.kill()
    await agent.wait()
    assert stray.is_running() and stray.status() != psutil.STATUS_ZOMBIE
    await agent.start()
    await agent.connected()
    async with asyncio.timeout(20):
        while stray.is_running() and stray.status() != psutil.STATUS_ZOMBIE:
            await asyncio.sleep(0.002)
