"""Which node types there are: Codefy's own and those of installed packages (G-2), and the hash of them all (X-8)."""

from __future__ import annotations

import difflib
import functools
import hashlib
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import msgspec

from codefy_engine.nodes.base import Node, NodeDefinitionError, NodeSpec
from codefy_engine.nodes.definition import NodeDefinition
from codefy_engine.nodes.single_files import file_source, import_node_file, is_file_source, node_files

ENTRY_POINT_GROUP = "codefy.nodes"
"""An entry point of this group names a module with node classes, or one node class."""


class LoadFailure(msgspec.Struct, kw_only=True, frozen=True):
    """A package whose nodes could not be loaded. The others work without it."""

    source: str
    error: str


class Registry:
    """Node classes by type. It changes only by :meth:`take_over`, all at once; a run works on a :meth:`snapshot`."""

    def __init__(self, classes: Iterable[type[Node]], failures: Iterable[LoadFailure] = ()) -> None:
        found: dict[str, type[Node]] = {}
        for cls in classes:
            node_type = cls.spec.definition.type
            other = found.get(node_type)
            if other is not None:
                raise NodeDefinitionError(
                    f"the node type {node_type} is defined by {_qualified(other)} and by {_qualified(cls)}"
                )
            found[node_type] = cls
        self._classes = found
        self._migrates = any(cls.spec.migrations for cls in found.values())
        self.failures: tuple[LoadFailure, ...] = tuple(failures)
        """What could not be loaded."""

    def take_over(self, other: Registry) -> None:
        """Have the types of another registry from now on, everywhere this one is used."""
        self._classes, self._migrates, self.failures = other._classes, other._migrates, other.failures
        for cached in ("hashes", "catalog_hash"):
            self.__dict__.pop(cached, None)

    def snapshot(self) -> Registry:
        """The types as they are now, for work that is to see no change."""
        taken = Registry(())
        taken.take_over(self)
        return taken

    def get(self, node_type: str) -> type[Node]:
        """The class of a type.

        Raises:
            KeyError: there is no such type.
        """
        return self._classes[node_type]

    def find(self, node_type: str) -> type[Node] | None:
        """The class of a type, or ``None``."""
        return self._classes.get(node_type)

    def spec(self, node_type: str) -> NodeSpec:
        """What the class of a type declares.

        Raises:
            KeyError: there is no such type.
        """
        return self._classes[node_type].spec

    def __contains__(self, node_type: object) -> bool:
        return node_type in self._classes

    def __len__(self) -> int:
        return len(self._classes)

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def definitions(self) -> list[NodeDefinition]:
        """All definitions, by category and title."""
        found = [cls.spec.definition for cls in self._classes.values()]
        return sorted(found, key=lambda item: (item.category, item.title, item.type))

    def suggest(self, node_type: str) -> str | None:
        """The type that a misspelled one most likely means."""
        by_lower = {name.lower(): name for name in self._classes}
        close = difflib.get_close_matches(node_type.lower(), by_lower, n=1, cutoff=0.6)
        return by_lower[close[0]] if close else None

    @property
    def migrates(self) -> bool:
        """Whether any type has parameters of older versions to migrate."""
        return self._migrates

    @functools.cached_property
    def hashes(self) -> dict[str, str]:
        """SHA-256 by type of what it declares, prose left out; for third parties with their source (X-8)."""
        return {name: _type_hash(cls) for name, cls in sorted(self._classes.items())}

    @functools.cached_property
    def catalog_hash(self) -> str:
        """SHA-256 of all types and their hashes."""
        return hashlib.sha256(_canonical(self.hashes)).hexdigest()


def _type_hash(cls: type[Node]) -> str:
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


