"""What lies in a folder, through links too: nodes read through them, so what is counted or stamped must as well."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def entries_below(folder: str | os.PathLike[str]) -> Iterator[tuple[str, os.stat_result]]:
    """All files and folders in a folder and in those inside, each with its state. Links are followed.

    A folder that several links lead to is entered once, so links that lead back end. A link to nothing counts as the
    link itself.

    Raises:
        OSError: the folder, or one in it, cannot be read.
    """
    entered: set[tuple[int, int]] = set()
    left = [os.fspath(folder)]
    while left:
        path = left.pop()
        state = Path(path).stat()
        if (state.st_dev, state.st_ino) in entered:
            continue
        entered.add((state.st_dev, state.st_ino))
        with os.scandir(path) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
        inner: list[str] = []
        for entry in entries:
            try:
                if entry.is_dir():
                    inner.append(entry.path)
                yield entry.path, entry.stat()
            except OSError:
                yield entry.path, entry.stat(follow_symlinks=False)
        left += reversed(inner)
