"""Which machine this is, and which boot of it.

``machine_id`` never leaves as it is: only its SHA-256 is sent, so that two processes can find out that they share a
machine without telling anybody the id itself. It is what a machine claims, no proof.
"""

from __future__ import annotations

import hashlib
import platform
import re
import subprocess
import sys
from pathlib import Path

_LINUX_MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
_LINUX_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_TOOL_TIMEOUT_S = 5.0


def machine_id() -> str:
    """SHA-256 (hex) of what identifies this machine; empty when it has nothing.

    Linux: ``/etc/machine-id``. macOS: the hardware UUID. Windows: the ``MachineGuid`` of its installation.
    """
    if sys.platform == "win32":
        raw = _windows_value(r"SOFTWARE\Microsoft\Cryptography", "MachineGuid")
    elif sys.platform == "darwin":
        raw = _macos_hardware_uuid()
    else:
        raw = _first_text(*_LINUX_MACHINE_IDS)
        if raw == "uninitialized":  # systemd's mark in an image that was never booted
            raw = ""
    return hashlib.sha256(raw.encode()).hexdigest() if raw else ""


def boot_id() -> str:
    """Differs between two boots of one machine; empty where the system has no such thing."""
    if sys.platform == "win32":
        path = r"SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters"
        return _windows_value(path, "BootId")
    if sys.platform == "darwin":
        return _tool_output("sysctl", "-n", "kern.bootsessionuuid").strip()
    return _first_text(_LINUX_BOOT_ID)


def platform_name() -> str:
    """System, its release and the processor, such as ``Linux 6.8 x86_64``."""
    return f"{platform.system()} {platform.release()} {platform.machine()}"


def _first_text(*paths: Path) -> str:
    for path in paths:
        try:
            text = path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            continue
        if text:
            return text
    return ""


def _macos_hardware_uuid() -> str:
    output = _tool_output("ioreg", "-rd1", "-c", "IOPlatformExpertDevice")
    found = re.search(r'"IOPlatformUUID"\s*=\s*"([^"]+)"', output)
    return found[1] if found else ""


def _tool_output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TOOL_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


def _windows_value(path: str, name: str) -> str:
    if sys.platform != "win32":
        return ""
    import winreg

    try:
        access = winreg.KEY_READ | winreg.KEY_WOW64_64KEY
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, path, 0, access) as key:
            return str(winreg.QueryValueEx(key, name)[0])
    except OSError:
        return ""
