"""Drafts, renaming and presets over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from codefy_control_plane.drafts import DraftStore
from codefy_control_plane.runs.errors import Refused
from codefy_control_plane.settings import Settings


def graph(*labels: str, **more: Any) -> dict[str, Any]:
    nodes = [
        {
            "id": f"n{at}",
            "type": "SklearnDataset",
            "position": {"x": 0, "y": 0},
            "data": {"params": {}, "label": label},
        }
        for at, label in enumerate(labels)
    ]
    return {"format_version": 1, "name": "x", "nodes": nodes, "edges": [], **more}


def labels(answer: Any) -> list[str]:
    return [node["data"]["label"] for node in answer["graph"]["nodes"]]


async def test_a_draft_is_kept_changed_and_removed(client: httpx.AsyncClient) -> None:
    url = "/api/graphs/未命名/draft"
    assert (await client.get(url)).json()["code"] == "draft_not_found"
    first = await client.put(url, json={"graph": graph("one"), "base_revision": 0})
    assert (first.status_code, first.json()["revision"], first.headers["etag"]) == (200, 1, '"1"')
    second = await client.put(
        url, json={"graph": graph("two"), "graph_revision": 7}, headers={"if-match": first.headers["etag"]}
    )
    assert second.json()["revision"] == 2
    got = (await client.get(url)).json()
    assert (got["revision"], got["graph_revision"], labels(got)) == (2, 7, ["two"])
    listed = (await client.get("/api/graphs")).json()
    assert listed["graphs"] == []
    assert [(one["name"], one["node_count"]) for one in listed["drafts"]] == [("未命名", 1)]
    assert (await client.delete(url, headers={"if-match": '"1"'})).json()["code"] == "draft_changed"
    assert (await client.delete(url, headers={"if-match": '"2"'})).status_code == 204
    assert (await client.delete(url)).status_code == 404


async def test_a_stale_write_is_told_what_is_there_and_changes_nothing(client: httpx.AsyncClient) -> None:
    for url in ("/api/graphs/shared", "/api/graphs/shared/draft"):
        await client.put(url, json={"graph": graph("theirs"), "base_revision": 0})
        for stale in ({"base_revision": 0}, {"base_revision": 5}):
            refused = await client.put(url, json={"graph": graph("mine"), **stale})
            assert refused.status_code == 409
            assert refused.json()["code"] in ("graph_changed", "draft_changed")
            current = refused.json()["current"]
            assert (current["revision"], labels(current)) == (1, ["theirs"])
        assert labels((await client.get(url)).json()) == ["theirs"]
    gone = await client.put("/api/graphs/nothing", json={"graph": graph("mine"), "base_revision": 3})
    assert gone.status_code == 409
    assert "current" not in gone.json()


@pytest.mark.parametrize("value", ["abc", '"1", "2"', '"-1"'])
async def test_an_if_match_that_is_none(client: httpx.AsyncClient, value: str) -> None:
    answer = await client.put("/api/graphs/x/draft", json={"graph": graph("a")}, headers={"if-match": value})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_header")


async def test_what_is_no_graph_is_no_draft(client: httpx.AsyncClient, settings: Settings) -> None:
    answer = await client.put("/api/graphs/x/draft", json={"graph": [1]})
    assert (answer.status_code, answer.json()["code"]) == (400, "graph_not_a_graph")
    assert not settings.drafts_dir.exists()
    named = await client.put("/api/graphs/.x/draft", json={"graph": graph("a")})
    assert named.json()["code"] == "invalid_name"


def test_drafts_are_bounded_and_none_is_thrown_away_for_another(tmp_path: Path) -> None:
    store = DraftStore(tmp_path / "drafts", max_bytes=100, max_drafts=2)
    small = b'{"nodes":[],"edges":[]}'
    store.put("a", small, 0, 0)
    store.put("b", small, 0, 0)
    with pytest.raises(Refused) as full:
        store.put("c", small, 0, 0)
    assert (full.value.status, full.value.reason.code) == (507, "drafts_full")
    assert store.put("a", small, 1, 0).revision == 2
    with pytest.raises(Refused) as large:
        store.put("a", b" " * 101, 2, 0)
    assert (large.value.status, large.value.reason.code) == (413, "draft_too_large")
    assert sorted(one.name for one in store.list()) == ["a", "b"]
    # A new store, as after a restart, finds them; a damaged file is none.
    (tmp_path / "drafts" / "b.json").write_text("{")
    again = DraftStore(tmp_path / "drafts", max_bytes=100, max_drafts=2)
    assert [one.name for one in again.list()] == ["a"]
    assert again.put("b", small, 0, 0).revision == 1


async def test_a_graph_is_renamed_with_its_content(client: httpx.AsyncClient) -> None:
    await client.put("/api/graphs/old", json={"graph": graph("kept", note={"stays": 1})})
    await client.put("/api/graphs/taken", json={"graph": graph("other")})
    taken = await client.post("/api/graphs/old/rename", json={"name": "taken"})
    assert (taken.status_code, taken.json()["code"]) == (409, "graph_exists")
    renamed = (await client.post("/api/graphs/old/rename", json={"name": "新名"})).json()
    assert (renamed["name"], renamed["graph"]["name"], renamed["graph"]["note"]) == (
        "新名",
        "新名",
        {"stays": 1},
    )
    assert (await client.get("/api/graphs/old")).status_code == 404
    assert labels((await client.get("/api/graphs/新名")).json()) == ["kept"]
    assert (await client.post("/api/graphs/old/rename", json={"name": "x"})).json()[
        "code"
    ] == "graph_not_found"
    assert (await client.post("/api/graphs/新名/rename", json={"name": "a/b"})).json()[
        "code"
    ] == "invalid_name"
    same = await client.post("/api/graphs/新名/rename", json={"name": "新名"})
    assert same.json()["revision"] == renamed["revision"]


async def test_a_draft_becomes_a_graph_when_it_is_named(client: httpx.AsyncClient) -> None:
    await client.put("/api/graphs/untitled/draft", json={"graph": graph("mine")})
    await client.put("/api/graphs/other/draft", json={"graph": graph("other")})
    taken = await client.post("/api/graphs/untitled/rename", json={"name": "other"})
    assert taken.json()["code"] == "graph_exists"
    named = (await client.post("/api/graphs/untitled/rename", json={"name": "digits"})).json()
    assert (named["revision"], labels(named)) == (1, ["mine"])
    assert (await client.get("/api/graphs/untitled/draft")).status_code == 404


async def test_an_undecided_draft_goes_with_its_graph(client: httpx.AsyncClient) -> None:
    await client.put("/api/graphs/g", json={"graph": graph("theirs")})
    await client.put("/api/graphs/g/draft", json={"graph": graph("mine"), "graph_revision": 1})
    await client.post("/api/graphs/g/rename", json={"name": "h"})
    assert labels((await client.get("/api/graphs/h")).json()) == ["theirs"]
    draft = (await client.get("/api/graphs/h/draft")).json()
    assert (labels(draft), draft["graph_revision"]) == (["mine"], 0)
    assert (await client.get("/api/graphs/g/draft")).status_code == 404


PRESET: dict[str, Any] = {
    "nodes": [
        {"id": "conv", "type": "Conv2d", "position": {"x": 0, "y": 0}, "data": {"params": {}}},
        {"id": "relu", "type": "Strange", "position": {"x": 200, "y": 0}, "data": {"params": {}}},
    ],
    "edges": [{"source": "conv", "sourceHandle": "y", "target": "relu", "targetHandle": "x"}],
    "inputs": [{"name": "x", "node": "conv", "port": "x"}],
    "outputs": [{"name": "y", "node": "relu", "port": "y"}],
    "params": [{"name": "width", "node": "conv", "param": "out_channels"}],
}


async def test_presets_are_kept_listed_used_and_deleted(
    client: httpx.AsyncClient, settings: Settings
) -> None:
    url = "/api/presets/conv block"
    assert (await client.get(url)).json()["code"] == "preset_not_found"
    body = {"preset": PRESET, "description": "Conv and ReLU", "base_revision": 0}
    made = (await client.put(url, json=body)).json()
    assert (made["revision"], made["preset"], made["presets"]) == (1, PRESET, {})
    assert (await client.put(url, json=body)).json()["current"]["revision"] == 1
    (listed,) = (await client.get("/api/presets")).json()["presets"]
    assert listed | {"updated_at": 0} == {
        "name": "conv block",
        "description": "Conv and ReLU",
        "revision": 1,
        "updated_at": 0,
        "node_count": 2,
        "inputs": ["x"],
        "outputs": ["y"],
        "params": ["width"],
    }
    # Changed by hand it is another revision.
    file = settings.presets_dir / "conv block.json"
    file.write_text(file.read_text().replace("out_channels", "kernel_size"))
    assert (await client.get(url)).json()["revision"] == 2
    (settings.presets_dir / "no preset.json").write_text("[]")
    assert len((await client.get("/api/presets")).json()["presets"]) == 1
    assert (await client.delete(url)).status_code == 204
    assert (await client.delete(url)).status_code == 404


@pytest.mark.parametrize(
    "preset",
    [
        {"nodes": 5},
        {"nodes": []},
        {**PRESET, "inputs": [{"name": "x", "node": "missing", "port": "x"}]},
        {**PRESET, "params": "all"},
        {"nodes": [{"id": "p", "type": "Preset", "data": {"params": {"preset": "absent"}}}]},
        {"nodes": [{"id": "p", "type": "Preset", "data": {"params": {"preset": "bad"}}}]},
    ],
)
async def test_what_is_no_preset_is_refused(client: httpx.AsyncClient, preset: Any) -> None:
    answer = await client.put("/api/presets/bad", json={"preset": preset})
    assert (answer.status_code, answer.json()["code"]) == (400, "preset_refused"), answer.text
    assert answer.json()["detail"]
    assert (await client.get("/api/presets")).json() == {"presets": []}


async def test_a_preset_brings_what_it_holds(client: httpx.AsyncClient) -> None:
    outer = {"nodes": [{"id": "p", "type": "Preset", "data": {"params": {"preset": "inner"}}}]}
    body = {"preset": outer, "presets": {"inner": PRESET}, "subgraphs": {"s": {"nodes": []}}}
    made = (await client.put("/api/presets/outer", json=body)).json()
    assert (made["presets"], made["subgraphs"]) == ({"inner": PRESET}, {"s": {"nodes": []}})
