"""Records are written by one thread: at once when the pipe was idle, in batches when there are many."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from codefy_engine.child.writer import MAX_PENDING_BYTES, RecordWriter
from codefy_protocol.pipe import ChildRecord, ChunkReader, decode_child_messages

WAIT_S = 30


def _record(number: int, size: int = 1) -> ChildRecord:
    return ChildRecord(frame="event", ts=float(number), kind="k", body=b"x" * size)


class Reader:
    """Reads the pipe in a thread once told to."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.chunks: list[list[float]] = []
        self.thread = threading.Thread(target=self._read)
        self.first = threading.Event()

    def _read(self) -> None:
        reader = ChunkReader()
        while data := os.read(self.fd, 1 << 16):
            for chunk in reader.feed(data):
                messages = decode_child_messages(chunk)
                self.chunks.append([m.ts for m in messages if isinstance(m, ChildRecord)])
                self.first.set()

    @property
    def numbers(self) -> list[float]:
        return [number for chunk in self.chunks for number in chunk]


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    fds = os.pipe()
    yield fds
    for fd in fds:
        try:
            os.close(fd)
        except OSError:
            pass


def test_everything_arrives_in_order_and_in_batches(pipe: tuple[int, int]) -> None:
    reader = Reader(pipe[0])
    reader.thread.start()
    writer = RecordWriter(pipe[1], on_lost=lambda: None)
    for number in range(5000):
        writer.put(_record(number))
    writer.finish(_record(5000))
    writer.put(_record(9999))
    os.close(pipe[1])
    reader.thread.join(WAIT_S)
    assert reader.numbers == list(range(5001))
    assert len(reader.chunks) < 2000


def test_a_record_goes_out_without_company(pipe: tuple[int, int]) -> None:
    reader = Reader(pipe[0])
    reader.thread.start()
    writer = RecordWriter(pipe[1], on_lost=lambda: None)
    writer.put(_record(1))
    assert reader.first.wait(WAIT_S)
    writer.finish(_record(2))
    os.close(pipe[1])
    reader.thread.join(WAIT_S)
    assert reader.chunks == [[1], [2]]


def test_the_loss_of_the_reader_is_told_once_and_blocks_nobody(pipe: tuple[int, int]) -> None:
    lost = threading.Event()
    told: list[int] = []

    def on_lost() -> None:
        told.append(1)
        lost.set()

    os.close(pipe[0])
    writer = RecordWriter(pipe[1], on_lost)
    writer.put(_record(1))
    assert lost.wait(WAIT_S)
    for number in range(100):
        writer.put(_record(number, size=MAX_PENDING_BYTES // 10))
    writer.finish(_record(2))
    assert told == [1]


def test_a_run_that_is_faster_than_its_reader_waits(pipe: tuple[int, int]) -> None:
    writer = RecordWriter(pipe[1], on_lost=lambda: None)
    size = MAX_PENDING_BYTES // 4
    passed: list[int] = []

    def produce() -> None:
        for number in range(12):
            writer.put(_record(number, size))
            passed.append(number)
        writer.finish(_record(12))
        os.close(pipe[1])

    producer = threading.Thread(target=produce)
    producer.start()
    producer.join(1)
    assert producer.is_alive() and len(passed) < 12
    reader = Reader(pipe[0])
    reader.thread.start()
    producer.join(WAIT_S)
    reader.thread.join(WAIT_S)
    assert reader.numbers == list(range(13))
