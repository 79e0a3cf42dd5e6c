"""A real agent process for tests and scripts, as an async context manager.

::

    async with Agent(server.url, token=server.token, name="w1", scripted=True) as agent:
        await agent.connected()

With ``scripted=True`` its run children are ``codefy_agent.scripted_child``: torch-free, fast to start, and obedient to a
script in the graph; everything else is the real thing.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType

from codefy_agent.state import AgentState, read_state

_POLL_S = 0.01


class AgentEnded(RuntimeError):
    """The agent process ended while something was expected of it; the message holds its log."""


class Agent:
    """One ``codefy-agent start``.

    Args:
        control: the control plane's URL.
        token: given as ``--token``; or ``token_file`` as ``--token-file``.
        data_dir: kept after the test when given, else a temporary folder.
        scripted: run scripted children instead of the engine.
        standby: as ``--standby``; none by default, so that a test has the children that it asks for.
        node_types: what scripted children say to have.
        options: further command line options.
        environment: added to the environment of the agent, and so of its children.
    """

    def __init__(
        self,
        control: str,
        *,
        name: str = "w1",
        token: str | None = None,
        token_file: Path | None = None,
        data_dir: Path | None = None,
        scripted: bool = False,
        standby: str = "0",
        node_types: Iterable[str] = (),
        options: tuple[str, ...] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._temporary = tempfile.TemporaryDirectory(prefix="codefy-agent-") if data_dir is None else None
        self.data_dir = Path(self._temporary.name) if self._temporary else (data_dir or Path())
        command = [sys.executable, "-m", "codefy_agent", "start", "--control", control, "--name", name]
        command += ["--data-dir", str(self.data_dir), "--standby", standby]
        if token is not None:
            command += ["--token", token]
        if token_file is not None:
            command += ["--token-file", str(token_file)]
        if scripted:
            command += ["--engine-module", "codefy_agent.scripted_child"]
        self._command = [*command, *options]
        self._environment = {**os.environ, **(environment or {})}
        if scripted:
            self._environment["CODEFY_SCRIPTED_NODE_TYPES"] = ",".join(node_types)
        self._process: subprocess.Popen[bytes] | None = None
        self.log_path = self.data_dir / f"{name}.log"

    @property
    def folder(self) -> Path:
        """The worker's own folder."""
        return self.data_dir / self.name

    @property
    def pid(self) -> int:
        return self._running().pid

    @property
    def returncode(self) -> int | None:
        """Exit code, ``None`` while it runs."""
        return self._running().poll()

    def run_folder(self, run_id: str) -> Path:
        """Folder of a run's first attempt: ``output.log``, ``spool/``, ``run/``."""
        return self.folder / "agent-runs" / run_id

    def log(self) -> str:
        """What the agent said so far."""
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def state(self) -> AgentState | None:
        """What ``codefy-agent status`` would show."""
        return read_state(self.folder)

    async def __aenter__(self) -> Agent:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._process is not None and self._process.poll() is None:
                await self.stop(timeout_s=30.0)
        finally:
            if self._process is not None and self._process.poll() is None:
                self.kill()
                await self.wait()
            if self._temporary is not None:
                self._temporary.cleanup()

    async def start(self) -> None:
        """Start it (again, after it was killed), in the same folder."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        with self.log_path.open("ab") as log:
            self._process = await asyncio.to_thread(
                subprocess.Popen,
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment,
            )

    async def connected(self, timeout_s: float = 30.0) -> None:
        """Wait until the control plane has welcomed it.

        Raises:
            AgentEnded: it ended instead.
            TimeoutError: it did neither.
        """
        await self.until(lambda state: state is not None and state.connection == "live", timeout_s)

    async def until(self, condition: Callable[[AgentState | None], bool], timeout_s: float = 30.0) -> None:
        """Wait until its state fulfils a condition.

        Raises:
            AgentEnded: it ended instead.
            TimeoutError: it did neither.
        """
        async with asyncio.timeout(timeout_s):
            while not condition(self.state()):
                if self.returncode is not None:
                    raise AgentEnded(f"the agent exited with {self.returncode}:\n{self.log()}")
                await asyncio.sleep(_POLL_S)

    def kill(self) -> None:
        """``kill -9``."""
        self._running().kill()

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, such as ``SIGSTOP``."""
        self._running().send_signal(number)

    async def wait(self, timeout_s: float = 60.0) -> int:
        """Wait for its end; returns the exit code.

        Raises:
            subprocess.TimeoutExpired: it goes on.
        """
        return await asyncio.to_thread(self._running().wait, timeout_s)

    async def stop(self, timeout_s: float = 60.0) -> int:
        """Ask it to stop, as ``codefy-agent stop`` does; returns the exit code.

        Raises:
            subprocess.TimeoutExpired: it goes on.
        """
        self.signal(signal.SIGTERM)
        return await self.wait(timeout_s)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("the agent was not started")
        return self._process
