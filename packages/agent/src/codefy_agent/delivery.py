"""The delivery of one attempt's records: what is spooled, sent and acknowledged, and what may be sent next (F-6)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from enum import Enum

import msgspec


class SessionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Times in seconds, sizes in bytes."""

    backoff_first_s: float = 0.5
    backoff_max_s: float = 30.0
    steady_after_s: float = 5.0
    """A connection that lived this long after its welcome starts the back-off anew."""
    welcome_timeout_s: float = 20.0
    missed_heartbeats: int = 3
    window_frames: int = 4096
    window_bytes: int = 4 * 1024 * 1024
    turn_frames: int = 256
    turn_bytes: int = 128 * 1024
    """What one attempt may send before the next has its turn."""
    write_bytes: int = 256 * 1024
    """What one call of ``writable`` may answer, so that control frames never wait long."""
    stop_flush_s: float = 5.0
    """How long a stopping agent waits for the acknowledgement of what its runs left."""
    tombstones: int = 4096


class RestoredAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that was found in the spool of an agent process before this one (D-8)."""

    run_id: str
    attempt: int
    acked_seq: int
    """What was truncated: records from ``acked_seq + 1`` on are in the spool."""
    sizes: tuple[int, ...]
    """Bytes of each record in the spool."""
    ended: bool
    """Whether the last one is ``run_finished``."""


class Phase(Enum):
    """Of an attempt. Tombstones are kept apart, they hold nothing but a seq."""

    RUNNING = "running"
    ORPHANED = "orphaned"
    REFUSED = "refused"
    """A ``FinishAttempt`` is on its way to the spool."""
    ENDED = "ended"


class HeldAttempt:
    """Seq counters of one attempt: acked ≤ sent ≤ last < next."""

    def __init__(self, phase: Phase, acked: int = 0, sizes: Iterable[int] = ()) -> None:
        self.phase = phase
        self.acked = acked
        self.sent = acked
        """Highest seq handed out for sending on this connection."""
        self.sizes = deque(sizes)
        """Bytes of the records ``acked + 1 … last``."""
        self.last = acked + len(self.sizes)
        self.next = self.last + 1
        self.flying_bytes = 0
        """Bytes of ``acked + 1 … sent``."""
        self.cancel_grace: float | None = None
        self.assign_grace = 0.0

    def recorded(self, seq: int) -> bool:
        """Everything up to ``seq`` is durable at the other end. Returns whether that is news."""
        seq = min(seq, self.last)
        if seq <= self.acked:
            return False
        for number in range(self.acked + 1, seq + 1):
            size = self.sizes.popleft()
            if number <= self.sent:
                self.flying_bytes -= size
        self.acked = seq
        self.sent = max(self.sent, seq)
        return True

    def rewind(self) -> None:
        """A new connection: everything unacknowledged is to be sent again."""
        self.sent = self.acked
        self.flying_bytes = 0

    def take_turn(self, settings: SessionSettings, byte_limit: int) -> tuple[int, int, int] | None:
        """The next records to send within window and turn: first seq, last seq, bytes."""
        first = self.sent + 1
        taken = 0
        index = self.sent - self.acked
        while (
            self.sent < self.last
            and index < settings.window_frames
            and self.sent - first + 1 < settings.turn_frames
        ):
            size = self.sizes[index]
            if index and self.flying_bytes + size > settings.window_bytes:
                break
            if taken and taken + size > byte_limit:
                break
            self.sent += 1
            index += 1
            taken += size
            self.flying_bytes += size
        return (first, self.sent, taken) if self.sent >= first else None

    @property
    def delivered(self) -> bool:
        return self.phase is Phase.ENDED and self.acked == self.last

    def may_send(self, settings: SessionSettings) -> bool:
        """Whether a turn would send something."""
        index = self.sent - self.acked
        if self.sent >= self.last or index >= settings.window_frames:
            return False
        return index == 0 or self.flying_bytes + self.sizes[index] <= settings.window_bytes
