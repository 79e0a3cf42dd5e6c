"""Modules that draw random numbers from a generator of their own.

A server trains several graphs in one process, and torch's global generator is shared by all of them. What a layer
draws here depends on its seed alone; the generator's state is part of a checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import torch
from torch import Tensor, nn

from codefy_engine.training.seeding import SeededDropout, derive_seed


class SeededModule(nn.Module):
    """Base of modules with a generator. Without a seed they draw from torch's global one."""

    def __init__(self) -> None:
        super().__init__()
        self.seed: int | None = None
        self._generator: torch.Generator | None = None

    def generator(self, device: torch.device) -> torch.Generator | None:
        """The generator on ``device``, made from the seed at first; ``None`` without a seed."""
        if self.seed is None or device.type == "meta":
            return None
        if self._generator is None or self._generator.device.type != device.type:
            self._generator = torch.Generator(device)
            self._generator.manual_seed(self.seed)
        return self._generator

    def generator_state(self) -> Tensor | None:
        """State of the generator, or ``None`` while it was not used."""
        return None if self._generator is None else self._generator.get_state()

    def restore_generator(self, state: Tensor, device: torch.device) -> None:
        """Go on from a state that :meth:`generator_state` gave on the same kind of device."""
        self._generator = torch.Generator(device)
        self._generator.set_state(state)


class ChannelDropout(SeededModule):
    """Dropout of whole channels, ``[n, c, …]``; the same arithmetic as ``torch.nn.Dropout1d`` to ``3d``."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        keep = 1 - self.p
        mask = x.new_empty((*x.shape[:2], *(1 for _ in x.shape[2:])))
        return x * mask.bernoulli_(keep, generator=self.generator(x.device)).div_(keep)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class GaussianSample(SeededModule):
    """``mean + exp(log_variance / 2) · ε`` with normal ε while training, ``mean`` in evaluation."""

    def forward(self, mean: Tensor, log_variance: Tensor) -> Tensor:
        if not self.training:
            return mean
        noise = torch.empty_like(mean).normal_(generator=self.generator(mean.device))
        return mean + torch.exp(log_variance / 2) * noise


class GaussianNoise(SeededModule):
    """``x + deviation · ε`` while training, ``x`` in evaluation."""

    def __init__(self, deviation: float) -> None:
        super().__init__()
        self.deviation = deviation

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.deviation == 0:
            return x
        return x + self.deviation * torch.empty_like(x).normal_(generator=self.generator(x.device))


def seed_generators(layer: nn.Module, seed: int | None) -> None:
    """Give each module within ``layer`` that draws random numbers a seed of its own."""
    for name, module in cast("Iterator[tuple[str, nn.Module]]", layer.named_modules()):
        if isinstance(module, SeededModule | SeededDropout) and module.seed is None:
            module.seed = seed if seed is None or not name else derive_seed(seed, name)


def with_seeded_dropout(layer: nn.Module) -> nn.Module:
    """Replace every ``torch.nn.Dropout`` inside a layer by one with a generator of its own; returns the layer."""
    for name, child in layer.named_children():
        if isinstance(child, nn.Dropout):
            setattr(layer, name, SeededDropout(child.p))
        else:
            with_seeded_dropout(child)
    return layer
