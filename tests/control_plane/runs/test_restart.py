"""What a stop and a start make of runs (D-6), and what a kill leaves."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from codefy_control_plane.runs.errors import Refused
from codefy_control_plane.storage.attempts import AttemptStart, start_attempt
from codefy_control_plane.storage.runs import request_cancel
from codefy_protocol.frames import DeviceIdentity

if TYPE_CHECKING:
    from conftest import House


async def test_a_graceful_stop_interrupts_what_runs_here_and_keeps_what_waits(make_house: Any) -> None:
    first: House = make_house(max_concurrent_cpu=1)
    await first.open()
    running, waiting, last = await first.hold("a"), await first.hold("b"), await first.hold("c")
    await first.gates.until_reached("a")
    await first.close()
    second: House = make_house(max_concurrent_cpu=1)
    await second.open()
    events, _ = await second.watch(running)
    assert events[-1].type == "execution_error"
    assert msgspec.json.decode(events[-1].payload)["error"]["code"] == "server_stopped"
    assert (await second.service.get(running)).status == "interrupted"
    await second.gates.until_reached("b")
    assert (await second.service.get(last)).queue_position == 1
    second.gates.open("b")
    second.gates.open("c")
    assert (await second.ended(waiting)).status == "succeeded"
    assert (await second.ended(last)).status == "succeeded"


async def test_a_stop_does_not_wait_for_a_run_that_ignores_it(make_house: Any) -> None:
    house: House = make_house(shutdown_grace_s=0.1, local_grace_s=60.0)
    await house.open()
    run_id = (await house.submit(("Stubborn", {"gate": "wall"}))).run_id
    await house.gates.until_reached("wall")
    async with asyncio.timeout(10):
        await house.close()
    after: House = make_house()
    await after.open()
    assert (await after.service.get(run_id)).status == "interrupted"


async def test_a_stopping_server_takes_no_run_and_ends_its_watchers(make_house: Any) -> None:
    house: House = make_house()
    await house.open()
    run_id = await house.hold("a")
    watching = asyncio.create_task(house.watch(run_id))
    polling = asyncio.create_task(house.service.events(run_id, 1000, 10, 60.0))
    await house.gates.until_reached("a")
    await house.close()
    await asyncio.wait_for(watching, 10)
    await asyncio.wait_for(polling, 10)
    with pytest.raises(Refused) as refused:
        await house.submit()
    assert (refused.value.status, refused.value.reason.code) == (503, "shutting_down")


async def killed(make_house: Any) -> tuple[House, dict[str, str]]:
    """A data folder as a killed server leaves it: one run of every kind."""
    house: House = make_house(max_concurrent_cpu=1)
    await house.open()
    # The first one holds the slot, so the others are stored as they wait.
    ids = {name: await house.hold(name) for name in ("runs", "cancel", "waits", "waits too")}
    await house.gates.until_reached("runs")
    await house.service.close()
    start = AttemptStart(
        run_id=ids["runs"],
        attempt=1,
        worker_id="local",
        devices=(DeviceIdentity(name="cpu"),),
        slots=(("local", "cpu"),),
        at=1.0,
        event=("execution_start", 1.0, b"{}"),
    )

    def as_if_killed(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM exec_run_attempts")
        connection.execute("DELETE FROM exec_run_events")
        connection.execute(
            "UPDATE exec_runs SET status = 'queued', event_count = 0, ended_at = NULL, error = NULL,"
            " cancel_requested = 0 WHERE run_id = ?",
            (ids["runs"],),
        )
        assert start_attempt(connection, start) is not None
        assert request_cancel(connection, ids["cancel"])

    await house.database.write(as_if_killed)
    await house.database.close()
    return house, ids


async def test_after_a_kill_local_runs_are_interrupted_and_the_queue_goes_on(make_house: Any) -> None:
    _, ids = await killed(make_house)
    house: House = make_house(max_concurrent_cpu=1)
    await house.open()
    events, _ = await house.watch(ids["runs"])
    assert [event.type for event in events] == ["execution_start", "execution_error"]
    assert msgspec.json.decode(events[-1].payload)["error"]["code"] == "server_restarted"
    assert (await house.service.get(ids["runs"])).status == "interrupted"
    events, _ = await house.watch(ids["cancel"])
    assert [event.type for event in events] == ["execution_stopped"]
    await house.gates.until_reached("waits")
    assert (await house.service.get(ids["waits too"])).queue_position == 1
    house.gates.open("waits")
    house.gates.open("waits too")
    assert (await house.ended(ids["waits too"])).status == "succeeded"


async def test_the_queue_can_be_interrupted_instead(make_house: Any) -> None:
    await killed(make_house)
    house: House = make_house(queue_on_restart="interrupt")
    await house.open()
    counts = (await house.service.list_runs()).counts
    assert (counts["interrupted"], counts["cancelled"], counts["queued"]) == (3, 1, 0)


KILLED_SERVER = """
import asyncio, sys, time
from pathlib import Path
from codefy_control_plane.runs.service import RunService
from codefy_control_plane.settings import load_settings
from codefy_control_plane.storage.database import Database
from codefy_engine.graph.builder import Builder
from codefy_engine.nodes.base import Node, node, output
from codefy_engine.nodes.registry import Registry
from codefy_protocol.names import RunOptions

