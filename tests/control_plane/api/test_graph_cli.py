"""``codefy graph exec`` and ``codefy graph script``, without a server."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from codefy_control_plane.cli.graph import graph

NODE_FILE = '''
from codefy_engine.nodes.base import Node, Secret, node, output, param

@node(type="FromFile", title="From a file", category="tests", icon="user")
class FromFile(Node):
    """Use a secret."""
    token: Secret | None = param(None, kind="secret")
    value: str = output("value")
    def run(self, ctx):
        return f"{len(ctx.secret(self.token))} characters of {ctx.secret(self.token)}"
'''


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CODEFY_DATA_DIR", str(tmp_path / "data"))
    before = signal.getsignal(signal.SIGINT)

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(graph, [str(argument) for argument in arguments])

    yield run
    signal.signal(signal.SIGINT, before)


def write(path: Path, *nodes: dict[str, Any], **rest: Any) -> Path:
    path.write_text(json.dumps({"name": "g", "nodes": list(nodes), **rest}))
    return path


def item(node_id: str, type: str, **params: Any) -> dict[str, Any]:
    return {"id": node_id, "type": type, "data": {"params": params}}


def test_exec_up_to_a_node_with_nodes_from_files_and_a_secret(
    invoke: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data" / "nodes"
    folder.mkdir(parents=True)
    (folder / "mine.py").write_text(NODE_FILE)
    (folder / "broken.py").write_text("import nowhere_at_all")
    file = write(
        tmp_path / "g.json",
        item("use", "FromFile", token={"secret": "MY_TOKEN"}),
        item("bad", "Konstant"),
    )
    assert invoke("exec", file).exit_code == 1
    missing = invoke("exec", file, "--until", "use", "--secret", "MY_TOKEN")
    assert missing.exit_code == 2 and "MY_TOKEN" in missing.output
    monkeypatch.setenv("MY_TOKEN", "hunter2-hunter2")
    done = invoke("exec", file, "--until", "use", "--secret", "MY_TOKEN", "--json")
    assert done.exit_code == 0, done.output
    assert "15 characters of [secret MY_TOKEN]" in done.output
    assert "hunter2" not in done.output
    assert "nodes/broken.py could not be loaded" in done.output


@pytest.mark.parametrize(
    ("formula", "last", "code"), [("1 + 1", "execution_complete", 0), ("1 / 0", "execution_error", 1)]
)
def test_exec_tells_the_first_and_the_last_event_as_a_server_does(
    invoke: Any, tmp_path: Path, formula: str, last: str, code: int
) -> None:
    done = invoke(
        "exec", write(tmp_path / "g.json", item("it", "Expression", names="", formula=formula)), "--json"
    )
    assert done.exit_code == code, done.output
    told = [json.loads(line) for line in done.output.splitlines() if line.startswith("{")]
    assert [line["type"] for line in told] == [
        "execution_start",
        "node_status",
        "node_status",
        last,
        "result",
    ]
    assert told[0]["payload"]["node_count"] == 1
    assert (told[-2]["payload"].get("error") or {}).get("node_id") == (None if code == 0 else "it")


def test_script_writes_what_runs(invoke: Any, tmp_path: Path) -> None:
    file = write(tmp_path / "g.json", item("data", "SklearnDataset", name="iris"))
    printed = invoke("script", file)
    assert printed.exit_code == 0 and "graph.add('SklearnDataset', 'data', name='iris')" in printed.output
    written = invoke("script", file, "-o", tmp_path / "out.py")
    assert written.exit_code == 0
    assert (tmp_path / "out.py").read_text() == printed.output
    broken = invoke("script", write(tmp_path / "b.json", item("x", "Nope")))
    assert broken.exit_code == 1 and "Nope" in broken.output
