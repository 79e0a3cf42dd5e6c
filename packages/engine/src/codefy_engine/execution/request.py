"""What an executor is asked and what it answers: the one seam for execution (A-3)."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from codefy_engine.execution.outputs import OutputStore
from codefy_engine.execution.sinks import RunSinks
from codefy_engine.execution.state import ExecutionState
from codefy_engine.graph.document import GraphDocument
from codefy_engine.nodes.registry import Registry
from codefy_protocol.bodies import PeakMemory, RunError
from codefy_protocol.frames import NodeSource
from codefy_protocol.names import RunOptions

SUCCEEDED = "succeeded"
FAILED = "failed"
CANCELLED = "cancelled"

DEFAULT_PAYLOAD_CAP = 128 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionRequest:
    """One attempt to execute. Whoever made it may set ``stop`` at any time, from any thread."""

    run_id: str
    attempt: int = 1
    graph: GraphDocument
    options: RunOptions = field(default_factory=RunOptions)
    device: str = "cpu"
    """As the run sees it: ``cpu``, ``cuda:0``, ``mps:0``, or ``cuda`` for the current card."""
    run_dir: Path
    """Made when it is not there."""
    files_dir: Path
    payload_cap: int = DEFAULT_PAYLOAD_CAP
    """Largest payload of an event in bytes (V-3)."""
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Values by name (X-5); the graph holds references to them."""
    sinks: RunSinks
    stop: threading.Event = field(default_factory=threading.Event)
    registry: Registry | None = None
    """Node types to use instead of those installed."""
    state: ExecutionState | None = None
    """Of the editor's session, so that what did not change is not done again; ``None`` does everything."""
    node_sources: tuple[NodeSource, ...] = ()
    """Files of single nodes that the graph uses, as they were when it was submitted: for an executor that sends the run
    elsewhere."""
    node_packages: Mapping[str, str] = field(default_factory=dict[str, str])
    """Node types of the graph that come from packages → the package, for the same."""
    outputs: OutputStore | None = None
    """Where outputs are kept for the inspector when the options ask for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionOutcome:
    """How an attempt ended."""

    status: str
    """``succeeded``, ``failed`` or ``cancelled``."""
    error: RunError | None = None
    """Set when it failed."""
    peak_memory: PeakMemory | None = None


class Executor(Protocol):
    """Executes one attempt and says how it ended."""

    async def run(self, request: ExecutionRequest) -> ExecutionOutcome:
        """Execute; everything that happens on the way goes to ``request.sinks``.

        Never raises for what the graph does. After the return no sink is called any more.
        """
        ...
