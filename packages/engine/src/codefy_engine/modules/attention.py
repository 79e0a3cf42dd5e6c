"""Attention and transformers on batches of sequences ``[n, t, width]``.

Dropout draws from generators of its own and acts on what attention and feed-forward parts give, not on the attention
weights: torch takes those masks from its global generator.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from codefy_engine.modules.randomness import with_seeded_dropout


def causal_mask(length: int, device: torch.device) -> Tensor:
    """``[length, length]``, true where position i must not look at position j: j > i."""
    return torch.ones(length, length, dtype=torch.bool, device=device).triu(1)


class Attention(nn.Module):
    """Multi-head attention of ``x`` to ``context``, or to itself.

    ``x`` is ``[n, t, width]``, ``context`` ``[n, s, context width]``; the result is ``[n, t, width]``.
    """

    def __init__(self, width: int, heads: int, *, context_width: int | None, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.attention = nn.MultiheadAttention(
            width, heads, batch_first=True, kdim=context_width, vdim=context_width
        )

    def forward(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        other = x if context is None else context
        mask = causal_mask(x.shape[1], x.device) if self.causal else None
        return self.attention(x, other, other, need_weights=False, attn_mask=mask)[0]


class EncoderStack(nn.Module):
    """``count`` transformer encoder layers, each with initial weights of its own, and a last norm if wanted."""

    def __init__(
        self,
        width: int,
        *,
        count: int,
        heads: int,
        feed_forward: int,
        dropout: float,
        activation: str,
        norm_first: bool,
        causal: bool,
        final_norm: bool = False,
    ) -> None:
        super().__init__()
        self.causal = causal
        layers = [
            nn.TransformerEncoderLayer(
                width,
                heads,
                feed_forward,
                dropout,
                activation,
                batch_first=True,
                norm_first=norm_first,
            )
            for _ in range(count)
        ]
        for layer in layers:
            layer.self_attn.dropout = 0.0
            with_seeded_dropout(layer)
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(width) if final_norm else None

    def forward(self, x: Tensor) -> Tensor:
        mask = causal_mask(x.shape[1], x.device) if self.causal else None
        for layer in self.layers:
            x = layer(x, src_mask=mask)
        return x if self.norm is None else self.norm(x)


class DecoderStack(nn.Module):
    """``count`` transformer decoder layers over ``x`` ``[n, t, width]`` that look at ``memory`` ``[n, s, width]``."""

    def __init__(
        self,
        width: int,
        *,
        count: int,
        heads: int,
        feed_forward: int,
        dropout: float,
        activation: str,
        norm_first: bool,
        causal: bool,
        final_norm: bool = False,
    ) -> None:
        super().__init__()
        self.causal = causal
        layers = [
            nn.TransformerDecoderLayer(
                width,
                heads,
                feed_forward,
                dropout,
                activation,
                batch_first=True,
                norm_first=norm_first,
            )
            for _ in range(count)
        ]
        for layer in layers:
            layer.self_attn.dropout = 0.0
            layer.multihead_attn.dropout = 0.0
            with_seeded_dropout(layer)
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(width) if final_norm else None

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        mask = causal_mask(x.shape[1], x.device) if self.causal else None
        for layer in self.layers:
            x = layer(x, memory, tgt_mask=mask)
        return x if self.norm is None else self.norm(x)
