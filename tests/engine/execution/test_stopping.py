"""A stop takes effect within one batch or one item, whatever a node is doing, and nothing goes on after it (G-4)."""

from __future__ import annotations

import csv
import functools
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from codefy_engine.graph import Builder
from codefy_engine.nodes.base import Node, NodeContext, RunStopped, input, node, output
from codefy_engine.training import fitting
from codefy_engine.training.data import TensorDataset


class Tripwire:
    """Asks for a stop at the ``at``-th call, and counts those that come all the same."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.calls = 0
        self.stop = threading.Event()

    def touch(self) -> None:
        self.calls += 1
        if self.calls == self.at:
            self.stop.set()


WIRE = Tripwire(0)


@pytest.fixture
def wire() -> Tripwire:
    global WIRE
    WIRE = Tripwire(3)
    return WIRE


class Wired(nn.Module):
    """Scores ``[n, 3]``; touches the wire in training, in evaluation, or in both."""

    def __init__(self, when: str) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 3)
        self.when = when

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.when in ("both", "train" if self.training else "eval"):
            WIRE.touch()
        return self.linear(x)


def data(count: int = 2000) -> TensorDataset:
    generator = torch.Generator().manual_seed(0)
    return TensorDataset(
        inputs=torch.randn(count, 2, generator=generator), targets=torch.arange(count, dtype=torch.int64) % 3
    )


@node(type="Given", title="Given", category="tests", icon="x")
class Given(Node):
    """A data set, its tensor, and models that touch the wire."""

    dataset: Any = output("dataset")
    tensor: Any = output("tensor")
    learning: Any = output("model")
    judged: Any = output("model")

    def run(self, ctx: NodeContext) -> Any:
        return {
            "dataset": data(),
            "tensor": data().inputs,
            "learning": Wired("train"),
            "judged": Wired("eval"),
        }


def stopped(harness: Any, wire: Tripwire, draw: Any, *nodes: Any) -> Any:
    """Execute what ``draw`` makes of a builder, which touches the wire: cancelled, nothing is left."""
    graph = Builder(registry=harness.registry(Given, *nodes))
    draw(graph)
    outcome, kept = harness.execute(graph.build(), nodes=(Given, *nodes), stop=wire.stop)
    assert outcome.status == "cancelled", outcome.error
    assert "cancelled" in kept.last_status().values()
    assert not [item for item in threading.enumerate() if item.name.startswith("codefy-run")]
    return kept


@pytest.mark.parametrize(("model", "part"), [("learning", "training"), ("judged", "validation")])
def test_training_and_its_validation(harness: Any, wire: Tripwire, model: str, part: str) -> None:
    def draw(graph: Any) -> None:
        given = graph.add("Given", "given")
        graph.add(
            "TrainingLoop",
            "train",
            train=given["dataset"],
            validation=given["dataset"],
            model=given[model],
            optimizer=graph.add("SGD", "sgd"),
        )

    kept = stopped(harness, wire, draw)
    # The batch that was being learned is the last one.
    assert wire.calls == 3
    (checkpoint,) = kept.artifacts
    assert checkpoint["meta"]["step"] == (3 if part == "training" else 32)


@pytest.mark.parametrize("kind", ["Evaluate", "Predict"])
def test_evaluation_and_prediction(harness: Any, wire: Tripwire, kind: str) -> None:
    def draw(graph: Any) -> None:
        given = graph.add("Given", "given")
        graph.add(kind, "judge", data=given["dataset"], model=given["judged"])

    stopped(harness, wire, draw)
    assert wire.calls == 3


def test_applying_a_model(harness: Any, wire: Tripwire) -> None:
    def draw(graph: Any) -> None:
        given = graph.add("Given", "given")
        graph.add("ApplyModel", "apply", x=given["tensor"], model=given["judged"])

    stopped(harness, wire, draw)
    assert wire.calls == 3


@node(type="Touch", title="Touch", category="tests", icon="x")
class Touch(Node):
    """Touch the wire."""

    x: Any = input("value")
    y: Any = output("value")

    def run(self, ctx: NodeContext) -> Any:
        WIRE.touch()
        return self.x


def test_a_map_and_what_is_in_it(harness: Any, wire: Tripwire) -> None:
    graph = Builder(registry=harness.registry(Touch))
    numbers = graph.add("ConstantValue", "c", kind="list", numbers=[1, 2, 3, 4, 5])
    graph.add("MapPreset", "map", items=numbers, preset="p")
    document = graph.build()
    document.presets["p"] = {
        "nodes": [{"id": name, "type": "Touch", "data": {"params": {}}} for name in "ab"],
        "edges": [{"source": "a", "sourceHandle": "y", "target": "b", "targetHandle": "x"}],
        "inputs": [{"name": "item", "node": "a", "port": "x"}],
        "outputs": [{"name": "result", "node": "b", "port": "y"}],
    }
    outcome, kept = harness.execute(document, nodes=[Touch], stop=wire.stop)
    assert outcome.status == "cancelled"
    # Two nodes of the first item, and one of the second.
    assert wire.calls == 3
    assert kept.payloads("inner_node_status")[-1] == {
        "node_id": "map",
        "path": ["item 2", "a"],
        "status": "succeeded",
        "duration_s": kept.payloads("inner_node_status")[-1]["duration_s"],
    }
    assert kept.last_status()["map"] == "cancelled"


def test_a_node_in_a_map_that_is_stopped_is_told_so(harness: Any, wire: Tripwire) -> None:
    @node(type="Patient", title="Patient", category="tests", icon="x")
    class Patient(Node):
        """Wait until the stop."""

        x: Any = input("value")
        y: Any = output("value")

        def run(self, ctx: NodeContext) -> Any:
            while True:
                WIRE.touch()
                ctx.check_stop()

    graph = Builder(registry=harness.registry(Patient))
    graph.add("MapPreset", "map", items=graph.add("ConstantValue", "c", kind="list", numbers=[1]), preset="p")
    document = graph.build()
    document.presets["p"] = {
        "nodes": [{"id": "w", "type": "Patient", "data": {"params": {}}}],
        "edges": [],
        "inputs": [{"name": "item", "node": "w", "port": "x"}],
        "outputs": [{"name": "result", "node": "w", "port": "y"}],
    }
    outcome, kept = harness.execute(document, nodes=[Patient], stop=wire.stop)
    assert outcome.status == "cancelled" and wire.calls == 3
    assert [item["status"] for item in kept.payloads("inner_node_status")] == ["running", "cancelled"]


def test_sampling_pictures(harness: Any, wire: Tripwire) -> None:
    from codefy_engine.modules.denoising import DenoisingModule, NoiseSchedule

    class Guesser(DenoisingModule):
        def __init__(self) -> None:
            nn.Module.__init__(self)
            self.schedule, self.sample_shapes, self.training = (
                NoiseSchedule.make("cosine", 50),
                ((4,),),
                False,
            )

        def denoise(self, x: Any, steps: Any) -> Any:
            WIRE.touch()
            return torch.zeros_like(x)

    @node(type="Trained", title="Trained", category="tests", icon="x")
    class Trained(Node):
        """A model that guesses no noise."""

        model: Any = output("model")

        def run(self, ctx: NodeContext) -> Any:
            return Guesser()

    stopped(
        harness, wire, lambda graph: graph.add("DiffusionSampler", "d", model=graph.add("Trained")), Trained
    )
    assert wire.calls == 3


def test_sampling_text(harness: Any, wire: Tripwire) -> None:
    class Talker:
        def next_probabilities(self, context: Any) -> torch.Tensor:
            WIRE.touch()
            return torch.ones(3, dtype=torch.float64) / 3

    @node(type="Talk", title="Talk", category="tests", icon="x")
    class Talk(Node):
        """A model of three tokens."""

        model: Any = output("model")

        def run(self, ctx: NodeContext) -> Any:
            return Talker()

    def draw(graph: Any) -> None:
        words = graph.add(
            "CharTokenizer", "t", text=graph.add("ConstantValue", "text", kind="text", text="ab")
        )
        graph.add("GenerateText", "g", model=graph.add("Talk"), tokenizer=words["tokenizer"])

    stopped(harness, wire, draw, Talk)
    assert wire.calls == 3


def test_counting_tokens(harness: Any, wire: Tripwire, monkeypatch: pytest.MonkeyPatch) -> None:
    from codefy_engine.modules import language

    original = language.NGramModel.next_probabilities

    def watched(self: Any, context: Any) -> Any:
        WIRE.touch()
        return original(self, context)

    monkeypatch.setattr(language.NGramModel, "next_probabilities", watched)

    def draw(graph: Any) -> None:
        words = graph.add(
            "CharTokenizer", "t", text=graph.add("ConstantValue", "text", kind="text", text="abcd" * 500)
        )
        graph.add("NGramModel", "n", tokens=words["tokens"], tokenizer=words["tokenizer"])

    stopped(harness, wire, draw)
    assert wire.calls <= 256


# ---------------------------------------------------------------------- files
def test_reading_pictures_and_tables_and_texts(
    harness: Any, wire: Tripwire, monkeypatch: pytest.MonkeyPatch
) -> None:
    from PIL import Image

    from codefy_engine.training import pictures, tables

    folder = harness.folder / "files"
    (folder / "p/a").mkdir(parents=True)
    for number in range(6):
        Image.new("L", (2, 2)).save(folder / f"p/a/{number}.png")
    (folder / "t.csv").write_text("a,b\n" + "1,2\n" * 9000)
    (folder / "t.txt").write_text("x" * 9000)
    load, reader = pictures.load_image, csv.reader

    def watched_load(*args: Any, **kwargs: Any) -> Any:
        WIRE.touch()
        return load(*args, **kwargs)

    class Rows:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.rows = reader(*args, **kwargs)

        line_num = 0

        def __iter__(self) -> Any:
            for row in self.rows:
                WIRE.touch()
                yield row

    monkeypatch.setattr(pictures, "load_image", watched_load)
    stopped(harness, wire, lambda graph: graph.add("ImageFolder", "i", folder="p"))
    assert wire.calls == 3

    monkeypatch.setattr(csv, "reader", Rows)
    wire.__init__(1500)  # type: ignore[misc]
    stopped(harness, wire, lambda graph: graph.add("CsvDataset", "c", file="t.csv"))
    assert wire.calls <= 2001

    monkeypatch.setattr(tables, "_READ_AT_ONCE", 1000)
    wire.__init__(3)  # type: ignore[misc]
    read = tables.read_text

    def watched_read(file: Any, limit: Any, check_stop: Any) -> str:
        def check() -> None:
            WIRE.touch()
            check_stop()

        return read(file, limit, check)

    monkeypatch.setattr(tables, "read_text", watched_read)
    stopped(harness, wire, lambda graph: graph.add("TextFile", "t", file="t.txt"))
    assert wire.calls == 3


def test_writing_pictures_and_tables(harness: Any, wire: Tripwire, monkeypatch: pytest.MonkeyPatch) -> None:
    from codefy_engine.training import pictures, writing

    @node(type="Images", title="Images", category="tests", icon="x")
    class Images(Node):
        """Images."""

        y: Any = output("tensor")

        def run(self, ctx: NodeContext) -> Any:
            return torch.rand(20, 1, 4, 4)

    original = pictures.png_bytes

    def watched(image: Any) -> bytes:
        WIRE.touch()
        return original(image)

    monkeypatch.setattr(writing, "png_bytes", watched)
    stopped(harness, wire, lambda graph: graph.add("SaveImages", "s", images=graph.add("Images")), Images)
    assert wire.calls == 3 and len(list((harness.folder / "files/images").iterdir())) == 3

    wire.__init__(1)  # type: ignore[misc]
    monkeypatch.setattr(writing, "table_of", lambda value: (wire.touch(), (["a"], [[1]] * 5000))[1])
    stopped(harness, wire, lambda graph: graph.add("SaveCsv", "s", value=graph.add("Images")), Images)
    # A file is whole or not there.
    assert not (harness.folder / "files/tables/table.csv").exists()


# ---------------------------------------------------------------------- scikit-learn
def estimators() -> list[Any]:
    from sklearn.cluster import DBSCAN, KMeans
    from sklearn.decomposition import PCA
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.manifold import TSNE
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    return [
        *(SVC(), LogisticRegression(), GaussianNB(), KNeighborsClassifier(), DecisionTreeClassifier()),
        *(RandomForestClassifier(), GradientBoostingClassifier(), MLPClassifier((32,), max_iter=300)),
        *(LinearRegression(), KMeans(3), DBSCAN(), PCA(2), TSNE()),
    ]


class Watching:
    """What a fit asks: stops at the ``at``-th look."""

    def __init__(self, at: int = 10**9) -> None:
        self.left = at

    @property
    def stopped(self) -> bool:
        self.left -= 1
        return self.left < 0

    def check_stop(self) -> None:
        if self.stopped:
            raise RunStopped


def test_small_fits_stay_here_and_large_ones_go_apart() -> None:
    small, large = np.zeros((150, 4)), np.broadcast_to(0.0, (60_000, 784))
    for estimator in estimators():
        name = type(estimator).__name__
        assert fitting.seconds_of(estimator, small) <= fitting.APART_FROM_S, name
        if name not in ("GaussianNB", "KNeighborsClassifier"):
            assert fitting.seconds_of(estimator, large) > fitting.APART_FROM_S, name


def test_fits_that_may_take_long_are_taken_for_long_ones() -> None:
    from sklearn.manifold import TSNE
    from sklearn.svm import SVC

    thousands = np.zeros((3000, 2))
    for estimator in (SVC(), SVC(C=100.0), TSNE(), TSNE(4, method="exact")):
        assert fitting.seconds_of(estimator, thousands) > fitting.APART_FROM_S, estimator
    assert fitting.seconds_of(SVC(C=10_000.0), np.zeros((300, 2))) > fitting.APART_FROM_S
    assert fitting.seconds_of(SVC(), np.zeros((1000, 20))) <= fitting.APART_FROM_S


def test_a_fit_apart_gives_what_one_here_gives() -> None:
    import pickle

    from codefy_engine.training.estimators import convergence_ignored
    from codefy_engine.training.fit_process import answer_to

    x, y = data(60).inputs.double().numpy(), data(60).targets.numpy()
    for estimator in estimators():
        if hasattr(estimator, "random_state"):
            estimator.set_params(random_state=0)
        unsupervised = type(estimator).__name__ in ("KMeans", "DBSCAN", "PCA", "TSNE")
        method, given = ("fit_transform", (x,)) if hasattr(estimator, "fit_transform") else ("fit", (x,))
        if not unsupervised:
            method, given = "fit", (x, y)
        well, fitted, result = pickle.loads(answer_to(pickle.dumps((estimator, method, given))))
        assert well, fitted
        mine = convergence_ignored(functools.partial(getattr(estimator, method), *given))
        if hasattr(fitted, "predict"):
            np.testing.assert_allclose(fitted.predict(x), estimator.predict(x))
        elif result is not None:
            np.testing.assert_allclose(result, mine, rtol=1e-5)


@pytest.mark.integration
def test_a_fit_runs_in_a_process_of_its_own_and_ends_with_the_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.svm import SVC

    monkeypatch.setattr(fitting, "APART_FROM_S", -1.0)
    started: list[Any] = []
    original = subprocess.Popen

    def watched(*args: Any, **kwargs: Any) -> Any:
        started.append(original(*args, **kwargs))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", watched)
    x, y = data(60).inputs.numpy(), data(60).targets.numpy()
    fitted, result = fitting.fit(Watching(), SVC(), x, y)
    assert result is None
    np.testing.assert_allclose(fitted.predict(x), SVC().fit(x, y).predict(x))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fitting.fit(Watching(), SVC(), x, y[:-1])
    # One that would take minutes; the stop comes while it goes on.
    many = np.random.default_rng(0).normal(size=(20_000, 50))
    with pytest.raises(RunStopped):
        fitting.fit(Watching(3), SVC(C=1e6), many, np.arange(20_000) % 2)
    assert len(started) == 3
    assert all(process.poll() is not None for process in started)


@pytest.mark.integration
def test_a_fit_ends_when_the_process_that_started_it_is_gone(tmp_path: Path) -> None:
    import pickle
    import sys

    from sklearn.svm import SVC

    many = np.random.default_rng(0).normal(size=(20_000, 50))
    call = pickle.dumps((SVC(C=1e6), "fit", (many, np.arange(20_000) % 2)))
    (tmp_path / "call.pickle").write_bytes(call)
    process = subprocess.Popen(
        [sys.executable, "-m", "codefy_engine.training.fit_process", os.fspath(tmp_path)],
        stdin=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(60) == 1
    assert not (tmp_path / "result.pickle").exists()


def test_a_clustering_node_stops_too(harness: Any, wire: Tripwire, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every node of scikit-learn fits through the same door."""
    seen: list[str] = []

    def door(watcher: Any, estimator: Any, *others: Any, **options: Any) -> Any:
        seen.append(type(estimator).__name__)
        raise RunStopped

    from codefy_engine.training import estimators as fitted
    from codefy_engine.training import structure

    monkeypatch.setattr(structure, "fit", door)
    monkeypatch.setattr(fitted, "fit", door)
    classical = ["SupportVectorMachine", "DecisionTree", "RandomForest", "GradientBoosting", "SklearnMLP"]
    classical += ["LogisticRegression", "NearestNeighbours", "NaiveBayes", "PCA", "TSNE", "KMeans", "DBSCAN"]
    for kind in classical:
        wire.__init__(1)  # type: ignore[misc]

        def draw(graph: Any, kind: str = kind) -> None:
            given = graph.add("Given", "given")["dataset"]
            port = "data" if kind in ("PCA", "TSNE", "KMeans", "DBSCAN") else "train"
            graph.add(kind, "fit", **{port: given})

        stopped(harness, wire, draw)
    assert len(seen) == len(classical)
