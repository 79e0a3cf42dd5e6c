"""Traces of nodes that repeat themselves: what they hold, what bounds them, and that they change nothing (O-3)."""

from __future__ import annotations

import itertools
import math
from typing import Any

import msgspec
import pytest
import torch

from codefy_engine.execution import traces
from codefy_engine.execution.outputs import OutputStore
from codefy_engine.execution.state import ExecutionState
from codefy_engine.execution.traces import MAX_STEPS, StepTrace, facts_of
from codefy_engine.graph import Builder
from codefy_protocol.names import RunOptions

RECORD = RunOptions(record_outputs=True, seed=3)


def open_trace(room: int = 1 << 30) -> StepTrace:
    return StepTrace("n", "training", lambda: room)


def feed(trace: StepTrace, steps: int, first: int = 1) -> None:
    for step in range(first, first + steps):
        if trace.wanted(step, end=step == first + steps - 1):
            trace.add(step, {"x": torch.full((2,), float(step))})


# ---------------------------------------------------------------------- facts
def test_facts_are_those_of_torch() -> None:
    tensor = torch.tensor([[1.0, 0.0, -3.0], [2.0, 0.0, 6.0]])
    facts = facts_of(tensor, histogram=True)
    assert facts.mean == pytest.approx(float(tensor.mean()))
    assert facts.std == pytest.approx(float(tensor.std(correction=0)))
    assert (facts.min, facts.max, facts.count) == (-3.0, 6.0, 6)
    assert facts.zero == pytest.approx(2 / 6)
    assert facts.norm == pytest.approx(float(torch.linalg.vector_norm(tensor)))
    # 16 parts of -3 to 6.
    wanted = torch.histc(tensor, bins=16, min=-3, max=6)
    assert facts.histogram == wanted.int().tolist()


def test_facts_of_odd_tensors() -> None:
    facts = facts_of(torch.tensor([1.0, math.nan, math.inf, 3.0]), histogram=True)
    assert (facts.mean, facts.min, facts.max, facts.nonfinite) == (2.0, 1.0, 3.0, 2)
    assert sum(facts.histogram) == 2
    assert facts_of(torch.tensor([math.nan])).mean == "NaN"
    assert facts_of(torch.tensor([True, False, False])).zero == pytest.approx(2 / 3)
    assert facts_of(torch.zeros(5), histogram=True).histogram[0] == 5
    assert facts_of(torch.zeros(0)).count == 0
    assert facts_of(torch.ones(3, dtype=torch.bfloat16)).norm == pytest.approx(math.sqrt(3))


# ---------------------------------------------------------------------- bounds
@pytest.mark.parametrize("steps", [1, 5, MAX_STEPS, MAX_STEPS + 1, 3000, 20_001])
def test_both_ends_stay_and_the_number_of_steps_is_bounded(steps: int) -> None:
    trace = open_trace()
    feed(trace, steps, first=7)
    kept = [item.step for item in trace.read().steps]
    assert kept[0] == 7 and kept[-1] == 6 + steps
    assert kept == sorted(set(kept))
    assert min(steps, MAX_STEPS // 2) <= len(kept) <= MAX_STEPS + 1
    between = [after - before for before, after in itertools.pairwise(kept[:-1])]
    assert len(set(between)) <= 1
    assert all(item.values["x"].mean == item.step for item in trace.read().steps)


def test_a_trace_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "MAX_TRACE_BYTES", 20_000)
    trace = open_trace()
    feed(trace, 2000)
    kept = [item.step for item in trace.read().steps]
    assert trace.size <= 20_000
    assert kept[0] == 1 and kept[-1] == 2000 and len(kept) > 10


def test_only_so_many_layers_are_kept_and_the_rest_is_counted() -> None:
    trace = open_trace()
    trace.add(1, {f"l{number}": torch.ones(1) for number in range(300)})
    info = trace.info()
    assert (len(info.values), info.left_out) == (256, 44)


def test_traces_count_in_the_store_and_old_runs_go() -> None:
    store = OutputStore(max_bytes=60_000)
    for name in ("old", "new"):
        store.begin(name)
        trace = store.begin_trace(name, "n", "training")
        assert trace is not None
        feed(trace, 90)
        assert store.size <= 60_000
    assert store.runs() == ["new"]
    assert store.trace("new", "n").steps[-1].step == 90
    # A value that does not fit beside the trace is not taken.
    assert not store.capture("new", "v", {"y": torch.zeros(14_000)}, {"y": {"type": "tensor"}})
    # A trace that does not fit beside the values gets coarser.
    store.begin("full")
    store.capture("full", "v", {"y": torch.zeros(12_000)}, {"y": {"type": "tensor"}})
    trace = store.begin_trace("full", "n", "training")
    assert trace is not None
    feed(trace, 500)
    assert store.size <= 60_000
    kept = [item.step for item in store.trace("full", "n").steps]
    assert kept[0] == 1 and kept[-1] == 500 and len(kept) < 30


