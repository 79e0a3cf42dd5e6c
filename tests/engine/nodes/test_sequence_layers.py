"""Recurrent layers, transformers, positions and experts against torch, or against the formula written out."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from codefy_engine.modules.randomness import seed_generators
from codefy_engine.nodes.registry import default_registry
from codefy_engine.training.seeding import SeededDropout


def build(type: str, *shapes: Any, **params: Any) -> Any:
    return default_registry().get(type).create(params).build(*shapes)  # type: ignore[attr-defined]  # a layer


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize(
    ("type", "twin", "params"),
    [
        ("RNN", nn.RNN, {}),
        ("RNN", nn.RNN, {"activation": "relu"}),
        ("GRU", nn.GRU, {}),
        ("LSTM", nn.LSTM, {}),
    ],
)
def test_recurrent_layers_are_torch_s(
    type: str, twin: Any, params: dict[str, Any], bidirectional: bool
) -> None:
    shapes = [(5, 3), None, *([None] if type == "LSTM" else [])]
    made = build(type, *shapes, hidden=4, layers=2, bidirectional=bidirectional, **params)
    options = {"nonlinearity": params["activation"]} if params else {}
    wanted = twin(3, 4, num_layers=2, bidirectional=bidirectional, batch_first=True, **options)
    made.core.load_state_dict(wanted.state_dict())
    x = torch.randn(6, 5, 3)
    y, ended = wanted(x)
    hidden = ended[0] if type == "LSTM" else ended
    results = made(x)
    assert torch.equal(results[0], y)
    last = torch.cat([y[:, -1, :4], y[:, 0, 4:]], dim=1)
    assert torch.allclose(results[1], last)
    assert torch.equal(results[2], hidden.transpose(0, 1))
    # Two halves with the state between are the whole, for one direction.
    if not bidirectional:
        first = made(x[:, :2])
        second = made(x[:, 2:], *first[2:])
        assert torch.allclose(torch.cat([first[0], second[0]], dim=1), y, atol=1e-6)


def test_attention_is_torch_s() -> None:
    x, context = torch.randn(2, 5, 8), torch.randn(2, 7, 6)
    made = build("MultiheadAttention", (5, 8), (7, 6), heads=2)
    wanted = nn.MultiheadAttention(8, 2, batch_first=True, kdim=6, vdim=6)
    made.attention.load_state_dict(wanted.state_dict())
    assert torch.allclose(made(x, context), wanted(x, context, context)[0], atol=1e-6)
    causal = build("MultiheadAttention", (5, 8), None, heads=2, causal=True)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    wanted = causal.attention
    assert torch.allclose(causal(x), wanted(x, x, x, attn_mask=mask)[0], atol=1e-6)
    # What comes later does not matter.
    changed = x.clone()
    changed[:, 3:] = 0
    assert torch.allclose(causal(changed)[:, :3], causal(x)[:, :3], atol=1e-6)
    with pytest.raises(ValueError, match="8 features cannot be divided among 3 heads"):
        build("MultiheadAttention", (5, 8), None, heads=3)
    with pytest.raises(ValueError, match="can be causal"):
        build("MultiheadAttention", (5, 8), (7, 8), causal=True)


@pytest.mark.parametrize(
    ("type", "params"), [("TransformerEncoderLayer", {}), ("TransformerEncoder", {"layers": 2})]
)
@pytest.mark.parametrize("causal", [False, True])
def test_an_encoder_is_torch_s(type: str, params: dict[str, Any], causal: bool) -> None:
    made = build(type, (5, 8), heads=2, feed_forward=16, causal=causal, **params).eval()
    x = torch.randn(2, 5, 8)
    mask = nn.Transformer.generate_square_subsequent_mask(5) if causal else None
    wanted = x
    for layer in made.layers:
        twin = nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", batch_first=True, norm_first=True).eval()
        twin.load_state_dict(layer.state_dict())
        wanted = twin(wanted, src_mask=mask)
    if type == "TransformerEncoder":
        wanted = functional.layer_norm(wanted, [8], made.norm.weight, made.norm.bias)
        # Layers of a stack start from weights of their own.
        assert not torch.equal(made.layers[0].linear1.weight, made.layers[1].linear1.weight)
    assert torch.allclose(made(x), wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("type", "params"), [("TransformerDecoderLayer", {}), ("TransformerDecoder", {"layers": 2})]
)
def test_a_decoder_is_torch_s(type: str, params: dict[str, Any]) -> None:
    options = {"heads": 2, "feed_forward": 16, "norm_first": False, "activation": "relu"}
    made = build(type, (5, 8), (7, 8), **options, **params).eval()
    x, memory = torch.randn(2, 5, 8), torch.randn(2, 7, 8)
    wanted = x
    for layer in made.layers:
        twin = nn.TransformerDecoderLayer(8, 2, 16, 0.0, batch_first=True).eval()
        twin.load_state_dict(layer.state_dict())
        wanted = twin(wanted, memory, tgt_mask=nn.Transformer.generate_square_subsequent_mask(5))
    if type == "TransformerDecoder":
        wanted = functional.layer_norm(wanted, [8], made.norm.weight, made.norm.bias)
    assert torch.allclose(made(x, memory), wanted, atol=1e-5)
    with pytest.raises(ValueError, match="width of 8, got 6"):
        build(type, (5, 8), (7, 6), heads=2)


def test_dropout_in_a_transformer_has_generators_of_its_own() -> None:
    def made() -> nn.Module:
        torch.manual_seed(0)
        layer = build("TransformerEncoder", (5, 8), heads=2, dropout=0.5)
        seed_generators(layer, 4)
        return layer

    x = torch.randn(2, 5, 8)
    one, other = made(), made()
    first = one(x)
    torch.manual_seed(99)
    assert torch.equal(other(x), first)
    seeds = [module.seed for module in one.modules() if isinstance(module, SeededDropout)]
    assert len(set(seeds)) == len(seeds) == 6
    assert not any(isinstance(module, nn.Dropout) for module in one.modules())


def test_positions_are_the_formula() -> None:
    x = torch.zeros(1, 4, 6)
    made = build("SinusoidalPositions", (4, 6))(x)[0]
    for position in range(4):
        for pair in range(3):
            angle = position * 10_000 ** (-2 * pair / 6)
            assert float(made[position, 2 * pair]) == pytest.approx(math.sin(angle), abs=1e-5)
            assert float(made[position, 2 * pair + 1]) == pytest.approx(math.cos(angle), abs=1e-5)
    steps = build("TimestepEmbedding", (), width=5, period=100)(torch.tensor([0, 3]))
    assert steps.shape == (2, 5)
    assert steps[0].tolist() == [0, 1, 0, 1, 0]
    assert float(steps[1, 2]) == pytest.approx(math.sin(3 * 100 ** (-2 / 5)), abs=1e-5)
    with pytest.raises(ValueError, match="a single number per sample"):
        build("TimestepEmbedding", (3,))


def test_learned_vectors_are_added_and_put_in_front() -> None:
    x = torch.randn(2, 4, 6)
    learned = build("LearnedPositions", (4, 6))
    assert torch.equal(learned(x), x + learned.weight)
    assert torch.equal(learned(x[:, :3]), x[:, :3] + learned.weight[:3])
    with pytest.raises(ValueError, match="knows 4 positions, got 5"):
        learned(torch.zeros(1, 5, 6))
    token = build("ClassToken", (4, 6))
    assert torch.equal(token(x)[:, 1:], x)
    assert torch.equal(token(x)[:, 0], token.weight.expand(2, 6))


def test_patches_are_a_convolution_row_by_row() -> None:
    made = build("PatchEmbedding", (3, 4, 6), patch=2, width=5)
    x = torch.randn(2, 3, 4, 6)
    patch = x[:, :, 2:4, 2:4].flatten(1)
    wanted = functional.linear(patch, made.projection.weight.flatten(1), made.projection.bias)
    result = made(x)
    assert result.shape == (2, 6, 5)
    assert torch.allclose(result[:, 4], wanted, atol=1e-6)
    with pytest.raises(ValueError, match="multiples of 4"):
        build("PatchEmbedding", (3, 4, 6), patch=4)


def test_experts_are_mixed_as_the_formula_says() -> None:
    made = build("MixtureOfExperts", (3, 4), experts=3, chosen=2, hidden=5, balance=0.1)
    x = torch.randn(2, 3, 4)
    y, load = made.eval()(x)
    scores = x @ made.gate.weight.T
    for n in range(2):
        for t in range(3):
            best = scores[n, t].topk(2)
            gates = best.values.softmax(0)
            wanted = sum(g * made.experts[int(e)](x[n, t]) for g, e in zip(gates, best.indices, strict=True))
            assert torch.allclose(y[n, t], wanted, atol=1e-5)
    assert load.shape == (2, 3)
    assert torch.allclose(load.sum(1), torch.ones(2))
    with pytest.raises(ValueError, match="4 of 3 experts"):
        build("MixtureOfExperts", (4,), experts=3, chosen=4)


def test_balance_adds_the_gradient_of_its_loss() -> None:
    x = torch.randn(6, 4)

    def gate_gradient(balance: float) -> torch.Tensor:
        torch.manual_seed(0)
        made = build("MixtureOfExperts", (4,), experts=3, chosen=1, hidden=5, balance=balance)
        made(x)[0].square().sum().backward()
        return made.gate.weight.grad

    torch.manual_seed(0)
    plain = build("MixtureOfExperts", (4,), experts=3, chosen=1, hidden=5, balance=0.0)
    scores = plain.gate(x)
    share = functional.one_hot(scores.argmax(1), 3).float().mean(0)
    (0.7 * 3 * (share * scores.softmax(1).mean(0)).sum()).backward()
    assert torch.allclose(gate_gradient(0.7) - gate_gradient(0.0), plain.gate.weight.grad, atol=1e-6)
