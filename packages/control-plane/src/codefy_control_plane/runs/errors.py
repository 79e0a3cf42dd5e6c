"""How the run service says no."""

from __future__ import annotations

from msgspec import Struct

from codefy_engine.graph.problems import GraphProblem
from codefy_protocol.reasons import Reason


class Refused(Exception):
    """A request that cannot be done, with the HTTP status, the reason, and for a graph all its problems.

    ``current`` is what lies where a stale write was to go: the document with its revision.
    """

    def __init__(
        self,
        status: int,
        reason: Reason,
        problems: list[GraphProblem] | None = None,
        *,
        current: Struct | None = None,
    ) -> None:
        super().__init__(reason.message)
        self.status = status
        self.reason = reason
        self.problems = problems
        self.current = current
