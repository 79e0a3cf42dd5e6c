"""Layers whose torch twin takes other inputs than one tensor of numbers, against what torch computes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from codefy_engine.modules.randomness import ChannelDropout, seed_generators
from codefy_engine.nodes.registry import default_registry


def build(type: str, *shapes: Any, **params: Any) -> Any:
    return default_registry().get(type).create(params).build(*shapes)  # type: ignore[attr-defined]  # a layer


def test_embedding_and_bilinear_are_torch_s() -> None:
    tokens = torch.tensor([[0, 3, 1]])
    made = build("Embedding", (3,), entries=5, width=2)
    assert torch.equal(made(tokens), functional.embedding(tokens, made.weight))
    made, wanted = build("Bilinear", (3,), (4,), out_features=2), nn.Bilinear(3, 4, 2)
    made.load_state_dict(wanted.state_dict())
    a, b = torch.randn(6, 3), torch.randn(6, 4)
    assert torch.equal(made(a, b), wanted(a, b))


def test_layers_that_move_values() -> None:
    x = torch.randn(2, 3, 4, 5)
    assert torch.equal(build("Permute", (3, 4, 5), order=[3, 1, 2])(x), x.permute(0, 3, 1, 2))
    assert torch.equal(build("SelectStep", (3, 4, 5), dimension=2, step=-1)(x), x[:, :, -1])
    assert torch.equal(build("MeanOver", (3, 4, 5), dimension=1)(x), x.mean(1))
    assert torch.equal(build("Pad", (3, 4, 5), amount=1, value=2)(x), functional.pad(x, [1] * 4, value=2))
    mirrored = build("Pad", (3, 4, 5), amount=2, method="reflect")(x)
    assert torch.equal(mirrored, functional.pad(x, [2] * 4, mode="reflect"))
    a, b = torch.randn(2, 3), torch.randn(2, 3)
    assert torch.equal(build("Multiply", (3,), (3,))(a, b), a * b)
    with pytest.raises(ValueError, match="numbers 1 to 3 once"):
        build("Permute", (3, 4, 5), order=[1, 2])(x)


@pytest.mark.parametrize(("type", "shape"), [("Dropout1d", (200, 7)), ("Dropout2d", (200, 3, 3))])
def test_channel_dropout_drops_whole_channels(type: str, shape: tuple[int, ...]) -> None:
    made = build(type, shape, p=0.25)
    seed_generators(made, 3)
    x = torch.ones(4, *shape)
    flat = made(x).flatten(2)
    # Whole channels, the rest scaled up, in torch's way: each is all 0 or all 1 / (1 - p).
    assert torch.equal(flat, flat[:, :, :1].expand_as(flat))
    assert sorted(flat.unique().tolist()) == pytest.approx([0, 1 / 0.75])
    assert float((flat[:, :, 0] == 0).float().mean()) == pytest.approx(0.25, abs=0.05)
    made.eval()
    assert torch.equal(made(x), x)


def test_random_layers_go_on_from_their_state() -> None:
    def made() -> ChannelDropout:
        layer = ChannelDropout(0.5)
        seed_generators(layer, 7)
        return layer

    x = torch.ones(1, 50, 2)
    one, other = made(), made()
    assert one.generator_state() is None
    first = one(x)
    state = one.generator_state()
    assert state is not None
    second = one(x)
    assert torch.equal(other(x), first)
    assert not torch.equal(first, second)
    late = made()
    late.restore_generator(state, torch.device("cpu"))
    assert torch.equal(late(x), second)
    free = ChannelDropout(0.5)
    assert free(x).shape == x.shape


def test_gaussian_layers() -> None:
    noise = build("GaussianNoise", (1000,), deviation=0.5)
    seed_generators(noise, 1)
    x = torch.zeros(20, 1000)
    added = noise(x)
    assert float(added.std()) == pytest.approx(0.5, rel=0.02)
    noise.eval()
    assert torch.equal(noise(x), x)
    sample = build("GaussianSample", (1000,), (1000,))
    seed_generators(sample, 1)
    mean, log_variance = torch.full((20, 1000), 3.0), torch.full((20, 1000), 2.0).log() * 2
    drawn = sample(mean, log_variance)
    assert float(drawn.mean()) == pytest.approx(3, abs=0.05)
    assert float(drawn.std()) == pytest.approx(2, rel=0.02)
    sample.eval()
    assert torch.equal(sample(mean, log_variance), mean)
    with pytest.raises(ValueError, match="the same shape"):
        build("GaussianSample", (2,), (3,))
