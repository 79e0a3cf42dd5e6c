"""Whether a graph can run: every problem at once, each naming its node, its port or parameter, and the reason (G-3)."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from codefy_engine.graph.document import GraphDocument, GraphEdge, GraphNode
from codefy_engine.graph.plan import topological_order
from codefy_engine.graph.problems import GraphProblem
from codefy_engine.nodes.base import NodeSpec
from codefy_engine.nodes.definition import PortDefinition
from codefy_engine.nodes.parameters import BadParam
from codefy_engine.nodes.registry import Registry
from codefy_protocol import reasons
from codefy_protocol.names import BadName, parse_device

MODULE_INPUT = "ModuleInput"
MODULE_OUTPUT = "ModuleOutput"

_VALUE_CHARACTERS = 80


def validate_graph(document: GraphDocument, registry: Registry) -> list[GraphProblem]:
    """All problems of a document, in its order; an empty list when it can run.

    Nodes within a module's subgraph are named by their path, such as ``model/conv1``.
    """
    validation = _Validation(document, registry)
    if not document.nodes:
        validation.add(reasons.GRAPH_EMPTY, None)
    validation.settings()
    validation.scope(document.nodes, document.edges, prefix="", inside=())
    return validation.problems


class _Validation:
    def __init__(self, document: GraphDocument, registry: Registry) -> None:
        self.document = document
        self.registry = registry
        self.problems: list[GraphProblem] = []

    def add(self, code: str, node_id: str | None, /, **params: Any) -> None:
        made = reasons.reason(code, **params)
        self.problems.append(
            GraphProblem(message=made.message, code=code, node_id=node_id, params=made.params)
        )

    def settings(self) -> None:
        device, seed = self.document.settings.device, self.document.settings.seed
        if device is not None:
            try:
                parse_device(device)
            except BadName as error:
                self.add(
                    reasons.SETTING_INVALID, None, setting="device", detail=str(error), value=_shown(device)
                )
        if seed is not None and not 0 <= seed < 2**63:
            self.add(
                reasons.SETTING_INVALID,
                None,
                setting="seed",
                detail="expected a whole number from 0 to 2^63 - 1",
                value=_shown(seed),
            )

    def scope(
        self,
        nodes: Sequence[GraphNode],
        edges: Sequence[GraphEdge],
        *,
        prefix: str,
        inside: tuple[str, ...],
    ) -> None:
        """Check one level: the document itself, or the subgraph of a module. ``inside`` names the subgraphs around."""
        by_id: dict[str, GraphNode] = {}
        for node in nodes:
            if node.id in by_id:
                self.add(reasons.DUPLICATE_NODE_ID, prefix + node.id, node_id=prefix + node.id)
            else:
                by_id[node.id] = node
        # A duplicate's wires cannot be told apart; the first of its name stands for it.
        specs = {node_id: self.spec(node) for node_id, node in by_id.items()}
        for node in nodes:
            self.node(node, self.spec(node), prefix, inside)
        wired = self.edges(edges, by_id, specs, prefix)
        self.missing_inputs(by_id, specs, wired, prefix)
        self.cycles(list(by_id), edges, prefix)

    def spec(self, node: GraphNode) -> NodeSpec | None:
        found = self.registry.find(node.type)
        return None if found is None else found.spec

    # -------------------------------------------------------------- nodes and their parameters

    def node(self, node: GraphNode, spec: NodeSpec | None, prefix: str, inside: tuple[str, ...]) -> None:
        node_id = prefix + node.id
        if spec is None:
            close = self.registry.suggest(node.type)
            self.add(
                reasons.UNKNOWN_NODE_TYPE,
                node_id,
                node_id=node_id,
                type=node.type,
                suggestion=_suggestion(close),
                close=close,
            )
            return
        boundary = node.type in (MODULE_INPUT, MODULE_OUTPUT)
        if boundary and not inside:
            self.add(reasons.ONLY_IN_MODULE, node_id, node_id=node_id, type=node.type)
        elif inside and not (boundary or spec.definition.layer):
            self.add(reasons.NOT_IN_MODULE, node_id, node_id=node_id, type=node.type)
        for name, value in node.data.params.items():
            param = spec.params.get(name)
            if param is None:
                close = _closest(name, spec.params)
                self.add(
                    reasons.PARAM_UNKNOWN,
                    node_id,
                    node_id=node_id,
                    type=node.type,
                    param=name,
                    suggestion=_suggestion(close),
                    close=close,
                )
                continue
            try:
                param.decode(value)
            except BadParam as error:
                definition = param.definition
                self.add(
                    reasons.PARAM_INVALID,
                    node_id,
                    node_id=node_id,
                    param=name,
                    detail=str(error),
                    value=_shown(value),
                    kind=definition.kind,
                    min=definition.min,
                    max=definition.max,
                )
        for name, param in spec.params.items():
            if param.definition.kind == "subgraph":
                value = node.data.params.get(name, spec.defaults[name])
                if isinstance(value, str):
                    self.subgraph(node_id, value, inside)

    def subgraph(self, node_id: str, name: str, inside: tuple[str, ...]) -> None:
        subgraph = self.document.subgraphs.get(name)
        if subgraph is None:
            self.add(reasons.UNKNOWN_SUBGRAPH, node_id, node_id=node_id, subgraph=name)
            return
        if name in inside:
            chain = " → ".join((*inside[inside.index(name) :], name))
            self.add(reasons.MODULE_INVALID, node_id, node_id=node_id, detail=f"it contains itself ({chain})")
            return
        counts = Counter(node.type for node in subgraph.nodes)
        for boundary in (MODULE_INPUT, MODULE_OUTPUT):
            if counts[boundary] != 1:
                detail = f"its subgraph {name!r} needs one {boundary} and has {counts[boundary]}"
                self.add(reasons.MODULE_INVALID, node_id, node_id=node_id, detail=detail)
        self.scope(subgraph.nodes, subgraph.edges, prefix=f"{node_id}/", inside=(*inside, name))

    # -------------------------------------------------------------- wires

    def edges(
        self,
        edges: Sequence[GraphEdge],
        by_id: dict[str, GraphNode],
        specs: dict[str, NodeSpec | None],
        prefix: str,
    ) -> Counter[tuple[str, str]]:
        """Check every wire; returns how many enter each input."""
        wired: Counter[tuple[str, str]] = Counter()
        for edge in edges:
            known = True
            for end, node_id, other in (
                ("leaves", edge.source, edge.target),
                ("enters", edge.target, edge.source),
            ):
                if node_id not in by_id:
                    known = False
                    self.add(
                        reasons.UNKNOWN_NODE,
                        prefix + other if other in by_id else None,
                        end=end,
                        missing=prefix + node_id,
                    )
            wired[edge.target, edge.target_handle] += 1
            if not known:
                continue
            source_spec, target_spec = specs[edge.source], specs[edge.target]
            source = self.port(edge.source, edge.source_handle, "output", source_spec, prefix)
            target = self.port(edge.target, edge.target_handle, "input", target_spec, prefix)
            if source is not None and target is not None and not fits(source.type, target.type):
                self.add(
                    reasons.PORT_TYPE_MISMATCH,
                    prefix + edge.target,
                    source_id=prefix + edge.source,
                    source_port=source.name,
                    source_type=source.type,
                    node_id=prefix + edge.target,
                    port=target.name,
                    target_type=target.type,
                )
        for (node_id, port), count in wired.items():
            if count > 1 and node_id in by_id:
                self.add(
                    reasons.PORT_WIRED_TWICE,
                    prefix + node_id,
                    node_id=prefix + node_id,
                    port=port,
                    count=count,
                )
        return wired

    def port(
        self, node_id: str, name: str, direction: str, spec: NodeSpec | None, prefix: str
    ) -> PortDefinition | None:
        if spec is None:
            return None
        ports = spec.inputs if direction == "input" else spec.outputs
        found = ports.get(name)
        if found is None:
            self.add(
                reasons.UNKNOWN_PORT,
                prefix + node_id,
                node_id=prefix + node_id,
                type=spec.definition.type,
                direction=direction,
                port=name,
                ports=", ".join(ports) or "none",
            )
        return found

    def missing_inputs(
        self,
        by_id: dict[str, GraphNode],
        specs: dict[str, NodeSpec | None],
        wired: Counter[tuple[str, str]],
        prefix: str,
    ) -> None:
        for node_id, node in by_id.items():
            spec = specs[node_id]
            if spec is None:
                continue
            for port in spec.inputs.values():
                if port.required and (node_id, port.name) not in wired:
                    self.add(
                        reasons.INPUT_MISSING,
                        prefix + node_id,
                        node_id=prefix + node_id,
                        title=node.data.label or spec.definition.title,
                        port=port.name,
                        type=port.type,
                    )

    def cycles(self, ids: list[str], edges: Sequence[GraphEdge], prefix: str) -> None:
        for cycle in find_cycles(ids, [(edge.source, edge.target) for edge in edges]):
            nodes = [prefix + node_id for node_id in cycle]
            self.add(reasons.GRAPH_CYCLE, nodes[0], nodes=" → ".join((*nodes, nodes[0])), node_ids=nodes)


def fits(source_type: str, target_type: str) -> bool:
    """Whether an output of one type may be wired to an input of another; ``any`` fits all."""
    return source_type == target_type or "any" in (source_type, target_type)


def find_cycles(ids: Sequence[str], edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    """One cycle for each knot of nodes that reach each other, in wire order from the node that comes first.

    Cycles that share no node are all found; where several share nodes, one of them is.
    """
    position = {node_id: index for index, node_id in enumerate(ids)}
    wires = [(position[a], position[b]) for a, b in edges if a in position and b in position]
    targets: dict[int, list[int]] = {}
    for source, target in wires:
        targets.setdefault(source, []).append(target)
    # What is left when nothing can go first has a cycle in it or behind it; the same from the other side leaves
    # only nodes on a way between cycles.
    left = set(range(len(ids))) - set(topological_order(len(ids), wires))
    left -= set(topological_order(len(ids), [(b, a) for a, b in wires if a in left and b in left]))
    found: list[list[str]] = []
    for start in sorted(left):
        if start not in left:
            continue
        cycle = _cycle_from(start, targets, left)
        if cycle is not None:
            found.append([ids[index] for index in cycle])
            left -= set(cycle)
    return found


def _cycle_from(start: int, targets: dict[int, list[int]], within: set[int]) -> list[int] | None:
    """The shortest cycle through ``start`` (breadth first), or ``None``."""
    before: dict[int, int] = {}
    frontier = [start]
    while frontier:
        following: list[int] = []
        for index in frontier:
            for target in targets.get(index, ()):
                if target == start:
                    cycle = [index]
                    while cycle[-1] != start:
                        cycle.append(before[cycle[-1]])
                    return cycle[::-1]
                if target in within and target not in before:
                    before[target] = index
                    following.append(target)
        frontier = following
    return None


def _closest(name: str, known: Iterable[str]) -> str | None:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return close[0] if close else None


def _suggestion(close: str | None) -> str:
    return "" if close is None else f" Did you mean {close}?"


def _shown(value: Any) -> str:
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, UnicodeEncodeError):
        text = repr(value)
    return text if len(text) <= _VALUE_CHARACTERS else text[: _VALUE_CHARACTERS - 1] + "…"
