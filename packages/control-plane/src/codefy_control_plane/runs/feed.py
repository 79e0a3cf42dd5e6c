"""The feed of a run: what is committed, to everyone who watches, with no gap and no repeat (V-4).

The stored log is the record. Each live run has a channel that keeps the newest committed rows within bounds; a
watcher takes what follows its cursors from there, or from the database when it is behind. So a slow watcher costs
nothing, and two watchers see the same list however often they come back.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

import msgspec

from codefy_control_plane.api.schemas import StoredEvent, StoredMetric

Row = TypeVar("Row")

RECENT_EVENTS = 1024
RECENT_EVENT_BYTES = 2 * 1024 * 1024
RECENT_METRICS = 4096
BATCH_ROWS = 1000
"""Rows of each kind in one batch at most."""


class FeedBatch(msgspec.Struct, kw_only=True):
    """What follows a watcher's cursors. ``ended`` is set on the last batch: everything of the run was given."""

    run_id: str
    events: list[StoredEvent]
    metrics: list[StoredMetric]
    metrics_cursor: int
    """Cursor of the last metric given so far."""
    ended: bool


class Page(msgspec.Struct, kw_only=True):
    """Rows after two cursors in one snapshot of the database, and whether that is all there will ever be."""

    events: list[StoredEvent]
    metrics: list[StoredMetric]
    metrics_cursor: int
    ended: bool


ReadPage = Callable[[str, int, int, int], Awaitable[Page]]
"""``(run_id, events after, metrics after, limit of each)``; a negative cursor leaves that kind out."""


class Broadcast:
    """Says that something changed, to any number of waiters, without keeping what."""

    def __init__(self) -> None:
        self._version = 0
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def version(self) -> int:
        """Counts the changes; take it before reading, and wait for more than it."""
        return self._version

    def notify(self) -> None:
        """Wake every waiter. Call it in the event loop."""
        self._version += 1
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self, seen: int) -> int:
        """Return the version once it is another than ``seen``, at once when it is already."""
        while self._version == seen:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            finally:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)
        return self._version


class _Recent(Generic[Row]):
    """The newest rows with consecutive cursors; forgets the oldest beyond its bounds."""

    def __init__(self, max_rows: int, max_size: int, size_of: Callable[[Row], int]) -> None:
        self._rows: deque[Row] = deque()
        self._max_rows = max_rows
        self._max_size = max_size
        self._size = 0
        self._size_of = size_of
        self.last = -1
        """Cursor of the newest committed row; -1 while unknown."""

    def extend(self, rows: Sequence[Row], total: int) -> None:
        """Add rows that end at cursor ``total``."""
        if total <= self.last:
            return
        if total - len(rows) != self.last:
            self._rows.clear()
            self._size = 0
        self.last = total
        self._rows.extend(rows)
        self._size += sum(map(self._size_of, rows))
        while self._rows and (len(self._rows) > self._max_rows or self._size > self._max_size):
            self._size -= self._size_of(self._rows.popleft())

    def skip_to(self, total: int) -> None:
        """Rows up to cursor ``total`` are committed and not kept."""
        if total > self.last:
            self.last = total
            self._rows.clear()
            self._size = 0

    def after(self, cursor: int, limit: int) -> list[Row] | None:
        """Rows after ``cursor``, or ``None`` when only the database can say."""
        start = len(self._rows) - (self.last - cursor)
        if self.last < 0 or start < 0:
            return None
        return [self._rows[index] for index in range(start, min(len(self._rows), start + limit))]


class Channel:
    """What is new of one run."""

    def __init__(self) -> None:
        self.changed = Broadcast()
        self.watchers = 0
        self.live = False
        self.ended = False
        self.events: _Recent[StoredEvent] = _Recent(RECENT_EVENTS, RECENT_EVENT_BYTES, _payload_size)
        self.metrics: _Recent[StoredMetric] = _Recent(RECENT_METRICS, RECENT_METRICS, _one)