def test_a_run_has_so_many_traces_at_most() -> None:
    store = OutputStore()
    store.begin("r")
    made = [store.begin_trace("r", f"n{number}", "items") for number in range(70)]
    assert [item is not None for item in made] == [True] * 64 + [False] * 6
    assert store.begin_trace("gone", "n", "items") is None


def test_a_run_that_was_dropped_goes_on_without_keeping_anything() -> None:
    store = OutputStore()
    store.begin("r")
    trace = store.begin_trace("r", "n", "training")
    assert trace is not None
    store.drop("r")
    feed(trace, 10)
    assert trace.read().steps == []
    with pytest.raises(KeyError):
        store.traces("r")


def test_whole_gradients_are_bounded() -> None:
    trace = open_trace(room=10_000)
    trace.keep_gradients({"big": torch.zeros(10_000), "small": torch.ones(100), "next": torch.zeros(2000)})
    assert trace.info().whole_gradients == ["small", "next"]
    assert trace.size == 8400


# ---------------------------------------------------------------------- trainings
def training_graph(harness: Any, *nodes: Any, epochs: int = 3, **params: Any) -> Any:
    graph = Builder(registry=harness.registry(*nodes))
    data = graph.add("Blobs", "data", samples=60, classes=3)
    batched = graph.add("DataLoader", "loader", dataset=data, batch_size=20)
    inner = graph.subgraph("inner")
    inner.add("ModuleOutput", "out", x=inner.add("ReLU", "act", x=inner.add("ModuleInput", "in")))
    net = graph.subgraph("net")
    x = net.add("Linear", "hidden", x=net.add("ModuleInput", "in"), out_features=8)
    x = net.add("Submodule", "block", x=x, subgraph="inner")
    net.add("ModuleOutput", "out", x=net.add("Linear", "scores", x=x["y"], out_features=3))
    graph.add(
        "TrainingLoop",
        "train",
        train=batched,
        model=graph.add("Module", "model", subgraph="net"),
        optimizer=graph.add("AdamW", "adam"),
        epochs=epochs,
        **params,
    )
    return graph.build()


def recorded(harness: Any, document: Any, **fields: Any) -> tuple[OutputStore, Any, Any]:
    store = OutputStore()
    fields.setdefault("options", RECORD)
    outcome, kept = harness.execute(document, outputs=store, **fields)
    return store, outcome, kept


def test_a_training_tells_its_layers_and_gradients_step_by_step(harness: Any) -> None:
    store, outcome, _ = recorded(harness, training_graph(harness))
    assert outcome.status == "succeeded", outcome.error
    (info,) = store.traces("run-1")
    assert (info.node_id, info.kind, info.kept, info.first, info.last) == ("train", "training", 9, 1, 9)
    assert info.values == ["hidden", "block", "block/act", "scores"]
    parameters = ["hidden.weight", "hidden.bias", "scores.weight", "scores.bias"]
    assert info.gradients == info.whole_gradients == parameters
    trace = store.trace("run-1", "train")
    first = trace.steps[0]
    assert first.epoch == pytest.approx(1 / 3) and trace.steps[-1].epoch == 3.0
    assert first.values["block/act"].min == 0.0 and 0 < float(first.values["block/act"].zero) < 1
    assert first.values["hidden"].count == 20 * 8
    assert (
        first.gradients["hidden.weight"].count == 16 and sum(first.gradients["hidden.weight"].histogram) == 16
    )
    # The last gradient is the one of the last step.
    last = trace.steps[-1].gradients["scores.bias"]
    whole = store.gradient("run-1", "train", "scores.bias")
    assert whole.shape == [3]
    assert math.sqrt(sum(value**2 for value in whole.values)) == pytest.approx(last.norm, rel=1e-5)
    assert store.gradient_statistics("run-1", "train", "scores.bias").mean == pytest.approx(
        last.mean, abs=1e-6
    )
    part = store.trace("run-1", "train", names=["hidden", "scores.bias"], first=4, last=5)
    assert [(item.step, list(item.values), list(item.gradients)) for item in part.steps] == [
        (4, ["hidden"], ["scores.bias"]),
        (5, ["hidden"], ["scores.bias"]),
    ]
    assert msgspec.json.decode(msgspec.json.encode(trace), type=traces.Trace) == trace
    for missing in (("train", "nothing"), ("nobody", "scores.bias")):
        with pytest.raises(KeyError):
            store.gradient("run-1", *missing)


