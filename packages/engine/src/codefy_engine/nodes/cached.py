"""A registry that is there at once: its catalog from the last start, its classes when they are needed."""

from __future__ import annotations

import time
from importlib.metadata import entry_points
from pathlib import Path

from codefy_engine.nodes.catalog import (
    encode_catalog,
    logger,
    read_catalog,
    sources_digest,
    write_catalog,
)
from codefy_engine.nodes.registry import ENTRY_POINT_GROUP, Registry, load_registry


def cached_registry(cache: Path, folder: Path | None = None) -> Registry:
    """What :func:`~codefy_engine.nodes.registry.load_registry` gives, with its catalog kept in the file ``cache``.

    While nothing that the catalog was made of has changed, no node is imported before a class is asked for. Should
    the classes then say something else than the file (a package may look at more than its own files), they count, and
    the file is written anew.
    """
    entries = list(entry_points(group=ENTRY_POINT_GROUP))
    sources = sources_digest(entries, folder)

    def load() -> Registry:
        began = time.perf_counter()
        registry = load_registry(entries, folder)
        found = registry.catalog()
        if kept is not None:
            logger.debug("the nodes were imported in %.2f s", time.perf_counter() - began)
        # What changed while it was read is for the next start to find.
        if (kept is None or encode_catalog(kept) != encode_catalog(found)) and sources == sources_digest(
            entries, folder
        ):
            write_catalog(cache, sources, found)
        return registry

    kept = read_catalog(cache, sources)
    return load() if kept is None else Registry.lazy(kept, load)
