"""A captured value as a picture: images as they are, matrices in shades of grey."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec import Struct

from codefy_engine.execution.reading import is_tensor, numbers_of

MAX_SIDE = 1024
"""Pixels of a picture in each direction; of a larger one every second, third … is taken."""
_CHANNELS = (1, 3, 4)


class PictureFacts(Struct, kw_only=True, frozen=True):
    """How a value looks as a picture."""

    width: int
    height: int
    channels: int
    """1 is grey, 3 are colours, 4 have a last one of opacity."""
    leading: list[int] = []
    """Sizes of the dimensions before those of one picture, to choose from by index."""


def picture_facts(value: Any) -> PictureFacts | None:
    """Whether and how a value can be drawn; ``None`` for what is no picture. Reads shapes only."""
    found = _layout(numbers_of(value))
    if found is None:
        return None
    shape, channels, last = found
    height, width = shape[-3:-1] if last else shape[-2:]
    return PictureFacts(
        width=width,
        height=height,
        channels=channels or 1,
        leading=shape[: -3 if channels else -2],
    )


def picture_png(value: Any, index: Sequence[int] = ()) -> bytes:
    """The picture at an index of the leading dimensions as PNG.

    Bytes are drawn as they are and numbers from 0 to 1 as shades between black and white; of other ranges the smallest
    becomes black and the largest white.

    Raises:
        TypeError: the value is no picture.
        IndexError: the index lies outside.
    """
    import torch

    from codefy_engine.training.pictures import png_bytes, to_bytes

    what = type(value).__name__
    value = numbers_of(value)
    found = _layout(value)
    if found is None:
        raise TypeError(f"a {what} is no picture")
    shape, channels, last = found
    leading = shape[: -3 if channels else -2]
    part = torch.as_tensor(value).detach()
    for dimension, position in enumerate([*index, *([0] * len(leading))][: len(leading)]):
        if not 0 <= position < leading[dimension]:
            raise IndexError(f"index {position} of dimension {dimension}, which has {leading[dimension]}")
        part = part[position]
    if channels == 0:
        part = part.unsqueeze(0)
    elif last:
        part = part.permute(2, 0, 1)
    stride = max(1, -(-max(part.shape[1:]) // MAX_SIDE))
    part = part[:, ::stride, ::stride].to("cpu")
    if part.dtype != torch.uint8:
        numbers = part.to(torch.float32)
        finite = numbers[torch.isfinite(numbers)]
        low, high = (float(finite.min()), float(finite.max())) if finite.numel() else (0.0, 1.0)
        if low >= 0.0 and high <= 1.0:
            low, high = 0.0, 1.0
        part = to_bytes(numbers, low, high if high > low else low + 1)
    return png_bytes(part)


def _layout(value: Any) -> tuple[list[int], int, bool] | None:
    """Shape, channels (0 when no dimension holds them) and whether they come last."""
    if not is_tensor(value):
        return None
    kind = str(value.dtype)
    if "complex" in kind or "str" in kind or "object" in kind or "datetime" in kind:
        return None
    if str(getattr(value, "layout", "torch.strided")) != "torch.strided":
        return None
    shape = [int(size) for size in cast("Sequence[int]", value.shape)]
    if len(shape) < 2 or 0 in shape:
        return None
    if len(shape) >= 3 and shape[-3] in _CHANNELS:
        return shape, shape[-3], False
    # Bytes come from picture files, whose pixels are often the last dimension.
    if len(shape) >= 3 and shape[-1] in _CHANNELS[1:] and kind.endswith("uint8"):
        return shape, shape[-1], True
    return shape, 0, False
