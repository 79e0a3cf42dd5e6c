"""Executing a preset within a node, such as once for each item of a list."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from codefy_engine.execution import events
from codefy_engine.execution.cache import always_runs
from codefy_engine.execution.values import outputs_by_port
from codefy_engine.graph.document import GraphInvalid, GraphNode
from codefy_engine.graph.plan import Plan, PlannedNode, plan_level
from codefy_engine.graph.presets import PRESET, Expanded, Presets, with_params
from codefy_engine.nodes.base import NodeError, RunStopped

if TYPE_CHECKING:
    from codefy_engine.execution.context import RunContext, RunScope


def call_preset(
    scope: RunScope,
    caller: RunContext,
    preset: str,
    inputs: Mapping[str, Any],
    params: Mapping[str, Any],
    label: str,
) -> dict[str, Any]:
    """See :meth:`codefy_engine.nodes.base.NodeContext.call`."""
    from codefy_engine.execution.context import RunContext

    level, plan = _planned(scope, preset, params)
    given: dict[tuple[str, str], Any] = {}
    for name, value in inputs.items():
        if name not in level.inputs:
            shown = ", ".join(level.inputs) or "none"
            raise NodeError(f"the preset {preset!r} has no input {name!r}; it has: {shown}")
        for at in level.inputs[name]:
            given[at] = value
    values: dict[str, dict[str, Any]] = {}
    readers = {planned.id: 0 for planned in plan.nodes}
    for planned in plan.nodes:
        for source in planned.inputs.values():
            readers[source.node_id] += 1
    for node_id, _ in level.outputs.values():
        readers[node_id] += 1
    above = [label] if label else []
    for planned in plan.nodes:
        caller.check_stop()
        taken = {port: values[source.node_id][source.port] for port, source in planned.inputs.items()}
        taken |= {port: value for (node_id, port), value in given.items() if node_id == planned.id}
        for port, declared in planned.node_class.spec.input_ports(planned.params).items():
            if declared.required and port not in taken:
                raise NodeError(f"the preset {preset!r} needs {planned.id}.{port}, which is not given")
        for source in planned.inputs.values():
            readers[source.node_id] -= 1
            if readers[source.node_id] == 0:
                del values[source.node_id]
        owner, around = caller.inside
        path = (*around, *above, planned.id)
        context = RunContext(
            scope,
            "/".join((caller.node_id, *above, planned.id)),
            planned,
            _device(scope, caller, planned),
            inside=(owner, path),
        )
        # What always does something when it runs must not be left out with the node that executes it.
        caller.volatile |= always_runs(planned.node_class)
        caller.inner([*above, planned.id], events.RUNNING)
        started = time.perf_counter()
        try:
            outputs = outputs_by_port(planned, planned.create(taken).run(context))
        except RunStopped:
            caller.inner([*above, planned.id], events.CANCELLED)
            raise
        except BaseException as error:
            caller.inner([*above, planned.id], events.FAILED)
            error.add_note(f"in {context.node_id} ({planned.title})")
            raise
        finally:
            context.close()
            caller.volatile |= context.volatile
            caller.artifacts += context.artifacts
            if caller.records is not None and context.records:
                caller.records += context.records
            if context.reads:
                caller.reads = context.reads | (caller.reads or {})
        duration = round(time.perf_counter() - started, 6)
        caller.inner([*above, planned.id], events.SUCCEEDED, duration_s=duration)
        if readers[planned.id]:
            values[planned.id] = outputs
    return {name: values[node_id][port] for name, (node_id, port) in level.outputs.items()}


def _device(scope: RunScope, caller: RunContext, planned: PlannedNode) -> str:
    """The device that the node asks for, else its caller's; a fallback is told once, not for every item."""
    if planned.device is None:
        return caller.device
    device, fallback = scope.device_of(planned.device)
    if fallback is not None and (caller.node_id, planned.id) not in scope.fallen_back:
        scope.fallen_back.add((caller.node_id, planned.id))
        caller.warn(fallback)
    return device


def _planned(scope: RunScope, preset: str, params: Mapping[str, Any]) -> tuple[Expanded, Plan]:
    """The preset, ready to run. Made once for each set of parameters."""
    key = (preset, repr(sorted(params.items())))
    found: tuple[Expanded, Plan] | None = scope.presets.get(key)
    if found is None:
        level = _expanded(scope, preset, params)
        found = scope.presets[key] = (level, plan_level(level.nodes, level.edges, scope.registry))
    return found


def _expanded(scope: RunScope, preset: str, params: Mapping[str, Any]) -> Expanded:
    prepared = scope.prepared
    try:
        if not params:
            return prepared.preset(preset)
        document = prepared.source
        template = Presets(document).template(PRESET, preset)
    except GraphInvalid as error:
        raise NodeError(str(error)) from None
    shown = {item.name for item in template.params}
    for name in params:
        if name not in shown:
            raise NodeError(
                f"the preset {preset!r} has no parameter {name!r}; it has: {', '.join(sorted(shown))}"
            )
    # A node that stands for the preset takes the parameters; its interface is read from the preset itself.
    wrapper = GraphNode(id="_", type=PRESET)
    level = Presets(document).expand([with_params(wrapper, {"preset": preset, **params})], []).instances["_"]
    if level is None:
        raise NodeError(f"the preset {preset!r} cannot be used")
    if prepared.registry is not None:
        from codefy_engine.graph.prepare import migrated

        level.nodes = migrated(level.nodes, prepared.registry)
    return level
