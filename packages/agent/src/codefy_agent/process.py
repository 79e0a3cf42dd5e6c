"""A run's process behind its guard, as the agent's loop sees it (P-4): three pipes in, one out, and how it ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from codefy_agent.pipes import new_reader, new_writer
from codefy_agent.strays import kill_marked

_GUARD = Path(__file__).with_name("guard_windows.py" if sys.platform == "win32" else "guard.py")
_CLEAN_TIMEOUT_S = 5.0
MARK = "CODEFY_RUN_MARK"
"""Environment variable by which a run's processes are known when even their guard was killed."""


class ProcessNotStarted(RuntimeError):
    """The program could not be started; the message says why."""


class ProcessEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How the run's main process ended."""

    code: int | None = None
    signal: str | None = None
    """Such as ``SIGKILL``."""
    stuck: tuple[int, ...] = ()
    """Descendants that survived being killed for seconds: waiting for a device, or somebody else's."""

    def __str__(self) -> str:
        return f"killed by {self.signal}" if self.signal else f"exit code {self.code}"


def signal_name(number: int) -> str:
    """``SIGKILL`` for 9."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class GuardedProcess:
    """Starts a program behind a guard and relays what it writes. Belongs to one event loop.

    Args:
        command: the program and its arguments; ``{read}`` and ``{write}`` in them become descriptor numbers.
        on_records: what the program writes to ``{write}``.
        on_console: what it and its descendants write to stdout and stderr.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: Path,
        on_records: Callable[[bytes], None],
        on_console: Callable[[bytes], None],
    ) -> None:
        self._command = command
        self._environment = dict(environment)
        self._folder = folder
        self._readers = [new_reader(on_records), new_reader(on_console)]
        self._report = new_reader(self._reported)
        self._report_text = b""
        self._commands = new_writer()
        self._lifeline = -1
        self._guard: subprocess.Popen[bytes] | None = None
        self._started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._stuck: tuple[int, ...] = ()
        self.failure = ""
        """Why the program could not be executed, when that is how it ended."""
        self._code: int | None = None
        self._signal: str | None = None
        self._gone = asyncio.Event()
        """The main process ended and so did, as far as can be told, everything it started."""
        self.exited = asyncio.Event()
        """The main process ended."""

    @property
    def mark(self) -> str:
        """By what its descendants are known."""
        return self._environment.get(MARK, "")

    async def start(self) -> int:
        """Start it; returns its process id.

        Raises:
            ProcessNotStarted: the program is not there, or no process can be made.
        """
        theirs: list[int] = []
        try:
            lifeline, self._lifeline = os.pipe()
            commands, ours = os.pipe()
            theirs += (lifeline, commands)
            self._commands.open(ours)
            for reader in (self._report, *self._readers):
                ours, end = os.pipe()
                theirs.append(end)
                reader.open(ours)
            lifeline, commands, report, records, console = _inherited(theirs)
            program = [part.format(read=commands, write=records) for part in self._command]
            keep = f"{commands},{records}"
            guard = [
                sys.executable,
                "-I",
                "-S",
                str(_GUARD),
                str(lifeline),
                str(report),
                str(console),
                keep,
                "--",
            ]
            # In a thread: starting a process waits until the new program is loaded.
            self._guard = await asyncio.to_thread(self._spawn, [*guard, *program], theirs)
        except OSError as error:
            self._close()
            raise ProcessNotStarted(str(error)) from error
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        return await asyncio.shield(self._started)

    def _spawn(self, command: list[str], theirs: list[int]) -> subprocess.Popen[bytes]:
        if sys.platform == "win32":
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=self._environment,
                cwd=self._folder,
                startupinfo=subprocess.STARTUPINFO(lpAttributeList={"handle_list": _inherited(theirs)}),
                creationflags=subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP,
            )
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=theirs,
            env=self._environment,
            cwd=self._folder,
            # Ctrl-C in the agent's terminal is for the agent: it asks its runs in its own way.
            start_new_session=True,
        )

    def send(self, data: bytes) -> None:
        """Write to the program's ``{read}`` pipe; never blocks."""
        self._commands.write(data)

    def terminate(self) -> None:
        """Send SIGTERM to the main process."""
        self._order(b"T")

    def kill(self) -> None:
        """Kill it and everything it started."""
        self._order(b"K")

    async def wait(self) -> ProcessEnd:
        """Wait until it is gone; what it wrote was delivered before this returns."""
        await self.exited.wait()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._gone.wait(), _CLEAN_TIMEOUT_S)
        for reader in self._readers:
            await reader.drain()
        return ProcessEnd(code=self._code, signal=self._signal, stuck=self._stuck)

    async def close(self) -> None:
        """Kill what is left and let go of the pipes. The guard goes on by itself when something is stuck."""
        if self._guard is not None and not self._gone.is_set():
            self.kill()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._gone.wait(), _CLEAN_TIMEOUT_S)
        self._close()
        if self._guard is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._guard.wait, 1.0)

    # -------------------------------------------------------------- the guard
    def _order(self, word: bytes) -> None:
        if self._lifeline >= 0:
            with contextlib.suppress(OSError):
                os.write(self._lifeline, word)

    def _reported(self, data: bytes) -> None:
        if not data:
            self._guard_gone()
            return
        *lines, self._report_text = (self._report_text + data).split(b"\n")
        for line in lines:
            word, _, rest = line.decode(errors="replace").partition(" ")
            if word == "started" and not self._started.done():
                self._started.set_result(int(rest))
            elif word == "failed":
                self._not_started(rest)
            elif word == "exited":
                self._ended(int(rest), None)
            elif word == "killed":
                self._ended(None, signal_name(int(rest)))
            elif word == "stuck":
                self._stuck = tuple(int(pid) for pid in rest.split())
            elif word == "clean":
                self._stuck = ()
                self._ended(self._code, self._signal or (None if self._code is not None else "SIGKILL"))
                self._gone.set()

    def _not_started(self, why: str) -> None:
        self.failure = why
        if not self._started.done():
            self._started.set_exception(ProcessNotStarted(why))

    def _ended(self, code: int | None, name: str | None) -> None:
        if not self.exited.is_set():
            self._code, self._signal = code, name
            self.exited.set()

    def _guard_gone(self) -> None:
        if not self._gone.is_set():
            # Somebody killed the guard. The kernel killed the main process with it; the rest is found by its mark.
            self._stuck = kill_marked(MARK, self.mark)
            self._not_started("its guard process ended")
            self._ended(None, "SIGKILL")
            self._gone.set()

    def _close(self) -> None:
        for reader in (self._report, *self._readers):
            reader.close()
        self._commands.close()
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1
        if not self._started.cancel() and not self._started.cancelled():
            self._started.exception()  # looked at, whether or not start() was still waiting


def _inherited(descriptors: list[int]) -> list[int]:
    """The numbers by which another process knows these descriptors: themselves, or on Windows their handles."""
    if sys.platform == "win32":
        import msvcrt

        handles = [msvcrt.get_osfhandle(descriptor) for descriptor in descriptors]
        for handle in handles:
            os.set_handle_inheritable(handle, True)
        return handles
    return descriptors
