"""Console output of runs (V-8): the log file of a run, and what the threads of a run in the server print.

Output that is printed by a thread of a run in the server goes to that run's log: the standard streams are wrapped once,
and the wrapper looks at the context it is called in. Everything else passes through, without the secrets of the runs that
go on: a thread that a node started is in no run's context.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TextIO, cast

from codefy_protocol.bodies import ConsoleBody
from codefy_protocol.redaction import StreamRedactor

OUTPUT_LOG = "output.log"


class RunLog:
    """The file ``output.log`` of a run. Bytes are written at their offset, so writing them twice changes nothing."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self.path = path
        self._max_bytes = max_bytes

    def write(self, bodies: Iterable[ConsoleBody]) -> None:
        """Write and sync; bytes beyond the limit are left out. Blocks: call it in a thread.

        Raises:
            OSError: the disk is full or the folder is gone.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        try:
            for body in bodies:
                room = self._max_bytes - body.offset
                if body.offset >= 0 and room > 0:
                    _write_at(descriptor, body.text.encode("utf-8", "replace")[:room], body.offset)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _write_at(descriptor: int, data: bytes, offset: int) -> None:
    os.lseek(descriptor, offset, os.SEEK_SET)
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


class ConsoleCapture:
    """Turns what a run in the server prints into console bodies with consecutive offsets."""

    def __init__(self, record: Callable[[ConsoleBody], None], secrets: Iterable[str] = ()) -> None:
        self._record = record
        self._redactor = StreamRedactor(secrets)
        self._offset = 0
        self._lock = threading.Lock()

    def write(self, text: str) -> None:
        """Take ``text`` from any thread. What may be the beginning of a secret waits for what follows."""
        with self._lock:
            self._put(self._redactor.feed(text))

    def finish(self) -> None:
        """Give what waits, at the end of the run."""
        with self._lock:
            self._put(self._redactor.flush())

    def _put(self, text: str) -> None:
        if text:
            size = len(text.encode("utf-8", "replace"))
            body = ConsoleBody(offset=self._offset, text=text, size=size)
            self._offset += size
            self._record(body)


_capture: ContextVar[ConsoleCapture | None] = ContextVar("codefy_console_capture", default=None)


def capture_into(capture: ConsoleCapture | None) -> None:
    """Let everything printed in this context, and in contexts copied from it, go to ``capture``."""
    _capture.set(capture)


class _AttributedStream:
    """A text stream that gives the output of a run's context to the run, and the rest to the stream it wraps."""

    def __init__(self, wrapped: TextIO, redact: Callable[[str], str]) -> None:
        self._wrapped = wrapped
        self._redact = redact

    def write(self, text: str) -> int:
        capture = _capture.get()
        if capture is None:
            self._wrapped.write(self._redact(text))
            return len(text)
        capture.write(text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if _capture.get() is None:
            self._wrapped.flush()

    def isatty(self) -> bool:
        return _capture.get() is None and self._wrapped.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wrapped, name)


class AttributedOutput:
    """Wraps ``sys.stdout`` and ``sys.stderr`` between :meth:`install` and :meth:`remove`.

    Args:
        redact: takes the secrets of all runs out of what belongs to none.
    """

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._streams: dict[str, tuple[TextIO, TextIO]] = {}

    def install(self) -> None:
        """Wrap the standard streams that are not wrapped now; called before every run, for a program may put others
        in their place."""
        for name in ("stdout", "stderr"):
            current = cast("TextIO | None", getattr(sys, name))
            known = self._streams.get(name)
            # A server may have no console at all (pythonw).
            if current is None or (known is not None and current is known[1]):
                continue
            wrapper = cast("TextIO", _AttributedStream(current, self._redact))
            self._streams[name] = (current, wrapper)
            setattr(sys, name, wrapper)

    def remove(self) -> None:
        """Put the streams back that are still the wrapped ones."""
        for name, (original, wrapper) in self._streams.items():
            if getattr(sys, name) is wrapper:
                setattr(sys, name, original)
        self._streams.clear()
