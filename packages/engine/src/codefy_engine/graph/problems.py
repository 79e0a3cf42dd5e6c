"""Problems of a graph: all at once, each naming its node (G-3)."""

from __future__ import annotations

from typing import Any

import msgspec


class GraphProblem(msgspec.Struct, kw_only=True):
    """One problem of a graph (G-3)."""

    message: str
    code: str
    node_id: str | None
    params: dict[str, Any]
