"""Parts and statistics of values that were kept, in numbers that JSON can hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from msgspec import Struct

from codefy_engine.execution.summaries import summarize
from codefy_protocol.envelope import JsonNumber, json_number

MAX_SLICE = 4096
"""Numbers in one answer."""
MAX_TEXT = 16_384
MAX_CELL = 200
"""Characters of a text in an array."""
_BINS = 32


class OutputSlice(Struct, kw_only=True, frozen=True):
    """A part of a value: of a tensor the numbers of its last two dimensions at an index of the others."""

    shape: list[int] = []
    dtype: str = ""
    index: list[int] = []
    """Of the leading dimensions."""
    start: list[int] = []
    """Where in the last two dimensions it begins."""
    values: Any = None
    """Nested lists of numbers, NaN and infinities as texts."""
    text: str = ""
    """In words, for what is no tensor itself."""


class OutputStatistics(Struct, kw_only=True, frozen=True):
    """Of all numbers of a tensor; the finite ones where it says so."""

    count: int
    finite: int
    nan: int
    infinite: int
    zero: int
    mean: JsonNumber = "NaN"
    std: JsonNumber = "NaN"
    min: JsonNumber = "NaN"
    max: JsonNumber = "NaN"
    histogram: list[int] = []
    """Finite numbers in equal parts of min to max."""


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor or an array of any kind."""
    try:
        return hasattr(value, "shape") and hasattr(value, "dtype")
    except Exception:  # a stranger's attributes may raise anything
        return False


def numbers_of(value: Any) -> Any:
    """The tensor that a value is, or the samples of a dataset or loader; other values as they are."""
    if is_tensor(value):
        return value
    try:
        samples = getattr(value, "inputs", None)
        if samples is None:
            samples = getattr(getattr(value, "dataset", None), "inputs", None)
    except Exception:  # a stranger's attributes may raise anything
        return value
    return samples if is_tensor(samples) else value


def slice_of(
    value: Any,
    index: Sequence[int] = (),
    start: Sequence[int] = (),
    size: Sequence[int] = (),
    redact: Callable[[str], str] | None = None,
) -> OutputSlice:
    """At most :data:`MAX_SLICE` numbers of a tensor or of the samples of a dataset, or a value in words.

    Raises:
        IndexError: the index lies outside of the tensor.
    """
    words = "" if is_tensor(value) else _in_words(value, redact)
    value = numbers_of(value)
    if not is_tensor(value):
        return OutputSlice(text=words)
    shape = [int(length) for length in value.shape]
    leading = len(shape) - min(2, len(shape))
    at = [*index, *([0] * leading)][:leading]
    for dimension, position in enumerate(at):
        if not 0 <= position < shape[dimension]:
            raise IndexError(f"index {position} of dimension {dimension}, which has {shape[dimension]}")
    begin = [
        min(max(0, number), length) for number, length in zip([*start, 0, 0], shape[leading:], strict=False)
    ]
    lengths = [max(0, number) for number in size] or [64, 64]
    try:
        numbers = _cut(value, at, begin, lengths).tolist()
    except Exception:  # a sparse tensor, or whatever a stranger calls one
        return OutputSlice(text=_in_words(value, redact))
    return OutputSlice(
        shape=shape,
        dtype=str(value.dtype).removeprefix("torch."),
        index=at,
        start=begin,
        values=_plain(numbers, redact),
        text=words,
    )


def _in_words(value: Any, redact: Callable[[str], str] | None) -> str:
    text = value if isinstance(value, str) else str(summarize(value, "any", redact)["summary"])
    return (text if redact is None else redact(text))[:MAX_TEXT]


def _cut(value: Any, at: Sequence[int], begin: Sequence[int], lengths: Sequence[int]) -> Any:
    part = value
    for position in at:
        part = part[position]
    if len(begin) == 1:
        part = part[begin[0] : begin[0] + min(lengths[-1], MAX_SLICE)]
    elif len(begin) == 2:
        wide = min(lengths[-1], MAX_SLICE)
        high = min(lengths[0], MAX_SLICE // max(1, wide)) or 1
        part = part[begin[0] : begin[0] + high, begin[1] : begin[1] + wide]
    return part


def _plain(value: Any, redact: Callable[[str], str] | None) -> Any:
    """Numbers and texts as JSON takes them, without secrets."""
    if isinstance(value, list):
        return [_plain(item, redact) for item in cast("list[Any]", value)]
    if isinstance(value, float):
        return json_number(value)
    if value is None or isinstance(value, bool):
        return value
    text = str(value)
    # Before it is cut: half a secret is one too.
    shown = text if redact is None else redact(text)
    return value if isinstance(value, int) and shown == text else shown[:MAX_CELL]


def statistics_of(value: Any) -> OutputStatistics:
    """Statistics of a tensor or array, or of the samples of a dataset.

    Raises:
        TypeError: it is none, or holds no real numbers.
    """
    try:
        return _statistics(value)
    except (RuntimeError, ValueError, NotImplementedError) as error:
        # Sparse and quantized tensors, and whatever a stranger calls one.
        raise TypeError(f"a {type(value).__name__} has no statistics: {error}") from error


def _statistics(value: Any) -> OutputStatistics:
    value = numbers_of(value)
    if not is_tensor(value):
        raise TypeError(f"a {type(value).__name__} has no statistics")
    import torch

    tensor = torch.as_tensor(value).detach()
    if tensor.is_complex():
        raise TypeError("complex numbers have no statistics")
    flat = tensor.reshape(-1).to(torch.float32 if tensor.dtype == torch.float32 else torch.float64)
    finite = flat[torch.isfinite(flat)]
    count, nan = flat.numel(), int(torch.isnan(flat).sum())
    facts = OutputStatistics(
        count=count,
        finite=finite.numel(),
        nan=nan,
        infinite=count - finite.numel() - nan,
        zero=int((flat == 0).sum()),
    )
    if finite.numel() == 0:
        return facts
    low, high = float(finite.min()), float(finite.max())
    histogram = torch.histc(finite.cpu(), bins=_BINS, min=low, max=high if high > low else low + 1)
    wide = finite.to(torch.float64)
    return OutputStatistics(
        count=count,
        finite=facts.finite,
        nan=nan,
        infinite=facts.infinite,
        zero=facts.zero,
        mean=json_number(float(wide.mean())),
        std=json_number(float(wide.std(correction=0)) if finite.numel() > 1 else 0.0),
        min=low,
        max=high,
        histogram=[int(number) for number in cast("list[float]", cast("Any", histogram).tolist())],
    )
