"""One owner per data folder (X-11): a lock of the operating system, gone with the process however it ends."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator
from pathlib import Path


class FolderLocked(RuntimeError):
    """Another process owns the folder."""

    def __init__(self, folder: Path, owner: int | None) -> None:
        who = f"the process {owner}" if owner else "another process"
        super().__init__(f"{folder} is in use by {who}.")
        self.owner = owner


@contextlib.contextmanager
def folder_lock(folder: Path) -> Generator[None, None, None]:
    """Own ``folder`` for the duration; makes it when it is missing.

    Raises:
        FolderLocked: another process has it; ``owner`` is its process id where it is known.
    """
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / "agent.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            _lock(descriptor)
        except OSError:
            raise FolderLocked(folder, _owner(descriptor)) from None
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        os.close(descriptor)


def is_locked(folder: Path) -> bool:
    """Whether a living process owns the folder now."""
    try:
        descriptor = os.open(folder / "agent.lock", os.O_RDWR)
    except OSError:
        return False
    try:
        _lock(descriptor)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _owner(descriptor: int) -> int | None:
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        return int(os.read(descriptor, 32))
    except (OSError, ValueError):
        return None


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        # A byte far behind the text, so that the owner's id can still be read.
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
