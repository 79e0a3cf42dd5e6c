"""The node catalog over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from codefy_control_plane.api.context import Context
from codefy_control_plane.api.problems import api_error
from codefy_control_plane.api.schemas import NodeList
from codefy_engine.nodes.definition import NodeDefinition
from codefy_engine.nodes.registry import reload_files
from codefy_protocol import reasons


def _failure(entry: Any) -> dict[str, str]:
    return {name: str(value) for name, value in msgspec.to_builtins(entry).items()}


async def list_nodes(context: Context) -> NodeList:
    """Every node type that is installed, and what could not be loaded."""
    catalog = context.registry.catalog()
    return NodeList(
        catalog_hash=catalog.catalog_hash,
        nodes=catalog.definitions,
        failures=[_failure(failure) for failure in catalog.failures],
    )


async def reload_nodes(context: Context) -> NodeList:
    """Load the files in the data folder's ``nodes`` anew, without a restart.

    The answer is the catalog as it is now. A file that cannot be loaded is among its failures, by name, and changes
    nothing else. Runs that go on keep the node types they began with; packages need a restart.
    """
    await asyncio.to_thread(reload_files, context.registry, context.settings.nodes_dir)
    return await list_nodes(context)


async def show_node(context: Context, type: str) -> NodeDefinition:
    """One node type."""
    registry = context.registry
    found = registry.definition(type)
    if found is None:
        close = registry.suggest(type)
        suggestion = f" Did you mean {close}?" if close else ""
        raise api_error(404, reasons.NODE_TYPE_NOT_FOUND, type=type, suggestion=suggestion)
    return found
