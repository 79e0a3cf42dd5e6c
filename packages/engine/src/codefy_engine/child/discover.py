"""What this environment can run, as one line of JSON. Imports no torch, and no node that it knows from the last time."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import msgspec

from codefy_protocol.discovery import Discovery
from codefy_protocol.watched import modification_times


def discover(cache: Path) -> Discovery:
    """The node types of the installed packages, and a fingerprint of the environment.

    Args:
        cache: file that keeps the catalog for the next time.
    """
    from codefy_engine import __version__
    from codefy_engine.execution.fingerprint import environment_fingerprint, fingerprint_digest
    from codefy_engine.nodes.cached import cached_registry

    places = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    watch = modification_times(sorted(places))
    catalog = cached_registry(cache).catalog()
    return Discovery(
        engine=__version__,
        catalog_hash=catalog.catalog_hash,
        node_types=catalog.hashes,
        fingerprint=fingerprint_digest(environment_fingerprint(load_torch=False)),
        watch=watch,
    )


def print_discovery(cache: Path) -> int:
    """Write it to stdout; returns the exit status."""
    # What a package prints while it is imported is not part of the answer.
    answer, sys.stdout = sys.stdout, sys.stderr
    line = msgspec.json.encode(discover(cache))
    answer.buffer.write(line + b"\n")
    answer.flush()
    return 0
