"""Scores of a model on data it did not learn from: confusion matrix, accuracy, F1, and errors of a regression."""

from __future__ import annotations

import torch
from torch import Tensor


def confusion_matrix(predicted: Tensor, true: Tensor, classes: int) -> Tensor:
    """How often class ``i`` was taken for class ``j``, at ``[i, j]``: int64 ``[classes, classes]``.

    ``predicted`` and ``true`` are int64 ``[n]``.

    Raises:
        ValueError: a class number is outside ``0 … classes - 1``.
    """
    for what, values in (("predicted", predicted), ("true", true)):
        if len(values) and (int(values.min()) < 0 or int(values.max()) >= classes):
            raise ValueError(f"a {what} class lies outside 0 to {classes - 1}")
    counts = torch.bincount(true * classes + predicted, minlength=classes * classes)
    return counts.reshape(classes, classes)


def accuracy(confusion: Tensor) -> float:
    """Share of right predictions, 0 to 1; 0 without any prediction."""
    total = int(confusion.sum())
    return int(confusion.trace()) / total if total else 0.0


def macro_f1(confusion: Tensor) -> float:
    """Mean over the classes of ``2 TP / (2 TP + FP + FN)``, 0 to 1.

    Classes that were neither there nor predicted do not count, like in scikit-learn's ``f1_score``.
    """
    counts = confusion.double()
    hits = counts.diagonal()
    involved = counts.sum(0) + counts.sum(1)
    present = involved > 0
    if not bool(present.any()):
        return 0.0
    return float((2 * hits[present] / involved[present]).mean())


def regression_scores(outputs: Tensor, targets: Tensor) -> dict[str, float]:
    """Mean absolute error, root mean squared error and R² over all numbers; both ``[n, …]`` of one shape.

    R² is ``1 - SS_res / SS_tot``, and 0 when the targets are all equal.
    """
    difference = (outputs - targets).double()
    spread = float((targets.double() - targets.double().mean()).square().sum())
    residual = float(difference.square().sum())
    return {
        "mae": float(difference.abs().mean()),
        "rmse": (residual / max(difference.numel(), 1)) ** 0.5,
        "r2": 1 - residual / spread if spread > 0 else 0.0,
    }
