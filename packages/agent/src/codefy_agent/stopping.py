"""How a run is made to end (P-3), without I/O: asked, terminated, killed, with the clock passed in."""

from __future__ import annotations

from enum import Enum

KILL_AFTER_S = 5.0


class Stage(Enum):
    """Each is entered once, in this order."""

    RUNNING = "running"
    ASKED = "asked"
    """It was told through its pipe and may end by itself."""
    TERMINATED = "terminated"
    KILLED = "killed"


class Escalation:
    """Decides when to terminate and when to kill. The caller carries out what ``due`` answers."""

    def __init__(self) -> None:
        self.stage = Stage.RUNNING
        self._deadline: float | None = None

    @property
    def deadline(self) -> float | None:
        """When ``due`` is to be called next."""
        return self._deadline

    def ask(self, grace_s: float, now: float) -> bool:
        """A stop is wanted within ``grace_s``; a later call can only shorten it. ``True`` when the run is to be told."""
        if self.stage in (Stage.TERMINATED, Stage.KILLED):
            return False
        deadline = now + max(grace_s, 0.0)
        if self._deadline is None or deadline < self._deadline:
            self._deadline = deadline
        first = self.stage is Stage.RUNNING
        self.stage = Stage.ASKED
        return first

    def kill(self) -> None:
        """It is to end at once, without being asked."""
        self.stage = Stage.KILLED
        self._deadline = None

    def due(self, now: float) -> Stage | None:
        """The stage that begins now, if any."""
        if self._deadline is None or now < self._deadline:
            return None
        if self.stage is Stage.ASKED:
            self.stage = Stage.TERMINATED
            self._deadline = now + KILL_AFTER_S
        else:
            self.stage = Stage.KILLED
            self._deadline = None
        return self.stage
