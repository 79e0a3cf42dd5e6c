"""Data: what scikit-learn, Pillow and torch give when they are used directly."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import sklearn.datasets
import torch
from PIL import Image
from sklearn.preprocessing import StandardScaler
from torch.nn import functional

from codefy_engine.training import hubs
from codefy_engine.training.data import Batches, Batching, TensorDataset

from .case import SEED, Case, Place


def holds(dataset: Any) -> dict[str, Any]:
    """What a data set holds."""
    return {
        "inputs": dataset.inputs,
        "targets": dataset.targets,
        "classes": list(dataset.class_names),
        "features": list(dataset.feature_names),
    }


def held(inputs: Any, targets: Any, classes: Any = (), features: Any = ()) -> dict[str, Any]:
    """The same for what was made without Codefy; numbers as targets stand in rows."""
    samples = torch.as_tensor(np.asarray(inputs), dtype=torch.float32)
    found = torch.as_tensor(np.asarray(targets))
    if found.is_floating_point():
        found = found.float().reshape(len(samples), -1)
    return {"inputs": samples, "targets": found.clone(), "classes": list(classes), "features": list(features)}


def see(outputs: dict[str, Any]) -> Any:
    return holds(outputs["dataset"])


def values(outputs: dict[str, Any]) -> Any:
    """Inputs and targets alone: made data has names of Codefy's own."""
    return {name: holds(outputs["dataset"])[name] for name in ("inputs", "targets")}


def simulated(type: str, params: dict[str, Any], make: Any) -> Case:
    def expected(place: Place) -> dict[str, Any]:
        whole = held(*make())
        return {"inputs": whole["inputs"], "targets": whole["targets"]}

    return Case(type, expected, params, see=values, close=1e-4)


def iris(place: Place) -> dict[str, Any]:
    found: Any = sklearn.datasets.load_iris()
    return held(found.data, found.target, [str(name) for name in found.target_names], found.feature_names)


def spiral_ends(outputs: dict[str, Any]) -> dict[str, Any]:
    data = outputs["dataset"]
    arm = data.inputs[data.targets == 0]
    radius, angle = arm.norm(dim=1), torch.atan2(arm[:, 1], arm[:, 0])
    turned = torch.remainder(angle.diff(), 2 * math.pi).sum()
    return {
        "counts": data.targets.bincount().tolist(),
        "longest": float(radius[-1]),
        "turned": float(turned) / (2 * math.pi),
        "grows": bool((radius.diff() > 0).all()),
    }


def sine(place: Place) -> dict[str, torch.Tensor]:
    series = torch.sin(2 * math.pi * torch.arange(60, dtype=torch.float64) / 12).float()
    windows = series.unfold(0, 10, 1)
    return {"series": series, "inputs": windows[:, :8, None], "targets": windows[:, 8:]}


MADE = [
    Case("SklearnDataset", iris, {"name": "iris"}, see=see),
    simulated(
        "Moons",
        {"samples": 50, "noise": 0.2},
        lambda: sklearn.datasets.make_moons(50, noise=0.2, random_state=SEED),
    ),
    simulated(
        "Circles",
        {"samples": 40, "factor": 0.3, "noise": 0.05},
        lambda: sklearn.datasets.make_circles(40, noise=0.05, factor=0.3, random_state=SEED),
    ),
    simulated(
        "Blobs",
        {"samples": 30, "classes": 4, "features": 3, "spread": 0.5, "seed": 8},
        lambda: sklearn.datasets.make_blobs(30, 3, centers=4, cluster_std=0.5, random_state=8),
    ),
    simulated(
        "LinearData",
        {"samples": 20, "features": 4, "informative": 2, "noise": 0.1},
        lambda: sklearn.datasets.make_regression(
            20, n_features=4, n_informative=2, noise=0.1, random_state=SEED
        ),
    ),
    Case(
        "Spirals",
        {"counts": [50] * 4, "longest": 1.0, "turned": 2 * 49 / 50, "grows": True},
        {"samples": 200, "arms": 4, "turns": 2.0, "noise": 0.0},
        see=spiral_ends,
        close=1e-3,
    ),
    Case(
        "SineSeries",
        sine,
        {"samples": 60, "periods": [12], "window": 8, "horizon": 2},
        see=lambda outputs: {
            "series": outputs["series"],
            "inputs": outputs["dataset"].inputs,
            "targets": outputs["dataset"].targets,
        },
        close=1e-6,
    ),
]


def write_table(place: Place) -> None:
    (place.files / "t.csv").write_text("length,colour,kind\n1.5,red,cat\n2,blue,dog\n3.5,red,cat\n")


def write_text(place: Place) -> None:
    (place.files / "a.txt").write_text("Grüße\n", encoding="utf-8")


def write_images(place: Place) -> None:
    for name, level in (("cat", 0), ("dog", 255)):
        (place.files / "animals" / name).mkdir(parents=True)
        Image.new("RGB", (6, 4), (level, 51, 0)).save(place.files / "animals" / name / "0.png")


