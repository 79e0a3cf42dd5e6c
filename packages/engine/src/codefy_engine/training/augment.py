"""Random changes to batches of images or measurements while a model learns from them.

Every random number comes from the generator that is passed in, which lies on the CPU: a seed gives the same pictures on
every device, and a training that goes on from a checkpoint sees the ones it would have seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional


def _uniform(count: int, low: float, high: float, generator: torch.Generator) -> Tensor:
    return torch.empty(count).uniform_(low, high, generator=generator)


def _need_images(inputs: Tensor, what: str) -> None:
    if inputs.dim() != 4:
        raise ValueError(f"{what} needs images [n, channels, height, width], got {list(inputs.shape)}")


@dataclass(frozen=True)
class Flip:
    """Mirror each image with probability ``p``: left to right, or upside down."""

    p: float = 0.5
    vertical: bool = False

    def __call__(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        _need_images(inputs, "a flip")
        chosen = _uniform(len(inputs), 0, 1, generator) < self.p
        flipped = inputs.flip(2 if self.vertical else 3)
        return torch.where(chosen.to(inputs.device).reshape(-1, 1, 1, 1), flipped, inputs)


@dataclass(frozen=True)
class Shift:
    """Move each image by up to ``pixels`` in both directions; what comes in is 0."""

    pixels: int = 2

    def __call__(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        _need_images(inputs, "a shift")
        n, _, height, width = inputs.shape
        by = torch.randint(0, 2 * self.pixels + 1, (2, n), generator=generator).to(inputs.device)
        padded = functional.pad(inputs, (self.pixels,) * 4)
        rows = (by[0].reshape(-1, 1) + torch.arange(height, device=inputs.device)).reshape(n, 1, height, 1)
        columns = (by[1].reshape(-1, 1) + torch.arange(width, device=inputs.device)).reshape(n, 1, 1, width)
        tall = padded.gather(2, rows.expand(-1, padded.shape[1], -1, padded.shape[3]))
        return tall.gather(3, columns.expand(-1, tall.shape[1], height, -1))


@dataclass(frozen=True)
class Rotate:
    """Turn each image by up to ``degrees`` either way and scale it by up to ``zoom`` either way, bilinearly."""

    degrees: float = 10.0
    zoom: float = 0.0

    def __call__(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        _need_images(inputs, "a rotation")
        n, _, height, width = inputs.shape
        angle = _uniform(n, -self.degrees, self.degrees, generator) * (math.pi / 180)
        scale = 1 / (1 + _uniform(n, -self.zoom, self.zoom, generator))
        cos, sin, zero = angle.cos() * scale, angle.sin() * scale, torch.zeros(n)
        ratio = height / width
        matrix = torch.stack((cos, -sin * ratio, zero, sin / ratio, cos, zero), 1).reshape(n, 2, 3)
        grid = functional.affine_grid(
            matrix.to(inputs.device, inputs.dtype), list(inputs.shape), align_corners=False
        )
        return functional.grid_sample(inputs, grid, align_corners=False)


@dataclass(frozen=True)
class Noise:
    """Add normal noise of deviation ``deviation`` to every number."""

    deviation: float = 0.05

    def __call__(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        noise = torch.randn(inputs.shape, generator=generator).to(inputs.device, inputs.dtype)
        return inputs + self.deviation * noise


@dataclass(frozen=True)
class Erase:
    """Set a square of ``size`` pixels at a random place to 0, in each image with probability ``p``."""

    size: int = 2
    p: float = 0.5

    def __call__(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        _need_images(inputs, "erasing")
        n, _, height, width = inputs.shape
        chosen = _uniform(n, 0, 1, generator) < self.p
        top = torch.randint(0, max(1, height - self.size + 1), (n,), generator=generator).reshape(-1, 1)
        left = torch.randint(0, max(1, width - self.size + 1), (n,), generator=generator).reshape(-1, 1)
        row, column = torch.arange(height), torch.arange(width)
        rows = (row >= top) & (row < top + self.size)
        columns = (column >= left) & (column < left + self.size)
        hole = rows.unsqueeze(2) & columns.unsqueeze(1) & chosen.reshape(-1, 1, 1)
        return inputs.masked_fill(hole.unsqueeze(1).to(inputs.device), 0.0)


@dataclass(frozen=True)
class Brightness:
    """Multiply each sample's contrast about its mean, and its brightness, by up to these shares either way."""

    brightness: float = 0.2
    contrast: float = 0.2

    def __call__(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        shape = (-1, *(1,) * (inputs.dim() - 1))
        bright = 1 + _uniform(len(inputs), -self.brightness, self.brightness, generator)
        strong = 1 + _uniform(len(inputs), -self.contrast, self.contrast, generator)
        bright = bright.to(inputs.device, inputs.dtype).reshape(shape)
        strong = strong.to(inputs.device, inputs.dtype).reshape(shape)
        mean = inputs.mean(dim=tuple(range(1, inputs.dim())), keepdim=True)
        return ((inputs - mean) * strong + mean) * bright
