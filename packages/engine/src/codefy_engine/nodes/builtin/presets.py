"""Nodes that stand for a group of nodes of the graph. They are replaced by the group before anything runs."""

from __future__ import annotations

from typing import NoReturn

from codefy_engine.nodes.base import Node, NodeContext, NodeError, node, param


@node(type="Preset", title="Preset", category="flow", icon="package", layer=True)
class Preset(Node):
    """A group of nodes that is drawn once and used as one node.

    Its ports and further parameters are those that the preset exposes. In the run the group takes its place: the
    node `conv` of the preset `block` that stands here as `first` is `first/conv`, with results, seeds and events of
    its own. Presets may contain presets, but not themselves. Inside a Module a preset holds layers.
    """

    preset: str = param("", kind="preset", doc="The preset of this file that it stands for.")

    def run(self, ctx: NodeContext) -> NoReturn:
        raise NodeError("a preset is replaced by its nodes before the run")


@node(type="Subgraph", title="Subgraph", category="flow", icon="group", layer=True)
class Subgraph(Node):
    """The nodes of one of the graph's subgraphs as one node.

    It works as **Preset** does; the subgraph says in `inputs`, `outputs` and `params` what it exposes.
    """

    subgraph: str = param("", kind="subgraph", doc="The subgraph of this file that it stands for.")

    def run(self, ctx: NodeContext) -> NoReturn:
        raise NodeError("a subgraph is replaced by its nodes before the run")
