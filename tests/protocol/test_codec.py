"""Bytes ↔ frames: several per message, unknown types and fields ignored."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefy_protocol import codec, frames


def event(seq: int, body: bytes = b"{}") -> frames.Event:
    return frames.Event(run_id="r1", attempt=1, seq=seq, ts=1.5, kind="node_status", body=body)


def sample(frame_type: type[msgspec.Struct]) -> msgspec.Struct:
    """A frame with a value for every required field."""
    values: dict[str, object] = {}
    by_type: dict[object, object] = {
        str: "x",
        int: 3,
        float: 2.5,
        bool: True,
        bytes: b'{"a":1}',
        tuple[str, ...]: ("a", "b"),
        tuple[frames.AttemptState, ...]: (
            frames.AttemptState(run_id="r", attempt=1, state="running", last_seq=4),
        ),
        tuple[frames.DeviceIdentity, ...]: (frames.DeviceIdentity(name="cuda:1", uuid="GPU-1"),),
        dict[str, str]: {"k": "v"},
    }
    for field in msgspec.structs.fields(frame_type):
        if field.required:
            values[field.name] = by_type[field.type]
    return frame_type(**values)


@pytest.mark.parametrize("frame_type", frames.AGENT_FRAME_TYPES, ids=frames.frame_tag)
def test_every_agent_frame_survives_the_wire(frame_type: type[msgspec.Struct]) -> None:
    frame = sample(frame_type)
    assert codec.agent_frame_decoder().decode(codec.encode_message([frame])) == [frame]


@pytest.mark.parametrize("frame_type", frames.CONTROL_FRAME_TYPES, ids=frames.frame_tag)
def test_every_control_frame_survives_the_wire(frame_type: type[msgspec.Struct]) -> None:
    frame = sample(frame_type)
    assert codec.control_frame_decoder().decode(codec.encode_message([frame])) == [frame]


def test_frames_are_frozen_and_keyword_only_and_their_tags_differ() -> None:
    every = (*frames.AGENT_FRAME_TYPES, *frames.CONTROL_FRAME_TYPES)
    assert len({frames.frame_tag(frame_type) for frame_type in every}) == len(every)
    for frame_type in every:
        assert frame_type.__struct_config__.frozen
        with pytest.raises(TypeError):
            frame_type("positional")


def test_an_unknown_frame_type_is_skipped_and_reported_once_and_the_rest_arrives() -> None:
    decoder = codec.agent_frame_decoder()
    message = msgspec.msgpack.encode(
        [{"type": "from_the_future", "x": 1}, event(1), {"type": "from_the_future"}]
    )
    assert decoder.decode(message) == [event(1)]
    assert decoder.unknown_tags == {"from_the_future"}


def test_unknown_fields_are_ignored() -> None:
    raw = msgspec.to_builtins(event(7), builtin_types=(bytes,)) | {"novelty": [1, 2]}
    assert codec.agent_frame_decoder().decode(msgspec.msgpack.encode([raw])) == [event(7)]


def test_a_side_never_decodes_what_only_it_may_send() -> None:
    decoder = codec.agent_frame_decoder()
    assert decoder.decode(codec.encode_message([frames.Ack(run_id="r", attempt=1, seq=1)])) == []
    assert decoder.unknown_tags == {"ack"}


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\xc1",
        msgspec.msgpack.encode({"type": "event"}),
        msgspec.msgpack.encode([1, 2]),
        msgspec.msgpack.encode([{"type": "event", "run_id": 5}]),
        b"\x91" * 5000 + b"\x90",
    ],
    ids=["empty", "no MessagePack", "no array", "no frames", "a field of the wrong type", "nested too deep"],
)
def test_a_malformed_message_is_named(message: bytes) -> None:
    with pytest.raises(codec.MalformedMessage):
        codec.agent_frame_decoder().decode(message)


def test_a_message_that_is_nested_without_end_is_malformed() -> None:
    deep = b"\x91" * 100_000 + b"\xc0"
    for message in (deep, b"\x91\x82\xa4type\xa5hello\xa4name" + deep):
        with pytest.raises(codec.MalformedMessage):
            codec.agent_frame_decoder().decode(message)


def test_the_index_of_the_bad_frame_is_told() -> None:
    message = msgspec.msgpack.encode(
        [msgspec.to_builtins(event(1), builtin_types=(bytes,)), {"type": "event", "run_id": 5}]
    )
    with pytest.raises(codec.MalformedMessage, match="frame 1"):
        codec.agent_frame_decoder().decode(message)


def test_a_message_over_the_limit_is_refused() -> None:
    message = codec.encode_message([event(1, b"x" * codec.MAX_MESSAGE_BYTES)])
    with pytest.raises(codec.MalformedMessage, match="at most"):
        codec.agent_frame_decoder().decode(message)


@given(st.lists(st.integers(0, 3000), max_size=40), st.integers(100, 5000))
def test_packing_keeps_every_frame_in_order_within_the_limit(sizes: list[int], limit: int) -> None:
    sent = [event(index + 1, b"b" * size) for index, size in enumerate(sizes)]
    messages = codec.pack_messages(sent, limit)
    decoder = codec.agent_frame_decoder()
    received = [decoder.decode(message) for message in messages]
    assert [frame for batch in received for frame in batch] == sent
    for message, batch in zip(messages, received, strict=True):
        assert len(message) <= limit + 8 or len(batch) == 1


@pytest.mark.parametrize("count", [0, 1, 15, 16, 65_535, 65_536])
def test_the_array_header_fits_every_count(count: int) -> None:
    one = msgspec.msgpack.encode(1)
    assert msgspec.msgpack.decode(codec.join_encoded([one] * count)) == [1] * count
