"""What fed what in a run, so that a node's inputs can be shown: they are what the sources of its wires gave."""

from __future__ import annotations

from msgspec import Struct, field

from codefy_engine.graph.plan import Plan, Source
from codefy_engine.graph.prepare import Prepared

Ports = dict[str, dict[str, Source]]
"""By node, by port."""


class Wiring(Struct, frozen=True, kw_only=True):
    """The wires of a run as they ran, between nodes that executed."""

    inputs: Ports = field(default_factory=dict[str, dict[str, Source]])
    """Where each input came from; of a preset's node too."""
    outputs: Ports = field(default_factory=dict[str, dict[str, Source]])
    """Of presets' nodes only: the output inside that each port stands for."""


def wiring_of(plan: Plan, prepared: Prepared) -> Wiring:
    """The wiring of a planned document."""
    inputs: Ports = {planned.id: dict(planned.inputs) for planned in plan.nodes if planned.inputs}
    ids = {planned.id for planned in plan.nodes}
    outputs: Ports = {}
    for node_id, interface in prepared.interfaces.items():
        fed = {
            name: inputs[inner][port]
            for name, (inner, port) in interface.inputs.items()
            if inner in inputs and port in inputs[inner]
        }
        if fed:
            inputs[node_id] = fed
        given = {
            name: Source(inner, port) for name, (inner, port) in interface.outputs.items() if inner in ids
        }
        if given:
            outputs[node_id] = given
    return Wiring(inputs=inputs, outputs=outputs)
