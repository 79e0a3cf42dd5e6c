"""Files and pictures: what other programs read out of them."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import nn

from codefy_engine.training.data import TensorDataset

from .case import Case, Place

X = torch.tensor([[1.0, -2.0], [0.5, 3.0]])
LINE = nn.Linear(2, 3)
with torch.no_grad():
    LINE.weight.copy_(torch.arange(6.0).reshape(3, 2))
    LINE.bias.copy_(torch.tensor([0.5, -0.5, 1.0]))
RESULT = LINE(X).detach()
DATA = TensorDataset(inputs=X, targets=torch.zeros(2, 1))


def blank() -> nn.Linear:
    model = nn.Linear(2, 3)
    nn.init.zeros_(model.weight)
    nn.init.zeros_(model.bias)
    return model


def weights(place: Place) -> None:
    save_file(dict(LINE.state_dict()), place.files / "m.safetensors")


def tensors(place: Place) -> None:
    save_file({"tensor": X, "other": X + 1}, place.files / "t.safetensors")


def rows(path: str) -> list[list[str]]:
    with Path(path).open(newline="") as file:
        return list(csv.reader(file))


def onnx_answers(path: str) -> torch.Tensor:
    import onnx
    from onnx.reference import ReferenceEvaluator

    model = onnx.load(path)
    onnx.checker.check_model(model)
    return torch.tensor(ReferenceEvaluator(model).run(None, {"x": X.numpy()})[0])


SAVED = [
    Case(
        "SaveModel",
        {name: value.clone() for name, value in LINE.state_dict().items()},
        {"path": "m.safetensors"},
        {"model": LINE},
        see=lambda outputs: load_file(outputs["path"]),
    ),
    Case(
        "LoadModel",
        RESULT,
        {"file": "m.safetensors"},
        {"model": blank()},
        see=lambda outputs: outputs["model"](X).detach(),
        ready=weights,
    ),
    Case("SaveTensor", {"tensor": X}, {}, {"tensor": X}, see=lambda outputs: load_file(outputs["path"])),
    Case("LoadTensor", X + 1, {"file": "t.safetensors", "name": "other"}, ready=tensors),
    Case(
        "SaveCsv",
        [["a", "b"], ["1.0", "-2.0"], ["0.5", "3.0"]],
        {"columns": "a, b"},
        {"value": X},
        see=lambda outputs: rows(outputs["path"]),
    ),
    Case(
        "SaveText",
        "Grüße",
        {},
        {"value": "Grüße"},
        see=lambda outputs: Path(outputs["path"]).read_text("utf-8"),
    ),
    Case(
        "SaveImages",
        [[0, 51], [102, 255]],
        {"folder": "plain"},
        {"images": torch.tensor([[[[0.0, 0.2], [0.4, 1.0]]]])},
        see=lambda outputs: np.array(Image.open(Path(outputs["path"]) / "0000.png")).tolist(),
    ),
    Case(
        "ExportOnnx",
        RESULT,
        {},
        {"model": LINE, "data": DATA},
        see=lambda outputs: onnx_answers(outputs["path"]),
        close=1e-5,
    ),
]

SVG = "{http://www.w3.org/2000/svg}"


def drawing(outputs: dict[str, Any]) -> ET.Element:
    return ET.fromstring(Path(outputs["picture"]).read_text())


def texts(root: ET.Element) -> list[str]:
    return [item.text or "" for item in root.iter(f"{SVG}text")]


def line_facts(outputs: dict[str, Any]) -> dict[str, Any]:
    """Heights of the points as shares of the highest: pixels grow downwards and in proportion."""
    root = drawing(outputs)
    (line,) = root.iter(f"{SVG}polyline")
    y = [float(pair.split(",")[1]) for pair in line.get("points", "").split()]
    return {"title": texts(root)[0], "heights": [round((y[0] - v) / (y[0] - y[3]), 2) for v in y]}


def dots(outputs: dict[str, Any]) -> dict[str, Any]:
    """How many points there are, and where the second lies between the first and the third."""
    circles = [c for c in drawing(outputs).iter(f"{SVG}circle") if float(c.get("r", 0)) > 0][:3]
    x, y = ([float(c.get(name, 0)) for c in circles] for name in ("cx", "cy"))
    share = [round((v[1] - v[0]) / (v[2] - v[0]), 2) for v in (x, y)]
    return {"points": len(circles), "between": share}


def heat(outputs: dict[str, Any]) -> dict[str, Any]:
    root = drawing(outputs)
    depth = [float(r.get("fill-opacity", 0)) for r in root.iter(f"{SVG}rect") if r.get("class") == "heat"]
    return {"order": sorted(range(4), key=lambda i: depth[i]), "scale": texts(root)[-1]}


def shades(outputs: dict[str, Any]) -> list[list[int]]:
    """Black and white of the two images, one pixel each, with the gap between them left out."""
    with Image.open(outputs["picture"]) as picture:
        pixels = np.array(picture)
    seen = pixels[pixels[..., 3] > 0]
    return [row[:3] for row in seen.tolist()]


VALUES = torch.randn(200, generator=torch.Generator().manual_seed(0))

VIEWS = [
    Case(
        "LineChart",
        {"title": "Squares", "heights": [0.0, round(1 / 9, 2), round(4 / 9, 2), 1.0]},
        {"title": "Squares"},
        {"value": torch.tensor([0.0, 1.0, 4.0, 9.0])},
        see=line_facts,
    ),
    Case(
        "Histogram",
        {"counts": torch.as_tensor(np.histogram(VALUES.numpy(), 12)[0]), "bars": 12},
        {"bins": 12},
        {"value": VALUES},
        see=lambda outputs: {
            "counts": outputs["counts"],
            "bars": sum(rect.find(f"{SVG}title") is not None for rect in drawing(outputs).iter(f"{SVG}rect")),
        },
    ),
    Case(
        "ScatterPlot",
        {"points": 3, "between": [0.25, 0.5]},
        {},
        {"points": torch.tensor([[0.0, 0.0], [1.0, 2.0], [4.0, 4.0]])},
        see=dots,
    ),
    Case(
        "HeatMap",
        {"order": [1, 0, 3, 2], "scale": "0 (pale) to 4 (deep)"},
        {},
        {"value": torch.tensor([[1.0, 0.0], [4.0, 2.0]])},
        see=heat,
    ),
    Case(
        "ImageGrid",
        [[0, 0, 0], [51, 51, 51], [255, 255, 255]],
        {"zoom": 1, "columns": 3},
        {"images": torch.tensor([0.0, 0.2, 1.0]).reshape(3, 1, 1, 1)},
        see=shades,
    ),
    Case(
        "ConfusionMatrix",
        ["5", "1", "2", "7"],
        {"names": "cat, dog"},
        {"confusion": torch.tensor([[5, 1], [2, 7]])},
        see=lambda outputs: [word for word in texts(drawing(outputs)) if word.isdigit()],
    ),
    Case(
        "Print",
        "scores:\naccuracy: 0.5\nloss: 2",
        {"label": "scores"},
        {"value": {"accuracy": 0.5, "loss": 2.0}},
    ),
]

CASES = [*SAVED, *VIEWS]
