"""Builds the web UI into the package.

The build is stamped with a digest of the web sources, so an unchanged UI builds nothing. Without npm a development
(editable) install goes on and the server shows how to build the UI, while a wheel fails: it would be shipped broken.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

STAMP = "sources.sha256"
SOURCES = (
    "src",
    "public",
    "index.html",
    "package.json",
    "package-lock.json",
    "vite.config.ts",
    "tsconfig.json",
    ".npmrc",
)


def sources_digest(web: Path) -> str:
    """SHA-256 over the names and bytes of everything that the build reads."""
    digest = hashlib.sha256()
    for name in SOURCES:
        top = web / name
        files = sorted(path for path in top.rglob("*") if path.is_file()) if top.is_dir() else [top]
        for path in files:
            if path.is_file():
                digest.update(path.relative_to(web).as_posix().encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


class WebBuildHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        web = root.parent.parent / "web"
        self._include_examples(root.parent.parent / "examples", version, build_data)
        target = root / "src" / "codefy_control_plane" / "web_dist"
        if not (web / "package.json").is_file():
            # An unpacked source distribution carries the finished build instead of the sources.
            if not (target / "index.html").is_file() and version != "editable":
                raise RuntimeError(
                    "The web UI is missing: build the wheel from a checkout of the repository."
                )
            return
        digest = sources_digest(web)
        stamp = target / STAMP
        if stamp.is_file() and stamp.read_text() == digest:
            return
        npm = shutil.which("npm")
        if npm is None:
            message = (
                "npm was not found, so the web UI cannot be built. Install Node.js 20 or newer and try again."
            )
            if version == "editable":
                sys.stderr.write(f"codefy-control-plane: {message} The server works without it.\n")
                return
            raise RuntimeError(message)
        self._run([npm, "ci", "--no-audit", "--no-fund"], web)
        self._run([npm, "run", "build"], web)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(web / "dist", target)
        stamp.write_text(digest)

    def _include_examples(self, examples: Path, version: str, build_data: dict[str, Any]) -> None:
        """Pack the example graphs; a development install reads them where they lie."""
        if version == "editable" or not examples.is_dir():
            return
        inside = "codefy_control_plane/examples"
        build_data["force_include"][str(examples)] = (
            f"src/{inside}" if self.target_name == "sdist" else inside
        )

    def _run(self, command: list[str], folder: Path) -> None:
        done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} failed in {folder}:\n{done.stdout}\n{done.stderr}")
