"""Nodes that are not Codefy's (G-2): a package and a single file, in the palette, in the server and on a worker."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
import sys
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from codefy_agent.testing import Agent
from codefy_control_plane.api.schemas import RunDetail
from codefy_control_plane.client import ApiError
from codefy_control_plane.testing import ControlPlane
from codefy_protocol.names import RunOptions, Target

from .conftest import assert_whole, payload
from .test_wheels import uv

NODE = '''"""Nodes of {where}."""

from codefy_engine.nodes.base import Node, node, output, param


@node(type="{type}", title="{type}", category="data", icon="sparkles")
class {type}(Node):
    """Reports {default} unless told otherwise."""

    amount: float = param({default}, doc="What it reports.")
    value: float = output("value", doc="The same.")

    def run(self, ctx):
        ctx.metric("amount", self.amount, 1)
        print("{where} says", self.amount)
        return self.amount
'''
CONSTANT = NODE.format(where="a package", type="TinyConstant", default=3.0)
FILTER = NODE.format(where="a file", type="FileConstant", default=5.0)


def wheel(folder: Path) -> Path:
    """A real wheel of a package whose entry point names a module with a node."""
    info = "codefy_tiny-1.0.dist-info"
    files = {
        "codefy_tiny/__init__.py": "",
        "codefy_tiny/nodes.py": CONSTANT,
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: codefy-tiny\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[codefy.nodes]\ntiny = codefy_tiny.nodes\n",
    }
    record = [
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},"
        f"{len(text.encode())}"
        for name, text in files.items()
    ]
    path = folder / "codefy_tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,", ""]))
    return path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package installed, which only the server's Python looks into."""
    folder = tmp_path_factory.mktemp("third-party")
    where = ("--target", str(folder / "site"), "--python", sys.executable)
    uv("pip", "install", "--quiet", "--offline", "--no-deps", "--no-index", *where, str(wheel(folder)))
    return folder / "site"


@pytest.fixture
async def server(site: Path, tmp_path: Path) -> AsyncIterator[ControlPlane]:
    """A server with the package in its environment and the file in its data folder."""
    nodes = tmp_path / "server" / "nodes"
    nodes.mkdir(parents=True)
    (nodes / "filters.py").write_text(FILTER)
    path = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
    async with ControlPlane(tmp_path / "server", environment={"PYTHONPATH": path}) as running:
        yield running


@pytest.fixture
async def agent(server: ControlPlane, tmp_path: Path) -> AsyncIterator[Agent]:
    """A worker with a data folder of its own, which has neither."""
    data = tmp_path / "worker"
    async with Agent(server.url, token_file=server.token_file, name="w1", data_dir=data) as running:
        await running.connected()
        yield running


def graph(node_type: str, note: str = "", **params: Any) -> bytes:
    data = {"params": params, "note": note}
    node = {"id": "it", "type": node_type, "position": {"x": 0, "y": 0}, "data": data}
    return json.dumps({"format_version": 1, "name": "strange", "nodes": [node], "edges": []}).encode()


ON_W1 = RunOptions(target=Target(worker="w1"))


async def run(server: ControlPlane, document: bytes, options: RunOptions | None = None) -> RunDetail:
    submitted = await server.client.submit(document, options or RunOptions())
    return await server.client.wait(submitted.run_id, 120)


async def amounts(server: ControlPlane, run_id: str) -> list[Any]:
    return [point.value for point in await server.client.metrics(run_id, "amount")]


async def test_both_are_in_the_catalog_and_run_in_the_server(server: ControlPlane) -> None:
    listed = await server.client.nodes()
    assert listed.failures == []
    found = {node.type: node for node in listed.nodes}
    assert found["TinyConstant"].source == "codefy-tiny"
    assert found["FileConstant"].source == "nodes/filters.py"
    shown = await server.client.node("FileConstant")
    assert (shown.title, shown.category, shown.params[0].default) == ("FileConstant", "data", 5.0)
    for node_type, amount in (("TinyConstant", 3.0), ("FileConstant", 5.0)):
        done = await run(server, graph(node_type))
        assert (done.status, done.error) == ("succeeded", None)
        assert await amounts(server, done.run_id) == [amount]
        assert b" says " in await server.client.log(done.run_id)