def _payload_size(event: StoredEvent) -> int:
    return len(event.payload)


def _one(row: object) -> int:
    return 1


def _no_rows() -> tuple[()]:
    return ()


class Feed:
    """Channels of the runs that are live or watched."""

    def __init__(self, read_page: ReadPage) -> None:
        self._read_page = read_page
        self._channels: dict[str, Channel] = {}
        self._closed = False

    def publish(
        self,
        run_id: str,
        *,
        event_count: int,
        events: Callable[[], Sequence[StoredEvent]] = _no_rows,
        metric_count: int,
        metrics: Callable[[], Sequence[StoredMetric]] = _no_rows,
        ended: bool = False,
    ) -> None:
        """Hand on committed rows, with how many of each kind the run has now. Call it in the event loop, after the
        commit. Called out of order it costs watchers a read of the database, never a row. The rows are only made when
        someone watches."""
        channel = self._channels.get(run_id)
        if channel is None:
            if ended:
                return
            channel = self._channels[run_id] = Channel()
        if channel.watchers:
            channel.events.extend(events(), event_count)
            channel.metrics.extend(metrics(), metric_count)
        else:
            channel.events.skip_to(event_count)
            channel.metrics.skip_to(metric_count)
        channel.ended = channel.ended or ended
        channel.live = not channel.ended
        channel.changed.notify()
        self._drop_idle(run_id, channel)

    @contextmanager
    def watching(self, run_id: str) -> Generator[Channel]:
        """Keep the run's channel while someone waits for news of it."""
        channel = self._channels.setdefault(run_id, Channel())
        channel.watchers += 1
        try:
            yield channel
        finally:
            channel.watchers -= 1
            self._drop_idle(run_id, channel)

    def _drop_idle(self, run_id: str, channel: Channel) -> None:
        if not channel.watchers and not channel.live and self._channels.get(run_id) is channel:
            del self._channels[run_id]

    @property
    def closed(self) -> bool:
        """Whether the server stops: nothing new will come."""
        return self._closed

    async def subscribe(self, run_id: str, cursor: int, metrics_cursor: int = 0) -> AsyncIterator[FeedBatch]:
        """Everything after ``cursor`` and ``metrics_cursor``: what is stored, then what is committed from now on.

        The last batch has ``ended`` set. A negative ``metrics_cursor`` leaves metrics out. Close the iterator
        (``aclosing``) when leaving early. Without that batch the server is stopping.
        """
        with self.watching(run_id) as channel:
            while not self._closed:
                seen = channel.changed.version
                page = await self._next_page(run_id, channel, cursor, metrics_cursor)
                if page.events:
                    cursor = page.events[-1].cursor
                if page.metrics:
                    metrics_cursor = page.metrics_cursor
                if page.events or page.metrics or page.ended:
                    yield FeedBatch(
                        run_id=run_id,
                        events=page.events,
                        metrics=page.metrics,
                        metrics_cursor=metrics_cursor,
                        ended=page.ended,
                    )
                    if page.ended:
                        return
                else:
                    await channel.changed.wait(seen)

    async def _next_page(self, run_id: str, channel: Channel, cursor: int, metrics_cursor: int) -> Page:
        events = channel.events.after(cursor, BATCH_ROWS)
        metrics = [] if metrics_cursor < 0 else channel.metrics.after(metrics_cursor, BATCH_ROWS)
        if events is None or metrics is None:
            return await self._read_page(run_id, cursor, metrics_cursor, BATCH_ROWS)
        caught_up = cursor + len(events) == channel.events.last and (
            metrics_cursor < 0 or metrics_cursor + len(metrics) == channel.metrics.last
        )
        return Page(
            events=events,
            metrics=metrics,
            metrics_cursor=metrics_cursor + len(metrics),
            ended=channel.ended and caught_up,
        )

    def close(self) -> None:
        """End every subscription; used when the server stops."""
        self._closed = True
        for channel in self._channels.values():
            channel.changed.notify()
