"""What ``python -m codefy_engine.child --discover`` tells the agent about the environment it runs in (X-8)."""

from __future__ import annotations

import msgspec


class Discovery(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of JSON on stdout."""

    engine: str
    """Version of the engine."""
    catalog_hash: str
    node_types: dict[str, str]
    """Hash of what each type declares."""
    fingerprint: str
    """Digest of Python, the packages that decide numbers, and the machine's kind."""
    watch: dict[str, int] = {}
    """Folders that change when something is installed here, with when (ns) they had before all this was found out:
    once one has another time, it is worth asking again."""