@node(type="Talk", title="Talk", category="tests", icon="x")
class Talk(Node):
    '''Report without end.'''
    done: str = output("value")
    def run(self, ctx):
        step = 0
        while True:
            step += 1
            print(step)
            ctx.metric("loss", 1.0 / step, step)
            ctx.progress(current=step, total=10**9)
            ctx.inner("n", "running", step=step)
            if step % 50 == 0:
                time.sleep(0.001)
            ctx.check_stop()

async def main():
    settings = load_settings({}, data_dir=Path(sys.argv[1]))
    database = await Database.open(settings.database_path)
    registry = Registry([Talk])
    service = RunService(settings, database, registry=registry)
    await service.start()
    builder = Builder("g", registry=registry)
    builder.add("Talk")
    run = await service.submit(builder.to_bytes(), RunOptions())
    cursor = 0
    while True:
        page = await service.events(run.run_id, cursor, 5000, 10)
        cursor = page.next_cursor
        # What is told here was shown to someone: it must be there after the kill.
        print(run.run_id, cursor, file=sys.__stdout__, flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize("after", [1, 5, 40])
def test_a_kill_keeps_everything_that_was_shown_and_nothing_by_halves(tmp_path: Path, after: int) -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", KILLED_SERVER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    shown = ["", "0"]
    with server:
        for _ in range(after):
            shown = server.stdout.readline().split()
        os.kill(server.pid, signal.SIGKILL)
        rest = server.stdout.read().splitlines()
    if rest and rest[-1].count(" ") == 1:
        shown = rest[-1].split()
    connection = sqlite3.connect(tmp_path / "codefy.db")
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    run_id, status, events, metrics = connection.execute(
        "SELECT run_id, status, event_count, metric_count FROM exec_runs"
    ).fetchone()
    assert (run_id, status) == (shown[0], "running")
    assert events >= int(shown[1]) > 0
    for table, count in (("exec_run_events", events), ("exec_run_metrics", metrics)):
        cursors = [row[0] for row in connection.execute(f"SELECT cursor FROM {table} ORDER BY cursor")]
        assert cursors == list(range(1, count + 1))
    steps = [row[0] for row in connection.execute("SELECT step FROM exec_run_metrics ORDER BY cursor")]
    assert steps == list(range(1, metrics + 1))
    inner = [
        msgspec.json.decode(row[0])["step"]
        for row in connection.execute(
            "SELECT payload FROM exec_run_events WHERE type = 'inner_node_status' ORDER BY cursor"
        )
    ]
    assert inner == list(range(1, len(inner) + 1))
    connection.close()
    path = tmp_path / "runs" / run_id / "output.log"
    log = path.read_text() if path.exists() else ""
    complete = log[: log.rfind("\n") + 1].split()
    # The log is written before the rows that tell of the same step.
    assert len(complete) >= len(inner)
    assert complete == [str(number) for number in range(1, len(complete) + 1)]
