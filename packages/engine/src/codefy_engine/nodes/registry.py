"""Which node types there are: Codefy's own and those of installed packages (G-2), and the hash of them all (X-8)."""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import pkgutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import cast

from codefy_engine.nodes.base import Node, NodeDefinitionError, NodeSpec
from codefy_engine.nodes.catalog import Catalog, LoadFailure
from codefy_engine.nodes.definition import NodeDefinition
from codefy_engine.nodes.importing import ImportFailed, guarded
from codefy_engine.nodes.single_files import file_source, import_node_file, is_file_source, node_files
from codefy_engine.nodes.type_hashes import catalog_hash, code_digest, type_hash

__all__ = [
    "ENTRY_POINT_GROUP",
    "LoadFailure",
    "Registry",
    "builtin_classes",
    "code_digest",
    "default_registry",
    "load_node_file",
    "load_registry",
    "node_classes",
    "reload_files",
]

ENTRY_POINT_GROUP = "codefy.nodes"
"""An entry point of this group names a module with node classes, or one node class."""


class Registry:
    """Node classes by type. It changes only by :meth:`take_over`, all at once; a run works on a :meth:`snapshot`.

    One that was made by :meth:`lazy` answers from a catalog until someone asks for a class.
    """

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
        self._failures = tuple(failures)
        self._catalog: Catalog | None = None
        self._load: Callable[[], Registry] | None = None
        """Makes the classes, while there are none yet."""
        self._loading = threading.RLock()

    @classmethod
    def lazy(cls, catalog: Catalog, load: Callable[[], Registry]) -> Registry:
        """A registry that knows its catalog. ``load`` is called once, by the first who asks for more.

        What it returns counts, should it differ from the catalog.
        """
        made = cls(())
        made._catalog, made._load = catalog, load
        return made

    def loaded(self) -> Registry:
        """This registry, with its classes imported. Who comes while another thread imports them waits for it."""
        if self._load is not None:
            with self._loading:
                if self._load is not None:
                    self.take_over(self._load())
        return self

    def take_over(self, other: Registry) -> None:
        """Have the types of another registry from now on, everywhere this one is used."""
        other.loaded()
        with self._loading:
            self._classes, self._migrates, self._failures = other._classes, other._migrates, other._failures
            self._catalog = other._catalog
            # Last: who sees it gone reads the classes without the lock.
            self._load = None

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
        if self._load is not None:
            self.loaded()
        return self._classes[node_type]

    def find(self, node_type: str) -> type[Node] | None:
        """The class of a type, or ``None``."""
        if self._load is not None:
            self.loaded()
        return self._classes.get(node_type)

    def spec(self, node_type: str) -> NodeSpec:
        """What the class of a type declares.

        Raises:
            KeyError: there is no such type.
        """
        return self.get(node_type).spec

    def definition(self, node_type: str) -> NodeDefinition | None:
        """What a type tells about itself, or ``None``. Imports nothing."""
        catalog = self.catalog()
        if node_type not in catalog.hashes:
            return None
        return next(item for item in catalog.definitions if item.type == node_type)

    def __contains__(self, node_type: object) -> bool:
        return node_type in self._types()

    def __len__(self) -> int:
        return len(self._types())

    def __iter__(self) -> Iterator[str]:
        return iter(self._types())

    def _types(self) -> Mapping[str, object]:
        catalog = self._catalog if self._load is not None else None
        return self._classes if catalog is None else catalog.hashes

    def catalog(self) -> Catalog:
        """All that is known without the classes, as of one moment. Imports nothing."""
        catalog = self._catalog
        if catalog is None:
            with self._loading:
                hashes = {name: type_hash(cls) for name, cls in sorted(self._classes.items())}
                found = [cls.spec.definition for cls in self._classes.values()]
                catalog = self._catalog = Catalog(
                    definitions=sorted(found, key=lambda item: (item.category, item.title, item.type)),
                    hashes=hashes,
                    catalog_hash=catalog_hash(hashes),
                    failures=self._failures,
                )
        return catalog

    def definitions(self) -> list[NodeDefinition]:
        """All definitions, by category and title."""
        return list(self.catalog().definitions)

    def suggest(self, node_type: str) -> str | None:
        """The type that a misspelled one most likely means."""
        by_lower = {name.lower(): name for name in self}
        close = difflib.get_close_matches(node_type.lower(), by_lower, n=1, cutoff=0.6)
        return by_lower[close[0]] if close else None

    @property
    def failures(self) -> tuple[LoadFailure, ...]:
        """What could not be loaded."""
        catalog = self._catalog if self._load is not None else None
        return self._failures if catalog is None else catalog.failures

    @property
    def migrates(self) -> bool:
        """Whether any type has parameters of older versions to migrate."""
        return self.loaded()._migrates

    @property
    def hashes(self) -> dict[str, str]:
        """SHA-256 by type of what it declares, prose left out; for third parties with their source (X-8)."""
        return self.catalog().hashes

    @property
    def catalog_hash(self) -> str:
        """SHA-256 of all types and their hashes."""
        return self.catalog().catalog_hash


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
    return file_classes(import_node_file(path), path.name)


def file_classes(module: ModuleType, name: str) -> list[type[Node]]:
    """The node classes of the module that a file of single nodes became; ``name`` is the file's.

    Raises:
        NodeDefinitionError: there are none.
    """
    classes = node_classes(module)
    if not classes:
        raise NodeDefinitionError(f"{name} defines no node class")
    for cls in classes:
        cls.spec.definition.source = file_source(name)
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


def check_free(classes: Iterable[type[Node]], taken: Mapping[str, str]) -> None:
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
    registry.loaded()
    kept = [cls for cls in map(registry.get, registry) if not is_file_source(cls.spec.definition.source)]
    failures = [failure for failure in registry.failures if not is_file_source(failure.source)]
    registry.take_over(_load(kept, _file_loaders(folder), failures))


def _file_loaders(folder: Path | None) -> list[Loader]:
    paths = [] if folder is None else node_files(folder)
    return [(file_source(path.name), functools.partial(load_node_file, path)) for path in paths]


def _load(
    classes: Sequence[type[Node]], loaders: Iterable[Loader], failures: Iterable[LoadFailure]
) -> Registry:
    found = list(classes)
    failed = list(failures)
    taken = {cls.spec.definition.type: cls.spec.definition.source for cls in found}
    for source, load in loaders:
        try:
            new = guarded(source, functools.partial(_free_classes, load, taken))
        except ImportFailed as error:
            failed.append(LoadFailure(source=source, error=str(error)))
            continue
        found += new
        taken.update({cls.spec.definition.type: cls.spec.definition.source for cls in new})
    return Registry(found, failed)


def _free_classes(load: Callable[[], list[type[Node]]], taken: Mapping[str, str]) -> list[type[Node]]:
    classes = load()
    check_free(classes, taken)
    return classes


@functools.cache
def default_registry() -> Registry:
    """The registry of this process, loaded once."""
    return load_registry()
