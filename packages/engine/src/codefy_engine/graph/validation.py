"""Whether a graph can run: every problem at once, each naming its node, its port or parameter, and the reason (G-3)."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from typing import Any

import msgspec

from codefy_engine.graph.bounds import ModuleSizes, TooDeep
from codefy_engine.graph.cycles import find_cycles
from codefy_engine.graph.document import GraphDocument, GraphEdge, GraphInvalid, GraphNode
from codefy_engine.graph.plan import NODE_DEVICE
from codefy_engine.graph.prepare import Prepared, prepare_graph, run_until, saved_version
from codefy_engine.graph.presets import MAX_LEVELS, MAX_NODES, PRESET, Finding, TooBig
from codefy_engine.graph.problems import GraphProblem
from codefy_engine.nodes.base import NodeSpec
from codefy_engine.nodes.definition import PortDefinition
from codefy_engine.nodes.parameters import BadParam
from codefy_engine.nodes.registry import Registry
from codefy_protocol import reasons
from codefy_protocol.names import BadName, parse_device

MODULE_INPUT = "ModuleInput"
MODULE_OUTPUT = "ModuleOutput"
MODULE = "Module"

_VALUE_CHARACTERS = 80
MAX_PROBLEMS = 500


def validate_graph(
    document: GraphDocument, registry: Registry, *, until_node: str | None = None
) -> list[GraphProblem]:
    """All problems of a document, in its order; an empty list when it can run.

    Past ``MAX_PROBLEMS`` they are only counted, in a last one. What is used several times is looked at once. Nodes within a preset or a module's subgraph are named by their path, such as ``model/conv1``. With ``until_node``
    only what that node needs is looked at.
    """
    prepared = prepare_graph(document, registry)
    if until_node is not None:
        part = run_until(prepared, until_node)
        if part is None:
            return [_problem(reasons.UNKNOWN_UNTIL_NODE, None, until_node=until_node)]
        prepared = part
    return validate_prepared(prepared, registry)


def validate_prepared(prepared: Prepared, registry: Registry) -> list[GraphProblem]:
    """All problems of a document whose presets are expanded."""
    validation = _Validation(prepared, registry)
    document = prepared.document
    if not prepared.source.nodes:
        validation.add(reasons.GRAPH_EMPTY, None)
    validation.settings()
    if prepared.too_big:
        validation.add(reasons.GRAPH_TOO_BIG, None, limit=MAX_NODES)
        return validation.problems
    if not validation.sizes():
        return validation.problems
    validation.findings(prepared.findings, "")
    validation.scope(document.nodes, document.edges, prefix="", inside=(), unwired=prepared.unresolved)
    if validation.more:
        validation.problems.append(_problem(reasons.MORE_PROBLEMS, None, count=validation.more))
    return validation.problems


def _problem(code: str, node_id: str | None, /, **params: Any) -> GraphProblem:
    made = reasons.reason(code, **params)
    return GraphProblem(message=made.message, code=code, node_id=node_id, params=made.params)


class _Validation:
    def __init__(self, prepared: Prepared, registry: Registry) -> None:
        self.prepared = prepared
        self.document = prepared.document
        self.registry = registry
        self.problems: list[GraphProblem] = []
        self.more = 0
        self.seen: set[tuple[str, str]] = set()
        """Kinds and names of the subgraphs and presets whose inside was looked at: what stands in it is told once."""

    def add(self, code: str, node_id: str | None, /, **params: Any) -> None:
        if self.full:
            self.more += 1
            return
        self.problems.append(_problem(code, node_id, **params))

    @property
    def full(self) -> bool:
        """Whether further problems are only counted."""
        return len(self.problems) >= MAX_PROBLEMS

    def sizes(self) -> bool:
        """Whether the modules are small enough to look into."""
        if not self.document.subgraphs:
            return True
        sizes, total = ModuleSizes(self.document, self.registry), 0
        for node in self.document.nodes:
            try:
                total += sizes.measure([node])[0] - 1
            except TooDeep:
                detail = f"modules stand inside modules on more than {MAX_LEVELS} levels"
                self.add(reasons.MODULE_INVALID, node.id, node_id=node.id, detail=detail)
                return False
            if total > MAX_NODES:
                self.add(reasons.GRAPH_TOO_BIG, node.id, limit=MAX_NODES)
                return False
        return True

    def first_look(self, kind: str, name: str) -> bool:
        if (kind, name) in self.seen:
            return False
        self.seen.add((kind, name))
        return True

    def findings(self, found: Iterable[Finding], prefix: str) -> None:
        """Report what the expansion of a level found."""
        for item in found:
            node_id = None if item.node_id is None else (prefix + item.node_id).rstrip("/")
            params = dict(item.params)
            if node_id is not None and "node_id" in params:
                params["node_id"] = node_id
            self.add(item.code, node_id, **params)

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
        module: bool = False,
        unwired: Container[tuple[str, str]] = (),
    ) -> None:
        """Check one level: the document itself, a preset, or the subgraph of a ``module``.

        ``inside`` names the subgraphs and presets around, ``unwired`` the inputs that need no wire here.
        """
        by_id: dict[str, GraphNode] = {}
        for node in nodes:
            if node.id in by_id:
                self.add(reasons.DUPLICATE_NODE_ID, prefix + node.id, node_id=prefix + node.id)
            else:
                by_id[node.id] = node
        # A duplicate's wires cannot be told apart; the first of its name stands for it.
        specs = {node_id: self.spec(node) for node_id, node in by_id.items()}
        for node in nodes:
            spec = specs[node.id] if by_id[node.id] is node else self.spec(node)
            self.node(node, spec, prefix, inside, module)
        wired = self.edges(edges, by_id, specs, prefix)
        self.missing_inputs(by_id, specs, wired, prefix, unwired)
        self.cycles(list(by_id), edges, prefix)

    def spec(self, node: GraphNode) -> NodeSpec | None:
        found = self.registry.find(node.type)
        return None if found is None else found.spec

    # -------------------------------------------------------------- nodes and their parameters

    def node(
        self,
        node: GraphNode,
        spec: NodeSpec | None,
        prefix: str,
        inside: tuple[str, ...],
        module: bool,
    ) -> None:
        node_id = prefix + node.id
        if spec is None:
            close = None if self.full else self.registry.suggest(node.type)
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
        if boundary and not module:
            self.add(reasons.ONLY_IN_MODULE, node_id, node_id=node_id, type=node.type)
        elif module and not (boundary or spec.definition.layer):
            self.add(reasons.NOT_IN_MODULE, node_id, node_id=node_id, type=node.type)
        for name, value in node.data.params.items():
            param = spec.params.get(name)
            if param is None:
                close = None if self.full else _closest(name, spec.params)
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
                # A preset's parameter is put right where it is given.
                at, shown_name = self.prepared.origins.get((node_id, name), (node_id, name))
                self.add(
                    reasons.PARAM_INVALID,
                    at,
                    node_id=at,
                    param=shown_name,
                    detail=str(error),
                    # Whatever stands where a reference should may be the secret itself.
                    value="…" if definition.kind == "secret" else _shown(value),
                    kind=definition.kind,
                    min=definition.min,
                    max=definition.max,
                )
        extra = node.data.extra
        version = saved_version(node) if extra else 1
        if version > spec.definition.version:
            self.add(
                reasons.NODE_TOO_NEW,
                node_id,
                node_id=node_id,
                type=node.type,
                found=version,
                supported=spec.definition.version,
            )
        device = extra.get(NODE_DEVICE)
        if device is not None:
            try:
                parse_device(device if isinstance(device, str) else _shown(device))
            except BadName as error:
                self.add(
                    reasons.PARAM_INVALID,
                    node_id,
                    node_id=node_id,
                    param=NODE_DEVICE,
                    detail=str(error),
                    value=_shown(device),
                    kind="text",
                    min=None,
                    max=None,
                )
        for name, kind in spec.naming:
            value = node.data.params.get(name, spec.defaults[name])
            if not isinstance(value, str):
                continue
            if kind == "subgraph":
                self.subgraph(node_id, value, inside)
            elif value:
                self.preset(node_id, value, inside)

    def preset(self, node_id: str, name: str, inside: tuple[str, ...]) -> None:
        """A preset that the node executes by itself, such as once for each item."""
        if f"{PRESET} {name}" in inside:
            self.add(reasons.PRESET_CYCLE, node_id, node_id=node_id, chain=f"{name} → {name}")
            return
        if len(inside) >= MAX_LEVELS:
            detail = f"it is nested more than {MAX_LEVELS} levels deep"
            self.add(reasons.PRESET_INVALID, node_id, node_id=node_id, preset=name, detail=detail)
            return
        if name in self.document.presets and not self.first_look(PRESET, name):
            return
        try:
            level = self.prepared.preset(name)
        except KeyError:
            self.add(reasons.UNKNOWN_PRESET, node_id, node_id=node_id, preset=name)
            return
        except TooBig:
            self.add(reasons.GRAPH_TOO_BIG, node_id, limit=MAX_NODES)
            return
        except GraphInvalid as error:
            detail = error.problems[0].message.rstrip(".")
            self.add(reasons.PRESET_INVALID, node_id, node_id=node_id, preset=name, detail=detail)
            return
        self.findings(level.findings, f"{node_id}/")
        given = {port for ports in level.inputs.values() for port in ports} | level.unresolved
        self.scope(
            level.nodes,
            level.edges,
            prefix=f"{node_id}/",
            inside=(*inside, f"{PRESET} {name}"),
            unwired=given,
        )

    def subgraph(self, node_id: str, name: str, inside: tuple[str, ...]) -> None:
        subgraph = self.document.subgraphs.get(name)
        if subgraph is None:
            self.add(reasons.UNKNOWN_SUBGRAPH, node_id, node_id=node_id, subgraph=name)
            return
        if name in inside:
            chain = " → ".join((*inside[inside.index(name) :], name))
            self.add(reasons.MODULE_INVALID, node_id, node_id=node_id, detail=f"it contains itself ({chain})")
            return
        if len(inside) >= 2 * MAX_LEVELS:
            detail = f"it is nested more than {MAX_LEVELS} levels deep"
            self.add(reasons.MODULE_INVALID, node_id, node_id=node_id, detail=detail)
            return
        if not self.first_look(MODULE, name):
            return
        self.findings(self.prepared.subgraph_findings.get(name, ()), f"{node_id}/")
        for boundary in (MODULE_INPUT, MODULE_OUTPUT):
            numbers = Counter(
                _shown(node.data.params.get("number", 1)) for node in subgraph.nodes if node.type == boundary
            )
            if not numbers:
                detail = f"its subgraph {name!r} needs a {boundary} and has none"
                self.add(reasons.MODULE_INVALID, node_id, node_id=node_id, detail=detail)
            for number, count in numbers.items():
                if count > 1:
                    detail = f"its subgraph {name!r} has {count} {boundary} with the number {number}"
                    self.add(reasons.MODULE_INVALID, node_id, node_id=node_id, detail=detail)
        self.scope(subgraph.nodes, subgraph.edges, prefix=f"{node_id}/", inside=(*inside, name), module=True)

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
            wired[edge.target, edge.target_handle] += 1
            if edge.source not in by_id or edge.target not in by_id:
                self.loose_wire(edge, by_id, prefix)
                continue
            source_spec, target_spec = specs[edge.source], specs[edge.target]
            source = self.port(by_id[edge.source], edge.source_handle, "output", source_spec, prefix)
            target = self.port(by_id[edge.target], edge.target_handle, "input", target_spec, prefix)
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
        if len(wired) == len(edges):
            return wired
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

    def loose_wire(self, edge: GraphEdge, by_id: dict[str, GraphNode], prefix: str) -> None:
        for end, node_id, other in (
            ("leaves", edge.source, edge.target),
            ("enters", edge.target, edge.source),
        ):
            if node_id not in by_id:
                self.add(
                    reasons.UNKNOWN_NODE,
                    prefix + other if other in by_id else None,
                    end=end,
                    missing=prefix + node_id,
                )

    def port(
        self, node: GraphNode, name: str, direction: str, spec: NodeSpec | None, prefix: str
    ) -> PortDefinition | None:
        if spec is None:
            return None
        params, node_id = node.data.params, node.id
        ports = spec.input_ports(params) if direction == "input" else spec.output_ports(params)
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
        unwired: Container[tuple[str, str]],
    ) -> None:
        for node_id, node in by_id.items():
            spec = specs[node_id]
            if spec is None:
                continue
            for port in spec.input_ports(node.data.params).values():
                at = (node_id, port.name)
                if port.required and at not in wired and at not in unwired:
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


def _closest(name: str, known: Iterable[str]) -> str | None:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return close[0] if close else None


def _suggestion(close: str | None) -> str:
    return "" if close is None else f" Did you mean {close}?"


def _repr(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:  # an int with more digits than Python writes
        return "a huge number"


def _shown(value: Any) -> str:
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        text = _repr(value)
    return text if len(text) <= _VALUE_CHARACTERS else text[: _VALUE_CHARACTERS - 1] + "…"
