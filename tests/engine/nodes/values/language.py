"""Text and diffusion: the formulas of the papers, written out."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from codefy_engine.graph import Builder
from codefy_engine.graph.plan import plan_subgraph
from codefy_engine.modules import language
from codefy_engine.modules.denoising import DenoisingModule, NoiseSchedule
from codefy_engine.nodes.registry import default_registry
from codefy_engine.training.module import GraphModule
from codefy_engine.training.seeding import derive_seed

from .case import NODE, SEED, Case, Place, made

TEXT = "the cat sat on the mat, and the cat ran.\nThe dog sat too."
LETTERS = ("<unk>", *sorted(set(TEXT)))
TOKENIZER = language.CharTokenizer.learn(TEXT)
NUMBERED = torch.tensor([LETTERS.index(letter) for letter in TEXT])


def tokenized(outputs: dict[str, Any]) -> dict[str, Any]:
    return {**outputs, "tokenizer": list(outputs["tokenizer"].vocabulary)}


def words(place: Place) -> dict[str, Any]:
    """The two most frequent after the unknown one; a comma and a stop are words too."""
    text = ["the", "cat", "sat", "on", "the", "mat", ",", "and", "the", "cat", "ran", ".",
            "the", "dog", "sat", "too", "."]  # fmt: skip
    count = Counter(text)
    ranked = sorted(count, key=lambda word: (-count[word], word))
    vocabulary = ["<unk>", *ranked[:2]]
    return {"tokenizer": vocabulary, "size": 3, "known": sum(word in vocabulary for word in text)}


def stretches(place: Place) -> dict[str, torch.Tensor]:
    kept = len(NUMBERED) - round(len(NUMBERED) * 0.25)
    pieces = NUMBERED[:kept].unfold(0, 5, 3)
    rest = NUMBERED[kept:].unfold(0, 5, 3)
    return {"inputs": pieces[:, :4], "targets": pieces[:, 1:], "validation": rest[:, :4]}


PAIRS = torch.tensor([1, 2, 1, 2, 1, 0])
THREE = language.CharTokenizer.learn("ab")


def bigram(place: Place) -> dict[str, Any]:
    """Counts of pairs, mixed with those of single tokens, mixed with an even guess."""
    tokens = PAIRS.tolist()
    single = [(tokens.count(w) + 0.5 / 3) / (6 + 0.5) for w in range(3)]
    after = Counter(b for a, b in itertools.pairwise(tokens) if a == 1)
    return {"after 1": [(after[w] + 0.5 * single[w]) / (3 + 0.5) for w in range(3)], "alone": single}


class Next(nn.Module):
    """Scores the token after each one highest."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.one_hot((x + 1) % 5, 5).float().transpose(1, 2) * 100


TEXTS = [
    Case("Text", TEXT, {"content": TEXT}),
    Case(
        "CharTokenizer",
        {"tokenizer": list(LETTERS), "tokens": NUMBERED, "size": len(LETTERS)},
        {},
        {"text": TEXT},
        see=tokenized,
    ),
    Case(
        "WordTokenizer",
        words,
        {"limit": 3},
        {"text": TEXT},
        see=lambda outputs: {
            "tokenizer": list(outputs["tokenizer"].vocabulary),
            "size": outputs["size"],
            "known": int((outputs["tokens"] > 0).sum()),
        },
    ),
    Case(
        "EncodeText",
        torch.tensor([LETTERS.index("c"), 0, LETTERS.index("t")]),
        {},
        {"text": "c∞t", "tokenizer": TOKENIZER},
    ),
    Case("DecodeText", TEXT, {}, {"tokens": NUMBERED, "tokenizer": TOKENIZER}),
    Case(
        "LanguageModelData",
        stretches,
        {"context": 4, "stride": 3, "validation_fraction": 0.25},
        {"tokens": NUMBERED, "tokenizer": TOKENIZER},
        see=lambda outputs: {
            "inputs": outputs["train"].inputs,
            "targets": outputs["train"].targets,
            "validation": outputs["validation"].inputs,
        },
    ),
    Case(
        "NGramModel",
        bigram,
        {"order": 2, "validation_fraction": 0.0},
        {"tokens": PAIRS, "tokenizer": THREE},
        see=lambda outputs: {
            "after 1": outputs["model"].next_probabilities([2, 1]).tolist(),
            "alone": outputs["model"].next_probabilities([]).tolist(),
        },
        close=1e-9,
    ),
    Case(
        "GenerateText",
        {"text": "abcd\N{REPLACEMENT CHARACTER}a", "tokens": torch.tensor([2, 3, 4, 0, 1])},
        {"prompt": "a", "length": 5, "context": 3},
        {"model": Next().eval(), "tokenizer": language.CharTokenizer.learn("abcd")},
    ),
    Case(
        "TextStatistics",
        {
            "counts": {
                "characters": len(TEXT),
                "words": 14,
                "lines": 2,
                "different_words": 9,
                "words_per_line": 7.0,
            },
            "frequent": "4 'the'\n2 'cat'",
        },
        {"most": 2},
        {"text": TEXT},
    ),
]

