"""A machine made of text: the fake driver library, built once per session."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_SOURCE = Path(__file__).with_name("fake_nvml.c")
_READ = """
import json, sys, msgspec
from codefy_protocol.machine import DeviceInventory
inventory = DeviceInventory()
print(json.dumps([msgspec.to_builtins(d) for d in inventory.read()]), flush=True)
for line in sys.stdin:
    print(json.dumps([msgspec.to_builtins(d) for d in inventory.read()]), flush=True)
inventory.close()
"""


@pytest.fixture(scope="session")
def nvml_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs Linux and a C compiler")
    folder = tmp_path_factory.mktemp("nvml")
    library = folder / "libnvidia-ml.so.1"
    command = [
        compiler,
        "-shared",
        "-fPIC",
        "-O1",
        "-Wl,-soname,libnvidia-ml.so.1",
        "-o",
        str(library),
        str(_SOURCE),
    ]
    subprocess.run(command, check=True)
    return folder


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
        self.devices = self._next()

    def _next(self) -> list[dict[str, Any]]:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def change(self, *lines: str) -> list[dict[str, Any]]:
        """Describe the machine anew and read it again in the same process."""
        self.description.write_text("\n".join(lines))
        assert self._process.stdin is not None
        self._process.stdin.write("again\n")
        self._process.stdin.flush()
        self.devices = self._next()
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
