"""What devices this machine offers, cheap enough to be read for every heartbeat.

Cards are read through the driver's management library (NVML): it needs no CUDA context, so nothing here ever occupies a
card. No driver and no card are normal answers. The order is the processor, the whole CUDA cards in PCI order (which is
``CUDA_DEVICE_ORDER=PCI_BUS_ID``), MIG instances, then Apple's GPU.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from codefy_protocol.frames import Device
from codefy_protocol.machine.processor import ProcessorLoad, memory, processor_label

_NVML_LIBRARY = "libnvidia-ml.so.1"
_MILLIWATTS = 1000.0
_MAX_MIG_INSTANCES = 64


class _Card(msgspec.Struct):
    """One CUDA device as the driver lists it, before it has a name."""

    index: int
    """NVML index of the whole card."""
    device: Device


class DeviceInventory:
    """Reads the devices of this machine. One thread at a time reads; others wait.

    An inherited ``CUDA_VISIBLE_DEVICES`` (as Slurm sets it) limits which cards are listed; they keep their machine names,
    so ``cuda:2`` is the same card for everybody on the machine.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._visible = (os.environ if environ is None else environ).get("CUDA_VISIBLE_DEVICES")
        self._lock = threading.Lock()
        self._load = ProcessorLoad()
        self._label = processor_label()
        self._nvml: Any = None
        self._library_missing = False

    def read(self) -> tuple[Device, ...]:
        """The devices now, the processor first. Never raises: what the driver does not say is ``None``."""
        with self._lock:
            return (self._processor(), *self._cuda(), *_apple_gpu())

    def close(self) -> None:
        """Let go of the driver's library."""
        with self._lock:
            self._shut_down_nvml()

    def _processor(self) -> Device:
        total, free = memory()
        return Device(
            name="cpu",
            kind="cpu",
            label=self._label,
            memory_total=total,
            memory_free=free,
            load=self._load.read(),
        )

    # -------------------------------------------------------------- CUDA
    def _cuda(self) -> tuple[Device, ...]:
        nvml = self._started_nvml()
        if nvml is None:
            return ()
        try:
            count = int(nvml.nvmlDeviceGetCount())
        except nvml.NVMLError:
            # The driver went away under us (an update, a reset): start over at the next reading.
            self._shut_down_nvml()
            return ()
        whole: list[_Card] = []
        instances: list[_Card] = []
        for index in range(count):
            handle = _ask(nvml, lambda index=index: nvml.nvmlDeviceGetHandleByIndex(index))
            if handle is None:  # fallen off the bus
                continue
            if _mig_enabled(nvml, handle):
                # CUDA cannot use such a card as a whole, only its instances.
                instances += [_Card(index, device) for device in _mig_instances(nvml, handle)]
            else:
                device = _card(nvml, handle)
                if device is not None:
                    whole.append(_Card(index, device))
        named = [_named(card.device, card.index) for card in whole]
        named += [_named(card.device, count + place) for place, card in enumerate(instances)]
        return tuple(visible_cards(named, self._visible))

    def _started_nvml(self) -> Any:
        if self._nvml is not None or self._library_missing:
            return self._nvml
        if sys.platform == "darwin" or (sys.platform != "win32" and not _library_loads()):
            # Without the library the large binding is never imported: the common agent without a card stays small.
            self._library_missing = True
            return None
        import pynvml  # pyright: ignore[reportMissingTypeStubs]

        nvml: Any = pynvml
        try:
            nvml.nvmlInit()
        except nvml.NVMLError_LibraryNotFound:
            self._library_missing = True
            return None
        except nvml.NVMLError:  # the driver is not loaded (yet)
            return None
        self._nvml = nvml
        return nvml

    def _shut_down_nvml(self) -> None:
        nvml, self._nvml = self._nvml, None
        if nvml is not None:
            _ask(nvml, nvml.nvmlShutdown)


