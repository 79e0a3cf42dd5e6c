"""What the agent fetched, by its SHA-256: ``inputs/<sha256>`` in the worker's folder, readable by its owner only.

Nothing in it is named by anybody but this agent, and nothing is taken from it that is not what its name says.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
from pathlib import Path

from codefy_protocol.inputs import is_sha256, matches

logger = logging.getLogger(__name__)

MAX_BYTES = 256 * 1024 * 1024
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class InputCache:
    """Blocking: call it in a thread.

    Args:
        limit: bytes beyond which what was not used for the longest time goes.
    """

    def __init__(self, folder: Path, limit: int = MAX_BYTES) -> None:
        self._folder = folder
        self._limit = limit

    def get(self, sha256: str) -> bytes | None:
        """The content, or ``None`` when it is not here. A file that changed since it was put here is removed."""
        path = self._path(sha256)
        try:
            with os.fdopen(os.open(path, os.O_RDONLY | _NO_LINKS), "rb") as file:
                content = file.read()
        except OSError:
            return None
        if not matches(sha256, content):
            logger.warning("%s is damaged; it is fetched again", path)
            path.unlink(missing_ok=True)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return content

    def put(self, sha256: str, content: bytes) -> None:
        """Keep content that was verified, and forget older content beyond the limit.

        Raises:
            OSError: the disk does not take it.
        """
        path = self._path(sha256)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = self._folder / f".{secrets.token_hex(8)}.new"
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        self._shrink(keep=path)

    def _path(self, sha256: str) -> Path:
        if not is_sha256(sha256):
            raise ValueError(f"not a SHA-256: {sha256[:80]!r}")
        return self._folder / sha256

    def _shrink(self, keep: Path) -> None:
        found: list[tuple[float, int, Path]] = []
        for path in self._folder.iterdir():
            with contextlib.suppress(OSError):  # another run may have removed it
                status = path.lstat()
                found.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= self._limit:
                return
            if path != keep:
                with contextlib.suppress(OSError):
                    path.unlink()
                    total -= size
