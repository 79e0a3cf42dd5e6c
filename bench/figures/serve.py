"""From ``codefy serve`` to the answer of ``/api/nodes``, and the server's memory then; against its libraries alone.

The data folder has been used before, as at every start but the first.
"""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import msgspec

from bench.measure import Figure, idle_mib, process_environment, resident_mib, seconds_of

FLOOR = "import starlette.routing, hypercorn.asyncio, msgspec, click, sqlite3"
ROUNDS = 9


def start(data_dir: Path) -> tuple[float, float]:
    """Seconds until the catalog is answered, and MiB resident at that moment."""
    command = ["serve", "--no-open", "--port", "0", "--data-dir", str(data_dir)]
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", "from codefy_control_plane.cli import main; main()", *command],
        stdout=subprocess.PIPE,
        text=True,
        env=process_environment(),
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        link = urlsplit(process.stdout.readline().split()[-1])
        connection = http.client.HTTPConnection(link.netloc)
        connection.request("GET", "/api/nodes", headers={"X-Codefy-Token": link.query.removeprefix("token=")})
        answer = connection.getresponse().read()
        seconds = time.perf_counter() - began
        mib = resident_mib(process.pid)
        connection.close()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    if len(msgspec.json.decode(answer)["nodes"]) < 100:
        raise RuntimeError(f"the server has not listed its nodes: {answer[:200]!r}")
    return seconds, mib


def measure() -> list[Figure]:
    floor = [sys.executable, "-c", FLOOR]
    times: list[tuple[float, float]] = []
    sizes: list[tuple[float, float]] = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        start(folder), seconds_of(floor)
        for _ in range(ROUNDS):
            seconds, mib = start(folder)
            times.append((seconds, seconds_of(floor)))
            sizes.append((mib, idle_mib(FLOOR)))
    what = f'python -c "{FLOOR}"'
    return [
        Figure("serve_ready", "codefy serve → /api/nodes answered", what, "s", times),
        Figure("serve_resident_memory", "codefy serve then, resident", what, "MiB", sizes),
    ]
