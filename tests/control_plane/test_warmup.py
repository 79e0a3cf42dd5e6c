"""After the server is ready: what the first run needs is loaded in a quiet moment, and once."""

from __future__ import annotations

import asyncio
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from codefy_control_plane import warmup
from codefy_control_plane.warmup import Activity, WarmUp
from codefy_engine.nodes.catalog import Catalog
from codefy_engine.nodes.registry import Registry


class Imports:
    """Stands for torch's import, which goes on until it is told to end."""

    def __init__(self) -> None:
        self.count = 0
        self.end = threading.Event()
        self.done = threading.Event()

    def __call__(self) -> None:
        self.count += 1
        self.end.wait(30)
        self.done.set()


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Imports:
    imports = Imports()
    monkeypatch.setattr(warmup, "preload_torch", imports)
    return imports


async def test_it_loads_nodes_then_torch_and_tells_when_it_is_at_work(torch: Imports) -> None:
    loads: list[None] = []

    def load() -> Registry:
        loads.append(None)
        return Registry(())

    registry = Registry.lazy(Catalog(definitions=[], hashes={}, catalog_hash=""), load)
    warm_up = WarmUp(registry, Activity())
    assert not warm_up.importing
    await warm_up.run(quiet_s=0)
    assert warm_up.importing
    torch.end.set()
    assert await asyncio.to_thread(torch.done.wait, 30)
    assert (len(loads), torch.count) == (1, 1)
    while warm_up.importing:
        await asyncio.sleep(0)


async def test_it_waits_until_no_request_comes_but_not_for_ever(
    torch: Imports, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.end.set()
    now = 100.0
    requests = [0.3, 0.2, 0.4]
    """Seconds after which the next one comes."""

    async def sleep(seconds: float) -> None:
        nonlocal now
        if requests and requests[0] < seconds:
            now += requests.pop(0)
            activity.last = now
        else:
            now += seconds

    monkeypatch.setattr(
        warmup, "time", SimpleNamespace(monotonic=lambda: now, perf_counter=time.perf_counter)
    )
    monkeypatch.setattr(warmup, "asyncio", SimpleNamespace(sleep=sleep))
    activity = Activity()
    await WarmUp(Registry(()), activity).run(quiet_s=0.5, latest_s=10)
    assert now == pytest.approx(100 + 0.3 + 0.2 + 0.4 + 0.5)
    # A page that asks all the time.
    activity.last = now
    requests += [0.1] * 1000
    started = now
    await WarmUp(Registry(()), activity).run(quiet_s=0.5, latest_s=10)
    assert 10 <= now - started < 10.2


async def test_a_request_counts_when_it_comes_and_when_it_is_answered() -> None:
    activity = Activity()
    seen: list[float] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(activity.last)
        activity.last = 0.0
        raise OSError

    activity.last = 0.0
    with pytest.raises(OSError):
        await activity.watched(app)({"type": "http"}, None, None)  # type: ignore[arg-type]
    assert seen[0] > 0 and activity.last > 0


async def test_what_cannot_be_loaded_is_for_the_run_to_tell(
    torch: Imports, caplog: pytest.LogCaptureFixture
) -> None:
    def load() -> Registry:
        raise ImportError("no such library")

    registry = Registry.lazy(Catalog(definitions=[], hashes={}, catalog_hash=""), load)
    warm_up = WarmUp(registry, Activity())
    await warm_up.run(quiet_s=0)
    while warm_up.importing:
        await asyncio.sleep(0)
    assert "no such library" in caplog.text and torch.count == 0
    with pytest.raises(ImportError):
        registry.get("Print")
