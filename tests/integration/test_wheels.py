"""What people install: four wheels, and an agent that brings no torch."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from .conftest import ROOT

PACKAGES = ("codefy-protocol", "codefy-engine", "codefy-agent", "codefy-control-plane")


def uv(*arguments: str) -> str:
    """Run uv, which made this environment and is on PATH or in .tools."""
    program = shutil.which("uv") or str(ROOT / ".tools" / "bin" / "uv")
    done = subprocess.run([program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("wheels")
    for package in PACKAGES:
        uv("build", "--package", package, "--wheel", "--out-dir", str(folder))
    return {package: next(folder.glob(f"{package.replace('-', '_')}-*.whl")) for package in PACKAGES}


def test_the_control_plane_ships_the_built_page_and_the_examples(wheels: dict[str, Path]) -> None:
    names = zipfile.ZipFile(wheels["codefy-control-plane"]).namelist()
    assert "codefy_control_plane/web_dist/index.html" in names
    assert any(
        name.startswith("codefy_control_plane/web_dist/assets/") and name.endswith(".js") for name in names
    )
    assert any(name.endswith("examples/digits-cnn.json") for name in names)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_wheel_is_typed_and_holds_its_licence_s_name(wheels: dict[str, Path], package: str) -> None:
    archive = zipfile.ZipFile(wheels[package])
    names = archive.namelist()
    assert f"{package.replace('-', '_')}/py.typed" in names
    metadata = archive.read(next(name for name in names if name.endswith(".dist-info/METADATA"))).decode()
    assert "License-Expression: Apache-2.0" in metadata


def test_the_agent_installs_alone_without_torch_and_stays_small(
    wheels: dict[str, Path], tmp_path: Path
) -> None:
    venv = tmp_path / "venv"
    uv("venv", "--quiet", "--python", sys.executable, str(venv))
    python = venv / "bin" / "python"
    uv(
        "pip",
        "install",
        "--quiet",
        "--python",
        str(python),
        str(wheels["codefy-protocol"]),
        str(wheels["codefy-agent"]),
    )
    listed = uv("pip", "list", "--quiet", "--python", str(python), "--format", "freeze").lower()
    installed = {line.partition("==")[0] for line in listed.splitlines()}
    assert "codefy-agent" in installed
    assert not installed & {"torch", "numpy", "scikit-learn", "codefy-engine", "codefy-control-plane"}
    size = sum(path.stat().st_size for path in venv.rglob("*") if path.is_file() and path.suffix != ".pyc")
    assert size < 30 * 1024 * 1024, f"{size / 1e6:.0f} MB"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    shown = subprocess.run(
        [venv / "bin" / "codefy-agent", "--help"], capture_output=True, text=True, check=True, env=environment
    )
    assert "start" in shown.stdout
