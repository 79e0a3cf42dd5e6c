"""torch is imported beside other work: once, and known only when it is whole."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from codefy_engine.execution.fingerprint import environment_fingerprint
from codefy_engine.execution.preload import loaded_torch


def test_half_a_torch_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    half = ModuleType("torch")
    half.__spec__ = ModuleSpec("torch", None)
    monkeypatch.setattr(half.__spec__, "_initializing", True, raising=False)
    monkeypatch.setitem(sys.modules, "torch", half)
    assert loaded_torch() is None
    assert environment_fingerprint(load_torch=False).numerics == {}
    monkeypatch.setattr(half.__spec__, "_initializing", False)
    assert loaded_torch() is half
    monkeypatch.delitem(sys.modules, "torch")
    assert loaded_torch() is None


@pytest.mark.integration
def test_who_needs_torch_meanwhile_waits_for_the_one_import() -> None:
    code = """
import sys, threading
from codefy_engine.execution.preload import loaded_torch, preload_torch

thread = threading.Thread(target=preload_torch)
thread.start()
while "torch" not in sys.modules:
    assert loaded_torch() is None
half = loaded_torch()
first = sys.modules["torch"]
import torch
assert half is None and torch is first is loaded_torch(), half
assert torch.ones(2).sum().item() == 2
thread.join()
assert loaded_torch() is torch
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
