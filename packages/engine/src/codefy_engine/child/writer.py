"""Records of a run on their way into the pipe: gathered by any thread, written by one."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from codefy_protocol.pipe import ChildRecord, encode_chunk

BATCH_S = 0.02
"""Records wait at most this long for company, unless the pipe was idle: then they go at once."""
BATCH_BYTES = 64 * 1024
MAX_PENDING_BYTES = 32 * 1024 * 1024
"""A run that produces faster than the agent reads waits here instead of filling the memory."""

_OVERHEAD = 64
"""About what a record takes beyond its body."""


def write_all(fd: int, data: bytes) -> None:
    """Write everything.

    Raises:
        OSError: the other end is gone.
    """
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


class RecordWriter:
    """A queue with a thread that writes it to ``fd`` as chunks."""

    def __init__(self, fd: int, on_lost: Callable[[], None]) -> None:
        """``on_lost`` is called once when the other end of the pipe is gone; records are dropped from then on."""
        self._fd = fd
        self._on_lost = on_lost
        self._pending: list[ChildRecord] = []
        self._pending_bytes = 0
        self._changed = threading.Condition(threading.Lock())
        self._writer_waits = False
        self._closed = False
        self._lost = False
        self._thread = threading.Thread(target=self._write_loop, name="codefy-records", daemon=True)
        self._thread.start()

    def put(self, record: ChildRecord) -> None:
        """Queue a record; dropped after :meth:`finish`."""
        with self._changed:
            while self._pending_bytes > MAX_PENDING_BYTES and not (self._lost or self._closed):
                self._changed.wait()
            self._append(record)

    def finish(self, record: ChildRecord) -> None:
        """Queue the last record and wait until everything is written or the other end is gone."""
        with self._changed:
            self._append(record)
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def _append(self, record: ChildRecord) -> None:
        if self._closed or self._lost:
            return
        self._pending.append(record)
        self._pending_bytes += len(record.body) + _OVERHEAD
        if self._writer_waits and (len(self._pending) == 1 or self._pending_bytes >= BATCH_BYTES):
            self._changed.notify_all()

    def _write_loop(self) -> None:
        last_write = float("-inf")
        while True:
            with self._changed:
                self._writer_waits = True
                while not self._pending and not self._closed:
                    self._changed.wait()
                due = last_write + BATCH_S
                while not self._closed and self._pending_bytes < BATCH_BYTES:
                    left = due - time.monotonic()
                    if left <= 0:
                        break
                    self._changed.wait(left)
                self._writer_waits = False
                batch, self._pending = self._pending, []
                self._pending_bytes = 0
                closed = self._closed
                # Those who waited for room.
                self._changed.notify_all()
            if batch and not self._write(batch):
                return
            last_write = time.monotonic()
            if closed:
                return

    def _write(self, batch: list[ChildRecord]) -> bool:
        start, size = 0, 0
        try:
            for index, record in enumerate(batch):
                # A burst is split, so that the reader can start on it; one large record is a chunk of its own.
                if size and size + len(record.body) > 16 * BATCH_BYTES:
                    write_all(self._fd, encode_chunk(batch[start:index]))
                    start, size = index, 0
                size += len(record.body) + _OVERHEAD
            write_all(self._fd, encode_chunk(batch[start:]))
        except OSError:
            with self._changed:
                self._lost = True
                self._pending.clear()
                self._pending_bytes = 0
                self._changed.notify_all()
            self._on_lost()
            return False
        return True
