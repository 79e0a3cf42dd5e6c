"""Captured outputs over HTTP: what the inspector of a run gets (O-2, O-3)."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
import torch
from websockets.asyncio.client import connect

from codefy_control_plane.server import Server

PATH = "/api/execution/outputs"


def _document() -> dict[str, Any]:
    def node(node_id: str, node_type: str, **params: Any) -> dict[str, Any]:
        return {"id": node_id, "type": node_type, "position": {"x": 0, "y": 0}, "data": {"params": params}}

    def wire(number: int, source: str, target: str, port: str, given: str) -> dict[str, Any]:
        return {
            "id": f"e{number}",
            "source": source,
            "sourceHandle": given,
            "target": target,
            "targetHandle": port,
        }

    return {
        "format_version": 1,
        "name": "looked at",
        "nodes": [
            node("given", "TensorByHand", values=[[1.0, -2.0], [3.0, -4.0]]),
            node("box", "Preset", preset="rectify"),
            node("say", "Chatter", warnings=0),
        ],
        "edges": [wire(1, "given", "box", "x", "tensor")],
        "presets": {
            "rectify": {
                "nodes": [node("relu", "ReLU")],
                "edges": [],
                "inputs": [{"name": "x", "node": "relu", "port": "x"}],
                "outputs": [{"name": "y", "node": "relu", "port": "y"}],
            }
        },
    }


@pytest.fixture
async def looked_at(client: httpx.AsyncClient, runs: Any) -> str:
    run_id = await runs.submit(_document(), options={"record_outputs": True})
    events = await runs.wait(run_id)
    assert events[-1]["type"] == "execution_complete", events[-1]
    return run_id


async def _problem(client: httpx.AsyncClient, path: str, **query: str) -> tuple[int, str]:
    answer = await client.get(f"{PATH}{path}", params=query)
    return answer.status_code, answer.json()["code"]


async def test_the_list_says_what_is_kept_and_what_fed_what(
    client: httpx.AsyncClient, looked_at: str
) -> None:
    found = (await client.get(PATH, params={"run_id": looked_at})).json()
    assert found["kept"] is True
    by_node = {item["node_id"]: item for item in found["outputs"]}
    assert set(by_node) == {"given", "box/relu", "say"}
    assert by_node["box/relu"]["facts"]["shape"] == [2, 2]
    before = {"x": {"node_id": "given", "port": by_node["given"]["port"]}}
    assert found["inputs"] == {"box/relu": before, "box": before}
    assert found["origins"] == {"box": {"y": {"node_id": "box/relu", "port": "y"}}}


async def test_facts_values_and_picture(client: httpx.AsyncClient, looked_at: str) -> None:
    at = {"node_id": "box/relu", "port": "y"}
    about = (await client.get(f"{PATH}/{looked_at}/about", params=at)).json()
    assert about["output"]["type"] == "tensor"
    statistics = about["statistics"]
    assert (statistics["count"], statistics["zero"], statistics["max"], statistics["mean"]) == (4, 2, 3, 1)
    assert about["picture"] == {"width": 2, "height": 2, "channels": 1, "leading": []}
    values = (await client.get(f"{PATH}/{looked_at}/values", params=at)).json()
    assert values["values"] == [[1, 0], [3, 0]]
    part = (
        await client.get(f"{PATH}/{looked_at}/values", params={**at, "start": "1,0", "size": "1,1"})
    ).json()
    assert (part["start"], part["values"]) == ([1, 0], [[3]])
    image = await client.get(f"{PATH}/{looked_at}/image", params=at)
    assert image.headers["content-type"] == "image/png"
    assert image.content.startswith(b"\x89PNG")
    text = {"node_id": "say", "port": "seen"}
    about = (await client.get(f"{PATH}/{looked_at}/about", params=text)).json()
    assert (about["statistics"], about["picture"]) == (None, None)
    values = (await client.get(f"{PATH}/{looked_at}/values", params=text)).json()
    assert (values["text"], values["values"]) == ("done", None)


async def test_what_is_not_there_is_said(client: httpx.AsyncClient, looked_at: str) -> None:
    at = {"node_id": "box/relu", "port": "y"}
    assert await _problem(client, "", run_id="nothing") == (404, "run_not_found")
    assert await _problem(client, "/nothing/about", **at) == (404, "run_not_found")
    for kind in ("about", "values", "image"):
        assert await _problem(client, f"/{looked_at}/{kind}", node_id="box", port="y") == (
            404,
            "output_not_kept",
        )
    assert await _problem(client, f"/{looked_at}/image", node_id="say", port="seen") == (
        404,
        "output_no_picture",
    )
    assert await _problem(client, f"/{looked_at}/values", **at, size="-1") == (400, "invalid_query")
    assert await _problem(client, f"/{looked_at}/values", **at, start="1,x") == (400, "invalid_query")
    assert await _problem(client, f"/{looked_at}/values", node_id="x") == (400, "invalid_query")


async def test_an_index_outside_is_refused(client: httpx.AsyncClient, runs: Any, graph_of: Any) -> None:
    graph = graph_of("TensorByHand", values=[[[1.0, 2.0]], [[3.0, 4.0]]])
    run_id = await runs.submit(graph, options={"record_outputs": True})
    await runs.wait(run_id)
    (only,) = (await client.get(PATH, params={"run_id": run_id})).json()["outputs"]
    at = {"node_id": "n", "port": only["port"]}
    values = (await client.get(f"{PATH}/{run_id}/values", params={**at, "index": "1"})).json()
    assert (values["index"], values["values"]) == ([1], [[3, 4]])
    for kind in ("values", "image"):
        assert await _problem(client, f"/{run_id}/{kind}", **at, index="2") == (400, "invalid_query")


async def test_a_queued_run_keeps_nothing_unless_asked(
    client: httpx.AsyncClient, runs: Any, graph_of: Any
) -> None:
    run_id = await runs.submit(graph_of("Chatter"))
    await runs.wait(run_id)
    found = (await client.get(PATH, params={"run_id": run_id})).json()
    assert (found["kept"], found["outputs"]) == (False, [])


async def test_runs_of_the_canvas_keep_their_outputs_until_they_are_deleted(
    server: Server, client: httpx.AsyncClient, runs: Any, graph_of: Any
) -> None:
    url = server.url.replace("http://", "ws://") + "/ws/execution"
    async with connect(url, proxy=None, additional_headers={"x-codefy-token": server.token}) as socket:
        run_ids: list[str] = []
        for _ in range(2):
            await socket.send(json.dumps({"type": "run", "graph": graph_of("Chatter")}))
            accepted = json.loads(await socket.recv())
            while accepted["type"] != "accepted":
                accepted = json.loads(await socket.recv())
            run_ids.append(accepted["run_id"])
            await runs.wait(accepted["run_id"])
    # The second run reused the node of the first, and shows its output all the same.
    for run_id in run_ids:
        values = await client.get(f"{PATH}/{run_id}/values", params={"node_id": "n", "port": "seen"})
        assert values.json()["text"] == "done"
    assert (await client.get(f"/api/runs/{run_ids[0]}")).json()["options"].get("record_outputs") is None
    assert (await client.delete(f"/api/runs/{run_ids[0]}")).status_code == 204
    assert server.context.service.outputs.list_outputs(run_ids[0]).kept is False
    assert server.context.service.outputs.list_outputs(run_ids[1]).kept is True


async def test_steps_and_gradients(server: Server, client: httpx.AsyncClient, looked_at: str) -> None:
    store = server.context.service.outputs.store
    trace = store.begin_trace(looked_at, "box/relu", "training")
    assert trace is not None
    for step in range(1, 4):
        trace.add(step, {"fc": torch.full((4,), float(step))}, {"fc.weight": torch.ones(2)}, epoch=step / 2)
    trace.keep_gradients({"fc.weight": torch.tensor([[1.0, 2.0], [3.0, 4.0]])})
    (info,) = (await client.get(PATH, params={"run_id": looked_at})).json()["traces"]
    assert (info["node_id"], info["kept"], info["whole_gradients"]) == ("box/relu", 3, ["fc.weight"])
    query: dict[str, str | int] = {"node_id": "box/relu", "name": "fc", "first": 2}
    steps = (await client.get(f"{PATH}/{looked_at}/steps", params=query)).json()["steps"]
    assert [(item["step"], item["values"]["fc"]["mean"]) for item in steps] == [(2, 2), (3, 3)]
    assert "gradients" not in steps[0]
    at = {"node_id": "box/relu", "parameter": "fc.weight"}
    gradient = (await client.get(f"{PATH}/{looked_at}/gradient", params={**at, "start": "1,0"})).json()
    assert (gradient["statistics"]["max"], gradient["part"]["values"]) == (4, [[3, 4]])
    assert await _problem(client, f"/{looked_at}/steps", node_id="say") == (404, "steps_not_kept")
    at["parameter"] = "fc.bias"
    assert await _problem(client, f"/{looked_at}/gradient", **at) == (404, "output_not_kept")
