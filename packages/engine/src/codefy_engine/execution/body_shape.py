"""Which parts of an event body are the protocol's own words, and which a user's (X-5).

A secret may be any word, ``node`` or ``succeeded`` too. Taken out of the names of fields it would leave events that
nobody can read, so what the protocol itself writes is told from what users and their nodes write. All bodies share one
shape: no field means one thing in one body and another in the next.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from codefy_engine.execution.events import (
    CANCELLED,
    FAILED,
    REUSED,
    RUNNING,
    SKIPPED,
    SUCCEEDED,
    NodeProgressBody,
    NodeStatusBody,
)
from codefy_engine.execution.fingerprint import Fingerprint
from codefy_engine.graph.problems import GraphProblem
from codefy_engine.nodes.base import PORT_TYPES
from codefy_protocol import bodies, reasons


class Each(msgspec.Struct, frozen=True):
    """An object whose keys come from what a node declares, such as its ports."""

    item: Rule


class Identifier(msgspec.Struct, frozen=True):
    """A text that names a part of the graph, which everybody who sees the run can read anyway."""


class Number(msgspec.Struct, frozen=True):
    """A number that the engine counted or measured."""


Rule = None | Each | Identifier | Number | frozenset[str] | Mapping[str, "Rule"]
"""``None``: a user's, with its keys. A set: its members stay. A mapping: an object, or a list of them, whose keys stay."""

_ID = Identifier()
_NUMBER = Number()
_CODE = frozenset(reasons.codes())
_STATUS = frozenset({RUNNING, SUCCEEDED, REUSED, FAILED, SKIPPED, CANCELLED, "built"})
_PARAMS: Rule = dict.fromkeys(name for code in _CODE for name in reasons.parameters(code))
_PORT_FACTS = ("summary", "value", "shape", "dtype", "device", "values", "length", "parameters")


def _fields(struct: type[msgspec.Struct], rules: Mapping[str, Rule]) -> dict[str, Rule]:
    return {name: rules.get(name) for name in struct.__struct_fields__}


_REASON: dict[str, Rule] = {"code": _CODE, "node_id": _ID, "params": _PARAMS}
_PROBLEM = _fields(GraphProblem, _REASON)
ERROR: Mapping[str, Rule] = _fields(bodies.RunError, {**_REASON, "problems": _PROBLEM})
"""Of a ``RunError``."""
OUTPUTS: Rule = Each({"type": frozenset(PORT_TYPES), **dict.fromkeys(_PORT_FACTS)})
"""Of the facts by output port of a node."""

_MEASURED = ("duration_s", "step", "epochs", "ts", "size", "offset", "pid", "exit_code", "bytes", "cap")
_RULES: dict[str, Rule] = {
    **_REASON,
    **dict.fromkeys(_MEASURED, _NUMBER),
    "status": _STATUS,
    "error": ERROR,
    "error_reason": _CODE,
    "outputs": OUTPUTS,
    "peak_memory": _fields(bodies.PeakMemory, {"devices": Each(_NUMBER)}),
    "memory_limit": Each(_NUMBER),
    "device_aliases": Each(None),
    "scope": frozenset({"step", "epoch"}),
    "kind": frozenset({"checkpoint", "image", "table", "text", "model", "file"}),
    "backend": frozenset({"local", "mount", "transfer", "s3"}),
    "fingerprint": _fields(Fingerprint, {"numerics": Each(None), "packages": Each(None)}),
    "provenance": {
        **dict.fromkeys(("type", "version", "code", "params_hash", "seed", "device", "volatile", "ended_at")),
        "node_id": _ID,
        "status": _STATUS,
        "duration_s": _NUMBER,
        "inputs": Each(_ID),
        "input_hashes": Each(None),
    },
}
_PROGRESS = _fields(NodeProgressBody, _RULES)
_POINT = _fields(bodies.MetricPoint, _RULES)

BODY: Mapping[str, Rule] = {
    name: rule
    for struct in (
        NodeStatusBody,
        NodeProgressBody,
        bodies.RunStartedBody,
        bodies.ArtifactBody,
        bodies.WarningBody,
        bodies.ConsoleBody,
        bodies.RunFinishedBody,
    )
    for name, rule in _fields(struct, _RULES).items()
} | {
    **_RULES,
    "points": _POINT,
    "progress": _PROGRESS,
    "path": None,
    "elided": None,
    "fingerprint_digest": None,
}
"""Of everything that is told about a run."""
