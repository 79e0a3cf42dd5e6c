"""Apply each planted bug to a copy of the repository and expect the named tests to catch it.

``python tests/mutants/run.py [NAME …]``. A patch says in its first line which tests should fail: ``# tests: PATH …``.
A bug that survives, a patch that does not apply any more, or tests that fail without one, end this with exit code 1.
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


def run_tests(folder: Path, tests: list[str]) -> tuple[int, str]:
    """Exit code of pytest on the copy, and what it printed; the copy's sources come before the installed ones."""
    sources = [str(path) for path in sorted(folder.glob("packages/*/src"))]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--timeout=120", *tests],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sources),
            "CODEFY_HYPOTHESIS_PROFILE": "mutants",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, f"{done.stdout}\n{done.stderr}"


def tests_of(patch: Path) -> list[str]:
    """The tests that should fail."""
    return patch.read_text().splitlines()[0].removeprefix("# tests:").split()


def judge(patch: Path) -> str:
    """Whether the bug is ``caught``, ``SURVIVED``, or the patch is ``STALE``."""
    with tempfile.TemporaryDirectory(prefix="codefy-mutant-") as name:
        folder = Path(name)
        copy_repository(folder)
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        applied = subprocess.run(
            ["git", "apply", str(patch)], cwd=folder, capture_output=True, text=True, check=False
        )
        if applied.returncode != 0:
            print(applied.stderr.rstrip(), flush=True)
            return "STALE"
        code, _ = run_tests(folder, tests_of(patch))
        # A bug may break the import of its tests; what else pytest ends with is a mistake in the patch's first line.
        return {0: "SURVIVED", 1: "caught", 2: "caught"}.get(code, "STALE")


def main(names: list[str]) -> int:
    patches = sorted(PATCHES.glob("*.patch"))
    chosen = [patch for patch in patches if not names or patch.stem in names]
    if not chosen:
        raise SystemExit(f"no such mutant; there are {', '.join(patch.stem for patch in patches)}")
    # What fails without a bug would seem to catch every one.
    with tempfile.TemporaryDirectory(prefix="codefy-mutant-") as name:
        copy_repository(Path(name))
        code, said = run_tests(Path(name), sorted({test for patch in chosen for test in tests_of(patch)}))
    if code != 0:
        print(f"tests fail without any planted bug:\n{said}")
        return 1
    missed = 0
    for patch in chosen:
        verdict = judge(patch)
        print(f"{verdict:<9} {patch.stem}", flush=True)
        missed += verdict != "caught"
    print(f"{len(chosen) - missed} passed, {missed} failed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
