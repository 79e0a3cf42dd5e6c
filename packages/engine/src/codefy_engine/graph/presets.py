"""Presets: groups of nodes that stand in a graph as one node, and their expansion (G-4).

A document's ``presets`` hold, by name::

    {"nodes": [...], "edges": [...],
     "inputs":  [{"name": "x", "node": "conv", "port": "x"}],
     "outputs": [{"name": "y", "node": "relu", "port": "y"}],
     "params":  [{"name": "width", "node": "conv", "param": "out_channels"}]}

A node of type ``Preset`` names one in its parameter ``preset``; what the preset exposes are its ports and further
parameters. Several entries of one name expose several inner ports or parameters at once. A node of type ``Subgraph``
does the same with one of the document's ``subgraphs``. Presets may hold presets.

Expanded, the node ``block`` becomes the nodes ``block/conv``, ``block/relu``. The ids follow from the document alone,
so seeds, results and events of an inner node stay its own however the rest of the graph changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Struct, structs

from codefy_engine.graph.document import (
    GraphDocument,
    GraphEdge,
    GraphInvalid,
    GraphNode,
    Subgraph,
    not_a_graph,
    subgraph_from_builtins,
)
from codefy_protocol import reasons

PRESET = "Preset"
SUBGRAPH = "Subgraph"
NAMING_PARAM = {PRESET: "preset", SUBGRAPH: "subgraph"}
"""Types that are expanded → the parameter that names what they stand for."""

MAX_NODES = 200_000
MAX_WIRES = 5 * MAX_NODES
MAX_LEVELS = 50
"""How deep presets stand in presets, and modules in modules."""
_MAX_FINDINGS = 10_000
"""Of one graph, expanded: a few presets that hold each other twice would otherwise fill the memory."""


class ExposedPort(Struct, kw_only=True):
    name: str
    node: str
    port: str


class ExposedParam(Struct, kw_only=True):
    name: str
    node: str
    param: str


class _Interface(Struct):
    inputs: list[ExposedPort] = []
    outputs: list[ExposedPort] = []
    params: list[ExposedParam] = []


@dataclass(frozen=True, slots=True)
class Template:
    """A preset as it is written."""

    nodes: Sequence[GraphNode]
    edges: Sequence[GraphEdge]
    inputs: Sequence[ExposedPort]
    outputs: Sequence[ExposedPort]
    params: Sequence[ExposedParam]


Port = tuple[str, str]
"""A node's id and one of its ports, or parameters."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem of the expansion. ``node_id`` is relative to the level that was expanded."""

    code: str
    node_id: str | None
    params: Mapping[str, Any]


@dataclass(slots=True)
class Expanded:
    """One level without presets. Ids are relative to it."""

    nodes: list[GraphNode] = field(default_factory=list[GraphNode])
    edges: list[GraphEdge] = field(default_factory=list[GraphEdge])
    inputs: dict[str, list[Port]] = field(default_factory=dict[str, list[Port]])
    """Of a preset: its exposed inputs."""
    outputs: dict[str, Port] = field(default_factory=dict[str, Port])
    findings: list[Finding] = field(default_factory=list[Finding])
    origins: dict[Port, Port] = field(default_factory=dict[Port, Port])
    """Parameters that were given from outside: inner node and parameter → where their value is written."""
    instances: dict[str, Expanded | None] = field(default_factory=dict[str, Any])
    """What the presets of the level became; ``None`` for one that could not be expanded."""
    unresolved: set[Port] = field(default_factory=set[Port])
    """Inputs whose wire comes from a preset that could not be expanded: that they have none is no news."""


class TooBig(Exception):
    """The expanded graph would have more than ``MAX_NODES`` nodes."""


Chain = tuple[tuple[str, str], ...]
"""Kinds and names of the presets that are being expanded, from the outermost in."""


