"""Where everything that happens during a run goes (V-3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSinks:
    """Four callables, and one that only some storages have. Each may be called from any thread and does not wait for storage or a network.

    ``ts`` is Unix seconds; a body is JSON made by ``execution.events``.
    """

    emit: Callable[[str, float, bytes], None]
    """``emit(kind, ts, body)``: an event; its body is at most the payload cap."""
    record_metrics: Callable[[float, bytes], None]
    """Body: ``codefy_protocol.bodies.MetricsBody``."""
    record_artifact: Callable[[float, bytes], None]
    """Body: ``codefy_protocol.bodies.ArtifactBody``."""
    warn: Callable[[float, bytes], None]
    """Body: ``codefy_protocol.bodies.WarningBody``, the payload of a ``run_warning`` event."""
    facts: Callable[[float, bytes], None] | None = None
    """``facts(ts, body)``: facts of the run as a JSON object, such as fingerprint and provenance (X-8)."""
