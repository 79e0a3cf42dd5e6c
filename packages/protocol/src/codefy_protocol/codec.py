"""Bytes ↔ frames: one WebSocket message is one MessagePack array of frames.

Each side decodes only what the other side may send. A frame's tag is read first, so an unknown frame type is skipped
and reported once, and unknown fields are ignored by msgspec.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec

from codefy_protocol.frames import AGENT_FRAME_TYPES, CONTROL_FRAME_TYPES, Frame, frame_tag

MAX_MESSAGE_BYTES = 1024 * 1024
"""F-6. Larger graphs and bodies are fetched over HTTP by hash."""

_encoder = msgspec.msgpack.Encoder()


class MalformedMessage(ValueError):
    """A message is not an array of frames, or a known frame does not fit its struct."""


def encode_message(frames: Sequence[Frame]) -> bytes:
    """Encode frames as one message."""
    return _encoder.encode(frames)


def pack_messages(frames: Iterable[Frame], limit: int = MAX_MESSAGE_BYTES // 2) -> list[bytes]:
    """Encode frames into as few messages as possible, none over ``limit`` unless one frame alone is.

    Each frame is encoded once; the array header is put in front of the joined bytes.
    """
    messages: list[bytes] = []
    batch: list[bytes] = []
    size = 0
    for frame in frames:
        encoded = _encoder.encode(frame)
        if batch and size + len(encoded) > limit:
            messages.append(join_encoded(batch))
            batch, size = [], 0
        batch.append(encoded)
        size += len(encoded)
    if batch:
        messages.append(join_encoded(batch))
    return messages


def join_encoded(encoded: Sequence[bytes]) -> bytes:
    """Join frames that are encoded already into one message."""
    count = len(encoded)
    if count < 16:
        header = bytes((0x90 | count,))
    elif count < 1 << 16:
        header = b"\xdc" + count.to_bytes(2, "big")
    else:
        header = b"\xdd" + count.to_bytes(4, "big")
    return header + b"".join(encoded)


class _Tagged(msgspec.Struct):
    type: str = ""


class FrameDecoder:
    """Decodes messages that hold the given frame types; remembers unknown tags so that each is reported once."""

    def __init__(self, frame_types: Sequence[type[Frame]]) -> None:
        self._raw = msgspec.msgpack.Decoder(list[msgspec.Raw])
        self._tag = msgspec.msgpack.Decoder(_Tagged)
        self._known = {frame_tag(frame_type) for frame_type in frame_types}
        union: Any = frame_types[0]
        for frame_type in frame_types[1:]:
            union = union | frame_type
        self._many = msgspec.msgpack.Decoder(cast("type[list[Frame]]", list[union]))
        self._one = msgspec.msgpack.Decoder(cast("type[Frame]", union))
        self.unknown_tags: set[str] = set()

    def decode(self, message: bytes) -> list[Frame]:
        """Decode one message.

        Raises:
            MalformedMessage: with the reason and the index of the frame.
        """
        if len(message) > MAX_MESSAGE_BYTES:
            raise MalformedMessage(f"a message has at most {MAX_MESSAGE_BYTES} bytes, got {len(message)}")
        try:
            return self._many.decode(message)
        except (msgspec.DecodeError, RecursionError):
            return self._decode_one_by_one(message)

    def _decode_one_by_one(self, message: bytes) -> list[Frame]:
        try:
            raws = self._raw.decode(message)
        except (msgspec.DecodeError, RecursionError) as error:
            raise MalformedMessage(f"a message is an array of frames: {error}") from error
        frames: list[Frame] = []
        for index, raw in enumerate(raws):
            try:
                tag = self._tag.decode(raw).type
                if tag not in self._known:
                    self.unknown_tags.add(tag)
                    continue
                frames.append(self._one.decode(raw))
            except (msgspec.DecodeError, RecursionError) as error:
                raise MalformedMessage(f"frame {index}: {error}") from error
        return frames


def agent_frame_decoder() -> FrameDecoder:
    """Decoder for what an agent sends."""
    return FrameDecoder(AGENT_FRAME_TYPES)


def control_frame_decoder() -> FrameDecoder:
    """Decoder for what the control plane sends."""
    return FrameDecoder(CONTROL_FRAME_TYPES)
