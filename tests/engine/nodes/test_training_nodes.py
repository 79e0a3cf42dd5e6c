"""The nodes of a training, run by the executor in small graphs."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import sklearn.metrics
import torch
from torch import nn

from codefy_engine.execution.executor import execute_graph
from codefy_engine.graph import Builder
from codefy_engine.nodes.base import Node, NodeContext, input, node, output


def iris(
    *, seed: int | None = 0, epochs: int = 3, loss: str | None = None, optimizer: str = "Adam", **train: Any
) -> Builder:
    """Iris through a small network; node ids are the lower-case types."""
    graph = Builder("iris", seed=seed)
    net = graph.subgraph("net")
    x = net.add("Linear", "hidden", x=net.add("ModuleInput", "input"), out_features=16)
    x = net.add("Linear", "scores", x=net.add("ReLU", "relu", x=x), out_features=3)
    net.add("ModuleOutput", "output", x=x)
    split = graph.add(
        "TrainTestSplit",
        "split",
        dataset=graph.add("SklearnDataset", "data", name="iris"),
        test_fraction=0.2,
        validation_fraction=0.2,
        standardize=True,
    )
    wires: dict[str, Any] = {} if loss is None else {"loss": graph.add(loss, "loss")}
    loop = graph.add(
        "TrainingLoop",
        "train",
        train=graph.add("DataLoader", "loader", dataset=split["train"], batch_size=16),
        validation=split["validation"],
        model=graph.add("Module", "model", subgraph="net"),
        optimizer=graph.add(optimizer, "optimizer", lr=0.02),
        epochs=epochs,
        **wires,
        **train,
    )
    graph.add("Evaluate", "evaluate", data=split["test"], model=loop["model"])
    return graph


def values(kept: Any, name: str) -> list[Any]:
    return [point["value"] for body in kept.metrics for point in body["points"] if point["name"] == name]


def keeper(seen: list[Any]) -> type[Node]:
    @node(type="Keep", title="Keep", category="views", icon="eye")
    class Keep(Node):
        """Keep what comes in."""

        x: Any = input("any")

        def run(self, ctx: NodeContext) -> None:
            seen.append(self.x)

    return Keep


def test_a_training_records_metrics_artifacts_and_layers(harness: Any) -> None:
    outcome, kept = harness.execute(iris().build())
    assert outcome.status == "succeeded", outcome.error
    assert len(values(kept, "loss")) == 3 * 6
    for name in ("train_loss", "train_accuracy", "val_loss", "val_accuracy", "lr", "samples_per_second"):
        assert len(values(kept, name)) == 3, name
    points = [point for body in kept.metrics for point in body["points"]]
    assert all(point["node_id"] in ("train", "evaluate") and point["ts"] > 0 for point in points)
    (test_point,) = [point for point in points if point["name"] == "test_accuracy"]
    assert (test_point["scope"], test_point["step"], test_point["epoch"]) == ("epoch", 18, 3.0)
    layers = [(p["path"], p["shape"], p["parameters"]) for p in kept.payloads("inner_node_status")]
    assert layers == [
        (["net", "hidden"], [16], 80),
        (["net", "relu"], [16], 0),
        (["net", "scores"], [3], 51),
    ]
    assert [(a["kind"], a["name"]) for a in kept.artifacts] == [
        ("checkpoint", "checkpoint-last.pt"),
        ("checkpoint", "checkpoint-best.pt"),
        ("image", "test-confusion-matrix.svg"),
    ] or [(a["kind"], a["name"]) for a in kept.artifacts] == [
        ("checkpoint", "checkpoint-best.pt"),
        ("checkpoint", "checkpoint-last.pt"),
        ("image", "test-confusion-matrix.svg"),
    ]
    for artifact in kept.artifacts:
        assert (harness.folder / "run" / artifact["path"]).stat().st_size == artifact["size"]
    progress = [p for p in kept.payloads("node_progress") if p["node_id"] == "train"]
    assert (progress[-1]["current"], progress[-1]["total"], progress[-1]["epochs"]) == (18, 18, 3)


def test_what_nodes_say_about_their_outputs(harness: Any) -> None:
    _, kept = harness.execute(iris().build())
    facts = {p["node_id"]: p["outputs"] for p in kept.payloads("node_status") if p["status"] == "succeeded"}
    assert facts["data"]["dataset"]["summary"] == "150 samples of 4, 3 classes"
    assert facts["loader"]["loader"]["summary"] == "90 samples of 4, 3 classes, batches of 16"
    assert facts["optimizer"]["optimizer"]["summary"] == "Adam, lr 0.02"
    assert facts["model"]["model"]["summary"] == "3 layers, made when data arrives"
    assert facts["train"]["model"]["parameters"] == 131
    assert facts["evaluate"]["confusion"]["shape"] == [3, 3]


def test_the_checkpoint_predicts_like_the_trained_model_with_plain_torch(harness: Any) -> None:
    seen: list[Any] = []
    graph = iris(epochs=4, checkpoint="last")
    built = graph.build()
    keep = keeper(seen)
    graph.add("Keep", "keep_model", x=_ref(graph, "train", "model"))
    graph.add("Keep", "keep_path", x=_ref(graph, "train", "checkpoint"))
    built = graph.build()
    outcome, kept = harness.execute(built, nodes=[keep])
    assert outcome.status == "succeeded", outcome.error
    (model,) = [value for value in seen if isinstance(value, nn.Module)]
    (path,) = [value for value in seen if isinstance(value, str)]
    artifact = next(a for a in kept.artifacts if a["kind"] == "checkpoint")
    assert Path(path) == harness.folder / "run" / artifact["path"]
    state = torch.load(path, weights_only=True)
    plain = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    names = {"hidden": "0", "scores": "2"}
    plain.load_state_dict(
        {f"{names[key.split('.')[0]]}.{key.split('.')[1]}": value for key, value in state["model"].items()}
    )
    x = torch.randn(20, 4)
    assert torch.equal(plain(x), model(x))
    assert not model.training
    assert state["config"]["optimizer"] == "Adam"
    assert state["progress"] == {
        "epoch": 4,
        "step": 24,
        "batch": 0,
        "loss_sum": 0.0,
        "samples": 0,
        "correct": 0,
        "answers": 0,
    }


def _ref(graph: Builder, node_id: str, port: str) -> Any:
    from codefy_engine.graph.builder import OutputRef

    return OutputRef(node_id, port)


def test_the_same_seed_gives_the_same_curve(harness: Any) -> None:
    curves = []
    for seed in (4, 4, 5):
        _, kept = harness.execute(iris(seed=seed).build())
        curves.append((values(kept, "loss"), values(kept, "val_loss"), values(kept, "test_loss")))
    assert curves[0] == curves[1]
    assert curves[0] != curves[2]


def test_without_a_seed_runs_differ(harness: Any) -> None:
    curves = [values(harness.execute(iris(seed=None).build())[1], "loss") for _ in range(2)]
    assert curves[0] != curves[1]


def test_evaluation_agrees_with_scikit_learn(harness: Any) -> None:
    seen: list[Any] = []
    graph = iris(epochs=2)
    graph.add("Keep", "a", x=_ref(graph, "train", "model"))
    graph.add("Keep", "b", x=_ref(graph, "split", "test"))
    graph.add("Keep", "c", x=_ref(graph, "evaluate", "confusion"))
    _, kept = harness.execute(graph.build(), nodes=[keeper(seen)])
    model = next(value for value in seen if isinstance(value, nn.Module))
    confusion = next(value for value in seen if isinstance(value, torch.Tensor))
    data = next(value for value in seen if not isinstance(value, nn.Module | torch.Tensor))
    scores = model(data.inputs)
    predicted, true = scores.argmax(1), data.targets
    assert confusion.tolist() == sklearn.metrics.confusion_matrix(true, predicted).tolist()
    assert values(kept, "test_accuracy") == [pytest.approx(sklearn.metrics.accuracy_score(true, predicted))]
    assert values(kept, "test_macro_f1") == [
        pytest.approx(sklearn.metrics.f1_score(true, predicted, average="macro"))
    ]
    assert values(kept, "test_loss") == [pytest.approx(nn.functional.cross_entropy(scores, true).item())]
    picture = next(a for a in kept.artifacts if a["kind"] == "image")
    svg = (harness.folder / "run" / picture["path"]).read_text()
    assert "setosa" in svg
    assert picture["media_type"] == "image/svg+xml"


def test_two_loops_on_one_module_start_from_the_same_weights(harness: Any) -> None:
    graph = iris()
    graph.add(
        "TrainingLoop",
        "second",
        train=_ref(graph, "loader", "loader"),
        model=_ref(graph, "model", "model"),
        optimizer=_ref(graph, "optimizer", "optimizer"),
        epochs=3,
    )
    _, kept = harness.execute(graph.build())
    curves = {
        name: [
            p["value"]
            for body in kept.metrics
            for p in body["points"]
            if p["name"] == "loss" and p["node_id"] == name
        ]
        for name in ("train", "second")
    }
    assert curves["train"] == curves["second"]


@pytest.mark.parametrize("loss", [None, "MSELoss"])
def test_regression_has_no_accuracy_and_its_own_scores(harness: Any, loss: str | None) -> None:
    graph = Builder("diabetes", seed=0)
    net = graph.subgraph("net")
    net.add("ModuleOutput", "o", x=net.add("Linear", "l", x=net.add("ModuleInput", "i"), out_features=1))
    split = graph.add("TrainTestSplit", "split", dataset=graph.add("SklearnDataset", name="diabetes"))
    wires: dict[str, Any] = {} if loss is None else {"loss": graph.add(loss, "loss")}
    loop = graph.add(
        "TrainingLoop",
        "train",
        train=split["train"],
        validation=split["validation"],
        model=graph.add("Module", subgraph="net"),
        optimizer=graph.add("AdamW", lr=1.0),
        epochs=30,
        **wires,
    )
    graph.add("Evaluate", "evaluate", data=split["test"], model=loop["model"], name="held_out")
    outcome, kept = harness.execute(graph.build())
    assert outcome.status == "succeeded", outcome.error
    names = {point["name"] for body in kept.metrics for point in body["points"]}
    assert names == {
        "loss",
        "train_loss",
        "val_loss",
        "lr",
        "samples_per_second",
        "grad_norm",
        "memory_mib",
        "held_out_loss",
        "held_out_mae",
        "held_out_rmse",
        "held_out_r2",
    }
    assert values(kept, "train_loss")[-1] < values(kept, "train_loss")[0]
    assert values(kept, "held_out_rmse")[0] ** 2 == pytest.approx(values(kept, "held_out_loss")[0], rel=1e-4)
    assert [a["kind"] for a in kept.artifacts] == ["checkpoint", "checkpoint"]


@pytest.mark.parametrize(
    ("choice", "names"),
    [("none", []), ("last", ["last"]), ("best", ["best"]), ("best_and_last", ["best", "last"])],
)
def test_only_the_checkpoints_asked_for_are_written(harness: Any, choice: str, names: list[str]) -> None:
    _, kept = harness.execute(iris(checkpoint=choice).build())
    files = sorted(a["name"] for a in kept.artifacts if a["kind"] == "checkpoint")
    assert files == [f"checkpoint-{name}.pt" for name in names]
    assert sorted(path.name for path in (harness.folder / "run").rglob("*.pt")) == files


def test_a_stop_in_mid_training_ends_between_two_batches_and_keeps_a_checkpoint(
    harness: Any, new_kept: Any
) -> None:
    kept = new_kept()
    request = harness.request(iris(epochs=10_000).build(), kept)
    started = threading.Event()
    record = request.sinks.record_metrics

    def recorded(ts: float, body: bytes) -> None:
        record(ts, body)
        if b'"loss"' in body:
            started.set()

    object.__setattr__(request.sinks, "record_metrics", recorded)
    outcomes: list[Any] = []
    thread = threading.Thread(target=lambda: outcomes.append(execute_graph(request)))
    thread.start()
    assert started.wait(60)
    request.stop.set()
    thread.join(10)
    assert not thread.is_alive()
    assert outcomes[0].status == "cancelled"
    assert kept.last_status()["train"] == "cancelled"
    assert kept.last_status()["evaluate"] == "skipped"
    last = next(a for a in kept.artifacts if a["name"] == "checkpoint-last.pt")
    state = torch.load(harness.folder / "run" / last["path"], weights_only=True)
    assert state["progress"]["step"] == len(values(kept, "loss"))


def test_a_diverging_loss_is_a_warning_with_its_step(harness: Any) -> None:
    graph = iris(optimizer="SGD")
    graph.add("SGD", "wild", lr=100.0, momentum=0.99)
    document = graph.build()
    for edge in document.edges:
        if edge.target == "train" and edge.target_handle == "optimizer":
            edge.source = "wild"
    document.nodes[[n.id for n in document.nodes].index("train")].data.params["epochs"] = 60
    outcome, kept = harness.execute(document)
    losses = values(kept, "loss")
    (warning,) = kept.warnings
    assert warning["code"] == "nonfinite_loss"
    assert warning["node_id"] == "train"
    step = warning["params"]["step"]
    assert all(isinstance(value, float | int) for value in losses[: step - 1])
    assert losses[step - 1] == warning["params"]["value"]
    assert losses[step - 1] in ("NaN", "Infinity")
    assert outcome.status == "succeeded"


def test_stop_at_nan_fails_the_run_in_words(harness: Any) -> None:
    document = iris(optimizer="SGD", stop_on_nan=True, epochs=60).build()
    params = document.nodes[[n.id for n in document.nodes].index("optimizer")].data.params
    params.update(lr=100.0, momentum=0.99)
    outcome, kept = harness.execute(document)
    assert outcome.status == "failed"
    assert outcome.error.node_id == "train"
    assert f"at step {kept.warnings[0]['params']['step']}" in outcome.error.message


@node(type="NoData", title="No data", category="data", icon="x")
class NoData(Node):
    """An empty data set."""

    dataset: Any = output("dataset")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.data import TensorDataset

        return TensorDataset(inputs=torch.zeros(0, 4), targets=torch.zeros(0, dtype=torch.int64))


def _fails(harness: Any, graph: Builder, node_id: str, *words: str) -> None:
    outcome, _ = harness.execute(graph.build(), nodes=[NoData])
    assert outcome.status == "failed"
    assert outcome.error.node_id == node_id
    for word in words:
        assert word in outcome.error.message


def test_what_does_not_fit_is_said_in_words(harness: Any) -> None:
    wrong_loss = iris(loss="MSELoss")
    _fails(harness, wrong_loss, "train", "use CrossEntropyLoss")
    _fails(harness, iris(objective="mse"), "train", "use CrossEntropyLoss")
    too_large = iris()
    too_large.add(
        "TrainingLoop",
        "other",
        train=too_large.add(
            "DataLoader", "big", dataset=_ref(too_large, "split", "train"), batch_size=500, drop_last=True
        ),
        model=_ref(too_large, "model", "model"),
        optimizer=_ref(too_large, "optimizer", "optimizer"),
    )
    _fails(harness, too_large, "other", "one batch of 500", "90 samples")
    empty = iris()
    empty.add("Evaluate", "nothing", data=empty.add("NoData")["dataset"], model=_ref(empty, "train", "model"))
    _fails(harness, empty, "nothing", "no data to evaluate")
    images = Builder("images", seed=0)
    net = images.subgraph("net")
    net.add("ModuleOutput", "o", x=net.add("Conv2d", "conv", x=net.add("ModuleInput", "i")))
    images.add(
        "TrainingLoop",
        "train",
        train=images.add("SklearnDataset", name="iris"),
        model=images.add("Module", subgraph="net"),
        optimizer=images.add("SGD"),
    )
    _fails(harness, images, "train", "conv", "does not take 4", "height")
    momentum = iris(optimizer="SGD")
    document = momentum.build()
    document.nodes[[n.id for n in document.nodes].index("optimizer")].data.params.update(
        momentum=0.0, nesterov=True
    )
    outcome, _ = harness.execute(document)
    assert "nesterov needs a momentum" in outcome.error.message


def test_print_shows_values_for_people(harness: Any, capsys: pytest.CaptureFixture[str]) -> None:
    graph = iris(epochs=1)
    for name, (source, port) in {
        "p1": ("split", "train"),
        "p2": ("train", "model"),
        "p3": ("evaluate", "confusion"),
        "p4": ("evaluate", "metrics"),
        "p5": ("model", "model"),
    }.items():
        graph.add("Print", name, value=_ref(graph, source, port), label=name)
    outcome, _ = harness.execute(graph.build())
    assert outcome.status == "succeeded", outcome.error
    out = capsys.readouterr().out
    assert "p1: iris: 90 samples of 4, 3 classes" in out
    assert "  hidden: Linear → 16, 80 parameters" in out
    assert "tensor 3 x 3, int64, cpu" in out
    assert "macro_f1: 0." in out
