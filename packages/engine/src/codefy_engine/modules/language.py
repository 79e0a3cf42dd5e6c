"""Text as numbers: tokenizers, an n-gram model, and how a language model is asked for the next token."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast, runtime_checkable

import torch
from torch import Tensor, nn

UNKNOWN = "<unk>"
_WORDS = re.compile(r"\w+|[^\w\s]|\n")
_CLOSING = frozenset(".,;:!?)]}%'’”")
_OPENING = frozenset("([{$‘“")


class Tokenizer(Protocol):
    """Turns text into numbers and back."""

    @property
    def vocabulary(self) -> tuple[str, ...]: ...

    def encode(self, text: str) -> list[int]: ...

    def decode(self, tokens: Iterable[int]) -> str: ...


@dataclass(frozen=True)
class CharTokenizer:
    """One token per character. The vocabulary is sorted; number 0 stands for characters it does not have."""

    vocabulary: tuple[str, ...]
    _numbers: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_numbers", {token: i for i, token in enumerate(self.vocabulary)})

    @classmethod
    def learn(cls, text: str) -> CharTokenizer:
        """The tokenizer of the characters in ``text``."""
        return cls((UNKNOWN, *sorted(set(text))))

    def encode(self, text: str) -> list[int]:
        return [self._numbers.get(character, 0) for character in text]

    def decode(self, tokens: Iterable[int]) -> str:
        return "".join("�" if token == 0 else self.vocabulary[token] for token in tokens)

    def codefy_summary(self) -> dict[str, Any]:
        """Facts for the inspector."""
        return {"vocabulary": len(self.vocabulary), "summary": f"{len(self.vocabulary)} characters"}


@dataclass(frozen=True)
class WordTokenizer:
    """One token per word, mark or line end. Number 0 stands for words it does not have."""

    vocabulary: tuple[str, ...]
    lower: bool = True
    _numbers: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_numbers", {token: i for i, token in enumerate(self.vocabulary)})

    @classmethod
    def learn(
        cls, text: str, *, lower: bool = True, limit: int | None = None, at_least: int = 1
    ) -> WordTokenizer:
        """The tokenizer of the most frequent words in ``text``; words that are as frequent go by the alphabet."""
        counts = Counter(_WORDS.findall(text.lower() if lower else text))
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        words = [word for word, count in ranked if count >= at_least]
        if limit is not None:
            words = words[: max(limit - 1, 0)]
        return cls((UNKNOWN, *words), lower)

    def encode(self, text: str) -> list[int]:
        return [self._numbers.get(word, 0) for word in _WORDS.findall(text.lower() if self.lower else text)]

    def decode(self, tokens: Iterable[int]) -> str:
        text = ""
        for token in tokens:
            word = self.vocabulary[token]
            glued = not text or word == "\n" or word in _CLOSING or text[-1] == "\n" or text[-1] in _OPENING
            text += word if glued else f" {word}"
        return text

    def codefy_summary(self) -> dict[str, Any]:
        """Facts for the inspector."""
        return {"vocabulary": len(self.vocabulary), "summary": f"{len(self.vocabulary):,} words"}


@runtime_checkable
class NextToken(Protocol):
    """A model that knows how likely each token comes next."""

    def next_probabilities(self, context: Sequence[int]) -> Tensor:
        """Probabilities ``[vocabulary]``, float64."""
        ...


class NGramModel:
    """Counts of tokens after the ``order - 1`` before them, with interpolated smoothing.

    ``p(w | h) = (count(h w) + s · p(w | h')) / (count(h) + s)`` where ``h'`` is ``h`` without its first token, and the
    uniform distribution below single tokens; ``s`` is the smoothing (a Dirichlet prior, MacKay and Peto, 1995).
    """

    def __init__(self, order: int, vocabulary: int, smoothing: float) -> None:
        self.order = order
        self.vocabulary = vocabulary
        self.smoothing = smoothing
        self._following: dict[tuple[int, ...], Counter[int]] = {}

    def learn(self, tokens: Sequence[int], *, check: Callable[[], None] | None = None) -> None:
        """Count what follows what; ``check`` is called now and then and may raise."""
        for index, token in enumerate(tokens):
            if check is not None and index % 4096 == 0:
                check()
            for length in range(min(self.order, index + 1)):
                history = tuple(tokens[index - length : index])
                self._following.setdefault(history, Counter())[token] += 1

    def next_probabilities(self, context: Sequence[int]) -> Tensor:
        probabilities = torch.full((self.vocabulary,), 1 / self.vocabulary, dtype=torch.float64)
        longest = min(self.order - 1, len(context))
        for length in range(longest + 1):
            counts = self._following.get(tuple(context[len(context) - length :]))
            if not counts:
                break
            total = sum(counts.values())
            probabilities *= self.smoothing
            probabilities[torch.tensor(list(counts))] += torch.tensor(
                [float(count) for count in counts.values()], dtype=torch.float64
            )
            probabilities /= total + self.smoothing
        return probabilities

    def perplexity(self, tokens: Sequence[int], *, check: Callable[[], None] | None = None) -> float:
        """``exp`` of the mean surprise of a token: 1 is certain, the vocabulary's size is a blind guess.

        A token that the model takes for impossible makes it infinite.
        """
        surprise = 0.0
        for index, token in enumerate(tokens):
            if check is not None and index % 256 == 0:
                check()
            probability = float(
                self.next_probabilities(tokens[max(0, index - self.order + 1) : index])[token]
            )
            surprise += math.inf if probability <= 0 else -math.log(probability)
        return math.exp(surprise / len(tokens)) if tokens and math.isfinite(surprise) else math.inf

    def codefy_summary(self) -> dict[str, Any]:
        """Facts for the inspector."""
        histories = len(self._following)
        return {
            "order": self.order,
            "histories": histories,
            "summary": f"{self.order}-gram model, {histories:,} histories",
        }


class NeuralNextToken:
    """The next token by a network that takes ``[1, t]`` token numbers and gives scores ``[1, vocabulary, t]``."""

    def __init__(self, model: nn.Module, *, context: int, device: torch.device) -> None:
        self.model = model
        self.context = context
        self.device = device

    @torch.no_grad()
    def next_probabilities(self, context: Sequence[int]) -> Tensor:
        tokens = torch.tensor([list(context)[-self.context :]], dtype=torch.int64, device=self.device)
        scores: Any = self.model(tokens)
        if isinstance(scores, tuple):
            scores = cast("tuple[Any, ...]", scores)[0]
        if scores.dim() == 3:
            scores = scores[:, :, -1]
        return scores[0].double().cpu().softmax(dim=0)


def sharpened(probabilities: Tensor, *, temperature: float, top_k: int | None, top_p: float) -> Tensor:
    """``p^(1 / temperature)``, cut to the ``top_k`` likeliest and to the fewest that hold ``top_p``, summing to 1.

    Temperature 0 leaves only the likeliest.
    """
    if temperature == 0:
        best = torch.zeros_like(probabilities)
        best[int(probabilities.argmax())] = 1
        return best
    logs = probabilities.log() / temperature
    shaped = logs.softmax(dim=0)
    if top_k is not None and top_k < len(shaped):
        shaped[shaped < shaped.topk(top_k).values[-1]] = 0
    if top_p < 1:
        ranked, order = shaped.sort(descending=True, stable=True)
        before = ranked.cumsum(0) - ranked
        shaped[order[before >= top_p * shaped.sum()]] = 0
    return shaped / shaped.sum()


def generate(
    model: NextToken,
    prompt: Sequence[int],
    *,
    count: int,
    temperature: float,
    top_k: int | None,
    top_p: float,
    seed: int,
    check: Callable[[int], None],
) -> list[int]:
    """``count`` tokens after ``prompt``. ``check`` is called before each with how many there are, and may raise."""
    generator = torch.Generator().manual_seed(seed)
    tokens = list(prompt)
    for made in range(count):
        check(made)
        shaped = sharpened(
            model.next_probabilities(tokens), temperature=temperature, top_k=top_k, top_p=top_p
        )
        tokens.append(int(torch.multinomial(shaped, 1, generator=generator)))
    return tokens[len(prompt) :]


def windows_of(tokens: Tensor, *, context: int, stride: int) -> tuple[Tensor, Tensor]:
    """Stretches of ``context`` tokens and what follows each token: two int64 ``[m, context]``.

    Raises:
        ValueError: there are not more tokens than ``context``.
    """
    if len(tokens) <= context:
        raise ValueError(f"a context of {context} needs more than {context} tokens, got {len(tokens)}")
    stretches = tokens.unfold(0, context + 1, stride)
    return stretches[:, :-1].contiguous(), stretches[:, 1:].contiguous()
