"""Blocks of a denoising U-Net, after Ho et al. (2020), appendix B."""

from __future__ import annotations

from torch import Tensor, nn

from codefy_engine.training.seeding import SeededDropout


class ResidualBlock(nn.Module):
    """``skip(x) + conv(drop(silu(norm(h + linear(silu(time))))))`` with ``h = conv(silu(norm(x)))``.

    ``x`` is ``[n, c, h, w]``, ``time`` ``[n, d]`` or ``None``; the result ``[n, out, h, w]``. The last convolution
    starts at zero, so a fresh block passes its input on.
    """

    def __init__(
        self, channels: int, out: int, *, time_width: int | None, groups: int, dropout: float
    ) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.GroupNorm(groups, channels), nn.SiLU(), nn.Conv2d(channels, out, 3, padding=1)
        )
        self.time = None if time_width is None else nn.Sequential(nn.SiLU(), nn.Linear(time_width, out))
        last = nn.Conv2d(out, out, 3, padding=1)
        nn.init.zeros_(last.weight)
        if last.bias is not None:
            nn.init.zeros_(last.bias)
        self.second = nn.Sequential(nn.GroupNorm(groups, out), nn.SiLU(), SeededDropout(dropout), last)
        self.skip = nn.Identity() if channels == out else nn.Conv2d(channels, out, 1)

    def forward(self, x: Tensor, time: Tensor | None = None) -> Tensor:
        h = self.first(x)
        if self.time is not None and time is not None:
            h = h + self.time(time)[:, :, None, None]
        return self.skip(x) + self.second(h)


class SpatialAttention(nn.Module):
    """``x + attention(norm(x))`` in which every pixel of ``[n, c, h, w]`` looks at all others."""

    def __init__(self, channels: int, *, heads: int, groups: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)
        self.attention = nn.MultiheadAttention(channels, heads, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        rows = self.norm(x).flatten(2).transpose(1, 2)
        mixed = self.attention(rows, rows, rows, need_weights=False)[0]
        return x + mixed.transpose(1, 2).reshape(x.shape)
