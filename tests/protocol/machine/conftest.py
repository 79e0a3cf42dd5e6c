"""A machine made of text, for a process that lists its devices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_READ = """
import json, sys, msgspec
from codefy_protocol.machine import DeviceInventory
inventory = DeviceInventory()
def tell():
    reading = inventory.read_with_processes()
    assert reading.devices[1:] == () or reading.processes
    print(json.dumps(msgspec.to_builtins(reading)), flush=True)
tell()
for line in sys.stdin:
    tell()
inventory.close()
"""


class FakeMachine:
    """A process that lists its devices whenever asked, on a machine described by lines of text."""

    def __init__(self, folder: Path, description: Path, visible: str | None) -> None:
        environ = {**os.environ, "LD_LIBRARY_PATH": str(folder), "FAKE_NVML_FILE": str(description)}
        environ.pop("CUDA_VISIBLE_DEVICES", None)
        if visible is not None:
            environ["CUDA_VISIBLE_DEVICES"] = visible
        self.description = description
        self._process = subprocess.Popen(
            [sys.executable, "-c", _READ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environ,
            text=True,
        )
        self.devices: list[dict[str, Any]] = []
        self.processes: dict[str, list[tuple[int, int]] | None] = {}
        """By card: process ids and bytes."""
        self._next()

    def _next(self) -> None:
        assert self._process.stdout is not None
        reading = json.loads(self._process.stdout.readline())
        self.devices = reading["devices"]
        self.processes = {
            name: None if listed is None else [(each["pid"], each["memory"]) for each in listed]
            for name, listed in reading["processes"].items()
        }

    def change(self, *lines: str) -> list[dict[str, Any]]:
        """Describe the machine anew and read it again in the same process."""
        self.description.write_text("\n".join(lines))
        assert self._process.stdin is not None
        self._process.stdin.write("again\n")
        self._process.stdin.flush()
        self._next()
        return self.devices

    def cuda(self) -> list[str]:
        return [device["name"] for device in self.devices if device["kind"] == "cuda"]

    def close(self) -> int:
        with self._process:
            pass
        return self._process.returncode


@pytest.fixture
def machine(nvml_folder: Path, tmp_path: Path):
    started: list[FakeMachine] = []

    def start(*lines: str, visible: str | None = None) -> FakeMachine:
        description = tmp_path / f"machine-{len(started)}.txt"
        description.write_text("\n".join(lines))
        started.append(FakeMachine(nvml_folder, description, visible))
        return started[-1]

    yield start
    codes = [each.close() for each in started]
    assert codes == [0] * len(codes)


Machine = Callable[..., FakeMachine]
