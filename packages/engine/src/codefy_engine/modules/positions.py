"""Where in a sequence, or when in a process: positions and time steps as vectors."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def sinusoids(positions: Tensor, width: int, *, period: float = 10_000.0) -> Tensor:
    """Sines and cosines of falling frequency for each position, after Vaswani et al. (2017), section 3.5.

    ``positions`` is ``[…]``; the result ``[…, width]`` has ``sin(p · w_i)`` at ``2 i`` and ``cos(p · w_i)`` at
    ``2 i + 1`` with ``w_i = period^(-2 i / width)``.
    """
    pairs = torch.arange((width + 1) // 2, device=positions.device, dtype=torch.float32)
    angles = positions.float().unsqueeze(-1) * torch.exp(pairs * (-2 * math.log(period) / width))
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)[..., :width]


class SinusoidalPositions(nn.Module):
    """Adds :func:`sinusoids` of the positions to ``x`` ``[n, t, width]``, of any length."""

    def forward(self, x: Tensor) -> Tensor:
        positions = torch.arange(x.shape[1], device=x.device)
        return x + sinusoids(positions, x.shape[2]).to(x.dtype)


class LearnedPositions(nn.Module):
    """Adds a trained vector for every position to ``x`` ``[n, t, width]``; t is at most ``length``."""

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(length, width) * 0.02)

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[1] > self.weight.shape[0]:
            raise ValueError(f"it knows {self.weight.shape[0]} positions, got {x.shape[1]}")
        return x + self.weight[: x.shape[1]]


class TimestepEmbedding(nn.Module):
    """:func:`sinusoids` of the time steps ``[n]``: ``[n, width]``."""

    def __init__(self, width: int, period: float) -> None:
        super().__init__()
        self.width = width
        self.period = period

    def forward(self, x: Tensor) -> Tensor:
        return sinusoids(x, self.width, period=self.period)

    def extra_repr(self) -> str:
        return f"{self.width}, period={self.period:g}"


class ClassToken(nn.Module):
    """Puts one trained vector before ``x`` ``[n, t, width]``: ``[n, t + 1, width]``."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width) * 0.02)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat((self.weight.expand(x.shape[0], 1, -1), x), dim=1)


class PatchEmbedding(nn.Module):
    """Cuts images ``[n, c, h, w]`` into squares and makes a vector of each: ``[n, (h/p)·(w/p), width]``."""

    def __init__(self, channels: int, width: int, patch: int) -> None:
        super().__init__()
        self.projection = nn.Conv2d(channels, width, patch, stride=patch)

    def forward(self, x: Tensor) -> Tensor:
        return self.projection(x).flatten(2).transpose(1, 2)
