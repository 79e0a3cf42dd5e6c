"""The agent's folder on disk: one per worker name, and in it one per attempt.

``agent-runs/<run id>/`` holds ``spool/``, ``output.log`` and ``run/`` of the first attempt; a further attempt has
``agent-runs/<run id>.<attempt>/``. A folder whose spool is gone was delivered; the newest of those are kept for people.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
from pathlib import Path

import msgspec

from codefy_agent.session import AttemptKey, RestoredAttempt
from codefy_agent.spool import Spool, SpoolTooNew

logger = logging.getLogger(__name__)

KEEP_DELIVERED = 50
_RUN_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FOLDER = re.compile(r"([A-Za-z0-9_-]{1,64})(?:\.([1-9][0-9]{0,8}))?")


def legal_run_id(run_id: str) -> bool:
    """Whether a run id can name a folder, and nothing else."""
    return _RUN_ID.fullmatch(run_id) is not None


def default_data_dir() -> Path:
    """``CODEFY_AGENT_DATA_DIR``, else the user's data folder."""
    configured = os.environ.get("CODEFY_AGENT_DATA_DIR")
    if configured:
        return Path(configured).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_data_dir("codefy-agent", appauthor=False))


class FoundAttempt(msgspec.Struct, frozen=True):
    """An attempt that a process before this one left."""

    restored: RestoredAttempt
    spool: Spool


class AttemptStore:
    """Folders of attempts under ``root``."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def home(self, run_id: str, attempt: int) -> Path:
        """The attempt's folder.

        Raises:
            ValueError: the run id could name something outside.
        """
        if not legal_run_id(run_id) or attempt < 1:
            raise ValueError(f"not the key of an attempt: {run_id!r}, {attempt}")
        return self._root / (run_id if attempt == 1 else f"{run_id}.{attempt}")

    def spool(self, run_id: str, attempt: int) -> Spool:
        """The attempt's spool, restored when there is one."""
        return Spool(self.home(run_id, attempt) / "spool")

    def find(self) -> list[FoundAttempt]:
        """Every attempt with a spool, oldest first. One that cannot be read stays where it is, with a word in the log."""
        found: list[tuple[float, FoundAttempt]] = []
        if not self._root.is_dir():
            return []
        for folder in self._root.iterdir():
            match = _FOLDER.fullmatch(folder.name)
            spool_folder = folder / "spool"
            if match is None or not spool_folder.is_dir():
                continue
            key: AttemptKey = (match[1], int(match[2] or 1))
            try:
                spool = Spool(spool_folder)
            except (SpoolTooNew, OSError) as error:
                logger.warning("the spool of run %s cannot be read: %s", key[0], error)
                continue
            restored = RestoredAttempt(
                run_id=key[0],
                attempt=key[1],
                acked_seq=spool.acked_seq,
                sizes=spool.sizes(),
                ended=spool.ended,
            )
            found.append((spool_folder.stat().st_mtime, FoundAttempt(restored, spool)))
        return [each for _, each in sorted(found, key=lambda pair: pair[0])]

    def prune(self, keep: int = KEEP_DELIVERED) -> None:
        """Delete the oldest folders of delivered attempts beyond ``keep``."""
        if not self._root.is_dir():
            return
        delivered = [
            folder
            for folder in self._root.iterdir()
            if _FOLDER.fullmatch(folder.name) and folder.is_dir() and not (folder / "spool").exists()
        ]
        delivered.sort(key=lambda folder: folder.stat().st_mtime, reverse=True)
        for folder in delivered[keep:]:
            shutil.rmtree(folder, ignore_errors=True)