def colours(place: Place) -> dict[str, Any]:
    pixels = torch.tensor([[0, 51, 0], [255, 51, 0]]) / 255
    return held(pixels[:, :, None, None].expand(-1, -1, 2, 3), [0, 1], ("cat", "dog"))


FILES = [
    Case(
        "CsvDataset",
        lambda place: held(
            [[1.5, 0, 1], [2, 1, 0], [3.5, 0, 1]],
            [0, 1, 0],
            ("cat", "dog"),
            ("length", "colour=blue", "colour=red"),
        ),
        {"file": "t.csv"},
        see=see,
        ready=write_table,
    ),
    Case(
        "ImageFolder",
        colours,
        {"folder": "animals", "height": 2, "width": 3},
        see=see,
        ready=write_images,
        close=1e-6,
    ),
    Case("TextFile", "Grü", {"file": "a.txt", "limit": 3}, ready=write_text),
    Case("TensorByHand", torch.tensor([[1, 0], [2, 3]]), {"values": [[1, 0], [2, 3]], "dtype": "int64"}),
]


class Pictures:
    """As a torchvision data set: pictures with a class each."""

    classes = ("zero", "one")

    def __init__(self, root: str, download: bool, train: bool) -> None:
        self.level = 204 if train else 0

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> Any:
        return Image.new("L", (2, 2), self.level), index % 2


class Rows:
    """As a data set of the Hugging Face hub."""

    column_names = ("image", "label")
    features = {"label": SimpleNamespace(names=["a", "b"])}

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> Any:
        return {"image": Image.new("L", (2, 2), 51), "label": index % 2}


def houses(data_home: str) -> Any:
    """As what scikit-learn downloads."""
    return SimpleNamespace(data=np.ones((3, 2)), target=np.arange(3.0), feature_names=["a", "b"])


def stand_in(**names: Any) -> Any:
    return lambda place: place.monkeypatch.setattr(hubs, "optional", lambda *_: SimpleNamespace(**names))


HUBS = [
    Case(
        "TorchvisionDataset",
        lambda place: held(np.full((2, 1, 2, 2), 0.8), [0, 1], ("zero", "one")),
        {"limit": 2},
        see=see,
        ready=stand_in(MNIST=Pictures),
        close=1e-6,
    ),
    Case(
        "HuggingFaceDataset",
        lambda place: held(np.full((3, 1, 2, 2), 0.2), [0, 1, 0], ("a", "b")),
        {"path": "pets"},
        see=see,
        ready=stand_in(load_dataset=lambda *a, **k: Rows()),
        close=1e-6,
    ),
    Case(
        "SklearnDownload",
        lambda place: held(np.ones((3, 2)), np.arange(3.0), (), ("a", "b")),
        see=see,
        ready=lambda place: place.monkeypatch.setattr(sklearn.datasets, "fetch_california_housing", houses),
    ),
]

TOY = TensorDataset(
    inputs=torch.randn(12, 3, generator=torch.Generator().manual_seed(0)) * 5 + 2,
    targets=torch.arange(12) % 3,
    class_names=("a", "b", "c"),
)


def scaled(place: Place) -> dict[str, Any]:
    scaler = StandardScaler().fit(TOY.inputs)
    small = TOY.select(torch.arange(4))
    return {
        "train": torch.as_tensor(scaler.transform(TOY.inputs)).float(),
        "test": torch.as_tensor(scaler.transform(small.inputs)).float(),
    }


def sizes(outputs: dict[str, Any]) -> dict[str, Any]:
    """How large each part is by class, and whether together they are the whole."""
    parts = [outputs[name] for name in outputs if outputs[name] is not None]
    rows = torch.cat([part.inputs for part in parts])
    return {
        "sizes": {name: part.targets.bincount().tolist() for name, part in outputs.items()},
        "rows": rows[rows[:, 0].argsort()],
    }


def whole() -> torch.Tensor:
    return TOY.inputs[TOY.inputs[:, 0].argsort()]


PARTS = [
    Case(
        "DataLoader",
        {"batches": [TOY.inputs[:5], TOY.inputs[5:10]]},
        {"batch_size": 5, "shuffle": False, "drop_last": True},
        {"dataset": TOY},
        see=lambda outputs: {"batches": batches(outputs["loader"])},
    ),
    Case(
        "TrainTestSplit",
        {"sizes": {"train": [2, 2, 2], "test": [1, 1, 1], "validation": [1, 1, 1]}, "rows": whole()},
        {"test_fraction": 0.25, "validation_fraction": 0.25},
        {"dataset": TOY},
        see=sizes,
    ),
    Case(
        "CrossValidationFold",
        {"sizes": {"train": [3, 3, 3], "test": [1, 1, 1]}, "rows": whole()},
        {"folds": 4, "fold": 2},
        {"dataset": TOY},
        see=sizes,
    ),
    Case(
        "TakeSamples",
        lambda place: holds(TOY.select(torch.arange(4))),
        {"count": 4},
        {"dataset": TOY},
        see=see,
    ),
    Case(
        "JoinDatasets",
        lambda place: held(
            torch.cat([TOY.inputs, TOY.inputs]), torch.cat([TOY.targets] * 2), TOY.class_names
        ),
        {},
        {"first": TOY, "second": TOY},
        see=see,
    ),
    Case(
        "NormalizeData",
        scaled,
        {},
        {"train": TOY, "test": TOY.select(torch.arange(4))},
        see=lambda outputs: {name: outputs[name].inputs for name in ("train", "test")},
        close=1e-5,
    ),
]

