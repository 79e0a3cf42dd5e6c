"""Random numbers that belong to one model.

A server trains several graphs in one process, and torch's global generator is shared by all of them. Initial weights
and dropout masks therefore come from seeds and generators of their own, so that a seed gives the same numbers
whatever else is going on.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Generator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional

_initialising = threading.Lock()


def derive_seed(seed: int, *names: str) -> int:
    """A seed for a part, so that adding another part does not change this one's numbers."""
    text = "/".join((str(seed), *names))
    return zlib.crc32(text.encode()) + (seed & 0x7FFFFFFF) * (1 << 32)


@contextmanager
def seeded_initialisation(seed: int | None) -> Generator[None]:
    """Seed torch's CPU generator for the block and put it back after.

    ``torch.nn`` initialises from the global generator only. The lock keeps two models of one process from drawing
    from it at the same time. Without a seed nothing is changed.
    """
    if seed is None:
        yield
        return
    with _initialising:
        before = torch.get_rng_state()
        torch.default_generator.manual_seed(seed)
        try:
            yield
        finally:
            torch.set_rng_state(before)


class SeededDropout(nn.Module):
    """Dropout whose masks come from a generator of its own; the same arithmetic as ``torch.nn.Dropout``.

    Without a seed it draws from torch's global generator. It has no entries in the state dict, so checkpoints load
    into a model that uses ``torch.nn.Dropout``.
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"the share to drop must be at least 0 and below 1, got {p}")
        self.p = p
        self.seed: int | None = None
        self._generator: torch.Generator | None = None

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        if self.seed is None:
            return functional.dropout(x, self.p, training=True)
        keep = 1 - self.p
        mask = torch.empty_like(x).bernoulli_(keep, generator=self._on(x.device)).div_(keep)
        return x * mask

    def generator_state(self) -> Tensor | None:
        """State of the generator, or ``None`` while it was not used."""
        return None if self._generator is None else self._generator.get_state()

    def restore_generator(self, state: Tensor, device: torch.device) -> None:
        """Go on from a state that :meth:`generator_state` gave on the same kind of device."""
        self._generator = torch.Generator(device)
        self._generator.set_state(state)

    def extra_repr(self) -> str:
        return f"p={self.p}"

    def _on(self, device: torch.device) -> torch.Generator:
        if self._generator is None or self._generator.device.type != device.type:
            self._generator = torch.Generator(device)
            self._generator.manual_seed(self.seed or 0)
        return self._generator
