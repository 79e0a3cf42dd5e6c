"""Pure builders: what happened → the JSON body that is stored and sent (V-2).

No I/O and no clock: the run child and the server make the same bytes of the same arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, cast

import msgspec

from codefy_protocol.bodies import ArtifactBody, MetricPoint, MetricsBody, RunError, WarningBody
from codefy_protocol.envelope import JsonNumber, encode_body, json_number
from codefy_protocol.reasons import Reason

NODE_STATUS = "node_status"
NODE_PROGRESS = "node_progress"
INNER_NODE_STATUS = "inner_node_status"

RUNNING = "running"
SUCCEEDED = "succeeded"
REUSED = "reused"
FAILED = "failed"
SKIPPED = "skipped"
CANCELLED = "cancelled"


class NodeStatusBody(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Payload of ``node_status``."""

    node_id: str
    status: str
    """``running``, ``succeeded``, ``reused``, ``failed``, ``skipped`` or ``cancelled``."""
    duration_s: float | None = None
    error: RunError | None = None
    outputs: dict[str, dict[str, Any]] | None = None
    """By port: ``type``, ``summary`` and small facts such as ``shape`` and ``dtype``."""


class NodeProgressBody(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Payload of ``node_progress``."""

    node_id: str = ""
    """Left out where it is a part of another payload."""
    fraction: JsonNumber | None = None
    """0..1; left out when the node cannot tell."""
    current: JsonNumber | None = None
    total: JsonNumber | None = None
    unit: str = ""
    text: str = ""
    epoch: JsonNumber | None = None
    epochs: int | None = None
    eta_s: JsonNumber | None = None
    metrics: dict[str, JsonNumber] = {}


def node_status(
    node_id: str,
    status: str,
    *,
    duration_s: float | None = None,
    error: RunError | None = None,
    outputs: dict[str, dict[str, Any]] | None = None,
) -> bytes:
    """Body of a ``node_status`` event."""
    return encode_body(
        NodeStatusBody(
            node_id=node_id,
            status=status,
            duration_s=None if duration_s is None else round(duration_s, 6),
            error=error,
            outputs=outputs,
        )
    )


def node_running(node_id: str) -> bytes:
    """Body of the ``node_status`` event of a node that starts: the same bytes, made faster."""
    return b'{"node_id":' + _encode_text(node_id) + _RUNNING


def node_succeeded(node_id: str, duration_s: float, outputs: dict[str, dict[str, Any]]) -> bytes:
    """Body of the ``node_status`` event of a node that succeeded."""
    return encode_body(
        NodeStatusBody(node_id=node_id, status=SUCCEEDED, duration_s=round(duration_s, 6), outputs=outputs)
    )


_encode_text = msgspec.json.Encoder().encode
_RUNNING = b',"status":"running"}'


def node_progress(
    node_id: str,
    fraction: float | None = None,
    *,
    current: float | None = None,
    total: float | None = None,
    unit: str = "",
    text: str = "",
    eta_s: float | None = None,
    epoch: float | None = None,
    epochs: int | None = None,
    metrics: Mapping[str, Any] | None = None,
) -> bytes:
    """Body of a ``node_progress`` event. The fraction follows from ``current`` and ``total`` when left out."""
    if fraction is None and current is not None and total:
        fraction = current / total
    if fraction is not None:
        # Also turns NaN into 0: a bar has no other place for it.
        fraction = min(1.0, max(0.0, fraction)) if fraction == fraction else 0.0  # NaN test
    return encode_body(
        NodeProgressBody(
            node_id=node_id,
            fraction=fraction,
            current=current,
            total=total,
            unit=unit,
            text=text,
            epoch=epoch,
            epochs=epochs,
            eta_s=eta_s,
            metrics={name: json_number(float(value)) for name, value in metrics.items()} if metrics else {},
        )
    )


def inner_node_status(node_id: str, path: Sequence[str], status: str, facts: Mapping[str, Any]) -> bytes:
    """Body of an ``inner_node_status`` event; ``facts`` are small, such as ``shape`` and ``parameters``."""
    return encode_body({"node_id": node_id, "path": list(path), "status": status, **plain(facts)})


def inner_node_progress(
    node_id: str, path: Sequence[str], fraction: float | None = None, **facts: Any
) -> bytes:
    """Body of an ``inner_node_status`` event of one that runs: under ``progress`` what ``node_progress`` would hold."""
    progress = msgspec.Raw(node_progress("", fraction, **facts))
    return encode_body({"node_id": node_id, "path": list(path), "status": RUNNING, "progress": progress})


def metric_points(points: Sequence[MetricPoint], node_id: str, ts: float) -> bytes:
    """Body of a metrics record; points without a node or a time get ``node_id`` and ``ts``."""
    return encode_body(
        MetricsBody(
            points=[
                point
                if point.node_id and point.ts
                else msgspec.structs.replace(point, node_id=point.node_id or node_id, ts=point.ts or ts)
                for point in points
            ]
        )
    )


def metric_point(
    name: str, value: float, step: int, *, epoch: float | None, scope: str, node_id: str, ts: float
) -> bytes:
    """Body of a metrics record with one point."""
    point = MetricPoint(
        name=name,
        value=json_number(float(value)),
        step=int(step),
        epoch=epoch,
        scope=scope,
        node_id=node_id,
        ts=ts,
    )
    return encode_body(MetricsBody(points=[point]))


def artifact(
    *,
    kind: str,
    name: str,
    path: str,
    node_id: str,
    size: int,
    sha256: str,
    media_type: str,
    meta: Mapping[str, Any],
) -> bytes:
    """Body of an artifact record; ``path`` is relative to the run's folder."""
    return encode_body(
        ArtifactBody(
            kind=kind,
            name=name,
            path=path,
            node_id=node_id,
            size=size,
            sha256=sha256,
            media_type=media_type,
            meta=plain(meta),
        )
    )


def warning(reason: Reason, node_id: str | None) -> bytes:
    """Body of a warning record."""
    return encode_body(
        WarningBody(code=reason.code, message=reason.message, params=plain(reason.params), node_id=node_id)
    )


def plain(value: Any) -> Any:
    """``value`` with JSON built-ins only: numpy and torch scalars become numbers, what is unknown becomes text."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        # numpy's float64 is a float that msgspec does not know.
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in cast("list[Any]", value)]
    if isinstance(value, PurePath):
        return value.as_posix()
    if callable(getattr(value, "tolist", None)):
        return plain(value.tolist())
    return str(value)
