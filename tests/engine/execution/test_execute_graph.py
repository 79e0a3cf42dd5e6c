"""Executing a graph: order, values, failures, stops (G-4)."""

from __future__ import annotations

import sys
import threading
import types
import weakref
from typing import Any

import pytest

from codefy_engine.execution.context import current_run_id
from codefy_engine.execution.errors import is_out_of_memory
from codefy_engine.graph import Builder
from codefy_engine.nodes.base import Node, NodeContext, NodeError, RunStopped, input, node, output
from codefy_protocol.names import RunOptions

WAIT_S = 30
"""A bound on what should take milliseconds: a test that hangs is to fail."""


_make_class = type


def _node(
    type: str, run: Any, *, inputs: tuple[str, ...] = (), outputs: tuple[str, ...] = ("value",)
) -> type[Node]:
    body: dict[str, Any] = {"__doc__": "Doc.", "__module__": __name__, "run": run}
    body |= {name: input("any", required=False) for name in inputs}
    body |= {name: output("any") for name in outputs}
    return node(type=type, title=type, category="flow", icon="x")(_make_class(type, (Node,), body))


def test_values_flow_and_events_are_in_document_order(harness: Any, one_at_a_time: None) -> None:
    seen: list[Any] = []
    sink = _node("Sink", lambda self, ctx: seen.append(self.x), inputs=("x",), outputs=())
    graph = Builder(registry=harness.registry(sink))
    two = graph.add("Constant", "two", number=2)
    total = graph.add("Sum", "sum", a=two, b=graph.add("Pair", "pair")["value"])
    graph.add("Sink", "sink", x=total)
    graph.add("Constant", "alone")
    outcome, kept = harness.execute(graph.build(), nodes=[sink])
    assert (outcome.status, outcome.error) == ("succeeded", None)
    assert seen == [4.0]
    assert kept.statuses() == [
        (node_id, status)
        for node_id in ("two", "pair", "sum", "sink", "alone")
        for status in ("running", "succeeded")
    ]
    done = [item for item in kept.payloads("node_status") if item["status"] == "succeeded"]
    assert all(item["duration_s"] >= 0 for item in done)
    assert done[0]["outputs"] == {"value": {"type": "value", "summary": "2", "value": 2.0}}
    assert done[1]["outputs"]["metrics"]["values"] == {"accuracy": 0.5}
    assert "outputs" not in done[3] or done[3]["outputs"] == {}


def test_nothing_runs_when_the_graph_has_problems(harness: Any) -> None:
    graph = Builder(registry=harness.registry())
    graph.add("Sum", "s")
    graph.add("Constant", "c", number=1000)
    outcome, kept = harness.execute(graph.build())
    assert outcome.status == "failed"
    assert outcome.error is not None and outcome.error.code == "invalid_graph"
    assert [problem["code"] for problem in outcome.error.problems or []] == ["param_invalid", "input_missing"]
    assert kept.events == []


def test_a_failure_names_its_node_and_skips_the_rest(harness: Any, one_at_a_time: None) -> None:
    graph = Builder(registry=harness.registry())
    bad = graph.add("Fail", "bad", value=graph.add("Constant", "first")).labelled("Adder")
    graph.add("Sum", "after", a=bad)
    graph.add("Constant", "alone")
    outcome, kept = harness.execute(graph.build())
    assert outcome.status == "failed"
    error = outcome.error
    assert error is not None
    assert (error.code, error.node_id) == ("node_failed", "bad")
    assert error.message == "bad (Adder) failed: ValueError: the numbers do not add up"
    assert kept.last_status() == {
        "first": "succeeded",
        "bad": "failed",
        "after": "skipped",
        "alone": "skipped",
    }
    (failed,) = [item for item in kept.payloads("node_status") if item["status"] == "failed"]
    assert failed["error"]["message"] == error.message


