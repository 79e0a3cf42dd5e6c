"""Runs over HTTP: submit, watch, cancel, delete, log and artifacts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from codefy_control_plane.server import Server

GraphOf = Callable[..., dict[str, Any]]


async def test_a_run_from_submission_to_its_end(
    client: httpx.AsyncClient, graph_of: GraphOf, runs: Any
) -> None:
    answer = await client.post("/api/runs", json={"graph": graph_of("Chatter", points=5), "name": "first"})
    assert answer.status_code == 201
    submitted = answer.json()
    assert set(submitted) == {"run_id", "number", "status", "queue_key", "queue_position"}
    run_id = submitted["run_id"]
    events = await runs.wait(run_id)
    assert [event["cursor"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["type"], events[-1]["type"]) == ("execution_start", "execution_complete")
    points = (await client.get(f"/api/runs/{run_id}/metrics", params={"name": "loss"})).json()["points"]
    assert [point["step"] for point in points] == [1, 2, 3, 4, 5]
    assert points[0]["value"] == "NaN"
    detail = (await client.get(f"/api/runs/{run_id}")).json()
    assert (detail["name"], detail["status"]) == ("first", "succeeded")
    assert detail["graph"]["nodes"][0]["type"] == "Chatter"
    listed = (await client.get("/api/runs", params={"status": "succeeded"})).json()
    assert [run["run_id"] for run in listed["runs"]] == [run_id]
    assert listed["counts"]["succeeded"] == listed["total"] == 1


async def test_nothing_of_a_bad_graph_is_stored(client: httpx.AsyncClient, graph_of: GraphOf) -> None:
    answer = await client.post("/api/runs", json={"graph": graph_of("NoSuchNode")})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_graph")
    assert [problem["code"] for problem in answer.json()["problems"]] == ["unknown_node_type"]
    device = await client.post(
        "/api/runs", json={"graph": graph_of("Chatter"), "options": {"device": "cuda:9"}}
    )
    assert (device.status_code, device.json()["code"]) == (400, "unknown_device")
    assert (await client.get("/api/runs")).json()["total"] == 0


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("DELETE", ""),
        ("POST", "/cancel"),
        ("GET", "/events"),
        ("GET", "/metrics"),
        ("GET", "/artifacts"),
        ("GET", "/artifacts/1/content"),
        ("GET", "/log"),
    ],
)
async def test_a_run_that_does_not_exist(client: httpx.AsyncClient, method: str, path: str) -> None:
    for run_id in ("nope", "..", "%2e%2e%2f%2e%2e"):
        answer = await client.request(method, f"/api/runs/{run_id}{path}")
        assert answer.status_code in (404, 405), answer.text
        assert answer.headers["content-type"] == "application/problem+json"
    answer = await client.request(method, f"/api/runs/nope{path}")
    assert (answer.status_code, answer.json()["code"]) == (404, "run_not_found")
    assert answer.json()["params"] == {"run_id": "nope"}


async def test_waiting_for_events(
    client: httpx.AsyncClient, graph_of: GraphOf, runs: Any, release: Any
) -> None:
    run_id = await runs.submit(graph_of("Wait"))
    url = f"/api/runs/{run_id}/events"
    first = (await client.get(url, params={"wait": 30})).json()["events"]
    assert first[0]["type"] == "execution_start"
    cursor = first[-1]["cursor"]
    waiting = asyncio.create_task(runs.wait(run_id))
    release()
    assert (await waiting)[-1]["type"] == "execution_complete"
    rest = (await client.get(url, params={"cursor": cursor, "limit": 1})).json()
    assert [event["cursor"] for event in rest["events"]] == [cursor + 1]


async def test_cancel_and_delete(client: httpx.AsyncClient, graph_of: GraphOf, runs: Any) -> None:
    run_id = await runs.submit(graph_of("Wait"))
    early = await client.delete(f"/api/runs/{run_id}")
    assert early.status_code == 409
    cancelled = await client.post(f"/api/runs/{run_id}/cancel")
    assert cancelled.json()["cancel_requested"] is True
    assert (await runs.wait(run_id))[-1]["type"] == "execution_stopped"
    late = await client.post(f"/api/runs/{run_id}/cancel")
    assert (late.status_code, late.json()["code"]) == (409, "run_ended")
    assert (await client.delete(f"/api/runs/{run_id}")).status_code == 204
    assert (await client.get(f"/api/runs/{run_id}")).status_code == 404


async def test_log_from_a_byte_offset(
    client: httpx.AsyncClient, server: Server, graph_of: GraphOf, runs: Any
) -> None:
    run_id = await runs.submit(graph_of("Chatter"))
    await runs.wait(run_id)
    log = server.context.service.log_path(run_id)
    text = "käse ✓ " * 200_000
    log.write_bytes(text.encode())
    url = f"/api/runs/{run_id}/log"
    whole = await client.get(url)
    assert whole.content == text.encode()
    assert whole.headers["content-type"] == "text/plain; charset=utf-8"
    size = int(whole.headers["x-codefy-log-size"])
    assert size == len(text.encode())
    for start in (0, 1, size - 3, size, size + 10):
        part = await client.get(url, params={"from": start})
        assert part.content == text.encode()[start:]
        assert int(part.headers["x-codefy-log-size"]) == size
    assert (await client.get(url, params={"from": -1})).json()["code"] == "invalid_query"
    log.unlink()
    empty = await client.get(url)
    assert (empty.status_code, empty.content, empty.headers["x-codefy-log-size"]) == (200, b"", "0")


async def test_artifacts(client: httpx.AsyncClient, server: Server, graph_of: GraphOf, runs: Any) -> None:
    run_id = await runs.submit(graph_of("Files"))
    await runs.wait(run_id)
    artifacts = (await client.get(f"/api/runs/{run_id}/artifacts")).json()["artifacts"]
    by_name = {artifact["name"]: artifact for artifact in artifacts}
    assert set(by_name) == {"plot.svg", "report «1».html"}
    base = f"/api/runs/{run_id}/artifacts/"

    picture = await client.get(f"{base}{by_name['plot.svg']['artifact_id']}/content")
    assert picture.headers["content-type"].startswith("image/svg+xml")
    assert picture.headers["content-disposition"].startswith("inline")
    # A picture opened in a tab must not run script as this server's page.
    assert "sandbox" in picture.headers["content-security-policy"]
    assert "script-src" not in picture.headers["content-security-policy"]
    assert "default-src 'none'" in picture.headers["content-security-policy"]

    report_url = f"{base}{by_name['report «1».html']['artifact_id']}/content"
    report = await client.get(report_url)
    assert report.content == bytes(range(256))
    assert report.headers["content-type"] == "application/octet-stream"
    assert report.headers["content-disposition"].startswith("attachment; filename*=utf-8''report%20")
    part = await client.get(report_url, headers={"range": "bytes=10-19"})
    assert (part.status_code, part.content) == (206, bytes(range(10, 20)))
    assert part.headers["content-range"] == "bytes 10-19/256"
    assert (await client.get(report_url, headers={"range": "bytes=999-"})).status_code == 416

    download = await client.get(
        f"{base}{by_name['plot.svg']['artifact_id']}/content", params={"download": "1"}
    )
    assert download.headers["content-disposition"] == 'attachment; filename="plot.svg"'
    for wrong in ("99", "x", "-1"):
        assert (await client.get(f"{base}{wrong}/content")).status_code == 404

    # A file that leads out of the run's folder is not served, whatever put it there.
    path = Path(server.settings.runs_dir) / run_id / by_name["plot.svg"]["path"]
    path.unlink()
    path.symlink_to(server.settings.token_path)
    gone = await client.get(f"{base}{by_name['plot.svg']['artifact_id']}/content")
    assert (gone.status_code, gone.json()["code"]) == (410, "artifact_gone")
    assert server.token not in gone.text


async def test_long_polls_end_when_the_server_stops(settings: Any, registry: Any, graph_of: GraphOf) -> None:
    async with Server(settings, registry) as server:
        headers = {"x-codefy-token": server.token}
        async with httpx.AsyncClient(base_url=server.url, headers=headers, trust_env=False) as client:
            run_id = (await client.post("/api/runs", json={"graph": graph_of("Wait")})).json()["run_id"]
            url = f"/api/runs/{run_id}/events"
            seen = (await client.get(url, params={"wait": 30})).json()["next_cursor"]
            while (await client.get(url, params={"cursor": seen})).json()["events"]:
                seen += 1
            waiting = asyncio.create_task(
                client.get(url, params={"cursor": seen + 1000, "wait": 60}, timeout=60)
            )
            await client.get("/api/health")
            started = asyncio.get_running_loop().time()
            await server.__aexit__(None, None, None)
            answer = await waiting
            assert (answer.status_code, answer.json()["code"]) == (503, "shutting_down")
            assert asyncio.get_running_loop().time() - started < 10
