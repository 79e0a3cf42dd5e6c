"""X-5 and X-8 on a worker: a secret reaches its node and no disk; the run says what computed it and where results come from."""

from __future__ import annotations

import asyncio
import platform
from pathlib import Path
from typing import Any

import msgspec
import pytest

from codefy_agent.testing import Agent
from codefy_control_plane.client import ApiError
from codefy_control_plane.testing import ControlPlane
from codefy_protocol.names import RunOptions, Target

from .conftest import assert_whole, run_dir
from .test_worker_run import codefy

VALUE = "hunter2 & the 'long' wait"
PARTS = (b"hunter2", b"long' wait", b"hunter2%20")

NODE = '''"""A node that uses a secret, and tells everybody."""

import hashlib
import os
import sys
import time
from typing import Any

from codefy_engine.nodes.base import Node, NodeError, Secret, node, output, param


@node(type="Login", title="Log in", category="data", icon="key")
class Login(Node):
    """Log in with a token."""

    token: Secret | None = param(None, kind="secret", doc="The token.")
    end: str = param("well", doc="How it ends.")
    digest: Any = output("value", doc="SHA-256 of the token.")

    def run(self, ctx):
        value = ctx.secret(self.token)
        print("printed", value[:7], end="")
        sys.stdout.flush()
        print(value[7:])
        os.write(2, f"from below: {value}".encode())
        ctx.progress(0.5, text=f"with {value}")
        ctx.metric("length", len(value), 1)
        (ctx.run_dir / "waits").touch()
        while not (ctx.run_dir / "go").exists():
            ctx.check_stop()
            time.sleep(0.01)
        if self.end == "badly":
            raise RuntimeError(f"https://host/?token={value} was not liked")
        if self.end == "killed":
            os.kill(os.getpid(), 9)
        return hashlib.sha256(value.encode()).hexdigest()
'''


def graph(end: str) -> dict[str, Any]:
    """The secret under another name, behind a preset."""
    inner = {
        "id": "login",
        "type": "Login",
        "position": {"x": 0, "y": 0},
        "data": {"params": {"end": end, "token": None}},
    }
    return {
        "format_version": 1,
        "name": "secret",
        "nodes": [
            {
                "id": "box",
                "type": "Preset",
                "position": {"x": 0, "y": 0},
                "data": {"params": {"preset": "service", "api_key": {"secret": "KEY"}}},
            }
        ],
        "edges": [],
        "presets": {
            "service": {
                "nodes": [inner],
                "edges": [],
                "params": [{"name": "api_key", "node": "login", "param": "token"}],
            }
        },
    }


def found_in(*folders: Path) -> list[Path]:
    """Files in which a part of the secret stands."""
    found: list[Path] = []
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and any(part in path.read_bytes() for part in PARTS):
                found.append(path)
    return found


@pytest.fixture
async def with_node(server: ControlPlane) -> ControlPlane:
    folder = server.data_dir / "nodes"
    folder.mkdir()
    (folder / "login.py").write_text(NODE)
    await server.client.request("POST", "/api/nodes/reload")
    return server


@pytest.mark.parametrize(
    ("worker", "end", "status"),
    [
        ("w1", "well", "succeeded"),
        ("w1", "badly", "failed"),
        ("w1", "killed", "failed"),
        ("local", "badly", "failed"),
    ],
)
async def test_a_secret_is_on_no_disk_and_in_no_answer(
    with_node: ControlPlane, agent: Agent, worker: str, end: str, status: str
) -> None:
    server = with_node
    options = RunOptions(target=Target(worker=worker), provenance=True, seed=5)
    with pytest.raises(ApiError, match="KEY") as refused:
        await server.client.submit(graph(end), options)
    assert refused.value.code == "secrets_not_given"
    assert refused.value.problems[0].node_id == "box"
    submitted = await server.client.submit(graph(end), options, secrets={"KEY": VALUE})
    folder = run_dir(server, submitted.run_id)
    async with asyncio.timeout(120):
        while not (folder / "waits").exists():
            await asyncio.sleep(0.02)
    # Everything it told is in the spool or in the database by now.
    assert found_in(server.data_dir, agent.data_dir) == []
    (folder / "go").touch()
    done = await server.client.wait(submitted.run_id, 120)
    assert done.status == status, done.error
    assert done.secret_names == ["KEY"]
    events = await server.client.events(submitted.run_id)
    assert_whole(events)
    told = b"".join(bytes(event.payload) for event in events)
    log = await server.client.log(submitted.run_id)
    assert b"printed [secret]\n" in log
    assert b"with [secret KEY]" in told
    answers = told + log + msgspec.json.encode(done) + "\n".join(server.output).encode()
    assert not any(part in answers for part in PARTS)
    if worker == "w1":
        assert b"from below: [secret]" in log
    if end == "killed":
        assert done.error is not None and "[secret]" in (done.error.output_tail or "")
    assert found_in(server.data_dir, agent.data_dir) == []

    found = await server.client.provenance(submitted.run_id)
    if end == "killed":
        return
    assert found.fingerprint_digest == done.execution_facts["fingerprint_digest"]
    assert done.execution_facts["fingerprint_source"] == ("worker-run" if worker == "w1" else "server")
    fingerprint = msgspec.json.decode(found.fingerprint)
    assert fingerprint["python"] == platform.python_version()
    assert "threads" in fingerprint["numerics"]
    if end == "well":
        (record,) = found.records
        assert (record.node_id, record.type, record.seed, record.volatile) == ("box/login", "Login", 5, True)
        code, out, err = await codefy(server, "runs", "show", str(done.number), "--provenance")
        assert code == 0, err
        assert "box/login" in out and done.execution_facts["fingerprint_digest"] in out
