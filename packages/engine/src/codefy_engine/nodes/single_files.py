"""Nodes as single files: ``<data dir>/nodes/*.py`` (G-2).

Each version of a file is a module of its own: what an earlier one defined stays with the runs that use it. The digest of
its bytes is its version (X-8). The module keeps those bytes: they are what travels to a worker, whatever the file holds by
then.
"""

from __future__ import annotations

import hashlib
import linecache
import sys
from pathlib import Path
from types import ModuleType

FOLDER = "nodes"
"""In the data folder."""
_PREFIX = "codefy_node_files"
_SOURCE = "__codefy_source__"


def node_files(folder: Path) -> list[Path]:
    """The files of single nodes, by name; those that begin with an underscore are helpers of others."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.glob("*.py") if not path.name.startswith(("_", ".")))


def file_source(name: str) -> str:
    """What the nodes of a file of this name name as their source: ``nodes/filters.py``."""
    return f"{FOLDER}/{name}"


def is_file_source(source: str) -> bool:
    """Whether a source is a file of single nodes."""
    return source.startswith(f"{FOLDER}/")


def import_node_file(path: Path) -> ModuleType:
    """Execute a file as a module of its own.

    Raises:
        Exception: whatever it raises; nothing is left of it then.
    """
    # Tracebacks are to show the lines that run now.
    linecache.checkcache(str(path))
    return _import(path.name, path.read_bytes(), str(path))


def import_node_source(name: str, content: bytes) -> ModuleType:
    """The same for the content of a file that lies nowhere: a run's own copy of another machine's.

    Raises:
        Exception: whatever it raises; nothing is left of it then.
    """
    filename = f"<{FOLDER}/{name}>"
    lines = content.decode("utf-8", "replace").splitlines(keepends=True)
    # Without a time of change the entry is never compared with a file.
    linecache.cache[filename] = (len(content), None, lines, filename)
    return _import(name, content, filename)


def source_of(module: ModuleType) -> bytes | None:
    """The bytes that a module of this kind was made from; ``None`` for any other module."""
    return vars(module).get(_SOURCE)


def _import(name: str, content: bytes, filename: str) -> ModuleType:
    digest = hashlib.sha256(content).hexdigest()
    module_name = f"{_PREFIX}.{Path(name).stem}_{digest[:12]}"
    loaded = sys.modules.get(module_name)
    if loaded is not None and loaded.__file__ == filename:
        # The very same file: its classes stay what they are, and results of theirs can be reused.
        return loaded
    module = ModuleType(module_name)
    module.__file__ = filename
    vars(module)["__codefy_digest__"] = digest
    vars(module)[_SOURCE] = content
    sys.modules[module_name] = module
    try:
        exec(compile(content, filename, "exec"), vars(module))  # noqa: S102  # the user's own nodes
    except BaseException:
        sys.modules.pop(module_name, None)
        raise
    return module
