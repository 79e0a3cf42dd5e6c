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

KNOWN: frozenset[str] = frozenset(
    (ACK, CONSOLE, RUN_FACTS, MOUNTS, TRANSFER, S3, MEMORY_BUDGET, ONE_SHOT, RECORD_OUTPUTS, INSTANCES)
)

IMPLEMENTED: tuple[str, ...] = (ACK, CONSOLE, RUN_FACTS)
"""What this version speaks; both sides list it."""


def common(ours: Iterable[str], theirs: Iterable[str]) -> frozenset[str]:
    """The features that both sides list."""
    return frozenset(ours) & frozenset(theirs)
