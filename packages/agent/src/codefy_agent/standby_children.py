"""The processes of the standby pool: started behind guards as a run's child is, and handed over whole (P-8)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from codefy_agent.environment import child_environment
from codefy_agent.process import MARK, GuardedProcess, ProcessNotStarted
from codefy_agent.standby import Decision, DiscardStandby, StandbyPool, StartStandby
from codefy_agent.state import StandbyState
from codefy_protocol import PROTOCOL_VERSION, __version__, pipe
from codefy_protocol.frames import Assign, Device, DeviceIdentity
from codefy_protocol.watched import modification_times

logger = logging.getLogger(__name__)

_CONSOLE_BYTES = 64 * 1024
"""What a child prints while it imports belongs to the run that gets it; a flood of it does not."""


class StandbyChild:
    """One child: its own until :meth:`attach`, the run's afterwards."""

    def __init__(
        self,
        number: int,
        slot: DeviceIdentity,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
    ) -> None:
        self.number = number
        self.slot = slot
        self.pid = 0
        self.files: dict[str, int] = {}
        self.ready = asyncio.Event()
        self.failed = asyncio.Event()
        """It said something that a standby child does not say."""
        self._chunks = pipe.ChunkReader()
        self._console = bytearray()
        self._records_to: Callable[[bytes], None] | None = None
        self._console_to: Callable[[bytes], None] | None = None
        marked = {**environment, MARK: f"standby.{number}.{secrets.token_hex(8)}"}
        self.process = GuardedProcess(
            command, environment=marked, folder=folder, on_records=self._received, on_console=self._printed
        )

    @property
    def usable(self) -> bool:
        """Whether a run can have it: it waits, and lives."""
        return self.ready.is_set() and not self.failed.is_set() and not self.process.exited.is_set()

    def attach(self, on_records: Callable[[bytes], None], on_console: Callable[[bytes], None]) -> None:
        """Give the run what the child says from now on, and what it has printed."""
        self._records_to, self._console_to = on_records, on_console
        if self._console:
            on_console(bytes(self._console))
            self._console.clear()

    def _received(self, data: bytes) -> None:
        if self._records_to is not None:
            self._records_to(data)
            return
        try:
            for chunk in self._chunks.feed(data):
                for message in pipe.decode_child_messages(chunk):
                    self._take(message)
        except pipe.MalformedPipe:
            self.failed.set()

    def _take(self, message: pipe.ChildMessage) -> None:
        match message:
            case pipe.Preamble(protocol_version=protocol, engine_version=engine):
                if (protocol, engine) == (PROTOCOL_VERSION, __version__):
                    self.process.send(pipe.encode_chunk([pipe.WarmUp()]))
                else:  # the first run says so, with what to do
                    self.failed.set()
            case pipe.Warm(files=files, card_free=True):
                self.files = files
                self.ready.set()
            case _:
                self.failed.set()

    def _printed(self, data: bytes) -> None:
        if self._console_to is not None:
            self._console_to(data)
        elif len(self._console) < _CONSOLE_BYTES:
            self._console += data


