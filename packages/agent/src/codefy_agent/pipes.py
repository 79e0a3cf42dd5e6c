"""Pipes to another process on the event loop: readers and a writer that never block it.

POSIX has the loop watch the descriptor. Windows cannot watch an anonymous pipe, so a thread per pipe reads or writes
there and hands over to the loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import sys
import threading
from collections import deque
from collections.abc import Callable

_READ_BYTES = 256 * 1024
_DRAIN_READS = 256
_DRAIN_TIMEOUT_S = 1.0


class PipeReader:
    """Hands over what arrives at a pipe, and ``b""`` once at its end."""

    def __init__(self, deliver: Callable[[bytes], None]) -> None:
        self._deliver = deliver
        self._descriptor = -1

    def open(self, descriptor: int) -> None:
        """Begin to read; the descriptor belongs to this reader from now on."""
        self._descriptor = descriptor
        os.set_blocking(descriptor, False)
        asyncio.get_running_loop().add_reader(descriptor, self._ready)

    def _ready(self) -> bool:
        try:
            data = os.read(self._descriptor, _READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self.close()
        self._deliver(data)
        return bool(data)

    async def drain(self) -> None:
        """Hand over what is in the pipe now; bounded, for a stuck process may go on writing."""
        for _ in range(_DRAIN_READS):
            if self._descriptor < 0 or not self._ready():
                break

    def close(self) -> None:
        """Stop reading."""
        if self._descriptor >= 0:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1


class PipeWriter:
    """Writes to a pipe as it takes it; what its reader never reads is dropped with it."""

    def __init__(self) -> None:
        self._descriptor = -1
        self._waiting: deque[memoryview] = deque()

    def open(self, descriptor: int) -> None:
        """The descriptor belongs to this writer from now on."""
        self._descriptor = descriptor
        os.set_blocking(descriptor, False)

    def write(self, data: bytes) -> None:
        """Queue ``data``; ignored when the pipe is closed."""
        if self._descriptor < 0 or not data:
            return
        if not self._waiting:
            asyncio.get_running_loop().add_writer(self._descriptor, self._ready)
        self._waiting.append(memoryview(data))

    def _ready(self) -> None:
        try:
            written = os.write(self._descriptor, self._waiting[0])
        except BlockingIOError:
            return
        except OSError:  # the other end is closed
            self.close()
            return
        if written == len(self._waiting[0]):
            self._waiting.popleft()
        else:
            self._waiting[0] = self._waiting[0][written:]
        if not self._waiting:
            asyncio.get_running_loop().remove_writer(self._descriptor)

    def close(self) -> None:
        """Close the pipe, with what is still queued."""
        if self._descriptor >= 0:
            if self._waiting:
                asyncio.get_running_loop().remove_writer(self._descriptor)
                self._waiting.clear()
            os.close(self._descriptor)
            self._descriptor = -1


class ThreadedPipeReader(PipeReader):
    """The same with a thread. It ends with the pipe: when every process that holds the other end is gone."""

    def open(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._work, args=(descriptor, loop), daemon=True).start()

    def _work(self, descriptor: int, loop: asyncio.AbstractEventLoop) -> None:
        data = b"x"
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            while data:
                try:
                    data = os.read(descriptor, _READ_BYTES)
                except OSError:
                    data = b""
                loop.call_soon_threadsafe(self._hand_over, data)
        os.close(descriptor)

    def _hand_over(self, data: bytes) -> None:
        if self._descriptor < 0:
            return
        if not data:
            self._descriptor = -1
            self._ended.set()
        self._deliver(data)

    async def drain(self) -> None:
        if self._descriptor >= 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), _DRAIN_TIMEOUT_S)

    def close(self) -> None:
        # The thread owns the descriptor: closing it under a blocked read would hang.
        self._descriptor = -1


class ThreadedPipeWriter(PipeWriter):
    """The same with a thread."""

    def open(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._queue: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._work, args=(descriptor,), daemon=True).start()

    def write(self, data: bytes) -> None:
        if self._descriptor >= 0 and data:
            self._queue.put(data)

    def _work(self, descriptor: int) -> None:
        with contextlib.suppress(OSError):
            while data := self._queue.get():
                view = memoryview(data)
                while view:
                    view = view[os.write(descriptor, view) :]
        os.close(descriptor)

    def close(self) -> None:
        if self._descriptor >= 0:
            self._descriptor = -1
            self._queue.put(b"")


def new_reader(deliver: Callable[[bytes], None]) -> PipeReader:
    """The reader of this system."""
    return ThreadedPipeReader(deliver) if sys.platform == "win32" else PipeReader(deliver)


def new_writer() -> PipeWriter:
    """The writer of this system."""
    return ThreadedPipeWriter() if sys.platform == "win32" else PipeWriter()
