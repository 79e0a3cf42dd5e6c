"""Whether files changed, by their modification times: asked by the agent about what its standby children were made from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def modification_times(paths: Iterable[str]) -> dict[str, int]:
    """Path → time in nanoseconds, 0 for what is not there."""
    found: dict[str, int] = {}
    for path in paths:
        try:
            found[path] = Path(path).stat().st_mtime_ns
        except OSError:
            found[path] = 0
    return found
