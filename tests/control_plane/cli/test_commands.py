"""The codefy command without a server: graphs, nodes, and clear words when something is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import click
import httpx
import pytest
from click.testing import CliRunner, Result

from codefy_control_plane.cli import COMMANDS, main
from codefy_control_plane.cli.runs import resolve
from codefy_control_plane.client import Client, ServerUnreachable

EXAMPLES = Path(__file__).parents[3] / "examples"


def codefy(*arguments: str, **environment: str) -> Result:
    result = CliRunner().invoke(main, list(arguments), env=environment)
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def graph(nodes: list[tuple[str, str, dict[str, Any]]], edges: list[tuple[str, str, str, str]] = ()) -> str:  # type: ignore[assignment]
    return json.dumps(
        {
            "format_version": 1,
            "nodes": [{"id": i, "type": t, "data": {"params": p}} for i, t, p in nodes],
            "edges": [
                {"source": s, "sourceHandle": sp, "target": t, "targetHandle": tp} for s, sp, t, tp in edges
            ],
        }
    )


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_explains_itself(name: str) -> None:
    result = codefy(name, "--help")
    assert result.exit_code == 0
    assert "Usage: " in result.output


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_every_example_is_a_valid_graph(path: Path) -> None:
    result = codefy("graph", "validate", str(path))
    assert result.exit_code == 0, result.output
    assert "is fine" in result.output


BAD_GRAPHS = {
    "no JSON": ("{", ["not JSON", "line 1"]),
    "no graph": ('{"runs": []}', ["not a graph", "nodes"]),
    "an unknown node type": (graph([("a", "Lineer", {})]), ["Lineer", "not installed"]),
    "a parameter out of range": (graph([("a", "AdamW", {"lr": -1})]), ["a.lr", "-1"]),
    "a missing input": (graph([("e", "Evaluate", {})]), ["e", "needs its input", "model"]),
    "a port of the wrong type": (
        graph(
            [("o", "AdamW", {}), ("e", "Evaluate", {}), ("d", "SklearnDataset", {})],
            [("o", "optimizer", "e", "model"), ("d", "dataset", "e", "data")],
        ),
        ["o.optimizer gives optimizer", "takes model"],
    ),
    "a cycle": (
        graph(
            [("a", "TrainTestSplit", {}), ("b", "TrainTestSplit", {})],
            [("a", "train", "b", "dataset"), ("b", "train", "a", "dataset")],
        ),
        ["cycle", "a", "b"],
    ),
}


@pytest.mark.parametrize("name", BAD_GRAPHS)
@pytest.mark.parametrize("command", ["validate", "exec"])
def test_a_bad_graph_is_told_in_one_message(name: str, command: str, tmp_path: Path) -> None:
    text, said = BAD_GRAPHS[name]
    path = tmp_path / "bad.json"
    path.write_text(text)
    result = codefy("graph", command, str(path))
    assert result.exit_code == 1
    for words in said:
        assert words in result.output
    assert list(tmp_path.iterdir()) == [path]


def test_all_problems_are_told_together(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(
        graph([("a", "Nope", {}), ("b", "AdamW", {"lr": "fast", "lrr": 1}), ("e", "Evaluate", {})])
    )
    result = codefy("graph", "validate", str(path), "--json")
    assert result.exit_code == 1
    problems = [json.loads(line) for line in result.output.splitlines()]
    assert {problem["node_id"] for problem in problems} == {"a", "b", "e"}
    assert len(problems) == 5
    assert all(problem["code"] and problem["message"] for problem in problems)


def test_a_file_that_is_not_there_is_a_bad_command_line(tmp_path: Path) -> None:
    result = codefy("graph", "validate", str(tmp_path / "none.json"))
    assert result.exit_code == 2
    assert "none.json" in result.output


def test_executing_here_writes_results_and_metrics(tmp_path: Path) -> None:
    document = json.loads((EXAMPLES / "wine-mlp.json").read_text())
    for node in document["nodes"]:
        if node["type"] == "TrainingLoop":
            node["data"]["params"]["epochs"] = 2
    path = tmp_path / "wine.json"
    path.write_text(json.dumps(document))
    result = codefy("graph", "exec", str(path), "--out", str(tmp_path / "out"), "--json")
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in result.output.splitlines()]
    assert lines[-1]["type"] == "result"
    assert lines[-1]["status"] == "succeeded"
    assert any(line["type"] == "metrics" for line in lines)
    assert list((tmp_path / "out").rglob("checkpoint-*.pt"))


def test_nodes_are_documented_and_a_misspelled_one_is_found() -> None:
    assert "TrainingLoop" in codefy("nodes", "list").output
    shown = codefy("nodes", "show", "TrainingLoop").output
    for words in ("Inputs", "optimizer", "epochs", "default"):
        assert words in shown
    missing = codefy("nodes", "show", "TrainingLop")
    assert missing.exit_code == 1
    assert "TrainingLoop" in missing.output


@pytest.mark.parametrize(
    "arguments",
    [("runs", "list"), ("worker", "list"), ("run", str(EXAMPLES / "wine-mlp.json")), ("runs", "cancel", "1")],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_without_a_server_the_remedy_is_named(arguments: tuple[str, ...], tmp_path: Path) -> None:
    result = codefy(*arguments, CODEFY_DATA_DIR=str(tmp_path))
    assert result.exit_code == 1
    assert "codefy serve" in result.output
    (tmp_path / "session-token").write_text("x" * 40)
    gone = codefy(*arguments, "--server", "http://127.0.0.1:9", CODEFY_DATA_DIR=str(tmp_path))
    assert gone.exit_code == 1
    assert "127.0.0.1:9" in gone.output


@pytest.mark.parametrize("text", ["", " ", "#"])
async def test_an_empty_run_id_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(click.ClickException, match="No run is named"):
        await resolve(cast("Client", None), text)


def test_a_device_that_was_asked_for_and_is_not_here_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    path = tmp_path / "wine.json"
    path.write_text(graph([("d", "SklearnDataset", {"name": "wine"})]))
    result = codefy("graph", "exec", str(path), "--device", "cuda", "--out", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert "This machine has no device cuda; it offers cpu" in result.output
    assert not (tmp_path / "out").exists()
    document = json.loads(path.read_text()) | {"settings": {"device": "cuda"}}
    path.write_text(json.dumps(document))
    fallen_back = codefy("graph", "exec", str(path), "--out", str(tmp_path / "out"))
    assert fallen_back.exit_code == 0, fallen_back.output


def test_a_timeout_is_named_though_it_has_no_words() -> None:
    assert "(ReadTimeout)" in str(ServerUnreachable("http://here", httpx.ReadTimeout("")))
