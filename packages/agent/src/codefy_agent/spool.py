"""What an attempt produced and the control plane has not acknowledged, on disk (D-2, D-8).

A spool is a folder of append-only segments, named by their first seq. A segment begins with a header (magic, format
version, first seq); each record has a header (length, CRC-32, seq, flags) and the encoded frame, byte for byte what goes
over the socket. Only where each record begins is kept in memory. Acknowledged segments are deleted; the last one stays,
so that the next seq is known after a crash. Writes reach the system's page cache before a record is sent: they survive
the agent, not the machine; what the control plane acknowledged is durable there.

Reopening tolerates what a crash leaves: a torn tail is cut off, and a segment damaged in the middle loses the records
behind the damage only. Those seqs stay lost: they read as nothing and the control plane records the gap.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

FORMAT_VERSION = 1
SEGMENT_BYTES = 1024 * 1024
_MAGIC = b"CDFYSPOL"
_SEGMENT_HEADER = struct.Struct("<8sHxxQ")
_RECORD_HEADER = struct.Struct("<IIQB3x")
_CHECKED = struct.Struct("<QB")
_MAX_RECORD_BYTES = 64 * 1024 * 1024
_FINAL = 1


class SpoolTooNew(RuntimeError):
    """A segment was written by a newer release."""


class SpoolRecord(msgspec.Struct, frozen=True):
    """An encoded frame on its way to disk."""

    frame: bytes
    final: bool = False
    """Whether it is ``run_finished``: nothing follows."""


class _Segment:
    """One file. ``seqs`` and ``offsets`` say where each record's header begins."""

    def __init__(self, path: Path, first_seq: int) -> None:
        self.path = path
        self.first_seq = first_seq
        self.seqs = array("Q")
        self.offsets = array("Q")
        self.size = _SEGMENT_HEADER.size
        self.descriptor = -1

    @property
    def last_seq(self) -> int:
        return self.seqs[-1] if self.seqs else self.first_seq - 1

    def span(self, place: int) -> tuple[int, int]:
        """Where the record's header begins and where its frame ends."""
        begin = self.offsets[place]
        end = self.offsets[place + 1] if place + 1 < len(self.offsets) else self.size
        return begin, end

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


