"""``codefy serve`` as a process: ready lines, one owner, ports, signals, a kill."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from codefy_control_plane.cli import COMMANDS, main
from codefy_control_plane.settings import SETTINGS

READY = re.compile(r"Codefy is ready at (http://\S+)\n")


class Served:
    def __init__(self, process: subprocess.Popen[str], data_dir: Path) -> None:
        self.process = process
        self.data_dir = data_dir
        assert process.stdout is not None
        first = process.stdout.readline()
        match = READY.fullmatch(first)
        assert match is not None, first + (process.communicate(timeout=30)[1] or "")
        self.url = match[1]
        self.link = process.stdout.readline().removeprefix("Open ").strip()
        self.token = (data_dir / "session-token").read_text().strip()

    def get(self, path: str) -> httpx.Response:
        return httpx.get(self.url + path, headers={"x-codefy-token": self.token}, trust_env=False, timeout=30)

    def post(self, path: str, body: Any) -> httpx.Response:
        headers = {"x-codefy-token": self.token}
        return httpx.post(self.url + path, json=body, headers=headers, trust_env=False, timeout=30)


def command(*arguments: str) -> list[str]:
    return [
        sys.executable,
        "-c",
        "from codefy_control_plane.cli import main; main()",
        "serve",
        "--no-open",
        *arguments,
    ]


Start = Callable[..., Served]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    processes: list[subprocess.Popen[str]] = []

    def begin(*arguments: str, data_dir: Path | None = None) -> Served:
        folder = data_dir or tmp_path / "data"
        process = subprocess.Popen(
            command("--data-dir", str(folder), *arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return Served(process, folder)

    yield begin
    for process in processes:
        process.kill()
        process.communicate(timeout=30)


def refused(*arguments: str, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=60, env={**os.environ, **environment}
    )
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    return done.returncode, done.stderr


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true"
        time.sleep(0.02)


@pytest.mark.integration
def test_ready_lines_server_file_and_a_graceful_end(start: Start) -> None:
    served = start("--port", "0")
    assert served.link == f"{served.url}/?token={served.token}"
    assert json.loads((served.data_dir / "server.json").read_text()) == {
        "url": served.url,
        "pid": served.process.pid,
    }
    assert stat.S_IMODE(served.data_dir.stat().st_mode) == 0o700
    # The lines are printed once it listens: the first connection is answered.
    assert served.get("/api/health").json()["status"] == "ok"
    for which, code in ((signal.SIGTERM, 0),):
        served.process.send_signal(which)
        assert served.process.wait(30) == code
    assert not (served.data_dir / "server.json").exists()
    again = start("--port", served.url.rpartition(":")[2])
    again.process.send_signal(signal.SIGINT)
    assert again.process.wait(30) == 0
    assert again.token == served.token
    assert served.token not in (served.process.stderr.read() if served.process.stderr else "")


@pytest.mark.integration
def test_listening_needs_no_torch(tmp_path: Path) -> None:
    script = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from codefy_control_plane.server import Server\n"
        "from codefy_control_plane.settings import load_settings\n"
        "async def main():\n"
        "    async with Server(load_settings({}, data_dir=Path(sys.argv[1]), port=0)):\n"
        "        print('torch' in sys.modules)\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "data")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == "False"


@pytest.mark.integration
def test_second_server_on_a_data_folder_or_port_is_told_what_to_do(start: Start, tmp_path: Path) -> None:
    served = start("--port", "0")
    port = served.url.rpartition(":")[2]
    code, words = refused("--data-dir", str(served.data_dir), "--port", "0")
    assert code == 1
    assert f"pid {served.process.pid}, {served.url}" in words
    assert "--data-dir" in words
    code, words = refused("--data-dir", str(tmp_path / "other"), "--port", port)
    assert code == 1
    assert f"port {port} is taken" in words
    assert "--port" in words
    # The folder of the server that could not start is free again.
    start("--port", "0", data_dir=tmp_path / "other")


@pytest.mark.integration
def test_what_cannot_be_listened_on(tmp_path: Path) -> None:
    for host in ("no-such-host.invalid", "192.0.2.1"):
        code, words = refused("--data-dir", str(tmp_path / "data"), "--port", "0", "--host", host)
        assert code == 1
        assert host in words
        assert "--host" in words
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert refused("--data-dir", str(blocked / "x"), "--port", "0")[0] == 1
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "session-token").write_text("x")
    code, words = refused("--data-dir", str(tmp_path / "damaged"), "--port", "0")
    assert (code, "session-token" in words) == (1, True)
    code, words = refused("--data-dir", str(tmp_path / "data"), CODEFY_PORT="eighty")
    assert (code, "CODEFY_PORT" in words) == (2, True)


@pytest.mark.integration
def test_a_kill_frees_port_and_folder_at_once(start: Start) -> None:
    served = start("--port", "0")
    port = int(served.url.rpartition(":")[2])
    with closing(socket.create_connection(("127.0.0.1", port))):
        graph = {
            "format_version": 1,
            "nodes": [
                {
                    "id": "d",
                    "type": "SklearnDataset",
                    "position": {"x": 0, "y": 0},
                    "data": {"params": {"name": "wine"}},
                },
                {"id": "p", "type": "Print", "position": {"x": 0, "y": 0}, "data": {"params": {}}},
            ],
            "edges": [{"source": "d", "sourceHandle": "dataset", "target": "p", "targetHandle": "value"}],
        }
        run_id = served.post("/api/runs", {"graph": graph}).json()["run_id"]

        def ended() -> bool:
            return served.get(f"/api/runs/{run_id}").json()["status"] == "succeeded"

        wait_until(ended, 90)
        events = served.get(f"/api/runs/{run_id}/events").json()
        log = served.get(f"/api/runs/{run_id}/log").text
        assert "wine" in log
        served.process.kill()
        served.process.wait(30)
        again = start("--port", str(port))
    assert again.url == served.url
    assert again.get(f"/api/runs/{run_id}/events").json() == events
    assert again.get(f"/api/runs/{run_id}/log").text == log


def test_help_lists_every_setting_and_option() -> None:
    text = CliRunner().invoke(main, ["serve", "--help"]).output
    for setting in SETTINGS:
        assert setting.variable in text
    for option in ("--host", "--port", "--data-dir", "--open", "--no-open"):
        assert option in text


def test_summaries_of_commands_are_their_own() -> None:
    runner = CliRunner()
    listed = runner.invoke(main, ["--help"]).output
    for name, lazy in COMMANDS.items():
        found = main.get_command(main.make_context("codefy", ["--help"], resilient_parsing=True), name)
        assert found is not None
        assert found.get_short_help_str(limit=200).rstrip(".") == lazy.summary.rstrip("."), name
        assert name in listed


def test_help_imports_no_command() -> None:
    script = (
        "import sys\n"
        "from codefy_control_plane.cli import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "heavy = {'codefy_control_plane.cli.serve', 'codefy_control_plane.app', 'hypercorn', 'httpx', 'torch', 'rich'}\n"
        "print('LOADED', sorted(heavy & sys.modules.keys()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "LOADED []"


def test_a_command_of_a_package_that_is_broken_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    entries = [
        EntryPoint("broken", "no_such_module:command", "codefy.commands"),
        EntryPoint("odd", "json:dumps", "codefy.commands"),
        EntryPoint("serve", "json:dumps", "codefy.commands"),
    ]
    monkeypatch.setattr("codefy_control_plane.cli.entry_points", lambda group: entries)
    runner = CliRunner()
    assert "broken" in runner.invoke(main, ["--help"]).output
    for name, words in (("broken", "no_such_module"), ("odd", "no click command")):
        result = runner.invoke(main, [name, "--whatever"])
        assert result.exit_code == 1
        assert words in result.output
    # A name that Codefy has is never taken over.
    assert "CODEFY_PORT" in runner.invoke(main, ["serve", "--help"]).output
