"""Layers: the torch module of the same weights, or the formula written out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from codefy_engine.training.seeding import derive_seed

from .case import NODE, SEED, Case, Place, layer_case, made


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


FLAT = numbers(4, 6)
ROWS = numbers(2, 3, 8)
IMAGES = numbers(2, 4, 6, 6)
VOLUMES = numbers(2, 2, 4, 4, 4)

Twin = Callable[[], nn.Module]


def one(type: str, x: torch.Tensor, twin: Twin, /, **params: Any) -> Case:
    return layer_case(type, twin, x, **params)


CONVOLUTIONS = [
    one(
        "Conv1d",
        ROWS,
        lambda: nn.Conv1d(3, 5, 5, stride=2, padding=2),
        out_channels=5,
        kernel_size=5,
        stride=2,
        padding=2,
    ),
    one("Conv2d", IMAGES, lambda: nn.Conv2d(4, 6, 3, padding=1, groups=2), out_channels=6, groups=2),
    one("Conv3d", VOLUMES, lambda: nn.Conv3d(2, 3, 3, padding=1, bias=False), out_channels=3, bias=False),
    one("ConvTranspose1d", ROWS, lambda: nn.ConvTranspose1d(3, 4, 2, stride=2), out_channels=4),
    one(
        "ConvTranspose2d",
        IMAGES,
        lambda: nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, output_padding=1),
        out_channels=3,
        kernel_size=3,
        padding=1,
        output_padding=1,
    ),
    one("ConvTranspose3d", VOLUMES, lambda: nn.ConvTranspose3d(2, 3, 2, stride=2), out_channels=3),
    Case(
        "PatchEmbedding",
        lambda place: patches(made("PatchEmbedding", (4, 6, 6), patch=3, width=5)),
        {"patch": 3, "width": 5},
        {"x": IMAGES},
        close=1e-5,
    ),
]


def patches(layer: Any) -> torch.Tensor:
    """Each patch of 3 x 3 pixels through the same linear map, row by row."""
    cut = [IMAGES[:, :, i : i + 3, j : j + 3].flatten(1) for i in (0, 3) for j in (0, 3)]
    weight, bias = layer.projection.weight.flatten(1), layer.projection.bias
    return torch.stack([functional.linear(part, weight, bias) for part in cut], 1).detach()


POOLS = [
    one("MaxPool1d", ROWS, lambda: nn.MaxPool1d(2)),
    one("MaxPool2d", IMAGES, lambda: nn.MaxPool2d(3, 1, 1), kernel_size=3, stride=1, padding=1),
    one("MaxPool3d", VOLUMES, lambda: nn.MaxPool3d(2)),
    one("AvgPool1d", ROWS, lambda: nn.AvgPool1d(3, 2), kernel_size=3, stride=2),
    one("AvgPool2d", IMAGES, lambda: nn.AvgPool2d(2)),
    one("AvgPool3d", VOLUMES, lambda: nn.AvgPool3d(2)),
    one("AdaptiveAvgPool1d", ROWS, lambda: nn.AdaptiveAvgPool1d(3), output_size=3),
    one("AdaptiveAvgPool2d", IMAGES, lambda: nn.AdaptiveAvgPool2d(4), output_size=4),
    one("AdaptiveAvgPool3d", VOLUMES, lambda: nn.AdaptiveAvgPool3d(1)),
    one("AdaptiveMaxPool1d", ROWS, lambda: nn.AdaptiveMaxPool1d(3), output_size=3),
    one("AdaptiveMaxPool2d", IMAGES, lambda: nn.AdaptiveMaxPool2d(4), output_size=4),
    one("AdaptiveMaxPool3d", VOLUMES, lambda: nn.AdaptiveMaxPool3d(1)),
    Case("MeanOver", IMAGES.mean(2), {"dimension": 2}, {"x": IMAGES}),
]

NORMS = [
    one("BatchNorm1d", FLAT, lambda: nn.BatchNorm1d(6, eps=1e-3), eps=1e-3),
    one("BatchNorm2d", IMAGES, lambda: nn.BatchNorm2d(4)),
    one("BatchNorm3d", VOLUMES, lambda: nn.BatchNorm3d(2)),
    one("LayerNorm", ROWS, lambda: nn.LayerNorm([3, 8]), dimensions=2),
    one("RMSNorm", ROWS, lambda: nn.RMSNorm(8, eps=1e-6)),
    one("GroupNorm", IMAGES, lambda: nn.GroupNorm(2, 4), groups=2),
    one("InstanceNorm", IMAGES, lambda: nn.InstanceNorm2d(4, affine=True), affine=True),
]

ACTIVATIONS = [
    one("CELU", FLAT, lambda: nn.CELU(0.5), alpha=0.5),
    one("ELU", FLAT, lambda: nn.ELU(0.5), alpha=0.5),
    one("GELU", FLAT, lambda: nn.GELU("tanh"), approximate="tanh"),
    one("GLU", FLAT, lambda: nn.GLU(-1)),
    one("Hardsigmoid", FLAT, nn.Hardsigmoid),
    one("Hardswish", FLAT, nn.Hardswish),
    one("Hardtanh", FLAT, lambda: nn.Hardtanh(-0.5, 0.25), low=-0.5, high=0.25),
    one("LeakyReLU", FLAT, lambda: nn.LeakyReLU(0.2), slope=0.2),
    one("LogSigmoid", FLAT, nn.LogSigmoid),
    one("LogSoftmax", FLAT, lambda: nn.LogSoftmax(-1)),
    one("Mish", FLAT, nn.Mish),
    one("PReLU", ROWS, lambda: nn.PReLU(3), per_channel=True),
    one("ReLU", FLAT, nn.ReLU),
    one("ReLU6", FLAT * 5, nn.ReLU6),
    one("SELU", FLAT, nn.SELU),
    one("SiLU", FLAT, nn.SiLU),
    one("Sigmoid", FLAT, nn.Sigmoid),
    one("Softmax", ROWS, lambda: nn.Softmax(1), dimension=1),
    one("Softplus", FLAT, lambda: nn.Softplus(2), beta=2),
    one("Softsign", FLAT, nn.Softsign),
    one("Tanh", FLAT, nn.Tanh),
]

SHAPES = [
    one("Flatten", IMAGES, nn.Flatten),
    one("PixelShuffle", IMAGES, lambda: nn.PixelShuffle(2)),
    one("PixelUnshuffle", IMAGES, lambda: nn.PixelUnshuffle(3), factor=3),
    one("Upsample", IMAGES, lambda: nn.Upsample(scale_factor=3, mode="bilinear"), method="linear", factor=3),
    Case("Reshape", ROWS.reshape(2, 4, 6), {"shape": [4, -1]}, {"x": ROWS}),
    Case("Permute", IMAGES.permute(0, 3, 1, 2), {"order": [3, 1, 2]}, {"x": IMAGES}),
    Case("SelectStep", ROWS[:, 1], {"dimension": 1, "step": 1}, {"x": ROWS}),
    Case("Pad", functional.pad(IMAGES, [2] * 4, value=0.5), {"amount": 2, "value": 0.5}, {"x": IMAGES}),
]

JOINS = [
    Case("Add", FLAT + FLAT.flip(0), {}, {"a": FLAT, "b": FLAT.flip(0)}),
    Case("Multiply", FLAT * FLAT.flip(0), {}, {"a": FLAT, "b": FLAT.flip(0)}),
    Case("Concat", torch.cat([ROWS, ROWS[:, :1]], 1), {}, {"a": ROWS, "b": ROWS[:, :1]}),
    layer_case("Bilinear", lambda: nn.Bilinear(6, 2, 3), FLAT, FLAT[:, :2].contiguous(), out_features=3),
]

LINEAR = [
    one("Linear", ROWS, lambda: nn.Linear(8, 5), out_features=5),
    one("Embedding", torch.tensor([[0, 3, 1]]), lambda: nn.Embedding(5, 2), entries=5, width=2),
]


def random_layer(type: str, x: torch.Tensor, expected: Callable[[torch.Tensor, torch.Generator], torch.Tensor],
                 **params: Any) -> Case:  # fmt: skip
    """A layer that draws from a generator of its own, which the run's seed starts."""
    return Case(
        type,
        lambda place: expected(x, torch.Generator().manual_seed(derive_seed(SEED, NODE))),
        params,
        {"x": x},
    )


