"""Worker names, device strings and targets: parsing and canonical form (S-1, S-6)."""

from __future__ import annotations

import re
from typing import Any

import msgspec

LOCAL = "local"
ANY = "any"
RESERVED_WORKER_NAMES = frozenset((LOCAL, ANY))

_WORKER = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_WORKER_OR_INSTANCE = re.compile(r"[a-z0-9][a-z0-9-]{0,62}(\.[a-z0-9][a-z0-9-]{0,62})?")
_DEVICE = re.compile(r"(cpu|cuda|mps)(?::(0|[1-9][0-9]{0,3}))?")


class BadName(ValueError):
    """A name or device string is not legal; the message says what is."""


def check_worker_name(name: str, *, instances: bool = True) -> str:
    """Return ``name`` when a worker may be called so.

    Raises:
        BadName: illegal or reserved.
    """
    pattern = _WORKER_OR_INSTANCE if instances else _WORKER
    if not pattern.fullmatch(name):
        raise BadName(
            f"{name!r} is not a worker name: use lower-case letters, digits and hyphens, "
            "starting with a letter or digit, at most 63"
        )
    if name in RESERVED_WORKER_NAMES:
        raise BadName(f"{name!r} is reserved: choose another worker name")
    return name


class DeviceName(msgspec.Struct, frozen=True):
    """A parsed device string. ``index`` is ``None`` in ``cuda`` (the current card) and for ``cpu``."""

    kind: str
    index: int | None = None

    def __str__(self) -> str:
        return self.kind if self.index is None else f"{self.kind}:{self.index}"

    @property
    def concrete(self) -> bool:
        """Whether it names one device rather than a kind."""
        return self.kind == "cpu" or self.index is not None


def parse_device(text: str) -> DeviceName:
    """Parse ``cpu``, ``cuda``, ``cuda:N``, ``mps`` or ``mps:N``; ``cpu:0`` is ``cpu``.

    Raises:
        BadName: anything else.
    """
    match = _DEVICE.fullmatch(text)
    if match is None or (match[1] == "cpu" and match[2] not in (None, "0")):
        raise BadName(f"{text!r} is not a device: use cpu, cuda, cuda:N or mps")
    if match[1] == "cpu":
        return DeviceName("cpu")
    if match[1] == "mps":
        return DeviceName("mps", 0)
    return DeviceName(match[1], None if match[2] is None else int(match[2]))


def local_queue_key(device: DeviceName) -> str:
    """Queue key of a local run: its canonical device (S-1)."""
    return str(device)


def worker_queue_key(worker: str, requested_device: str) -> str:
    """Queue key of a worker run: ``gpu-box-1/cuda``, ``any/cpu`` (S-1)."""
    return f"{worker}/{requested_device}"


class Target(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Where a run is to go: ``options.target`` of a submission."""

    worker: str | None = None
    devices: tuple[str, ...] | None = None
    pool: str | None = None
    memory_gib: float | None = None
    memory_source: str | None = None
    wait: bool = True


class RunOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Options of a submission. Unknown keys are refused: a misspelled option must not be ignored."""

    device: str | None = None
    """Overrides ``settings.device`` of the graph."""
    target: Target | None = None
    lane: str = "queued"
    """``queued`` or ``interactive``."""
    seed: int | None = None
    deterministic: bool = False
    record_outputs: bool = False
    provenance: bool = False
    priority: int = 0
    retry: dict[str, Any] | None = None
    resume_grace_s: float | None = None
    error_mode: str = "stop"
    until_node: str | None = None
    """Run only this node and what it depends on; inside a preset ``preset/inner``."""


def check_target(target: Target) -> Target:
    """Return ``target`` when it is legal (S-6).

    Raises:
        BadName: an illegal worker name or device, several kinds, or a repeat.
    """
    if target.worker is not None and target.worker not in RESERVED_WORKER_NAMES:
        check_worker_name(target.worker)
    if target.devices is not None:
        parsed = [parse_device(text) for text in target.devices]
        if not parsed:
            raise BadName("target.devices is empty: leave it out, or name at least one device")
        for text, device in zip(target.devices, parsed, strict=True):
            if not device.concrete:
                raise BadName(f"target.devices names concrete devices: write {text}:0 instead of {text}")
        if len({device.kind for device in parsed}) > 1:
            raise BadName("target.devices are of one kind: " + ", ".join(target.devices))
        if len(set(parsed)) < len(parsed):
            raise BadName("target.devices repeats a device: " + ", ".join(target.devices))
    return target
