"""Nodes that their author passes by: a run leaves them out, and what comes in goes on to what follows.

A node is passed by when its ``data`` says ``"bypassed": true``. Each of its outputs gives what arrives at the input of
the same name and type, else at its first input of that type; an output without such an input gives nothing. A preset or
subgraph cannot be passed by as a whole, its nodes can.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from msgspec import structs

from codefy_engine.graph.document import GraphEdge, GraphNode
from codefy_engine.graph.presets import NAMING_PARAM
from codefy_engine.nodes.registry import Registry

BYPASSED_KEY = "bypassed"
"""In a node's ``data``."""


def is_bypassed(node: GraphNode) -> bool:
    """Whether a run leaves the node out."""
    extra = node.data.extra
    return bool(extra) and extra.get(BYPASSED_KEY) is True and node.type not in NAMING_PARAM


def without_bypassed(
    nodes: Sequence[GraphNode],
    edges: Sequence[GraphEdge],
    registry: Registry,
    keep: Container[str] = (),
) -> tuple[list[GraphNode], list[GraphEdge]]:
    """One level without the nodes that are passed by, its wires led around them; those named in ``keep`` stay."""
    passed = {node.id: node for node in nodes if is_bypassed(node) and node.id not in keep}
    if not passed:
        return list(nodes), list(edges)
    into = {(edge.target, edge.target_handle): edge for edge in edges if edge.target in passed}
    led: list[GraphEdge] = []
    for edge in edges:
        if edge.target in passed:
            continue
        source = _source(edge, passed, into, registry)
        if source is edge:
            led.append(edge)
        elif source is not None:
            led.append(
                structs.replace(edge, source=source.source, source_handle=source.source_handle, id=None)
            )
    return [node for node in nodes if node.id not in passed], led


def _source(
    edge: GraphEdge,
    passed: dict[str, GraphNode],
    into: dict[tuple[str, str], GraphEdge],
    registry: Registry,
) -> GraphEdge | None:
    """The wire whose source the end of ``edge`` really gets; ``None`` when it gets nothing."""
    seen: set[tuple[str, str]] = set()
    at: GraphEdge | None = edge
    while at is not None and at.source in passed:
        place = (at.source, at.source_handle)
        if place in seen:
            # Passed-by nodes in a circle: nothing ever comes out.
            return None
        seen.add(place)
        port = _input_behind(passed[at.source], at.source_handle, registry)
        at = None if port is None else into.get((at.source, port))
    return at


def _input_behind(node: GraphNode, output: str, registry: Registry) -> str | None:
    found = registry.find(node.type)
    if found is None:
        return None
    given = found.spec.output_ports(node.data.params).get(output)
    if given is None:
        return None
    taken = found.spec.input_ports(node.data.params)
    same = taken.get(output)
    if same is not None and same.type == given.type:
        return output
    return next((name for name, port in taken.items() if port.type == given.type), None)
