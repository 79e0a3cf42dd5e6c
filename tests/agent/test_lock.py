"""X-11: one owner per folder, however the owner ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from codefy_agent.lock import FolderLocked, folder_lock, is_locked


def test_a_second_owner_is_told_who_the_first_is(tmp_path: Path) -> None:
    assert not is_locked(tmp_path / "w1")
    with folder_lock(tmp_path / "w1"):
        assert is_locked(tmp_path / "w1")
        with pytest.raises(FolderLocked, match=str(os.getpid())) as refused, folder_lock(tmp_path / "w1"):
            pass
        assert refused.value.owner == os.getpid()
        with folder_lock(tmp_path / "w2"):
            pass
    assert not is_locked(tmp_path / "w1")


def test_a_killed_owner_owns_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from codefy_agent.lock import folder_lock\n"
        "with folder_lock(Path(sys.argv[1])):\n print('locked', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None and owner.stdout.readline() == b"locked\n"
        assert is_locked(tmp_path)
        owner.kill()
        owner.wait()
        assert not is_locked(tmp_path)
        with folder_lock(tmp_path):
            pass
