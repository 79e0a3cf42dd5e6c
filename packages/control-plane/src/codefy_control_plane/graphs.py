"""Graphs that people saved: plain graph files in ``<data dir>/graphs``, each with a revision.

The files stay what they look like, so they can be copied, diffed and edited elsewhere. The revision lies beside them
with the hash of the bytes it belongs to: a file changed by other hands counts as a new revision.
"""

from __future__ import annotations

import hashlib
import threading
import unicodedata
from pathlib import Path

import msgspec

from codefy_control_plane.api.schemas import GraphList, GraphSummary, SavedGraph
from codefy_control_plane.atomic import replace_file, sync_folder
from codefy_control_plane.runs.errors import Refused
from codefy_protocol import reasons
from codefy_protocol.reasons import reason

SUFFIX = ".json"
MAX_NAME_CHARS = 100
MAX_NAME_BYTES = 200
_FORBIDDEN = frozenset('/\\:*?"<>|')


class _Stamp(msgspec.Struct, kw_only=True):
    revision: int
    sha256: str


class _NodesOnly(msgspec.Struct):
    nodes: list[msgspec.Raw] = []


def check_graph_name(name: str) -> str:
    """The name in its canonical form (NFC).

    Raises:
        Refused: 400 ``invalid_name``; the message says what a name may be.
    """
    name = unicodedata.normalize("NFC", name)
    detail = None
    if not name or name != name.strip() or name.startswith(".") or name.endswith("."):
        detail = f"{name!r} is no graph name: it is empty, or begins or ends with a dot or a space."
    elif _FORBIDDEN & set(name) or not name.isprintable():
        detail = f'{name!r} is no graph name: it must not contain any of / \\ : * ? " < > |.'
    elif len(name) > MAX_NAME_CHARS or len(name.encode()) > MAX_NAME_BYTES:
        detail = f"A graph name has at most {MAX_NAME_CHARS} characters."
    if detail is not None:
        raise Refused(400, reason(reasons.INVALID_NAME, detail=detail))
    return name


class GraphStore:
    """Blocking: call it in a thread. Calls are serialized, so a revision check and its write are one step."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stamps = folder / ".revisions"
        self._lock = threading.Lock()

    def list(self) -> GraphList:
        """All saved graphs, the last changed first."""
        with self._lock:
            graphs: list[GraphSummary] = []
            for path in self._folder.glob("*" + SUFFIX):
                saved = self._read(path)
                if saved is not None:
                    graphs.append(
                        GraphSummary(
                            name=saved.name,
                            revision=saved.revision,
                            updated_at=saved.updated_at,
                            node_count=count_nodes(bytes(saved.graph)),
                        )
                    )
        graphs.sort(key=lambda graph: (-graph.updated_at, graph.name))
        return GraphList(graphs=graphs)

    def get(self, name: str) -> SavedGraph:
        """One graph.

        Raises:
            Refused: 404 ``graph_not_found``.
        """
        name = check_graph_name(name)
        with self._lock:
            saved = self._read(self._path(name))
        if saved is None:
            raise _not_found(name)
        return saved

    def put(self, name: str, graph: bytes, base_revision: int | None) -> SavedGraph:
        """Save ``graph`` (a document's canonical bytes) as the next revision.

        ``base_revision`` is the revision it was edited from, 0 for a graph that must be new; ``None`` replaces
        whatever is there.

        Raises:
            Refused: 409 ``graph_changed`` when another revision is saved.
        """
        name = check_graph_name(name)
        path = self._path(name)
        with self._lock:
            current = self._read(path)
            revision = 0 if current is None else current.revision
            if base_revision is not None and base_revision != revision:
                why = reason(reasons.GRAPH_CHANGED, name=name, revision=revision, base_revision=base_revision)
                raise Refused(409, why, current=current)
            self._stamps.mkdir(parents=True, exist_ok=True)
            stamp = _Stamp(revision=revision + 1, sha256=hashlib.sha256(graph).hexdigest())
            # The graph first: a stop between the two leaves a file whose hash differs, and that is a new revision.
            replace_file(path, graph)
            replace_file(self._stamp_path(path), msgspec.json.encode(stamp))
            saved = self._read(path)
        if saved is None:
            raise _not_found(name)
        return saved

    def delete(self, name: str) -> None:
        """Remove a graph.

        Raises:
            Refused: 404 ``graph_not_found``.
        """
        name = check_graph_name(name)
        path = self._path(name)
        with self._lock:
            try:
                path.unlink()
            except FileNotFoundError:
                raise _not_found(name) from None
            self._stamp_path(path).unlink(missing_ok=True)
            sync_folder(path.parent)

    def exists(self, name: str) -> bool:
        """Whether a graph of this name is saved.

        Raises:
            Refused: 400 ``invalid_name``.
        """
        return self._path(check_graph_name(name)).exists()

    def _path(self, name: str) -> Path:
        return self._folder / (name + SUFFIX)

    def _stamp_path(self, path: Path) -> Path:
        return self._stamps / path.name

    def _read(self, path: Path) -> SavedGraph | None:
        try:
            graph = path.read_bytes()
            updated_at = path.stat().st_mtime
        except (FileNotFoundError, IsADirectoryError):
            return None
        try:
            # A file put here by hand may be anything; what is not JSON is not listed.
            document = msgspec.json.decode(graph, type=msgspec.Raw)
        except (msgspec.DecodeError, RecursionError):
            return None
        try:
            stamp = msgspec.json.decode(self._stamp_path(path).read_bytes(), type=_Stamp)
        except (OSError, msgspec.DecodeError, RecursionError):
            revision = 1
        else:
            revision = stamp.revision + (stamp.sha256 != hashlib.sha256(graph).hexdigest())
        return SavedGraph(name=path.stem, revision=revision, updated_at=updated_at, graph=document)


def count_nodes(graph: bytes) -> int:
    """Nodes on the top level of a document; 0 when it is none."""
    try:
        return len(msgspec.json.decode(graph, type=_NodesOnly).nodes)
    except (msgspec.DecodeError, RecursionError):
        return 0


def _not_found(name: str) -> Refused:
    return Refused(404, reason(reasons.GRAPH_NOT_FOUND, name=name))
