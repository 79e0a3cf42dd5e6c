"""A real server for tests and scripts: a process of its own, on a free port, with a data folder of its own.

::

    async with ControlPlane() as server:
        submitted = await server.client.submit(graph)
        run = await server.client.wait(submitted.run_id)

The process can be killed and started again on the same data folder and port, which is what most tests of durability
need.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from codefy_control_plane.client import Client, read_token

READY_PREFIX = "Codefy is ready at "


class ServerDidNotStart(RuntimeError):
    """The server ended or stayed silent before it was ready; the message holds what it wrote."""


class ControlPlane:
    """``codefy serve`` in a process of its own.

    Args:
        data_dir: where it keeps everything; by default a temporary folder that goes with it.
        port: 0 takes a free one.
        environment: further variables for the process, such as ``CODEFY_WORKER_HEARTBEAT_S``.
        ready_s: how long it may take to start.
    """

    def __init__(
        self,
        data_dir: Path | None = None,
        *,
        port: int = 0,
        environment: Mapping[str, str] | None = None,
        ready_s: float = 60.0,
    ) -> None:
        self._temporary = data_dir is None
        self.data_dir = data_dir or Path(tempfile.mkdtemp(prefix="codefy-"))
        self.port = port
        self.url = ""
        self._environment = dict(environment or {})
        self._ready_s = ready_s
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._client: Client | None = None
        self.output: list[str] = []
        """What the process wrote, line by line."""

    @property
    def token_file(self) -> Path:
        """The session token, as an agent on this machine takes it."""
        return self.data_dir / "session-token"

    @property
    def token(self) -> str:
        """The session token."""
        return read_token(self.token_file)

    @property
    def client(self) -> Client:
        """A client of this server.

        Raises:
            RuntimeError: the server was never started.
        """
        if self._client is None:
            raise RuntimeError("the server was not started")
        return self._client

    @property
    def pid(self) -> int:
        """Process id of the running server.

        Raises:
            RuntimeError: it does not run.
        """
        if self._process is None:
            raise RuntimeError("the server does not run")
        return self._process.pid

    async def __aenter__(self) -> ControlPlane:
        try:
            await self.start()
        except BaseException:
            await self._remove()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.stop()
        finally:
            await self._remove()

    async def start(self) -> None:
        """Start the process and wait until it listens.

        Raises:
            ServerDidNotStart: with what it wrote.
        """
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "codefy_control_plane",
            "serve",
            "--data-dir",
            str(self.data_dir),
            "--port",
            str(self.port),
            "--no-open",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            # Most scripts have no run in the server itself, or a short life: torch would cost them more than it gives.
            env={"CODEFY_PRELOAD": "off", **os.environ, **self._environment, "PYTHONUNBUFFERED": "1"},
        )
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._reader = asyncio.create_task(self._read(self._process, ready))
        try:
            self.url = await asyncio.wait_for(ready, self._ready_s)
        except (TimeoutError, ServerDidNotStart) as error:
            await self.kill()
            raise ServerDidNotStart("\n".join(self.output) or "the server wrote nothing") from error
        self.port = int(self.url.rsplit(":", 1)[1])
        if self._client is not None:
            await self._client.close()
        self._client = Client(self.url, self.token)

    async def _read(self, process: asyncio.subprocess.Process, ready: asyncio.Future[str]) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            text = line.decode(errors="replace").rstrip()
            self.output.append(text)
            if text.startswith(READY_PREFIX) and not ready.done():
                ready.set_result(text.removeprefix(READY_PREFIX).strip())
        if not ready.done():
            ready.set_exception(ServerDidNotStart("the server ended"))

    async def stop(self) -> int:
        """Ask the server to stop, and return its exit code."""
        return await self._end(signal.SIGTERM)

    async def kill(self) -> int:
        """``kill -9``, and return the exit code."""
        return await self._end(signal.SIGKILL)

    async def restart(self) -> None:
        """Kill it with -9 and start it again on the same folder and port."""
        await self.kill()
        await self.start()

    async def _end(self, number: signal.Signals) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)
        try:
            code = await asyncio.wait_for(process.wait(), 60)
        except TimeoutError:
            process.kill()
            raise
        if self._reader is not None:
            await self._reader
        return code

    async def _remove(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None
        if self._temporary:
            await asyncio.to_thread(shutil.rmtree, self.data_dir, True)
