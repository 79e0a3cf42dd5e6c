"""Modules with several inputs, where branches of a network meet."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Sum(nn.Module):
    """``a + b``, broadcasting."""

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return a + b


class Product(nn.Module):
    """``a · b``, broadcasting."""

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return a * b


class Join(nn.Module):
    """``a`` and ``b`` one after the other along ``dim`` (the batch is 0)."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.cat((a, b), dim=self.dim)