def visible_cards(cards: list[Device], visible: str | None) -> list[Device]:
    """The cards that ``CUDA_VISIBLE_DEVICES`` leaves, in the machine's order.

    CUDA's own rules: entries are indices or (prefixes of) UUIDs, the list ends at the first entry that names nothing,
    an empty value shows no card. ``None`` (not set) shows all.
    """
    if visible is None:
        return cards
    chosen: set[str] = set()
    for entry in (part.strip() for part in visible.split(",")):
        found = _find_card(cards, entry)
        if found is None:
            break
        chosen.add(found.name)
    return [card for card in cards if card.name in chosen]


def _find_card(cards: list[Device], entry: str) -> Device | None:
    if entry.isdecimal():
        matching = [card for card in cards if card.name == f"cuda:{int(entry)}" and not card.mig]
    elif entry.startswith(("GPU-", "MIG-")):
        matching = [card for card in cards if card.uuid is not None and card.uuid.startswith(entry)]
    else:
        matching = []
    return matching[0] if len(matching) == 1 else None


def _library_loads() -> bool:
    try:
        ctypes.CDLL(_NVML_LIBRARY)
    except OSError:
        return False
    return True


def _ask(nvml: Any, question: Callable[[], Any]) -> Any:
    """The driver's answer, ``None`` when it has none."""
    try:
        return question()
    except nvml.NVMLError:
        return None


def _named(device: Device, index: int) -> Device:
    return msgspec.structs.replace(device, name=f"cuda:{index}")


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    return value if isinstance(value, str) and value else None


def _mig_enabled(nvml: Any, handle: Any) -> bool:
    mode = _ask(nvml, lambda: nvml.nvmlDeviceGetMigMode(handle))
    return mode is not None and mode[0] == nvml.NVML_DEVICE_MIG_ENABLE


def _mig_instances(nvml: Any, parent: Any) -> list[Device]:
    count = _ask(nvml, lambda: nvml.nvmlDeviceGetMaxMigDeviceCount(parent)) or 0
    devices: list[Device] = []
    for index in range(min(int(count), _MAX_MIG_INSTANCES)):
        handle = _ask(nvml, lambda index=index: nvml.nvmlDeviceGetMigDeviceHandleByIndex(parent, index))
        if handle is None:  # the places of a card need not be filled in order
            continue
        device = _card(nvml, handle, mig=True)
        if device is not None and device.uuid is not None:
            devices.append(device)
    return devices


def _card(nvml: Any, handle: Any, *, mig: bool = False) -> Device | None:
    """Facts of one card; ``None`` when it answers nothing at all, as a lost one does."""
    label = _text(_ask(nvml, lambda: nvml.nvmlDeviceGetName(handle)))
    uuid = _text(_ask(nvml, lambda: nvml.nvmlDeviceGetUUID(handle)))
    # Version 2 counts what the driver keeps for itself apart; older drivers have only version 1.
    bytes_ = _ask(nvml, lambda: nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2))
    if bytes_ is None:
        bytes_ = _ask(nvml, lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
    if label is None and uuid is None and bytes_ is None:
        return None
    load = temperature = power = None
    if not mig:  # an instance has none of these of its own
        load = _ask(nvml, lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu)
        temperature = _ask(nvml, lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))
        power = _ask(nvml, lambda: nvml.nvmlDeviceGetPowerUsage(handle))
    return Device(
        name="",
        kind="cuda",
        label=label or "CUDA device",
        uuid=uuid,
        mig=mig,
        memory_total=None if bytes_ is None else int(bytes_.total),
        memory_free=None if bytes_ is None else int(bytes_.free),
        load=None if load is None else load / 100.0,
        temperature=None if temperature is None else float(temperature),
        power_watts=None if power is None else power / _MILLIWATTS,
    )


def _apple_gpu() -> tuple[Device, ...]:
    if sys.platform != "darwin" or platform.machine() != "arm64":
        return ()
    total, free = memory()  # shared with the processor
    return (Device(name="mps:0", kind="mps", label="Apple GPU", memory_total=total, memory_free=free),)
