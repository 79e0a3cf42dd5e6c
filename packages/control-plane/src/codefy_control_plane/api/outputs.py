"""Captured outputs over HTTP: what the inspector shows of a run (O-2).

Nodes and ports are query parameters, because the id of a node inside a preset holds slashes.
"""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from codefy_control_plane.api.context import Context
from codefy_control_plane.api.problems import api_error
from codefy_control_plane.api.schemas import OutputAbout, OutputGradient, OutputList
from codefy_engine.execution.outputs import OutputSlice
from codefy_engine.execution.traces import Trace
from codefy_protocol import reasons

MAX_DIMENSIONS = 64


class OutputsQuery(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    run_id: str


class OutputQuery(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    node_id: str
    port: str


class ImageQuery(OutputQuery, kw_only=True, forbid_unknown_fields=True):
    index: str = ""
    """Of the dimensions before a picture's own, separated by commas; zeros where left out."""


class StepsQuery(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    node_id: str
    name: str | None = None
    """Only this layer or parameter."""
    first: int | None = None
    """Only steps from this one on."""
    last: int | None = None
    """Only steps up to this one."""


class GradientQuery(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    node_id: str
    parameter: str
    index: str = ""
    start: str = ""
    size: str = ""


class ValuesQuery(ImageQuery, kw_only=True, forbid_unknown_fields=True):
    index: str = ""
    """Of all dimensions but the last two, separated by commas; zeros where left out."""
    start: str = ""
    """Where to begin in the last two dimensions, such as ``0,64``."""
    size: str = ""
    """How many numbers of the last two dimensions; ``64,64`` when left out, at most 4096 in all."""


async def list_outputs(context: Context, query: OutputsQuery) -> OutputList:
    """What is kept of a run's outputs, and where the inputs of its nodes came from.

    A run that keeps nothing (any more) has an empty list.
    """
    await context.service.get(query.run_id)
    return context.service.outputs.list_outputs(query.run_id)


async def show_output(context: Context, run_id: str, query: OutputQuery) -> OutputAbout:
    """Facts and statistics of one output."""
    await context.service.get(run_id)
    return await context.service.outputs.about(run_id, query.node_id, query.port)


async def read_output_values(context: Context, run_id: str, query: ValuesQuery) -> OutputSlice:
    """A part of an output: numbers of a tensor, or a value in words."""
    await context.service.get(run_id)
    return await context.service.outputs.values(
        run_id,
        query.node_id,
        query.port,
        index=_numbers("index", query.index),
        start=_numbers("start", query.start),
        size=_numbers("size", query.size),
    )


async def read_output_image(context: Context, run_id: str, query: ImageQuery) -> Response:
    """An output as a picture; ``picture`` of its facts says whether there is one."""
    await context.service.get(run_id)
    png = await context.service.outputs.picture(
        run_id, query.node_id, query.port, _numbers("index", query.index)
    )
    return Response(png, media_type="image/png", headers={"cache-control": "no-store"})


async def read_output_steps(context: Context, run_id: str, query: StepsQuery) -> Trace:
    """What went on inside a node, step by step: statistics of activations and gradients."""
    await context.service.get(run_id)
    return await context.service.outputs.steps(run_id, query.node_id, query.name, query.first, query.last)


async def read_output_gradient(context: Context, run_id: str, query: GradientQuery) -> OutputGradient:
    """The last gradient of a parameter: statistics and a part of it."""
    await context.service.get(run_id)
    return await context.service.outputs.gradient(
        run_id,
        query.node_id,
        query.parameter,
        index=_numbers("index", query.index),
        start=_numbers("start", query.start),
        size=_numbers("size", query.size),
    )


def _numbers(name: str, text: str) -> list[int]:
    parts = text.split(",") if text else []
    if len(parts) > MAX_DIMENSIONS:
        raise api_error(400, reasons.INVALID_QUERY, name=name, detail=f"at most {MAX_DIMENSIONS} numbers")
    numbers: list[int] = []
    for part in parts:
        if not (part.strip().isascii() and part.strip().isdigit() and len(part) < 19):
            detail = f"whole numbers from 0, separated by commas, got {part!r}"
            raise api_error(400, reasons.INVALID_QUERY, name=name, detail=detail)
        numbers.append(int(part))
    return numbers
