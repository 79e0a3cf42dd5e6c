"""Data sets that are made on the spot, the same for the same seed."""

from __future__ import annotations

import importlib
import math
from typing import Any, Literal, cast

import numpy as np
import torch
from torch import Tensor

from codefy_engine.training.data import TensorDataset


def tensor_of(values: Any, dtype: torch.dtype) -> Tensor:
    """A tensor of its own with what an array, or nested lists, hold."""
    array = np.array(values)
    return torch.from_numpy(array).to(dtype)  # pyright: ignore[reportUnknownMemberType]


def classes_of(inputs: Any, targets: Any, name: str, classes: tuple[str, ...]) -> TensorDataset:
    """float32 samples with int64 class numbers."""
    return TensorDataset(
        inputs=tensor_of(inputs, torch.float32),
        targets=tensor_of(targets, torch.int64),
        name=name,
        class_names=classes,
    )


def two_dimensional(
    kind: Literal["moons", "circles"], samples: int, noise: float, factor: float, seed: int
) -> TensorDataset:
    """Two half moons or two rings in the plane, with scikit-learn's formulas."""
    made = cast("Any", importlib.import_module("sklearn.datasets"))
    if kind == "moons":
        inputs, targets = made.make_moons(n_samples=samples, noise=noise, random_state=seed)
        return classes_of(inputs, targets, "moons", ("upper", "lower"))
    inputs, targets = made.make_circles(n_samples=samples, noise=noise, factor=factor, random_state=seed)
    return classes_of(inputs, targets, "circles", ("outer", "inner"))


def blobs(samples: int, classes: int, features: int, spread: float, seed: int) -> TensorDataset:
    """Clouds of points around random centers, one per class."""
    made = cast("Any", importlib.import_module("sklearn.datasets"))
    inputs, targets = made.make_blobs(
        n_samples=samples, centers=classes, n_features=features, cluster_std=spread, random_state=seed
    )
    return classes_of(inputs, targets, "blobs", tuple(str(index) for index in range(classes)))


def regression(samples: int, features: int, informative: int, noise: float, seed: int) -> TensorDataset:
    """A random linear function of some of the features, with noise."""
    made = cast("Any", importlib.import_module("sklearn.datasets"))
    inputs, targets = made.make_regression(
        n_samples=samples,
        n_features=features,
        n_informative=min(informative, features),
        noise=noise,
        random_state=seed,
    )
    return TensorDataset(
        inputs=tensor_of(inputs, torch.float32),
        targets=tensor_of(targets, torch.float32).unsqueeze(1),
        name="regression",
        feature_names=tuple(f"x{index + 1}" for index in range(features)),
    )


def spirals(samples: int, arms: int, turns: float, noise: float, seed: int) -> TensorDataset:
    """Arms that wind out of one center; point ``i`` of an arm lies at radius and angle that grow together."""
    generator = torch.Generator()
    generator.manual_seed(seed)
    targets = torch.arange(samples) % arms
    share = (torch.arange(samples) // arms + 1) / max(1, -(-samples // arms))
    angle = 2 * math.pi * (targets / arms + turns * share)
    inputs = torch.stack((angle.cos(), angle.sin()), 1) * share.unsqueeze(1)
    inputs = inputs + noise * torch.randn(samples, 2, generator=generator)
    return TensorDataset(
        inputs=inputs, targets=targets, name="spirals", class_names=tuple(map(str, range(arms)))
    )


def wave(length: int, periods: list[float], noise: float, seed: int) -> Tensor:
    """``sum of sin(2 π t / period) / count`` for t = 0 … length - 1, with noise: float32 ``[length]``."""
    generator = torch.Generator()
    generator.manual_seed(seed)
    time = torch.arange(length, dtype=torch.float64)
    series = torch.stack([torch.sin(2 * math.pi * time / period) for period in periods]).mean(0)
    return (series + noise * torch.randn(length, generator=generator, dtype=torch.float64)).float()


def windows(series: Tensor, window: int, horizon: int) -> TensorDataset:
    """What came before and what comes next: inputs ``[n, window, 1]``, targets ``[n, horizon]``.

    Raises:
        ValueError: the series is shorter than one window and its horizon.
    """
    if len(series) < window + horizon:
        raise ValueError(
            f"a series of {len(series)} values has no window of {window} followed by {horizon}: make it longer"
        )
    pieces = series.unfold(0, window + horizon, 1)
    return TensorDataset(
        inputs=pieces[:, :window].unsqueeze(2).clone(), targets=pieces[:, window:].clone(), name="series"
    )
