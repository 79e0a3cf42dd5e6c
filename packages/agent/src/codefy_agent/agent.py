"""The agent: one asyncio process around the pure session (A-4).

Everything that happens is told to the session, and what it decides is carried out here: dialling, sending, writing the
spools, starting and stopping run children. Nothing here imports torch or opens a port.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import signal
import sys
import time
from collections.abc import Generator, Sequence
from pathlib import Path

import msgspec

from codefy_agent.connection import ControlPlane
from codefy_agent.discovery import keep_discovering
from codefy_agent.input_cache import InputCache
from codefy_agent.inputs import FetchSettings, InputFetcher
from codefy_agent.link import Link
from codefy_agent.lock import folder_lock
from codefy_agent.machine import Machine
from codefy_agent.runner import RunnerSettings
from codefy_agent.session import (
    AgentSession,
    CancelAttempt,
    CloseConnection,
    ConnectionState,
    Decision,
    ExitAgent,
    FinishAttempt,
    ForgetAttempt,
    ReconnectAt,
    SessionSettings,
    StartAttempt,
    TruncateSpool,
)
from codefy_agent.standby import StandbyPool, StandbySettings
from codefy_agent.standby_children import StandbyChildren
from codefy_agent.state import STATE_FILE, AgentState, write_state
from codefy_agent.store import AttemptStore
from codefy_agent.strays import kill_marked
from codefy_agent.workshop import Workshop
from codefy_protocol import PROTOCOL_VERSION, __version__, capabilities
from codefy_protocol.frames import Catalog, Device, Hello
from codefy_protocol.machine import boot_id, machine_id, platform_name

logger = logging.getLogger(__name__)

STOP_GRACE_S = 10.0
AGENT_MARK = "CODEFY_RUN_AGENT"
"""Environment variable of everything that an agent starts: its folder."""
_STATE_DELAY_S = 0.1


class AgentConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent is started with."""

    name: str
    folder: Path
    """This worker's own folder."""
    engine_command: tuple[str, ...] | None = None
    """The run child with ``{read}`` and ``{write}``; ``None`` when no engine was found."""
    discover_command: tuple[str, ...] | None = None
    """Says what the engine can run; ``None`` when no engine was found."""
    session: SessionSettings = SessionSettings()
    runner: RunnerSettings = RunnerSettings()
    fetch: FetchSettings = FetchSettings()
    standby: StandbySettings = StandbySettings()
    process_list: str = "auto"
    """See :class:`Machine`."""


