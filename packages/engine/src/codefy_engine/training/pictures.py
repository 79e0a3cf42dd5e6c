"""Image files to tensors and back."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, cast

import torch
from torch import Tensor

from codefy_engine.nodes.base import NodeError
from codefy_engine.training.data import TensorDataset

SUFFIXES = frozenset((".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm"))
_LOOK_EVERY = 500
"""Files that are listed between two looks for a stop."""


def load_image(path: Path, *, size: tuple[int, int] | None, mode: Literal["L", "RGB"]) -> Tensor:
    """A picture as float32 ``[channels, h, w]`` from 0 to 1; ``size`` is height and width.

    Raises:
        NodeError: the file is no picture, or a damaged one.
    """
    from PIL import Image

    try:
        with Image.open(path) as opened:
            # Grey with 16 bits: Pillow would clip it to 8 bits, which leaves white.
            deep = opened.mode == "I" or opened.mode.startswith("I;16")
            picture = opened.convert("F" if deep else mode)
            if size is not None and picture.size != (size[1], size[0]):
                picture = picture.resize((size[1], size[0]), Image.Resampling.BILINEAR)
            width, height = picture.size
            raw = bytearray(picture.tobytes())
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise NodeError(f"{path.name} is not an image that can be read: {error}") from error
    channels = 1 if mode == "L" else 3
    if deep:
        grey = torch.frombuffer(raw, dtype=torch.float32).reshape(1, height, width)
        return (grey / 65535).clamp(0, 1).repeat(channels, 1, 1)
    pixels = torch.frombuffer(raw, dtype=torch.uint8).reshape(height, width, channels)
    return pixels.permute(2, 0, 1).float() / 255


def load_folder(
    folder: Path,
    *,
    size: tuple[int, int],
    mode: Literal["L", "RGB"],
    broken: Literal["error", "skip"],
    limit: int | None,
    check_stop: Callable[[], None],
    progress: Callable[[int, int], None],
) -> tuple[TensorDataset, list[str]]:
    """One class per folder in ``folder``, by name; also the names of the pictures that were left out.

    Raises:
        NodeError: no folders with pictures, or a picture that cannot be read and ``broken`` is ``error``.
    """
    classes = sorted(
        item.name for item in folder.iterdir() if item.is_dir() and not item.name.startswith(".")
    )
    found: list[tuple[int, Path]] = []
    for number, name in enumerate(classes):
        check_stop()
        files: list[Path] = []
        for place, path in enumerate((folder / name).rglob("*")):
            if place % _LOOK_EVERY == 0:
                check_stop()
            if path.suffix.lower() in SUFFIXES:
                files.append(path)
        found += [(number, path) for path in sorted(files)[:limit]]
    if not found:
        raise NodeError(
            f"{folder.name} has no folders with images: it needs one folder per class, such as {folder.name}/cat/1.png"
        )
    images: list[Tensor] = []
    targets: list[int] = []
    skipped: list[str] = []
    for done, (number, path) in enumerate(found):
        check_stop()
        shown = path.relative_to(folder).as_posix()
        try:
            images.append(load_image(path, size=size, mode=mode))
        except NodeError as error:
            if broken == "error":
                raise NodeError(f"{folder.name}/{shown}: {error}") from error
            skipped.append(shown)
            continue
        finally:
            progress(done + 1, len(found))
        targets.append(number)
    if not images:
        raise NodeError(f"no image of {folder.name} can be read")
    dataset = TensorDataset(
        inputs=torch.stack(images),
        targets=torch.tensor(targets, dtype=torch.int64),
        name=folder.name,
        class_names=tuple(classes),
    )
    return dataset, skipped


def png_bytes(image: Tensor) -> bytes:
    """A PNG file of uint8 ``[channels, h, w]``: 1 channel is grey, 3 are colours, 4 have a last one of opacity.

    Raises:
        ValueError: another number of channels.
    """
    channels, height, width = image.shape
    kinds = {1: 0, 3: 2, 4: 6}
    if channels not in kinds:
        raise ValueError(f"an image has 1, 3 or 4 channels, got {channels}")
    rows = image.permute(1, 2, 0).reshape(height, width * channels).to(torch.uint8).cpu()
    # Each row begins with its filter: 0 is none.
    data = torch.cat((torch.zeros(height, 1, dtype=torch.uint8), rows), 1)
    raw = bytes(cast("Any", data.contiguous()).numpy().tobytes())
    header = struct.pack(">IIBBBBB", width, height, 8, kinds[channels], 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", zlib.compress(raw))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def to_bytes(image: Tensor, low: float = 0.0, high: float = 1.0) -> Tensor:
    """uint8 of the same shape: ``low`` becomes 0, ``high`` 255; what is not a number becomes 0."""
    scaled = (image.detach().float() - low) / (high - low) * 255
    return torch.nan_to_num(scaled, nan=0.0, posinf=255.0, neginf=0.0).round().clamp(0, 255).to(torch.uint8)


def image_grid(images: Tensor, *, columns: int, zoom: int, scale: Literal["unit", "all", "each"]) -> Tensor:
    """Images ``[n, channels, h, w]`` side by side: uint8 ``[2 or 4, …]`` with opacity, so that gaps show the page.

    ``scale``: ``unit`` takes 0 to 1, ``all`` the range of all images, ``each`` that of every single one.
    """
    count, channels, height, width = images.shape
    values = images.detach().float().cpu()
    if scale == "each":
        flat = values.flatten(1)
        low, high = flat.amin(1), flat.amax(1)
        span = torch.where(high > low, high - low, torch.ones_like(high))
        pixels = to_bytes((values - low.reshape(-1, 1, 1, 1)) / span.reshape(-1, 1, 1, 1))
    elif scale == "all" and values.numel():
        low, high = float(values.min()), float(values.max())
        pixels = to_bytes(values, low, high if high > low else low + 1)
    else:
        pixels = to_bytes(values)
    colours = pixels.expand(-1, 3, -1, -1) if channels == 1 else pixels[:, :3]
    colours = colours.repeat_interleave(zoom, 2).repeat_interleave(zoom, 3)
    tile_h, tile_w, gap = height * zoom, width * zoom, 2
    columns = max(1, min(columns, count))
    rows = -(-count // columns)
    canvas = torch.zeros(4, rows * (tile_h + gap) - gap, columns * (tile_w + gap) - gap, dtype=torch.uint8)
    for index in range(count):
        top, left = index // columns * (tile_h + gap), index % columns * (tile_w + gap)
        canvas[:3, top : top + tile_h, left : left + tile_w] = colours[index]
        canvas[3, top : top + tile_h, left : left + tile_w] = 255
    return canvas
