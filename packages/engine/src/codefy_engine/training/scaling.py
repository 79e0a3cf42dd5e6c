"""A scale that is learned from training data and applied to other data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from codefy_engine.training.data import TensorDataset


@dataclass(frozen=True)
class Scale:
    """``(x - shift) / size``; a size of 0 counts as 1."""

    shift: Tensor
    size: Tensor

    def __call__(self, dataset: TensorDataset) -> TensorDataset:
        size = torch.where(self.size > 0, self.size, torch.ones_like(self.size))
        return replace(dataset, inputs=(dataset.inputs - self.shift) / size)


def fit_scale(
    dataset: TensorDataset, *, method: Literal["standard", "range"], per: Literal["feature", "channel"]
) -> Scale:
    """Learn a scale from a data set's inputs.

    Raises:
        ValueError: there are no samples, or they have no channels.
    """
    inputs = dataset.inputs
    if not len(inputs):
        raise ValueError("there is no training data to learn a scale from")
    dims = [0]
    if per == "channel":
        if inputs.dim() < 2:
            raise ValueError("samples that are single numbers have no channels")
        dims += list(range(2, inputs.dim()))
    if method == "standard":
        return Scale(inputs.mean(dim=dims, keepdim=True), inputs.std(dim=dims, keepdim=True, correction=0))
    low = inputs.amin(dim=dims, keepdim=True)
    return Scale(low, inputs.amax(dim=dims, keepdim=True) - low)
