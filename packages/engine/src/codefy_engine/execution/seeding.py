"""Seeds and determinism of a run."""

from __future__ import annotations

import os
import random
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


def seed_everything(seed: int) -> None:
    """Seed Python's, numpy's and torch's generators (all devices)."""
    import numpy as np
    import torch

    torch_random: Any = torch.random
    random.seed(seed)
    # numpy takes 32 bits.
    np.random.seed(seed % 2**32)
    torch_random.manual_seed(seed)


@contextmanager
def numerics(*, deterministic: bool) -> Generator[None]:
    """Deterministic algorithms while inside, when asked for; what was set before comes back after.

    The setting is torch's, hence the whole process's.
    """
    if not deterministic:
        yield
        return
    # Read by cuBLAS when it makes its first handle.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    import torch

    before = torch.are_deterministic_algorithms_enabled()
    before_benchmark = torch.backends.cudnn.benchmark
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
        torch.backends.cudnn.benchmark = before_benchmark