class Presets:
    """The presets of a document. What was read once is kept."""

    def __init__(self, document: GraphDocument) -> None:
        self._document = document
        self._templates: dict[tuple[str, str], Template] = {}
        self._room = MAX_NODES
        self._wires_room = MAX_WIRES

    def template(self, kind: str, name: str) -> Template:
        """A preset (``kind`` is :data:`PRESET`) or a subgraph.

        Raises:
            KeyError: there is none of this name.
            GraphInvalid: it is no preset; the first problem says where.
        """
        found = self._templates.get((kind, name))
        if found is None:
            found = self._templates[kind, name] = self._read(kind, name)
        return found

    def _read(self, kind: str, name: str) -> Template:
        if kind == PRESET:
            raw = self._document.presets[name]
            subgraph = subgraph_from_builtins(raw, f"$.presets.{name}")
        else:
            subgraph = self._document.subgraphs[name]
        return _template(subgraph, f"$.{NAMING_PARAM[kind]}s.{name}")

    def expand(self, nodes: Sequence[GraphNode], edges: Sequence[GraphEdge], chain: Chain = ()) -> Expanded:
        """Replace the presets of one level by what they stand for; ``chain`` names those around it.

        Raises:
            TooBig: the presets hold too many nodes.
        """
        level = Expanded()
        for node in nodes:
            if node.type not in NAMING_PARAM:
                level.nodes.append(node)
            elif node.id not in level.instances:
                level.instances[node.id] = self._instance(node, level, chain)
        self._room -= len(level.nodes)
        if self._room < 0:
            raise TooBig
        for node_id, inner in level.instances.items():
            if inner is not None:
                _take_in(level, node_id, inner)
        if not level.instances:
            level.edges = list(edges)
            self._count_wires(level)
            return level
        self._count_wires(level)
        for edge in edges:
            wires = _wires(edge, level)
            level.edges += wires
            self._wires_room -= len(wires)
            if self._wires_room < 0:
                raise TooBig
        return level

    def _count_wires(self, level: Expanded) -> None:
        # Wires of inner presets are copied once per level, and count as often.
        self._wires_room -= len(level.edges)
        if self._wires_room < 0:
            raise TooBig

    def count(self, *levels: Sequence[GraphNode]) -> None:
        """Look how many nodes some levels would have, before any is made: each preset is counted once per depth.

        Where presets hold each other, or which one is meant is given from outside, only what is certain counts;
        :meth:`expand` counts the rest.

        Raises:
            TooBig: the presets hold too many nodes.
        """
        known: dict[tuple[tuple[str, str], int], int] = {}
        if sum(self._count(nodes, (), (), known) for nodes in levels) > self._room:
            raise TooBig

    def _count(
        self,
        nodes: Sequence[GraphNode],
        shown: Sequence[ExposedParam],
        chain: Chain,
        known: dict[tuple[tuple[str, str], int], int],
    ) -> int:
        total = 0
        given = {(item.node, item.param) for item in shown}
        seen: set[str] = set()
        for node in nodes:
            naming = NAMING_PARAM.get(node.type)
            if naming is None:
                total += 1
                continue
            if node.id in seen:
                continue
            seen.add(node.id)
            total += 1
            name = node.data.params.get(naming)
            key = (node.type, str(name))
            if not isinstance(name, str) or (node.id, naming) in given or key in chain:
                continue
            if len(chain) >= MAX_LEVELS:
                continue
            place = (key, len(chain))
            if place not in known:
                try:
                    template = self.template(*key)
                except (KeyError, GraphInvalid):
                    known[place] = 0
                else:
                    known[place] = self._count(template.nodes, template.params, (*chain, key), known)
            total += known[place]
        return total

    def expand_template(self, kind: str, name: str, chain: Chain = ()) -> Expanded:
        """A preset on its own, with its interface.

        Raises:
            KeyError: there is none of this name.
            GraphInvalid: it is no preset.
            TooBig: it holds too many nodes.
        """
        template = self.template(kind, name)
        self.count(template.nodes)
        return self._expand_template(template, {}, (*chain, (kind, name)), name)

    def _instance(self, node: GraphNode, level: Expanded, chain: Chain) -> Expanded | None:
        naming = NAMING_PARAM[node.type]
        name = node.data.params.get(naming)
        # Empty presets count too.
        self._room -= 1
        if self._room < 0:
            raise TooBig

        def problem(code: str, **params: Any) -> None:
            level.findings.append(Finding(code, node.id, {"node_id": node.id, **params}))

        missing = reasons.UNKNOWN_PRESET if node.type == PRESET else reasons.UNKNOWN_SUBGRAPH
        if not isinstance(name, str):
            problem(missing, **{naming: "" if name is None else str(name)})
            return None
        if len(chain) >= MAX_LEVELS:
            detail = f"it is nested more than {MAX_LEVELS} levels deep"
            problem(reasons.PRESET_INVALID, preset=name, detail=detail)
            return None
        key = (node.type, name)
        if key in chain:
            names = [part[1] for part in (*chain[chain.index(key) :], key)]
            problem(reasons.PRESET_CYCLE, chain=" → ".join(names))
            return None
        try:
            template = self.template(*key)
        except KeyError:
            problem(missing, **{naming: name})
            return None
        except GraphInvalid as error:
            detail = error.problems[0].message.rstrip(".")
            problem(reasons.PRESET_INVALID, preset=name, detail=detail[:1].lower() + detail[1:])
            return None
        given = {param: value for param, value in node.data.params.items() if param != naming}
        for param in [param for param in given if all(item.name != param for item in template.params)]:
            problem(
                reasons.PARAM_UNKNOWN,
                type=f"{node.type} {name}",
                param=param,
                suggestion="",
                close=None,
            )
            del given[param]
        return self._expand_template(template, given, (*chain, key), name)

    def _expand_template(
        self, template: Template, given: Mapping[str, Any], chain: Chain, name: str
    ) -> Expanded:
        nodes = template.nodes
        by_id = {node.id: index for index, node in enumerate(nodes)}
        origins: dict[Port, Port] = {}
        if given:
            nodes = list(nodes)
            for item in template.params:
                if item.name in given and item.node in by_id:
                    index = by_id[item.node]
                    nodes[index] = with_params(nodes[index], {item.param: given[item.name]})
                    origins[item.node, item.param] = ("", item.name)
        level = self.expand(nodes, template.edges, chain)
        # An inner preset's parameter that was itself given from outside is written out there.
        level.origins = {inner: origins.get(at, at) for inner, at in level.origins.items()} | origins
        for item in (*template.inputs, *template.outputs, *template.params):
            if item.node not in by_id:
                detail = f"it exposes {item.name!r} of {item.node!r}, which is not in it"
                params = {"node_id": "", "preset": name, "detail": detail}
                level.findings.append(Finding(reasons.PRESET_INVALID, "", params))
        for item in template.inputs:
            if item.node in by_id:
                targets = _input_ports(level, item.node, item.port)
                # One that is exposed twice is still one.
                level.inputs[item.name] = list(
                    dict.fromkeys((*level.inputs.get(item.name, ()), *(targets or ())))
                )
        for item in template.outputs:
            source = _output_port(level, item.node, item.port) if item.node in by_id else None
            if source is not None:
                level.outputs[item.name] = source
        return level


