"""Data sets of torchvision and Hugging Face, which are optional packages."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from codefy_engine.nodes.base import NodeError
from codefy_engine.training.data import TensorDataset
from codefy_engine.training.synthetic import tensor_of


def optional(module: str, package: str, extra: str) -> Any:
    """Import an optional package.

    Raises:
        NodeError: it is not installed; says how to install it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise NodeError(
            f'this node needs {package}: install it with  pip install "codefy-engine[{extra}]"  where the run executes'
        ) from error


def torchvision_set(
    name: str,
    root: Path,
    *,
    train: bool,
    size: int | None,
    download: bool,
    limit: int | None,
    check_stop: Callable[[], None],
    progress: Callable[[int, int], None],
) -> TensorDataset:
    """A data set of ``torchvision.datasets``: float32 images ``[n, channels, h, w]`` from 0 to 1.

    Raises:
        NodeError: torchvision is not installed, or the files are not there.
    """
    sets = optional("torchvision.datasets", "torchvision", "vision")
    make = getattr(sets, name)
    where = {"split": "train" if train else "test"} if name in ("SVHN", "STL10") else {"train": train}
    try:
        loaded = make(root=str(root), download=download, **where)
    except RuntimeError as error:
        raise NodeError(f"{name} is not there: {error}") from error
    count = len(loaded) if limit is None else min(limit, len(loaded))
    images: list[Tensor] = []
    targets: list[int] = []
    for index in range(count):
        check_stop()
        picture, target = loaded[index]
        images.append(_pixels(picture, size))
        targets.append(int(target))
        progress(index + 1, count)
    names = cast("list[str]", getattr(loaded, "classes", None) or [])
    return TensorDataset(
        inputs=torch.stack(images),
        targets=torch.tensor(targets, dtype=torch.int64),
        name=name,
        class_names=tuple(map(str, names)),
    )


def hugging_face_set(
    path: str,
    *,
    subset: str,
    split: str,
    input_column: str,
    target_column: str,
    size: int | None,
    limit: int | None,
    cache: Path,
    check_stop: Callable[[], None],
    progress: Callable[[int, int], None],
) -> TensorDataset:
    """Two columns of a data set of the Hugging Face hub; images become ``[channels, h, w]`` from 0 to 1.

    Raises:
        NodeError: ``datasets`` is not installed, the set or a column is not there, or samples differ in shape.
    """
    hub = optional("datasets", "Hugging Face datasets", "hugging-face")
    try:
        loaded = hub.load_dataset(path, subset or None, split=split, cache_dir=str(cache))
    except Exception as error:  # its errors have no base of their own
        raise NodeError(f"the data set {path} cannot be loaded: {error}") from error
    columns = list(loaded.column_names)
    for column in (input_column, target_column):
        if column not in columns:
            raise NodeError(f"{path} has no column {column!r}; it has {', '.join(columns)}")
    count = len(loaded) if limit is None else min(limit, len(loaded))
    inputs: list[Tensor] = []
    targets: list[Any] = []
    for index in range(count):
        check_stop()
        row = loaded[index]
        inputs.append(_pixels(row[input_column], size))
        targets.append(row[target_column])
        progress(index + 1, count)
    if len({tuple(item.shape) for item in inputs}) != 1:
        raise NodeError(f"the samples of {path} differ in shape: give a size")
    names = tuple(str(name) for name in getattr(loaded.features[target_column], "names", None) or ())
    if all(isinstance(value, int) for value in targets):
        return TensorDataset(
            inputs=torch.stack(inputs),
            targets=torch.tensor(targets, dtype=torch.int64),
            name=path,
            class_names=names,
        )
    numbers = tensor_of(targets, torch.float32)
    return TensorDataset(inputs=torch.stack(inputs), targets=numbers.reshape(len(numbers), -1), name=path)


def _pixels(value: Any, size: int | None) -> Tensor:
    if hasattr(value, "convert"):
        picture = value if value.mode in ("L", "RGB") else value.convert("RGB")
        pixels = tensor_of(np.asarray(picture), torch.float32) / 255
        image = pixels.unsqueeze(0) if pixels.dim() == 2 else pixels.permute(2, 0, 1)
        if size is not None and image.shape[1:] != (size, size):
            image = functional.interpolate(
                image.unsqueeze(0), (size, size), mode="bilinear", align_corners=False, antialias=True
            ).squeeze(0)
        return image.contiguous()
    return tensor_of(value, torch.float32)
