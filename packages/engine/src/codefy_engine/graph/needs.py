"""What a graph needs beyond itself, presets expanded (T-1): files it reads, nodes that write, secrets, strangers' nodes.

Where a run may be sent depends on it: files in the data folder travel or are mounted, a path elsewhere exists on one
machine only.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

from msgspec import Struct

from codefy_engine.graph.document import GraphDocument, GraphInvalid, GraphNode
from codefy_engine.graph.file_trees import entries_below
from codefy_engine.graph.prepare import prepare_graph, run_until
from codefy_engine.graph.presets import TooBig
from codefy_engine.nodes.base import NodeSpec
from codefy_engine.nodes.registry import Registry

CHECKPOINTS = "checkpoints"
FILES = "files"

_CHECKPOINT_PARAM = {"TrainingLoop": ("checkpoint", "none")}
"""Types that write checkpoints unless a parameter has a value."""


class FileUse(Struct, kw_only=True, frozen=True):
    """A file or folder that a node names."""

    node_id: str
    param: str
    path: str
    """As it is written."""
    exists: bool | None = None
    """Where it was looked for."""
    size: int | None = None
    """Bytes; of a folder, of all files in it."""


class WritingNode(Struct, kw_only=True, frozen=True):
    """A node that writes: ``files`` into the data folder, or ``checkpoints`` into the run's folder."""

    node_id: str
    type: str
    writes: str


class SecretUse(Struct, kw_only=True, frozen=True):
    """A parameter that refers to a secret."""

    node_id: str
    param: str
    name: str


class GraphNeeds(Struct, kw_only=True, frozen=True):
    """Everything a graph needs. Node ids inside presets and modules are paths."""

    uploads: list[FileUse]
    """In the data folder."""
    paths: list[FileUse]
    """Elsewhere on this machine."""
    writers: list[WritingNode]
    secrets: list[SecretUse]
    sources: dict[str, str]
    """Node types that do not come with Codefy → the package or file they come from."""

    @property
    def transferable(self) -> bool:
        """Whether a machine without the data folder can run it once it was sent the uploads."""
        return not self.paths and all(item.exists is not False for item in self.uploads)

    @property
    def upload_bytes(self) -> int:
        """Bytes of all uploads that were found, each counted once."""
        return sum({item.path: item.size or 0 for item in self.uploads}.values())


def graph_needs(
    document: GraphDocument,
    registry: Registry,
    files_dir: Path | None = None,
    *,
    until_node: str | None = None,
) -> GraphNeeds:
    """The needs of a valid document; with ``files_dir`` the files are looked at too."""
    needs = GraphNeeds(uploads=[], paths=[], writers=[], secrets=[], sources={})
    for node, spec, node_id in _used(document, registry, until_node):
        _of_node(node, spec, node_id, files_dir, needs)
    return needs


def used_types(
    document: GraphDocument, registry: Registry, *, until_node: str | None = None
) -> frozenset[str]:
    """The node types that a run of a valid document comes upon, those within presets and modules too."""
    return frozenset(node.type for node, _, _ in _used(document, registry, until_node))


def _used(
    document: GraphDocument, registry: Registry, until_node: str | None
) -> Iterator[tuple[GraphNode, NodeSpec, str]]:
    """Every node with what its type declares and its path; what is used in several places comes once."""
    prepared = prepare_graph(document, registry)
    if until_node is not None:
        prepared = run_until(prepared, until_node) or prepared
    seen: set[tuple[str, str]] = set()

    def level(nodes: Sequence[GraphNode], prefix: str) -> Iterator[tuple[GraphNode, NodeSpec, str]]:
        for node in nodes:
            found = registry.find(node.type)
            if found is None:
                continue
            spec, node_id = found.spec, prefix + node.id
            yield node, spec, node_id
            for kind, name in _named(node, spec):
                # What is used in several places needs the same in each.
                if (kind, name) in seen:
                    continue
                seen.add((kind, name))
                if kind == "subgraph" and name in prepared.document.subgraphs:
                    yield from level(prepared.document.subgraphs[name].nodes, f"{node_id}/")
                elif kind == "preset":
                    try:
                        inside = prepared.preset(name).nodes
                    except (KeyError, GraphInvalid, TooBig):
                        continue
                    yield from level(inside, f"{node_id}/")

    yield from level(prepared.document.nodes, "")


def _named(node: GraphNode, spec: NodeSpec) -> Iterator[tuple[str, str]]:
    """Subgraphs and presets that a node names."""
    for name, param in spec.params.items():
        if param.definition.kind in ("subgraph", "preset"):
            value = node.data.params.get(name, spec.defaults[name])
            if isinstance(value, str) and value:
                yield param.definition.kind, value


def _of_node(
    node: GraphNode, spec: NodeSpec, node_id: str, files_dir: Path | None, needs: GraphNeeds
) -> None:
    definition = spec.definition
    if definition.source != "builtin":
        needs.sources[definition.type] = definition.source
    if definition.writes:
        needs.writers.append(WritingNode(node_id=node_id, type=node.type, writes=FILES))
    keeps = _CHECKPOINT_PARAM.get(node.type)
    if keeps is not None and node.data.params.get(keeps[0], spec.defaults.get(keeps[0])) != keeps[1]:
        needs.writers.append(WritingNode(node_id=node_id, type=node.type, writes=CHECKPOINTS))
    for name, param in spec.params.items():
        value = node.data.params.get(name, param.definition.default)
        if param.definition.kind == "secret" and isinstance(value, dict) and "secret" in value:
            needs.secrets.append(SecretUse(node_id=node_id, param=name, name=str(value["secret"])))  # pyright: ignore[reportUnknownArgumentType] - JSON
        elif param.definition.kind == "file" and isinstance(value, str) and value.strip():
            use = _file_use(node_id, name, value, files_dir)
            (needs.paths if is_outside(value, files_dir) else needs.uploads).append(use)


def is_outside(path: str, files_dir: Path | None = None) -> bool:
    """Whether a path leads out of the data folder."""
    if PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute() or path.startswith("~"):
        if files_dir is None:
            return True
        return not Path(path).resolve().is_relative_to(files_dir.resolve())
    inside = os.path.normpath(path.replace("\\", "/"))
    return inside == ".." or inside.startswith("../")


def _file_use(node_id: str, param: str, path: str, files_dir: Path | None) -> FileUse:
    if files_dir is None:
        return FileUse(node_id=node_id, param=param, path=path)
    found = files_dir / path
    try:
        size = (
            sum(state.st_size for _, state in entries_below(found) if stat.S_ISREG(state.st_mode))
            if found.is_dir()
            else found.stat().st_size
        )
    except (OSError, ValueError):
        return FileUse(node_id=node_id, param=param, path=path, exists=False)
    return FileUse(node_id=node_id, param=param, path=path, exists=True, size=size)
