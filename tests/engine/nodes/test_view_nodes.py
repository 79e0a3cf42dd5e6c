"""Pictures show the numbers that they were given, on light and dark pages."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from codefy_engine.nodes.builtin import views_charts
from codefy_engine.training.charts import line_chart, ticks
from codefy_engine.training.data import TensorDataset
from codefy_engine.training.sklearn_data import load_sklearn

SVG = "{http://www.w3.org/2000/svg}"


@dataclass
class Ctx:
    """Keeps artifacts."""

    folder: Path
    kept: list[tuple[str, str, str]] = field(default_factory=list)

    def artifact_path(self, name: str) -> Path:
        return self.folder / name

    def artifact(self, kind: str, name: str, path: Path, media_type: str, meta: dict[str, Any]) -> None:
        assert path.is_file()
        self.kept.append((kind, name, media_type))


@pytest.fixture
def ctx(tmp_path: Path) -> Ctx:
    return Ctx(tmp_path)


def draw(cls: Any, params: dict[str, Any], ctx: Ctx, /, **inputs: Any) -> ET.Element:
    found = cls.create(params, **inputs).run(ctx)
    path = Path(found["picture"] if isinstance(found, dict) else found)
    assert ctx.kept[-1] == ("image", path.name, "image/svg+xml")
    text = path.read_text()
    assert "prefers-color-scheme:dark" in text
    root = ET.fromstring(text)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    for circle in root.iter(f"{SVG}circle"):
        assert 0 <= float(circle.get("cx", -1)) <= width
        assert 0 <= float(circle.get("cy", -1)) <= height
    return root


def texts(root: ET.Element) -> list[str]:
    return [item.text or "" for item in root.iter(f"{SVG}text")]


def points(line: ET.Element) -> list[tuple[float, float]]:
    return [tuple(map(float, pair.split(","))) for pair in line.get("points", "").split()]  # type: ignore[misc]


def test_lines_go_through_their_numbers(ctx: Ctx) -> None:
    values = torch.tensor([[0.0, 1.0, 4.0, 9.0], [9.0, 4.0, 1.0, 0.0]])
    root = draw(views_charts.LineChart, {"title": "Two <lines>", "x_name": "t"}, ctx, value=values)
    first, second = (points(line) for line in root.iter(f"{SVG}polyline"))
    assert texts(root)[0] == "Two <lines>"
    assert ctx.kept[0][1] == "Two-lines.svg"
    # Pixels grow downwards and in proportion.
    assert first[3][1] < first[0][1]
    assert (first[0][1] - first[2][1]) / (first[0][1] - first[3][1]) == pytest.approx(4 / 9, abs=0.01)
    assert [y for _, y in second] == [y for _, y in reversed(first)]
    assert "t" in texts(root)


def test_a_line_breaks_at_what_is_no_number(ctx: Ctx) -> None:
    root = draw(views_charts.LineChart, {}, ctx, value=[1.0, 2.0, float("nan"), 3.0, float("inf"), 2.0, 1.0])
    assert [len(points(line)) for line in root.iter(f"{SVG}polyline")] == [2, 2]
    with pytest.raises(ValueError, match="no point is finite"):
        draw(views_charts.LineChart, {}, ctx, value=[float("nan")])
    with pytest.raises(ValueError, match="got a str"):
        draw(views_charts.LineChart, {}, ctx, value="abc")


def test_the_history_of_a_training_is_drawn(ctx: Ctx) -> None:
    history = [
        {"epoch": e, "train_loss": 1 / e, "val_loss": 2 / e, "lr": 0.1, "step": 5 * e} for e in (1, 2, 3)
    ]
    root = draw(views_charts.LineChart, {}, ctx, value={"history": history})
    names = [line.findtext(f"{SVG}title") for line in root.iter(f"{SVG}polyline")]
    assert names == ["train_loss", "val_loss"]
    assert "epoch" in texts(root)
    with pytest.raises(ValueError, match="no history"):
        draw(views_charts.LineChart, {}, ctx, value={"accuracy": 1.0})


def test_a_histogram_counts_like_numpy(ctx: Ctx) -> None:
    values = torch.randn(200, generator=torch.Generator().manual_seed(0))
    node = views_charts.Histogram.create({"bins": 12}, value=torch.cat((values, torch.tensor([torch.nan]))))
    found = node.run(ctx)
    assert found["counts"].tolist() == np.histogram(values.numpy(), 12)[0].tolist()
    root = ET.fromstring(Path(found["picture"]).read_text())
    tips = [rect.findtext(f"{SVG}title") for rect in root.iter(f"{SVG}rect")][1:]
    assert [int((tip or "").split(": ")[1]) for tip in tips] == found["counts"].tolist()
    same = views_charts.Histogram.create({"bins": 3}, value=[2.0, 2.0]).run(ctx)
    assert same["counts"].tolist() == [0, 2, 0]
    with pytest.raises(ValueError, match="no number is finite"):
        views_charts.Histogram.create({}, value=[float("inf")]).run(ctx)


def test_points_have_the_colours_of_their_classes(ctx: Ctx) -> None:
    iris = load_sklearn("iris")
    root = draw(views_charts.ScatterPlot, {"first": 3, "second": 4}, ctx, points=iris)
    named = [circle.findtext(f"{SVG}title") for circle in root.iter(f"{SVG}circle")]
    assert {name: named.count(name) for name in ("setosa", "versicolor", "virginica")} == {
        "setosa": 50,
        "versicolor": 50,
        "virginica": 50,
    }
    assert iris.feature_names[2] in texts(root)
    groups = torch.tensor([0, 0, -1])
    root = draw(views_charts.ScatterPlot, {}, ctx, points=torch.rand(3, 2), groups=groups)
    assert sorted(c.findtext(f"{SVG}title") or "" for c in root.iter(f"{SVG}circle"))[2:] == [
        "0",
        "0",
        "none",
    ]
    with pytest.raises(ValueError, match="3 points need as many groups, got 2"):
        draw(views_charts.ScatterPlot, {}, ctx, points=torch.rand(3, 2), groups=groups[:2])
    with pytest.raises(ValueError, match="features 1 and 5"):
        draw(views_charts.ScatterPlot, {"second": 5}, ctx, points=torch.rand(3, 2))


def test_a_heat_map_is_deeper_where_numbers_are_larger(ctx: Ctx) -> None:
    root = draw(views_charts.HeatMap, {}, ctx, value=torch.tensor([[0.0, 1.0], [2.0, 4.0]]))
    cells = [float(r.get("fill-opacity", 0)) for r in root.iter(f"{SVG}rect") if r.get("class") == "heat"]
    assert cells == sorted(cells) and cells[0] == pytest.approx(0.06) and cells[3] == pytest.approx(1.0)
    assert texts(root)[-1] == "0 (pale) to 4 (deep)"
    with pytest.raises(ValueError, match="too many to tell apart"):
        draw(views_charts.HeatMap, {}, ctx, value=torch.zeros(200, 200))


@pytest.mark.parametrize("channels", [1, 3])
def test_images_stand_side_by_side(ctx: Ctx, channels: int) -> None:
    images = torch.rand(5, channels, 3, 4)
    params = {"count": 5, "columns": 3, "zoom": 2}
    path = views_charts.ImageGrid.create(params, images=images).run(ctx)
    assert ctx.kept == [("image", "Image-grid.png", "image/png")]
    with Image.open(io.BytesIO(Path(path).read_bytes())) as picture:
        assert (picture.mode, picture.size) == ("RGBA", (3 * 10 - 2, 2 * 8 - 2))
        pixels = np.array(picture)
    expected = (images[4].expand(3, -1, -1) * 255).round().to(torch.uint8).permute(1, 2, 0).numpy()
    assert (pixels[8:14:2, 10:18:2, :3] == expected).all()
    # Gaps and the place of a sixth image let the page through.
    assert (pixels[6:8, :, 3] == 0).all()
    assert (pixels[8:, 20:, 3] == 0).all()


def test_brightness_may_follow_the_numbers(ctx: Ctx) -> None:
    images = torch.stack((torch.zeros(1, 2, 2), torch.ones(1, 2, 2) * 10))
    images[0, 0, 0, 0], images[1, 0, 0, 0] = -10, 0
    data = TensorDataset(inputs=images, targets=torch.zeros(2, 1))

    def shades(scale: str) -> list[set[int]]:
        path = views_charts.ImageGrid.create({"zoom": 1, "scale": scale}, images=data).run(ctx)
        with Image.open(path) as picture:
            pixels = np.array(picture)[..., 0]
        return [set(pixels[:, :2].ravel().tolist()), set(pixels[:, 4:].ravel().tolist())]

    assert shades("unit") == [{0}, {0, 255}]
    assert shades("all") == [{0, 128}, {128, 255}]
    assert shades("each") == [{0, 255}, {0, 255}]
    with pytest.raises(ValueError, match="images are"):
        views_charts.ImageGrid.create({}, images=torch.ones(2, 2)).run(ctx)


def test_a_confusion_matrix_has_its_counts_and_names(ctx: Ctx) -> None:
    matrix = torch.tensor([[5, 1], [2, 7]])
    root = draw(views_charts.ConfusionMatrix, {"names": "cat, dog"}, ctx, confusion=matrix)
    shown = texts(root)
    assert [word for word in shown if re.fullmatch(r"\d+", word)] == ["5", "1", "2", "7"]
    assert shown.count("cat") + sum("cat" in "".join(t.itertext()) for t in root.iter(f"{SVG}text")) >= 2
    with pytest.raises(ValueError, match="a confusion matrix is"):
        draw(views_charts.ConfusionMatrix, {}, ctx, confusion=torch.ones(2, 3))


def test_ticks_are_round_numbers_within_the_range() -> None:
    assert ticks(0.0, 1.0) == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert ticks(-3.0, 47.0) == pytest.approx([0, 10, 20, 30, 40])
    assert ticks(0.0012, 0.0031)[0] >= 0.0012


def test_a_flat_line_has_a_range() -> None:
    assert "<polyline" in line_chart([("", [(0, 5.0), (1, 5.0)])], title="flat")
