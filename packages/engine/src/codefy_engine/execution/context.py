"""What a node gets to see of its run: the implementation of ``NodeContext``, and the throttle of its progress."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from codefy_engine.execution import events
from codefy_engine.execution.cache import stamp_of
from codefy_engine.execution.callbacks import RunCallbacks
from codefy_engine.execution.devices import resolve_device
from codefy_engine.execution.outputs import OutputStore
from codefy_engine.execution.secrets import SecretMissing
from codefy_engine.execution.state import ExecutionState
from codefy_engine.execution.traces import StepTrace
from codefy_engine.graph.plan import Plan, PlannedNode, plan_subgraph
from codefy_engine.graph.prepare import Prepared
from codefy_engine.nodes.base import NodeError, RunStopped, Secret
from codefy_engine.nodes.registry import Registry
from codefy_protocol.bodies import MetricPoint
from codefy_protocol.reasons import Reason

current_run_id: ContextVar[str | None] = ContextVar("codefy_current_run_id", default=None)
"""Id of the run that the current thread works for, so that a server can tell whose output a print is."""

PROGRESS_INTERVAL_S = 0.2
"""At most five progress events a second of each node."""

_T = TypeVar("_T")


METRICS = "metrics"
ARTIFACT = "artifact"
WARNING = "warning"
INNER = "inner"
CONSOLE = "console"
"""Kinds of what a node tells, and what a reuse of it tells again."""

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")


class ProgressThrottle:
    """Decides which progress is sent now and which waits. The clock is passed in."""

    def __init__(self, interval_s: float = PROGRESS_INTERVAL_S) -> None:
        self._interval_s = interval_s
        self._next = float("-inf")
        self._held: bytes | None = None

    def offer(self, body: bytes, now: float) -> bytes | None:
        """``body`` when it may be sent at ``now``, else ``None``: it is held until a newer one or the end."""
        if now < self._next:
            self._held = body
            return None
        self._next = now + self._interval_s
        self._held = None
        return body

    def flush(self) -> bytes | None:
        """The last progress, when it was not sent."""
        held, self._held = self._held, None
        return held


@dataclass(frozen=True, slots=True)
class RunScope:
    """What the contexts of one run's nodes share."""

    run_id: str
    prepared: Prepared
    registry: Registry
    device: str
    seed: int | None
    deterministic: bool
    run_dir: Path
    files_dir: Path
    callbacks: RunCallbacks
    stop: threading.Event
    """Set by whoever wants the run to stop."""
    halt: threading.Event
    """Set by the run itself when a node failed and the others are to stop."""
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    state: ExecutionState | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Keeps each node's progress in order."""
    presets: dict[Any, Any] = field(default_factory=dict[Any, Any])
    """Presets that nodes execute, planned."""
    provenance: bool = False
    """Whether it is told where each result comes from."""
    outputs: OutputStore | None = None
    """Where outputs and traces are kept, when the run records them."""
    devices: dict[str, tuple[str, Reason | None]] = field(default_factory=dict[str, Any])
    """Devices that nodes asked for: what they got, and the warning when it is another one."""
    fallen_back: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Nodes within a node, by path without the item, that were told so."""

    def device_of(self, wanted: str) -> tuple[str, Reason | None]:
        """The device for a node that asks for one of its own."""
        found = self.devices.get(wanted)
        if found is None:
            found = self.devices[wanted] = resolve_device(wanted)
        return found


class RunContext:
    """One node's view of its run."""

    __slots__ = (
        "_closed",
        "_inside",
        "_planned",
        "_scope",
        "_throttle",
        "artifacts",
        "device",
        "node_id",
        "reads",
        "records",
        "step_trace",
        "volatile",
    )

    def __init__(
        self,
        scope: RunScope,
        node_id: str,
        planned: PlannedNode | None = None,
        device: str | None = None,
        inside: tuple[str, tuple[str, ...]] | None = None,
    ) -> None:
        """``inside`` is for a node that another one executes: that one's id, and the path below it."""
        self._scope = scope
        self._planned = planned
        self._inside = inside
        self.node_id = node_id
        self.device = scope.device if device is None else device
        self.volatile = False
        """Whether the node asked for something that makes its result its own: chance, or a secret."""
        self.artifacts: tuple[Path, ...] = ()
        self.records: list[tuple[str, bytes]] | None = None if scope.state is None else []
        """What was told, so that a reuse of the node tells it again; see the kinds above."""
        self.reads: dict[str, bytes] | None = None
        """Files that were read, by path, each with its stamp from before."""
        self.step_trace: StepTrace | None = None
        self._throttle: ProgressThrottle | None = None
        self._closed = False

    @property
    def seed(self) -> int | None:
        seed = self._scope.seed
        if seed is None:
            self.volatile = True
        return seed

    @property
    def deterministic(self) -> bool:
        return self._scope.deterministic

    @property
    def run_dir(self) -> Path:
        return self._scope.run_dir

    @property
    def files_dir(self) -> Path:
        return self._scope.files_dir

    @property
    def inside(self) -> tuple[str, tuple[str, ...]]:
        """The id of the graph's node that this one belongs to, and the path below it."""
        return (self.node_id, ()) if self._inside is None else self._inside

    @property
    def stopped(self) -> bool:
        return self._scope.stop.is_set() or self._scope.halt.is_set()

    def check_stop(self) -> None:
        if self.stopped:
            raise RunStopped

    def progress(
        self,
        fraction: float | None = None,
        *,
        current: float | None = None,
        total: float | None = None,
        unit: str = "",
        text: str = "",
        eta_s: float | None = None,
        epoch: float | None = None,
        epochs: int | None = None,
        metrics: Mapping[str, float] | None = None,
    ) -> None:
        make = events.node_progress if self._inside is None else self._inner_progress
        body = make(
            self.node_id,
            fraction,
            current=current,
            total=total,
            unit=unit,
            text=text,
            eta_s=eta_s,
            epoch=epoch,
            epochs=epochs,
            metrics=metrics,
        )
        with self._scope.lock:
            if self._closed:
                return
            if self._throttle is None:
                self._throttle = ProgressThrottle()
            due = self._throttle.offer(body, time.monotonic())
            # Inside the lock: two threads must not send their progress in the wrong order.
            if due is not None:
                self._send_progress(due)

    def _inner_progress(self, _: str, fraction: float | None, **facts: Any) -> bytes:
        owner, path = self.inside
        return events.inner_node_progress(owner, path, fraction, **facts)

    def _send_progress(self, body: bytes) -> None:
        callbacks = self._scope.callbacks
        (callbacks.progress if self._inside is None else callbacks.inner)(body)

    def close(self) -> None:
        """Send the progress that was held back; later progress is dropped."""
        with self._scope.lock:
            self._closed = True
            held = None if self._throttle is None else self._throttle.flush()
            if held is not None:
                self._send_progress(held)

    def metric(
        self, name: str, value: float, step: int, epoch: float | None = None, scope: str = "step"
    ) -> None:
        ts = time.time()
        self._tell_metrics(
            events.metric_point(name, value, step, epoch=epoch, scope=scope, node_id=self.node_id, ts=ts), ts
        )

    def metrics(self, points: Sequence[MetricPoint]) -> None:
        if points:
            ts = time.time()
            self._tell_metrics(events.metric_points(points, self.node_id, ts), ts)

    def _tell_metrics(self, body: bytes, ts: float) -> None:
        self._remember(METRICS, body)
        self._scope.callbacks.metrics(body, ts)

    def _remember(self, kind: str, body: bytes) -> None:
        if self.records is not None:
            self.records.append((kind, body))

    def artifact_path(self, name: str) -> Path:
        if not name or name in (".", "..") or "/" in name or "\\" in name or "\0" in name:
            raise ValueError(f"{name!r} is not a plain file name")
        folder = self._scope.run_dir / "artifacts" / _folder_name(self.node_id)
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name

    def artifact(
        self,
        kind: str,
        name: str,
        path: Path,
        media_type: str = "application/octet-stream",
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        root = self._scope.run_dir.resolve()
        resolved = path.resolve()
        if not resolved.is_relative_to(root):
            raise ValueError(f"the artifact {name!r} lies outside the run's folder: {path}")
        self.artifacts += (resolved,)
        with resolved.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
        body = events.artifact(
            kind=kind,
            name=name,
            path=resolved.relative_to(root).as_posix(),
            node_id=self.node_id,
            size=size,
            sha256=digest,
            media_type=media_type,
            meta=meta or {},
        )
        self._remember(ARTIFACT, body)
        self._scope.callbacks.artifact(body)

    def warn(self, reason: Reason) -> None:
        body = events.warning(reason, self.node_id)
        self._remember(WARNING, body)
        self._scope.callbacks.warning(body)

    def inner(self, path: str | Sequence[str], status: str, **facts: Any) -> None:
        owner, above = self.inside
        parts = [*above, path] if isinstance(path, str) else [*above, *path]
        body = events.inner_node_status(owner, parts, status, facts)
        if status != events.RUNNING:
            self._remember(INNER, body)
        self._scope.callbacks.inner(body)

    def show(self, text: str) -> None:
        body = msgspec.json.encode(text)
        self._remember(CONSOLE, body)
        self._scope.callbacks.console(body)

    def reading(self, path: Path) -> None:
        if self._scope.state is None and not self._scope.provenance:
            return
        if self.reads is None:
            self.reads = {}
        self.reads.setdefault(str(path), stamp_of(path))

    def trace(self, kind: str) -> StepTrace | None:
        outputs = self._scope.outputs
        if outputs is not None:
            self.step_trace = outputs.begin_trace(self._scope.run_id, self.node_id, kind)
        return self.step_trace

    def subgraph(self, name: str) -> Plan:
        return plan_subgraph(self._scope.prepared.document, name, self._scope.registry)

    def secret(self, reference: Secret | None) -> str:
        self.volatile = True
        if reference is None:
            raise NodeError("no secret is chosen")
        value = self._scope.secrets.get(reference.name)
        if value is None:
            raise SecretMissing(reference.name)
        return value

    def persistent(self, name: str, make: Callable[[], _T]) -> _T:
        state = self._scope.state
        if state is None:
            return make()
        self.volatile = True
        planned = self._planned
        marker = None if planned is None else (planned.type, dict(planned.params), self._scope.seed)
        return state.persistent(self.node_id, name, marker, make)

    def call(
        self,
        preset: str,
        inputs: Mapping[str, Any],
        params: Mapping[str, Any] | None = None,
        *,
        label: str = "",
    ) -> dict[str, Any]:
        from codefy_engine.execution.calls import call_preset

        return call_preset(self._scope, self, preset, inputs, params or {}, label)


def _folder_name(node_id: str) -> str:
    """``node_id`` as one folder's name: unsafe characters are replaced, and a digest keeps it apart from others."""
    safe = _UNSAFE.sub("_", node_id)[:80]
    if safe == node_id and not safe.startswith("."):
        return safe
    return f"{safe.lstrip('.')}-{hashlib.sha256(node_id.encode()).hexdigest()[:8]}"