X = torch.rand(3, 2, 4, generator=torch.Generator().manual_seed(0))
SCHEDULE = NoiseSchedule.make("cosine", 20)


def linear_schedule(place: Place) -> dict[str, torch.Tensor]:
    betas = torch.linspace(0.1, 0.5, 10, dtype=torch.float64)
    return {"betas": betas, "signal": torch.cumprod(1 - betas, 0).float()}


def noisy(place: Place) -> dict[str, torch.Tensor]:
    """`sqrt(kept) x + sqrt(1 - kept) noise`, where the kept share follows a cosine (Nichol and Dhariwal, 2021)."""
    noise = torch.empty_like(X).normal_(generator=torch.Generator().manual_seed(derive_seed(SEED, NODE)))
    level = [math.cos((t / 20 + 0.008) / 1.008 * math.pi / 2) ** 2 for t in range(9)]
    kept = level[8] / level[0]
    return {"y": math.sqrt(kept) * X + math.sqrt(1 - kept) * noise, "noise": noise}


def guesser(module: type[GraphModule] = GraphModule, **options: Any) -> Any:
    """A module of pictures and steps that gives the pictures back as its guess of the noise."""
    graph = Builder("guess")
    net = graph.subgraph("net")
    x = net.add("ModuleInput", "pictures")
    net.add("ModuleInput", "steps", number=2)
    net.add("ModuleOutput", "output", x=x)
    return module("net", plan_subgraph(graph.build(), "net", default_registry()), seed=SEED, **options)


def as_trained(outputs: dict[str, Any]) -> dict[str, Any]:
    """What it gives to the loss: with the guess above, the noisy picture, and the noise in it."""
    model = outputs["model"]
    model.eval()
    guess, noise = model(X)
    kept = (guess - X * 0).sub(noise * 0)
    fits = [
        bool(
            torch.allclose(
                kept[i], SCHEDULE.add_noise(X[i : i + 1], noise[i : i + 1], torch.tensor([t]))[0], atol=1e-5
            )
        )
        for i in range(3)
        for t in range(20)
    ]
    return {"pictures of a step": sum(fits), "shape": list(noise.shape)}


def ddim(place: Place) -> torch.Tensor:
    """Song et al. without fresh noise, where the guess of the noise is the picture itself."""
    x = torch.empty(2, 3).normal_(generator=torch.Generator().manual_seed(derive_seed(SEED, NODE)))
    signal = SCHEDULE.signal.double()
    visited = [19, 13, 6, 0]
    for step, after in zip(visited, [*visited[1:], None], strict=True):
        kept, then = float(signal[step]), 1.0 if after is None else float(signal[after])
        noise = x
        picture = (x - math.sqrt(1 - kept) * noise) / math.sqrt(kept)
        x = math.sqrt(then) * picture + math.sqrt(1 - then) * noise
    return x


def trained_guesser() -> Any:
    model = guesser(DenoisingModule, schedule=SCHEDULE)
    model.build_for(torch.zeros(1, 3))
    return model.eval()


IMAGES = torch.randn(2, 4, 3, 3, generator=torch.Generator().manual_seed(1))
TIME = torch.randn(2, 6, generator=torch.Generator().manual_seed(2))


def residual(place: Place) -> torch.Tensor:
    """The last convolution starts at zero, so that a new block is its skip connection."""
    layer: Any = made("ResidualBlock2d", (4, 3, 3), (6,), out_channels=8, groups=2)
    return functional.conv2d(IMAGES, layer.skip.weight, layer.skip.bias).detach()


def attended(place: Place) -> torch.Tensor:
    layer: Any = made("SpatialAttention", (4, 3, 3), heads=2, groups=2)
    rows = functional.group_norm(IMAGES, 2).flatten(2).transpose(1, 2)
    with torch.no_grad():
        mixed = layer.attention(rows, rows, rows)[0]
    return IMAGES + mixed.transpose(1, 2).reshape(2, 4, 3, 3)


DIFFUSION = [
    Case(
        "NoiseSchedule",
        linear_schedule,
        {"kind": "linear", "steps": 10, "first": 0.1, "last": 0.5},
        see=lambda outputs: {"betas": outputs["schedule"].betas, "signal": outputs["signal"]},
        close=1e-6,
    ),
    Case("AddNoise", noisy, {"step": 7}, {"x": X, "schedule": SCHEDULE}, close=1e-5),
    Case(
        "DiffusionModel",
        {"pictures of a step": 3, "shape": [3, 2, 4]},
        {},
        lambda place: {"model": guesser(), "schedule": SCHEDULE},
        see=as_trained,
    ),
    Case(
        "DiffusionSampler",
        ddim,
        {"count": 2, "method": "ddim", "steps": 4, "clip": None},
        lambda place: {"model": trained_guesser()},
        close=1e-4,
    ),
    Case(
        "ResidualBlock2d", residual, {"out_channels": 8, "groups": 2}, {"x": IMAGES, "time": TIME}, close=1e-6
    ),
    Case("SpatialAttention", attended, {"heads": 2, "groups": 2}, {"x": IMAGES}, close=1e-6),
]

CASES = [*TEXTS, *DIFFUSION]
