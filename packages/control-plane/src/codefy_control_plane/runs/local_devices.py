"""The devices of the server's own machine, listed in a thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from codefy_control_plane.scheduling.model import DeviceView
from codefy_protocol.frames import Device, DeviceIdentity
from codefy_protocol.machine.inventory import DeviceInventory

FRESH_S = 3.0


class LocalDevices:
    """What the server offers. Which devices there are is fixed at the start; their memory and load are read anew.

    Args:
        read: lists the devices; may take a while, so it is called in a thread.
    """

    def __init__(self, read: Callable[[], Sequence[Device]] | None = None) -> None:
        self._read = DeviceInventory().read if read is None else read
        self._devices: tuple[Device, ...] = ()
        self._read_at = 0.0
        self._reading: asyncio.Task[None] | None = None

    async def load(self) -> tuple[DeviceView, ...]:
        """List the devices."""
        await self._refresh()
        return tuple(DeviceView(name=item.name, kind=item.kind, uuid=item.uuid) for item in self._devices)

    async def _refresh(self) -> None:
        self._devices = tuple(await asyncio.to_thread(self._read))
        self._read_at = time.monotonic()

    def latest(self) -> tuple[Device, ...]:
        """The last reading; one that is too old has a new one made for the next call."""
        idle = self._reading is None or self._reading.done()
        if idle and time.monotonic() - self._read_at > FRESH_S:
            self._reading = asyncio.create_task(self._refresh())
        return self._devices

    async def close(self) -> None:
        """Wait for a reading that is under way."""
        if self._reading is not None:
            await asyncio.gather(self._reading, return_exceptions=True)

    def identities(self, names: Sequence[str]) -> tuple[DeviceIdentity, ...]:
        """Devices by name, with their UUIDs; a kind stands for its first device."""
        found: list[DeviceIdentity] = []
        for name in names:
            for device in self._devices:
                if name in (device.name, device.kind):
                    found.append(DeviceIdentity(name=device.name, uuid=device.uuid))
                    break
        return tuple(found)
