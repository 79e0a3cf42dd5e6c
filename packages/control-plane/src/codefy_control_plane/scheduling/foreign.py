"""Whether programs outside of Codefy use a card (S-16), told from what its driver reports. Pure.

One reading over the threshold closes a card; it is open again only after it was below a lower threshold for a while,
so a program that comes and goes does not make it flicker.
"""

from __future__ import annotations

import msgspec

CLOSE_BYTES = 512 << 20
"""Memory of other programs from which on a card is closed."""
OPEN_BYTES = 256 << 20
"""Memory of other programs below which it may open again."""
OPEN_AFTER_S = 15.0
"""How long it has to stay below."""


class ForeignUse(msgspec.Struct, frozen=True, kw_only=True):
    """What other programs hold of one card."""

    memory: int = 0
    """Bytes."""
    process: str = ""
    """The one that holds the most, for people: ``python (pid 4711)``."""


class ForeignWatch:
    """Decides for the cards of one provider. Times are in seconds of a monotonic clock."""

    def __init__(self) -> None:
        self._closed: dict[str, ForeignUse] = {}
        self._below_since: dict[str, float] = {}

    def report(self, device: str, use: ForeignUse, now: float) -> ForeignUse | None:
        """Take a reading; returns the use that closes the card, ``None`` while it is open."""
        closed = self._closed.get(device)
        if use.memory >= CLOSE_BYTES or (closed is not None and use.memory > OPEN_BYTES):
            self._closed[device] = use
            self._below_since.pop(device, None)
            return use
        if closed is None:
            return None
        since = self._below_since.setdefault(device, now)
        if now - since < OPEN_AFTER_S:
            return closed
        del self._closed[device], self._below_since[device]
        return None

    def next_look(self, now: float) -> float | None:
        """When a card may open without another reading being different; ``None`` when none may."""
        if not self._below_since:
            return None
        return max(now, min(self._below_since.values()) + OPEN_AFTER_S)
