"""Deleting runs: one on request, the oldest beyond the limit by themselves (T-5)."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Callable
from pathlib import Path

from codefy_control_plane.storage.database import Database
from codefy_control_plane.storage.runs import delete_rows, ended_beyond

logger = logging.getLogger("codefy.runs")

ROWS_AT_ONCE = 5000
RUNS_AT_ONCE = 50


async def delete_run(database: Database, run_id: str, run_dir: Path) -> None:
    """Delete an ended run: its folder, then its rows in small groups, its own row last."""
    await asyncio.to_thread(shutil.rmtree, run_dir, ignore_errors=True)
    while not await database.write(lambda connection: delete_rows(connection, run_id, ROWS_AT_ONCE)):
        pass


async def prune(database: Database, runs_dir: Path, keep: int, deleting: Callable[[str], None]) -> int:
    """Delete the oldest ended runs beyond ``keep``, telling ``deleting`` of each; returns how many. 0 keeps all."""
    if keep <= 0:
        return 0
    deleted = 0
    while run_ids := await database.read(lambda connection: ended_beyond(connection, keep, RUNS_AT_ONCE)):
        for run_id in run_ids:
            deleting(run_id)
            await delete_run(database, run_id, runs_dir / run_id)
            deleted += 1
    if deleted:
        logger.info("deleted the %s oldest ended runs; %s are kept", deleted, keep)
    return deleted
