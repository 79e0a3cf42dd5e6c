"""``codefy-agent`` as people type it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from codefy_agent.cli import describe
from codefy_agent.state import AgentState, RunState
from codefy_protocol.frames import RunStarted


async def run(*arguments: str, **environment: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "codefy_agent",
        *arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "HOME": "/nonexistent", **environment},
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_help_lists_commands_and_options() -> None:
    code, out, _ = await run("--help")
    assert code == 0
    for command in ("start", "stop", "status"):
        assert command in out
    code, out, _ = await run("start", "--help")
    for option in (
        "--control",
        "--name",
        "--token-file",
        "--token",
        "--engine-python",
        "--data-dir",
        "--log-level",
    ):
        assert option in out
    assert "CODEFY_AGENT_DATA_DIR" in out
    assert "--engine-module" not in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--control"),
        (("--control", "somewhere"), "not the address of a server"),
        (("--control", "http://127.0.0.1:1", "--name", "Bad Name"), "not a worker name"),
        (("--control", "http://127.0.0.1:1", "--name", "local"), "reserved"),
        (("--control", "http://127.0.0.1:1"), "--token-file DIR/session-token"),
        (("--control", "https://far.example"), "--token-file FILE or --token TOKEN"),
        (("--control", "http://127.0.0.1:1", "--token-file", "/nonexistent/token"), "/nonexistent/token"),
        (
            ("--control", "http://127.0.0.1:1", "--token", "t", "--engine-python", "/nonexistent/python"),
            "no such program",
        ),
        (("--control", "http://127.0.0.1:1", "--token", "t", "--log-level", "loud"), "loud"),
    ],
)
async def test_wrong_options_are_one_sentence_and_exit_2(
    arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    code, out, err = await run(
        "start", *arguments, "--data-dir", str(tmp_path), CODEFY_DATA_DIR=str(tmp_path)
    )
    assert (code, out) == (2, "")
    assert said in err and "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


async def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, _, err = await run(
        "start", "--control", "http://127.0.0.1:1", "--token", "t", "--data-dir", str(tmp_path / "file" / "x")
    )
    assert code == 1
    assert "cannot be used" in err and "Traceback" not in err


async def test_the_session_token_of_this_machines_server_is_the_default(
    control, token, tmp_path: Path
) -> None:
    (tmp_path / "session-token").write_text(token)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "codefy_agent", "start", "--control", control.url, "--name", "w1"),
        env={
            **os.environ,
            "CODEFY_DATA_DIR": str(tmp_path),
            "CODEFY_AGENT_DATA_DIR": str(tmp_path / "agents"),
        },
    )
    await control.until(lambda: control.hellos)
    process.terminate()
    assert await process.wait() == 0


async def test_status_and_stop(control, agent) -> None:
    data = ("--data-dir", str(agent.data_dir))
    await control.assign("r1", ["wait_stop"])
    await control.until(lambda: control.of("r1", RunStarted))
    await agent.until(lambda state: state is not None and bool(state.runs))
    code, out, _ = await run("status", *data)
    assert code == 0
    assert f"w1: connected to {control.url}" in out and "run r1 on cpu" in out
    code, out, _ = await run("status", "--json", *data)
    state = json.loads(out)
    assert (state["name"], state["pid"], state["runs"][0]["run_id"]) == ("w1", agent.pid, "r1")

    code, _, err = await run("stop", "--name", "w2", *data)
    assert code == 2 and "No worker called w2" in err and "There is: w1" in err
    code, out, _ = await run("stop", *data)
    assert (code, out) == (0, "w1 is stopped.\n")
    assert (await control.finished("r1")).error.code == "agent_stopped"
    assert await agent.wait() == 0

    code, out, _ = await run("status", *data)
    assert code == 1 and "No worker runs on this machine" in out
    code, _, err = await run("stop", *data)
    assert code == 2 and "No worker runs" in err


async def test_a_killed_agent_is_not_shown_as_running(agent) -> None:
    agent.kill()
    await agent.wait()
    code, out, _ = await run("status", "--data-dir", str(agent.data_dir))
    assert code == 1 and "No worker runs" in out


def test_status_in_words() -> None:
    run_state = RunState(run_id="r1", attempt=2, devices=("cuda:0", "cuda:1"), since=1000.0)
    state = AgentState(
        pid=7,
        name="w1",
        control="http://c",
        connection="disconnected",
        since=1000.0,
        problem="nobody answers",
        waiting_records=12,
        runs=(run_state,),
    )
    assert describe(state, 1000.0 + 3700) == [
        "w1: not connected to http://c, trying again for 1 h 1 min (process 7)",
        "  nobody answers",
        "  12 records wait to be delivered",
        "  run r1 on cuda:0, cuda:1, attempt 2 for 1 h 1 min",
    ]
    calm = AgentState(pid=7, name="w1", control="http://c", connection="live", since=1000.0, draining=True)
    assert describe(calm, 1070.0) == [
        "w1: connected to http://c, draining for 1 min (process 7)",
        "  no runs",
    ]


async def test_help_is_quick_to_import() -> None:
    code = "import sys, codefy_agent.cli; print(sorted(sys.modules))"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=subprocess.PIPE)
    out, _ = await process.communicate()
    for heavy in ("websockets", "msgspec", "asyncio", "rich", "torch"):
        assert f"'{heavy}'" not in out.decode()
