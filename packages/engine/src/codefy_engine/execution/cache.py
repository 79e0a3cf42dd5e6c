"""Results of nodes that later runs of the same session may reuse (G-4): what decides, and the bounded store.

A node's key is a digest of its type with version and code, its parameters, its id (which decides its random numbers),
the run's seed and device, the subgraphs and presets that it names, size and time of the files that it names, and the
keys of its inputs. Keys follow from the plan alone, so what needs to run is known before anything does. Files whose
path only came over a wire are no part of a key: a result remembers what it and its sources read, and is worth nothing
once one of these files is another.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

import msgspec

from codefy_engine.graph.file_trees import entries_below
from codefy_engine.graph.plan import NODE_DEVICE, Plan, PlannedNode
from codefy_engine.graph.prepare import Prepared
from codefy_engine.graph.presets import PRESET, Presets
from codefy_engine.nodes.base import Node
from codefy_engine.nodes.registry import code_digest

DEFAULT_MAX_BYTES = 1 << 30
MAX_KNOWN = 50_000
"""Nodes whose facts are kept after their values had to go."""

MAX_KNOWN_BYTES = 64 << 20
"""Of what these nodes told: without it they would be reused in silence, so they go with it."""

_encode = msgspec.json.Encoder(order="deterministic", enc_hook=repr).encode
_DEPTH = 6
_COUNTED_ITEMS = 1000
"""Items of a list whose changes in place are looked for."""


@dataclass(slots=True)
class Result:
    """What a node gave. ``outputs`` is ``None`` when only its facts are kept."""

    outputs: dict[str, Any] | None
    facts: dict[str, dict[str, Any]]
    size: int = 0
    files: tuple[str, ...] = ()
    """Artifacts it wrote: without them it has to run again."""
    versions: tuple[tuple[str, int], ...] = ()
    """Counters of in-place changes of its tensors."""
    event: bytes = b""
    """The body of its ``reused`` event."""
    records: tuple[tuple[str, bytes], ...] = ()
    """All that it told: metrics, artifacts, warnings, states of inner nodes, lines of the console."""
    run_dir: str = ""
    """Where its artifacts lie."""
    reads: tuple[tuple[str, bytes], ...] = ()
    """Files that it or what it depends on read, each with its stamp from then."""
    trace: Any = None
    """Its steps, where they were recorded."""

    def usable(self, stamp: Callable[[str], bytes]) -> bool:
        """Whether nothing it stands for was changed or removed since; ``stamp`` gives that of a path today."""
        outputs = self.outputs
        if outputs is not None:
            for port, version in self.versions:
                if _changes(outputs[port]) != version:
                    return False
        if self.reads and any(stamp(path) != then for path, then in self.reads):
            return False
        return not self.files or all(Path(path).exists() for path in self.files)

    @property
    def told(self) -> int:
        """Bytes of what it told."""
        return sum(len(body) for _, body in self.records)


def _changes(value: Any, deep: bool = True) -> int | None:
    """How often a tensor, or those in a list or a model, were changed in place; ``None`` for what does not count it."""
    kind = cast("type[object]", type(value))
    if kind is int or kind is float or kind is str or value is None:
        return None
    if deep and isinstance(value, list | tuple):
        counted = (_changes(item, False) for item in cast("Sequence[Any]", value)[:_COUNTED_ITEMS])
        found = [count for count in counted if count is not None]
        return sum(found) if found else None
    if deep and callable(getattr(value, "state_dict", None)) and callable(getattr(value, "parameters", None)):
        return sum(_changes(parameter, False) or 0 for parameter in value.parameters())
    try:
        version = getattr(value, "_version", None)
    except RuntimeError:
        # A tensor made in inference mode.
        return None
    return version if isinstance(version, int) else None


def result_of(
    outputs: dict[str, Any],
    facts: dict[str, dict[str, Any]],
    files: Sequence[Path],
    event: bytes,
    records: Sequence[tuple[str, bytes]] = (),
    run_dir: str = "",
    reads: Mapping[str, bytes] | None = None,
    trace: Any = None,
) -> Result:
    """A result to keep."""
    counted = ((port, _changes(value)) for port, value in outputs.items())
    versions = tuple((port, version) for port, version in counted if version is not None)
    return Result(
        outputs=outputs,
        facts=facts,
        size=size_of(outputs) + sum(len(body) for _, body in records) + (0 if trace is None else trace.size),
        files=tuple(str(path) for path in files),
        versions=versions,
        event=event,
        records=tuple(records),
        run_dir=run_dir,
        reads=tuple((reads or {}).items()),
        trace=trace,
    )


class ResultCache:
    """Results by key, bounded in bytes; what was used longest ago goes first. Used from any thread."""

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self._lock = threading.Lock()
        self._results: OrderedDict[bytes, Result] = OrderedDict()
        self._known: OrderedDict[bytes, Result] = OrderedDict()
        self._bytes = 0
        self._told = 0

    @property
    def size(self) -> int:
        """Bytes of the values that are kept."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._results)

    def get(self, key: bytes, stamp: Callable[[str], bytes] | None = None) -> Result | None:
        """The result of a key, perhaps its facts only; one that was changed since is dropped.

        ``stamp`` gives the stamp of a path, :func:`stamp_of` when left out.
        """
        result = self._results.get(key) or self._known.get(key)
        if result is None:
            return None
        if not result.usable(stamp or stamp_of):
            self.drop(key)
            return None
        return result

    def touch(self, keys: Sequence[bytes]) -> None:
        """Tell that these were used now."""
        with self._lock:
            for key in keys:
                if key in self._results:
                    self._results.move_to_end(key)

    def put(self, key: bytes, result: Result) -> None:
        """Keep a result; one larger than the whole store leaves its facts only."""
        with self._lock:
            self._remove(key)
            self._known[key] = Result(
                None,
                result.facts,
                files=result.files,
                event=result.event,
                records=result.records,
                run_dir=result.run_dir,
                reads=result.reads,
            )
            self._told += result.told
            while len(self._known) > MAX_KNOWN or self._told > MAX_KNOWN_BYTES:
                _, oldest = self._known.popitem(last=False)
                self._told -= oldest.told
            if result.size > self.max_bytes:
                return
            self._results[key] = result
            self._bytes += result.size
            while self._bytes > self.max_bytes:
                _, oldest = self._results.popitem(last=False)
                self._bytes -= oldest.size

    def drop(self, key: bytes) -> None:
        """Forget a result."""
        with self._lock:
            self._remove(key)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._results.clear()
            self._known.clear()
            self._bytes = self._told = 0

    def _remove(self, key: bytes) -> None:
        known = self._known.pop(key, None)
        if known is not None:
            self._told -= known.told
        result = self._results.pop(key, None)
        if result is not None:
            self._bytes -= result.size


