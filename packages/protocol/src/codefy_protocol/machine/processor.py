"""Memory and load of the machine's processor, read from the system without any library."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_STAT = Path("/proc/stat")
_CGROUP_LIMITS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)


def memory() -> tuple[int | None, int | None]:
    """Total and available bytes; a container's limit counts where it is below the machine's."""
    if sys.platform == "win32":
        return _windows_memory()
    if not _MEMINFO.exists():
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), None
        except (OSError, ValueError):
            return None, None
    fields = _meminfo()
    total, free = fields.get("MemTotal"), fields.get("MemAvailable", fields.get("MemFree"))
    limit, used = _container_limit()
    if limit is not None and (total is None or limit < total):
        total = limit
        if used is not None:
            rest = max(limit - used, 0)
            free = rest if free is None else min(free, rest)
    return total, free


def _meminfo() -> dict[str, int]:
    fields: dict[str, int] = {}
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
    except OSError:
        return fields
    for line in lines:
        name, _, rest = line.partition(":")
        words = rest.split()
        if name in ("MemTotal", "MemAvailable", "MemFree") and words:
            fields[name] = int(words[0]) * 1024
    return fields


def _container_limit() -> tuple[int | None, int | None]:
    for limit_path, used_path in _CGROUP_LIMITS:
        try:
            return int(limit_path.read_text()), int(used_path.read_text())
        except (OSError, ValueError):  # no such group, or "max"
            continue
    return None, None


class ProcessorLoad:
    """Share of all cores that was busy since the last reading, 0..1."""

    def __init__(self) -> None:
        self._last: tuple[int, int] | None = None

    def read(self) -> float | None:
        """``None`` where the system does not say; the first reading counts from boot."""
        if not _STAT.exists():
            return _load_average()
        now = _busy_and_all_ticks()
        if now is None:
            return None
        busy, every = now
        if self._last is not None and every > self._last[1]:
            busy, every = busy - self._last[0], every - self._last[1]
        self._last = now
        return round(min(max(busy / every, 0.0), 1.0), 4) if every else None


def _busy_and_all_ticks() -> tuple[int, int] | None:
    try:
        with _STAT.open(encoding="ascii") as file:
            words = file.readline().split()
    except OSError:
        return None
    if len(words) < 6 or words[0] != "cpu":
        return None
    # user, nice, system, idle, iowait, irq, softirq, steal; guest time is part of user already.
    ticks = [int(word) for word in words[1:9]]
    every = sum(ticks)
    return every - ticks[3] - ticks[4], every


def _load_average() -> float | None:
    if sys.platform == "win32":
        return None
    try:
        return round(min(os.getloadavg()[0] / (os.cpu_count() or 1), 1.0), 4)
    except OSError:
        return None


def processor_label() -> str:
    """The processor's product name where the system has it at hand."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() in ("model name", "Model"):
                    return value.strip()
    except OSError:
        pass
    return "CPU"


class _MemoryStatus(ctypes.Structure):
    _fields_ = (
        ("length", ctypes.c_uint32),
        ("memory_load", ctypes.c_uint32),
        ("total_physical", ctypes.c_uint64),
        ("available_physical", ctypes.c_uint64),
        ("total_page_file", ctypes.c_uint64),
        ("available_page_file", ctypes.c_uint64),
        ("total_virtual", ctypes.c_uint64),
        ("available_virtual", ctypes.c_uint64),
        ("available_extended_virtual", ctypes.c_uint64),
    )


def _windows_memory() -> tuple[int | None, int | None]:
    if sys.platform != "win32":
        return None, None
    status = _MemoryStatus()
    status.length = ctypes.sizeof(status)
    if not ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return None, None
    return int(status.total_physical), int(status.available_physical)
