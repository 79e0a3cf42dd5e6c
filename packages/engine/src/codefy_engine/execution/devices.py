"""From the device a run asks for to one that is there. torch is imported only for accelerators."""

from __future__ import annotations

from codefy_protocol import reasons
from codefy_protocol.bodies import PeakMemory
from codefy_protocol.names import parse_device
from codefy_protocol.reasons import Reason


def resolve_device(wanted: str) -> tuple[str, Reason | None]:
    """The device to use, with a warning when it is another one than wanted.

    ``cuda`` is the current card. What is not available here falls back to ``cpu``.

    Raises:
        codefy_protocol.names.BadName: ``wanted`` is not a device string.
    """
    device = parse_device(wanted)
    if device.kind == "cpu":
        return "cpu", None
    import torch

    if device.kind == "cuda" and torch.cuda.is_available():
        index = torch.cuda.current_device() if device.index is None else device.index
        if index < torch.cuda.device_count():
            return f"cuda:{index}", None
    if device.kind == "mps" and torch.backends.mps.is_available():
        return "mps:0", None
    return "cpu", reasons.reason(reasons.DEVICE_FALLBACK, wanted=wanted, used="cpu")


def available_devices() -> list[str]:
    """The devices that this process can use, the processor first."""
    import torch

    found = ["cpu"]
    if torch.cuda.is_available():
        found += [f"cuda:{index}" for index in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        found.append("mps:0")
    return found


def reset_peak_memory(device: str) -> None:
    """Start counting the peak of ``device`` anew, where it is counted."""
    if device.startswith("cuda"):
        import torch

        torch.cuda.reset_peak_memory_stats(device)


def peak_memory(device: str) -> PeakMemory | None:
    """Peak memory that torch took on ``device``, or ``None`` where it does not count.

    ``exact`` is false: other runs of this process count too.
    """
    if not device.startswith("cuda"):
        return None
    import torch

    return PeakMemory(devices={device: int(torch.cuda.max_memory_reserved(device))}, exact=False)
