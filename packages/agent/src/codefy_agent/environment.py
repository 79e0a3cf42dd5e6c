"""The environment of a run child (P-2, P-10): which cards it sees, and what it must not see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codefy_protocol.frames import DeviceIdentity
from codefy_protocol.names import parse_device

_REMOVED = frozenset(
    (
        "CODEFY_DB_PATH",
        # Where another environment's packages would come from: the child's interpreter has its own.
        "PYTHONPATH",
        "PYTHONHOME",
        "PYTHONSTARTUP",
        "PYTHONEXECUTABLE",
        "VIRTUAL_ENV",
        "__PYVENV_LAUNCHER__",
        # Visibility of AMD cards, which would apply on top of ours.
        "ROCR_VISIBLE_DEVICES",
        "HIP_VISIBLE_DEVICES",
        "GPU_DEVICE_ORDINAL",
    )
)
_REMOVED_PREFIXES = ("CODEFY_AGENT_", "CODEFY_SERVER")
_SECRET_WORDS = ("TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")


def child_environment(inherited: Mapping[str, str], devices: Sequence[DeviceIdentity]) -> dict[str, str]:
    """What the run child of these devices gets, from what the agent has."""
    environment = {name: value for name, value in inherited.items() if not _hidden(name)}
    environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    environment["CUDA_VISIBLE_DEVICES"] = ",".join(visible_devices(devices))
    environment["PYTHONUNBUFFERED"] = "1"  # the console is watched live
    environment["PYTHONFAULTHANDLER"] = (
        "1"  # a crash tells where, and its last output comes back with the error
    )
    environment["PYTHONUTF8"] = "1"
    # Sets of strings have one order then, in every child and started ahead or not: an order that reaches a training
    # would make its numbers differ. Who fixed it otherwise keeps that.
    if environment.get("PYTHONHASHSEED", "random") == "random":
        environment["PYTHONHASHSEED"] = "0"
    return environment


def _hidden(name: str) -> bool:
    upper = name.upper()
    if upper in _REMOVED or upper.startswith(_REMOVED_PREFIXES):
        return True
    return upper.startswith("CODEFY_") and any(word in upper for word in _SECRET_WORDS)


def visible_devices(devices: Sequence[DeviceIdentity]) -> list[str]:
    """The cards in the order assigned: UUIDs, the machine's index for a card without one; none for cpu and mps."""
    visible: list[str] = []
    for device in devices:
        name = parse_device(device.name)
        if name.kind == "cuda":
            visible.append(device.uuid or str(name.index or 0))
    return visible


def device_aliases(devices: Sequence[DeviceIdentity]) -> dict[str, str]:
    """The run's name of each accelerator → the machine's: ``{"cuda:0": "cuda:2"}``."""
    aliases: dict[str, str] = {}
    for device in devices:
        kind = parse_device(device.name).kind
        if kind != "cpu":
            aliases[f"{kind}:{sum(alias.startswith(kind) for alias in aliases)}"] = device.name
    return aliases


def device_of_run(device: str, devices: Sequence[DeviceIdentity]) -> str:
    """The assigned device as the run sees it: its first card is its ``cuda:0``, whatever the machine calls it."""
    for alias, name in device_aliases(devices).items():
        if name == device:
            return alias
    kind = parse_device(device).kind
    return "cpu" if kind == "cpu" else f"{kind}:0"
