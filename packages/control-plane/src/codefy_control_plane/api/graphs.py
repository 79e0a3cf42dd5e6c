"""Graphs over HTTP: validate, save, open; and the examples."""

from __future__ import annotations

import asyncio

from codefy_control_plane.api.context import Context
from codefy_control_plane.api.problems import ApiError
from codefy_control_plane.api.schemas import (
    Example,
    ExampleList,
    GraphList,
    GraphValidation,
    SavedGraph,
    SaveGraph,
    ValidateGraph,
)
from codefy_engine.graph.document import GraphDocument, GraphInvalid, canonical_bytes, parse_graph
from codefy_engine.graph.problems import GraphProblem
from codefy_engine.graph.shapes import GraphShapes, graph_shapes
from codefy_engine.graph.validation import validate_graph
from codefy_engine.nodes.registry import Registry
from codefy_protocol.reasons import Reason


async def validate(context: Context, body: ValidateGraph) -> GraphValidation:
    """All problems of a graph at once; nothing is stored or run."""
    problems = await asyncio.to_thread(_problems, bytes(body.graph), context.registry)
    return GraphValidation(valid=not problems, problems=problems)


def _problems(graph: bytes, registry: Registry) -> list[GraphProblem]:
    try:
        return validate_graph(parse_graph(graph), registry)
    except GraphInvalid as error:
        return error.problems


async def shapes(context: Context, body: ValidateGraph) -> GraphShapes:
    """The shape on every wire and the parameters of every layer, without running the graph.

    Nodes inside presets and modules are named by their path, such as ``model/conv1``. Layers that do not take what
    reaches them are among the problems; what only a run can tell is left out.
    """
    return await asyncio.to_thread(_shapes, bytes(body.graph), context.registry)


def _shapes(graph: bytes, registry: Registry) -> GraphShapes:
    try:
        return graph_shapes(parse_graph(graph), registry)
    except GraphInvalid as error:
        return GraphShapes(wires=[], nodes=[], problems=error.problems)


async def list_graphs(context: Context) -> GraphList:
    """Saved graphs, the last changed first."""
    return await asyncio.to_thread(context.graphs.list)


async def show_graph(context: Context, name: str) -> SavedGraph:
    """A saved graph with its revision."""
    return await asyncio.to_thread(context.graphs.get, name)


async def save_graph(context: Context, name: str, body: SaveGraph) -> SavedGraph:
    """Save a graph under a name.

    It may have problems, as work in progress has; it must be a graph document. With ``base_revision`` a graph that was
    changed meanwhile answers 409 (0: it must be new).
    """
    document = await asyncio.to_thread(_parse, bytes(body.graph))
    return await asyncio.to_thread(context.graphs.put, name, canonical_bytes(document), body.base_revision)


def _parse(graph: bytes) -> GraphDocument:
    try:
        return parse_graph(graph)
    except GraphInvalid as error:
        first = error.problems[0]
        why = Reason(code=first.code, message=first.message, params=first.params)
        raise ApiError(400, why, error.problems) from None


async def delete_graph(context: Context, name: str) -> None:
    """Delete a saved graph."""
    await asyncio.to_thread(context.graphs.delete, name)


async def list_examples(context: Context) -> ExampleList:
    """The examples that ship with Codefy."""
    return await asyncio.to_thread(context.examples.list)


async def show_example(context: Context, name: str) -> Example:
    """An example with its graph."""
    return await asyncio.to_thread(context.examples.get, name)
