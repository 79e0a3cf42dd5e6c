"""Graphs, examples and the node catalog over HTTP."""

from __future__ import annotations

import json
from typing import Any

import httpx

from codefy_control_plane.settings import Settings
from codefy_protocol import __version__

VALID = {
    "format_version": 1,
    "name": "wine",
    "nodes": [
        {
            "id": "d",
            "type": "SklearnDataset",
            "position": {"x": 0, "y": 0},
            "data": {"params": {"name": "wine"}},
        }
    ],
    "edges": [],
}


async def test_validation_names_all_problems_at_once(client: httpx.AsyncClient) -> None:
    broken = {
        "format_version": 1,
        "nodes": [
            {"id": "a", "type": "NoSuchNode", "position": {"x": 0, "y": 0}, "data": {"params": {}}},
            {
                "id": "b",
                "type": "SklearnDataset",
                "position": {"x": 0, "y": 0},
                "data": {"params": {"name": "no"}},
            },
        ],
        "edges": [{"source": "b", "sourceHandle": "dataset", "target": "zz", "targetHandle": "in"}],
    }
    answer = (await client.post("/api/graphs/validate", json={"graph": broken})).json()
    assert answer["valid"] is False
    assert {problem["code"] for problem in answer["problems"]} >= {"unknown_node_type", "param_invalid"}
    for problem in answer["problems"]:
        assert set(problem) == {"message", "code", "node_id", "params"}
    assert (await client.post("/api/graphs/validate", json={"graph": VALID})).json() == {
        "valid": True,
        "problems": [],
    }
    no_graph = (await client.post("/api/graphs/validate", json={"graph": 5})).json()
    assert [problem["code"] for problem in no_graph["problems"]] == ["graph_not_a_graph"]


async def test_examples_are_valid_and_open(client: httpx.AsyncClient) -> None:
    examples = (await client.get("/api/examples")).json()["examples"]
    assert "digits-cnn" in {example["name"] for example in examples}
    for example in examples:
        opened = (await client.get(f"/api/examples/{example['name']}")).json()
        answer = await client.post("/api/graphs/validate", json={"graph": opened["graph"]})
        assert answer.json() == {"valid": True, "problems": []}
    missing = await client.get("/api/examples/..%2Fpyproject")
    assert missing.status_code == 404


async def test_save_open_change_delete(client: httpx.AsyncClient) -> None:
    url = "/api/graphs/我的 graph"
    assert (await client.get(url)).status_code == 404
    unknown = {**VALID, "note": {"kept": True}}
    created = await client.put(url, json={"graph": unknown, "base_revision": 0})
    assert (created.status_code, created.json()["revision"]) == (200, 1)
    assert created.json()["graph"]["note"] == {"kept": True}
    conflict = await client.put(url, json={"graph": VALID, "base_revision": 7})
    assert (conflict.status_code, conflict.json()["code"]) == (409, "graph_changed")
    assert conflict.json()["params"]["revision"] == 1
    listed = (await client.get("/api/graphs")).json()["graphs"]
    assert [(graph["name"], graph["node_count"]) for graph in listed] == [("我的 graph", 1)]
    assert (await client.delete(url)).status_code == 204
    assert (await client.delete(url)).json()["code"] == "graph_not_found"


async def test_what_cannot_be_saved(client: httpx.AsyncClient) -> None:
    no_graph = await client.put("/api/graphs/x", json={"graph": [1]})
    assert (no_graph.status_code, no_graph.json()["code"]) == (400, "graph_not_a_graph")
    assert no_graph.json()["problems"]
    bad_name = await client.put("/api/graphs/.x", json={"graph": VALID})
    assert (bad_name.status_code, bad_name.json()["code"]) == (400, "invalid_name")
    assert (await client.get("/api/graphs")).json() == {"graphs": [], "drafts": []}


async def test_node_catalog(client: httpx.AsyncClient) -> None:
    catalog = (await client.get("/api/nodes")).json()
    assert catalog["failures"] == []
    assert len(catalog["catalog_hash"]) == 64
    types = {node["type"]: node for node in catalog["nodes"]}
    assert "TrainingLoop" in types
    assert (await client.get("/api/nodes/TrainingLoop")).json() == types["TrainingLoop"]
    missing = await client.get("/api/nodes/TrainingLop")
    assert missing.status_code == 404
    assert "TrainingLoop" in json.dumps(missing.json())


async def test_workers_and_devices(client: httpx.AsyncClient) -> None:
    workers = (await client.get("/api/workers")).json()["workers"]
    assert [worker["worker_id"] for worker in workers] == ["local"]
    devices = (await client.get("/api/system/devices")).json()["devices"]
    assert devices[0]["device"]["name"] == "cpu"
    assert devices == workers[0]["devices"]
    assert devices[0]["slots"]["used"] == 0
    for action in ("drain", "undrain"):
        response = await client.post(f"/api/workers/nobody/{action}")
        assert (response.status_code, response.json()["code"]) == (404, "unknown_worker")


