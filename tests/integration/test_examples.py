"""Every example gives the same in three places: executed without a server, in the server, and on a worker.

The same means: for every node the same events in the same order, and every metric equal to the last bit. Nodes that do
not need each other may run in any order, so that between nodes the order is free.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter, deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from codefy_agent.testing import Agent
from codefy_control_plane.testing import ControlPlane
from codefy_protocol.names import RunOptions, Target

from .conftest import ROOT

EXAMPLES = ROOT / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.json"))

AT_MOST: dict[str, dict[str, float]] = {
    "TrainingLoop": {"epochs": 2},
    "TakeSamples": {"count": 200},
    "GenerateText": {"length": 20},
    "NGramModel": {"order": 2},
    "DiffusionSampler": {"count": 4, "steps": 5},
    "RandomForest": {"trees": 10},
}
INSTEAD: dict[str, dict[str, float]] = {
    "TrainTestSplit": {"test_fraction": 0.8, "validation_fraction": 0.1},
    "LanguageModelData": {"stride": 32},
}
"""Whether places differ shows in a short run as in a long one; whether examples learn is tested elsewhere."""

AS_IT_IS = ("resume-checkpoint",)
"""Six epochs of wine are short, and the example is about how many there are."""

ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Sums of several threads are added up in an order of their own, which is not what is compared here."""


def example(name: str) -> dict[str, Any]:
    """An example with less to do."""
    graph = json.loads((EXAMPLES / f"{name}.json").read_text())
    parts = [*graph.get("subgraphs", {}).values(), *graph.get("presets", {}).values()]
    for node in [*graph["nodes"], *(node for part in parts for node in part["nodes"])]:
        params = node["data"]["params"]
        if name not in AS_IT_IS:
            most = AT_MOST.get(node["type"], {})
            params |= {param: min(params[param], most[param]) for param in most.keys() & params.keys()}
            params |= INSTEAD.get(node["type"], {})
    return graph


@dataclass
class Told:
    """What a place told of a run."""

    status: str
    nodes: dict[str | None, list[tuple[Any, ...]]] = field(default_factory=dict)
    """By node: its events in order, without those whose number depends on the clock."""
    metrics: dict[tuple[str, str], list[tuple[Any, ...]]] = field(default_factory=dict)
    """By node and name: steps, epochs and values in order."""

    def event(self, kind: str, body: Any) -> None:
        if kind == "node_progress" or "progress" in body:
            return
        node_id = body.get("node_id")
        what = (kind, body.get("status"), tuple(body.get("path", ())), body.get("code"))
        self.nodes.setdefault(node_id, []).append(what)

    def point(self, point: Any) -> None:
        # How fast it was and what memory it took is the machine's matter.
        if point["name"] in ("samples_per_second", "memory_mib"):
            return
        value = point["value"]
        exact = value.hex() if isinstance(value, float) else value
        place = (point.get("step"), point.get("epoch"), point.get("scope", "step"), exact)
        self.metrics.setdefault((point["node_id"], point["name"]), []).append(place)


@dataclass
class Places:
    """What each place told of each example."""

    told: dict[str, dict[str, Told]]


async def executed(names: list[str], folder: Path) -> dict[str, Told]:
    for name in names:
        (folder / f"{name}.json").write_text(json.dumps(example(name)))
    program = str(Path(__file__).parent / "exec_examples.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable, program, str(folder), *names, env={**os.environ, **ONE_THREAD}
    )
    assert await process.wait() == 0
    found: dict[str, Told] = {}
    for name in names:
        told = found[name] = Told("")
        for line in (folder / f"{name}.jsonl").read_text().splitlines():
            message = json.loads(line) if line.startswith("{") else {"type": "printed"}
            if message["type"] == "metrics":
                for point in message["points"]:
                    told.point(point)
            elif message["type"] == "result":
                told.status = message["status"]
            elif message["type"] != "printed":
                told.event(message["type"], message["payload"])
    return found


async def submitted(server: ControlPlane, names: list[str], options: RunOptions) -> dict[str, Told]:
    """Run them one after the other."""
    found: dict[str, Told] = {}
    for name in names:
        run_id = (await server.client.submit(example(name), options)).run_id
        run = await server.client.wait(run_id, 300)
        told = found[name] = Told(run.status)
        for event in await server.client.events(run_id):
            told.event(event.type, json.loads(bytes(event.payload)))
        for point in await server.client.metrics(run_id):
            told.point(json.loads(json.dumps({s: getattr(point, s) for s in point.__struct_fields__})))
    return found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def places(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Places]:
    """Two things at a time: the worker's runs, and beside them the command's, the server's, and what the worker has left."""
    chosen = {
        item.callspec.params["name"]  # type: ignore[attr-defined]  # has one
        for item in request.session.items
        if item.path == Path(__file__) and hasattr(item, "callspec")
    }
    names = [name for name in NAMES if name in chosen]
    folder = tmp_path_factory.mktemp("examples")

    left = deque(names)
    told: dict[str, dict[str, Told]] = {"worker": {}}

    async def there(server: ControlPlane) -> None:
        while left:
            told["worker"] |= await submitted(
                server, [left.popleft()], RunOptions(target=Target(worker="w1"))
            )

    async def here(server: ControlPlane) -> None:
        told["command"] = await executed(names, folder)
        told["server"] = await submitted(server, names, RunOptions())
        await there(server)

    async with (
        ControlPlane(environment=ONE_THREAD) as server,
        Agent(server.url, token_file=server.token_file, environment=ONE_THREAD) as agent,
    ):
        await agent.connected()
        async with asyncio.TaskGroup() as group:
            group.create_task(here(server))
            group.create_task(there(server))
    yield Places(told)


@pytest.mark.timeout(600)  # The first of them waits for all runs, which a busy machine makes slow.
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", NAMES)
async def test_an_example_gives_the_same_everywhere(name: str, places: Places) -> None:
    command, server, worker = (places.told[place][name] for place in ("command", "server", "worker"))
    assert {told.status for told in (command, server, worker)} == {"succeeded"}
    statuses = Counter(
        what[1] for events in server.nodes.values() for what in events if what[0] == "node_status"
    )
    assert statuses["running"] == statuses["succeeded"] >= 4
    for other in (server, worker):
        assert other.nodes.keys() == command.nodes.keys()
        for node_id, events in command.nodes.items():
            assert other.nodes[node_id] == events, node_id
        assert other.metrics.keys() == command.metrics.keys()
        for key, points in command.metrics.items():
            assert other.metrics[key] == points, key
