"""The node catalog over HTTP."""

from __future__ import annotations

from typing import Any

import msgspec

from codefy_control_plane.api.context import Context
from codefy_control_plane.api.problems import api_error
from codefy_control_plane.api.schemas import NodeList
from codefy_engine.nodes.definition import NodeDefinition
from codefy_protocol import reasons


def _failure(entry: Any) -> dict[str, str]:
    return {name: str(value) for name, value in msgspec.to_builtins(entry).items()}


async def list_nodes(context: Context) -> NodeList:
    """Every node type that is installed, and what could not be loaded."""
    registry = context.registry
    return NodeList(
        catalog_hash=registry.catalog_hash,
        nodes=registry.definitions(),
        failures=[_failure(failure) for failure in registry.failures],
    )


async def show_node(context: Context, type: str) -> NodeDefinition:
    """One node type."""
    registry = context.registry
    found = registry.find(type)
    if found is None:
        close = registry.suggest(type)
        suggestion = f" Did you mean {close}?" if close else ""
        raise api_error(404, reasons.NODE_TYPE_NOT_FOUND, type=type, suggestion=suggestion)
    return found.spec.definition
