"""The hash of what a node type declares (X-8), and of a third party's code."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Mapping
from typing import Any

import msgspec

from codefy_engine.nodes.base import Node


def type_hash(cls: type[Node]) -> str:
    """SHA-256 of what a type declares, prose left out; for third parties with their source."""
    definition = cls.spec.definition
    declared: dict[str, Any] = {
        "type": definition.type,
        "version": definition.version,
        "layer": definition.layer,
        "inputs": [[port.name, port.type, port.required] for port in definition.inputs],
        "outputs": [[port.name, port.type] for port in definition.outputs],
        "params": [
            {
                "name": item.name,
                "kind": item.kind,
                "default": item.default,
                "min": item.min,
                "max": item.max,
                "exclusive_min": item.exclusive_min,
                "exclusive_max": item.exclusive_max,
                "optional": item.optional,
                "choices": None if item.choices is None else [choice.value for choice in item.choices],
            }
            for item in definition.params
        ],
    }
    repeats = {port.name: port.repeat for port in (*definition.inputs, *definition.outputs) if port.repeat}
    if repeats:
        declared["repeats"] = repeats
    if definition.source != "builtin":
        declared["source"] = _source_digest(cls)
    return hashlib.sha256(_canonical(declared)).hexdigest()


@functools.lru_cache(maxsize=2048)
def code_digest(cls: type[Node]) -> str:
    """A digest of the code of a third party's node; empty for Codefy's own, which change with the product only."""
    if cls.spec.definition.source == "builtin":
        return ""
    return _source_digest(cls)


def _source_digest(cls: type[Node]) -> str:
    # Files of single nodes say it: what Python remembers of their lines may be of an earlier version.
    known: str | None = getattr(inspect.getmodule(cls), "__codefy_digest__", None)
    if known is not None:
        return known
    try:
        text = inspect.getsource(inspect.getmodule(cls) or cls)
    except (OSError, TypeError):
        # Compiled, or typed into an interpreter: its declared parts still count.
        return ""
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


def catalog_hash(hashes: Mapping[str, str]) -> str:
    """SHA-256 of all types and their hashes."""
    return hashlib.sha256(_canonical(hashes)).hexdigest()
