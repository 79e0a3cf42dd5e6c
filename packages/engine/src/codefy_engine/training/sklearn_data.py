"""The data sets that ship with scikit-learn, as tensors (G-7: everything works offline)."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from codefy_engine.nodes.base import NodeError
from codefy_engine.training.data import TensorDataset
from codefy_engine.training.synthetic import tensor_of

NAMES = ("digits", "wine", "iris", "breast_cancer", "diabetes", "linnerud")
DOWNLOADED = ("california_housing", "olivetti_faces", "covtype")


def load_sklearn(name: str) -> TensorDataset:
    """One of :data:`NAMES`. Inputs are float32; digits are ``[1797, 1, 8, 8]`` from 0 to 1, the others ``[n, k]``.

    Raises:
        ValueError: no such data set.
    """
    if name not in NAMES:
        raise ValueError(f"there is no data set {name!r}; there are {', '.join(NAMES)}")
    # scikit-learn has no type information that pyright can use.
    bunch = cast("Any", importlib.import_module("sklearn.datasets"))
    loaded = getattr(bunch, f"load_{name}")()
    # A copy: scikit-learn's own arrays may be shared and read-only.
    inputs = torch.from_numpy(np.array(loaded.data, dtype=np.float32))  # pyright: ignore[reportUnknownMemberType]
    features = tuple(str(feature) for feature in loaded.feature_names)
    if name == "diabetes":
        targets = torch.from_numpy(np.array(loaded.target, dtype=np.float32)).unsqueeze(1)  # pyright: ignore[reportUnknownMemberType]
        return TensorDataset(inputs=inputs, targets=targets, name=name, feature_names=features)
    if name == "linnerud":
        targets = torch.from_numpy(np.array(loaded.target, dtype=np.float32))  # pyright: ignore[reportUnknownMemberType]
        return TensorDataset(inputs=inputs, targets=targets, name=name, feature_names=features)
    targets = torch.from_numpy(np.array(loaded.target, dtype=np.int64))  # pyright: ignore[reportUnknownMemberType]
    classes = tuple(str(label) for label in loaded.target_names)
    if name == "digits":
        # 16 grey levels.
        images = inputs.reshape(-1, 1, 8, 8) / 16
        return TensorDataset(inputs=images, targets=targets, name=name, class_names=classes)
    return TensorDataset(
        inputs=inputs, targets=targets, name=name, class_names=classes, feature_names=features
    )


def fetch_sklearn(name: str, folder: Path) -> TensorDataset:
    """One of :data:`DOWNLOADED`, kept in ``folder`` after the first time.

    Raises:
        NodeError: it cannot be downloaded.
        ValueError: no such data set.
    """
    if name not in DOWNLOADED:
        raise ValueError(f"there is no data set {name!r}; there are {', '.join(DOWNLOADED)}")
    sets = cast("Any", importlib.import_module("sklearn.datasets"))
    try:
        loaded = getattr(sets, f"fetch_{name}")(data_home=str(folder))
    except OSError as error:
        raise NodeError(f"{name} cannot be downloaded: {error}") from error
    inputs = tensor_of(loaded.data, torch.float32)
    features = tuple(str(feature) for feature in getattr(loaded, "feature_names", None) or ())
    if name == "california_housing":
        targets = tensor_of(loaded.target, torch.float32).unsqueeze(1)
        return TensorDataset(inputs=inputs, targets=targets, name=name, feature_names=features)
    targets = tensor_of(loaded.target, torch.int64)
    if name == "olivetti_faces":
        inputs, features = inputs.reshape(-1, 1, 64, 64), ()
    # The kinds of forest are numbered from 1.
    targets = targets - targets.min()
    names = tuple(str(number) for number in range(int(targets.max()) + 1))
    return TensorDataset(inputs=inputs, targets=targets, name=name, class_names=names, feature_names=features)