# ---------------------------------------------------------------------- keys


def always_runs(cls: type[Node]) -> bool:
    """Whether nodes of the class are never reused: what only shows or writes is done each time."""
    definition = cls.spec.definition
    return not definition.deterministic or definition.writes or not cls.spec.outputs


@dataclass(slots=True)
class Keys:
    """Makes the keys of one run's nodes."""

    prepared: Prepared
    files_dir: Path
    settings: bytes
    """What all nodes of the run depend on: seed, device, numerics."""
    _levels: dict[tuple[str, str], bytes] = field(default_factory=dict[tuple[str, str], bytes])

    def of(self, plan: Plan, position: Mapping[str, int]) -> list[bytes | None]:
        """A key for each node; ``None`` for one that may not be reused, nor what depends on it."""
        keys: list[bytes | None] = []
        common: dict[type, tuple[bytes, bool, tuple[tuple[str, str], ...]]] = {}
        for planned in plan.nodes:
            cls = planned.node_class
            about = common.get(cls)
            if about is None:
                spec = cls.spec
                head = _encode([spec.definition.type, spec.definition.version, code_digest(cls)])
                named = tuple(
                    (name, item.definition.kind)
                    for name, item in spec.params.items()
                    if item.definition.kind in ("file", "subgraph", "preset")
                )
                about = common[cls] = (head + self.settings, always_runs(cls), named)
            head, again, named = about
            if again:
                keys.append(None)
                continue
            parts = [head, _encode([planned.id, planned.params, planned.device])]
            for port, source in planned.inputs.items():
                key = keys[position[source.node_id]]
                if key is None:
                    break
                parts += (key, port.encode(), b"\0", source.port.encode(), b"\0")
            else:
                for name, kind in named:
                    parts.append(self._named(planned, name, kind))
                keys.append(blake2b(b"".join(parts), digest_size=16).digest())
                continue
            keys.append(None)
        return keys

    def _named(self, planned: PlannedNode, name: str, kind: str) -> bytes:
        value = planned.params[name]
        if not isinstance(value, str) or not value:
            return b""
        if kind != "file":
            return self._level(kind, value)
        return stamp_of(self.files_dir / value)

    def _level(self, kind: str, name: str) -> bytes:
        """A digest of a subgraph or preset with all that it names in turn."""
        found = self._levels.get((kind, name))
        if found is not None:
            return found
        # Validation refuses one that contains itself; this ends the search all the same.
        self._levels[kind, name] = b""
        prepared = self.prepared
        digest = blake2b(digest_size=16)
        if kind == "subgraph":
            level = prepared.document.subgraphs[name]
        else:
            level = prepared.preset(name)
            # What it exposes under which name decides what is given in and comes out.
            shown = (prepared.presets or Presets(prepared.source)).template(PRESET, name).params
            digest.update(
                _encode([level.inputs, level.outputs, [[item.name, item.node, item.param] for item in shown]])
            )
        for node in level.nodes:
            device = node.data.extra.get(NODE_DEVICE)
            digest.update(_encode([node.id, node.type, node.data.params, device]))
            cls = None if prepared.registry is None else prepared.registry.find(node.type)
            if cls is None:
                continue
            digest.update(code_digest(cls).encode())
            for param, item in cls.spec.params.items():
                value = node.data.params.get(param, cls.spec.defaults[param])
                if not isinstance(value, str) or not value:
                    continue
                if item.definition.kind in ("subgraph", "preset"):
                    digest.update(self._level(item.definition.kind, value))
                elif item.definition.kind == "file":
                    digest.update(stamp_of(self.files_dir / value))
        for edge in level.edges:
            digest.update(_encode([edge.source, edge.source_handle, edge.target, edge.target_handle]))
        self._levels[kind, name] = digest.digest()
        return self._levels[kind, name]