def with_params(node: GraphNode, params: Mapping[str, Any]) -> GraphNode:
    """A copy of a node with further parameters."""
    data = structs.replace(node.data, params={**node.data.params, **params})
    return structs.replace(node, data=data)


def _template(subgraph: Subgraph, where: str) -> Template:
    shown = {name: subgraph.extra.get(name, []) for name in ("inputs", "outputs", "params")}
    try:
        interface = msgspec.convert(shown, _Interface)
    except msgspec.ValidationError as error:
        raise not_a_graph(where, str(error)) from None
    return Template(subgraph.nodes, subgraph.edges, interface.inputs, interface.outputs, interface.params)


def _take_in(level: Expanded, node_id: str, inner: Expanded) -> None:
    """Put an expanded preset into the level in which its node stands; ids become relative to that level."""
    prefix = node_id + "/"
    level.nodes += [structs.replace(node, id=prefix + node.id) for node in inner.nodes]
    level.edges += [
        structs.replace(edge, source=prefix + edge.source, target=prefix + edge.target)
        for edge in inner.edges
    ]
    for found in inner.findings[: max(0, _MAX_FINDINGS - len(level.findings))]:
        path = f"{prefix}{found.node_id}".rstrip("/")
        level.findings.append(Finding(found.code, path, {**found.params, "node_id": path}))
    for (inner_id, param), (at, outer) in inner.origins.items():
        level.origins[prefix + inner_id, param] = (f"{prefix}{at}" if at else node_id, outer)
    level.unresolved |= {(prefix + inner_id, port) for inner_id, port in inner.unresolved}


def _output_port(level: Expanded, node_id: str, port: str) -> Port | None:
    """The inner output behind a node's output; ``None`` when a preset has no such."""
    if node_id not in level.instances:
        return node_id, port
    inner = level.instances[node_id]
    source = None if inner is None else inner.outputs.get(port)
    return None if source is None else (f"{node_id}/{source[0]}", source[1])


def _input_ports(level: Expanded, node_id: str, port: str) -> list[Port] | None:
    """The inner inputs behind a node's input; ``None`` when a preset has no such."""
    if node_id not in level.instances:
        return [(node_id, port)]
    inner = level.instances[node_id]
    found = None if inner is None else inner.inputs.get(port)
    return None if found is None else [(f"{node_id}/{inner_id}", name) for inner_id, name in found]


def _wires(edge: GraphEdge, level: Expanded) -> list[GraphEdge]:
    """A wire as it runs between expanded nodes: none, one, or several where a port stands for several."""
    source = _output_port(level, edge.source, edge.source_handle)
    targets = _input_ports(level, edge.target, edge.target_handle)
    for node_id, port, found, direction in (
        (edge.source, edge.source_handle, source, "output"),
        (edge.target, edge.target_handle, targets, "input"),
    ):
        inner = level.instances.get(node_id)
        if found is None and inner is not None:
            ports = inner.outputs if direction == "output" else inner.inputs
            params = {
                "node_id": node_id,
                "type": PRESET,
                "direction": direction,
                "port": port,
                "ports": ", ".join(ports) or "none",
            }
            level.findings.append(Finding(reasons.UNKNOWN_PORT, node_id, params))
    if source is None or targets is None:
        level.unresolved.update(targets or ())
        return []
    return [
        GraphEdge(
            source=source[0],
            source_handle=source[1],
            target=target,
            target_handle=port,
            id=edge.id,
            extra=edge.extra,
        )
        for target, port in targets
    ]
