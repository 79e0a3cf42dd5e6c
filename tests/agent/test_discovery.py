"""What the engine here can run, asked of a short child (X-8)."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from codefy_agent import discovery
from codefy_agent.discovery import DiscoveryFailed, discover, keep_discovering
from codefy_agent.engine_env import Engine
from codefy_engine.nodes.registry import load_registry
from codefy_protocol.frames import Catalog
from codefy_protocol.watched import modification_times


def speaks(text: str, *, status: int = 0) -> list[str]:
    """A child that writes this to stdout, or to stderr when it fails."""
    stream = "stderr" if status else "stdout"
    return [sys.executable, "-S", "-c", f"import sys; sys.{stream}.write({text!r}); sys.exit({status})"]


ANSWER = (
    '{"engine":"1","catalog_hash":"h","node_types":{"A":"1","B":""},"fingerprint":"f","watch":{"WHERE":TIME}}'
)


def filled(where: Path) -> str:
    return ANSWER.replace("WHERE", str(where)).replace(
        "TIME", str(modification_times([str(where)])[str(where)])
    )


async def test_the_real_engine_tells_its_catalog_and_remembers_it(tmp_path: Path) -> None:
    command = Engine(Path(sys.executable), "this environment").discover_command(tmp_path / "catalog.json")
    found = await discover(command, os.environ)
    expected = load_registry(folder=None)
    assert found.node_types == expected.hashes
    assert found.catalog_hash == expected.catalog_hash
    assert found.fingerprint
    assert (tmp_path / "catalog.json").exists()
    assert await discover(command, os.environ) == found


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (speaks("ImportError: no module\n", status=1), "ImportError: no module"),
        (speaks("", status=3), "it ended with 3"),
        (speaks("not json"), "its answer cannot be read"),
        (["/nowhere/python"], "/nowhere/python: No such file or directory"),
    ],
)
async def test_a_child_that_does_not_tell_is_named(command: list[str], says: str) -> None:
    with pytest.raises(DiscoveryFailed, match=says):
        await discover(command, os.environ)


async def test_a_child_that_hangs_is_ended() -> None:
    with pytest.raises(DiscoveryFailed, match="no answer within"):
        await discover(
            [sys.executable, "-S", "-c", "import time; time.sleep(600)"], os.environ, timeout_s=0.05
        )


async def test_the_child_sees_no_secret_and_no_card() -> None:
    show = (
        "import json, os; print(json.dumps({'engine': str(os.environ.get('CODEFY_TOKEN')), 'catalog_hash': "
        "repr(os.environ['CUDA_VISIBLE_DEVICES']), 'node_types': {}, 'fingerprint': ''}))"
    )
    found = await discover([sys.executable, "-S", "-c", show], {**os.environ, "CODEFY_TOKEN": "hush"})
    assert (found.engine, found.catalog_hash) == ("None", "''")


async def test_it_is_asked_again_when_something_was_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "WATCH_S", 0.01)
    where = tmp_path / "site-packages"
    where.mkdir()
    answer = tmp_path / "answer"
    answer.write_text(filled(where))
    command = [sys.executable, "-S", "-c", f"print(open({str(answer)!r}).read())"]
    told: list[Catalog] = []
    heard = asyncio.Event()

    def known(catalog: Catalog) -> None:
        told.append(catalog)
        heard.set()

    task = asyncio.create_task(keep_discovering(command, known))
    async with asyncio.timeout(30):
        await heard.wait()
        assert told == [
            Catalog(catalog_hash="h", node_types=("A", "B"), fingerprint="f", engine="1", hashes={"A": "1"})
        ]
        heard.clear()
        (where / "new_package").mkdir()
        answer.write_text(filled(where).replace('"A":"1"', '"A":"2","C":"3"'))
        await heard.wait()
    assert told[1].node_types == ("A", "C", "B")
    task.cancel()


async def test_no_engine_is_said_too() -> None:
    told: list[Catalog] = []
    await keep_discovering(None, told.append)
    assert told == [Catalog(catalog_hash="", node_types=())]


async def test_a_failure_is_tried_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(discovery, "RETRY_S", 0.01)
    once = tmp_path / "once"
    script = (
        f"import os, sys; first = not os.path.exists({str(once)!r}); open({str(once)!r}, 'w').close(); "
        f"sys.exit(1) if first else print({filled(tmp_path)!r})"
    )
    heard: asyncio.Future[Catalog] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(keep_discovering([sys.executable, "-S", "-c", script], heard.set_result))
    async with asyncio.timeout(30):
        assert (await heard).engine == "1"
    task.cancel()
