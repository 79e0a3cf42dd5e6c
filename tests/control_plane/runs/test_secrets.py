"""X-5: what comes with a submission is checked, reaches the node that asks, and is nowhere else."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from codefy_control_plane.runs.console import AttributedOutput
from codefy_control_plane.runs.errors import Refused
from codefy_control_plane.runs.secrets import SecretVault, check_secrets
from codefy_engine.graph.document import parse_graph
from codefy_protocol.names import RunOptions

if TYPE_CHECKING:
    from conftest import House

VALUE = 'correct horse/battery "staple"'


def document(*nodes: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"format_version": 1, "nodes": list(nodes), "edges": [], **more}).encode()


def login(node_id: str = "login", secret: str = "KEY", **params: Any) -> dict[str, Any]:
    return {
        "id": node_id,
        "type": "Login",
        "position": {"x": 0, "y": 0},
        "data": {"params": {"token": {"secret": secret}, **params}},
    }


def in_preset() -> bytes:
    """A preset that shows its secret under another name."""
    inner = login()
    inner["data"]["params"] = {"token": None}
    preset = {
        "nodes": [inner],
        "edges": [],
        "params": [{"name": "api_key", "node": "login", "param": "token"}],
    }
    outer = {
        "id": "box",
        "type": "Preset",
        "position": {"x": 0, "y": 0},
        "data": {"params": {"preset": "service", "api_key": {"secret": "KEY"}}},
    }
    return document(outer, presets={"service": preset})


def traces(folder: Path) -> list[Path]:
    """Files below a folder in which a part of the value stands."""
    found: list[Path] = []
    for path in folder.rglob("*"):
        if path.is_file() and any(part in path.read_bytes() for part in (b"correct horse", b"staple")):
            found.append(path)
    return found


@pytest.mark.parametrize("fail", [False, True])
@pytest.mark.parametrize("lane", ["queued", "interactive"])
async def test_a_secret_reaches_the_node_and_no_disk_answer_or_log(
    house: House, caplog: pytest.LogCaptureFixture, lane: str, fail: bool
) -> None:
    house.gates.seen.clear()
    with caplog.at_level(logging.INFO):
        submitted = await house.service.submit(
            document(login(fail=fail)), RunOptions(lane=lane), secrets={"KEY": VALUE}
        )
        events, _ = await house.watch(submitted.run_id)
    assert house.gates.seen == [VALUE]
    told = b"".join(bytes(event.payload) for event in events).decode()
    assert "correct horse" not in told and "staple" not in told
    assert "[secret KEY]" in told
    detail = await house.service.get(submitted.run_id)
    assert detail.status == ("failed" if fail else "succeeded")
    assert detail.secret_names == ["KEY"]
    assert "staple" not in repr(detail)
    log = house.service.log_path(submitted.run_id).read_text()
    assert log.count("[secret]") == 3
    assert "printed in parts" in log
    assert "a node logs: [secret KEY]" in caplog.text
    assert "correct horse" not in caplog.text
    # WAL and shared memory of the database too.
    assert traces(house.settings.data_dir) == []


async def test_a_preset_may_show_a_secret_under_another_name(house: House) -> None:
    house.gates.seen.clear()
    with pytest.raises(Refused) as refused:
        await house.service.submit(in_preset(), RunOptions())
    assert (refused.value.status, refused.value.reason.code) == (400, "secrets_not_given")
    assert refused.value.problems is not None
    (problem,) = refused.value.problems
    assert (problem.code, problem.node_id) == ("secret_not_given", "box")
    assert problem.params == {"node_id": "box", "param": "api_key", "secret": "KEY"}
    submitted = await house.service.submit(in_preset(), RunOptions(), secrets={"KEY": VALUE})
    assert (await house.ended(submitted.run_id)).status == "succeeded"
    assert house.gates.seen == [VALUE]
    assert traces(house.settings.data_dir) == []


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({}, "secrets_not_given"),
        ({"KEY": VALUE, "OTHER": VALUE}, "secrets_unknown"),
        ({"KEY": "  ab "}, "secret_invalid"),
        ({"KEY": "x" * 40_000}, "secret_invalid"),
    ],
)
async def test_secrets_that_do_not_fit_are_refused_and_nothing_is_stored(
    house: House, given: dict[str, str], code: str
) -> None:
    with pytest.raises(Refused) as refused:
        await house.service.submit(document(login()), RunOptions(), secrets=given)
    assert (refused.value.status, refused.value.reason.code) == (400, code)
    assert "staple" not in refused.value.reason.message
    assert (await house.service.list_runs()).total == 0


async def test_a_part_of_a_graph_needs_the_secrets_of_that_part(house: House) -> None:
    registry = house.registry
    whole = parse_graph(document(login("a", "FIRST"), login("b", "SECOND")))
    assert check_secrets(whole, registry, {"FIRST": VALUE}, "a") == ("FIRST",)
    assert check_secrets(whole, registry, {"FIRST": VALUE, "SECOND": VALUE}, "a") == ("FIRST",)
    with pytest.raises(Refused) as refused:
        check_secrets(whole, registry, {"FIRST": VALUE}, "b")
    assert refused.value.reason.params == {"names": "SECOND"}


async def test_values_are_forgotten_when_the_run_ends_or_is_cancelled_while_it_waits(
    make_house: Callable[..., House],
) -> None:
    house = make_house(max_concurrent_cpu=1)
    await house.open()
    vault: SecretVault = house.service._vault  # pyright: ignore[reportPrivateUsage]
    holding = await house.hold("a")
    first = await house.service.submit(document(login()), RunOptions(), secrets={"KEY": VALUE})
    second = await house.service.submit(document(login()), RunOptions(), secrets={"KEY": VALUE})
    assert vault.of(first.run_id) == vault.of(second.run_id) == {"KEY": VALUE}
    assert "staple" not in repr(vault)
    await house.service.cancel(second.run_id)
    assert not vault.of(second.run_id)
    house.gates.open("a")
    await house.ended(holding)
    assert (await house.ended(first.run_id)).status == "succeeded"
    await house.until_slots(0)
    assert not vault.of(first.run_id) and not vault.redactor


async def test_a_run_that_waited_with_secrets_ends_when_the_server_restarts(
    make_house: Callable[..., House],
) -> None:
    first = make_house(max_concurrent_cpu=1)
    await first.open()
    await first.hold("a")
    with_secret = await first.service.submit(document(login()), RunOptions(), secrets={"KEY": VALUE})
    without = await first.hold("b")
    await first.close()
    second = make_house(max_concurrent_cpu=1)
    await second.open()
    ended = await second.ended(with_secret.run_id)
    assert ended.status == "interrupted"
    assert ended.error is not None and ended.error.code == "secrets_lost"
    await second.gates.until_reached("b")
    assert (await second.service.get(without)).status == "running"
    assert traces(second.settings.data_dir) == []


def test_the_server_log_is_written_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    vault = SecretVault()
    vault.put("r", {"KEY": VALUE})
    log = logging.getLogger("somebody.else")
    log.warning("with %s", VALUE)
    try:
        raise ValueError(VALUE)
    except ValueError:
        log.exception("failed")
    log.warning("%d bottles", VALUE)
    vault.drop("r")
    log.warning("nothing to hide")
    vault.close()
    assert "with [secret KEY]" in caplog.text
    assert "ValueError: [secret KEY]" in caplog.text
    assert "correct horse" not in caplog.text
    assert "%d bottles (with arguments that do not fit)" in caplog.text
    assert "nothing to hide" in caplog.text


def test_what_threads_of_a_node_print_is_written_without_secrets(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are in no run's context, so what they say goes to the server's own output."""
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    vault = SecretVault()
    vault.put("r1", {"KEY": "hunter2-and-more"})
    output = AttributedOutput(vault.without)
    output.install()

    def fails() -> None:
        raise ValueError("not liked: hunter2-and-more")

    try:
        for target in (lambda: print("told hunter2-and-more"), fails):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
    finally:
        output.remove()
        vault.close()
    said = capsys.readouterr()
    assert said.out == "told [secret KEY]\n"
    assert "ValueError: not liked: [secret KEY]" in said.err
    assert "hunter2" not in said.out + said.err
