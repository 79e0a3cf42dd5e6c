"""How large the modules of a document become, found without taking them apart: each subgraph is counted once."""

from __future__ import annotations

from collections.abc import Sequence

from codefy_engine.graph.document import GraphDocument, GraphNode
from codefy_engine.graph.presets import MAX_LEVELS, MAX_NODES
from codefy_engine.nodes.registry import Registry


class TooDeep(Exception):
    """Modules stand inside modules on more than ``MAX_LEVELS`` levels."""


class ModuleSizes:
    """Counts the layers of modules with everything inside them, repeats too; past ``MAX_NODES`` it stops counting."""

    def __init__(self, document: GraphDocument, registry: Registry) -> None:
        self._document = document
        self._registry = registry
        self._known: dict[str, tuple[int, int]] = {}
        self._inside: set[str] = set()

    def measure(self, nodes: Sequence[GraphNode], level: int = 0) -> tuple[int, int]:
        """Nodes of a level with those of its modules, and the levels below it.

        Raises:
            TooDeep: there are too many levels.
        """
        size, height = len(nodes), 0
        for node in nodes:
            found = self._registry.find(node.type)
            if found is None:
                continue
            for param, kind in found.spec.naming:
                name = node.data.params.get(param, found.spec.defaults[param])
                if kind != "subgraph" or not isinstance(name, str):
                    continue
                inner_size, inner_height = self._subgraph(name, level + 1)
                repeat = node.data.params.get("repeat", 1)
                times = repeat if isinstance(repeat, int) and repeat > 1 else 1
                size = min(size + inner_size * times, 2 * MAX_NODES)
                height = max(height, inner_height)
        return size, height

    def _subgraph(self, name: str, level: int) -> tuple[int, int]:
        subgraph = self._document.subgraphs.get(name)
        if subgraph is None or name in self._inside:
            return 0, 0
        found = self._known.get(name)
        if level + (0 if found is None else found[1] - 1) > MAX_LEVELS:
            raise TooDeep
        if found is None:
            self._inside.add(name)
            size, height = self.measure(subgraph.nodes, level)
            self._inside.discard(name)
            found = self._known[name] = size, height + 1
        return found
