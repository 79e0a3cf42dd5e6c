"""Apply each planted bug to a copy of the repository and expect the named tests to catch it.

``python tests/mutants/run.py [NAME …]``. A patch says in its first line which tests should fail: ``# tests: PATH …``.
A bug that survives, or tests that fail without one, end this with exit code 1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATCHES = Path(__file__).parent


def copy_repository(target: Path) -> None:
    """The files that git tracks, as they are in the working tree."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        source = ROOT / name
        if source.is_file() and not name.startswith("web/"):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)


def tests_pass(folder: Path, tests: list[str]) -> bool:
    """Whether the tests pass on the copy: its sources come before the installed ones."""
    sources = [str(path) for path in sorted(folder.glob("packages/*/src"))]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "--timeout=120", *tests],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sources)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"pytest ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.returncode == 0


def main(names: list[str]) -> int:
    patches = sorted(PATCHES.glob("*.patch"))
    chosen = [patch for patch in patches if not names or patch.stem in names]
    if not chosen:
        raise SystemExit(f"no such mutant; there are {', '.join(patch.stem for patch in patches)}")
    survived: list[str] = []
    for patch in chosen:
        header = patch.read_text().splitlines()[0]
        tests = header.removeprefix("# tests:").split()
        with tempfile.TemporaryDirectory(prefix="codefy-mutant-") as name:
            folder = Path(name)
            copy_repository(folder)
            subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
            applied = subprocess.run(
                ["git", "apply", str(patch)], cwd=folder, capture_output=True, text=True, check=False
            )
            if applied.returncode != 0:
                raise SystemExit(f"{patch.name} does not apply: write it anew\n{applied.stderr}")
            caught = not tests_pass(folder, tests)
        print(f"{'caught  ' if caught else 'SURVIVED'}  {patch.stem}", flush=True)
        if not caught:
            survived.append(patch.stem)
    print(f"{len(chosen) - len(survived)} passed, {len(survived)} failed")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
