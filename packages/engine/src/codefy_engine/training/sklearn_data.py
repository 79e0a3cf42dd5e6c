"""The data sets that ship with scikit-learn, as tensors (G-7: everything works offline)."""

from __future__ import annotations

import importlib
from typing import Any, cast

import numpy as np
import torch

from codefy_engine.training.data import TensorDataset

NAMES = ("digits", "wine", "iris", "breast_cancer", "diabetes")


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
    targets = torch.from_numpy(np.array(loaded.target, dtype=np.int64))  # pyright: ignore[reportUnknownMemberType]
    classes = tuple(str(label) for label in loaded.target_names)
    if name == "digits":
        # 16 grey levels.
        images = inputs.reshape(-1, 1, 8, 8) / 16
        return TensorDataset(inputs=images, targets=targets, name=name, class_names=classes)
    return TensorDataset(
        inputs=inputs, targets=targets, name=name, class_names=classes, feature_names=features
    )
