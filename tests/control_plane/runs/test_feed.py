"""The feed: stored rows, then new ones, with no gap and no repeat, however slow the watcher is."""

from __future__ import annotations

import asyncio
import random
from contextlib import aclosing

import msgspec
import pytest

from codefy_control_plane.api.schemas import StoredEvent, StoredMetric
from codefy_control_plane.runs import feed as feed_module
from codefy_control_plane.runs.feed import Broadcast, Feed, FeedBatch, Page


class Ledger:
    """A run's committed rows, and the feed over them. Counts how often the feed reads them back."""

    def __init__(self) -> None:
        self.events: list[StoredEvent] = []
        self.metrics: list[StoredMetric] = []
        self.ended = False
        self.reads = 0
        self.feed = Feed(self.read)

    async def read(self, run_id: str, events_after: int, metrics_after: int, limit: int) -> Page:
        self.reads += 1
        # A snapshot is taken at once and arrives later, as from a thread.
        events = self.events[events_after : events_after + limit]
        metrics = [] if metrics_after < 0 else self.metrics[metrics_after : metrics_after + limit]
        done = events_after + len(events) == len(self.events) and (
            metrics_after < 0 or metrics_after + len(metrics) == len(self.metrics)
        )
        page = Page(
            events=events,
            metrics=metrics,
            metrics_cursor=metrics_after + len(metrics),
            ended=self.ended and done,
        )
        await asyncio.sleep(0)
        return page

    def commit(self, events: int = 0, metrics: int = 0, *, ended: bool = False, size: int = 2) -> None:
        new_events = [
            StoredEvent(cursor=len(self.events) + n, type="x", ts=0.0, payload=msgspec.Raw(b" " * size))
            for n in range(1, events + 1)
        ]
        new_metrics = [
            StoredMetric(name="loss", value=0.5, step=len(self.metrics) + n) for n in range(1, metrics + 1)
        ]
        self.events += new_events
        self.metrics += new_metrics
        self.ended = ended
        self.feed.publish(
            "r",
            event_count=len(self.events),
            events=lambda: new_events,
            metric_count=len(self.metrics),
            metrics=lambda: new_metrics,
            ended=ended,
        )


class Watcher:
    def __init__(self, ledger: Ledger, cursor: int = 0, metrics_cursor: int = 0) -> None:
        self.cursors: list[int] = []
        self.steps: list[int] = []
        self.batches: list[FeedBatch] = []
        self.pace = asyncio.Event()
        self.pace.set()
        self.task = asyncio.create_task(self._watch(ledger, cursor, metrics_cursor))

    async def _watch(self, ledger: Ledger, cursor: int, metrics_cursor: int) -> None:
        async with aclosing(ledger.feed.subscribe("r", cursor, metrics_cursor)) as feed:
            async for batch in feed:
                self.batches.append(batch)
                self.cursors += [event.cursor for event in batch.events]
                self.steps += [point.step for point in batch.metrics]
                await self.pace.wait()

    async def done(self) -> None:
        await asyncio.wait_for(self.task, 20)


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_replay_then_live() -> None:
    ledger = Ledger()
    ledger.commit(5, 2)
    watcher = Watcher(ledger)
    await settle()
    assert watcher.cursors == [1, 2, 3, 4, 5]
    ledger.commit(3, 1)
    ledger.commit(1, ended=True)
    await watcher.done()
    assert watcher.cursors == list(range(1, 10))
    assert watcher.steps == [1, 2, 3]
    assert watcher.batches[-1].ended
    assert [batch.ended for batch in watcher.batches].count(True) == 1
    assert watcher.batches[-1].metrics_cursor == 3


async def test_a_watcher_of_an_ended_run_gets_everything_once() -> None:
    ledger = Ledger()
    ledger.commit(2500, 10)
    ledger.commit(1, ended=True)
    watcher = Watcher(ledger, cursor=100, metrics_cursor=4)
    await watcher.done()
    assert watcher.cursors == list(range(101, 2502))
    assert watcher.steps == list(range(5, 11))
    assert not ledger.feed._channels


async def test_metrics_can_be_left_out() -> None:
    ledger = Ledger()
    ledger.commit(2, 500)
    watcher = Watcher(ledger, metrics_cursor=-1)
    await settle()
    ledger.commit(1, 7)
    ledger.commit(1, ended=True)
    await watcher.done()
    assert (watcher.cursors, watcher.steps) == ([1, 2, 3, 4], [])


async def test_a_watcher_that_keeps_up_costs_no_reads() -> None:
    ledger = Ledger()
    ledger.commit(1)
    watcher = Watcher(ledger)
    await settle()
    first = ledger.reads
    for _ in range(50):
        ledger.commit(2, 2)
        await settle()
    assert ledger.reads == first
    assert len(watcher.cursors) == 101
    ledger.commit(1, ended=True)
    await watcher.done()


