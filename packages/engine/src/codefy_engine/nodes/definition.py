"""What a node tells about itself, without torch: the catalog, the UI and validation are derived from it (G-2)."""

from __future__ import annotations

from typing import Any

import msgspec


class Choice(msgspec.Struct, kw_only=True):
    value: str | int | float | bool
    label: str


class VisibleIf(msgspec.Struct, kw_only=True):
    param: str
    equals: list[str | int | float | bool]
    """Shown while the parameter has one of these values."""


class PortDefinition(msgspec.Struct, kw_only=True):
    name: str
    label: str
    type: str
    """``tensor``, ``dataset``, ``model``, ``optimizer``, ``loss``, ``metrics``, ``value`` or ``any``."""
    required: bool = True
    doc: str = ""
    repeat: str = ""
    """The parameter that decides how often the port is there: a whole number n makes ``x1 … xn`` of the port ``x``, a
    text makes one port of each name in it (separated by commas)."""


class ParamDefinition(msgspec.Struct, kw_only=True, omit_defaults=True):
    name: str
    label: str
    kind: str
    """``int``, ``float``, ``bool``, ``text``, ``choice``, ``subgraph``, ``code``, ``file``, ``secret``, ``colour``,
    ``tensor``, ``ints``, ``preset``."""
    default: Any = None
    min: float | None = None
    max: float | None = None
    exclusive_min: bool = False
    exclusive_max: bool = False
    unit: str = ""
    doc: str = ""
    choices: list[Choice] | None = None
    advanced: bool = False
    optional: bool = False
    """Whether null is allowed."""
    visible_if: VisibleIf | None = None


class NodeDefinition(msgspec.Struct, kw_only=True):
    type: str
    title: str
    category: str
    """``data``, ``layers``, ``training``, ``evaluation``, ``files``, ``flow``, ``module`` …"""
    version: int
    summary: str
    doc: str
    """Markdown, with shapes."""
    icon: str
    inputs: list[PortDefinition]
    outputs: list[PortDefinition]
    params: list[ParamDefinition]
    layer: bool = False
    """Whether it may stand inside a Module subgraph."""
    source: str = "builtin"
    """``builtin``, the name of the package, or the file in ``nodes/``."""
    deterministic: bool = True
    """Whether equal parameters, inputs and seed give equal outputs, so that a result may be reused."""
    writes: bool = False
    """Whether it writes files into the user's folder."""
