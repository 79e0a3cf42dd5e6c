"""A graph as a Python script: the same document, the same metrics, codefy-engine alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codefy_engine.execution.script import run_here, run_script
from codefy_engine.graph import GraphDocument, GraphInvalid, parse_graph
from codefy_engine.graph.prepare import prepare_graph
from codefy_engine.graph.script import graph_script
from codefy_engine.nodes.registry import default_registry

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.json"))


def item(node_id: str, type: str, **params: Any) -> dict[str, Any]:
    return {"id": node_id, "type": type, "data": {"params": params}}


def wire(text: str) -> dict[str, str]:
    (source, source_port), (target, target_port) = (end.split(".") for end in text.split())
    return {
        "source": source,
        "sourceHandle": source_port,
        "target": target,
        "targetHandle": target_port,
    }


def built(text: str) -> GraphDocument:
    """The document that a script makes."""
    names: dict[str, Any] = {"__name__": "exported"}
    exec(compile(text, "exported.py", "exec"), names)
    return names["build"]()


def meaning(document: GraphDocument) -> Any:
    """What a document says, whatever the order and layout."""
    flat = prepare_graph(document, default_registry()).document

    def level(nodes: Any, edges: Any) -> Any:
        return (
            {n.id: (n.type, n.data.params, n.data.label, n.data.extra) for n in nodes},
            {(e.source, e.source_handle, e.target, e.target_handle) for e in edges},
        )

    inner = {name: level(s.nodes, s.edges) for name, s in flat.subgraphs.items()}
    return (
        level(flat.nodes, flat.edges),
        inner,
        document.settings.seed,
        document.settings.device,
        document.name,
    )


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_becomes_a_script_that_builds_the_same(path: Path) -> None:
    graph = parse_graph(path.read_bytes())
    text = graph_script(graph, default_registry())
    assert meaning(built(text)) == meaning(graph)
    assert "codefy_control_plane" not in text and "codefy_agent" not in text
    assert graph_script(built(text), default_registry()) == text


def small(**settings: Any) -> dict[str, Any]:
    return {
        "name": "small",
        "nodes": [
            item("data", "SklearnDataset", name="iris"),
            item("split", "TrainTestSplit", standardize=True),
            item("my-model!", "Module", subgraph="net"),
            item("class", "Adam", lr=0.01),
            item("train", "TrainingLoop", epochs=2, checkpoint="none"),
        ],
        "edges": [
            wire("data.dataset split.dataset"),
            wire("split.train train.train"),
            wire("my-model!.model train.model"),
            wire("class.optimizer train.optimizer"),
        ],
        "presets": {
            "head": {
                "nodes": [item("act", "ReLU"), item("last", "Linear", out_features=3)],
                "edges": [wire("act.y last.x")],
                "inputs": [{"name": "x", "node": "act", "port": "x"}],
                "outputs": [{"name": "y", "node": "last", "port": "y"}],
            }
        },
        "subgraphs": {
            "net": {
                "nodes": [
                    item("in", "ModuleInput"),
                    item("wide", "Linear", out_features=8),
                    item("head", "Preset", preset="head"),
                    item("out", "ModuleOutput"),
                ],
                "edges": [wire("in.x wide.x"), wire("wide.y head.x"), wire("head.y out.x")],
            },
            "unused": {"nodes": [], "edges": []},
        },
        "settings": {"seed": 5, **settings},
    }


def test_the_script_gives_the_metrics_of_the_graph(tmp_path: Path) -> None:
    graph = parse_graph(json.dumps(small()).encode())
    text = graph_script(graph, default_registry())
    here = run_here(graph, tmp_path / "here")
    assert here.status == "succeeded", here.error
    script = tmp_path / "small.py"
    script.write_text(text)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script), "--json", "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["status"] == "succeeded"
    steady = {
        name: value
        for name, value in here.latest.items()
        if "second" not in name and "memory" not in name and not name.endswith("_s")
    }
    assert steady["train_loss"] == told["metrics"]["train_loss"]
    assert steady == {name: told["metrics"][name] for name in steady}
    other = run_here(built(text), tmp_path / "other")
    assert [p.value for p in other.metrics if p.name == "loss"] == [
        p.value for p in here.metrics if p.name == "loss"
    ]


def test_the_command_line_of_a_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = parse_graph(json.dumps(small()).encode())
    out = str(tmp_path / "out")
    assert run_script(graph, "x.py", ["--out", out, "--until", "split"]) == 0
    assert "split: succeeded" in capsys.readouterr().err
    assert run_script(graph, "x.py", ["--out", out, "--until", "nobody"]) == 1
    assert "nobody" in capsys.readouterr().err
    with pytest.raises(SystemExit) as left:
        run_script(graph, "x.py", ["--out", out, "--device", "gpu"])
    assert left.value.code == 2


def test_odd_names_and_values_survive() -> None:
    raw = {
        "name": 'quotes " and \\ and "',
        "description": 'ends with """',
        "nodes": [
            {
                "id": "graph",
                "type": "Print",
                "data": {"params": {"label": "a\n'b' \"c\""}, "label": "名", "device": "cpu"},
            },
            item("import", "SklearnDataset"),
            item("a-b", "SklearnDataset"),
            item("a_b", "SklearnDataset"),
        ],
        "edges": [wire("a-b.dataset graph.value")],
    }
    graph = parse_graph(json.dumps(raw).encode())
    text = graph_script(graph, default_registry())
    assert meaning(built(text)) == meaning(graph)


def test_a_graph_with_problems_is_no_script() -> None:
    with pytest.raises(GraphInvalid):
        graph_script(parse_graph(b'{"nodes": [{"id": "x", "type": "Nope"}]}'), default_registry())
