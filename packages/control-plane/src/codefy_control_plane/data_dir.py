"""The data folder and its one owner (X-11)."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

LOCK_FILE = "lock"


class DataDirUnusable(Exception):
    """The data folder cannot be used; the message says what to do."""


class ServerFile(msgspec.Struct, kw_only=True):
    """``server.json``: where the running server is, for the command line."""

    url: str
    pid: int


@contextmanager
def owned(data_dir: Path) -> Generator[None]:
    """Make the folder, private to its owner, and hold its lock.

    The lock is the operating system's, so it ends with the process however that ends.

    Raises:
        DataDirUnusable: another server has it, or it cannot be written.
    """
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(data_dir / LOCK_FILE, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError as error:
        raise DataDirUnusable(
            f"The data folder {data_dir} cannot be used: {error.strerror}. Choose another with --data-dir."
        ) from error
    try:
        if not _try_lock(handle):
            raise DataDirUnusable(_in_use(data_dir))
        yield
    finally:
        os.close(handle)


def _in_use(data_dir: Path) -> str:
    server = read_server_file(data_dir / "server.json")
    where = f" (pid {server.pid}, {server.url})" if server is not None else ""
    return (
        f"The data folder {data_dir} belongs to a Codefy server that is running{where}. "
        "Use that one, stop it, or choose another folder with --data-dir."
    )


def _try_lock(handle: int) -> bool:
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def read_server_file(path: Path) -> ServerFile | None:
    """What ``server.json`` says, or ``None`` when there is none that can be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=ServerFile)
    except (OSError, msgspec.DecodeError):
        return None


def write_server_file(path: Path, url: str) -> None:
    """Say where this process serves. Readers see the old file or the new one, never half of it."""
    content: Any = ServerFile(url=url, pid=os.getpid())
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_bytes(msgspec.json.encode(content))
    temporary.replace(path)


def remove_server_file(path: Path) -> None:
    """Remove ``server.json`` when it is this process's."""
    server = read_server_file(path)
    if server is not None and server.pid == os.getpid():
        path.unlink(missing_ok=True)