async def test_a_file_travels_to_a_worker_that_never_had_it(server: ControlPlane, agent: Agent) -> None:
    here = await run(server, graph("FileConstant"))
    there = await run(server, graph("FileConstant"), ON_W1)
    assert (there.status, there.error) == ("succeeded", None)
    assert there.worker_id == "w1"
    events = {done.run_id: await server.client.events(done.run_id) for done in (here, there)}
    assert_whole(events[there.run_id])
    kinds = [[event.type for event in each if event.type != "run_warning"] for each in events.values()]
    assert kinds[0] == kinds[1]
    assert payload(events[there.run_id][0])["worker_id"] == "w1"
    assert await amounts(server, there.run_id) == [5.0]

    # Nothing of it lies where another run would find it: only the bytes under their hash.
    sha256 = hashlib.sha256(FILTER.encode()).hexdigest()
    kept = agent.folder / "inputs" / sha256
    assert kept.read_text() == FILTER
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert not list(agent.data_dir.rglob("*.py"))
    assert not list(agent.data_dir.rglob("nodes"))

    # A graph over the size of a message comes the same way (F-6), and the file from the cache.
    large = await run(server, graph("FileConstant", note="x" * 1_500_000, amount=7.0), ON_W1)
    assert (large.status, large.error) == ("succeeded", None)
    assert await amounts(server, large.run_id) == [7.0]
    assert len(list((agent.folder / "inputs").iterdir())) == 2


async def test_a_run_that_waits_takes_the_file_of_its_submission(server: ControlPlane, agent: Agent) -> None:
    await server.client.drain("w1")
    before = await server.client.submit(graph("FileConstant"), ON_W1)
    (server.data_dir / "nodes" / "filters.py").write_text(FILTER.replace("5.0", "6.0"))
    await server.client.request("POST", "/api/nodes/reload")
    after = await server.client.submit(graph("FileConstant"), ON_W1)
    await server.client.drain("w1", draining=False)
    for submitted, amount in ((before, 5.0), (after, 6.0)):
        done = await server.client.wait(submitted.run_id, 120)
        assert (done.status, done.error) == ("succeeded", None)
        assert await amounts(server, done.run_id) == [amount]
    assert await amounts(server, (await run(server, graph("FileConstant"))).run_id) == [6.0]


async def test_a_package_that_the_worker_lacks_and_a_file_that_fails_there_are_named(
    server: ControlPlane, agent: Agent
) -> None:
    # Once the worker has told what its engine can run, a run that it never could is refused.
    assert (await run(server, graph("ConstantValue"), ON_W1)).status == "succeeded"
    with pytest.raises(ApiError) as refused:
        await server.client.submit(graph("TinyConstant"), ON_W1)
    assert (refused.value.status, refused.value.code) == (400, "worker_lacks_types")
    assert refused.value.params["types"] == "TinyConstant"
    assert "codefy-agent engine install --with codefy-tiny" in str(refused.value)

    # A file may import what only the server's environment has.
    nodes = server.data_dir / "nodes" / "filters.py"
    nodes.write_text("import codefy_tiny\n" + FILTER)
    await server.client.request("POST", "/api/nodes/reload")
    done = await run(server, graph("FileConstant"), ON_W1)
    assert done.error is not None
    assert (done.status, done.error.code) == ("failed", "node_file_failed")
    assert "filters.py" in done.error.message
    assert "No module named 'codefy_tiny'" in done.error.message
    assert (await run(server, graph("FileConstant"))).status == "succeeded"
