"""The JSON bodies of run records, as structs: built where the graph runs, decoded only where a row needs the fields.

``encode_body`` turns any of them into bytes. Values that may be NaN or infinite are typed ``JsonNumber``.
"""

from __future__ import annotations

from typing import Any

import msgspec

from codefy_protocol.envelope import JsonNumber

ParamValue = str | int | float | bool | None | list[Any] | dict[str, Any]
"""What a reason's parameters may hold."""


class RunError(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a run did not succeed. ``code`` comes from ``reasons``; ``message`` is English for people."""

    code: str
    message: str
    params: dict[str, ParamValue] = {}
    node_id: str | None = None
    traceback: str | None = None
    """Trimmed to the user's code."""
    problems: list[dict[str, Any]] | None = None
    """For an invalid graph: every problem."""
    output_tail: str | None = None
    """The last 4 KiB of the console when the child died without reporting (P-7)."""


class PeakMemory(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Peak memory in bytes by device name of the run."""

    devices: dict[str, int] = {}
    exact: bool = False


class RunStartedBody(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    pid: int
    engine_version: str
    python: str = ""
    torch: str = ""
    device: str = "cpu"
    visible_devices: list[str] = []
    """What the child sees, in its own order: UUIDs, or indices for cards without one."""
    device_aliases: dict[str, str] = {}
    """The run's name of a device → the machine's name, ``{"cuda:0": "cuda:2"}``."""
    memory_limit: dict[str, int] = {}


class MetricPoint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    """Such as ``loss``, ``accuracy``, ``val_loss``, ``lr``, ``samples_per_second``."""
    value: JsonNumber
    step: int
    """Optimizer steps since the start of training, from 1."""
    epoch: float | None = None
    """Epochs since the start; set on per-epoch points (whole numbers from 1)."""
    scope: str = "step"
    """``step`` or ``epoch``: how often the metric is taken."""
    node_id: str = ""
    ts: float = 0.0


class MetricsBody(msgspec.Struct, frozen=True, kw_only=True):
    points: list[MetricPoint]


class ArtifactBody(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    kind: str
    """``checkpoint``, ``image``, ``table``, ``text``, ``model``, ``file``."""
    name: str
    """What people see, such as ``checkpoint-last.pt``."""
    path: str
    """Relative to the run's folder, with forward slashes."""
    node_id: str = ""
    size: int | None = None
    sha256: str | None = None
    media_type: str = "application/octet-stream"
    meta: dict[str, Any] = {}
    backend: str = "local"
    """``local``, ``mount``, ``transfer`` or ``s3``."""


class WarningBody(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Payload of a ``run_warning`` event."""

    code: str
    message: str
    params: dict[str, ParamValue] = {}
    node_id: str | None = None


class ConsoleBody(msgspec.Struct, frozen=True, kw_only=True):
    offset: int
    """Position of the first byte in the run's log, so that storing it twice changes nothing."""
    text: str
    size: int
    """UTF-8 bytes of ``text``."""


class RunFinishedBody(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    status: str
    """``succeeded``, ``failed`` or ``cancelled``."""
    error: RunError | None = None
    peak_memory: PeakMemory | None = None
    exit_code: int | None = None
    signal: str | None = None
    """Name of the signal that ended the child, such as ``SIGKILL``."""
