"""The executor of this process: a thread per run, and an event loop that goes on meanwhile."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from codefy_engine.execution.executor import InProcessExecutor
from codefy_engine.graph import Builder
from codefy_engine.nodes.base import Node, NodeContext, node

WAIT_S = 30


@node(type="Holds", title="Holds", category="flow", icon="pause")
class Holds(Node):
    """Wait for a stop."""

    entered = threading.Event()
    release = threading.Event()

    def run(self, ctx: NodeContext) -> None:
        Holds.entered.set()
        while not ctx.stopped:
            Holds.release.wait(0.01)
        ctx.check_stop()


@pytest.fixture(autouse=True)
def _fresh() -> None:
    Holds.entered, Holds.release = threading.Event(), threading.Event()


def _graph(harness: Any, *types: str) -> Any:
    graph = Builder(registry=harness.registry(Holds))
    for type in types:
        graph.add(type)
    return graph.build()


async def test_it_runs_in_a_thread_of_its_own_while_the_loop_goes_on(harness: Any, new_kept: Any) -> None:
    kept = new_kept()
    stop = threading.Event()
    request = harness.request(_graph(harness, "Holds"), kept, nodes=[Holds], stop=stop, run_id="held")
    run = asyncio.create_task(InProcessExecutor().run(request))
    assert await asyncio.to_thread(Holds.entered.wait, WAIT_S)
    assert [thread.daemon for thread in threading.enumerate() if thread.name == "codefy-run-held"] == [True]
    assert not run.done()
    stop.set()
    outcome = await asyncio.wait_for(run, WAIT_S)
    assert outcome.status == "cancelled"
    assert kept.statuses() == [("holds", "running"), ("holds", "cancelled")]


async def test_several_runs_at_once(harness: Any, new_kept: Any) -> None:
    executor = InProcessExecutor()
    kept = [new_kept() for _ in range(4)]
    outcomes = await asyncio.gather(
        *(
            executor.run(harness.request(_graph(harness, "Constant", "Fail"), each, run_id=f"r{index}"))
            for index, each in enumerate(kept)
        )
    )
    assert [outcome.status for outcome in outcomes] == ["failed"] * 4
    assert all(each.last_status()["fail"] == "failed" for each in kept)


async def test_a_cancelled_call_asks_the_run_to_stop(harness: Any, new_kept: Any) -> None:
    stop = threading.Event()
    request = harness.request(_graph(harness, "Holds"), new_kept(), nodes=[Holds], stop=stop, run_id="left")
    run = asyncio.create_task(InProcessExecutor().run(request))
    assert await asyncio.to_thread(Holds.entered.wait, WAIT_S)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert stop.is_set()
    for thread in threading.enumerate():
        if thread.name == "codefy-run-left":
            await asyncio.to_thread(thread.join, WAIT_S)
            assert not thread.is_alive()


def test_a_loop_that_closed_while_a_stop_was_ignored_is_no_error(harness: Any, new_kept: Any) -> None:
    """Warnings are errors here: an unhandled exception in the thread would fail this test."""
    entered, release = threading.Event(), threading.Event()

    @node(type="Ignores", title="Ignores", category="flow", icon="pause")
    class Ignores(Node):
        """Never look at the stop."""

        def run(self, ctx: NodeContext) -> None:
            entered.set()
            assert release.wait(WAIT_S)

    graph = Builder(registry=harness.registry(Ignores))
    graph.add("Ignores")
    kept = new_kept()
    request = harness.request(graph.build(), kept, nodes=[Ignores], run_id="late")
    loop = asyncio.new_event_loop()
    task = loop.create_task(InProcessExecutor().run(request))
    loop.run_until_complete(loop.run_in_executor(None, entered.wait, WAIT_S))
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "codefy-run-late"]
    task.cancel()
    loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    release.set()
    thread.join(WAIT_S)
    assert not thread.is_alive()
    assert kept.last_status() == {"ignores": "succeeded"}
