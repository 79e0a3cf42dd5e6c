"""Captured outputs: a bounded store, and what the inspector reads of it (O-3)."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from codefy_engine.execution.outputs import OutputStore, slice_of, statistics_of
from codefy_engine.graph import Builder
from codefy_protocol.names import RunOptions


def test_outputs_are_kept_only_when_asked_for(harness: Any) -> None:
    graph = Builder(registry=harness.registry())
    graph.add("Sum", "s", a=graph.add("Constant", "c", number=2))
    store = OutputStore()
    harness.execute(graph.build(), outputs=store)
    assert store.runs() == []
    harness.execute(graph.build(), outputs=store, options=RunOptions(record_outputs=True))
    index = store.index("run-1")
    assert [(item.node_id, item.port, item.type) for item in index] == [
        ("c", "value", "value"),
        ("s", "value", "value"),
    ]
    assert store.value("run-1", "s", "value") == 2
    store.drop("run-1")
    with pytest.raises(KeyError):
        store.index("run-1")


def _fill(store: OutputStore, run_id: str, count: int) -> bool:
    store.begin(run_id)
    return store.capture(run_id, "n", {"y": torch.zeros(count)}, {"y": {"type": "tensor"}})


def test_the_store_is_bounded_in_runs_and_bytes_and_never_drops_the_newest() -> None:
    store = OutputStore(max_bytes=10_000, max_runs=3)
    for number in range(5):
        _fill(store, f"r{number}", 10)
    assert store.runs() == ["r2", "r3", "r4"]
    assert _fill(store, "r5", 2000)
    assert store.size <= 10_000
    assert store.runs()[-1] == "r5"
    assert not _fill(store, "r6", 4000)
    assert store.runs()[-1] == "r6" and store.index("r6") == []
    assert not store.capture("gone", "n", {"y": 1}, {"y": {}})


def test_a_kept_tensor_holds_no_graph_of_gradients() -> None:
    store = OutputStore()
    store.begin("r")
    weights = torch.ones(2, requires_grad=True)
    store.capture("r", "n", {"y": weights * 2}, {"y": {"type": "tensor"}})
    assert store.value("r", "n", "y").grad_fn is None


def test_slices() -> None:
    tensor = torch.arange(2 * 3 * 100 * 200, dtype=torch.float32).reshape(2, 3, 100, 200)
    part = slice_of(tensor, index=[1, 2], start=[98, 198], size=[5, 5])
    assert part.shape == [2, 3, 100, 200] and part.dtype == "float32"
    assert part.values == tensor[1, 2, 98:, 198:].tolist()
    whole = slice_of(tensor, size=[1000, 1000])
    assert len(whole.values) * len(whole.values[0]) <= 4096
    with pytest.raises(IndexError, match="dimension 0, which has 2"):
        slice_of(tensor, index=[2])
    assert slice_of(torch.tensor(3)).values == 3
    assert slice_of(torch.tensor([1.0, math.nan, math.inf])).values == [1.0, "NaN", "Infinity"]
    assert slice_of(torch.tensor([True, False])).values == [True, False]
    assert slice_of("hello").text == "hello"
    assert slice_of({"accuracy": 0.5}).text == "accuracy 0.5"


def test_statistics_are_those_of_torch_and_computed_once() -> None:
    tensor = torch.tensor([[1.0, 2.0, math.nan], [0.0, -3.0, math.inf]])
    facts = statistics_of(tensor)
    finite = torch.tensor([1.0, 2.0, 0.0, -3.0], dtype=torch.float64)
    assert (facts.count, facts.finite, facts.nan, facts.infinite, facts.zero) == (6, 4, 1, 1, 1)
    assert facts.mean == pytest.approx(float(finite.mean()))
    assert facts.std == pytest.approx(float(finite.std(correction=0)))
    assert (facts.min, facts.max) == (-3.0, 2.0)
    assert sum(facts.histogram) == 4
    assert statistics_of(torch.tensor([math.nan])).mean == "NaN"
    assert sum(statistics_of(torch.zeros(5, dtype=torch.int64)).histogram) == 5
    with pytest.raises(TypeError):
        statistics_of("text")
    store = OutputStore()
    store.begin("r")
    store.capture("r", "n", {"y": tensor}, {"y": {"type": "tensor"}})
    assert store.statistics("r", "n", "y") is store.statistics("r", "n", "y")
