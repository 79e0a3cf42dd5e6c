"""Executes a graph file in a server's run service in which worker code cannot be imported; prints its events.

Run as a program by ``test_parity``: ``parity_run.py GRAPH DATA_DIR``.
"""

from __future__ import annotations

import asyncio
import importlib.abc
import json
import sys
from pathlib import Path

FORBIDDEN = ("codefy_control_plane.workers", "codefy_agent")


class NoWorkerCode(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname.startswith(FORBIDDEN):
            raise ImportError(f"{fullname} was imported for a run without a target")


async def main(graph: Path, data_dir: Path) -> None:
    from codefy_control_plane.runs.service import RunService
    from codefy_control_plane.settings import load_settings
    from codefy_control_plane.storage.database import Database
    from codefy_protocol.names import RunOptions

    settings = load_settings({}, data_dir=data_dir)
    data_dir.mkdir()
    database = await Database.open(settings.database_path)
    service = RunService(settings, database)
    await service.start()
    try:
        submitted = await service.submit(graph.read_bytes(), RunOptions(), "parity")
        cursor, events = 0, []
        while True:
            page = await service.events(submitted.run_id, cursor, 1000, 20.0)
            events += page.events
            cursor = page.next_cursor
            if page.ended:
                break
        for event in events:
            payload = json.loads(bytes(event.payload))
            print(json.dumps([event.type, payload.get("node_id"), payload.get("status")]))
    finally:
        await service.close()
        await database.close()


if __name__ == "__main__":
    sys.meta_path.insert(0, NoWorkerCode())
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
    assert not any(name.startswith(FORBIDDEN) for name in sys.modules)
