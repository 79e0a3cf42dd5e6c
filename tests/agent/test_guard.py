"""P-4: nothing of a run outlives it, whoever dies first. Real processes, a guard each."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from codefy_agent.process import MARK, GuardedProcess, ProcessNotStarted

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="follows Linux processes")

_FAMILY = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def settle(name):
    with open(name + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(name + ".new", name)
    time.sleep(600)
if not os.fork():
    settle("plain")
if not os.fork():
    os.setsid()
    settle("session")
pid = os.fork()
if not pid:
    os.setsid()
    if os.fork():
        os._exit(0)
    if not os.fork():
        settle("grandchild")
    settle("double")
os.waitpid(pid, 0)
while not all(os.path.exists(name) for name in ("plain", "session", "double", "grandchild")):
    time.sleep(0.002)
print("family", flush=True)
"""
MEMBERS = ("plain", "session", "double", "grandchild")


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


async def until(condition: Callable[[], object], timeout_s: float = 20.0) -> None:
    async with asyncio.timeout(timeout_s):
        while not condition():
            await asyncio.sleep(0.005)


class Child(GuardedProcess):
    """A guarded Python program, with what it wrote."""

    def __init__(self, folder: Path, code: str, *, program: list[str] | None = None) -> None:
        self.records = b""
        self.console = b""
        self.folder = folder
        command = program or [sys.executable, "-I", "-S", "-c", textwrap.dedent(code), "{read}", "{write}"]
        command = [
            part if part in ("{read}", "{write}") else part.replace("{", "{{").replace("}", "}}")
            for part in command
        ]
        super().__init__(
            command,
            environment={**os.environ, MARK: f"test-{os.urandom(8).hex()}"},
            folder=folder,
            on_records=self._on_records,
            on_console=self._on_console,
        )

    def _on_records(self, data: bytes) -> None:
        self.records += data

    def _on_console(self, data: bytes) -> None:
        self.console += data

    def family(self) -> list[int]:
        return [int((self.folder / name).read_text()) for name in MEMBERS]

    async def family_is_there(self) -> list[int]:
        await until(lambda: b"family" in self.console)
        assert all(alive(pid) for pid in self.family())
        return self.family()


async def test_output_pipe_and_exit_code(tmp_path: Path) -> None:
    code = """
    import os, sys
    data = os.read(int(sys.argv[1]), 100)
    print("said", data.decode(), flush=True)
    os.write(2, b"to stderr")
    os.write(int(sys.argv[2]), b"x" * 1000000)
    sys.exit(7)
    """
    child = Child(tmp_path, code)
    pid = await child.start()
    child.send(b"hello")
    end = await child.wait()
    assert (end.code, end.signal, end.stuck, str(end)) == (7, None, (), "exit code 7")
    assert child.console == b"said hello\nto stderr"
    assert child.records == b"x" * 1000000
    assert not alive(pid)
    await child.close()


async def test_a_large_message_to_a_slow_reader(tmp_path: Path) -> None:
    code = """
    import os, sys
    size = 0
    while size < 3000000:
        size += len(os.read(int(sys.argv[1]), 1000))
    """
    child = Child(tmp_path, code)
    await child.start()
    for _ in range(3):
        child.send(b"y" * 1000000)
    assert (await child.wait()).code == 0
    await child.close()


async def test_what_a_run_starts_with(tmp_path: Path) -> None:
    code = """
    import json, os, resource, signal, sys
    print(json.dumps({
        "core": resource.getrlimit(resource.RLIMIT_CORE),
        "stdin": os.readlink("/proc/self/fd/0"),
        "descriptors": sorted(int(n) for n in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + n)),
        "leads": os.getsid(0) == os.getpid() == os.getpgid(0),
        "cwd": os.getcwd(),
        "oom": open("/proc/self/oom_score_adj").read().strip(),
        "blocked": [int(n) for n in signal.pthread_sigmask(signal.SIG_BLOCK, [])],
        "sigpipe": signal.getsignal(signal.SIGTERM) == signal.SIG_DFL,
        "pipes": [int(a) for a in sys.argv[1:]],
    }))
    """
    child = Child(tmp_path, code)
    await child.start()
    await child.wait()
    found = json.loads(child.console)
    assert found["core"] == [0, 0]
    assert found["stdin"] == "/dev/null"
    # Nothing of the agent or the guard leaks: what it has is its console, its pipe and the null device.
    assert set(found["descriptors"]) == {0, 1, 2, *found["pipes"]}
    assert found["leads"] and found["sigpipe"] and found["blocked"] == []
    assert found["cwd"] == str(tmp_path)
    assert int(found["oom"]) >= 500
    await child.close()