def test_recording_changes_no_number_and_without_it_nothing_is_looked_at(
    harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = training_graph(harness, accumulate=2)
    _, _, seen = recorded(harness, document)
    calls: list[Any] = []
    monkeypatch.setattr(
        "codefy_engine.training.tracing.moments", lambda tensor: calls.append(tensor) or tensor
    )
    _, _, plain = recorded(harness, document, options=RunOptions(seed=3))
    assert calls == []

    def losses(kept: Any) -> list[Any]:
        return [
            point["value"]
            for body in kept.metrics
            for point in body["points"]
            if point["name"] in ("loss", "train_loss")
        ]

    assert losses(seen) == losses(plain) != []


def test_gradients_are_told_only_when_the_optimizer_stepped(harness: Any) -> None:
    store, _, _ = recorded(harness, training_graph(harness, accumulate=2, epochs=2))
    told = {item.step: bool(item.gradients) for item in store.trace("run-1", "train").steps}
    # Three batches an epoch in groups of two: the third is a group of its own.
    assert told == {1: False, 2: True, 3: True, 4: False, 5: True, 6: True}


def test_a_training_that_fails_keeps_what_it_told(harness: Any) -> None:
    from codefy_engine.nodes.base import Node, NodeContext, node, output
    from codefy_engine.training.data import TensorDataset

    @node(type="Holes", title="Holes", category="tests", icon="x")
    class Holes(Node):
        """Samples of which the last are NaN."""

        dataset: Any = output("dataset")

        def run(self, ctx: NodeContext) -> Any:
            inputs = torch.ones(60, 2)
            inputs[40:] = math.nan
            return TensorDataset(inputs=inputs, targets=torch.arange(60) % 3)

    document = training_graph(harness, Holes, stop_on_nan=True)
    next(item for item in document.nodes if item.id == "data").type = "Holes"
    next(item for item in document.nodes if item.id == "data").data.params = {}
    next(item for item in document.nodes if item.id == "loader").data.params["shuffle"] = False
    store, outcome, _ = recorded(harness, document, nodes=[Holes])
    assert "the loss is nan at step 3" in outcome.error.message
    info = store.traces("run-1")[0]
    assert info.last == 3 and info.whole_gradients
    bad = store.trace("run-1", "train").steps[-1]
    assert bad.values["hidden"].nonfinite == bad.values["hidden"].count and bad.values["hidden"].mean == "NaN"


def test_a_reused_training_has_its_trace_in_the_new_run_too(harness: Any) -> None:
    document, state, store = training_graph(harness), ExecutionState(), OutputStore()
    for run_id in ("one", "two"):
        _, kept = harness.execute(document, state=state, outputs=store, options=RECORD, run_id=run_id)
    assert kept.last_status()["train"] == "reused"
    assert store.trace("two", "train") == store.trace("one", "train")


def test_a_map_tells_its_items(harness: Any) -> None:
    graph = Builder(registry=harness.registry())
    numbers = graph.add("ConstantValue", "c", kind="list", numbers=[1, 2, 3])
    graph.add("MapPreset", "map", items=numbers, preset="p")
    document = graph.build()
    document.presets["p"] = {
        "nodes": [{"id": "s", "type": "Sum", "data": {"params": {}}}],
        "edges": [],
        "inputs": [{"name": "item", "node": "s", "port": "a"}],
        "outputs": [{"name": "result", "node": "s", "port": "value"}],
    }
    store, outcome, _ = recorded(harness, document)
    assert outcome.status == "succeeded", outcome.error
    trace = store.trace("run-1", "map")
    assert trace.info.kind == "items"
    assert [(item.step, item.values["result"].mean) for item in trace.steps] == [(1, 1), (2, 2), (3, 3)]


def test_a_sampler_tells_how_the_pictures_come_out_of_the_noise(harness: Any) -> None:
    from codefy_engine.modules.denoising import DenoisingModule, NoiseSchedule
    from codefy_engine.nodes.base import Node, NodeContext, node, output

    schedule = NoiseSchedule.make("cosine", 8)

    class Guesser(DenoisingModule):
        def __init__(self) -> None:
            torch.nn.Module.__init__(self)
            self.schedule, self.sample_shapes, self.training = schedule, ((4,), ()), False

        def denoise(self, x: Any, steps: Any) -> Any:
            return torch.zeros_like(x)

    @node(type="Trained", title="Trained", category="tests", icon="x")
    class Trained(Node):
        """A model that guesses no noise."""

        model: Any = output("model")

        def run(self, ctx: NodeContext) -> Any:
            return Guesser()

    graph = Builder(registry=harness.registry(Trained))
    graph.add("DiffusionSampler", "draw", model=graph.add("Trained", "model"), count=2)
    store, outcome, _ = recorded(harness, graph.build(), nodes=[Trained])
    assert outcome.status == "succeeded", outcome.error
    trace = store.trace("run-1", "draw")
    assert trace.info.kind == "sampling"
    assert [item.step for item in trace.steps] == list(range(8))
    assert trace.steps[0].values["pictures"].count == 8


def test_facts_of_a_huge_tensor_are_those_of_evenly_spaced_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "_WHOLE", 100)
    tensor = torch.arange(1000.0)
    facts = facts_of(tensor, histogram=True)
    assert facts.count == 1000 and sum(facts.histogram) == 100
    assert facts.mean == pytest.approx(float(tensor[::10].mean()))
    assert (facts.min, facts.max) == (0.0, 990.0)
