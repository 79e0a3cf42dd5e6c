"""What an editor's session keeps from one run of its graph to the next (L-1)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from codefy_engine.execution.cache import DEFAULT_MAX_BYTES, ResultCache


class ExecutionState:
    """Reusable results and persistent objects of one session; give the same one to each of its runs.

    One run at a time uses it.
    """

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self.results = ResultCache(max_bytes)
        self._kept: dict[tuple[str, str], tuple[Any, Any]] = {}
        self._lock = threading.Lock()

    def persistent(self, node_id: str, name: str, marker: Any, make: Callable[[], Any]) -> Any:
        """The object ``name`` of a node, made anew when there is none or ``marker`` is another than it was made with."""
        with self._lock:
            found = self._kept.get((node_id, name))
        if found is not None and found[0] == marker:
            return found[1]
        made = make()
        with self._lock:
            self._kept[node_id, name] = (marker, made)
        return made

    def keep_only(self, node_ids: set[str]) -> None:
        """Forget the persistent objects of nodes that are gone; those below a node, as of a preset, are its own."""
        with self._lock:
            for key in [key for key in self._kept if not _within(key[0], node_ids)]:
                del self._kept[key]

    def clear(self) -> None:
        """Forget everything."""
        self.results.clear()
        with self._lock:
            self._kept.clear()


def _within(node_id: str, node_ids: set[str]) -> bool:
    while node_id not in node_ids:
        node_id, separator, _ = node_id.rpartition("/")
        if not separator:
            return False
    return True