async def test_the_family_goes_with_the_child(tmp_path: Path) -> None:
    child = Child(tmp_path, _FAMILY + "\nos._exit(3)")
    await child.start()
    end = await child.wait()
    assert (end.code, end.stuck) == (3, ())
    assert [pid for pid in child.family() if alive(pid)] == []
    await child.close()


async def test_the_family_goes_with_a_killed_child(tmp_path: Path) -> None:
    child = Child(tmp_path, _FAMILY + "\ntime.sleep(600)")
    pid = await child.start()
    family = await child.family_is_there()
    os.kill(pid, signal.SIGKILL)
    end = await child.wait()
    assert (end.signal, str(end)) == ("SIGKILL", "killed by SIGKILL")
    assert [each for each in (pid, *family) if alive(each)] == []
    await child.close()


async def test_terminate_reaches_the_child_and_kill_everything(tmp_path: Path) -> None:
    child = Child(
        tmp_path,
        _FAMILY
        + "\nsignal.signal(signal.SIGTERM, lambda *_: print('asked', flush=True))\n"
        + ("while True: time.sleep(600)"),
    )
    pid = await child.start()
    family = await child.family_is_there()
    await until(lambda: _handles_sigterm(pid))
    child.terminate()
    await until(lambda: b"asked" in child.console)
    assert all(alive(each) for each in (pid, *family))
    child.kill()
    assert (await child.wait()).signal == "SIGKILL"
    assert [each for each in (pid, *family) if alive(each)] == []
    await child.close()


def _handles_sigterm(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) & 1 << (signal.SIGTERM - 1))


async def test_closing_kills_what_still_runs(tmp_path: Path) -> None:
    child = Child(tmp_path, _FAMILY + "\ntime.sleep(600)")
    pid = await child.start()
    family = await child.family_is_there()
    await child.close()
    assert [each for each in (pid, *family) if alive(each)] == []


async def test_everything_goes_even_when_the_guard_is_killed(tmp_path: Path) -> None:
    child = Child(tmp_path, _FAMILY + "\ntime.sleep(600)")
    pid = await child.start()
    family = await child.family_is_there()
    guard = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(guard, signal.SIGKILL)
    end = await child.wait()
    assert end.signal == "SIGKILL" and end.stuck == ()
    await until(lambda: not any(alive(each) for each in (pid, *family)))
    await child.close()


async def test_a_stopped_child_can_be_killed(tmp_path: Path) -> None:
    child = Child(
        tmp_path, "import os, signal, time; print('up', flush=True); os.kill(os.getpid(), signal.SIGSTOP)"
    )
    pid = await child.start()
    await until(lambda: _state(pid) == "T")
    child.terminate()
    child.kill()
    assert (await child.wait()).signal in ("SIGKILL", "SIGTERM")
    assert not alive(pid)
    await child.close()


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


async def test_the_guard_ignores_signals_meant_for_others(tmp_path: Path) -> None:
    child = Child(tmp_path, "import time; print('up', flush=True); time.sleep(600)")
    pid = await child.start()
    await until(lambda: b"up" in child.console)
    guard = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(guard, number)
    child.terminate()  # the guard still listens
    assert (await child.wait()).signal == "SIGTERM"
    await child.close()


async def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    child = Child(tmp_path, "", program=[str(tmp_path / "no-such-python")])
    try:
        await child.start()
        end = await child.wait()
    except ProcessNotStarted as error:
        assert "No such file" in str(error)
    else:
        # The guard was up before its child found out.
        assert end.code == 127 and "No such file" in child.failure
    await child.close()


async def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    child = Child(tmp_path / "gone", "pass")
    with pytest.raises(ProcessNotStarted, match="No such file"):
        await child.start()
    await child.close()


async def test_descriptors_are_given_back(tmp_path: Path) -> None:
    async def one() -> None:
        child = Child(tmp_path, "print('x')")
        await child.start()
        await child.wait()
        await child.close()

    await one()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        await one()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
