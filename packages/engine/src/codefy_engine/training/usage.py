"""How much memory a training takes."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

import torch

_STATM = Path("/proc/self/statm")


def memory_mib(device: torch.device) -> float | None:
    """Memory in MiB: the peak that torch took on a CUDA device, else what this process holds at the moment.

    ``None`` where the system does not say.
    """
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    try:
        return int(_STATM.read_text().split()[1]) * _page_size() / 2**20
    except (OSError, IndexError, ValueError):
        return _peak_resident_mib()


@cache
def _page_size() -> int:
    return os.sysconf("SC_PAGE_SIZE")


def _peak_resident_mib() -> float | None:
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Bytes on macOS, KiB elsewhere.
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
