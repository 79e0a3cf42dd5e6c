"""Optional features (F-2): a feature is used only when both sides list it."""

from __future__ import annotations

from collections.abc import Iterable

ACK = "ack"
CONSOLE = "console"
RUN_FACTS = "run_facts"
MOUNTS = "mounts"
TRANSFER = "transfer"
S3 = "s3"
MEMORY_BUDGET = "memory_budget"
ONE_SHOT = "one_shot"
RECORD_OUTPUTS = "record_outputs"
INSTANCES = "instances"
NODE_SOURCES = "node_sources"
"""The agent fetches the files of single nodes that a run needs."""
GRAPH_BY_HASH = "graph_by_hash"
"""The agent fetches a graph that is too large for ``assign``."""

KNOWN: frozenset[str] = frozenset(
    (
        ACK,
        CONSOLE,
        RUN_FACTS,
        MOUNTS,
        TRANSFER,
        S3,
        MEMORY_BUDGET,
        ONE_SHOT,
        RECORD_OUTPUTS,
        INSTANCES,
        NODE_SOURCES,
        GRAPH_BY_HASH,
    )
)

IMPLEMENTED: tuple[str, ...] = (ACK, CONSOLE, RUN_FACTS, NODE_SOURCES, GRAPH_BY_HASH)
"""What this version speaks; both sides list it."""


def common(ours: Iterable[str], theirs: Iterable[str]) -> frozenset[str]:
    """The features that both sides list."""
    return frozenset(ours) & frozenset(theirs)
