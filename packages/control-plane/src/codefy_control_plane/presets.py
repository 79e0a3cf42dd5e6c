"""Presets that people kept for other graphs: plain files in ``<data dir>/presets``, each with a revision.

What a file holds of a preset is what stands in a graph's ``presets`` (see :mod:`codefy_engine.graph.presets`), with the
presets and subgraphs that its own nodes name, so that it can be taken into any graph.
"""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import Any, cast

import msgspec

from codefy_control_plane.api.schemas import PresetList, PresetSummary, SavePreset, StoredPreset
from codefy_control_plane.atomic import replace_file, sync_folder
from codefy_control_plane.graphs import SUFFIX, check_graph_name
from codefy_control_plane.runs.errors import Refused
from codefy_engine.graph.document import GraphInvalid, graph_from_builtins
from codefy_engine.graph.presets import PRESET, Presets, TooBig
from codefy_engine.graph.problems import GraphProblem
from codefy_protocol import reasons
from codefy_protocol.reasons import reason

FORMAT_VERSION = 1


class _Kept(msgspec.Struct, kw_only=True):
    preset: dict[str, Any]
    format_version: int = FORMAT_VERSION
    revision: int = 1
    sha256: str = ""
    """Of the parts below ``preset``; another one means that other hands changed the file."""
    description: str = ""
    presets: dict[str, Any] = {}
    subgraphs: dict[str, Any] = {}


class PresetStore:
    """Blocking: call it in a thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def list(self) -> PresetList:
        """All presets by name."""
        with self._lock:
            found = [
                preset for path in sorted(self._folder.glob("*" + SUFFIX)) if (preset := self._read(path))
            ]
        return PresetList(presets=[_summary(preset) for preset in found])

    def get(self, name: str) -> StoredPreset:
        """One preset.

        Raises:
            Refused: 400 ``invalid_name``; 404 ``preset_not_found``.
        """
        name = check_graph_name(name)
        with self._lock:
            found = self._read(self._path(name))
        if found is None:
            raise _not_found(name)
        return found

    def put(self, name: str, body: SavePreset) -> StoredPreset:
        """Keep a preset as the next revision.

        Raises:
            Refused: 400 ``invalid_name``, or ``preset_refused`` with all problems; 409 ``preset_changed``.
        """
        name = check_graph_name(name)
        check_preset(name, body)
        path = self._path(name)
        with self._lock:
            current = self._read(path)
            revision = 0 if current is None else current.revision
            if body.base_revision is not None and body.base_revision != revision:
                why = reason(
                    reasons.PRESET_CHANGED, name=name, revision=revision, base_revision=body.base_revision
                )
                raise Refused(409, why, current=current)
            self._folder.mkdir(parents=True, exist_ok=True)
            kept = _Kept(
                revision=revision + 1,
                description=body.description,
                preset=body.preset,
                presets=body.presets,
                subgraphs=body.subgraphs,
            )
            kept.sha256 = _digest(kept)
            replace_file(path, msgspec.json.format(msgspec.json.encode(kept), indent=2) + b"\n")
            found = self._read(path)
        if found is None:
            raise _not_found(name)
        return found

    def delete(self, name: str) -> None:
        """Remove a preset. Graphs that use it have their own copy.

        Raises:
            Refused: 400 ``invalid_name``; 404 ``preset_not_found``.
        """
        name = check_graph_name(name)
        path = self._path(name)
        with self._lock:
            try:
                path.unlink()
            except FileNotFoundError:
                raise _not_found(name) from None
            sync_folder(path.parent)

    def _path(self, name: str) -> Path:
        return self._folder / (name + SUFFIX)

    def _read(self, path: Path) -> StoredPreset | None:
        try:
            data = path.read_bytes()
            updated_at = path.stat().st_mtime
            kept = msgspec.json.decode(data, type=_Kept)
        except (OSError, msgspec.DecodeError, RecursionError):
            # A file put here by hand may be anything; what is no preset is not listed.
            return None
        return StoredPreset(
            name=path.stem,
            description=kept.description,
            revision=kept.revision + (kept.sha256 not in ("", _digest(kept))),
            updated_at=updated_at,
            node_count=len(kept.preset.get("nodes", ())),
            inputs=_names(kept.preset, "inputs"),
            outputs=_names(kept.preset, "outputs"),
            params=_names(kept.preset, "params"),
            preset=msgspec.Raw(msgspec.json.encode(kept.preset)),
            presets=msgspec.Raw(msgspec.json.encode(kept.presets)),
            subgraphs=msgspec.Raw(msgspec.json.encode(kept.subgraphs)),
        )


def check_preset(name: str, body: SavePreset) -> None:
    """Whether a graph that holds the preset could be expanded. Node types need not be installed.

    Raises:
        Refused: 400 ``preset_refused`` with all problems.
    """
    try:
        document = graph_from_builtins(
            {"nodes": [], "presets": {**body.presets, name: body.preset}, "subgraphs": body.subgraphs}
        )
        found = Presets(document).expand_template(PRESET, name).findings
    except GraphInvalid as error:
        raise _refused(name, error.problems) from None
    except TooBig:
        detail = "it holds too many nodes"
        raise Refused(400, reason(reasons.PRESET_REFUSED, name=name, detail=detail)) from None
    problems = [
        GraphProblem(message=made.message, code=made.code, node_id=finding.node_id, params=made.params)
        for finding in found[:100]
        for made in [reason(finding.code, **finding.params)]
    ]
    if not body.preset.get("nodes"):
        raise Refused(400, reason(reasons.PRESET_REFUSED, name=name, detail="it has no nodes"))
    if problems:
        raise _refused(name, problems)


def _refused(name: str, problems: list[GraphProblem]) -> Refused:
    detail = problems[0].message.rstrip(".")
    why = reason(reasons.PRESET_REFUSED, name=name, detail=detail[:1].lower() + detail[1:])
    return Refused(400, why, problems)


def _digest(kept: _Kept) -> str:
    parts = msgspec.json.encode([kept.preset, kept.presets, kept.subgraphs, kept.description], order="sorted")
    return hashlib.sha256(parts).hexdigest()


def _names(preset: dict[str, Any], key: str) -> list[str]:
    """Names of what is exposed, each once, as far as a file by other hands has them."""
    listed: object = preset.get(key, [])
    items = cast("list[object]", listed) if isinstance(listed, list) else []
    named = [cast("dict[str, object]", item).get("name") for item in items if isinstance(item, dict)]
    return list(dict.fromkeys(name for name in named if isinstance(name, str)))


def _summary(preset: StoredPreset) -> PresetSummary:
    fields = {name: getattr(preset, name) for name in PresetSummary.__struct_fields__}
    return PresetSummary(**fields)


def _not_found(name: str) -> Refused:
    return Refused(404, reason(reasons.PRESET_NOT_FOUND, name=name))
