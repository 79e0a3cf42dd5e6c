"""Which node types there are: Codefy's own and those of installed packages (G-2), and the hash of them all (X-8)."""

from __future__ import annotations

import difflib
import functools
import hashlib
import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any, cast

import msgspec

from codefy_engine.nodes.base import Node, NodeDefinitionError, NodeSpec
from codefy_engine.nodes.definition import NodeDefinition

ENTRY_POINT_GROUP = "codefy.nodes"
"""An entry point of this group names a module with node classes, or one node class."""


class LoadFailure(msgspec.Struct, kw_only=True, frozen=True):
    """A package whose nodes could not be loaded. The others work without it."""

    source: str
    error: str


class Registry:
    """Node classes by type. Not changed after it was built."""

    def __init__(self, classes: Iterable[type[Node]], failures: Iterable[LoadFailure] = ()) -> None:
        self._classes: dict[str, type[Node]] = {}
        for cls in classes:
            node_type = cls.spec.definition.type
            other = self._classes.get(node_type)
            if other is not None:
                raise NodeDefinitionError(
                    f"the node type {node_type} is defined by {_qualified(other)} and by {_qualified(cls)}"
                )
            self._classes[node_type] = cls
        self._migrates = any(cls.spec.migrations for cls in self._classes.values())
        self.failures: tuple[LoadFailure, ...] = tuple(failures)
        """What could not be loaded."""

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


def _check_free(classes: Iterable[type[Node]], taken: set[str]) -> None:
    clash = sorted(taken.intersection(cls.spec.definition.type for cls in classes))
    if clash:
        raise NodeDefinitionError(f"the node types {', '.join(clash)} exist already")


def load_registry(entries: Iterable[EntryPoint] | None = None) -> Registry:
    """Load Codefy's nodes and those of the given entry points (of all installed packages by default).

    A package that cannot be loaded, or that takes a type that exists, is left out and listed in ``failures``.
    """
    classes = builtin_classes()
    taken = {cls.spec.definition.type for cls in classes}
    failures: list[LoadFailure] = []
    for entry in entry_points(group=ENTRY_POINT_GROUP) if entries is None else entries:
        try:
            found = _entry_point_classes(entry)
            _check_free(found, taken)
        except Exception as error:  # a stranger's import may raise anything
            failures.append(LoadFailure(source=entry.name, error=f"{type(error).__name__}: {error}"))
            continue
        classes += found
        taken.update(cls.spec.definition.type for cls in found)
    return Registry(classes, failures)


@functools.cache
def default_registry() -> Registry:
    """The registry of this process, loaded once."""
    return load_registry()
