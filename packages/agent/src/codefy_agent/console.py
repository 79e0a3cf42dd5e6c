"""What a run prints: redacted, kept in a file and streamed as console records (P-7, V-8)."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable
from pathlib import Path

from codefy_protocol.bodies import ConsoleBody
from codefy_protocol.redaction import StreamRedactor

HEAD_BYTES = 32 * 1024 * 1024
TAIL_BYTES = 32 * 1024 * 1024
_LAST_BYTES = 4096
_RECORD_CHARACTERS = 16 * 1024


class ConsoleLog:
    """``output.log``: the first 32 MiB and the last 32 MiB of what was printed."""

    def __init__(self, path: Path, *, head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES) -> None:
        self._path = path
        self._head_left = head_bytes
        self._part_bytes = max(tail_bytes // 2, 1)
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self._parts = (path.with_suffix(".tail-1"), path.with_suffix(".tail-2"))
        """The older and the newer half of the tail, while the run goes on."""
        self._part = -1
        self._part_size = 0
        self._left_out = 0
        self._older_size = 0

    def write(self, data: bytes) -> None:
        """Append; what does not fit into the head goes to the moving tail.

        Raises:
            OSError: the disk refuses.
        """
        if self._head_left:
            head = data[: self._head_left]
            _write(self._descriptor, head)
            self._head_left -= len(head)
            data = data[len(head) :]
        while data:
            if self._part < 0 or self._part_size >= self._part_bytes:
                self._next_part()
            piece = data[: self._part_bytes - self._part_size]
            _write(self._part, piece)
            self._part_size += len(piece)
            data = data[len(piece) :]

    def _next_part(self) -> None:
        older, newer = self._parts
        if self._part >= 0:
            os.close(self._part)
            self._left_out += self._older_size
            self._older_size = self._part_size
            newer.replace(older)
        self._part = os.open(newer, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self._part_size = 0

    def close(self) -> None:
        """Put head and tail together."""
        if self._part >= 0:
            os.close(self._part)
            self._part = -1
            if self._left_out:
                _write(self._descriptor, f"\n[… {self._left_out} bytes left out …]\n".encode())
            for part in self._parts:
                if part.exists():
                    _write(self._descriptor, part.read_bytes())
                    part.unlink()
        os.close(self._descriptor)


class ConsoleStream:
    """Turns the bytes of the console pipe into log and records. Offsets count what the log would hold without a limit."""

    def __init__(self, path: Path, secrets: Iterable[str]) -> None:
        self._log: ConsoleLog | None = ConsoleLog(path)
        self._redactor = StreamRedactor(secrets)
        # A pipe may cut a character in two.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting: list[str] = []
        self._waiting_length = 0
        self._last = b""
        self.offset = 0
        """Bytes turned into records so far."""
        self.log_error: OSError | None = None
        """Why the log is not written any more."""

    def feed(self, data: bytes) -> bool:
        """Take bytes of the pipe; ``True`` when there is enough for a record."""
        return self._take(self._redactor.feed(self._decoder.decode(data)))

    def _take(self, text: str) -> bool:
        if text:
            encoded = text.encode()
            self._last = (self._last + encoded)[-_LAST_BYTES:]
            self._write_log(encoded)
            self._waiting.append(text)
            self._waiting_length += len(text)
        return self._waiting_length >= _RECORD_CHARACTERS

    def _write_log(self, encoded: bytes) -> None:
        if self._log is None:
            return
        try:
            self._log.write(encoded)
        except OSError as error:  # a full disk must not end the run; the records still go out
            self.log_error = error
            self._log = None

    def records(self) -> list[ConsoleBody]:
        """What came since the last call, in records of a bounded size."""
        text, self._waiting, self._waiting_length = "".join(self._waiting), [], 0
        bodies: list[ConsoleBody] = []
        for start in range(0, len(text), _RECORD_CHARACTERS):
            piece = text[start : start + _RECORD_CHARACTERS]
            size = len(piece.encode())
            bodies.append(ConsoleBody(offset=self.offset, text=piece, size=size))
            self.offset += size
        return bodies

    def finish(self) -> list[ConsoleBody]:
        """The rest, at the end of the run; closes the log."""
        self._take(self._redactor.feed(self._decoder.decode(b"", final=True)) + self._redactor.flush())
        if self._log is not None:
            try:
                self._log.close()
            except OSError as error:
                self.log_error = error
            self._log = None
        return self.records()

    @property
    def tail(self) -> str:
        """The last 4 KiB."""
        return self._last.decode("utf-8", "ignore")


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
