"""Captured outputs: a bounded store, and what the inspector reads of it (O-3)."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

from codefy_engine.execution.output_pictures import PictureFacts, picture_facts, picture_png
from codefy_engine.execution.outputs import OutputStore, slice_of, statistics_of
from codefy_engine.graph import Builder
from codefy_engine.graph.document import parse_graph
from codefy_engine.graph.plan import Source
from codefy_engine.training.data import TensorDataset
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
    # Not all three fit: the oldest goes, and no more than needed.
    assert _fill(store, "r5", 2300)
    assert store.size <= 10_000
    assert store.runs() == ["r4", "r5"]
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


def test_odd_arrays_are_shown_in_words_and_without_secrets() -> None:
    sparse = torch.eye(3).to_sparse()
    assert slice_of(sparse).values is None and "[3, 3]" in slice_of(sparse).text
    with pytest.raises(TypeError):
        statistics_of(sparse)
    words = np.array(["a key: hunter2", "nothing"])
    hidden = slice_of(words, redact=lambda text: text.replace("hunter2", "[secret pin]"))
    assert hidden.values == ["a key: [secret pin]", "nothing"]
    with pytest.raises(TypeError):
        statistics_of(words)
    numbers = torch.tensor([4711, 5])
    assert slice_of(numbers, redact=lambda text: text.replace("4711", "[secret pin]")).values == [
        "[secret pin]",
        5,
    ]


def test_the_sources_of_inputs_are_kept_also_through_presets(harness: Any) -> None:
    preset = {
        "nodes": [
            {"id": "sum", "type": "Sum", "position": {"x": 0, "y": 0}, "data": {"params": {}}},
        ],
        "edges": [],
        "inputs": [{"name": "left", "node": "sum", "port": "a"}],
        "outputs": [{"name": "total", "node": "sum", "port": "value"}],
    }
    document = {
        "format_version": 1,
        "nodes": [
            {"id": "c", "type": "Constant", "position": {"x": 0, "y": 0}, "data": {"params": {"number": 2}}},
            {
                "id": "box",
                "type": "Preset",
                "position": {"x": 0, "y": 0},
                "data": {"params": {"preset": "twice"}},
            },
            {"id": "end", "type": "Sum", "position": {"x": 0, "y": 0}, "data": {"params": {}}},
        ],
        "edges": [
            {"id": "1", "source": "c", "sourceHandle": "value", "target": "box", "targetHandle": "left"},
            {"id": "2", "source": "box", "sourceHandle": "total", "target": "end", "targetHandle": "a"},
        ],
        "presets": {"twice": preset},
    }
    store = OutputStore()
    outcome, _ = harness.execute(
        parse_graph(msgspec.json.encode(document)),
        outputs=store,
        options=RunOptions(record_outputs=True),
    )
    assert outcome.status == "succeeded", outcome.error
    wiring = store.wiring("run-1")
    assert wiring.inputs == {
        "box/sum": {"a": Source("c", "value")},
        "box": {"left": Source("c", "value")},
        "end": {"a": Source("box/sum", "value")},
    }
    assert wiring.outputs == {"box": {"total": Source("box/sum", "value")}}
    assert store.about("run-1", "box/sum", "value").facts["value"] == 2


def _pixels(png: bytes) -> tuple[tuple[int, int], list[int]]:
    from io import BytesIO

    from PIL import Image

    with Image.open(BytesIO(png)) as picture:
        return picture.size, list(picture.tobytes())


def test_pictures_of_values() -> None:
    matrix = torch.tensor([[-1.0, 0.0, 1.0], [1.0, math.nan, -1.0]])
    assert picture_facts(matrix) == PictureFacts(width=3, height=2, channels=1)
    assert _pixels(picture_png(matrix)) == ((3, 2), [0, 128, 255, 255, 0, 0])
    batch = torch.rand(5, 3, 8, 6)
    assert picture_facts(batch) == PictureFacts(width=6, height=8, channels=3, leading=[5])
    size, pixels = _pixels(picture_png(batch, [4]))
    assert size == (6, 8)
    assert pixels == (batch[4].permute(1, 2, 0) * 255).round().to(torch.uint8).flatten().tolist()
    with pytest.raises(IndexError, match="dimension 0, which has 5"):
        picture_png(batch, [5])
    last = np.arange(2 * 2 * 3, dtype=np.uint8).reshape(2, 2, 3)
    assert picture_facts(last) == PictureFacts(width=2, height=2, channels=3)
    assert _pixels(picture_png(last))[1] == last.flatten().tolist()
    assert _pixels(picture_png(torch.rand(5000, 10)))[0] == (2, 1000)
    for none in ("text", torch.zeros(3), torch.zeros(0, 3), torch.zeros(2, 2, dtype=torch.complex64)):
        assert picture_facts(none) is None
        with pytest.raises(TypeError):
            picture_png(none)


def test_a_dataset_is_looked_at_by_its_samples() -> None:
    images = torch.rand(5, 1, 2, 3)
    data = TensorDataset(inputs=images, targets=torch.zeros(5, dtype=torch.int64))
    part = slice_of(data, index=[4, 0])
    assert (part.shape, part.values) == ([5, 1, 2, 3], images[4, 0].tolist())
    assert part.text.startswith("5 samples")
    assert statistics_of(data).mean == pytest.approx(float(images.mean()))
    assert picture_facts(data) == PictureFacts(width=3, height=2, channels=1, leading=[5])
    assert picture_png(data, [4]) == picture_png(images, [4])


def test_a_value_whose_attributes_raise_is_shown_in_words() -> None:
    class Moody:
        def __getattr__(self, name: str) -> Any:
            if name in ("inputs", "shape"):
                raise RuntimeError(name)
            raise AttributeError(name)

    assert slice_of(Moody()).text == "Moody (RuntimeError when looked at)"
    assert picture_facts(Moody()) is None
