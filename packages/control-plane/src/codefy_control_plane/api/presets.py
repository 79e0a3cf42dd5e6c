"""Presets over HTTP: groups of nodes kept for other graphs."""

from __future__ import annotations

import asyncio

from codefy_control_plane.api.context import Context
from codefy_control_plane.api.schemas import PresetList, SavePreset, StoredPreset


async def list_presets(context: Context) -> PresetList:
    """Presets by name, with what they expose."""
    return await asyncio.to_thread(context.presets.list)


async def show_preset(context: Context, name: str) -> StoredPreset:
    """A preset, with the presets and subgraphs that it needs in a graph."""
    return await asyncio.to_thread(context.presets.get, name)


async def save_preset(context: Context, name: str, body: SavePreset) -> StoredPreset:
    """Keep a preset under a name.

    It must be one that can be expanded. With ``base_revision`` one that was changed meanwhile answers 409 (0: it must
    be new).
    """
    return await asyncio.to_thread(context.presets.put, name, body)


async def delete_preset(context: Context, name: str) -> None:
    """Delete a preset. Graphs that use it keep their own copy."""
    await asyncio.to_thread(context.presets.delete, name)
