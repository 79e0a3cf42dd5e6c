"""Attention and transformers. Shapes are written without the batch dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from codefy_engine.nodes.base import input, node, output, param
from codefy_engine.nodes.builtin._layer import JoiningLayer, Layer, Shape, check_heads, last_of, sequence_of

if TYPE_CHECKING:
    from torch import Tensor, nn


@node(type="MultiheadAttention", title="Multi-head attention", category="layers", icon="eye")
class MultiheadAttention(JoiningLayer):
    """Let every position of a sequence gather from all positions of another, or of its own.

    `length x width → length x width`. Per head, with queries `Q` from *x*, keys `K` and values `V` from *context*:
    `softmax(Q Kᵀ / sqrt(width / heads)) V`; the heads stand side by side and are mixed by trained weights
    (Vaswani et al., 2017).
    """

    x: Tensor = input("tensor", doc="The sequences: length x width.")
    context: Tensor | None = input(
        "tensor", required=False, doc="What to look at: length x features. Without: the sequence itself."
    )
    heads: int = param(4, ge=1, le=256, doc="Parts of the width that look by themselves.")
    causal: bool = param(False, doc="Let a position look at itself and earlier ones only.")

    def build(self, *shapes: Any) -> nn.Module:
        from codefy_engine.modules.attention import Attention

        _, width = sequence_of(shapes[0])
        check_heads(width, self.heads)
        other = None if shapes[1] is None else sequence_of(shapes[1])[1]
        if self.causal and shapes[1] is not None:
            raise ValueError("only a sequence that looks at itself can be causal")
        return Attention(width, self.heads, context_width=other, causal=self.causal)


class _Transformer(JoiningLayer):
    """Parameters of every transformer layer."""

    heads: int = param(4, ge=1, le=256, doc="Parts of the width that look by themselves.")
    feed_forward: int = param(128, ge=1, le=65_536, doc="Size of the hidden layer of the feed-forward part.")
    dropout: float = param(0.0, ge=0, lt=1, doc="Share of the values to drop.")
    activation: Literal["relu", "gelu"] = param(
        "gelu", choices=[("relu", "ReLU"), ("gelu", "GELU")], doc="Of the feed-forward part.", advanced=True
    )
    norm_first: bool = param(True, doc="Normalise before each part instead of after it.", advanced=True)
    causal: bool = param(False, doc="Let a position look at itself and earlier ones only.")

    def _options(self, width: int) -> dict[str, Any]:
        check_heads(width, self.heads)
        return {
            "heads": self.heads,
            "feed_forward": self.feed_forward,
            "dropout": self.dropout,
            "activation": self.activation,
            "norm_first": self.norm_first,
            "causal": self.causal,
        }


@node(type="TransformerEncoderLayer", title="Transformer encoder layer", category="layers", icon="layers")
class TransformerEncoderLayer(_Transformer):
    """Attention of a sequence to itself, then a small network for each position; each part is added to its input.

    `length x width → length x width`: `x + attention(norm(x))`, then `x + W₂ f(W₁ norm(x))`. With *causal* it is the
    layer of a GPT.
    """

    x: Tensor = input("tensor", doc="The sequences: length x width.")

    def build(self, *shapes: Shape) -> nn.Module:
        from codefy_engine.modules.attention import EncoderStack

        _, width = sequence_of(shapes[0])
        return EncoderStack(width, count=1, **self._options(width))


@node(type="TransformerEncoder", title="Transformer encoder", category="layers", icon="layers")
class TransformerEncoder(_Transformer):
    """Several transformer encoder layers one after the other, and a layer norm at the end.

    `length x width → length x width`. With *causal* it is the body of a GPT.
    """

    x: Tensor = input("tensor", doc="The sequences: length x width.")
    layers: int = param(2, ge=1, le=128, doc="How many are stacked.")

    def build(self, *shapes: Shape) -> nn.Module:
        from codefy_engine.modules.attention import EncoderStack

        _, width = sequence_of(shapes[0])
        return EncoderStack(width, count=self.layers, final_norm=True, **self._options(width))


@node(type="TransformerDecoderLayer", title="Transformer decoder layer", category="layers", icon="layers")
class TransformerDecoderLayer(_Transformer):
    """Attention of a sequence to itself, then to what an encoder gave, then a small network for each position.

    `length x width` and `memory length x width → length x width`; each part is added to its input.
    """

    x: Tensor = input("tensor", doc="The sequences: length x width.")
    memory: Tensor = input("tensor", doc="What the encoder gave: length x width.")
    causal: bool = param(True, doc="Let a position look at itself and earlier ones only.")

    def build(self, *shapes: Shape) -> nn.Module:
        from codefy_engine.modules.attention import DecoderStack

        return DecoderStack(count=1, **_decoder(shapes, self._options))


@node(type="TransformerDecoder", title="Transformer decoder", category="layers", icon="layers")
class TransformerDecoder(_Transformer):
    """Several transformer decoder layers one after the other, and a layer norm at the end.

    `length x width` and `memory length x width → length x width`.
    """

    x: Tensor = input("tensor", doc="The sequences: length x width.")
    memory: Tensor = input("tensor", doc="What the encoder gave: length x width.")
    layers: int = param(2, ge=1, le=128, doc="How many are stacked.")
    causal: bool = param(True, doc="Let a position look at itself and earlier ones only.")

    def build(self, *shapes: Shape) -> nn.Module:
        from codefy_engine.modules.attention import DecoderStack

        return DecoderStack(count=self.layers, final_norm=True, **_decoder(shapes, self._options))


def _decoder(shapes: tuple[Shape, ...], options: Any) -> dict[str, Any]:
    _, width = sequence_of(shapes[0])
    if sequence_of(shapes[1])[1] != width:
        raise ValueError(f"the memory needs the sequence's width of {width}, got {shapes[1][1]}")
    return {"width": width, **options(width)}


@node(type="MixtureOfExperts", title="Mixture of experts", category="layers", icon="users")
class MixtureOfExperts(Layer):
    """For every vector, let a gate choose a few of several small networks and mix their results.

    `[…, width] → […, width]`: `y = Σ g_e · expert_e(x)` over the chosen experts, with `g` the softmax of their gates'
    scores; an expert is two **Linear** layers with a GELU between (Shazeer et al., 2017). Only the chosen experts
    compute.

    With *balance* above 0, training also makes `balance · experts · Σ f_e p_e` small (`f`: share of the choices,
    `p`: mean probability), so that all experts get work. This part is not in the loss that is shown, and does not
    grow with the loss scale of float16 mixed precision, where it is lost: use bfloat16 there.
    """

    experts: int = param(4, ge=1, le=256, doc="How many networks there are.")
    chosen: int = param(2, ge=1, le=256, doc="How many of them work on a vector.")
    hidden: int = param(64, ge=1, le=65_536, doc="Size of each network's hidden layer.")
    balance: float = param(0.01, ge=0, le=100, doc="How strongly the work is spread over all.")
    load: Tensor = output("tensor", doc="Share of a sample's choices that went to each expert: experts.")

    def build(self, *shapes: Shape) -> nn.Module:
        from codefy_engine.modules.experts import MixtureOfExperts

        if self.chosen > self.experts:
            raise ValueError(f"{self.chosen} of {self.experts} experts cannot be chosen")
        return MixtureOfExperts(
            last_of(shapes[0]),
            experts=self.experts,
            chosen=self.chosen,
            hidden=self.hidden,
            balance=self.balance,
        )
