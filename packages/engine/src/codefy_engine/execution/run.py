"""Execute one graph, from its document to its outcome (G-4)."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping

import msgspec

from codefy_engine.execution import events
from codefy_engine.execution.cache import Keys
from codefy_engine.execution.callbacks import RunCallbacks
from codefy_engine.execution.context import RunScope, current_run_id
from codefy_engine.execution.devices import peak_memory, reset_peak_memory, resolve_device
from codefy_engine.execution.errors import engine_error, invalid_graph_error
from codefy_engine.execution.provenance import fingerprint_facts
from codefy_engine.execution.request import CANCELLED, FAILED, SUCCEEDED, ExecutionOutcome, ExecutionRequest
from codefy_engine.execution.secrets import Redactor
from codefy_engine.execution.seeding import numerics, seed_everything
from codefy_engine.execution.steps import GraphRun
from codefy_engine.execution.wiring import wiring_of
from codefy_engine.graph.plan import plan_graph
from codefy_engine.graph.prepare import Prepared, prepare_graph, run_until
from codefy_engine.graph.problems import GraphProblem
from codefy_engine.graph.validation import validate_prepared
from codefy_engine.nodes.registry import default_registry
from codefy_protocol import reasons

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
    redactor = Redactor(request.secrets)
    try:
        return _execute(request, redactor)
    except KeyboardInterrupt:
        # Ctrl-C where the run has the main thread: the same as a stop.
        request.stop.set()
        return ExecutionOutcome(status=CANCELLED)
    except BaseException as error:  # the caller gets an outcome, whatever happened
        return ExecutionOutcome(status=FAILED, error=redactor.error(engine_error(error, redactor.text)))
    finally:
        current_run_id.reset(token)


def _execute(request: ExecutionRequest, redactor: Redactor) -> ExecutionOutcome:
    registry = (request.registry if request.registry is not None else default_registry()).snapshot()
    options = request.options
    prepared = prepare_graph(request.graph, registry)
    problems: list[GraphProblem] | None = None
    if options.until_node is not None:
        part = run_until(prepared, options.until_node)
        if part is None:
            problems = [_unknown_until(options.until_node)]
        else:
            prepared = part
    if problems is None:
        problems = validate_prepared(prepared, registry)
    if problems:
        return ExecutionOutcome(status=FAILED, error=redactor.error(invalid_graph_error(problems)))
    callbacks = RunCallbacks(request.sinks, request.payload_cap, redactor)
    device, fallback = resolve_device(request.device)
    if fallback is not None:
        callbacks.warning(events.warning(fallback, None))
    seed = options.seed if options.seed is not None else request.graph.settings.seed
    if seed is not None:
        seed_everything(seed)
    reset_peak_memory(device)
    scope = RunScope(
        run_id=request.run_id,
        prepared=prepared,
        registry=registry,
        device=device,
        seed=seed,
        deterministic=options.deterministic,
        run_dir=request.run_dir,
        files_dir=request.files_dir,
        callbacks=callbacks,
        stop=request.stop,
        halt=threading.Event(),
        secrets=request.secrets,
        state=request.state,
        provenance=options.provenance and request.sinks.facts is not None,
        outputs=request.outputs if options.record_outputs else None,
    )
    request.run_dir.mkdir(parents=True, exist_ok=True)
    plan = plan_graph(prepared.document, registry)
    outputs = scope.outputs
    if outputs is not None:
        outputs.begin(request.run_id, redactor.text if redactor else None, wiring_of(plan, prepared))
    with numerics(deterministic=options.deterministic):
        run = GraphRun(
            plan,
            scope,
            redactor=redactor,
            halt_on_error=options.error_mode == "stop",
            keys=_keys(request, prepared, device, seed),
            outputs=outputs,
            provenance=scope.provenance,
        )
        run.go(parallel_nodes())
        if request.sinks.facts is not None:
            # At the end, and under the run's own settings: by now it has loaded what it computes with.
            callbacks.facts(fingerprint_facts(load_torch=options.provenance))
    status = FAILED if run.error is not None else CANCELLED if run.cancelled else SUCCEEDED
    return ExecutionOutcome(status=status, error=run.error, peak_memory=peak_memory(device))


def _unknown_until(until_node: str) -> GraphProblem:
    made = reasons.reason(reasons.UNKNOWN_UNTIL_NODE, until_node=until_node)
    return GraphProblem(message=made.message, code=made.code, node_id=None, params=made.params)


def _keys(request: ExecutionRequest, prepared: Prepared, device: str, seed: int | None) -> Keys | None:
    """What makes the nodes' keys, when there is something to reuse or to prove."""
    if request.state is None and not request.options.provenance:
        return None
    settings = msgspec.json.encode([seed, device, request.options.deterministic])
    return Keys(prepared, request.files_dir, settings)