def with_reads(key: bytes | None, reads: Mapping[str, bytes] | None) -> bytes | None:
    """A digest of everything that decided a result: its key, and the files whose paths came over wires."""
    if key is None or not reads:
        return key
    digest = blake2b(key, digest_size=16)
    for path, stamp in sorted(reads.items()):
        digest.update(f"{path}\0".encode(errors="replace") + stamp)
    return digest.digest()


def stamp_of(path: Path | str) -> bytes:
    """Size and time of a file, or of all files in a folder, behind links too: another one when they were changed."""
    path = Path(path)
    try:
        if not path.is_dir():
            found = path.stat()
            return f"{found.st_size} {found.st_mtime_ns}".encode()
        digest = blake2b(digest_size=16)
        for item, found in entries_below(path):
            digest.update(f"{item} {found.st_size} {found.st_mtime_ns}\n".encode(errors="replace"))
    except (OSError, ValueError):
        return b"absent"
    return digest.digest()


# ---------------------------------------------------------------------- sizes


def size_of(value: Any) -> int:
    """About how many bytes a value takes: tensors and arrays by their storage, others by what they hold."""
    return _size(value, set(), _DEPTH)


def _size(value: Any, seen: set[int], depth: int) -> int:
    if value is None or isinstance(value, int | float | bool):
        return 32
    if isinstance(value, str | bytes):
        return 64 + len(value)
    if id(value) in seen:
        return 0
    seen.add(id(value))
    size = getattr(value, "nbytes", None)
    if isinstance(size, int):
        return size + 256
    if depth == 0:
        return 1024
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value)
        return 64 + sum(_size(key, seen, depth) + _size(item, seen, depth - 1) for key, item in items.items())
    if isinstance(value, list | tuple | set | frozenset):
        return 64 + sum(_size(item, seen, depth - 1) for item in cast("list[Any]", value))
    if callable(getattr(value, "state_dict", None)) and callable(getattr(value, "parameters", None)):
        tensors = [*value.parameters(), *(value.buffers() if hasattr(value, "buffers") else ())]
        return 4096 + sum(_size(tensor, seen, depth) for tensor in tensors)
    fields = getattr(value, "__dict__", None)
    if fields is None:
        names: Any = getattr(cast("type[object]", type(value)), "__slots__", ())
        fields = {name: getattr(value, name, None) for name in names} if names else {}
    return sys.getsizeof(value, 64) + sum(_size(item, seen, depth - 1) for item in fields.values())
