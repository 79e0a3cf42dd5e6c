"""When silence means that the other side is gone (D-1), the same on both ends. Pure: the clock is an argument."""

from __future__ import annotations

LATE_S = 1.0
"""A check this long after its deadline says more about this side (a blocked loop, a sleeping machine)."""


class SilenceWatch:
    """Watches for frames of the other side; counts only the time in which this side was reading.

    A check that comes late proves nothing: what was sent in the meantime may still lie unread. It re-arms once per
    silence; a second late check counts.
    """

    def __init__(self, limit_s: float, now: float, *, rearm_s: float | None = None) -> None:
        self.limit_s = limit_s
        self._rearm_s = limit_s / 3 if rearm_s is None else rearm_s
        self._last_heard = now
        self._deadline = now + limit_s
        self._rearmed = False
        self._paused_at: float | None = None

    @property
    def last_heard(self) -> float:
        """When the last frame came, or when the watch began."""
        return self._last_heard

    @property
    def deadline(self) -> float | None:
        """When to check next; ``None`` while this side is not reading."""
        return None if self._paused_at is not None else self._deadline

    def heard(self, now: float) -> None:
        """A frame came."""
        self._last_heard = now
        self._deadline = now + self.limit_s
        self._rearmed = False

    def pause(self, now: float) -> None:
        """This side stopped reading, for example because its store is behind."""
        if self._paused_at is None:
            self._paused_at = now

    def resume(self, now: float) -> None:
        """This side reads again; the time in between does not count."""
        if self._paused_at is not None:
            self._deadline += now - self._paused_at
            self._paused_at = None

    def silent(self, now: float) -> bool:
        """Whether the other side is to be taken for gone."""
        if self._paused_at is not None or now < self._deadline:
            return False
        if now - self._deadline > LATE_S and not self._rearmed:
            self._rearmed = True
            self._deadline = now + self._rearm_s
            return False
        return True
