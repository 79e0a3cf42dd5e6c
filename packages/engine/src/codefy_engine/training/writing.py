"""Tables, images and texts to files, each whole or not at all."""

from __future__ import annotations

import csv
import io
import re
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from torch import Tensor

from codefy_engine.nodes.base import NodeContext, NodeError
from codefy_engine.training.data import TensorDataset
from codefy_engine.training.pictures import png_bytes, to_bytes

_LOOK_EVERY = 1000


def replace_file(path: Path, data: bytes) -> None:
    """Write ``path`` so that it is either the old file or the whole new one.

    Raises:
        NodeError: a folder is there already.
    """
    if path.is_dir():
        raise NodeError(f"{path.name} is a folder: a file cannot take its place")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def write_csv(path: Path, value: Any, names: list[str], check_stop: Callable[[], None]) -> None:
    """A tensor, a data set or metrics as a table with a header.

    Raises:
        ValueError: it is no table, or has another number of columns than names.
    """
    columns, rows = table_of(value)
    if names:
        if len(names) != len(columns):
            raise ValueError(f"{len(columns)} columns need as many names, got {len(names)}")
        columns = names
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    for index, row in enumerate(rows):
        if index % _LOOK_EVERY == 0:
            check_stop()
        writer.writerow(row)
    replace_file(path, text.getvalue().encode())


def table_of(value: Any) -> tuple[list[str], list[list[Any]]]:
    """Names of columns, and rows.

    Raises:
        ValueError: it is no table.
    """
    if isinstance(value, TensorDataset):
        return _dataset_table(value)
    if isinstance(value, Tensor):
        if value.dim() not in (1, 2):
            raise ValueError(f"a table needs a tensor [n] or [n, columns], got {list(value.shape)}")
        rows = _rows(value.reshape(len(value), -1))
        return [f"x{index + 1}" for index in range(value.shape[1] if value.dim() == 2 else 1)], rows
    if isinstance(value, Mapping):
        metrics = cast("Mapping[str, Any]", value)
        history = cast("list[Mapping[str, Any]]", metrics.get("history") or [metrics])
        columns = list(dict.fromkeys(name for row in history for name in row if name != "history"))
        return columns, [[row.get(name, "") for name in columns] for row in history]
    raise ValueError(f"a {type(value).__name__} is no table")


def _dataset_table(data: TensorDataset) -> tuple[list[str], list[list[Any]]]:
    samples = _rows(data.inputs.reshape(len(data), -1))
    width = len(samples[0]) if samples else 0
    features = data.feature_names if len(data.feature_names) == width else [f"x{i + 1}" for i in range(width)]
    targets: list[list[Any]] = _rows(data.targets.reshape(len(data), -1))
    wide = len(targets[0]) if targets else 1
    aims = ["target"] if wide == 1 else [f"target{index + 1}" for index in range(wide)]
    if data.classification and data.class_names:
        targets = [[data.class_names[int(label)] for label in row] for row in targets]
    return [*features, *aims], [[*sample, *aim] for sample, aim in zip(samples, targets, strict=True)]


def _rows(values: Tensor) -> list[list[Any]]:
    return cast("Any", values.detach().cpu()).tolist()


def write_images(ctx: NodeContext, folder: Path, value: Any, count: int | None) -> int:
    """Images as PNG files in ``folder``; how many were written.

    Raises:
        ValueError: these are no images.
    """
    dataset = value if isinstance(value, TensorDataset) else None
    images = value.inputs if isinstance(value, TensorDataset) else cast("Tensor", value)
    if not isinstance(cast("Any", images), Tensor) or images.dim() != 4 or images.shape[1] not in (1, 3):
        shape = list(images.shape) if isinstance(cast("Any", images), Tensor) else type(images).__name__
        raise ValueError(f"images are [n, 1 or 3, height, width], got {shape}")
    pixels = to_bytes(images[:count].cpu())
    labels: list[int] = []
    if dataset is not None and dataset.classification and dataset.targets.dim() == 1:
        labels = cast("Any", dataset.targets).tolist()
    for index in range(len(pixels)):
        ctx.check_stop()
        place = folder / _class_folder(dataset, labels[index]) if labels and dataset else folder
        replace_file(place / f"{index:04d}.png", png_bytes(pixels[index]))
        ctx.progress(current=index + 1, total=len(pixels), unit="images")
    return len(pixels)


def _class_folder(dataset: TensorDataset, label: int) -> str:
    name = dataset.class_names[label] if label < len(dataset.class_names) else str(label)
    return re.sub(r"[^\w -]+", "_", name) or "_"
