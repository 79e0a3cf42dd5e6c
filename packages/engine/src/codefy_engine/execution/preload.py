"""Importing torch beside other work: the process answers meanwhile, and knows when it is done."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

LIBRARIES = ("libtorch_global_deps.so", "libtorch.so")
"""What torch loads first, the first of them for everyone, and what drags in all the others."""


def loaded_torch() -> ModuleType | None:
    """torch, when its import is complete; ``None`` also while another thread imports it."""
    torch = sys.modules.get("torch")
    # What ``import torch`` itself looks at before it waits for the other thread.
    return None if getattr(getattr(torch, "__spec__", None), "_initializing", False) else torch


def preload_torch() -> None:
    """Import torch. Call it in a thread of its own.

    Whoever imports torch meanwhile waits for this import, as for every import of Python's.

    Raises:
        ImportError: torch is not installed, or cannot be loaded here.
    """
    if "torch" not in sys.modules and sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError, ImportError, ValueError):
            _load_libraries()
    importlib.import_module("torch")


def _load_libraries() -> None:
    """Load torch's libraries, without Python in them, while other threads go on.

    An import holds Python's lock while the system loads a library, which takes half a second for torch's, and on a
    cold disk much longer; a function that is called through ctypes does not.
    """
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return
    dlopen = ctypes.CDLL(None).dlopen
    dlopen.restype, dlopen.argtypes = ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_int)
    folder = Path(spec.origin).parent / "lib"
    for name, scope in zip(LIBRARIES, (os.RTLD_GLOBAL, os.RTLD_LOCAL), strict=True):
        path = folder / name
        # One that fails is left to the import, which says why.
        if not path.exists() or dlopen(os.fsencode(path), os.RTLD_NOW | scope) is None:
            return
