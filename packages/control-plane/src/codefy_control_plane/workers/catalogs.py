"""What a worker's node types are to the server's (X-8). Pure."""

from __future__ import annotations

from collections.abc import Mapping

from codefy_control_plane.api.schemas import NodeDifferences
from codefy_protocol.frames import Catalog, Hello


def usable_types(
    hello: Hello | None, catalog: Catalog | None, hashes: Mapping[str, str]
) -> frozenset[str] | None:
    """The types that mean on the worker what they mean here; ``None`` while it has not said which it has.

    A worker without an engine says that it has none.

    Args:
        hashes: of what each of the server's types declares.
    """
    if catalog is None:
        # A hello names types only where they are known so early, and then without their hashes.
        return frozenset(hello.node_types) if hello is not None and hello.node_types else None
    return frozenset(
        name
        for name in catalog.node_types
        if name not in catalog.hashes or name not in hashes or catalog.hashes[name] == hashes[name]
    )


def differences(catalog: Catalog | None, hashes: Mapping[str, str]) -> NodeDifferences | None:
    """What makes a worker degraded: types that only one side has, or that differ. ``None`` when nothing does."""
    if catalog is None or not catalog.engine:
        return None
    there, here = set(catalog.node_types), set(hashes)
    found = NodeDifferences(
        only_here=sorted(here - there),
        only_there=sorted(there - here),
        different=sorted(
            name for name in there & here if catalog.hashes.get(name, hashes[name]) != hashes[name]
        ),
    )
    return found if found.only_here or found.only_there or found.different else None
