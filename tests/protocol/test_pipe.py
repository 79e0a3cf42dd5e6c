"""The pipe between agent and run child, in whatever pieces it is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefy_protocol import pipe

RECORDS = [pipe.ChildRecord(frame="event", ts=float(i), kind="node_status", body=b"x" * i) for i in range(30)]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=400))
def test_chunks_are_found_however_the_bytes_arrive(cuts: list[int]) -> None:
    stream = pipe.encode_chunk([pipe.Preamble(protocol_version=1, engine_version="0", pid=4)])
    for start in range(0, 30, 7):
        stream += pipe.encode_chunk(RECORDS[start : start + 7])
    reader = pipe.ChunkReader()
    messages: list[pipe.ChildMessage] = []
    position = 0
    for cut in [*cuts, len(stream)]:
        for chunk in reader.feed(stream[position : position + cut]):
            messages += pipe.decode_child_messages(chunk)
        position += cut
    assert messages[1:] == RECORDS
    assert messages[0] == pipe.Preamble(protocol_version=1, engine_version="0", pid=4)


def test_text_printed_into_the_pipe_is_noticed() -> None:
    with pytest.raises(pipe.MalformedPipe, match="limit"):
        pipe.ChunkReader().feed(b"Traceback (most recent call last):\n")


def test_the_other_direction_is_another_language() -> None:
    with pytest.raises(pipe.MalformedPipe):
        pipe.decode_agent_messages(pipe.encode_chunk([RECORDS[1]])[4:])
    chunk = pipe.encode_chunk([pipe.StopRun()])[4:]
    assert pipe.decode_agent_messages(chunk) == [pipe.StopRun()]


def test_a_chunk_nested_too_deep_is_malformed() -> None:
    deep = b"\x91\x82\xa4type\xa8preamble\xa1x" + b"\x91" * 5000 + b"\x90"
    with pytest.raises(pipe.MalformedPipe):
        pipe.decode_child_messages(deep)
    with pytest.raises(pipe.MalformedPipe):
        pipe.decode_agent_messages(deep)