PIXELS = torch.arange(200, dtype=torch.float32).reshape(8, 1, 5, 5) / 250 + 0.1
IMAGES = TensorDataset(inputs=PIXELS, targets=torch.arange(8) % 2)


def batches(dataset: TensorDataset) -> list[torch.Tensor]:
    """The inputs of the first epoch's batches, as a training gets them."""
    made = dataset.batching or Batching(batch_size=8)
    return [x for x, _ in Batches(dataset, made, device=torch.device("cpu"), seed=0).epoch(0)]


def altered(outputs: dict[str, Any]) -> torch.Tensor:
    return torch.cat(batches(outputs["dataset"]))


def shifted_by(outputs: dict[str, Any]) -> dict[str, Any]:
    """How many images are one of the nine places of the original, with zeros coming in."""
    padded = functional.pad(PIXELS, (1, 1, 1, 1))
    places = [padded[:, :, y : y + 5, x : x + 5] for y in range(3) for x in range(3)]
    found = altered(outputs)
    fits = [any(torch.equal(found[i], place[i]) for place in places) for i in range(8)]
    return {"places": sum(fits), "moved": bool(not torch.equal(found, PIXELS))}


def erased(outputs: dict[str, Any]) -> dict[str, Any]:
    """How many pixels went from each image, and whether the others stayed."""
    found = altered(outputs)
    gone = found == 0
    return {"gone": gone.flatten(1).sum(1).tolist(), "stayed": bool((found[~gone] == PIXELS[~gone]).all())}


def noise(outputs: dict[str, Any]) -> dict[str, float]:
    added = torch.cat(batches(outputs["dataset"])) - 0.5
    return {"mean": float(added.mean()), "deviation": float(added.std())}


GREY = TensorDataset(inputs=torch.full((8, 1, 40, 40), 0.5), targets=torch.zeros(8, 1))
LINE = torch.zeros(8, 1, 21, 21)
LINE[:, :, 10, 2:19] = 1.0
LINES = TensorDataset(inputs=LINE, targets=torch.zeros(8, 1))


def brightness(outputs: dict[str, Any]) -> dict[str, Any]:
    """A plain image stays plain: its level moved by at most a fifth, each image by its own."""
    found = altered(outputs)
    level = found.flatten(1).mean(1)
    return {
        "plain": bool(torch.allclose(found, level[:, None, None, None].expand_as(found), atol=1e-6)),
        "within": int(((level - 0.5).abs() <= 0.2).sum()),
        "levels": len(set(level.tolist())),
    }


def rotated(outputs: dict[str, Any]) -> dict[str, Any]:
    """A line through the middle keeps its middle and its mass, and leans by at most so many degrees."""
    found = altered(outputs)[:, 0]
    across = torch.arange(21.0) - 10
    x, y = across[None, None, :], across[None, :, None]
    lean = (
        (0.5 * torch.atan2((2 * found * x * y).sum((1, 2)), (found * (x**2 - y**2)).sum((1, 2))))
        .rad2deg()
        .abs()
    )
    return {
        "middle": [round(float(value), 3) for value in found[:, 10, 10]],
        "within": int((lean <= 30).sum()),
        "leaning": int((lean > 0.2).sum()),
        "mass": int(((found.sum((1, 2)) / 17 - 1).abs() < 0.1).sum()),
    }


AUGMENTATION = [
    Case("AugmentFlip", PIXELS.flip(3), {"p": 1.0}, {"dataset": IMAGES}, see=altered),
    Case("AugmentShift", {"places": 8, "moved": True}, {"pixels": 1}, {"dataset": IMAGES}, see=shifted_by),
    Case(
        "AugmentErase",
        {"gone": [4] * 8, "stayed": True},
        {"size": 2, "p": 1.0},
        {"dataset": IMAGES},
        see=erased,
    ),
    # 12,800 numbers: the mean is within 0.002 and the deviation within 1 %, five of their deviations.
    Case(
        "AugmentNoise",
        {"mean": 0.0, "deviation": 0.05},
        {"deviation": 0.05},
        {"dataset": GREY},
        see=noise,
        close=0.003,
    ),
    Case(
        "AugmentBrightness",
        {"plain": True, "within": 8, "levels": 8},
        {"brightness": 0.2, "contrast": 0.0},
        {"dataset": GREY},
        see=brightness,
    ),
    Case(
        "AugmentRotate",
        {"middle": [1.0] * 8, "within": 8, "leaning": 8, "mass": 8},
        {"degrees": 30.0},
        {"dataset": LINES},
        see=rotated,
    ),
]

CASES = [*MADE, *FILES, *HUBS, *PARTS, *AUGMENTATION]
