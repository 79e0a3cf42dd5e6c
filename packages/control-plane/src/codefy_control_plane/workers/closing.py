"""Which devices of a worker get no run for now: not clean (P-9), or used by a program outside of Codefy (S-16).

Fed with what the worker reports, at the times it reports. No I/O.
"""

from __future__ import annotations

from collections.abc import Iterable

from codefy_control_plane.scheduling.foreign import ForeignUse, ForeignWatch
from codefy_protocol.frames import Device
from codefy_protocol.reasons import CARD_IN_USE, SLOT_NOT_CLEAN, Reason, reason


class Closings:
    """The closed devices of one worker, by name."""

    def __init__(self, worker: str) -> None:
        self._worker = worker
        self._watch = ForeignWatch()
        self._closed: dict[str, Reason] = {}
        self._reclaimed: dict[str, tuple[str, int]] = {}
        """Of each device, the run and the process that somebody said not to wait for."""

    def get(self, device: str) -> Reason | None:
        """Why a device is closed."""
        return self._closed.get(device)

    def report(self, devices: Iterable[Device], now: float) -> bool:
        """Take a report; returns whether a device closed or opened.

        Args:
            now: seconds of a monotonic clock.
        """
        closed = {device.name: why for device in devices if (why := self._why(device, now)) is not None}
        changed = closed != self._closed
        # A process that holds a little more or less is no news for those who wait.
        news = {name: why.code for name, why in closed.items()} != {
            name: why.code for name, why in self._closed.items()
        }
        if changed:
            self._closed = closed
        return news

    def reclaim(self, device: Device) -> bool:
        """Give a device out again although something is left on it; returns whether it was closed for that."""
        why = self._closed.get(device.name)
        if device.unclean is None or why is None or why.code != SLOT_NOT_CLEAN:
            return False
        self._reclaimed[device.name] = (device.unclean.run_id, device.unclean.pid)
        del self._closed[device.name]
        return True

    def _why(self, device: Device, now: float) -> Reason | None:
        left = device.unclean
        if left is None:
            self._reclaimed.pop(device.name, None)
        elif self._reclaimed.get(device.name) != (left.run_id, left.pid):
            return reason(SLOT_NOT_CLEAN, device=device.name, worker=self._worker, pid=left.pid)
        use = ForeignUse()
        if device.foreign is not None:
            process = f"{device.foreign.process or 'a program'} (pid {device.foreign.pid})"
            use = ForeignUse(memory=device.foreign.memory, process=process)
        by = self._watch.report(device.name, use, now)
        if by is None:
            return None
        return reason(CARD_IN_USE, device=device.name, worker=self._worker, process=by.process or "a program")
