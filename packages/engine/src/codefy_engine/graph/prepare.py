"""From a document as it was saved to one that can be planned: old parameters migrated, presets expanded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs

from codefy_engine.graph.bypass import is_bypassed, without_bypassed
from codefy_engine.graph.document import GraphDocument, GraphEdge, GraphNode, Subgraph
from codefy_engine.graph.presets import NAMING_PARAM, PRESET, Expanded, Finding, Port, Presets, TooBig
from codefy_engine.nodes.registry import Registry

VERSION_KEY = "version"
"""In a node's ``data``: the version of its type that wrote the parameters. Without it, they are of version 1."""


@dataclass(frozen=True, slots=True)
class Interface:
    """The ports of a preset's node, and the ports of nodes inside that they stand for."""

    inputs: Mapping[str, Port]
    """Of those that stand for several, the first."""
    outputs: Mapping[str, Port]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document without presets, and what was found on the way."""

    source: GraphDocument
    document: GraphDocument
    """Its nodes inside presets are named by their path, such as ``block/conv``."""
    findings: Sequence[Finding] = ()
    """Of the top level."""
    subgraph_findings: Mapping[str, Sequence[Finding]] = field(default_factory=dict[str, Any])
    """By subgraph."""
    origins: Mapping[Port, Port] = field(default_factory=dict[Port, Port])
    unresolved: frozenset[Port] = frozenset()
    too_big: bool = False
    partial: bool = False
    """Whether it is only a part of its source."""
    presets: Presets | None = None
    registry: Registry | None = None
    interfaces: Mapping[str, Interface] = field(default_factory=dict[str, Interface])
    """By the id of each preset's node: what its ports stand for."""

    def preset(self, name: str) -> Expanded:
        """A preset of the document, expanded, for nodes that execute one by themselves.

        Raises:
            KeyError: there is none of this name.
            GraphInvalid: it is no preset.
            TooBig: it holds too many nodes.
        """
        presets = self.presets or Presets(self.source)
        found = presets.expand_template(PRESET, name)
        if self.registry is not None:
            nodes = migrated(found.nodes, self.registry)
            # What the preset shows outside is where values are put in and taken out.
            ends = {node_id for ports in found.inputs.values() for node_id, _ in ports}
            ends |= {node_id for node_id, _ in found.outputs.values()}
            found.nodes, found.edges = without_bypassed(nodes, found.edges, self.registry, ends)
        return found


def prepare_graph(document: GraphDocument, registry: Registry) -> Prepared:
    """Migrate, expand and leave out what is passed by; a document with nothing of these is taken as it is. Never raises."""
    levels = [document.nodes, *(subgraph.nodes for subgraph in document.subgraphs.values())]
    changes = any(node.type in NAMING_PARAM or is_bypassed(node) for nodes in levels for node in nodes)
    if not changes and not registry.migrates:
        return Prepared(document, document, registry=registry)
    presets = Presets(document)
    try:
        presets.count(*levels)
        top = presets.expand(document.nodes, document.edges)
        inner = {
            name: presets.expand(subgraph.nodes, subgraph.edges)
            for name, subgraph in document.subgraphs.items()
        }
    except TooBig:
        return Prepared(document, document, too_big=True, registry=registry)

    def level_of(expanded: Expanded) -> Subgraph:
        nodes = migrated(expanded.nodes, registry)
        kept, edges = without_bypassed(nodes, expanded.edges, registry)
        return Subgraph(nodes=kept, edges=edges)

    outer = level_of(top)
    return Prepared(
        source=document,
        document=structs.replace(
            document,
            nodes=outer.nodes,
            edges=outer.edges,
            subgraphs={name: level_of(level) for name, level in inner.items()},
        ),
        findings=top.findings,
        subgraph_findings={name: level.findings for name, level in inner.items() if level.findings},
        origins=top.origins,
        unresolved=frozenset(top.unresolved),
        presets=presets,
        registry=registry,
        interfaces=_interfaces(top),
    )


def _interfaces(level: Expanded, prefix: str = "") -> dict[str, Interface]:
    found: dict[str, Interface] = {}
    for node_id, inner in level.instances.items():
        if inner is None:
            continue
        inside = f"{prefix}{node_id}/"
        found[prefix + node_id] = Interface(
            inputs={
                name: (inside + ports[0][0], ports[0][1]) for name, ports in inner.inputs.items() if ports
            },
            outputs={name: (inside + at, port) for name, (at, port) in inner.outputs.items()},
        )
        found |= _interfaces(inner, inside)
    return found


def saved_version(node: GraphNode) -> int:
    """The version of its type that a node was saved with."""
    found = node.data.extra.get(VERSION_KEY)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 1 else 1


def migrated(nodes: Iterable[GraphNode], registry: Registry) -> list[GraphNode]:
    """The nodes with parameters as the installed versions of their types have them."""
    return [_migrated(node, registry) for node in nodes]


def _migrated(node: GraphNode, registry: Registry) -> GraphNode:
    found = registry.find(node.type)
    if found is None or not found.spec.migrations:
        return node
    current = found.spec.definition.version
    version = saved_version(node)
    if version >= current:
        return node
    params = dict(node.data.params)
    for step in range(version, current):
        migration = found.spec.migrations.get(step)
        if migration is None:
            continue
        try:
            params = migration(dict(params))
        except Exception:  # a stranger's migration may raise anything; validation then says what does not fit
            return node
    data = structs.replace(node.data, params=params, extra={**node.data.extra, VERSION_KEY: current})
    return structs.replace(node, data=data)


def migrate_document(document: GraphDocument, registry: Registry) -> GraphDocument:
    """The document with parameters of today, presets kept; the same object when nothing changes."""
    if not registry.migrates:
        return document
    return structs.replace(
        document,
        nodes=migrated(document.nodes, registry),
        subgraphs={
            name: structs.replace(subgraph, nodes=migrated(subgraph.nodes, registry))
            for name, subgraph in document.subgraphs.items()
        },
    )


def needed_for(until: str, nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]) -> set[str]:
    """Ids of a node, or of all nodes of an expanded preset, with everything they depend on; empty when unknown."""
    prefix = until + "/"
    needed = {node.id for node in nodes if node.id == until or node.id.startswith(prefix)}
    sources: dict[str, list[str]] = {}
    for edge in edges:
        sources.setdefault(edge.target, []).append(edge.source)
    waiting = list(needed)
    while waiting:
        for source in sources.get(waiting.pop(), ()):
            if source not in needed:
                needed.add(source)
                waiting.append(source)
    return needed


def run_until(prepared: Prepared, until: str) -> Prepared | None:
    """Only what the node ``until`` needs; ``None`` when there is no such node."""
    document = prepared.document
    needed = needed_for(until, document.nodes, document.edges)
    # A preset that could not be expanded is in the source only; what it was found to lack counts where it is needed.
    source = prepared.source
    outer = needed_for(until.partition("/")[0], source.nodes, source.edges)
    findings = [item for item in prepared.findings if (item.node_id or "").partition("/")[0] in outer]
    if not needed and not findings:
        return None
    return replace(
        prepared,
        document=structs.replace(
            document,
            nodes=[node for node in document.nodes if node.id in needed],
            edges=[edge for edge in document.edges if edge.target in needed],
        ),
        findings=findings,
        partial=True,
    )
