"""What is executed: the nodes of a validated document in topological order, their parameters decoded (G-4)."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from codefy_engine.graph.document import GraphDocument, GraphEdge, GraphNode
from codefy_engine.nodes.base import Node, spec_defaults
from codefy_engine.nodes.definition import PortDefinition
from codefy_engine.nodes.registry import Registry


class Source(Struct, frozen=True):
    """Where an input's value comes from."""

    node_id: str
    port: str


class PlannedNode(Struct, frozen=True, kw_only=True):
    """One node, ready to be made. ``index`` is its place in the plan's order."""

    index: int
    id: str
    type: str
    title: str
    """What the author called it, else the type's title."""
    node_class: type[Node]
    params: Mapping[str, Any]
    """Decoded, defaults filled in."""
    inputs: Mapping[str, Source]
    """By port; a port without a wire is absent."""
    outputs: Mapping[str, PortDefinition]
    """Its output ports, those that parameters decide included."""
    device: str | None = None
    """The device the author chose for this node alone."""

    def create(self, inputs: Mapping[str, Any] | None = None) -> Node:
        """A new instance, with input values by port."""
        return self.node_class.assemble(self.params, inputs or {})


class Plan(Struct, frozen=True):
    """Nodes in an order in which each comes after what it needs; the document's order breaks ties."""

    nodes: tuple[PlannedNode, ...]

    def by_id(self) -> dict[str, PlannedNode]:
        return {planned.id: planned for planned in self.nodes}


NODE_DEVICE = "device"
"""In a node's ``data``: the device it is to use, other than the run's."""


def plan_graph(document: GraphDocument, registry: Registry) -> Plan:
    """Plan the top level of a document that :func:`~codefy_engine.graph.validation.validate_graph` found valid.

    Presets are expanded before, by :func:`~codefy_engine.graph.prepare.prepare_graph`.
    """
    return plan_level(document.nodes, document.edges, registry)


def plan_subgraph(document: GraphDocument, name: str, registry: Registry) -> Plan:
    """Plan one subgraph of a valid document.

    Raises:
        KeyError: the document has no such subgraph.
    """
    subgraph = document.subgraphs[name]
    return plan_level(subgraph.nodes, subgraph.edges, registry)


def topological_order(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Indices ``0..count-1`` with every source before its targets; lower indices first where there is a choice.

    Nodes in a cycle, or behind one, are left out.
    """
    waiting = [0] * count
    targets: dict[int, list[int]] = {}
    for source, target in edges:
        waiting[target] += 1
        behind = targets.get(source)
        if behind is None:
            targets[source] = [target]
        else:
            behind.append(target)
    ready = [index for index, wires in enumerate(waiting) if wires == 0]
    order: list[int] = []
    pop, push = heapq.heappop, heapq.heappush
    while ready:
        index = pop(ready)
        order.append(index)
        for target in targets.get(index, ()):
            waiting[target] -= 1
            if waiting[target] == 0:
                push(ready, target)
    return order


def plan_level(nodes: Sequence[GraphNode], edges: Sequence[GraphEdge], registry: Registry) -> Plan:
    """Plan one level: nodes without presets, and their wires."""
    position = {node.id: index for index, node in enumerate(nodes)}
    wires = [(position[edge.source], position[edge.target]) for edge in edges]
    inputs: dict[str, dict[str, Source]] = {node.id: {} for node in nodes}
    for edge in edges:
        inputs[edge.target][edge.target_handle] = Source(edge.source, edge.source_handle)
    planned: list[PlannedNode] = []
    for index in topological_order(len(nodes), wires):
        node = nodes[index]
        node_class = registry.get(node.type)
        spec = node_class.spec
        params = spec_defaults(spec)
        for name, value in node.data.params.items():
            params[name] = spec.params[name].decode(value)
        planned.append(
            PlannedNode(
                index=len(planned),
                id=node.id,
                type=node.type,
                title=node.data.label or spec.definition.title,
                node_class=node_class,
                params=params,
                inputs=inputs[node.id],
                outputs=spec.output_ports(params),
                device=node.data.extra.get(NODE_DEVICE),
            )
        )
    return Plan(tuple(planned))
