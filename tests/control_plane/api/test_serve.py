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
from codefy_control_plane.data_dir import read_server_file
from codefy_control_plane.server import CannotServe, Server, bind, url_of
from codefy_control_plane.settings import SETTINGS, Settings, load_settings

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

    def put(self, path: str, body: Any) -> httpx.Response:
        headers = {"x-codefy-token": self.token}
        return httpx.put(self.url + path, json=body, headers=headers, trust_env=False, timeout=30)


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

    def begin(
        *arguments: str, data_dir: Path | None = None, environment: dict[str, str] | None = None
    ) -> Served:
        folder = data_dir or tmp_path / "data"
        process = subprocess.Popen(
            command("--data-dir", str(folder), *arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "CODEFY_PRELOAD": "off", **(environment or {})},
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
    served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(30) == 0
    assert not (served.data_dir / "server.json").exists()
    again = start("--port", served.url.rpartition(":")[2])
    again.process.send_signal(signal.SIGINT)
    assert again.process.wait(30) == 0
    assert again.token == served.token
    assert served.token not in (served.process.stderr.read() if served.process.stderr else "")


@pytest.mark.integration
def test_being_ready_and_listing_the_nodes_needs_no_heavy_import(tmp_path: Path) -> None:
    script = (
        "import asyncio, json, sys, urllib.request\n"
        "from pathlib import Path\n"
        "import codefy_control_plane.cli.serve\n"
        "from codefy_control_plane.server import Server\n"
        "from codefy_control_plane.settings import load_settings\n"
        "async def main():\n"
        "    async with Server(load_settings({}, data_dir=Path(sys.argv[1]), port=0)) as server:\n"
        "        asked = urllib.request.Request(server.url + '/api/nodes')\n"
        "        asked.add_header('x-codefy-token', server.token)\n"
        "        answer = await asyncio.to_thread(lambda: urllib.request.urlopen(asked).read())\n"
        "        loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "        heavy = loaded & {'torch', 'numpy', 'sklearn', 'scipy', 'PIL', 'torchvision', 'pandas'}\n"
        "        nodes = [name for name in sys.modules if name.startswith('codefy_engine.nodes.builtin.')]\n"
        "        print(json.dumps([sorted(heavy), len(nodes), len(json.loads(answer)['nodes'])]))\n"
        "asyncio.run(main())\n"
    )

    def start() -> tuple[list[str], int, int]:
        done = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / "data")],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return tuple(json.loads(done.stdout))

    heavy, modules, nodes = start()
    # Making the database's tables takes sqlite-utils, which looks for numpy.
    assert set(heavy) <= {"numpy"} and modules > 10 and nodes > 100
    assert start() == ([], 0, nodes)
    assert stat.S_IMODE((tmp_path / "data" / "catalog.json").stat().st_mode) == 0o600


@pytest.mark.integration
@pytest.mark.skipif(sys.platform != "linux", reason="sees the import by the libraries in /proc")
def test_a_server_that_imports_torch_answers_and_ends_at_once(start: Start) -> None:
    served = start("--port", "0", environment={"CODEFY_PRELOAD": "on"})
    maps = Path(f"/proc/{served.process.pid}/maps")
    while "libtorch_cpu" not in maps.read_text():
        assert served.process.poll() is None
        time.sleep(0.01)
    assert served.get("/api/health").json()["status"] == "ok"
    served.process.send_signal(signal.SIGTERM)
    out, err = served.process.communicate(timeout=60)
    assert (served.process.returncode, out.splitlines()[-1], err) == (0, "stopped", "")
    assert not (served.data_dir / "server.json").exists()


async def test_second_server_on_a_data_folder_or_port_is_told_what_to_do(
    server: Server, tmp_path: Path
) -> None:
    def settings(data_dir: Path, port: int) -> Settings:
        return load_settings({}, data_dir=data_dir, port=port)

    with pytest.raises(CannotServe, match=f"pid {os.getpid()}, {server.url}.*--data-dir"):
        await Server(settings(server.settings.data_dir, 0)).__aenter__()
    port = int(server.url.rpartition(":")[2])
    other = tmp_path / "other"
    with pytest.raises(CannotServe, match=f"port {port} is taken.*--port"):
        await Server(settings(other, port)).__aenter__()
    # The one that runs is not disturbed, and the folder of the one that could not start is free again.
    assert read_server_file(server.settings.server_file) is not None
    async with Server(settings(other, 0)) as second:
        assert second.token != server.token


async def test_a_damaged_database_is_named_with_what_to_do(tmp_path: Path) -> None:
    settings = load_settings({}, data_dir=tmp_path / "data", port=0)
    async with Server(settings):
        pass
    settings.database_path.write_bytes(b"no database at all" * 1000)
    for suffix in ("-wal", "-shm"):
        settings.database_path.with_name(settings.database_path.name + suffix).unlink(missing_ok=True)
    with pytest.raises(CannotServe, match=f"{settings.database_path} is damaged.*--data-dir"):
        await Server(settings).__aenter__()


@pytest.mark.parametrize("host", ["no-such-host.invalid", "192.0.2.1", "a b"])
def test_hosts_that_cannot_be_listened_on(host: str) -> None:
    with pytest.raises(CannotServe, match=f"{host}.*--host"):
        bind(host, 0)


def test_ipv6_and_wildcard_addresses_are_links_that_open() -> None:
    for host, expected in (
        ("::1", "http://[::1]:"),
        ("0.0.0.0", "http://127.0.0.1:"),
        ("::", "http://[::1]:"),
    ):
        with bind(host, 0) as listener:
            assert url_of(listener) == f"{expected}{listener.getsockname()[1]}"


@pytest.mark.integration
def test_refusals_of_the_command_line_have_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "session-token").write_text("x")
    for folder, words in (
        (tmp_path / "file" / "x", "cannot be used"),
        (tmp_path / "damaged", "session-token"),
    ):
        code, told = refused("--data-dir", str(folder), "--port", "0")
        assert (code, words in told) == (1, True), told
    result = CliRunner().invoke(main, ["serve"], env={"CODEFY_PORT": "eighty"})
    assert (result.exit_code, "CODEFY_PORT" in result.output) == (2, True)


@pytest.mark.integration
def test_a_kill_frees_port_and_folder_at_once(start: Start) -> None:
    served = start("--port", "0")
    port = int(served.url.rpartition(":")[2])
    graph = {"format_version": 1, "nodes": [], "edges": []}
    assert served.put("/api/graphs/kept", {"graph": graph}).status_code == 200
    with closing(socket.create_connection(("127.0.0.1", port))):
        served.process.kill()
        served.process.wait(30)
        # Neither the open connection nor the stale server.json is in the way.
        assert (served.data_dir / "server.json").exists()
        again = start("--port", str(port))
    assert again.url == served.url
    assert again.get("/api/graphs/kept").json()["revision"] == 1


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
