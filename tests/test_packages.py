"""What holds for the four distributions together."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("protocol", "engine", "agent", "control-plane")


def project(package: str) -> dict[str, object]:
    return tomllib.loads((ROOT / "packages" / package / "pyproject.toml").read_text())["project"]


def test_one_version_for_all() -> None:
    root = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    versions = {package: project(package)["version"] for package in PACKAGES}
    modules = {name: import_module(f"codefy_{name.replace('-', '_')}").__version__ for name in PACKAGES}
    assert set(versions.values()) | set(modules.values()) == {root}


@pytest.mark.parametrize("package", PACKAGES)
def test_the_packages_pin_each_other_to_the_same_version(package: str) -> None:
    metadata = project(package)
    dependencies = metadata["dependencies"]
    assert isinstance(dependencies, list)
    for dependency in dependencies:
        if dependency.startswith("codefy-"):
            assert re.fullmatch(r"codefy-[a-z-]+==(.+)", dependency)[1] == metadata["version"]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_is_typed_licensed_and_says_what_it_is(package: str) -> None:
    folder = ROOT / "packages" / package
    assert (folder / "src" / f"codefy_{package.replace('-', '_')}" / "py.typed").is_file()
    assert project(package)["license"] == "Apache-2.0"
    assert len((folder / "README.md").read_text()) > 200
