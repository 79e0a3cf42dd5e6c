"""Tokenizers, language models and how text is drawn from them."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import pytest
import torch
from torch import nn

from codefy_engine.modules import language
from codefy_engine.nodes.base import NodeError, RunStopped
from codefy_engine.nodes.registry import default_registry

TEXT = "the cat sat on the mat, and the cat ran.\nThe dog sat too."


class Listening:
    """As much of a context as these nodes ask for."""

    device = "cpu"
    node_id = "here"
    seed = 5

    def __init__(self, stop_after: int | None = None) -> None:
        self.told: dict[str, float] = {}
        self.left = stop_after

    def metric(self, name: str, value: float, step: int, scope: str = "step") -> None:
        self.told[name] = value

    def progress(self, **fields: Any) -> None: ...

    def check_stop(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise RunStopped


def run(type: str, ctx: Any = None, params: dict[str, Any] | None = None, **inputs: Any) -> Any:
    return default_registry().get(type).create(params, **inputs).run(ctx or Listening())


def test_characters_are_numbered_and_come_back() -> None:
    made = run("CharTokenizer", text=TEXT)
    tokenizer = made["tokenizer"]
    assert tokenizer.vocabulary == ("<unk>", *sorted(set(TEXT)))
    assert made["size"] == len(set(TEXT)) + 1
    assert made["tokens"].dtype == torch.int64
    assert run("DecodeText", tokens=made["tokens"], tokenizer=tokenizer) == TEXT
    assert run("EncodeText", text="c∞t", tokenizer=tokenizer).tolist() == [
        tokenizer.vocabulary.index("c"),
        0,
        tokenizer.vocabulary.index("t"),
    ]
    with pytest.raises(NodeError, match="outside 0 to"):
        run("DecodeText", tokens=torch.tensor([99]), tokenizer=tokenizer)
    with pytest.raises(NodeError, match="a text is needed, got a int"):
        run("CharTokenizer", text=3)
    with pytest.raises(NodeError, match="a tokenizer is needed"):
        run("EncodeText", text="a", tokenizer="b")


def test_words_are_ranked_by_frequency() -> None:
    made = run("WordTokenizer", text=TEXT)
    assert made["tokenizer"].vocabulary[:4] == ("<unk>", "the", ".", "cat")
    decoded = run("DecodeText", tokens=made["tokens"], tokenizer=made["tokenizer"])
    assert decoded == TEXT.lower()
    small = run("WordTokenizer", params={"limit": 3, "lower": False}, text=TEXT)
    assert small["tokenizer"].vocabulary == ("<unk>", "the", ".")
    assert small["size"] == 3
    often = run("WordTokenizer", params={"at_least": 2}, text=TEXT)
    counts = Counter(["the"] * 4 + ["."] * 2 + ["cat"] * 2 + ["sat"] * 2)
    assert set(often["tokenizer"].vocabulary) == {"<unk>", *counts}
    assert language.WordTokenizer.learn("say (a) b").decode([5, 1, 3, 2, 4]) == "say (a) b"


def test_stretches_of_text_and_what_follows() -> None:
    made = run("CharTokenizer", text="abcdefghij" * 4)
    data = run(
        "LanguageModelData",
        params={"context": 4, "stride": 3, "validation_fraction": 0.25},
        tokens=made["tokens"],
        tokenizer=made["tokenizer"],
    )
    train, validation = data["train"], data["validation"]
    assert train.inputs[1].tolist() == [4, 5, 6, 7]
    assert train.targets[1].tolist() == [5, 6, 7, 8]
    assert (len(train), len(validation)) == ((30 - 5) // 3 + 1, (10 - 5) // 3 + 1)
    assert train.class_count == 11
    assert torch.equal(validation.inputs[0], made["tokens"][30:34])
    whole = run(
        "LanguageModelData",
        params={"validation_fraction": 0.0},
        tokens=made["tokens"],
        tokenizer=made["tokenizer"],
    )
    assert (len(whole["train"]), len(whole["validation"])) == (8, 0)
    with pytest.raises(ValueError, match="more than 99 tokens, got 36"):
        run("LanguageModelData", params={"context": 99}, tokens=made["tokens"], tokenizer=made["tokenizer"])


def test_an_n_gram_model_is_the_formula() -> None:
    tokens = [1, 2, 1, 2, 1, 0]
    model = language.NGramModel(2, 3, 0.5)
    model.learn(tokens)
    unigram = [(tokens.count(w) + 0.5 / 3) / (6 + 0.5) for w in range(3)]
    assert model.next_probabilities([]).tolist() == pytest.approx(unigram)
    after = Counter(b for a, b in itertools.pairwise(tokens) if a == 1)
    bigram = [(after[w] + 0.5 * unigram[w]) / (3 + 0.5) for w in range(3)]
    assert model.next_probabilities([2, 1]).tolist() == pytest.approx(bigram)
    surprise = -sum(math.log(model.next_probabilities(tokens[:i])[t]) for i, t in enumerate(tokens)) / 6
    assert model.perplexity(tokens) == pytest.approx(math.exp(surprise))
    hard = language.NGramModel(1, 3, 0.0)
    hard.learn([1, 1])
    assert hard.perplexity([2]) == math.inf


def test_the_n_gram_node_scores_text_that_it_did_not_see() -> None:
    made = run("CharTokenizer", text="abcd" * 50)
    ctx = Listening()
    learned = run("NGramModel", ctx, tokens=made["tokens"], tokenizer=made["tokenizer"])
    assert ctx.told == learned["metrics"]
    assert 1 < learned["metrics"]["perplexity"] < 1.1
    written = run(
        "GenerateText",
        params={"prompt": "ab", "length": 6, "temperature": 0.0},
        model=learned["model"],
        tokenizer=made["tokenizer"],
    )
    assert written["text"] == "abcdabcd"
    assert len(written["tokens"]) == 6
    with pytest.raises(RunStopped):
        run("GenerateText", Listening(stop_after=3), model=learned["model"], tokenizer=made["tokenizer"])


def test_a_network_is_asked_for_its_last_scores() -> None:
    class Next(nn.Module):
        """Scores the token after each one highest."""

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            assert x.shape[1] <= 3
            return nn.functional.one_hot((x + 1) % 5, 5).float().transpose(1, 2) * 100

    tokenizer = language.CharTokenizer.learn("abcd")
    made = run(
        "GenerateText",
        params={"prompt": "a", "length": 5, "context": 3},
        model=Next().eval(),
        tokenizer=tokenizer,
    )
    assert made["tokens"].tolist() == [2, 3, 4, 0, 1]


def test_sharpening() -> None:
    p = torch.tensor([0.5, 0.3, 0.15, 0.05], dtype=torch.float64)
    plain = language.sharpened(p, temperature=1, top_k=None, top_p=1.0)
    assert torch.allclose(plain, p)
    hot = language.sharpened(p, temperature=2, top_k=None, top_p=1.0)
    assert torch.allclose(hot, p.sqrt() / p.sqrt().sum())
    assert language.sharpened(p, temperature=0, top_k=None, top_p=1.0).tolist() == [1, 0, 0, 0]
    assert language.sharpened(p, temperature=1, top_k=2, top_p=1.0).tolist() == pytest.approx(
        [0.625, 0.375, 0, 0]
    )
    assert language.sharpened(p, temperature=1, top_k=None, top_p=0.6).tolist() == pytest.approx(
        [0.625, 0.375, 0, 0]
    )


def test_the_same_seed_writes_the_same_text() -> None:
    made = run("CharTokenizer", text=TEXT)
    model = run("NGramModel", tokens=made["tokens"], tokenizer=made["tokenizer"])["model"]
    texts = {run("GenerateText", model=model, tokenizer=made["tokenizer"])["text"] for _ in range(2)}
    assert len(texts) == 1
    assert len(texts.pop()) == 200


def test_text_is_given_and_counted() -> None:
    assert run("Text", params={"content": TEXT}) == TEXT
    made = run("TextStatistics", params={"most": 2}, text=TEXT)
    assert made["counts"]["words"] == len(TEXT.split())
    assert made["counts"]["lines"] == 2
    assert made["counts"]["words_per_line"] == 7.0
    assert made["frequent"].splitlines() == ["4 'the'", "2 'cat'"]
    letters = run("TextStatistics", params={"most": 1, "unit": "characters"}, text="aab")
    assert letters["frequent"] == "2 'a'"
