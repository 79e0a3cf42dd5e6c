"""Uploads: streamed to a hidden file, hashed on the way, and put in place when all of it is here.

A file comes in one request, or in parts with ``Content-Range: bytes 0-8388607/52428800``. Parts of one upload carry the
same ``X-Codefy-Upload``; a part that does not continue where the last one ended answers 409 ``upload_offset``, which
tells where to go on, so an upload that was cut off by a lost connection or a restart begins where it was.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import re
import shutil
import time
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from codefy_control_plane.atomic import sync_folder
from codefy_control_plane.files.paths import below
from codefy_control_plane.runs.errors import Refused
from codefy_protocol import reasons
from codefy_protocol.reasons import reason

PARTS_FOLDER = ".uploads"
FORGOTTEN_S = 48 * 3600
"""Parts of an upload that nobody goes on with are removed after this."""
SPARE_BYTES = 64 * 1024 * 1024
"""What an upload leaves free, so that the database can go on."""
CHUNK_BYTES = 1024 * 1024

_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")

IfExists = Literal["refuse", "replace", "number"]


@dataclass(frozen=True, kw_only=True)
class Part:
    """What a request says it brings. Offsets and sizes in bytes."""

    start: int
    size: int | None
    """Of this part; ``None`` when it is not told."""
    total: int | None
    """Of the whole file."""
    ranged: bool
    """Whether it says where it belongs, so that more may follow."""

    @property
    def last(self) -> bool:
        return self.total is None or (self.size is not None and self.start + self.size == self.total)


@dataclass(frozen=True, kw_only=True)
class Received:
    path: str
    """Where the file was put; with ``number`` not always where it was meant to."""
    done: bool
    received: int
    sha256: str | None


def read_part(content_range: str | None, content_length: str | None) -> Part:
    """What the headers of an upload say.

    Raises:
        Refused: 400 ``invalid_header``.
    """
    length = int(content_length) if content_length is not None and content_length.isdigit() else None
    if content_range is None:
        return Part(start=0, size=length, total=length, ranged=False)
    found = _RANGE.fullmatch(content_range)
    start, end, total = (int(number) for number in found.groups()) if found else (0, -1, 0)
    if not 0 <= start <= end < total:
        detail = f"expected bytes START-END/TOTAL, got {content_range[:80]!r}"
        raise Refused(400, reason(reasons.INVALID_HEADER, name="Content-Range", detail=detail))
    return Part(start=start, size=end - start + 1, total=total, ranged=True)


class Uploads:
    """Receives files into ``root``."""

    def __init__(self, root: Path, max_bytes: int) -> None:
        self._root = root
        self._parts = root / PARTS_FOLDER
        self._max_bytes = max_bytes
        self._busy: set[Path] = set()

    async def receive(
        self,
        path: str,
        body: AsyncIterator[bytes],
        part: Part,
        *,
        if_exists: IfExists,
        upload: str = "",
        sha256: str | None = None,
    ) -> Received:
        """Take one request's bytes. The file is in place when the answer is ``done``.

        Raises:
            Refused: 400 ``invalid_path``, ``upload_cut`` or ``upload_damaged``; 409 ``file_exists`` or
                ``upload_offset``; 413 ``file_too_large``; 507 ``no_room_for_file``.
        """
        if path == "":
            raise Refused(400, reason(reasons.INVALID_PATH, path=path, detail="a name in it is empty"))
        target = below(self._root, path)
        part_file = self._part_file(path, part, upload)
        if part_file in self._busy:
            # Another request of the same upload is still being received.
            raise self._offset(path, await asyncio.to_thread(_size, part_file), part)
        self._busy.add(part_file)
        try:
            await asyncio.to_thread(self._prepare, path, target, part_file, part, if_exists)
            received = await self._write(path, part_file, body, part, keep=part.ranged)
            if not part.last:
                return Received(path=path, done=False, received=received, sha256=None)
            found = await asyncio.to_thread(_hash, part_file)
            if sha256 is not None and found != sha256.lower():
                part_file.unlink(missing_ok=True)
                why = reason(reasons.UPLOAD_DAMAGED, path=path, found=found, expected=sha256)
                raise Refused(400, why)
            placed = await asyncio.to_thread(self._place, path, part_file, if_exists)
            return Received(path=placed, done=True, received=received, sha256=found)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            part_file.unlink(missing_ok=True)
            raise self._no_room(path, part.total or 0) from error
        finally:
            self._busy.discard(part_file)

    def _part_file(self, path: str, part: Part, upload: str) -> Path:
        # What comes in one request has a file of its own, so that two at once do not mix.
        identity = f"{path}\0{part.total}\0{upload if part.ranged else time.time_ns()}"
        return self._parts / hashlib.sha256(identity.encode()).hexdigest()

    def _prepare(self, path: str, target: Path, part_file: Path, part: Part, if_exists: IfExists) -> None:
        size = part.total or part.size or 0
        if size > self._max_bytes:
            raise self._too_large(path, size)
        if target.is_dir():
            raise Refused(409, reason(reasons.FILE_IS_FOLDER, path=path))
        if if_exists == "refuse" and target.exists():
            raise Refused(409, reason(reasons.FILE_EXISTS, path=path))
        self._parts.mkdir(parents=True, exist_ok=True)
        self._forget_old()
        have = _size(part_file)
        if have >= size and part.start < size:
            # All of it came once and was not put in place, or it is not the beginning of this file.
            part_file.unlink(missing_ok=True)
            have = 0
        if part.start != have:
            raise self._offset(path, have, part)
        if shutil.disk_usage(self._parts).free - SPARE_BYTES < size - have:
            raise self._no_room(path, size)

    async def _write(
        self, path: str, part_file: Path, body: AsyncIterator[bytes], part: Part, *, keep: bool
    ) -> int:
        """Append the body; returns how many bytes are there. ``keep``: what arrived of a body that was cut off stays."""
        received = part.start
        end = None if part.size is None else part.start + part.size
        with _appending(part_file, keep=keep) as file:
            async for chunk in body:
                received += len(chunk)
                if received > self._max_bytes or (end is not None and received > end):
                    raise self._too_large(path, received)
                await asyncio.to_thread(file.write, chunk)
            await asyncio.to_thread(_sync, file)
            if end is not None and received != end:
                here, expected = received - part.start, end - part.start
                raise Refused(400, reason(reasons.UPLOAD_CUT, path=path, received=here, expected=expected))
        return received

    def _place(self, path: str, part_file: Path, if_exists: IfExists) -> str:
        for placed in _places(path) if if_exists == "number" else (path,):
            # Looked up again: the folder may have changed while the bytes came in.
            target = below(self._root, placed)
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                if if_exists == "replace":
                    part_file.replace(target)
                else:
                    _put(part_file, target)
            except IsADirectoryError:
                raise Refused(409, reason(reasons.FILE_IS_FOLDER, path=path)) from None
            except (FileExistsError, NotADirectoryError):
                continue
            sync_folder(target.parent)
            return placed
        part_file.unlink(missing_ok=True)
        raise Refused(409, reason(reasons.FILE_EXISTS, path=path))

    def _forget_old(self) -> None:
        before = time.time() - FORGOTTEN_S
        for found in self._parts.iterdir():
            if found not in self._busy and found.stat().st_mtime < before:
                found.unlink(missing_ok=True)

    def _too_large(self, path: str, size: int) -> Refused:
        why = reason(reasons.FILE_TOO_LARGE, path=path, size=size, limit=self._max_bytes)
        return Refused(413, why)

    def _no_room(self, path: str, size: int) -> Refused:
        free = max(0, shutil.disk_usage(self._root).free - SPARE_BYTES)
        return Refused(507, reason(reasons.NO_ROOM_FOR_FILE, path=path, size=size, free=free))

    def _offset(self, path: str, offset: int, part: Part) -> Refused:
        return Refused(409, reason(reasons.UPLOAD_OFFSET, path=path, offset=offset, start=part.start))


def _put(part_file: Path, target: Path) -> None:
    """Move a file where nothing is.

    Raises:
        FileExistsError: something is there.
    """
    try:
        # Unlike a rename, a link never takes the place of what is there.
        os.link(part_file, target)
    except FileExistsError:
        raise
    except OSError:
        # A file system without links.
        if target.exists():
            raise FileExistsError(target) from None
        part_file.replace(target)
    else:
        part_file.unlink()


def _places(path: str) -> list[str]:
    """``a.csv``, ``a (2).csv``, ``a (3).csv`` …"""
    folder, slash, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    if not dot or not stem:
        stem, ending = name, ""
    return [path, *(f"{folder}{slash}{stem} ({count}){dot and '.'}{ending}" for count in range(2, 1000))]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@contextmanager
def _appending(path: Path, *, keep: bool) -> Generator[BinaryIO]:
    """The file to append to; after an error it goes, unless it is to be gone on with."""
    try:
        with path.open("ab") as file:
            yield file
    except BaseException:
        if not keep:
            path.unlink(missing_ok=True)
        raise


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