def test_with_continue_what_does_not_depend_on_the_failure_goes_on(harness: Any, one_at_a_time: None) -> None:
    graph = Builder(registry=harness.registry())
    bad = graph.add("Fail", "bad")
    graph.add("Sum", "after", a=bad)
    graph.add("Constant", "alone")
    outcome, kept = harness.execute(graph.build(), options=RunOptions(error_mode="continue"))
    assert outcome.status == "failed"
    assert kept.last_status() == {"bad": "failed", "after": "skipped", "alone": "succeeded"}


def test_the_traceback_shows_the_users_code_only(harness: Any) -> None:
    graph = Builder(registry=harness.registry())
    graph.add("Fail", "bad")
    outcome, _ = harness.execute(graph.build())
    trace = outcome.error.traceback
    assert 'raise ValueError("the numbers do not add up")' in trace
    assert trace.rstrip().endswith("ValueError: the numbers do not add up")
    assert "execution/run.py" not in trace and "schedule.py" not in trace


def test_library_frames_are_left_out_of_a_traceback(harness: Any) -> None:
    def run(self: Node, ctx: NodeContext) -> None:
        import statistics

        try:
            statistics.mean([])
        except statistics.StatisticsError as error:
            raise LookupError("nothing to look at") from error

    outcome, _ = harness.execute(_single(harness, _node("Lib", run)), nodes=[_node("Lib", run)])
    trace = outcome.error.traceback
    assert "StatisticsError" in trace and "which led to" in trace
    assert trace.index("StatisticsError") < trace.index("LookupError")
    assert trace.count("statistics.py") == 1  # the place it was raised, and no frame between


def _single(harness: Any, cls: type[Node], **fields: Any) -> Any:
    graph = Builder(registry=harness.registry(cls))
    graph.add(cls.spec.definition.type, "only", **fields)
    return graph.build()


def test_an_error_that_the_user_can_put_right_has_no_traceback(harness: Any) -> None:
    def run(self: Node, ctx: NodeContext) -> None:
        raise NodeError("the data set has one class only")

    cls = _node("Picky", run)
    outcome, _ = harness.execute(_single(harness, cls), nodes=[cls])
    assert outcome.error.message == "only (Picky) failed: the data set has one class only"
    assert outcome.error.traceback is None


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit(), BaseException("odd")])
def test_whatever_a_node_raises_fails_the_run_and_nothing_else(harness: Any, error: BaseException) -> None:
    def run(self: Node, ctx: NodeContext) -> None:
        raise error

    cls = _node("Odd", run)
    outcome, _ = harness.execute(_single(harness, cls), nodes=[cls])
    assert outcome.status == "failed"
    assert type(error).__name__ in outcome.error.message


class _Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


@pytest.mark.parametrize("error", [_Mute(), ValueError("odd \ud800 text"), NodeError("odd \udc80 text")])
def test_an_exception_without_usable_words_still_fails_its_node(harness: Any, error: Exception) -> None:
    def run(self: Node, ctx: NodeContext) -> None:
        raise error

    cls = _node("Odd", run)
    outcome, kept = harness.execute(_single(harness, cls), nodes=[cls])
    assert (outcome.status, outcome.error.code, outcome.error.node_id) == ("failed", "node_failed", "only")
    assert kept.last_status() == {"only": "failed"}
    assert "_Mute" in outcome.error.message or "\\ud" in outcome.error.message


def test_ctrl_c_that_a_node_raises_itself_is_its_failure(harness: Any) -> None:
    def run(self: Node, ctx: NodeContext) -> None:
        raise KeyboardInterrupt

    cls = _node("Odd", run)
    ended: list[Any] = []
    worker = threading.Thread(
        target=lambda: ended.append(harness.execute(_single(harness, cls), nodes=[cls]))
    )
    worker.start()
    worker.join(10)
    ((outcome, kept),) = ended
    assert (outcome.status, outcome.error.node_id) == ("failed", "only")
    assert kept.last_status() == {"only": "failed"}


