"""What a standby child does before it has a run: pay for the imports that a first training step needs (P-8).

Modules are imported and nothing is computed: nothing reaches a card, so no card's memory is taken, and the random
generators stay as a fresh interpreter has them until the run seeds them.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import os
import pkgutil
import sys
import threading
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from codefy_protocol.pipe import Warm
from codefy_protocol.watched import modification_times

_WITH_THREADS = ("numpy", "scipy.linalg")
"""Libraries that start their worker threads when they are imported. A thread inherits the priority of the one that
starts it, so these are imported at the run's own."""
_OURS = ("execution", "graph", "modules", "training")
_OTHERS = (
    "torch.utils.data",
    "torch.utils.serialization",
    "torch.nested._internal.nested_tensor",
    "sklearn.datasets",
)
"""What torch and the nodes import only once they are used. The compiler is not among them: trainings do without."""
_LOWEST_PRIORITY = 19


def warm_up() -> Warm:
    """Import everything, most of it in a thread of the lowest priority: runs on this machine come first."""
    for name in _WITH_THREADS:
        _import(name)
    thread = threading.Thread(target=_import_quietly, name="codefy-standby")
    thread.start()
    thread.join()
    gc.collect()
    # What is here now stays: the collector need not look at it during the run.
    gc.freeze()
    return Warm(files=watched_files(), card_free=not _has_context())


def _import_quietly() -> None:
    if sys.platform == "linux":  # where priorities are a thread's own
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST_PRIORITY)
    from codefy_engine.execution.preload import preload_torch
    from codefy_engine.nodes.registry import default_registry

    # A run that meets the same failure reports it; a child that is only waiting has nobody to tell.
    with contextlib.suppress(Exception):
        preload_torch()
    with contextlib.suppress(Exception):
        default_registry().loaded().catalog()
    for name in (*_own_modules(), *_OTHERS):
        _import(name)


def _import(name: str) -> None:
    with contextlib.suppress(Exception):
        importlib.import_module(name)


def _own_modules() -> Iterator[str]:
    for package in _OURS:
        spec = importlib.util.find_spec(f"codefy_engine.{package}")
        for info in pkgutil.iter_modules(spec.submodule_search_locations if spec else None):
            if not info.name.startswith("_"):
                yield f"codefy_engine.{package}.{info.name}"


def _has_context() -> bool:
    torch: Any = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_initialized())


def watched_files() -> dict[str, int]:
    """What this process was made from and may change under it: path → modification time.

    Installing or removing a package touches its folder; our own code and that of node packages may be edited in place.
    """
    packages = {"codefy_engine", "codefy_protocol", *_node_packages()}
    modules = [
        module.__file__
        for name, module in sys.modules.copy().items()
        if name.partition(".")[0] in packages and getattr(module, "__file__", None)
    ]
    folders = [entry for entry in sys.path if entry and Path(entry).is_dir()]
    return modification_times((*folders, *filter(None, modules)))


def _node_packages() -> set[str]:
    return {entry.value.partition(":")[0].partition(".")[0] for entry in entry_points(group="codefy.nodes")}
