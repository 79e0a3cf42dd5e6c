"""Graphs over HTTP: validate, save, open; and the examples."""

from __future__ import annotations

import asyncio
import re

from starlette.requests import Request

from codefy_control_plane.api.context import Context
from codefy_control_plane.api.problems import ApiError, api_error
from codefy_control_plane.api.schemas import (
    Draft,
    Example,
    ExampleList,
    GraphList,
    GraphValidation,
    RenameGraph,
    SavedGraph,
    SaveDraft,
    SaveGraph,
    ValidateGraph,
)
from codefy_control_plane.graphs import check_graph_name
from codefy_control_plane.runs.errors import Refused
from codefy_engine.graph.document import GraphDocument, GraphInvalid, canonical_bytes, parse_graph
from codefy_engine.graph.problems import GraphProblem
from codefy_engine.graph.shapes import GraphShapes, graph_shapes
from codefy_engine.graph.validation import validate_graph
from codefy_engine.nodes.registry import Registry
from codefy_protocol import reasons
from codefy_protocol.reasons import Reason, reason


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
    """Saved graphs and drafts, the last changed first."""
    listed = await asyncio.to_thread(context.graphs.list)
    listed.drafts = await asyncio.to_thread(context.drafts.list)
    return listed


async def show_graph(context: Context, name: str) -> SavedGraph:
    """A saved graph with its revision."""
    return await asyncio.to_thread(context.graphs.get, name)


async def save_graph(context: Context, request: Request, name: str, body: SaveGraph) -> SavedGraph:
    """Save a graph under a name.

    It may have problems, as work in progress has; it must be a graph document. With ``base_revision``, or its revision
    as ``If-Match``, a graph that was changed meanwhile answers 409 with the ``current`` one (0: it must be new).
    """
    base = _base_revision(request, body.base_revision)
    canonical = await asyncio.to_thread(_canonical, bytes(body.graph))
    return await asyncio.to_thread(context.graphs.put, name, canonical, base)


async def rename_graph(context: Context, name: str, body: RenameGraph) -> SavedGraph:
    """Give a graph another name. A draft without a saved graph is saved under it.

    Runs keep the name under which they ran.
    """
    return await asyncio.to_thread(_rename, context, name, body.name)


def _rename(context: Context, name: str, new: str) -> SavedGraph:
    old, new = check_graph_name(name), check_graph_name(new)
    drafted = context.drafts.exists(old)
    saved = context.graphs.exists(old)
    if not saved and not drafted:
        raise Refused(404, reason(reasons.GRAPH_NOT_FOUND, name=old))
    if old == new:
        if saved:
            return context.graphs.get(old)
    elif context.graphs.exists(new) or context.drafts.exists(new):
        raise Refused(409, reason(reasons.GRAPH_EXISTS, name=new))
    document = _parse(bytes((context.graphs if saved else context.drafts).get(old).graph))
    document.name = new
    # The new one first: a stop between the two leaves both.
    renamed = context.graphs.put(new, canonical_bytes(document), 0)
    if saved:
        if drafted:
            draft = context.drafts.get(old)
            # It was edited from a revision that the new name does not have: it stays undecided.
            context.drafts.put(new, bytes(draft.graph), 0, 0)
        context.graphs.delete(old)
    if drafted:
        context.drafts.delete(old)
    return renamed


async def show_draft(context: Context, name: str) -> Draft:
    """The draft of a graph: what is not in its file, or of a graph that has none yet."""
    return await asyncio.to_thread(context.drafts.get, name)


async def save_draft(context: Context, request: Request, name: str, body: SaveDraft) -> Draft:
    """Keep a draft.

    With ``base_revision``, or its revision as ``If-Match``, a draft that was changed meanwhile answers 409 with the
    ``current`` one (0: it must be new).
    """
    base = _base_revision(request, body.base_revision)
    canonical = await asyncio.to_thread(_canonical, bytes(body.graph))
    return await asyncio.to_thread(context.drafts.put, name, canonical, base, body.graph_revision)


async def delete_draft(context: Context, request: Request, name: str) -> None:
    """Remove a draft: with ``If-Match`` only when it is still that revision."""
    await asyncio.to_thread(context.drafts.delete, name, _base_revision(request, None))


_ETAG = re.compile(r'(?:W/)?"?(\d{1,15})"?')


def _base_revision(request: Request, in_body: int | None) -> int | None:
    header = request.headers.get("if-match")
    if header is None or header == "*":
        return in_body
    found = _ETAG.fullmatch(header.strip())
    if found is None:
        detail = f'expected a revision such as "38", got {header[:80]!r}'
        raise api_error(400, reasons.INVALID_HEADER, name="If-Match", detail=detail)
    revision = int(found[1])
    if in_body is not None and in_body != revision:
        detail = f"it says {revision} and base_revision says {in_body}"
        raise api_error(400, reasons.INVALID_HEADER, name="If-Match", detail=detail)
    return revision


def _canonical(graph: bytes) -> bytes:
    return canonical_bytes(_parse(graph))


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