def test_a_failure_while_torch_is_being_imported(harness: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    assert not is_out_of_memory(ValueError("x"))
    assert is_out_of_memory(MemoryError())


def test_no_memory_is_an_error_of_its_own(harness: Any) -> None:
    def run(self: Node, ctx: NodeContext) -> None:
        raise MemoryError

    cls = _node("Hungry", run)
    outcome, _ = harness.execute(_single(harness, cls), nodes=[cls])
    assert outcome.error.code == "out_of_memory"
    assert outcome.error.message == "only (Hungry) ran out of memory on cpu: MemoryError"


def test_torchs_own_out_of_memory_is_recognised(harness: Any) -> None:
    import torch

    def run(self: Node, ctx: NodeContext) -> None:
        torch.empty(1 << 62, dtype=torch.uint8)

    cls = _node("Huge", run)
    outcome, _ = harness.execute(_single(harness, cls), nodes=[cls])
    assert outcome.error.code == "out_of_memory"

    def run_cuda(self: Node, ctx: NodeContext) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    cls = _node("HugeCuda", run_cuda)
    outcome, _ = harness.execute(_single(harness, cls), nodes=[cls])
    assert outcome.error.code == "out_of_memory"


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (3, "returned a int; it declares the outputs a, b"),
        ({"a": 1}, "returned a dict with a; it declares the outputs a, b"),
    ],
)
def test_a_wrong_return_value_is_the_nodes_failure(harness: Any, result: Any, words: str) -> None:
    cls = _node("Two", lambda self, ctx: result, outputs=("a", "b"))
    outcome, _ = harness.execute(_single(harness, cls), nodes=[cls])
    assert words in outcome.error.message


def test_a_single_output_is_the_value_or_a_dict_by_port(harness: Any) -> None:
    seen: list[Any] = []
    one = _node("One", lambda self, ctx: {"value": 5})
    plain = _node("Plain", lambda self, ctx: {"other": 5})
    sink = _node("Sink", lambda self, ctx: seen.append(self.x), inputs=("x",), outputs=())
    graph = Builder(registry=harness.registry(one, plain, sink))
    graph.add("Sink", "s1", x=graph.add("One"))
    graph.add("Sink", "s2", x=graph.add("Plain"))
    harness.execute(graph.build(), nodes=[one, plain, sink])
    assert sorted(map(str, seen)) == ["5", "{'other': 5}"]


# ---------------------------------------------------------------------- stops


def test_a_stop_before_the_start_runs_nothing(harness: Any) -> None:
    stop = threading.Event()
    stop.set()
    graph = Builder(registry=harness.registry())
    graph.add("Sum", "after", a=graph.add("Constant", "one"))
    outcome, kept = harness.execute(graph.build(), stop=stop)
    assert outcome.status == "cancelled"
    assert kept.statuses() == [("one", "skipped"), ("after", "skipped")]


def test_a_stop_reaches_a_running_node(harness: Any) -> None:
    stop = threading.Event()

    def run(self: Node, ctx: NodeContext) -> None:
        assert not ctx.stopped
        ctx.check_stop()
        stop.set()
        assert ctx.stopped
        ctx.check_stop()

    cls = _node("Long", run)
    graph = Builder(registry=harness.registry(cls))
    graph.add("Sum", "after", a=graph.add("Long", "long"))
    outcome, kept = harness.execute(graph.build(), nodes=[cls], stop=stop)
    assert (outcome.status, outcome.error) == ("cancelled", None)
    assert kept.statuses() == [("long", "running"), ("long", "cancelled"), ("after", "skipped")]


def test_a_stop_after_the_last_node_changes_nothing(harness: Any) -> None:
    stop = threading.Event()

    def run(self: Node, ctx: NodeContext) -> int:
        stop.set()
        return 1

    cls = _node("Last", run)
    outcome, kept = harness.execute(_single(harness, cls), nodes=[cls], stop=stop)
    assert outcome.status == "succeeded"
    assert kept.last_status() == {"only": "succeeded"}


