"""Drafts: what the canvas keeps of graphs that are not in their files, in ``<data dir>/drafts``, each with a revision.

A graph without a name lives here until it is named, and an edit that cannot be saved because someone else saved the
graph meanwhile lies here until its author has decided. A draft and its revision are one file, replaced as a whole.
"""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec

from codefy_control_plane.api.schemas import Draft, GraphSummary
from codefy_control_plane.atomic import replace_file, sync_folder
from codefy_control_plane.graphs import SUFFIX, check_graph_name, count_nodes
from codefy_control_plane.runs.errors import Refused
from codefy_protocol import reasons
from codefy_protocol.reasons import reason


class _Kept(msgspec.Struct, kw_only=True):
    revision: int
    graph_revision: int
    graph: msgspec.Raw


class DraftStore:
    """Blocking: call it in a thread. Calls are serialized, so a revision check and its write are one step."""

    def __init__(self, folder: Path, *, max_bytes: int, max_drafts: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._max_drafts = max_drafts
        self._lock = threading.Lock()

    def list(self) -> list[GraphSummary]:
        """All drafts, the last changed first."""
        with self._lock:
            drafts = [draft for path in self._folder.glob("*" + SUFFIX) if (draft := self._read(path))]
        drafts.sort(key=lambda draft: (-draft.updated_at, draft.name))
        return [
            GraphSummary(
                name=draft.name,
                revision=draft.revision,
                updated_at=draft.updated_at,
                node_count=count_nodes(bytes(draft.graph)),
            )
            for draft in drafts
        ]

    def get(self, name: str) -> Draft:
        """One draft.

        Raises:
            Refused: 400 ``invalid_name``; 404 ``draft_not_found``.
        """
        name = check_graph_name(name)
        with self._lock:
            draft = self._read(self._path(name))
        if draft is None:
            raise _not_found(name)
        return draft

    def exists(self, name: str) -> bool:
        """Whether there is a draft of this name.

        Raises:
            Refused: 400 ``invalid_name``.
        """
        return self._path(check_graph_name(name)).exists()

    def put(self, name: str, graph: bytes, base_revision: int | None, graph_revision: int) -> Draft:
        """Keep ``graph`` (a document's canonical bytes) as the next revision of the draft.

        Raises:
            Refused: 400 ``invalid_name``; 409 ``draft_changed`` with the current one; 413 ``draft_too_large``;
                507 ``drafts_full``.
        """
        name = check_graph_name(name)
        path = self._path(name)
        if len(graph) > self._max_bytes:
            raise Refused(413, reason(reasons.DRAFT_TOO_LARGE, size=len(graph), limit=self._max_bytes))
        with self._lock:
            current = self._read(path)
            revision = 0 if current is None else current.revision
            if base_revision is not None and base_revision != revision:
                raise _changed(name, base_revision, current)
            self._folder.mkdir(parents=True, exist_ok=True)
            if not path.exists() and sum(1 for _ in self._folder.glob("*" + SUFFIX)) >= self._max_drafts:
                raise Refused(507, reason(reasons.DRAFTS_FULL, limit=self._max_drafts))
            kept = _Kept(revision=revision + 1, graph_revision=graph_revision, graph=msgspec.Raw(graph))
            replace_file(path, msgspec.json.encode(kept))
            draft = self._read(path)
        if draft is None:
            raise _not_found(name)
        return draft

    def delete(self, name: str, base_revision: int | None = None) -> None:
        """Remove a draft: with ``base_revision`` only when it is still that one.

        Raises:
            Refused: 400 ``invalid_name``; 404 ``draft_not_found``; 409 ``draft_changed`` with the current one.
        """
        name = check_graph_name(name)
        path = self._path(name)
        with self._lock:
            current = self._read(path)
            if current is None:
                raise _not_found(name)
            if base_revision is not None and base_revision != current.revision:
                raise _changed(name, base_revision, current)
            path.unlink()
            sync_folder(path.parent)

    def _path(self, name: str) -> Path:
        return self._folder / (name + SUFFIX)

    def _read(self, path: Path) -> Draft | None:
        try:
            data = path.read_bytes()
            updated_at = path.stat().st_mtime
            kept = msgspec.json.decode(data, type=_Kept)
        except (OSError, msgspec.DecodeError, RecursionError):
            # Damaged by other hands: it counts as none, and the next draft takes its place.
            return None
        return Draft(
            name=path.stem,
            revision=kept.revision,
            graph_revision=kept.graph_revision,
            updated_at=updated_at,
            graph=kept.graph,
        )


def _changed(name: str, base_revision: int, current: Draft | None) -> Refused:
    revision = 0 if current is None else current.revision
    why = reason(reasons.DRAFT_CHANGED, name=name, revision=revision, base_revision=base_revision)
    return Refused(409, why, current=current)


def _not_found(name: str) -> Refused:
    return Refused(404, reason(reasons.DRAFT_NOT_FOUND, name=name))
