"""Steps run once each, after what they need, on no more threads than allowed."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codefy_engine.execution.schedule import Schedule


@settings(max_examples=60)
@given(
    st.integers(1, 14),
    st.lists(st.tuples(st.integers(0, 13), st.integers(0, 13)), max_size=30),
    st.integers(1, 4),
)
def test_every_step_runs_once_after_what_it_needs(
    count: int, pairs: list[tuple[int, int]], limit: int
) -> None:
    edges = sorted({(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1] and max(pair) < count})
    targets: list[list[int]] = [[] for _ in range(count)]
    needs = [0] * count
    for source, target in edges:
        targets[source].append(target)
        needs[target] += 1
    lock = threading.Lock()
    done: list[int] = []
    running = 0
    most = 0

    def work(step: int) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            assert all(source in done for source, target in edges if target == step)
        with lock:
            running -= 1
            done.append(step)

    Schedule(needs, targets, work).run(limit, "steps")
    assert sorted(done) == list(range(count))
    assert most <= limit
    if limit == 1:
        assert done == list(range(count))


def test_nothing_to_do() -> None:
    Schedule([], [], lambda step: None).run(4, "none")


@pytest.mark.parametrize("limit", [1, 3])
def test_an_error_of_a_step_is_raised_and_no_thread_is_left(limit: int) -> None:
    started: list[int] = []

    def work(step: int) -> None:
        started.append(step)
        raise KeyError(step)

    with pytest.raises(KeyError):
        Schedule([0] * 50, [[]] * 50, work).run(limit, "broken-steps")
    assert 1 <= len(started) <= limit
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("broken-steps")]
