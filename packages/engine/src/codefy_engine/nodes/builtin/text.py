"""Text, tokens, and language models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

from codefy_engine.nodes.base import Node, NodeContext, NodeError, input, node, output, param

if TYPE_CHECKING:
    from torch import Tensor, nn

    from codefy_engine.modules.language import Tokenizer
    from codefy_engine.training.data import TensorDataset


@node(type="Text", title="Text", category="text", icon="type")
class Text(Node):
    """A text that is written into the graph, and travels with it."""

    content: str = param("", kind="code", doc="The text itself.")
    text: str = output("value", doc="The text.")

    def run(self, ctx: NodeContext) -> Any:
        return self.content


@node(type="CharTokenizer", title="Character tokenizer", category="text", icon="type")
class CharTokenizer(Node):
    """Number the characters that occur in a text.

    The vocabulary is `<unk>` as number 0, which stands for everything else, and then the characters in their
    order in Unicode. Encode other texts with the same tokenizer.
    """

    text: str = input("value", doc="The text to learn from.")
    tokenizer: Tokenizer = output("value", doc="Turns text into numbers and back.")
    tokens: Tensor = output("tensor", doc="The text as int64 numbers `[tokens]`.")
    size: int = output("value", doc="Size of the vocabulary.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.modules import language

        return _tokenized(language.CharTokenizer.learn(_text(self.text)), self.text)


@node(type="WordTokenizer", title="Word tokenizer", category="text", icon="type")
class WordTokenizer(Node):
    """Number the words, marks and line ends that occur in a text, the most frequent ones first.

    Number 0 is `<unk>`, which stands for words that the vocabulary does not have.
    """

    text: str = input("value", doc="The text to learn from.")
    lower: bool = param(True, doc="Write everything small first.")
    limit: int | None = param(
        None, ge=2, le=1_000_000, doc="Size of the vocabulary at most. Empty: all words."
    )
    at_least: int = param(1, ge=1, le=1_000_000, doc="Leave out words that occur less often.")
    tokenizer: Tokenizer = output("value", doc="Turns text into numbers and back.")
    tokens: Tensor = output("tensor", doc="The text as int64 numbers `[tokens]`.")
    size: int = output("value", doc="Size of the vocabulary.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.modules import language

        learned = language.WordTokenizer.learn(
            _text(self.text), lower=self.lower, limit=self.limit, at_least=self.at_least
        )
        return _tokenized(learned, self.text)


@node(type="EncodeText", title="Encode text", category="text", icon="hash")
class EncodeText(Node):
    """Turn a text into the numbers of a tokenizer: int64 `[tokens]`."""

    text: str = input("value", doc="The text.")
    tokenizer: Tokenizer = input("value", doc="From a tokenizer node.")
    tokens: Tensor = output("tensor", doc="int64 `[tokens]`; 0 for what the vocabulary does not have.")

    def run(self, ctx: NodeContext) -> Any:
        import torch

        return torch.tensor(_tokenizer(self.tokenizer).encode(_text(self.text)), dtype=torch.int64)


@node(type="DecodeText", title="Decode text", category="text", icon="type")
class DecodeText(Node):
    """Turn the numbers of a tokenizer back into text: int64 `[tokens]` → a text."""

    tokens: Tensor = input("tensor", doc="int64 `[tokens]`.")
    tokenizer: Tokenizer = input("value", doc="The one that made the numbers.")
    text: str = output("value", doc="The text.")

    def run(self, ctx: NodeContext) -> Any:
        tokenizer = _tokenizer(self.tokenizer)
        numbers: list[int] = cast("Any", self.tokens.flatten()).tolist()
        size = len(tokenizer.vocabulary)
        if any(not 0 <= number < size for number in numbers):
            raise NodeError(f"a token lies outside 0 to {size - 1}")
        return tokenizer.decode(numbers)


@node(type="LanguageModelData", title="Next-token data", category="text", icon="database")
class LanguageModelData(Node):
    """Cut a long row of tokens into stretches from which a model learns what comes next.

    A sample is `context` tokens, its target the same stretch one token further: both int64 `[context]`. The last part
    of the text is for validation, so no stretch of it was seen in training. The model takes `[n, context]` and gives
    scores `[n, vocabulary, context]`: put a **Permute** after its last **Linear**.
    """

    tokens: Tensor = input("tensor", doc="int64 `[tokens]`, from a tokenizer.")
    tokenizer: Tokenizer = input("value", doc="The one that made the numbers: it names the classes.")
    context: int = param(32, ge=1, le=65_536, unit="tokens", doc="Length of a stretch.")
    stride: int = param(1, ge=1, le=65_536, unit="tokens", doc="From the start of one stretch to the next.")
    validation_fraction: float = param(
        0.1, ge=0, lt=1, label="Validation", doc="Share of the text, at its end, for validation."
    )
    train: TensorDataset = output("dataset", doc="What the model learns from.")
    validation: TensorDataset = output("dataset", doc="What it is watched with; empty when its share is 0.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.modules.language import windows_of
        from codefy_engine.training.data import TensorDataset

        names = tuple(_tokenizer(self.tokenizer).vocabulary)
        tokens = self.tokens.flatten()
        kept = len(tokens) - round(len(tokens) * self.validation_fraction)
        inputs, targets = windows_of(tokens[:kept], context=self.context, stride=self.stride)
        train = TensorDataset(inputs=inputs, targets=targets, name="tokens", class_names=names)
        if kept == len(tokens):
            return {"train": train, "validation": TensorDataset(inputs=inputs[:0], targets=targets[:0])}
        inputs, targets = windows_of(tokens[kept:], context=self.context, stride=self.stride)
        validation = TensorDataset(inputs=inputs, targets=targets, name="tokens", class_names=names)
        return {"train": train, "validation": validation}


@node(type="NGramModel", title="N-gram model", category="text", icon="bar-chart-3")
class NGramModel(Node):
    """Learn by counting which token follows which.

    `p(w | h) = (count(h w) + s · p(w | h')) / (count(h) + s)`: after the last *order* - 1 tokens `h`, mixed with what
    one token less says, down to an even guess. It is the yardstick for every larger language model.

    **Perplexity** is `exp` of the mean surprise of a token: 1 is certain, the vocabulary's size is a blind guess. The
    last part of the text is not learned from and gives `perplexity`; the rest gives `train_perplexity`.
    """

    tokens: Tensor = input("tensor", doc="int64 `[tokens]`, from a tokenizer.")
    tokenizer: Tokenizer = input("value", doc="The one that made the numbers.")
    order: int = param(3, ge=1, le=16, doc="Tokens that are looked at together; 1 looks at frequency alone.")
    smoothing: float = param(0.5, ge=0, le=1000, doc="How much shorter histories count.")
    validation_fraction: float = param(
        0.1, ge=0, lt=1, label="Validation", doc="Share of the text, at its end, for validation."
    )
    model: Any = output("model", doc="For **Generate text**.")
    metrics: dict[str, float] = output("metrics", doc="`perplexity` and `train_perplexity`.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.modules import language

        tokens: list[int] = cast("Any", self.tokens.flatten()).tolist()
        kept = len(tokens) - round(len(tokens) * self.validation_fraction)
        model = language.NGramModel(self.order, len(_tokenizer(self.tokenizer).vocabulary), self.smoothing)
        model.learn(tokens[:kept], check=ctx.check_stop)
        scores = {"train_perplexity": model.perplexity(tokens[:kept], check=ctx.check_stop)}
        if kept < len(tokens):
            scores["perplexity"] = model.perplexity(tokens[kept:], check=ctx.check_stop)
        for name, value in scores.items():
            ctx.metric(name, value, 0, scope="epoch")
        return {"model": model, "metrics": scores}


@node(type="GenerateText", title="Generate text", category="text", icon="message-square-text")
class GenerateText(Node):
    """Let a language model write on, token by token, each drawn by its probability.

    The model is an **N-gram model**, or a trained network that takes `[1, context]` token numbers and gives scores
    `[1, vocabulary, context]` (or `[1, vocabulary]`) for what comes next. The same seed gives the same text.
    """

    model: Any = input("model", doc="The language model.")
    tokenizer: Tokenizer = input("value", doc="The one that it learned with.")
    prompt: str = param("", doc="What it starts from. Empty: the vocabulary's first token.")
    length: int = param(200, ge=1, le=100_000, unit="tokens", doc="How much to write.")
    temperature: float = param(
        1.0, ge=0, le=10, doc="Below 1 more careful, above 1 more daring; 0 always takes the likeliest."
    )
    top_k: int | None = param(
        None, ge=1, le=1_000_000, doc="Draw from the k likeliest only. Empty: from all."
    )
    top_p: float = param(
        1.0, gt=0, le=1, doc="Draw from the fewest that hold this probability.", advanced=True
    )
    context: int = param(
        32, ge=1, le=65_536, unit="tokens", doc="How many tokens a network sees, as in its training."
    )
    text: str = output("value", doc="The prompt and what was written.")
    tokens: Tensor = output("tensor", doc="What was written: int64 `[length]`.")

    def run(self, ctx: NodeContext) -> Any:
        import torch

        from codefy_engine.modules.language import NeuralNextToken, NextToken, generate
        from codefy_engine.training.applying import ready_model
        from codefy_engine.training.seeding import derive_seed

        tokenizer = _tokenizer(self.tokenizer)
        prompt = tokenizer.encode(self.prompt) or [0]
        model: object = self.model
        if not isinstance(model, NextToken):
            example = torch.zeros(1, min(self.context, len(prompt)), dtype=torch.int64)
            network = ready_model(ctx, cast("nn.Module", model), example)
            model = NeuralNextToken(network, context=self.context, device=torch.device(ctx.device))

        def check(made: int) -> None:
            ctx.check_stop()
            ctx.progress(current=made, total=self.length, unit="tokens")

        seed = torch.seed() if ctx.seed is None else derive_seed(ctx.seed, ctx.node_id)
        written = generate(
            model,
            prompt,
            count=self.length,
            temperature=self.temperature,
            top_k=self.top_k,
            top_p=self.top_p,
            seed=seed,
            check=check,
        )
        return {
            "text": self.prompt + tokenizer.decode(written),
            "tokens": torch.tensor(written, dtype=torch.int64),
        }


@node(type="TextStatistics", title="Text statistics", category="text", icon="bar-chart-3")
class TextStatistics(Node):
    """Count characters, words, lines and different words of a text.

    Gives `characters`, `words`, `lines`, `different_words` and `words_per_line`.
    """

    text: str = input("value", doc="The text.")
    unit: Literal["words", "characters"] = param(
        "words", choices=[("words", "Words"), ("characters", "Characters")], doc="What the list counts."
    )
    most: int = param(10, ge=1, le=1000, doc="Length of the list.")
    counts: dict[str, float] = output("metrics", doc="The counts by name.")
    frequent: str = output("value", doc="The most frequent ones, a line each: the number and the word.")

    def run(self, ctx: NodeContext) -> Any:
        from collections import Counter

        text = _text(self.text)
        words = text.split()
        lines = text.splitlines()
        counted = (
            Counter(word.strip(".,;:!?\"'()").lower() for word in words)
            if self.unit == "words"
            else Counter(text)
        )
        ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))[: self.most]
        return {
            "counts": {
                "characters": len(text),
                "words": len(words),
                "lines": len(lines),
                "different_words": len({word.lower() for word in words}),
                "words_per_line": len(words) / max(len(lines), 1),
            },
            "frequent": "\n".join(f"{count} {word!r}" for word, count in ranked),
        }


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise NodeError(f"a text is needed, got a {type(value).__name__}")
    return value


def _tokenizer(value: object) -> Tokenizer:
    if not callable(getattr(value, "encode", None)) or not hasattr(value, "vocabulary"):
        raise NodeError(f"a tokenizer is needed, got a {type(value).__name__}")
    return cast("Tokenizer", value)


def _tokenized(tokenizer: Tokenizer, text: str) -> dict[str, Any]:
    import torch

    return {
        "tokenizer": tokenizer,
        "tokens": torch.tensor(tokenizer.encode(text), dtype=torch.int64),
        "size": len(tokenizer.vocabulary),
    }
