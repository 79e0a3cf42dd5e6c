"""Graphs in which every node of data, training, classical methods, files, views and flow does its work in a run."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from codefy_engine.graph import Builder
from codefy_engine.graph.validation import validate_graph
from codefy_engine.nodes.registry import default_registry

OPTIMIZERS = (
    "Adam",
    "AdamW",
    "SGD",
    "RMSprop",
    "Adagrad",
    "Adadelta",
    "Adamax",
    "NAdam",
    "RAdam",
    "Rprop",
    "Adafactor",
    "LBFGS",
)
SCHEDULES = (
    "StepLR",
    "MultiStepLR",
    "ExponentialLR",
    "PolynomialLR",
    "CosineAnnealingLR",
    "CosineWarmRestarts",
    "OneCycleLR",
    "CyclicLR",
    "ReduceLROnPlateau",
    "LinearWarmup",
)
CLASS_LOSSES = (
    "CrossEntropyLoss",
    "MultiMarginLoss",
    "FocalLoss",
    "TripletLoss",
)
NUMBER_LOSSES = (
    "MSELoss",
    "L1Loss",
    "SmoothL1Loss",
    "HuberLoss",
    "PoissonNLLLoss",
    "CosineEmbeddingLoss",
    "BCEWithLogitsLoss",
)
CLASSIFIERS = (
    "LogisticRegression",
    "SupportVectorMachine",
    "NearestNeighbours",
    "DecisionTree",
    "RandomForest",
    "GradientBoosting",
    "NaiveBayes",
    "SklearnMLP",
)
AUGMENTATIONS = (
    "AugmentFlip",
    "AugmentShift",
    "AugmentRotate",
    "AugmentNoise",
    "AugmentErase",
    "AugmentBrightness",
)


def succeeded(harness: Any, graph: Builder) -> dict[str, dict[str, Any]]:
    """Run it; facts about outputs by node."""
    outcome, kept = harness.execute(graph.build())
    assert outcome.status == "succeeded", outcome.error
    return {p["node_id"]: p["outputs"] for p in kept.payloads("node_status") if p["status"] == "succeeded"}


def points(graph: Builder, outputs: int) -> tuple[Any, Any]:
    """Moons, and a small network for them."""
    net = graph.subgraph("net")
    x = net.add("Linear", "hidden", x=net.add("ModuleInput", "i"), out_features=4)
    net.add("ModuleOutput", "o", x=net.add("Linear", "scores", x=net.add("Tanh", x=x), out_features=outputs))
    return graph.add("Moons", "moons", samples=64), graph.add("Module", "model", subgraph="net")


def test_every_optimizer_and_schedule_trains(harness: Any) -> None:
    graph = Builder("optimizers", seed=0)
    data, model = points(graph, 2)
    recipes = {name: graph.add(name, name.lower()) for name in OPTIMIZERS}
    for name in SCHEDULES:
        recipes[name] = graph.add(name, name.lower(), optimizer=recipes["SGD"])
    for name, recipe in recipes.items():
        graph.add(
            "TrainingLoop",
            f"train_{name}",
            train=data,
            model=model,
            optimizer=recipe,
            epochs=2,
            checkpoint="none",
        )
    facts = succeeded(harness, graph)
    for name in recipes:
        assert facts[f"train_{name}"]["metrics"]["values"]["epoch"] == 2


def test_every_loss_trains_or_is_computed(harness: Any) -> None:
    graph = Builder("losses", seed=0)
    data, model = points(graph, 2)
    adam = graph.add("Adam", "adam", lr=0.01)
    series = graph.add("SineSeries", "series", samples=60, window=6, horizon=2)
    flat = graph.subgraph("flat")
    x = flat.add("Flatten", "f", x=flat.add("ModuleInput", "i"))
    x = flat.add("Linear", "l", x=x, out_features=2)
    flat.add("ModuleOutput", "o", x=x)
    other = graph.add("Module", "flat_model", subgraph="flat")
    for name in (*CLASS_LOSSES, *NUMBER_LOSSES):
        wires: dict[str, Any] = (
            {"train": data, "model": model}
            if name in CLASS_LOSSES
            else {"train": series["dataset"], "model": other}
        )
        graph.add(
            "TrainingLoop",
            f"train_{name}",
            optimizer=adam,
            loss=graph.add(name, name.lower()),
            epochs=1,
            checkpoint="none",
            **wires,
        )
    shares = graph.add("TensorByHand", "shares", values=[[0.25, 0.75], [0.5, 0.5]])
    logs = graph.add("Expression", "logs", names="x", formula="log(x)", x=shares)
    classes = graph.add("TensorByHand", "classes", values=[1, 0], dtype="int64")
    for name, outputs, targets in (
        ("NLLLoss", logs, classes),
        ("KLDivLoss", logs, shares),
        ("BCELoss", shares, shares),
    ):
        loss = graph.add(name, name.lower())
        graph.add("ComputeLoss", f"value_{name}", loss=loss, outputs=outputs, targets=targets)
    facts = succeeded(harness, graph)
    expected = -(torch.tensor(0.75).log() + torch.tensor(0.5).log()) / 2
    assert facts["value_NLLLoss"]["value"]["value"] == pytest.approx(float(expected), rel=1e-4)
    assert facts["value_KLDivLoss"]["value"]["value"] == pytest.approx(0, abs=1e-6)


def test_every_classifier_is_judged_and_structure_is_found(harness: Any) -> None:
    graph = Builder("classical", seed=0)
    split = graph.add("TrainTestSplit", "split", dataset=graph.add("Blobs", "blobs", samples=90))
    scaled = graph.add("NormalizeData", "scale", train=split["train"], test=split["test"])
    for name in CLASSIFIERS:
        model = graph.add(name, name.lower(), train=scaled["train"])
        graph.add("Evaluate", f"judge_{name}", data=scaled["test"], model=model, picture=False)
    forest = graph.add(
        "Predict", "predict", data=scaled["test"], model=graph.add("RandomForest", "f", train=scaled["train"])
    )
    scores = graph.add("ClassScores", "scores", predicted=forest["answers"], targets=forest["targets"])
    graph.add("ConfusionMatrix", "picture", confusion=scores["confusion"])
    graph.add("DBSCAN", "dbscan", data=scaled["train"])
    graph.add("ScatterPlot", "map", points=graph.add("TSNE", "tsne", data=scaled["test"], perplexity=3.0))
    line = graph.add("LinearData", "line", samples=40)
    graph.add("LinearRegression", "linear", train=line)
    facts = succeeded(harness, graph)
    accuracies = [facts[f"judge_{name}"]["metrics"]["values"]["accuracy"] for name in CLASSIFIERS]
    assert min(accuracies) > 0.6


def test_every_augmentation_and_choice_of_samples(harness: Any) -> None:
    graph = Builder("data", seed=0)
    digits = graph.add("TakeSamples", "some", dataset=graph.add("SklearnDataset", "digits"), count=60)
    fold = graph.add("CrossValidationFold", "fold", dataset=digits, folds=3)
    data: Any = graph.add("JoinDatasets", "join", first=fold["train"], second=fold["test"])
    for name in AUGMENTATIONS:
        data = graph.add(name, name.lower(), dataset=data)
    net = graph.subgraph("net")
    x = net.add("Linear", "l", x=net.add("Flatten", "f", x=net.add("ModuleInput", "i")), out_features=10)
    net.add("ModuleOutput", "o", x=x)
    graph.add(
        "TrainingLoop",
        "train",
        train=data,
        model=graph.add("Module", "model", subgraph="net"),
        optimizer=graph.add("AdamW", "adamw"),
        epochs=1,
        checkpoint="none",
    )
    graph.add("Print", "p", value=graph.add("Spirals", "spirals", samples=20), label="spirals")
    facts = succeeded(harness, graph)
    assert (
        facts["augmentbrightness"]["dataset"]["summary"]
        == "60 samples of 1 x 8 x 8, 10 classes, altered in 6 ways"
    )


def test_files_are_written_and_read_in_one_graph(harness: Any) -> None:
    graph = Builder("files", seed=0)
    data, model = points(graph, 2)
    trained = graph.add(
        "TrainingLoop", "train", train=data, model=model, optimizer=graph.add("Adam", "adam"), epochs=1
    )
    saved = graph.add("SaveModel", "save", model=trained["model"])
    loaded = graph.add("LoadModel", "load", model=model, path=saved, data=data)
    again = graph.add("LoadModel", "load_checkpoint", model=model, path=trained["checkpoint"])
    for name, source in (("first", trained["model"]), ("second", loaded), ("third", again)):
        graph.add("Evaluate", name, data=data, model=source, picture=False)
    grid = graph.add("TensorByHand", "grid", values=[[1, 2], [3, 4]])
    tensor = graph.add("LoadTensor", "read", path=graph.add("SaveTensor", "write", tensor=grid))
    graph.add("HeatMap", "heat", value=tensor)
    text = graph.add(
        "TextFile",
        "text",
        path=graph.add("SaveText", "note", value=graph.add("ConstantValue", kind="text", text="hello")),
    )
    graph.add("Switch", "switch", condition=graph.add("ConstantValue", "yes", kind="bool"), yes=text, no=grid)
    graph.add("PickEntry", "pick", value=trained["metrics"], entry="history.0.train_loss")
    facts = succeeded(harness, graph)
    losses = {facts[name]["metrics"]["values"]["loss"] for name in ("first", "second", "third")}
    assert len(losses) == 1
    assert facts["switch"]["value"]["summary"] == "hello"


def test_nodes_that_need_a_network_or_a_further_package_are_valid() -> None:
    graph = Builder("optional")
    mnist = graph.add("TorchvisionDataset", "mnist", limit=100)
    graph.add("HuggingFaceDataset", "hub", path="mnist")
    graph.add("SklearnDownload", "housing")
    model = graph.add("NaiveBayes", "bayes", train=mnist)
    graph.add("ExportOnnx", "onnx", model=model, data=mnist)
    assert validate_graph(graph.build(), default_registry()) == []