ONES = torch.ones(40, 50, 4)


def shares(x: Any) -> dict[str, Any]:
    """How much was dropped, in whole channels, and what became of the rest."""
    if x is None:
        return {}
    flat = x.flatten(2) if x.dim() > 2 else x
    whole = bool((flat == flat[..., :1]).all())
    return {"levels": sorted(x.unique().tolist()), "dropped": float((x == 0).float().mean()), "whole": whole}


def dropout(type: str, x: torch.Tensor, *, whole: bool) -> Case:
    """A quarter goes, the rest is 1 / 0.75. With 2,000 draws the share is 0.25 within 0.05 (five deviations)."""
    return Case(
        type,
        {"levels": [0.0, 1 / 0.75], "dropped": 0.25, "whole": whole},
        {"p": 0.25},
        {"x": x},
        see=lambda outputs: shares(outputs["y"]),
        close=0.05,
    )


RANDOM = [
    dropout("Dropout", ONES, whole=False),
    dropout("Dropout1d", ONES, whole=True),
    dropout("Dropout2d", ONES[..., None].expand(-1, -1, -1, 3).contiguous(), whole=True),
    random_layer(
        "GaussianNoise",
        FLAT,
        lambda x, generator: x + 0.5 * torch.empty_like(x).normal_(generator=generator),
        deviation=0.5,
    ),
    Case(
        "GaussianSample",
        lambda place: (
            FLAT
            + (FLAT.flip(0) / 2).exp()
            * torch.empty_like(FLAT).normal_(generator=torch.Generator().manual_seed(derive_seed(SEED, NODE)))
        ),
        {},
        {"mean": FLAT, "log_variance": FLAT.flip(0)},
        close=1e-6,
    ),
]


