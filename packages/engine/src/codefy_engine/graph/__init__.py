"""Graph documents: reading, writing, validating and planning them. Never imports torch."""

from codefy_engine.graph.builder import Builder, BuiltNode, OutputRef
from codefy_engine.graph.document import (
    GraphDocument,
    GraphInvalid,
    canonical_bytes,
    graph_hash,
    parse_graph,
    pretty_bytes,
)
from codefy_engine.graph.problems import GraphProblem
from codefy_engine.graph.validation import validate_graph

__all__ = [
    "Builder",
    "BuiltNode",
    "GraphDocument",
    "GraphInvalid",
    "GraphProblem",
    "OutputRef",
    "canonical_bytes",
    "graph_hash",
    "parse_graph",
    "pretty_bytes",
    "validate_graph",
]