class Spool:
    """The spool of one attempt. Opening an existing folder restores it.

    Raises:
        SpoolTooNew: a newer release wrote it.
        OSError: the disk refuses.
    """

    def __init__(self, folder: Path, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        self.folder = folder
        self.ended = False
        """Whether the last record is ``run_finished``."""
        self.bytes_on_disk = 0
        self._segment_bytes = segment_bytes
        self._segments: list[_Segment] = []
        self._acked = 0
        for path in sorted(folder.glob("*.seg")):
            self._restore(path)
        if self._segments:
            self._acked = self._segments[0].first_seq - 1

    # -------------------------------------------------------------- what it holds
    @property
    def acked_seq(self) -> int:
        """Everything up to here may be gone."""
        return self._acked

    @property
    def last_seq(self) -> int:
        """The highest seq that was written (or acknowledged); 0 in a new spool."""
        return max(self._acked, self._segments[-1].last_seq) if self._segments else self._acked

    def sizes(self) -> tuple[int, ...]:
        """Frame bytes of the records ``acked_seq + 1 … last_seq``; 0 for one that was lost to damage."""
        found = [0] * (self.last_seq - self._acked)
        for segment in self._segments:
            for place, seq in enumerate(segment.seqs):
                if seq > self._acked:
                    begin, end = segment.span(place)
                    found[seq - self._acked - 1] = end - begin - _RECORD_HEADER.size
        return tuple(found)

    # -------------------------------------------------------------- writing
    def append(self, first_seq: int, records: Sequence[SpoolRecord]) -> tuple[int, ...]:
        """Write records ``first_seq …`` with one write; returns their frame sizes in bytes.

        Raises:
            ValueError: they do not follow the last record, or the spool has ended.
            OSError: the disk refuses; nothing of them counts as written.
        """
        if self.ended:
            raise ValueError("a record after run_finished")
        if first_seq <= self.last_seq or (self.last_seq > 0 and first_seq != self.last_seq + 1):
            raise ValueError(f"record {first_seq} does not follow {self.last_seq}")
        segment = self._segment_for(first_seq)
        parts: list[bytes] = []
        offsets: list[int] = []
        position = segment.size
        for seq, record in enumerate(records, first_seq):
            flags = _FINAL if record.final else 0
            check = zlib.crc32(record.frame, zlib.crc32(_CHECKED.pack(seq, flags)))
            parts += (_RECORD_HEADER.pack(len(record.frame), check, seq, flags), record.frame)
            offsets.append(position)
            position += _RECORD_HEADER.size + len(record.frame)
        try:
            _write_all(segment.descriptor, b"".join(parts), segment.size)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(segment.descriptor, segment.size)
            raise
        self.bytes_on_disk += position - segment.size
        segment.size = position
        segment.offsets.extend(offsets)
        segment.seqs.extend(range(first_seq, first_seq + len(records)))
        self.ended = bool(records) and records[-1].final
        return tuple(len(record.frame) for record in records)

    def truncate(self, seq: int) -> None:
        """Everything up to and including ``seq`` is acknowledged: delete the segments that hold nothing else."""
        self._acked = max(self._acked, seq)
        while len(self._segments) > 1 and self._segments[0].last_seq <= self._acked:
            self._drop(self._segments.pop(0))
        if self._segments and self._acked > self._segments[-1].last_seq:
            # The control plane knows more than this torn spool: go on after it, in a new segment.
            self._drop(self._segments.pop())

    def delete(self) -> None:
        """Remove the spool from disk."""
        while self._segments:
            self._drop(self._segments.pop())
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def close(self) -> None:
        """Close the files; what they hold stays."""
        for segment in self._segments:
            segment.close()

    # -------------------------------------------------------------- reading
    def read(self, first_seq: int, last_seq: int) -> list[bytes]:
        """The encoded frames of these records, in order; one that is not there any more is left out."""
        frames: list[bytes] = []
        for segment in self._segments:
            if segment.last_seq < first_seq or not segment.seqs:
                continue
            if segment.first_seq > last_seq:
                break
            frames += self._read_segment(segment, first_seq, last_seq)
        return frames

    def _read_segment(self, segment: _Segment, first_seq: int, last_seq: int) -> Iterator[bytes]:
        low = max(first_seq - segment.first_seq, 0)
        high = min(last_seq - segment.first_seq, len(segment.seqs) - 1)
        if low > high:
            return
        begin, end = segment.span(low)[0], segment.span(high)[1]
        self._open(segment)
        os.lseek(segment.descriptor, begin, os.SEEK_SET)
        data = os.read(segment.descriptor, end - begin)
        for place in range(low, high + 1):
            start, stop = segment.span(place)
            frame = data[start - begin + _RECORD_HEADER.size : stop - begin]
            if len(frame) == stop - start - _RECORD_HEADER.size:
                yield frame
        if segment is not self._segments[-1]:
            segment.close()

    # -------------------------------------------------------------- segments
    def _segment_for(self, first_seq: int) -> _Segment:
        if self._segments:
            segment = self._segments[-1]
            contiguous = segment.last_seq + 1 == first_seq
            if contiguous and segment.size < self._segment_bytes and len(segment.seqs) < 1 << 16:
                self._open(segment)
                return segment
            segment.close()
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{first_seq:016d}.seg"
        segment = _Segment(path, first_seq)
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
        segment.descriptor = os.open(path, flags, 0o600)
        try:
            _write_all(segment.descriptor, _SEGMENT_HEADER.pack(_MAGIC, FORMAT_VERSION, first_seq), 0)
        except OSError:
            segment.close()
            path.unlink(missing_ok=True)
            raise
        self.bytes_on_disk += segment.size
        self._segments.append(segment)
        return segment

    def _open(self, segment: _Segment) -> None:
        if segment.descriptor < 0:
            segment.descriptor = os.open(segment.path, os.O_RDWR | getattr(os, "O_BINARY", 0))

    def _drop(self, segment: _Segment) -> None:
        segment.close()
        self.bytes_on_disk -= segment.size
        segment.path.unlink(missing_ok=True)

    def _restore(self, path: Path) -> None:
        data = path.read_bytes()
        if len(data) < _SEGMENT_HEADER.size:
            path.unlink()  # the crash came before the first record
            return
        magic, version, first_seq = _SEGMENT_HEADER.unpack_from(data)
        if magic != _MAGIC:
            path.rename(path.with_suffix(".damaged"))
            return
        if version > FORMAT_VERSION:
            raise SpoolTooNew(f"{path} has format {version}, this agent reads up to {FORMAT_VERSION}")
        if self._segments and first_seq <= self._segments[-1].last_seq:
            path.rename(path.with_suffix(".damaged"))
            return
        segment = _Segment(path, first_seq)
        for offset, seq, end, flags in _records(data, first_seq):
            segment.offsets.append(offset)
            segment.seqs.append(seq)
            segment.size = end
            self.ended = bool(flags & _FINAL)
        if segment.size < len(data):
            os.truncate(path, segment.size)
        self.bytes_on_disk += segment.size
        self._segments.append(segment)


def _records(data: bytes, first_seq: int) -> Iterator[tuple[int, int, int, int]]:
    """Offset, seq, end and flags of the records up to the first that is torn or damaged."""
    offset = _SEGMENT_HEADER.size
    expected = first_seq
    while offset + _RECORD_HEADER.size <= len(data):
        length, check, seq, flags = _RECORD_HEADER.unpack_from(data, offset)
        end = offset + _RECORD_HEADER.size + length
        if seq != expected or length > _MAX_RECORD_BYTES or end > len(data):
            return
        frame = data[offset + _RECORD_HEADER.size : end]
        if zlib.crc32(frame, zlib.crc32(_CHECKED.pack(seq, flags))) != check:
            return
        yield offset, seq, end, flags
        offset = end
        expected += 1


def _write_all(descriptor: int, data: bytes, position: int) -> None:
    os.lseek(descriptor, position, os.SEEK_SET)
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
