"""What an assignment names by SHA-256 and the agent fetches over HTTP: large graphs, files of single nodes (F-6, G-2).

The control plane serves them to the worker that has the run, under :func:`input_path`. The agent shows the credential of
its socket and says in ``X-Codefy-Worker`` which worker it is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

import msgspec

from codefy_protocol.frames import NodeSource

WORKER_HEADER = "X-Codefy-Worker"
WORKER_API = "/api/worker/"
"""What agents ask for with their own credential."""

MAX_NODE_SOURCES = 256
"""Files of single nodes that one run takes along."""
MAX_NODE_SOURCE_BYTES = 8 * 1024 * 1024
"""All of them together."""
MAX_GRAPH_BYTES = 48 * 1024 * 1024
"""A graph that a worker takes. With the files it is one chunk of the pipe to the run child."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_FILE_NAME = re.compile(r"[^/\\\x00-\x1f]{1,251}\.py")


def input_path(run_id: str, sha256: str) -> str:
    """Where the control plane serves an input of a run, from its root."""
    return f"{WORKER_API}runs/{run_id}/inputs/{sha256}"


def is_sha256(text: str) -> bool:
    """Whether it is a SHA-256 as it is written here: 64 lower-case hexadecimal digits."""
    return _SHA256.fullmatch(text) is not None


def legal_node_file(name: str) -> bool:
    """Whether it is the name of a Python file, and leads nowhere else."""
    return _FILE_NAME.fullmatch(name) is not None and not name.startswith(".")


def matches(sha256: str, content: bytes) -> bool:
    """Whether the content is what the hash names."""
    return hashlib.sha256(content).hexdigest() == sha256


def node_source_digest(sources: Iterable[NodeSource]) -> str:
    """One hash of all files of single nodes of a run; empty when it has none."""
    listed = sorted((source.name, source.sha256) for source in sources)
    return hashlib.sha256(msgspec.json.encode(listed)).hexdigest() if listed else ""
