"""From the values that views get to the charts and pictures that they write."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, cast

import torch
from torch import Tensor

from codefy_engine.nodes.base import NodeContext
from codefy_engine.training.charts import Points, bar_chart, heat_map, line_chart, scatter_chart
from codefy_engine.training.confusion_picture import confusion_svg
from codefy_engine.training.data import TensorDataset
from codefy_engine.training.pictures import image_grid, png_bytes

MOST_POINTS = 4000
"""Of one line or group: more are thinned evenly, which a picture of this size does not show."""


def write_svg(ctx: NodeContext, title: str, svg: str) -> str:
    """Keep a picture as an artifact; gives its path."""
    return _write(ctx, title, "svg", "image/svg+xml", svg.encode())


def _write(ctx: NodeContext, title: str, suffix: str, media_type: str, data: bytes) -> str:
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", title).strip("-")[:60] or "picture"
    name = f"{stem}.{suffix}"
    path = ctx.artifact_path(name)
    path.write_bytes(data)
    ctx.artifact("image", name, path, media_type, {"title": title})
    return str(path)


def lines_of(value: Any) -> list[tuple[str, Points]]:
    """Series of a tensor ``[n]`` or ``[series, n]``, a list of numbers, or the metrics of a training.

    Raises:
        ValueError: it has no numbers that make a line.
    """
    if isinstance(value, Mapping):
        return _history(cast("Mapping[str, Any]", value))
    numbers = _tensor(value)
    if numbers.dim() == 1:
        numbers = numbers.unsqueeze(0)
    if numbers.dim() != 2:
        raise ValueError(f"lines need a tensor [n] or [series, n], got {list(numbers.shape)}")
    rows: list[list[float]] = cast("Any", numbers).tolist()
    names = [""] if len(rows) == 1 else [str(index + 1) for index in range(len(rows))]
    return [(name, _thin(list(enumerate(row)))) for name, row in zip(names, rows, strict=True)]


def _history(values: Mapping[str, Any]) -> list[tuple[str, Points]]:
    history = cast("list[Mapping[str, float]]", values.get("history") or [])
    if not history:
        raise ValueError("these metrics have no history of epochs to draw")
    names = [name for name in history[0] if name.endswith(("loss", "accuracy"))]
    return [
        (
            name,
            _thin(
                [(row.get("epoch", index + 1), row[name]) for index, row in enumerate(history) if name in row]
            ),
        )
        for name in names
    ]


def histogram_svg(value: Any, *, bins: int, title: str) -> tuple[str, list[int]]:
    """A histogram, and how many numbers fell into each bin; numbers that are not finite are left out.

    Raises:
        ValueError: there is no finite number.
    """
    numbers = _tensor(value).flatten()
    finite = numbers[numbers.isfinite()]
    if not len(finite):
        raise ValueError("there is nothing to count: no number is finite")
    low, high = float(finite.min()), float(finite.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    counts: list[int] = cast("Any", torch.histc(finite, bins, low, high).long()).tolist()
    width = (high - low) / bins
    bars = [(low + i * width, low + (i + 1) * width, float(count)) for i, count in enumerate(counts)]
    return bar_chart(bars, title=title, x="value", y="count"), counts


def scatter_svg(
    points: Any, groups: Tensor | None, *, first: int, second: int, title: str, names: tuple[str, ...] = ()
) -> str:
    """Points ``[n, features]`` by two of their features, coloured by ``groups`` ``[n]`` when given.

    Raises:
        ValueError: the features are not there, or the groups are of another number.
    """
    coordinates = _tensor(points)
    axes = [f"x{first}", f"x{second}"]
    if isinstance(points, TensorDataset):
        if groups is None and points.classification and points.targets.dim() == 1:
            groups, names = points.targets, names or points.class_names
        if len(points.feature_names) >= max(first, second):
            axes = [points.feature_names[first - 1], points.feature_names[second - 1]]
    coordinates = coordinates.flatten(1) if coordinates.dim() > 2 else coordinates
    if coordinates.dim() != 2 or coordinates.shape[1] < max(first, second):
        raise ValueError(f"features {first} and {second} are not in {list(coordinates.shape)}")
    pairs = coordinates[:, [first - 1, second - 1]]
    if groups is None:
        return scatter_chart([("", _pairs(pairs))], title=title, x=axes[0], y=axes[1])
    labels = groups.detach().cpu().flatten()
    if len(labels) != len(pairs):
        raise ValueError(f"{len(pairs)} points need as many groups, got {len(labels)}")
    parts: list[tuple[str, Points]] = []
    for label in sorted(set(cast("list[int]", cast("Any", labels).tolist()))):
        name = names[label] if 0 <= label < len(names) else "none" if label < 0 else str(label)
        parts.append((name, _pairs(pairs[labels == label])))
    return scatter_chart(parts, title=title, x=axes[0], y=axes[1])


def heat_svg(value: Any, *, title: str) -> str:
    """A heat map of a tensor ``[rows, columns]``.

    Raises:
        ValueError: another number of dimensions, or too many cells.
    """
    numbers = _tensor(value)
    if numbers.dim() == 1:
        numbers = numbers.unsqueeze(0)
    if numbers.dim() != 2:
        raise ValueError(f"a heat map needs a tensor [rows, columns], got {list(numbers.shape)}")
    if numbers.numel() > 10_000:
        raise ValueError(f"{numbers.numel():,} cells are too many to tell apart: 10,000 at most")
    return heat_map(cast("Any", numbers).tolist(), title=title)


def grid_png(
    ctx: NodeContext,
    value: Any,
    *,
    count: int,
    columns: int,
    zoom: int,
    scale: Literal["unit", "all", "each"],
    title: str,
) -> str:
    """Write the first images of a tensor or data set side by side; gives the path.

    Raises:
        ValueError: these are no images.
    """
    images = value.inputs if isinstance(value, TensorDataset) else _tensor(value)
    if images.dim() == 3:
        images = images.unsqueeze(1)
    if images.dim() != 4 or images.shape[1] not in (1, 3, 4):
        raise ValueError(f"images are [n, 1 or 3, height, width], got {list(images.shape)}")
    if not len(images):
        raise ValueError("there is no image to show")
    grid = image_grid(images[:count], columns=columns, zoom=zoom, scale=scale)
    return _write(ctx, title, "png", "image/png", png_bytes(grid))


def confusion_chart(matrix: Tensor, names: list[str], title: str) -> str:
    """A confusion matrix ``[classes, classes]``; classes without a name are numbered.

    Raises:
        ValueError: the matrix is not square.
    """
    if matrix.dim() != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise ValueError(f"a confusion matrix is [classes, classes], got {list(matrix.shape)}")
    labels = [names[index] if index < len(names) else str(index) for index in range(len(matrix))]
    return confusion_svg(cast("Any", matrix.long().cpu()).tolist(), labels, title=title)


def line_svg(value: Any, *, title: str, x: str, y: str) -> str:
    """A chart of :func:`lines_of`."""
    epochs = isinstance(value, Mapping)
    return line_chart(lines_of(value), title=title, x=x or ("epoch" if epochs else ""), y=y)


def _tensor(value: Any) -> Tensor:
    if isinstance(value, TensorDataset):
        value = value.inputs
    if isinstance(value, Tensor):
        return value.detach().cpu().float()
    try:
        return torch.tensor(value, dtype=torch.float32)
    except (TypeError, ValueError) as error:
        raise ValueError(f"numbers are needed, got a {type(value).__name__}") from error


def _pairs(points: Tensor) -> Points:
    rows: list[list[float]] = cast("Any", points).tolist()
    return _thin([(row[0], row[1]) for row in rows])


def _thin(points: list[tuple[float, float]]) -> Points:
    step = -(-len(points) // MOST_POINTS)
    return points[::step] if step > 1 else points