async def test_a_slow_watcher_reads_back_what_the_channel_forgot() -> None:
    ledger = Ledger()
    ledger.commit(1)
    watcher = Watcher(ledger)
    await settle()
    watcher.pace.clear()
    for _ in range(20):
        ledger.commit(feed_module.RECENT_EVENTS // 4, feed_module.RECENT_METRICS // 4)
        await settle()
    before = ledger.reads
    channel = ledger.feed._channels["r"]
    assert len(channel.events._rows) <= feed_module.RECENT_EVENTS
    assert len(channel.metrics._rows) <= feed_module.RECENT_METRICS
    ledger.commit(1, ended=True)
    watcher.pace.set()
    await watcher.done()
    assert ledger.reads > before
    assert watcher.cursors == list(range(1, len(ledger.events) + 1))
    assert watcher.steps == list(range(1, len(ledger.metrics) + 1))


async def test_large_payloads_are_bounded_too() -> None:
    ledger = Ledger()
    ledger.commit(1)
    with ledger.feed.watching("r") as channel:
        for _ in range(40):
            ledger.commit(1, size=128 * 1024)
        held = sum(len(event.payload) for event in channel.events._rows)
        assert held <= feed_module.RECENT_EVENT_BYTES
        assert len(channel.events._rows) > 10


async def test_commits_told_out_of_order_lose_and_repeat_nothing() -> None:
    ledger = Ledger()
    ledger.commit(1)
    watcher = Watcher(ledger)
    await settle()
    held: list[dict[str, object]] = []
    publish = ledger.feed.publish

    def later(run_id: str, **rows: object) -> None:
        held.append(rows)

    ledger.feed.publish = later  # type: ignore[method-assign, assignment]
    ledger.commit(3, 2)
    ledger.commit(2, 2)
    ledger.feed.publish = publish  # type: ignore[method-assign]
    for rows in reversed(held):
        publish("r", **rows)  # type: ignore[arg-type]
        await settle()
    ledger.commit(1, ended=True)
    await watcher.done()
    assert watcher.cursors == list(range(1, 8))
    assert watcher.steps == [1, 2, 3, 4]


async def test_what_was_committed_while_nobody_watched_is_read_back() -> None:
    ledger = Ledger()
    ledger.commit(1)
    with ledger.feed.watching("r"):
        ledger.commit(10, 10)
    ledger.commit(4, 4)
    watcher = Watcher(ledger, cursor=8, metrics_cursor=5)
    await settle()
    assert watcher.cursors == list(range(9, 16))
    assert watcher.steps == list(range(6, 15))
    ledger.commit(1, ended=True)
    await watcher.done()
    assert watcher.cursors == list(range(9, 17))


async def test_a_hole_between_commits_is_read_back() -> None:
    ledger = Ledger()
    ledger.commit(1)
    with ledger.feed.watching("r"):
        ledger.commit(10, 10)
        publish = ledger.feed.publish
        ledger.feed.publish = lambda *_, **__: None  # type: ignore[method-assign]
        ledger.commit(3, 3)
        ledger.feed.publish = publish  # type: ignore[method-assign]
        ledger.commit(2, 2)
        watcher = Watcher(ledger, cursor=5, metrics_cursor=4)
        await settle()
    assert watcher.cursors == list(range(6, 17))
    assert watcher.steps == list(range(5, 16))
    ledger.commit(1, ended=True)
    await watcher.done()


@pytest.mark.parametrize("seed", range(20))
async def test_random_watchers_all_see_the_same_list(seed: int) -> None:
    rng = random.Random(seed)
    ledger = Ledger()
    watchers: list[tuple[int, int, Watcher]] = []

    def watch() -> None:
        cursor, metrics_cursor = rng.randint(0, len(ledger.events)), rng.randint(0, len(ledger.metrics))
        watchers.append((cursor, metrics_cursor, Watcher(ledger, cursor, metrics_cursor)))

    for _ in range(80):
        action = rng.random()
        if action < 0.15:
            watch()
        elif action < 0.3 and watchers:
            pace = rng.choice(watchers)[2].pace
            pace.clear() if pace.is_set() else pace.set()
        else:
            ledger.commit(rng.randint(0, 400), rng.randint(0, 1500))
        if rng.random() < 0.7:
            await settle()
    ledger.commit(1, ended=True)
    watch()
    for cursor, metrics_cursor, watcher in watchers:
        watcher.pace.set()
        await watcher.done()
        assert watcher.cursors == list(range(cursor + 1, len(ledger.events) + 1))
        assert watcher.steps == list(range(metrics_cursor + 1, len(ledger.metrics) + 1))
        assert watcher.batches[-1].ended
    assert not ledger.feed._channels


async def test_closing_ends_subscriptions_without_an_end() -> None:
    ledger = Ledger()
    ledger.commit(1)
    watcher = Watcher(ledger)
    await settle()
    ledger.feed.close()
    await watcher.done()
    assert not any(batch.ended for batch in watcher.batches)


async def test_leaving_early_forgets_the_channel() -> None:
    ledger = Ledger()
    watcher = Watcher(ledger)
    await settle()
    assert "r" in ledger.feed._channels
    watcher.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watcher.task
    assert not ledger.feed._channels


async def test_a_broadcast_wakes_every_waiter_and_misses_nothing() -> None:
    broadcast = Broadcast()
    seen = broadcast.version
    broadcast.notify()
    assert await broadcast.wait(seen) == seen + 1  # already passed
    waiting = [asyncio.create_task(broadcast.wait(broadcast.version)) for _ in range(3)]
    gone = asyncio.create_task(broadcast.wait(broadcast.version))
    await settle()
    gone.cancel()
    await settle()
    broadcast.notify()
    assert await asyncio.gather(*waiting) == [seen + 2] * 3
    assert not broadcast._waiters