def test_a_failure_stops_what_runs_beside_it(harness: Any) -> None:
    started = threading.Event()

    def wait(self: Node, ctx: NodeContext) -> None:
        started.set()
        for _ in range(WAIT_S * 100):
            if ctx.stopped:
                raise RunStopped
            threading.Event().wait(0.01)
        raise AssertionError("was not stopped")

    def fail(self: Node, ctx: NodeContext) -> None:
        assert started.wait(WAIT_S)
        raise ValueError("no")

    nodes = [_node("Waits", wait), _node("Fails", fail)]
    graph = Builder(registry=harness.registry(*nodes))
    graph.add("Waits", "waits")
    graph.add("Fails", "fails")
    outcome, kept = harness.execute(graph.build(), nodes=nodes)
    assert outcome.status == "failed"
    assert outcome.error.node_id == "fails"
    assert kept.last_status() == {"waits": "cancelled", "fails": "failed"}


# ---------------------------------------------------------------------- side by side


def test_independent_nodes_run_side_by_side_up_to_the_bound(
    harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEFY_EXECUTION_PARALLEL_NODES", "3")
    lock = threading.Lock()
    running, most = 0, 0
    together = threading.Barrier(3)

    def run(self: Node, ctx: NodeContext) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait(WAIT_S)
        with lock:
            running -= 1

    cls = _node("Meets", run)
    graph = Builder(registry=harness.registry(cls))
    for _ in range(9):
        graph.add("Meets")
    outcome, _ = harness.execute(graph.build(), nodes=[cls])
    assert outcome.status == "succeeded", outcome.error
    assert most == 3


def test_a_chain_stays_in_one_thread(harness: Any) -> None:
    threads: set[int] = set()
    cls = _node("Where", lambda self, ctx: threads.add(threading.get_ident()), inputs=("x",))
    graph = Builder(registry=harness.registry(cls))
    last = graph.add("Where")
    for _ in range(20):
        last = graph.add("Where", x=last)
    harness.execute(graph.build(), nodes=[cls])
    assert threads == {threading.get_ident()}


def test_a_slow_node_holds_up_nobody_else(harness: Any) -> None:
    """A chain beside a slow node is done before it; the slow one waits for the chain's end."""
    end = threading.Event()

    def slow(self: Node, ctx: NodeContext) -> None:
        assert end.wait(WAIT_S), "the chain did not go on beside the slow node"

    nodes = [
        _node("Slow", slow),
        _node("Link", lambda self, ctx: None, inputs=("x",)),
        _node("End", lambda self, ctx: end.set(), inputs=("x",)),
    ]
    graph = Builder(registry=harness.registry(*nodes))
    graph.add("Slow", "slow")
    graph.add("End", x=graph.add("Link", x=graph.add("Link")))
    outcome, _ = harness.execute(graph.build(), nodes=nodes)
    assert outcome.status == "succeeded", outcome.error


def test_no_thread_is_left_behind(harness: Any) -> None:
    graph = Builder(registry=harness.registry())
    for _ in range(12):
        graph.add("Constant")
    harness.execute(graph.build(), run_id="leftover")
    assert not [thread for thread in threading.enumerate() if "leftover" in thread.name]


def test_helper_threads_know_their_run(harness: Any) -> None:
    together = threading.Barrier(2)
    seen: list[tuple[int, str | None]] = []

    def run(self: Node, ctx: NodeContext) -> None:
        together.wait(WAIT_S)
        seen.append((threading.get_ident(), current_run_id.get()))

    cls = _node("Who", run)
    graph = Builder(registry=harness.registry(cls))
    graph.add("Who")
    graph.add("Who")
    harness.execute(graph.build(), nodes=[cls], run_id="mine")
    assert {run_id for _, run_id in seen} == {"mine"}
    assert len({thread for thread, _ in seen}) == 2
    assert current_run_id.get() is None


def test_an_output_lives_until_its_last_reader(harness: Any, one_at_a_time: None) -> None:
    class Big:
        pass

    alive: list[bool] = []
    reference: list[weakref.ref[Big]] = []

    def make(self: Node, ctx: NodeContext) -> Big:
        big = Big()
        reference.append(weakref.ref(big))
        return big

    nodes = [
        _node("Make", make),
        _node("Read", lambda self, ctx: None, inputs=("x",)),
        _node("Look", lambda self, ctx: alive.append(reference[0]() is not None)),
    ]
    graph = Builder(registry=harness.registry(*nodes))
    made = graph.add("Make")
    graph.add("Read", x=made)
    graph.add("Look")
    graph.add("Read", x=made)
    graph.add("Look")
    outcome, _ = harness.execute(graph.build(), nodes=nodes)
    assert outcome.status == "succeeded", outcome.error
    assert alive == [True, False]


# ---------------------------------------------------------------------- settings of a run


def test_a_seed_makes_runs_equal(harness: Any) -> None:
    import random

    import numpy as np
    import torch

    drawn: list[tuple[float | None, ...]] = []

    def run(self: Node, ctx: NodeContext) -> None:
        drawn.append((random.random(), float(np.random.random()), float(torch.rand(1)), ctx.seed))

    cls = _node("Draw", run)
    graph = _single(harness, cls)
    graph.settings.seed = 5
    harness.execute(graph, nodes=[cls])
    harness.execute(graph, nodes=[cls])
    harness.execute(graph, nodes=[cls], options=RunOptions(seed=6))
    assert drawn[0] == drawn[1]
    assert drawn[0][3] == 5
    assert drawn[2][3] == 6
    assert not set(drawn[2]) & set(drawn[0])


def test_deterministic_is_set_for_the_run_only(harness: Any) -> None:
    import torch

    seen: list[tuple[bool, bool]] = []
    cls = _node(
        "Asks",
        lambda self, ctx: seen.append((ctx.deterministic, torch.are_deterministic_algorithms_enabled())),
    )
    harness.execute(_single(harness, cls), nodes=[cls], options=RunOptions(deterministic=True))
    assert seen == [(True, True)]
    assert not torch.are_deterministic_algorithms_enabled()


def test_a_device_that_is_not_there_is_replaced_with_a_warning(harness: Any) -> None:
    devices: list[str] = []
    cls = _node("Where", lambda self, ctx: devices.append(ctx.device))
    outcome, kept = harness.execute(_single(harness, cls), nodes=[cls], device="cuda:97")
    assert outcome.status == "succeeded"
    assert devices == ["cpu"]
    (warning,) = kept.warnings
    assert warning["code"] == "device_fallback"
    assert warning["params"] == {"wanted": "cuda:97", "used": "cpu"}


def test_a_failure_of_the_engine_is_an_outcome(harness: Any) -> None:
    outcome, _ = harness.execute(_single(harness, _node("N", lambda self, ctx: None)), device="toaster")
    assert outcome.status == "failed"
    assert outcome.error is not None


def test_sinks_that_fail_end_the_run(harness: Any, new_kept: Any) -> None:
    from dataclasses import replace

    from codefy_engine.execution.executor import execute_graph

    def broken(kind: str, ts: float, body: bytes) -> None:
        raise OSError("no room")

    graph = Builder(registry=harness.registry())
    for _ in range(6):
        graph.add("Constant")
    request = harness.request(graph.build(), new_kept())
    outcome = execute_graph(replace(request, sinks=replace(request.sinks, emit=broken)))
    assert outcome.error is not None
    assert outcome.error.code == "engine_error"
    assert outcome.error.message == "The engine failed outside of any node: OSError: no room"


@pytest.mark.parametrize(("value", "count"), [("2", 2), ("1", 1), ("0", 4), ("-3", 4), ("many", 4), ("", 4)])
def test_the_bound_comes_from_the_environment(value: str, count: int) -> None:
    from codefy_engine.execution.run import parallel_nodes

    assert parallel_nodes({"CODEFY_EXECUTION_PARALLEL_NODES": value}) == count
    assert parallel_nodes({}) == 4
