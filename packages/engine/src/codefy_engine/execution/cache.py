"""Results of nodes that later runs of the same session may reuse (G-4): what decides, and the bounded store.

A node's key is a digest of its type with version and code, its parameters, its id (which decides its random numbers),
the run's seed and device, the subgraphs and presets that it names, size and time of the files that it names, and the
keys of its inputs. Keys follow from the plan alone, so what needs to run is known before anything does.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

import msgspec

from codefy_engine.graph.plan import Plan, PlannedNode
from codefy_engine.graph.prepare import Prepared
from codefy_engine.nodes.registry import code_digest

DEFAULT_MAX_BYTES = 1 << 30
MAX_KNOWN = 50_000
"""Nodes whose facts are kept after their values had to go."""

MAX_KNOWN_RECORDS = 1000
"""Metrics and artifacts that are told again for a node whose value had to go."""

_encode = msgspec.json.Encoder(order="deterministic", enc_hook=repr).encode
_DEPTH = 6


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
    """Metrics and artifacts that it told."""
    run_dir: str = ""
    """Where its artifacts lie."""

    def usable(self) -> bool:
        """Whether nothing it stands for was changed or removed since."""
        outputs = self.outputs
        if outputs is not None:
            for port, version in self.versions:
                if _changes(outputs[port]) != version:
                    return False
        return not self.files or all(Path(path).exists() for path in self.files)


def _changes(value: Any) -> int | None:
    """How often a tensor was changed in place, or ``None`` for what does not count it."""
    try:
        found = getattr(value, "_version", None)
    except RuntimeError:
        # A tensor made in inference mode.
        return None
    return found if isinstance(found, int) else None


def result_of(
    outputs: dict[str, Any],
    facts: dict[str, dict[str, Any]],
    files: Sequence[Path],
    event: bytes,
    records: Sequence[tuple[str, bytes]] = (),
    run_dir: str = "",
) -> Result:
    """A result to keep."""
    counted = ((port, _changes(value)) for port, value in outputs.items())
    versions = tuple((port, version) for port, version in counted if version is not None)
    return Result(
        outputs=outputs,
        facts=facts,
        size=size_of(outputs) + sum(len(body) for _, body in records),
        files=tuple(str(path) for path in files),
        versions=versions,
        event=event,
        records=tuple(records),
        run_dir=run_dir,
    )


class ResultCache:
    """Results by key, bounded in bytes; what was used longest ago goes first. Used from any thread."""

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self._lock = threading.Lock()
        self._results: OrderedDict[bytes, Result] = OrderedDict()
        self._known: OrderedDict[bytes, Result] = OrderedDict()
        self._bytes = 0

    @property
    def size(self) -> int:
        """Bytes of the values that are kept."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._results)

    def get(self, key: bytes) -> Result | None:
        """The result of a key, perhaps its facts only; one that was changed since is dropped."""
        result = self._results.get(key) or self._known.get(key)
        if result is None:
            return None
        if not result.usable():
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
                records=result.records if len(result.records) <= MAX_KNOWN_RECORDS else (),
                run_dir=result.run_dir,
            )
            while len(self._known) > MAX_KNOWN:
                self._known.popitem(last=False)
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
            self._bytes = 0

    def _remove(self, key: bytes) -> None:
        self._known.pop(key, None)
        result = self._results.pop(key, None)
        if result is not None:
            self._bytes -= result.size


# ---------------------------------------------------------------------- keys


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
                # What only shows or writes is done each time: its effect may be gone.
                again = not spec.definition.deterministic or spec.definition.writes or not spec.outputs
                about = common[cls] = (head + self.settings, again, named)
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
        return _stamp(self.files_dir / value)

    def _level(self, kind: str, name: str) -> bytes:
        """A digest of a subgraph or preset with all that it names in turn."""
        found = self._levels.get((kind, name))
        if found is not None:
            return found
        # Validation refuses one that contains itself; this ends the search all the same.
        self._levels[kind, name] = b""
        prepared = self.prepared
        level = prepared.document.subgraphs[name] if kind == "subgraph" else prepared.preset(name)
        digest = blake2b(digest_size=16)
        for node in level.nodes:
            digest.update(_encode([node.id, node.type, node.data.params]))
            cls = None if prepared.registry is None else prepared.registry.find(node.type)
            if cls is None:
                continue
            digest.update(code_digest(cls).encode())
            for param, item in cls.spec.params.items():
                value = node.data.params.get(param, cls.spec.defaults[param])
                if item.definition.kind in ("subgraph", "preset") and isinstance(value, str) and value:
                    digest.update(self._level(item.definition.kind, value))
        for edge in level.edges:
            digest.update(_encode([edge.source, edge.source_handle, edge.target, edge.target_handle]))
        self._levels[kind, name] = digest.digest()
        return self._levels[kind, name]


def _stamp(path: Path) -> bytes:
    """Size and time of a file, or of all files in a folder."""
    try:
        if not path.is_dir():
            found = path.stat()
            return f"{found.st_size} {found.st_mtime_ns}".encode()
        digest = blake2b(digest_size=16)
        for item in sorted(path.rglob("*")):
            found = item.stat()
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