def recurrent(type: str, twin: Any, **options: Any) -> Case:
    """All outputs against torch's, which gives the sequence and the last states."""
    params = {"hidden": 5, "layers": 2, **options}
    shapes: list[Any] = [(3, 8), None, *([None] if type == "LSTM" else [])]

    def expected(place: Place) -> dict[str, torch.Tensor]:
        mine: Any = made(type, *shapes, **params)
        theirs = twin(8, 5, num_layers=2, batch_first=True)
        theirs.load_state_dict(mine.core.state_dict())
        with torch.no_grad():
            y, ended = theirs(ROWS)
        states = ended if type == "LSTM" else (ended,)
        names = ("state", "cell")[: len(states)]
        return {
            "y": y,
            "last": y[:, -1],
            **{n: s.transpose(0, 1) for n, s in zip(names, states, strict=True)},
        }

    return Case(type, expected, params, {"x": ROWS}, close=1e-6)


def attention(place: Place) -> torch.Tensor:
    layer: Any = made("MultiheadAttention", (3, 8), None, heads=2)
    with torch.no_grad():
        return layer.attention(ROWS, ROWS, ROWS)[0]


def encoder(type: str, layers: int) -> Case:
    params: dict[str, Any] = {"heads": 2, "feed_forward": 16, **({"layers": layers} if layers else {})}

    def expected(place: Place) -> torch.Tensor:
        mine: Any = made(type, (3, 8), **params)
        x = ROWS
        with torch.no_grad():
            for layer in mine.layers:
                twin = nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", batch_first=True, norm_first=True)
                twin.load_state_dict(layer.state_dict())
                x = twin(x)
            return functional.layer_norm(x, [8], mine.norm.weight, mine.norm.bias) if layers else x

    return Case(type, expected, params, {"x": ROWS}, close=1e-5)


