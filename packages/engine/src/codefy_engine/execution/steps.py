"""The steps of one run: take a node's inputs, reuse or run it, report, hand its outputs on."""

from __future__ import annotations

import inspect
import shutil
import signal
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from codefy_engine.execution import events
from codefy_engine.execution.body_shape import OUTPUTS
from codefy_engine.execution.cache import Keys, Result, result_of, stamp_of, with_reads
from codefy_engine.execution.context import ARTIFACT, CONSOLE, INNER, METRICS, RunContext, RunScope
from codefy_engine.execution.errors import node_error
from codefy_engine.execution.outputs import OutputStore
from codefy_engine.execution.provenance import provenance_facts, record_of
from codefy_engine.execution.schedule import Schedule
from codefy_engine.execution.secrets import Redactor
from codefy_engine.execution.summaries import summarize
from codefy_engine.execution.values import outputs_by_port
from codefy_engine.graph.plan import Plan, PlannedNode
from codefy_engine.nodes.base import RunStopped
from codefy_protocol.bodies import ArtifactBody, RunError

_NO_NODES: dict[str, Any] = {}


class GraphRun:
    """State of one execution. Steps write only their own entries, so the lists need no lock."""

    def __init__(
        self,
        plan: Plan,
        scope: RunScope,
        *,
        redactor: Redactor,
        halt_on_error: bool = True,
        keys: Keys | None = None,
        outputs: OutputStore | None = None,
        provenance: bool = False,
    ) -> None:
        self.scope = scope
        self.redactor = redactor
        self.redact = redactor.text if redactor else None
        self.halt_on_error = halt_on_error
        self.outputs = outputs
        nodes = self.nodes = plan.nodes
        position = {planned.id: planned.index for planned in nodes}
        count = len(nodes)
        self.sources: list[list[tuple[str, int, str]]] = [
            [(port, position[source.node_id], source.port) for port, source in planned.inputs.items()]
            for planned in nodes
        ]
        self.targets: list[list[int]] = [[] for _ in range(count)]
        for index, sources in enumerate(self.sources):
            for _, source, _ in sources:
                self.targets[source].append(index)
        self.values: list[dict[str, Any] | None] = [None] * count
        """Outputs by port of what succeeded, until the last reader took them."""
        self.succeeded = [False] * count
        self.readers = [len(targets) for targets in self.targets]
        self.readers_lock = threading.Lock()
        self.incomplete = False
        """Whether any node did not succeed: only then does a node look at whether its sources did."""
        self.error: RunError | None = None
        self.cancelled = False
        self.keys: list[bytes | None] | None = None if keys is None else keys.of(plan, position)
        self.volatile = [False] * count
        """Nodes whose result depends on chance, a secret or a volatile node: it is this run's own."""
        self.reads: list[dict[str, bytes] | None] = [None] * count
        """Files that nodes or what they depend on read, beyond those that keys know of."""
        self.reused: list[Result | None] | None = self._to_reuse()
        self.provenance = provenance

    def go(self, limit: int) -> None:
        """Do everything, on at most ``limit`` threads."""
        needs = [len(sources) for sources in self.sources]
        Schedule(needs, self.targets, self.step).run(limit, f"codefy-run-{self.scope.run_id}")

    def _to_reuse(self) -> list[Result | None] | None:
        state = self.scope.state
        if state is None or self.keys is None:
            return None
        if not self.scope.prepared.partial:
            state.keep_only({planned.id for planned in self.nodes})
        results = state.results
        reused: list[Result | None] = [None] * len(self.nodes)
        used: list[bytes] = []
        stamps: dict[str, bytes] = {}

        def stamp(path: str) -> bytes:
            found = stamps.get(path)
            if found is None:
                found = stamps[path] = stamp_of(path)
            return found

        for index in range(len(self.nodes) - 1, -1, -1):
            key = self.keys[index]
            found = None if key is None else results.get(key, stamp)
            if key is None or found is None:
                continue
            # Its value is gone, but nobody will ask for it: everything behind it is reused too.
            if found.outputs is None and any(reused[target] is None for target in self.targets[index]):
                continue
            reused[index] = found
            used.append(key)
        results.touch(used)
        return reused

    def step(self, index: int) -> None:
        """Run, reuse or skip one node; never raises for what the node does."""
        planned = self.nodes[index]
        scope = self.scope
        report = scope.callbacks.node_status
        if scope.stop.is_set():
            self.cancelled = True
        halted = self.incomplete and (scope.halt.is_set() or not self._inputs_ready(index))
        if self.cancelled or halted:
            self.incomplete = True
            self._release_inputs(index)
            report(events.node_status(planned.id, events.SKIPPED))
            return
        reused = None if self.reused is None else self.reused[index]
        if reused is not None:
            self._reuse(index, planned, reused)
            return
        report(events.node_running(planned.id))
        device = None if planned.device is None else self._device(planned, planned.device)
        context = RunContext(scope, planned.id, planned, device)
        started = time.perf_counter()
        try:
            node = planned.node_class.assemble(planned.params, self._take_inputs(index))
            outputs = outputs_by_port(planned, node.run(context))
            duration = time.perf_counter() - started
        except RunStopped:
            if not scope.halt.is_set():
                self.cancelled = True
            self._stopped(planned, context, started)
        except BaseException as error:  # a node may raise anything, SystemExit too
            if isinstance(error, KeyboardInterrupt) and _takes_ctrl_c():
                scope.stop.set()
                self._stopped(planned, context, started)
                raise
            self._failed(planned, context, started, error)
        else:
            context.close()
            types = planned.outputs
            facts = {port: summarize(value, types[port].type, self.redact) for port, value in outputs.items()}
            if self.redactor:
                facts = self.redactor.fields(facts, OUTPUTS)
            report(events.node_succeeded(planned.id, duration, facts))
            if self.keys is not None:
                self._keep(index, planned, context, outputs, facts)
            if self.provenance:
                self._record(index, planned, events.SUCCEEDED, duration)
            if self.outputs is not None:
                self.outputs.capture(scope.run_id, planned.id, outputs, facts)
            if self.readers[index]:
                self.values[index] = outputs
            self.succeeded[index] = True

    def _reuse(self, index: int, planned: PlannedNode, reused: Result) -> None:
        self._release_inputs(index)
        if planned.device is not None:
            self._device(planned, planned.device)
        if reused.records:
            self._tell_again(reused)
        if reused.reads:
            self.reads[index] = dict(reused.reads)
        self.scope.callbacks.node_status(reused.event)
        if self.readers[index]:
            self.values[index] = reused.outputs
        if self.provenance:
            self._record(index, planned, events.REUSED, 0.0)
        if self.outputs is not None and reused.outputs is not None:
            self.outputs.capture(self.scope.run_id, planned.id, reused.outputs, reused.facts)
            if reused.trace is not None:
                self.outputs.adopt_trace(self.scope.run_id, reused.trace)
        self.succeeded[index] = True

    def _tell_again(self, reused: Result) -> None:
        """What the node told when it ran belongs to this run too; its files are linked into this run's folder."""
        callbacks = self.scope.callbacks
        for kind, body in reused.records:
            if kind == METRICS:
                callbacks.metrics(body, time.time())
            elif kind == ARTIFACT:
                self._link(reused, body)
                callbacks.artifact(body)
            elif kind == INNER:
                callbacks.inner(body)
            elif kind == CONSOLE:
                callbacks.console(body)
            else:
                callbacks.warning(body)

    def _link(self, reused: Result, body: bytes) -> None:
        path = msgspec.json.decode(body, type=ArtifactBody).path
        source, target = Path(reused.run_dir) / path, self.scope.run_dir / path
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                target.hardlink_to(source)
            except OSError:
                shutil.copyfile(source, target)

    def _keep(
        self,
        index: int,
        planned: PlannedNode,
        context: RunContext,
        outputs: dict[str, Any],
        facts: dict[str, dict[str, Any]],
    ) -> None:
        """Make the result reusable, unless it is this run's own."""
        assert self.keys is not None
        volatile = context.volatile or any(self.volatile[source] for _, source, _ in self.sources[index])
        self.volatile[index] = volatile
        reads = context.reads
        for _, source, _ in self.sources[index]:
            inherited = self.reads[source]
            if inherited is not None:
                reads = inherited | (reads or {})
        self.reads[index] = reads
        key, state = self.keys[index], self.scope.state
        if key is None or state is None or volatile:
            return
        event = events.node_status(planned.id, events.REUSED, outputs=facts)
        run_dir = str(self.scope.run_dir.resolve()) if context.artifacts else ""
        result = result_of(
            outputs,
            facts,
            context.artifacts,
            event,
            context.records or (),
            run_dir,
            reads,
            context.step_trace,
        )
        state.results.put(key, result)

    def _record(self, index: int, planned: PlannedNode, status: str, duration: float) -> None:
        assert self.keys is not None
        inputs: Mapping[str, tuple[str, bytes | None]] = {
            port: (f"{self.nodes[source].id}.{name}", with_reads(self.keys[source], self.reads[source]))
            for port, source, name in self.sources[index]
        }
        volatile = self.volatile[index] or self.keys[index] is None
        record = record_of(planned, inputs, status, duration, self.scope.seed, volatile=volatile)
        self.scope.callbacks.facts(provenance_facts(record))

    def _device(self, planned: PlannedNode, wanted: str) -> str:
        device, fallback = self.scope.device_of(wanted)
        if fallback is not None:
            self.scope.callbacks.warning(events.warning(fallback, planned.id))
        return device

    def _stopped(self, planned: PlannedNode, context: RunContext, started: float) -> None:
        self.incomplete = True
        context.close()
        duration = time.perf_counter() - started
        self.scope.callbacks.node_status(
            events.node_status(planned.id, events.CANCELLED, duration_s=duration)
        )

    def _failed(
        self, planned: PlannedNode, context: RunContext, started: float, error: BaseException
    ) -> None:
        self.incomplete = True
        context.close()
        duration = time.perf_counter() - started
        told = node_error(
            error,
            node_id=planned.id,
            title=planned.title,
            device=context.device,
            home=_home(planned),
            redact=self.redactor.text,
        )
        if self.redactor:
            told = self.redactor.error(told)
        # The first failure is the run's; those of nodes that ran beside it are in their own events.
        if self.error is None:
            self.error = told
        if self.halt_on_error:
            self.scope.halt.set()
        self.scope.callbacks.node_status(
            events.node_status(planned.id, events.FAILED, duration_s=duration, error=told)
        )

    def _inputs_ready(self, index: int) -> bool:
        return all(self.succeeded[source] for _, source, _ in self.sources[index])

    def _take_inputs(self, index: int) -> dict[str, Any]:
        sources = self.sources[index]
        if not sources:
            return _NO_NODES
        taken: dict[str, Any] = {}
        every, readers = self.values, self.readers
        for port, source, source_port in sources:
            values = every[source]
            if values is not None:
                taken[port] = values[source_port]
        with self.readers_lock:
            for _, source, _ in sources:
                readers[source] -= 1
                if not readers[source]:
                    every[source] = None
        return taken

    def _release_inputs(self, index: int) -> None:
        """Let go of outputs that nobody else will read: a large tensor must not outlive its last reader."""
        sources = self.sources[index]
        if not sources:
            return
        with self.readers_lock:
            for _, source, _ in sources:
                self.readers[source] -= 1
                if self.readers[source] == 0:
                    self.values[source] = None


def _takes_ctrl_c() -> bool:
    """Whether a Ctrl-C arrives in this thread as ``KeyboardInterrupt``; anywhere else only a node can raise one."""
    return (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )


def _home(planned: PlannedNode) -> str | None:
    try:
        return inspect.getfile(planned.node_class)
    except (OSError, TypeError):
        return None