def _qualified(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def node_classes(module: ModuleType) -> list[type[Node]]:
    """The node classes that a module itself defines, in its order."""
    return [
        value
        for value in vars(module).values()
        if inspect.isclass(value)
        and issubclass(value, Node)
        and value.__module__ == module.__name__
        and "spec" in vars(value)
    ]


def builtin_classes() -> list[type[Node]]:
    """The node classes of ``codefy_engine.nodes.builtin``: one module per category."""
    package = importlib.import_module("codefy_engine.nodes.builtin")
    classes: list[type[Node]] = []
    for info in pkgutil.iter_modules(package.__path__):
        if not info.name.startswith("_"):
            classes += node_classes(importlib.import_module(f"{package.__name__}.{info.name}"))
    return classes


def load_node_file(path: Path) -> list[type[Node]]:
    """The node classes of one file.

    Raises:
        NodeDefinitionError: it defines none.
        Exception: whatever its import raises.
    """
    classes = node_classes(import_node_file(path))
    if not classes:
        raise NodeDefinitionError(f"{path.name} defines no node class")
    for cls in classes:
        cls.spec.definition.source = file_source(path)
    return classes


def _entry_point_classes(entry: EntryPoint) -> list[type[Node]]:
    loaded = cast("object", entry.load())
    if inspect.ismodule(loaded):
        classes = node_classes(loaded)
    elif inspect.isclass(loaded) and issubclass(loaded, Node):
        classes = [loaded]
    else:
        raise NodeDefinitionError(f"{entry.value} is neither a module nor a node class")
    source = entry.dist.name if entry.dist is not None else entry.value
    for cls in classes:
        cls.spec.definition.source = source
    return classes


def _check_free(classes: Iterable[type[Node]], taken: Mapping[str, str]) -> None:
    """``taken`` are the sources of the types there are.

    Raises:
        NodeDefinitionError: one of the classes takes a type that exists; both sources are named.
    """
    clash = sorted({cls.spec.definition.type for cls in classes} & taken.keys())
    if clash:
        listed = ", ".join(f"{name} (from {taken[name]})" for name in clash)
        raise NodeDefinitionError(f"the node types exist already: {listed}")


Loader = tuple[str, Callable[[], list[type[Node]]]]
"""A source of nodes by its name, and what loads them."""


def load_registry(entries: Iterable[EntryPoint] | None = None, folder: Path | None = None) -> Registry:
    """Load Codefy's nodes, those of the given entry points (of all installed packages by default), and those of the
    files ``folder/*.py``.

    A package or file that cannot be loaded, or that takes a type that exists, is left out and listed in ``failures``.
    """
    chosen = entry_points(group=ENTRY_POINT_GROUP) if entries is None else entries
    packages: list[Loader] = [
        (entry.name, functools.partial(_entry_point_classes, entry)) for entry in chosen
    ]
    return _load(builtin_classes(), [*packages, *_file_loaders(folder)], ())


def reload_files(registry: Registry, folder: Path) -> None:
    """Load the files of single nodes anew, into the registry; the other nodes stay.

    A file that cannot be loaded any more is listed in ``failures``, and its nodes are gone.
    """
    kept = [cls for cls in map(registry.get, registry) if not is_file_source(cls.spec.definition.source)]
    failures = [failure for failure in registry.failures if not is_file_source(failure.source)]
    registry.take_over(_load(kept, _file_loaders(folder), failures))


def _file_loaders(folder: Path | None) -> list[Loader]:
    paths = [] if folder is None else node_files(folder)
    return [(file_source(path), functools.partial(load_node_file, path)) for path in paths]


def _load(
    classes: Sequence[type[Node]], loaders: Iterable[Loader], failures: Iterable[LoadFailure]
) -> Registry:
    found = list(classes)
    failed = list(failures)
    taken = {cls.spec.definition.type: cls.spec.definition.source for cls in found}
    for source, load in loaders:
        try:
            new = load()
            _check_free(new, taken)
        except (Exception, SystemExit) as error:  # a stranger's import may raise anything
            failed.append(LoadFailure(source=source, error=f"{type(error).__name__}: {error}"))
            continue
        found += new
        taken.update({cls.spec.definition.type: cls.spec.definition.source for cls in new})
    return Registry(found, failed)


@functools.cache
def default_registry() -> Registry:
    """The registry of this process, loaded once."""
    return load_registry()