async def test_shapes_of_an_example_and_of_no_graph(client: httpx.AsyncClient) -> None:
    graph = (await client.get("/api/examples/digits-cnn")).json()["graph"]
    answer = (await client.post("/api/graphs/shapes", json={"graph": graph})).json()
    assert answer["problems"] == []
    wires = {(wire["source"], wire["source_port"]): wire for wire in answer["wires"]}
    assert wires["digits", "dataset"]["shape"] == [1797, 1, 8, 8]
    inside = [wire for wire in answer["wires"] if wire["source"].startswith("model/")]
    assert inside and all(wire["shape"][0] is None for wire in inside)
    nodes = {node["node_id"]: node for node in answer["nodes"]}
    assert nodes["model"]["parameters"] > 1000
    broken = (await client.post("/api/graphs/shapes", json={"graph": 5})).json()
    assert [problem["code"] for problem in broken["problems"]] == ["graph_not_a_graph"]


NODE_FILE = """
from codefy_engine.nodes.base import Node, node, output, param

@node(type="{type}", title="Mine", category="tests", icon="user")
class Mine(Node):
    \"\"\"Mine.\"\"\"
    amount: float = param({default})
    value: float = output("value")
    def run(self, ctx):
        return self.amount
"""


async def test_nodes_in_files_are_loaded_again_without_a_restart(
    client: httpx.AsyncClient, settings: Settings, runs: Any, graph_of: Any
) -> None:
    before = (await client.get("/api/nodes")).json()
    assert (await client.post("/api/nodes/reload")).json() == before
    folder = settings.nodes_dir
    folder.mkdir()
    (folder / "mine.py").write_text(NODE_FILE.format(type="MineFromAFile", default=1.5))
    (folder / "broken.py").write_text("import nowhere_at_all")
    (folder / "clash.py").write_text(NODE_FILE.format(type="Print", default=1))
    after = (await client.post("/api/nodes/reload")).json()
    assert after["catalog_hash"] != before["catalog_hash"]
    assert {node["type"] for node in after["nodes"]} - {node["type"] for node in before["nodes"]} == {
        "MineFromAFile"
    }
    assert {item["source"]: item["error"] for item in after["failures"]} == {
        "nodes/broken.py": "ModuleNotFoundError: No module named 'nowhere_at_all'",
        "nodes/clash.py": "NodeDefinitionError: the node types exist already: Print (from builtin)",
    }
    shown = (await client.get("/api/nodes/MineFromAFile")).json()
    assert (shown["source"], shown["params"][0]["default"]) == ("nodes/mine.py", 1.5)
    events = await runs.wait(await runs.submit(graph_of("MineFromAFile", amount=4)))
    done = [event["payload"] for event in events if event["payload"].get("status") == "succeeded"]
    assert done[0]["outputs"]["value"]["value"] == 4
    for path in folder.iterdir():
        if path.is_file():
            path.unlink()
    assert (await client.post("/api/nodes/reload")).json() == before


async def test_the_server_says_where_the_token_is_but_not_the_token(
    client: httpx.AsyncClient, stranger: httpx.AsyncClient, settings: Settings
) -> None:
    response = await client.get("/api/system/server")
    assert response.json() == {
        "version": __version__,
        "data_dir": str(settings.data_dir.absolute()),
        "token_file": str(settings.data_dir.absolute() / "session-token"),
    }
    token = settings.token_path.read_text("utf-8").strip()
    assert token not in response.text
    refused = await stranger.get("/api/system/server")
    assert (refused.status_code, refused.json()["code"]) == (401, "token_required")


async def test_a_body_nested_too_deep_is_refused_and_no_error_of_the_server(
    client: httpx.AsyncClient,
) -> None:
    deep = b'{"graph":' + b"[" * 5000 + b"]" * 5000 + b"}"
    for method, path in (
        ("POST", "/api/graphs/validate"),
        ("PUT", "/api/graphs/deep"),
        ("POST", "/api/runs"),
    ):
        answer = await client.request(
            method, path, content=deep, headers={"Content-Type": "application/json"}
        )
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_body")


async def test_a_graph_file_nested_too_deep_is_not_listed(
    client: httpx.AsyncClient, settings: Settings
) -> None:
    folder = settings.data_dir / "graphs"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "deep.json").write_bytes(b"[" * 5000 + b"]" * 5000)
    assert (await client.get("/api/graphs")).json()["graphs"] == []
    assert (await client.get("/api/graphs/deep")).status_code == 404


async def test_huge_numbers_in_requests_are_refused(client: httpx.AsyncClient) -> None:
    huge = 10**400
    for options in ({"seed": huge}, {"priority": huge}, {"resume_grace_s": huge}):
        answer = await client.post("/api/runs", json={"graph": VALID, "options": options})
        assert answer.status_code == 400, options
    nodes = [{"id": "d", "type": "SklearnDataset", "position": {"x": huge, "y": 0}}]
    moved = {**VALID, "nodes": nodes}
    assert (await client.put("/api/graphs/far", json={"graph": moved})).status_code == 400
    revised = await client.put("/api/graphs/far", json={"graph": VALID, "base_revision": huge})
    assert revised.status_code in (400, 409)
    for query in (f"limit={huge}", f"offset={huge}", f"before={huge}"):
        assert (await client.get(f"/api/runs?{query}")).status_code == 400, query