class StandbyChildren:
    """Carries out what the pool decides. Belongs to one event loop.

    Args:
        command: the run child's, with ``{read}`` and ``{write}``.
        folder: where the children wait; a run moves to its own.
        changed: called when :meth:`states` has changed.
    """

    def __init__(
        self,
        pool: StandbyPool,
        *,
        command: Sequence[str],
        folder: Path,
        inherited: Mapping[str, str],
        changed: Callable[[], None],
    ) -> None:
        self._pool = pool
        self._command = command
        self._folder = folder
        self._inherited = inherited
        self._changed = changed
        self._children: dict[int, StandbyChild] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._checks: set[asyncio.Task[None]] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def states(self) -> tuple[StandbyState, ...]:
        """The children there are, for ``status``."""
        return tuple(
            StandbyState(
                pid=self._children[number].pid if number in self._children else None,
                device=slot.name,
                state=phase.value,
            )
            for number, slot, phase in self._pool.children()
        )

    # -------------------------------------------------------------- events
    def devices_read(self, devices: tuple[Device, ...]) -> None:
        """The devices now; also the time to see whether the engine has changed."""
        self._carry_out(self._pool.devices_read(devices, time.monotonic()))
        if not self._checks:
            task = asyncio.create_task(self._check())
            self._checks.add(task)
            task.add_done_callback(self._checks.discard)

    async def _check(self) -> None:
        for child in list(self._children.values()):
            if child.usable and await self._outdated(child):
                self._carry_out(self._pool.outdated(child.number, time.monotonic()))

    def run_assigned(self, key: tuple[str, int], assign: Assign) -> None:
        """A run begins."""
        self._pool.run_assigned(key, assign, time.monotonic())
        self._set_timer()

    def run_at_work(self, key: tuple[str, int]) -> None:
        """Its first node runs."""
        self._carry_out(self._pool.run_at_work(key, time.monotonic()))

    def run_ended(self, key: tuple[str, int]) -> None:
        """Every process of it is gone."""
        self._carry_out(self._pool.run_ended(key, time.monotonic()))

    async def take(self, assign: Assign) -> StandbyChild | None:
        """The child for this run, which is its own from now on; ``None`` when the run has to start cold."""
        number = self._pool.take(assign)
        if number is None:
            return None
        child = self._children.pop(number)
        watcher = self._tasks.pop(number)
        watcher.cancel()
        self._set_timer()
        self._changed()
        given = False
        try:
            given = not await self._outdated(child) and child.usable
        finally:
            if not given:
                logger.info(
                    "standby child for %s is discarded: it is out of date or has ended", child.slot.name
                )
                self._end(child)
        return child if given else None

    async def close(self) -> None:
        """End every child."""
        self._carry_out(self._pool.stop(time.monotonic()))
        if self._timer is not None:
            self._timer.cancel()
        await asyncio.gather(*self._checks, *self._ending, return_exceptions=True)

    # -------------------------------------------------------------- decisions
    def _carry_out(self, decisions: Sequence[Decision]) -> None:
        for decision in decisions:
            match decision:
                case StartStandby():
                    self._start(decision.id, decision.slot)
                case DiscardStandby():
                    child = self._children.pop(decision.id, None)
                    self._tasks.pop(decision.id).cancel()
                    if child is not None:
                        logger.info("standby child for %s is discarded: %s", child.slot.name, decision.why)
                        self._end(child)
        self._set_timer()
        if decisions:
            self._changed()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        at = self._pool.next_tick(time.monotonic())
        self._timer = None if at is None else asyncio.get_running_loop().call_at(at, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._carry_out(self._pool.tick(time.monotonic()))

    def _start(self, number: int, slot: DeviceIdentity) -> None:
        child = StandbyChild(
            number, slot, self._command, child_environment(self._inherited, (slot,)), self._folder
        )
        self._children[number] = child
        self._tasks[number] = asyncio.create_task(self._watch(child), name=f"standby {slot.name}")

    async def _watch(self, child: StandbyChild) -> None:
        """From its start until it is somebody's: whether it gets ready, and whether it lives."""
        try:
            child.pid = await child.process.start()
            await _first(child.ready, child.failed, child.process.exited)
            if child.usable:
                logger.info("standby child for %s is ready", child.slot.name)
                self._pool.ready(child.number)
                self._carry_out(self._pool.tick(time.monotonic()))
                self._changed()
                await _first(child.failed, child.process.exited)
        except ProcessNotStarted as error:
            logger.warning("no standby child for %s: %s", child.slot.name, error)
        else:
            logger.warning("the standby child for %s ended by itself", child.slot.name)
        del self._children[child.number], self._tasks[child.number]
        self._end(child)
        self._carry_out(self._pool.gone(child.number, time.monotonic()))

    def _end(self, child: StandbyChild) -> None:
        task = asyncio.create_task(child.process.close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _outdated(self, child: StandbyChild) -> bool:
        # In a thread: a package folder may be on a network disk.
        return await asyncio.to_thread(modification_times, child.files) != child.files


async def _first(*events: asyncio.Event) -> None:
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when="FIRST_COMPLETED")
    finally:
        for wait in waits:
            wait.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*waits)
