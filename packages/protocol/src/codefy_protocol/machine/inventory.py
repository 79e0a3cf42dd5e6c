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


class CardProcess(msgspec.Struct, frozen=True, kw_only=True):
    """A process that the driver lists on a card."""

    pid: int
    """As the driver knows it: in a container that need not be a process of ours."""
    memory: int = 0
    """Bytes; 0 when the driver does not say."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """The devices, and who is on the cards."""

    devices: tuple[Device, ...]
    processes: dict[str, tuple[CardProcess, ...] | None] = {}
    """By name of every card; ``None`` where the driver does not list them."""


class _Card(msgspec.Struct):
    """One CUDA device as the driver lists it, before it has a name."""

    index: int
    """The number in its name: that of NVML for a whole card, one after all of those for an instance."""
    device: Device
    processes: tuple[CardProcess, ...] | None = None


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
        return self._read(processes=False).devices

    def read_with_processes(self) -> Reading:
        """The devices and the processes on the cards, of one moment. Never raises."""
        return self._read(processes=True)

    def _read(self, *, processes: bool) -> Reading:
        with self._lock:
            cards = self._cuda(processes)
            devices = (self._processor(), *(card.device for card in cards), *_apple_gpu())
        return Reading(devices=devices, processes={card.device.name: card.processes for card in cards})

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
    def _cuda(self, processes: bool) -> list[_Card]:
        nvml = self._started_nvml()
        if nvml is None:
            return []
        try:
            count = int(nvml.nvmlDeviceGetCount())
        except nvml.NVMLError:
            # The driver went away under us (an update, a reset): start over at the next reading.
            self._shut_down_nvml()
            return []
        whole: list[_Card] = []
        instances: list[_Card] = []
        for index in range(count):
            handle = _ask(nvml, lambda index=index: nvml.nvmlDeviceGetHandleByIndex(index))
            if handle is None:  # fallen off the bus
                continue
            if _mig_enabled(nvml, handle):
                # CUDA cannot use such a card as a whole, only its instances.
                for instance, device in _mig_instances(nvml, handle):
                    listed = _processes(nvml, instance) if processes else None
                    instances.append(_Card(count + len(instances), device, listed))
            else:
                device = _card(nvml, handle)
                if device is not None:
                    whole.append(_Card(index, device, _processes(nvml, handle) if processes else None))
        cards = [
            _Card(card.index, _named(card.device, card.index), card.processes)
            for card in (*whole, *instances)
        ]
        shown = {device.name for device in visible_cards([card.device for card in cards], self._visible)}
        return [card for card in cards if card.device.name in shown]

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


def _mig_instances(nvml: Any, parent: Any) -> list[tuple[Any, Device]]:
    count = _ask(nvml, lambda: nvml.nvmlDeviceGetMaxMigDeviceCount(parent)) or 0
    devices: list[tuple[Any, Device]] = []
    for index in range(min(int(count), _MAX_MIG_INSTANCES)):
        handle = _ask(nvml, lambda index=index: nvml.nvmlDeviceGetMigDeviceHandleByIndex(parent, index))
        if handle is None:  # the places of a card need not be filled in order
            continue
        device = _card(nvml, handle, mig=True)
        if device is not None and device.uuid is not None:
            devices.append((handle, device))
    return devices


def _processes(nvml: Any, handle: Any) -> tuple[CardProcess, ...] | None:
    """Who computes or draws on a card, each process once; ``None`` when the driver does not tell."""
    computing: list[Any] | None = _ask(nvml, lambda: nvml.nvmlDeviceGetComputeRunningProcesses(handle))
    if computing is None:
        return None
    # A process that draws holds memory too. Not every driver lists those, and instances have none.
    drawing: list[Any] = _ask(nvml, lambda: nvml.nvmlDeviceGetGraphicsRunningProcesses(handle)) or []
    found: dict[int, int] = {}
    for each in (*computing, *drawing):
        found[int(each.pid)] = max(found.get(int(each.pid), 0), int(each.usedGpuMemory or 0))
    return tuple(CardProcess(pid=pid, memory=memory) for pid, memory in sorted(found.items()))


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
