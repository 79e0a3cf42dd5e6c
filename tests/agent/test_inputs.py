"""What an assignment names by hash: fetched, verified, kept, and never taken for something else (F-6, G-2)."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from codefy_agent.connection import ControlPlane
from codefy_agent.input_cache import InputCache
from codefy_agent.inputs import FetchSettings, InputFetcher, Inputs, InputsFailed
from codefy_agent.testing import Agent
from codefy_protocol.frames import Assign, DeviceIdentity, NodeSource, RunStarted
from codefy_protocol.reasons import Reason

from .conftest import FakeControlPlane

CONTENT = b"print('filters')\n"
OTHER = b"print('something else')\n"
Answer = Callable[[httpx.Request], httpx.Response]


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def source(content: bytes = CONTENT, name: str = "filters.py", **fields: object) -> NodeSource:
    return NodeSource(**{"name": name, "sha256": sha(content), "size": len(content), **fields})  # type: ignore[arg-type]


def assign(*sources: NodeSource, graph: bytes | None = b"{}", **fields: object) -> Assign:
    return Assign(
        run_id="run-1",
        attempt=1,
        graph=graph,
        payload_cap=1000,
        device="cpu",
        devices=(DeviceIdentity(name="cpu"),),
        grace_s=30.0,
        node_sources=sources,
        **fields,  # type: ignore[arg-type]
    )


class Bench:
    """A fetcher whose server is a function, and whose clock is moved by its waiting."""

    def __init__(self, folder: Path, answer: Answer, settings: FetchSettings | None = None) -> None:
        self.requests: list[httpx.Request] = []
        self.now = 0.0
        self.connected = True
        self.cache = InputCache(folder / "inputs")

        def handle(request: httpx.Request) -> httpx.Response:
            self.requests.append(request)
            return answer(request)

        async def sleep(seconds: float) -> None:
            self.now += seconds

        self.fetcher = InputFetcher(
            ControlPlane("http://127.0.0.1:9/codefy/", lambda: "t0ken"),
            self.cache,
            worker=lambda: "w1",
            connected=lambda: self.connected,
            random=lambda: 1.0,
            settings=settings,
            transport=httpx.MockTransport(handle),
            sleep=sleep,
            clock=lambda: self.now,
        )

    async def gather(self, *sources: NodeSource) -> Inputs:
        return await self.fetcher.gather(assign(*sources))

    async def failure(self, wanted: Assign) -> Reason:
        with pytest.raises(InputsFailed) as raised:
            await self.fetcher.gather(wanted)
        return raised.value.why


def good(_: httpx.Request) -> httpx.Response:
    return httpx.Response(200, content=CONTENT)


async def test_a_file_is_asked_for_with_the_token_and_kept_for_the_next_run(tmp_path: Path) -> None:
    bench = Bench(tmp_path, good)
    (file,) = (await bench.gather(source())).node_files
    assert (file.name, file.sha256, file.content) == ("filters.py", sha(CONTENT), CONTENT)
    (request,) = bench.requests
    assert str(request.url) == f"http://127.0.0.1:9/codefy/api/worker/runs/run-1/inputs/{sha(CONTENT)}"
    assert request.headers["X-Codefy-Token"] == "t0ken"
    assert request.headers["X-Codefy-Worker"] == "w1"
    kept = tmp_path / "inputs" / sha(CONTENT)
    assert kept.read_bytes() == CONTENT
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    # It lies under its hash and nowhere else: no folder of nodes that other runs would see.
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [kept]
    await bench.gather(source(name="renamed.py"))
    assert len(bench.requests) == 1


async def test_a_graph_comes_by_its_hash(tmp_path: Path) -> None:
    bench = Bench(tmp_path, lambda _: httpx.Response(200, content=b'{"nodes":[]}'))
    wanted = assign(graph=None, graph_hash=sha(b'{"nodes":[]}'), graph_size=12)
    assert (await bench.fetcher.gather(wanted)).graph == b'{"nodes":[]}'


async def test_an_assignment_that_carries_everything_asks_for_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path, good)
    assert await bench.gather() == Inputs(b"{}")
    assert not bench.requests
    assert not (tmp_path / "inputs").exists()


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (lambda _: httpx.Response(200, content=OTHER[: len(CONTENT)]), "what came has another SHA-256"),
        (lambda _: httpx.Response(200, content=CONTENT[:-1]), "what came has another SHA-256"),
        (lambda _: httpx.Response(200, content=CONTENT + b"\n"), f"more than its {len(CONTENT)} bytes came"),
        (lambda _: httpx.Response(404), "the server answered 404"),
        (lambda _: httpx.Response(401), "the server answered 401"),
        (lambda _: httpx.Response(302, headers={"location": "http://elsewhere/"}), "the server answered 302"),
    ],
)
async def test_a_wrong_answer_is_asked_for_again_then_named(
    tmp_path: Path, answer: Answer, detail: str
) -> None:
    bench = Bench(tmp_path, answer)
    why = await bench.failure(assign(source()))
    assert why.code == "input_wrong"
    assert why.params == {"worker": "w1", "file": "filters.py", "detail": detail}
    assert len(bench.requests) == 5
    assert {request.url.host for request in bench.requests} == {"127.0.0.1"}
    assert bench.now == 0.5 + 1 + 2 + 4
    assert not list(tmp_path.glob("inputs/*"))


async def test_a_cut_connection_is_tried_again_until_it_holds(tmp_path: Path) -> None:
    answers: list[httpx.Response | Exception] = [
        httpx.ConnectError("refused"),
        httpx.ReadError("cut"),
        httpx.Response(503),
        httpx.Response(200, content=OTHER),
        httpx.Response(200, content=CONTENT),
    ]

    def answer(_: httpx.Request) -> httpx.Response:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    bench = Bench(tmp_path, answer)
    (file,) = (await bench.gather(source())).node_files
    assert file.content == CONTENT


async def test_only_the_time_with_a_socket_counts_against_the_patience(tmp_path: Path) -> None:
    def unreachable(_: httpx.Request) -> httpx.Response:
        # The cable is out for the first 20 tries.
        bench.connected = len(bench.requests) > 20
        raise httpx.ConnectError("no route")

    bench = Bench(tmp_path, unreachable, FetchSettings(patience_s=60.0))
    why = await bench.failure(assign(source()))
    assert why.code == "input_unreachable"
    assert why.params == {"worker": "w1", "file": "filters.py", "seconds": 60, "detail": "no route"}
    assert len(bench.requests) == 20 + 3


@pytest.mark.parametrize(
    "bad",
    [
        source(name="../../evil.py"),
        source(name="evil.sh"),
        source(sha256="../../../etc/passwd"),
        source(size=-1),
        source(size=1 << 40),
    ],
)
async def test_names_and_sizes_are_not_believed(tmp_path: Path, bad: NodeSource) -> None:
    bench = Bench(tmp_path, good)
    assert (await bench.failure(assign(bad))).code == "input_wrong"
    assert (await bench.failure(assign(graph=None, graph_hash="x"))).code == "input_wrong"
    assert not bench.requests


async def test_what_changed_in_the_cache_is_fetched_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, good)
    await bench.gather(source())
    kept = tmp_path / "inputs" / sha(CONTENT)
    kept.write_bytes(OTHER)
    (file,) = (await bench.gather(source())).node_files
    assert file.content == CONTENT
    assert kept.read_bytes() == CONTENT
    # A link that somebody put there is neither read nor written through.
    kept.unlink()
    (tmp_path / "outside").write_bytes(CONTENT)
    kept.symlink_to(tmp_path / "outside")
    await bench.gather(source())
    assert len(bench.requests) == 3
    assert not kept.is_symlink()


async def test_runs_that_begin_together_fetch_a_file_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path, good)
    both = await asyncio.gather(bench.gather(source()), bench.gather(source()))
    assert both[0] == both[1]
    assert len(bench.requests) == 1


async def test_a_full_disk_does_not_stop_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    bench = Bench(tmp_path, good)
    monkeypatch.setattr(bench.cache, "put", full)
    (file,) = (await bench.gather(source())).node_files
    assert file.content == CONTENT


def test_the_cache_forgets_what_was_not_used_for_longest(tmp_path: Path) -> None:
    cache = InputCache(tmp_path, limit=250)
    contents = [bytes([number]) * 100 for number in range(4)]
    for age, content in enumerate(contents[:2]):
        cache.put(sha(content), content)
        os.utime(tmp_path / sha(content), (1000 + age, 1000 + age))
    assert cache.get(sha(contents[0])) == contents[0]  # the older one is used
    cache.put(sha(contents[2]), contents[2])
    assert cache.get(sha(contents[1])) is None
    assert cache.get(sha(contents[0])) == contents[0]
    cache.put(sha(b"x" * 300), b"x" * 300)  # larger than everything: it stays alone
    assert [path.name for path in tmp_path.iterdir()] == [sha(b"x" * 300)]
    with pytest.raises(ValueError, match="not a SHA-256"):
        cache.get("../outside")


@pytest.mark.integration
async def test_an_agent_fetches_a_graph_before_it_starts_the_child(
    control: FakeControlPlane, agent: Agent
) -> None:
    graph = b'{"nodes":[],"edges":[],"script":[["events",3]]}'
    control.inputs[sha(graph)] = graph
    await control.assign("r1", graph=None, graph_hash=sha(graph), graph_size=len(graph))
    assert (await control.finished("r1")).status == "succeeded"
    assert control.fetched == [(f"/api/worker/runs/r1/inputs/{sha(graph)}", "w1")]
    assert "HTTP Request" not in agent.log()


@pytest.mark.integration
async def test_a_run_is_stopped_while_it_waits_for_its_files(control: FakeControlPlane, agent: Agent) -> None:
    await control.assign("r1", node_sources=(source(),))
    await control.until(lambda: control.fetched)
    await control.cancel("r1")
    finished = await control.finished("r1")
    assert finished.status == "cancelled"
    assert not control.of("r1", RunStarted)
