"""The catalog apart from the classes: what node types declare, its file, and the digest of what it was made of.

A server answers with the catalog before it has imported a single node: importing them takes time, and a stranger's
package may take torch with it. The catalog of the last start is good for as long as the digest of its sources is the
same: Codefy's own code, Python, which packages are installed, the files of those with nodes, and the user's node files.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import msgspec

import codefy_engine
import codefy_protocol
from codefy_engine.nodes.definition import NodeDefinition

logger = logging.getLogger("codefy.nodes")

FORMAT = b"codefy-catalog-1"


class LoadFailure(msgspec.Struct, kw_only=True, frozen=True):
    """A package whose nodes could not be loaded. The others work without it."""

    source: str
    error: str


class Catalog(msgspec.Struct, kw_only=True, frozen=True):
    """Everything about node types that needs no class of theirs."""

    definitions: list[NodeDefinition]
    """By category and title."""
    hashes: dict[str, str]
    """By type, sorted."""
    catalog_hash: str
    failures: tuple[LoadFailure, ...] = ()


def encode_catalog(catalog: Catalog) -> bytes:
    """The catalog as JSON; catalogs that say the same give equal bytes."""
    # Read back once, which makes a limit of 0 the 0.0 that it will be after the next start.
    return msgspec.json.encode(msgspec.json.decode(msgspec.json.encode(catalog), type=Catalog))


def read_catalog(path: Path, sources: str) -> Catalog | None:
    """The catalog that was kept for these sources; ``None`` when there is none, or its file is damaged."""
    try:
        kept = path.read_bytes()
    except OSError:
        return None
    head, _, body = kept.partition(b"\n")
    if head != _head(sources, body):
        return None
    try:
        return msgspec.json.decode(body, type=Catalog)
    except (msgspec.DecodeError, RecursionError):
        return None


def write_catalog(path: Path, sources: str, catalog: Catalog) -> None:
    """Keep the catalog for the next start, readable by its owner only. Readers see the old file or the new one.

    What cannot be written is not kept: the next start only takes longer.
    """
    body = encode_catalog(catalog)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        temporary.unlink(missing_ok=True)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(_head(sources, body) + b"\n" + body)
        temporary.replace(path)
    except OSError as error:
        logger.warning("the catalog could not be kept in %s: %s", path, error)
        temporary.unlink(missing_ok=True)


def _head(sources: str, body: bytes) -> bytes:
    return b" ".join((FORMAT, sources.encode(), hashlib.sha256(body).hexdigest().encode()))


def sources_digest(entries: Iterable[EntryPoint], folder: Path | None) -> str:
    """SHA-256 of everything that decides what the catalog is.

    Args:
        entries: the entry points that name packages with nodes; their whole packages count.
        folder: the user's node files.
    """
    digest = hashlib.sha256()

    def add(*parts: object) -> None:
        # Lengths before values, so that no two lists of parts read the same.
        for part in parts:
            value = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogateescape")
            digest.update(b"%d:" % len(value))
            digest.update(value)

    add(FORMAT, codefy_engine.__version__, sys.version, sys.platform)
    add(*_installed())
    for package in (codefy_engine, codefy_protocol):
        for root in package.__path__:
            add(*_tree(Path(root)))
    for entry in sorted(entries, key=lambda item: (item.name, item.value)):
        add(entry.name, entry.value, "" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}")
        for root in _roots(entry):
            add(*_tree(root))
    if folder is not None:
        add(*_tree(folder))
    return digest.hexdigest()


def _installed() -> list[str]:
    """The names of all installed packages with their versions, as their folders have them."""
    found: list[str] = []
    for place in sys.path:
        try:
            names = os.listdir(place or ".")  # noqa: PTH208  names alone, of folders that may be none
        except OSError:
            continue
        found += sorted(name for name in names if name.endswith((".dist-info", ".egg-info")))
    return found


def _roots(entry: EntryPoint) -> list[Path]:
    """The folders, or the file, of the package that an entry point names; nothing is imported."""
    try:
        spec = importlib.util.find_spec(entry.module.partition(".")[0])
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    if spec.submodule_search_locations is not None:
        return [Path(place) for place in spec.submodule_search_locations]
    return [] if spec.origin is None else [Path(spec.origin)]


def _tree(root: Path) -> Iterator[object]:
    """Source files with their content, other files with size and time, in an order that is always the same."""
    if root.is_file():
        yield from _file(root, root.name)
        return
    for place, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            path = Path(place, name)
            yield from _file(path, str(path.relative_to(root)))


def _file(path: Path, name: str) -> Iterator[object]:
    try:
        if path.suffix == ".py":
            yield from (name, path.read_bytes())
        else:
            facts = path.stat()
            yield from (name, facts.st_size, facts.st_mtime_ns)
    except OSError as error:
        yield from (name, error.errno)
