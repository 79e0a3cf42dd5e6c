"""Files of single nodes that go to another machine with a run, and what they become there (G-2).

The sender takes the bytes that its registry was loaded from, so a file that changed since is not mixed in. The receiver
makes a registry of its own for the run; what the process has loaded otherwise stays as it is.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Mapping

from msgspec import Struct

from codefy_engine.nodes.base import Node
from codefy_engine.nodes.importing import ImportFailed, guarded
from codefy_engine.nodes.registry import Registry, check_free, file_classes
from codefy_engine.nodes.single_files import (
    FOLDER,
    file_source,
    import_node_source,
    is_file_source,
    source_of,
)
from codefy_protocol.pipe import NodeFile

BUILTIN = "builtin"


class SourceFile(Struct, kw_only=True, frozen=True):
    """A file of single nodes, as its nodes were loaded from it."""

    name: str
    """Without a folder: ``filters.py``."""
    sha256: str
    content: bytes
    types: tuple[str, ...]
    """The node types that are wanted of it, sorted."""


class NodeFileFailed(Exception):
    """A file of single nodes cannot be loaded here; the message says why."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


def source_files(types: Iterable[str], registry: Registry) -> list[SourceFile]:
    """The files that some node types come from, by name. Types that are unknown or come from elsewhere have none."""
    wanted: dict[str, list[str]] = {}
    for node_type in sorted(set(types)):
        found = registry.find(node_type)
        if found is not None and is_file_source(found.spec.definition.source):
            wanted.setdefault(found.spec.definition.source, []).append(node_type)
    files: list[SourceFile] = []
    for source, its_types in sorted(wanted.items()):
        module = inspect.getmodule(registry.get(its_types[0]))
        content = None if module is None else source_of(module)
        if module is None or content is None:
            continue  # a class that a test or a program handed in: there is no file to send
        files.append(
            SourceFile(
                name=source.removeprefix(f"{FOLDER}/"),
                sha256=vars(module)["__codefy_digest__"],
                content=content,
                types=tuple(its_types),
            )
        )
    return files


def packages_of(types: Iterable[str], registry: Registry) -> dict[str, str]:
    """The types of packages other than Codefy's own → the package. Imports none of them."""
    found = {name: found.source for name in types if (found := registry.definition(name)) is not None}
    return {
        name: source for name, source in found.items() if source != BUILTIN and not is_file_source(source)
    }


def missing_types(wanted: Mapping[str, str], registry: Registry) -> dict[str, str]:
    """What of ``wanted`` (types of packages → the package) is not installed here."""
    return {name: package for name, package in wanted.items() if name not in registry}


def with_node_files(registry: Registry, files: Iterable[NodeFile]) -> Registry:
    """A registry with the types of ``registry`` and those of the files; ``registry`` itself does not change.

    Raises:
        NodeFileFailed: a file cannot be imported, defines no nodes, or one of a type that exists.
    """
    classes = [registry.get(name) for name in registry]
    taken = {cls.spec.definition.type: cls.spec.definition.source for cls in classes}
    for file in files:
        try:
            new = guarded(file_source(file.name), functools.partial(_file_classes, file, taken))
        except ImportFailed as error:
            raise NodeFileFailed(file.name, str(error)) from error.__cause__
        classes += new
        taken.update({cls.spec.definition.type: cls.spec.definition.source for cls in new})
    return Registry(classes, registry.failures)


def _file_classes(file: NodeFile, taken: Mapping[str, str]) -> list[type[Node]]:
    classes = file_classes(import_node_source(file.name, file.content), file.name)
    check_free(classes, taken)
    return classes
