"""Nodes as single files: ``<data dir>/nodes/*.py`` (G-2).

Each version of a file is a module of its own: what an earlier one defined stays with the runs that use it. The digest of its bytes is its version (X-8).
"""

from __future__ import annotations

import hashlib
import importlib.util
import linecache
import sys
from pathlib import Path
from types import ModuleType

FOLDER = "nodes"
"""In the data folder."""
_PREFIX = "codefy_node_files"


def node_files(folder: Path) -> list[Path]:
    """The files of single nodes, by name; those that begin with an underscore are helpers of others."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.glob("*.py") if not path.name.startswith(("_", ".")))


def file_source(path: Path) -> str:
    """What the nodes of a file name as their source: ``nodes/filters.py``."""
    return f"{FOLDER}/{path.name}"


def is_file_source(source: str) -> bool:
    """Whether a source is a file of single nodes."""
    return source.startswith(f"{FOLDER}/")


def import_node_file(path: Path) -> ModuleType:
    """Execute a file as a module of its own.

    Raises:
        Exception: whatever it raises; nothing is left of it then.
    """
    source = path.read_bytes()
    digest = hashlib.sha256(source).hexdigest()
    name = f"{_PREFIX}.{path.stem}_{digest[:12]}"
    loaded = sys.modules.get(name)
    if loaded is not None and loaded.__file__ == str(path):
        # The very same file: its classes stay what they are, and results of theirs can be reused.
        return loaded
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise ImportError(f"{path.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    vars(module)["__codefy_digest__"] = digest
    sys.modules[name] = module
    # Tracebacks are to show the lines that run now.
    linecache.checkcache(str(path))
    try:
        exec(compile(source, str(path), "exec"), vars(module))  # noqa: S102  # the user's own nodes
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module
