"""The catalog's hash does not depend on torch, nor on Python (X-8)."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from typing import Any

import pytest

from codefy_engine.nodes.registry import Registry, builtin_classes

from .conftest import ROOT

SCRIPT = ROOT / "scripts" / "catalog-hash"
LINE = re.compile(r"^Python (\S+) +(?:torch (\S+)|no torch) +(\d+) types +([0-9a-f]{64})$", re.MULTILINE)


def script() -> Any:
    loader = SourceFileLoader("catalog_hash_script", str(SCRIPT))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


@pytest.mark.slow
@pytest.mark.timeout(600)  # The first time it installs a second torch.
def test_two_torches_and_two_pythons_have_the_same_catalog() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pythons, torches, counts, hashes = (
        set(column) for column in zip(*LINE.findall(done.stdout), strict=True)
    )
    assert len({version.rpartition(".")[0] for version in pythons}) == 2
    assert len(torches - {""}) == 2
    registry = Registry(builtin_classes())
    assert (counts, hashes) == ({str(len(registry))}, {registry.catalog_hash})


def test_a_type_that_differs_is_named() -> None:
    one = {"types": {"Linear": "a", "Print": "b"}}
    other = {"types": {"Linear": "a", "Print": "c", "New": "d"}}
    assert script().differing([one, one, other]) == ["New", "Print"]
    assert script().differing([one, one]) == []