class Agent:
    """One worker on the running event loop. ``run`` is the life of the process."""

    def __init__(self, config: AgentConfig, control: ControlPlane) -> None:
        self._config = config
        self._control = control
        self._machine = Machine(self._devices_read, process_list=config.process_list)
        fetcher = InputFetcher(
            control,
            InputCache(config.folder / "inputs"),
            worker=lambda: self._session.worker_id,
            connected=lambda: self._session.state is ConnectionState.LIVE,
            random=random.random,
            settings=config.fetch,
        )
        self._standby: StandbyChildren | None = None
        if config.engine_command is not None and config.standby.count != 0:
            self._standby = StandbyChildren(
                StandbyPool(config.standby),
                command=config.engine_command,
                folder=config.folder,
                inherited=os.environ,
                changed=self._note_state,
            )
        self._workshop = Workshop(
            AttemptStore(config.folder / "agent-runs"),
            engine_command=config.engine_command,
            files=config.folder / "files",
            decided=self._carry_out,
            gather=fetcher.gather,
            runner_settings=config.runner,
            standby=self._standby,
            machine=self._machine,
        )
        self._exit: asyncio.Future[ExitAgent] = asyncio.get_running_loop().create_future()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at: float | None = None
        self._state_timer: asyncio.TimerHandle | None = None
        self._state = AgentState(pid=os.getpid(), name=config.name, control=control.url, version=__version__)
        self._session: AgentSession
        self._link: Link

    async def run(self) -> ExitAgent:
        """Work until told to end; returns the exit code and why.

        Raises:
            FolderLocked: another agent of this name runs on this machine.
        """
        with folder_lock(self._config.folder):
            try:
                await self._prepare()
                with self._signals():
                    return await self._work()
            finally:
                for timer in (self._timer, self._state_timer):
                    if timer is not None:
                        timer.cancel()
                await self._workshop.close()
                if self._standby is not None:
                    await self._standby.close()
                self._machine.close()
                with contextlib.suppress(OSError):
                    (self._config.folder / STATE_FILE).unlink()

    def stop(self) -> None:
        """Ask every run to stop, deliver what they left, exit. A second call ends at once."""
        if self._session.stopping:
            self._end(ExitAgent(1, "stopped at once"))
            return
        count = len(self._session.running())
        if count:
            logger.info("stopping: %d run(s) have %.0f s to end", count, STOP_GRACE_S)
        self._carry_out(self._session.stop(time.monotonic(), STOP_GRACE_S))

    async def _prepare(self) -> None:
        # The folder is ours alone: what carries its name was started by an agent that is gone, and its guard is too.
        folder = str(self._config.folder)
        await asyncio.to_thread(kill_marked, AGENT_MARK, folder)
        os.environ[AGENT_MARK] = folder
        restored = await asyncio.to_thread(self._workshop.restore)
        devices = await self._machine.read()
        machine, boot, platform = await asyncio.to_thread(lambda: (machine_id(), boot_id(), platform_name()))
        hello = Hello(
            name=self._config.name,
            product_version=__version__,
            protocol_version=PROTOCOL_VERSION,
            capabilities=capabilities.IMPLEMENTED,
            machine_id=machine,
            boot_id=boot,
            incarnation=os.urandom(16).hex(),
            devices=devices,
            platform=platform,
            pid=os.getpid(),
        )
        self._session = AgentSession(
            hello, random=random.random, settings=self._config.session, restored=restored
        )
        self._workshop.use(self._session)
        self._link = Link(
            self._control, self._session, decided=self._carry_out, read_records=self._workshop.read
        )
        now = time.time()
        self._state = msgspec.structs.replace(self._state, since=now, started=now)
        write_state(self._config.folder, self._state)

    async def _work(self) -> ExitAgent:
        self._carry_out(self._session.start(time.monotonic()))
        if self._standby is not None:
            self._standby.devices_read(self._session.devices)
        async with asyncio.TaskGroup() as tasks:
            background = [
                tasks.create_task(self._link.run(), name="connection"),
                tasks.create_task(self._machine.watch(), name="machine"),
                tasks.create_task(
                    keep_discovering(self._config.discover_command, self._catalog_known), name="catalog"
                ),
            ]
            end = await self._exit
            for task in background:
                task.cancel()
        return end

    @contextlib.contextmanager
    def _signals(self) -> Generator[None, None, None]:
        loop = asyncio.get_running_loop()
        if sys.platform == "win32":

            def stop(_number: int, _frame: object) -> None:
                loop.call_soon_threadsafe(self.stop)

            # Ctrl-C, and Ctrl-Break as ``codefy-agent stop`` sends it.
            for number in (signal.SIGINT, signal.SIGBREAK):
                signal.signal(number, stop)
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM)
        for number in numbers:
            loop.add_signal_handler(number, self.stop)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    def _devices_read(self, devices: tuple[Device, ...]) -> None:
        self._session.devices_read(devices, time.monotonic())
        self._workshop.retry_writes()
        if self._standby is not None:
            self._standby.devices_read(devices)
        self._carry_out(())

    def _catalog_known(self, catalog: Catalog) -> None:
        self._session.catalog_known(catalog)
        self._link.wake()

    # -------------------------------------------------------------- decisions
    def _carry_out(self, decisions: Sequence[Decision]) -> None:
        for decision in decisions:
            match decision:
                case StartAttempt():
                    assign = decision.assign
                    logger.info("run %s starts on %s", assign.run_id, assign.device)
                    self._workshop.start(assign)
                case CancelAttempt():
                    stopped = decision.cause == "agent_stopped"
                    self._workshop.cancel(
                        decision.run_id, decision.attempt, decision.grace_s, agent_stopped=stopped
                    )
                case FinishAttempt():
                    self._workshop.finish(decision.run_id, decision.attempt, decision.body)
                case TruncateSpool():
                    self._workshop.truncate(decision.run_id, decision.attempt, decision.seq)
                case ForgetAttempt():
                    logger.info("run %s is delivered", decision.run_id)
                    self._workshop.forget(decision.run_id, decision.attempt)
                case CloseConnection():
                    self._link.close(decision.reason)
                case ReconnectAt():
                    self._link.dial_at(decision.at)
                case ExitAgent():
                    self._end(decision)
        self._link.wake()
        self._set_timer()
        self._note_state()

    def _end(self, decision: ExitAgent) -> None:
        if not self._exit.done():
            self._exit.set_result(decision)

    def _set_timer(self) -> None:
        at = self._session.next_tick()
        if at == self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if at is None else asyncio.get_running_loop().call_at(at, self._tick)
        self._timer_at = at

    def _tick(self) -> None:
        self._timer = self._timer_at = None
        self._carry_out(self._session.tick(time.monotonic()))

    # -------------------------------------------------------------- what status shows
    def _note_state(self) -> None:
        if self._state_timer is None:
            self._state_timer = asyncio.get_running_loop().call_later(_STATE_DELAY_S, self._write_state)

    def _write_state(self) -> None:
        self._state_timer = None
        session = self._session
        connection = session.state.value
        changed = connection != self._state.connection
        state = msgspec.structs.replace(
            self._state,
            name=session.worker_id,
            connection=connection,
            since=time.time() if changed else self._state.since,
            draining=session.draining,
            stopping=session.stopping,
            problem="" if connection == "live" else self._link.problem,
            waiting_records=self._workshop.waiting_records(),
            runs=self._workshop.runs(),
            standby=self._standby.states() if self._standby is not None else (),
        )
        if changed and connection == "live":
            logger.info("connected to %s as %s", self._control.url, session.worker_id)
        if state != self._state:
            self._state = state
            try:
                write_state(self._config.folder, state)
            except OSError as error:
                logger.warning("the state file cannot be written: %s", error)