MEMORY = numbers(2, 5, 8, seed=1)


def decoder(type: str, layers: int) -> Case:
    params: dict[str, Any] = {"heads": 2, "feed_forward": 16, **({"layers": layers} if layers else {})}

    def expected(place: Place) -> torch.Tensor:
        mine: Any = made(type, (3, 8), (5, 8), **params)
        x, mask = ROWS, nn.Transformer.generate_square_subsequent_mask(3)
        with torch.no_grad():
            for layer in mine.layers:
                twin = nn.TransformerDecoderLayer(8, 2, 16, 0.0, "gelu", batch_first=True, norm_first=True)
                twin.load_state_dict(layer.state_dict())
                x = twin(x, MEMORY, tgt_mask=mask)
            return functional.layer_norm(x, [8], mine.norm.weight, mine.norm.bias) if layers else x

    return Case(type, expected, params, {"x": ROWS, "memory": MEMORY}, close=1e-5)


def experts(place: Place) -> dict[str, torch.Tensor]:
    """Each sample through its best expert alone, and how the samples were shared out."""
    layer: Any = made("MixtureOfExperts", (6,), experts=3, chosen=1, hidden=5)
    with torch.no_grad():
        best = (FLAT @ layer.gate.weight.T).argmax(1)
        y = torch.stack([layer.experts[int(e)](x) for x, e in zip(FLAT, best, strict=True)])
    return {"y": y, "load": functional.one_hot(best, 3).float()}


def sines() -> torch.Tensor:
    table = torch.zeros(3, 8)
    for position in range(3):
        for pair in range(4):
            angle = position * 10_000 ** (-2 * pair / 8)
            table[position, 2 * pair], table[position, 2 * pair + 1] = math.sin(angle), math.cos(angle)
    return ROWS + table


def steps() -> torch.Tensor:
    rates = [100 ** (-pair / 2) for pair in range(2)]
    return torch.tensor([[f(t * rate) for rate in rates for f in (math.sin, math.cos)] for t in (0, 3)])


def token(place: Place) -> torch.Tensor:
    layer: Any = made("ClassToken", (3, 8))
    return torch.cat([layer.weight.detach().expand(2, 1, 8), ROWS], 1)


SEQUENCES = [
    recurrent("RNN", nn.RNN),
    recurrent("GRU", nn.GRU),
    recurrent("LSTM", nn.LSTM),
    Case("MultiheadAttention", attention, {"heads": 2}, {"x": ROWS}, close=1e-6),
    encoder("TransformerEncoderLayer", 0),
    encoder("TransformerEncoder", 2),
    decoder("TransformerDecoderLayer", 0),
    decoder("TransformerDecoder", 2),
    Case("MixtureOfExperts", experts, {"experts": 3, "chosen": 1, "hidden": 5}, {"x": FLAT}, close=1e-5),
    Case("SinusoidalPositions", sines(), {}, {"x": ROWS}, close=1e-5),
    Case(
        "LearnedPositions",
        lambda place: ROWS + made("LearnedPositions", (3, 8)).get_parameter("weight").detach(),
        {},
        {"x": ROWS},
    ),
    Case("TimestepEmbedding", steps(), {"width": 4, "period": 100}, {"x": torch.tensor([0, 3])}, close=1e-5),
    Case("ClassToken", token, {}, {"x": ROWS}),
]

CASES = [
    *CONVOLUTIONS,
    *POOLS,
    *NORMS,
    *ACTIVATIONS,
    *SHAPES,
    *JOINS,
    *LINEAR,
    *RANDOM,
    *SEQUENCES,
]
