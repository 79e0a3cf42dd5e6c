"""Processes of a run whose guard was killed: found by a mark in their environment, which every descendant inherits."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

_PASSES = 50


def kill_marked(variable: str, value: str) -> tuple[int, ...]:
    """Kill every process that carries ``variable=value`` in its environment; returns those that are still there.

    Only Linux tells the environment of a process; elsewhere this finds nothing.
    """
    if not value or sys.platform != "linux":
        return ()
    mark = f"{variable}={value}".encode()
    alive = marked(mark)
    for _ in range(_PASSES):
        if not alive:
            break
        for pid in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)
        alive = marked(mark)
    return alive


def marked(mark: bytes) -> tuple[int, ...]:
    """Processes whose environment holds the entry ``mark``. A zombie has no environment and does not count."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environment = (entry / "environ").read_bytes()
        except OSError:  # gone, or somebody else's
            continue
        if mark in environment.split(b"\0"):
            found.append(int(entry.name))
    return tuple(found)
