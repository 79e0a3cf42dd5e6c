"""Files that are replaced as a whole: a reader, and a start after a crash, finds the old bytes or the new ones."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def replace_file(path: Path, data: bytes) -> None:
    """Write ``data`` in the place of ``path``, on the disk when this returns."""
    temporary = path.with_name(f".{path.name}.new")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make what was created, renamed or removed in ``folder`` last through a power cut."""
    if sys.platform == "win32":
        # There a folder cannot be opened, and needs no such thing.
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
