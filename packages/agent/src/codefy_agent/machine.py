"""The machine as the agent watches it: what it offers, and whether runs have left their cards (P-9, S-16)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from codefy_agent.cards import CardWatch, ProcessFacts, RunKey
from codefy_agent.whose import living, numbers_are_the_drivers, process_facts
from codefy_protocol.frames import Assign, Device
from codefy_protocol.machine import DeviceInventory, Reading

_DEVICES_EVERY_S = 5.0
_UNCLEAN_EVERY_S = 0.5
_LEAVE_WITHIN_S = 2.0
"""How long the end of a run is held back for its card; the driver needs some of it to take the memory back."""
_LEAVE_POLL_S = 0.05


class Machine:
    """Reads the devices again and again, in a thread: a driver may take its time, heartbeats may not.

    Args:
        read: called on the loop with every reading.
        process_list: whether the driver's list of processes is believed: ``trust``, ``ignore``, or ``auto``: where its
            process ids are ours.
    """

    def __init__(self, read: Callable[[tuple[Device, ...]], None], *, process_list: str = "auto") -> None:
        self._told = read
        self._inventory = DeviceInventory()
        believed = numbers_are_the_drivers() if process_list == "auto" else process_list == "trust"
        self._watch = CardWatch(same_numbers=believed)
        self._reading = asyncio.Lock()
        self._hurry = asyncio.Event()

    async def read(self) -> tuple[Device, ...]:
        """The devices now."""
        async with self._reading:
            reading, facts, alive = await asyncio.to_thread(self._look, self._watch.followed())
            return self._watch.judged(reading.devices, reading.processes, facts, alive)

    async def watch(self) -> None:
        """Tell the devices for ever: seldom, and often while something of a run is left on a card."""
        while True:
            self._hurry.clear()
            pause = _UNCLEAN_EVERY_S if self._watch.waiting else _DEVICES_EVERY_S
            try:
                async with asyncio.timeout(pause):
                    await self._hurry.wait()
            except TimeoutError:
                self._told(await self.read())

    def run_started(self, key: RunKey, assign: Assign, pid: int, mark: str) -> None:
        """A run has its main process."""
        cards = [device.name for device in assign.devices if device.name.startswith("cuda")]
        if cards:
            self._watch.run_started(key, cards, pid=pid, mark=mark)

    async def left(self, key: RunKey, stuck: tuple[int, ...]) -> None:
        """Its processes ended: wait until its cards are clean, but not for long; what is left then is told at once,
        and followed."""
        if self._watch.is_clean(key):
            return
        self._watch.run_ended(key, stuck)
        until = time.monotonic() + _LEAVE_WITHIN_S
        while True:
            devices = await self.read()
            if self._watch.is_clean(key):
                return
            if time.monotonic() >= until:
                break
            await asyncio.sleep(_LEAVE_POLL_S)
        self._hurry.set()
        self._told(devices)

    def close(self) -> None:
        """Let go of the driver's library."""
        self._inventory.close()

    def _look(self, followed: set[int]) -> tuple[Reading, dict[int, ProcessFacts], set[int]]:
        reading = self._inventory.read_with_processes()
        listed = {process.pid for processes in reading.processes.values() for process in processes or ()}
        return reading, process_facts(listed) if listed else {}, living(followed) if followed else set()
