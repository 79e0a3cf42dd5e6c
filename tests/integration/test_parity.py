"""single-node-parity (I-1): a run without a target gives the stored sequence of events, and needs no worker code.

The snapshot holds ``[type, node id, status]`` of every event but ``node_progress``, whose number depends on the clock.
Write it anew with ``CODEFY_WRITE_PARITY=1`` when a change of the sequence is meant, and say why in the commit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from codefy_agent.testing import Agent
from codefy_control_plane.testing import ControlPlane
from codefy_protocol.names import RunOptions, Target

from .conftest import digits, payload

SNAPSHOT = Path(__file__).parent / "parity.json"
IN_ORDER = {"CODEFY_EXECUTION_PARALLEL_NODES": "1"}


def snapshot() -> list[list[Any]]:
    return json.loads(SNAPSHOT.read_text())


def write(sequence: list[list[Any]]) -> None:
    SNAPSHOT.write_text("[\n" + ",\n".join("  " + json.dumps(entry) for entry in sequence) + "\n]\n")


def test_without_a_target_the_sequence_is_the_stored_one_and_no_worker_code_is_imported(
    tmp_path: Path,
) -> None:
    graph = tmp_path / "graph.json"
    graph.write_text(json.dumps(digits(epochs=2)))
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "parity_run.py"), str(graph), str(tmp_path / "data")],
        capture_output=True,
        text=True,
        check=False,
        timeout=150,
        env={**os.environ, **IN_ORDER},
    )
    assert done.returncode == 0, done.stderr
    sequence = [entry for entry in map(json.loads, done.stdout.splitlines()) if entry[0] != "node_progress"]
    if os.environ.get("CODEFY_WRITE_PARITY"):
        write(sequence)
    assert sequence == snapshot()


async def sequence_of(server: ControlPlane, options: RunOptions) -> list[list[Any]]:
    submitted = await server.client.submit(digits(epochs=2), options)
    assert (await server.client.wait(submitted.run_id, 120)).status == "succeeded"
    entries: list[list[Any]] = []
    for event in await server.client.events(submitted.run_id):
        if event.type != "node_progress":
            body = payload(event)
            entries.append([event.type, body.get("node_id"), body.get("status")])
    return entries


async def test_the_server_local_by_name_and_a_worker_give_the_same_sequence() -> None:
    async with ControlPlane(environment=IN_ORDER) as server:
        assert await sequence_of(server, RunOptions()) == snapshot()
        assert await sequence_of(server, RunOptions(target=Target(worker="local"))) == snapshot()
        async with Agent(server.url, token_file=server.token_file, environment=IN_ORDER) as agent:
            await agent.connected()
            assert await sequence_of(server, RunOptions(target=Target(worker="w1"))) == snapshot()


async def test_in_parallel_every_node_has_the_same_sequence_of_its_own() -> None:
    async with ControlPlane() as server:
        sequence = await sequence_of(server, RunOptions())
    assert (sequence[0], sequence[-1]) == (snapshot()[0], snapshot()[-1])
    for node_id in {entry[1] for entry in snapshot()}:
        assert [e for e in sequence if e[1] == node_id] == [e for e in snapshot() if e[1] == node_id]
