"""Write a graph in Python.

::

    graph = Builder("digits")
    data = graph.add("SklearnDataset", name="digits")
    split = graph.add("TrainTestSplit", dataset=data, test_fraction=0.25)
    graph.add("Print", value=split["train"])
    document = graph.build()

A keyword is a wire when its value is a node (which then has one output) or one of a node's outputs, and a parameter
otherwise. Nothing is checked here beyond names that cannot be told apart: ``validate_graph`` says what is wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from codefy_engine.graph.document import (
    GraphDocument,
    GraphEdge,
    GraphNode,
    GraphSettings,
    NodeData,
    Position,
    Subgraph,
    canonical_bytes,
)
from codefy_engine.nodes.registry import Registry, default_registry

_COLUMN = 280
_ROW = 140
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class OutputRef:
    """One output of a node, to be wired to an input."""

    node_id: str
    port: str


class BuiltNode:
    """A node that was added. ``built["port"]`` is one of its outputs."""

    def __init__(self, node: GraphNode, registry: Registry) -> None:
        self._node = node
        self._registry = registry

    @property
    def id(self) -> str:
        return self._node.id

    def __getitem__(self, port: str) -> OutputRef:
        return OutputRef(self._node.id, port)

    def labelled(self, label: str) -> BuiltNode:
        """Give the node a name for people; returns the node."""
        self._node.data.label = label
        return self

    def only_output(self) -> OutputRef:
        """The node's output when it has exactly one.

        Raises:
            ValueError: it has none or several: name one with ``node["port"]``.
        """
        node_class = self._registry.find(self._node.type)
        ports = [] if node_class is None else list(node_class.spec.outputs)
        if len(ports) != 1:
            raise ValueError(
                f"{self._node.id} ({self._node.type}) has the outputs {', '.join(ports) or 'none'}: "
                f'name one as node["port"]'
            )
        return OutputRef(self._node.id, ports[0])


class _Scope:
    """Nodes and wires of one level, laid out in columns by their distance from a node without inputs."""

    def __init__(self, registry: Registry | None) -> None:
        self._given_registry = registry
        self._nodes: dict[str, GraphNode] = {}
        self._edges: list[GraphEdge] = []
        self._columns: dict[str, int] = {}

    @property
    def _registry(self) -> Registry:
        return self._given_registry if self._given_registry is not None else default_registry()

    def add(self, type: str, id: str | None = None, /, **fields: Any) -> BuiltNode:
        """Add a node; wires and parameters by name. Without an id it is called after its type.

        Raises:
            ValueError: the id is taken, or a wired node has several outputs.
        """
        node_id = id if id is not None else self._free_id(type)
        if node_id in self._nodes:
            raise ValueError(f"there is a node {node_id!r} already")
        params: dict[str, Any] = {}
        wires: list[GraphEdge] = []
        for name, value in fields.items():
            source = value.only_output() if isinstance(value, BuiltNode) else value
            if isinstance(source, OutputRef):
                wires.append(_edge(source, node_id, name))
            else:
                params[name] = value
        column = 1 + max((self._columns.get(edge.source, 0) for edge in wires), default=-1)
        row = sum(1 for other in self._columns.values() if other == column)
        self._columns[node_id] = column
        node = GraphNode(
            id=node_id,
            type=type,
            position=Position(x=column * _COLUMN, y=row * _ROW),
            data=NodeData(params=params),
        )
        self._nodes[node_id] = node
        self._edges += wires
        return BuiltNode(node, self._registry)

    def wire(self, source: OutputRef | BuiltNode, target: BuiltNode, port: str) -> None:
        """Add a wire to a node that was added before."""
        ref = source.only_output() if isinstance(source, BuiltNode) else source
        self._edges.append(_edge(ref, target.id, port))

    def _free_id(self, type: str) -> str:
        base = _HUMP.sub("_", type).lower()
        if base not in self._nodes:
            return base
        number = 2
        while f"{base}_{number}" in self._nodes:
            number += 1
        return f"{base}_{number}"


class SubgraphBuilder(_Scope):
    """Builds one subgraph; see :meth:`Builder.subgraph`."""

    def build_subgraph(self) -> Subgraph:
        return Subgraph(nodes=list(self._nodes.values()), edges=list(self._edges))


class Builder(_Scope):
    """Builds a graph document."""

    def __init__(
        self,
        name: str = "",
        *,
        description: str = "",
        device: str | None = None,
        seed: int | None = None,
        registry: Registry | None = None,
    ) -> None:
        super().__init__(registry)
        self._name = name
        self._description = description
        self._settings = GraphSettings(device=device, seed=seed)
        self._subgraphs: dict[str, SubgraphBuilder] = {}

    def subgraph(self, name: str) -> SubgraphBuilder:
        """A builder for the subgraph ``name``, which a Module names in its parameter ``subgraph``."""
        if name not in self._subgraphs:
            self._subgraphs[name] = SubgraphBuilder(self._given_registry)
        return self._subgraphs[name]

    def build(self) -> GraphDocument:
        """The document as it is now."""
        return GraphDocument(
            name=self._name,
            description=self._description,
            nodes=list(self._nodes.values()),
            edges=list(self._edges),
            subgraphs={name: builder.build_subgraph() for name, builder in self._subgraphs.items()},
            settings=self._settings,
        )

    def to_bytes(self) -> bytes:
        """The document in canonical bytes."""
        return canonical_bytes(self.build())


def _edge(source: OutputRef, target: str, port: str) -> GraphEdge:
    return GraphEdge(
        source=source.node_id,
        source_handle=source.port,
        target=target,
        target_handle=port,
        id=f"{source.node_id}.{source.port}-{target}.{port}",
    )
