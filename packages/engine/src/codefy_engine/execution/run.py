"""Execute one graph, from its document to its outcome (G-4)."""

from __future__ import annotations

import inspect
import os
import threading
import time
from collections.abc import Mapping
from typing import Any, cast

from codefy_engine.execution import events
from codefy_engine.execution.callbacks import RunCallbacks
from codefy_engine.execution.context import RunContext, RunScope, current_run_id
from codefy_engine.execution.devices import peak_memory, reset_peak_memory, resolve_device
from codefy_engine.execution.errors import engine_error, invalid_graph_error, node_error
from codefy_engine.execution.request import CANCELLED, FAILED, SUCCEEDED, ExecutionOutcome, ExecutionRequest
from codefy_engine.execution.schedule import Schedule
from codefy_engine.execution.seeding import numerics, seed_everything
from codefy_engine.execution.summaries import summarize
from codefy_engine.graph.plan import Plan, PlannedNode, plan_graph
from codefy_engine.graph.validation import validate_graph
from codefy_engine.nodes.base import RunStopped
from codefy_engine.nodes.registry import default_registry
from codefy_protocol.bodies import PeakMemory, RunError

PARALLEL_NODES_VARIABLE = "CODEFY_EXECUTION_PARALLEL_NODES"
DEFAULT_PARALLEL_NODES = 4


def parallel_nodes(environment: Mapping[str, str] = os.environ) -> int:
    """How many nodes of a run may execute at once; a value that is no number from 1 on is ignored."""
    try:
        count = int(environment.get(PARALLEL_NODES_VARIABLE, ""))
    except ValueError:
        return DEFAULT_PARALLEL_NODES
    return count if count >= 1 else DEFAULT_PARALLEL_NODES


def execute_graph(request: ExecutionRequest) -> ExecutionOutcome:
    """Execute the graph in the calling thread and, for nodes that may run side by side, in helper threads.

    Everything that happens goes to ``request.sinks``; how it ended is the return value. Raises nothing: a failure of
    the engine itself is an outcome too.
    """
    token = current_run_id.set(request.run_id)
    try:
        return _execute(request)
    except KeyboardInterrupt:
        # Ctrl-C where the run has the main thread: the same as a stop.
        request.stop.set()
        return ExecutionOutcome(status=CANCELLED)
    except BaseException as error:  # the caller gets an outcome, whatever happened
        return ExecutionOutcome(status=FAILED, error=engine_error(error))
    finally:
        current_run_id.reset(token)


def _execute(request: ExecutionRequest) -> ExecutionOutcome:
    registry = request.registry if request.registry is not None else default_registry()
    problems = validate_graph(request.graph, registry)
    if problems:
        return ExecutionOutcome(status=FAILED, error=invalid_graph_error(problems))
    callbacks = RunCallbacks(request.sinks, request.payload_cap)
    device, fallback = resolve_device(request.device)
    if fallback is not None:
        callbacks.warning(events.warning(fallback, None))
    seed = request.options.seed if request.options.seed is not None else request.graph.settings.seed
    if seed is not None:
        seed_everything(seed)
    reset_peak_memory(device)
    scope = RunScope(
        run_id=request.run_id,
        document=request.graph,
        registry=registry,
        device=device,
        seed=seed,
        deterministic=request.options.deterministic,
        run_dir=request.run_dir,
        files_dir=request.files_dir,
        callbacks=callbacks,
        stop=request.stop,
        halt=threading.Event(),
    )
    request.run_dir.mkdir(parents=True, exist_ok=True)
    with numerics(deterministic=request.options.deterministic):
        run = _Run(
            plan_graph(request.graph, registry), scope, halt_on_error=request.options.error_mode == "stop"
        )
        run.go(parallel_nodes())
    return run.outcome(peak_memory(device))


class _Run:
    """State of one execution. Steps write only their own entries, so the lists need no lock."""

    def __init__(self, plan: Plan, scope: RunScope, *, halt_on_error: bool) -> None:
        self.plan = plan
        self.scope = scope
        self.halt_on_error = halt_on_error
        position = {planned.id: planned.index for planned in plan.nodes}
        count = len(plan.nodes)
        self.sources: list[list[tuple[str, int, str]]] = [
            [(port, position[source.node_id], source.port) for port, source in planned.inputs.items()]
            for planned in plan.nodes
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

    def go(self, limit: int) -> None:
        needs = [len(sources) for sources in self.sources]
        Schedule(needs, self.targets, self.step).run(limit, f"codefy-run-{self.scope.run_id}")

    def outcome(self, peak: PeakMemory | None) -> ExecutionOutcome:
        if self.error is not None:
            return ExecutionOutcome(status=FAILED, error=self.error, peak_memory=peak)
        return ExecutionOutcome(status=CANCELLED if self.cancelled else SUCCEEDED, peak_memory=peak)

    def step(self, index: int) -> None:
        """Run or skip one node; never raises for what the node does."""
        planned = self.plan.nodes[index]
        scope = self.scope
        report = scope.callbacks.node_status
        if scope.stop.is_set():
            self.cancelled = True
        if self.cancelled or scope.halt.is_set() or (self.incomplete and not self._inputs_ready(index)):
            self.incomplete = True
            self._release_inputs(index)
            report(events.node_status(planned.id, events.SKIPPED))
            return
        report(events.node_status(planned.id, events.RUNNING))
        context = RunContext(scope, planned.id)
        started = time.perf_counter()
        try:
            node = planned.create(self._take_inputs(index))
            outputs = outputs_by_port(planned, node.run(context))
            duration = time.perf_counter() - started
        except RunStopped:
            if not scope.halt.is_set():
                self.cancelled = True
            self._stopped(planned, context, started)
        except KeyboardInterrupt:
            scope.stop.set()
            self._stopped(planned, context, started)
            raise
        except BaseException as error:  # a node may raise anything, SystemExit too
            self._failed(planned, context, started, error)
        else:
            context.close()
            types = planned.node_class.spec.outputs
            facts = {port: summarize(value, types[port].type) for port, value in outputs.items()}
            report(events.node_status(planned.id, events.SUCCEEDED, duration_s=duration, outputs=facts))
            if self.readers[index]:
                self.values[index] = outputs
            self.succeeded[index] = True

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
            device=self.scope.device,
            home=_home(planned),
        )
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
        taken: dict[str, Any] = {}
        for port, source, source_port in self.sources[index]:
            values = self.values[source]
            if values is not None:
                taken[port] = values[source_port]
        self._release_inputs(index)
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


def outputs_by_port(planned: PlannedNode, result: Any) -> dict[str, Any]:
    """What ``run`` returned, by output port.

    Raises:
        TypeError: it does not match the declared outputs.
    """
    ports = planned.node_class.spec.outputs
    if not ports:
        return {}
    if isinstance(result, dict) and cast("dict[Any, Any]", result).keys() == ports.keys():
        return cast("dict[str, Any]", result)
    if len(ports) == 1:
        return {next(iter(ports)): result}
    got = (
        "a dict with " + (", ".join(str(key) for key in cast("dict[Any, Any]", result)) or "nothing")
        if isinstance(result, dict)
        else f"a {type(result).__name__}"
    )
    raise TypeError(f"{planned.type} returned {got}; it declares the outputs {', '.join(ports)}")


def _home(planned: PlannedNode) -> str | None:
    try:
        return inspect.getfile(planned.node_class)
    except (OSError, TypeError):
        return None
