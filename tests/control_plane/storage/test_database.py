"""The writer's groups: durable together, undone one by one; readers that see one snapshot."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from codefy_control_plane.storage.database import Database, DatabaseClosed, connect_writer
from codefy_control_plane.storage.migrations import migrate


@pytest.fixture
async def database(tmp_path: Path):
    opened = await Database.open(tmp_path / "codefy.db")
    yield opened
    await opened.close()


def add_graph(name: str):
    def add(connection: sqlite3.Connection) -> int:
        connection.execute("INSERT INTO exec_graphs VALUES (?, ?, ?)", (name, b"{}", 0.0))
        return connection.execute("SELECT count(*) FROM exec_graphs").fetchone()[0]

    return add


def graph_names(connection: sqlite3.Connection) -> list[str]:
    return [row[0] for row in connection.execute("SELECT graph_hash FROM exec_graphs ORDER BY graph_hash")]


async def test_commands_run_in_the_order_of_their_submission(database: Database) -> None:
    counts = await asyncio.gather(*(database.write(add_graph(f"{index:04d}")) for index in range(1500)))
    assert counts == list(range(1, 1501))
    assert len(await database.read(graph_names)) == 1500


async def test_a_failing_command_undoes_only_itself(database: Database) -> None:
    def half_then_fail(connection: sqlite3.Connection) -> None:
        add_graph("half")(connection)
        raise LookupError("no")

    results = await asyncio.gather(
        database.write(add_graph("before")),
        database.write(half_then_fail),
        database.write(add_graph("before")),  # breaks the primary key
        database.write(add_graph("after")),
        return_exceptions=True,
    )
    assert results[0] == 1
    assert isinstance(results[1], LookupError)
    assert isinstance(results[2], sqlite3.IntegrityError)
    assert results[3] == 2
    assert await database.read(graph_names) == ["after", "before"]


async def test_many_waiting_commands_share_one_commit(database: Database) -> None:
    commits = 0
    gate = asyncio.Event()
    loop = asyncio.get_running_loop()
    started = asyncio.Event()

    def hold(connection: sqlite3.Connection) -> None:
        # Keeps the writer busy until the others are queued behind it.
        loop.call_soon_threadsafe(started.set)
        asyncio.run_coroutine_threadsafe(gate.wait(), loop).result()

    def count(statement: str) -> None:
        nonlocal commits
        commits += statement == "COMMIT"

    await database.write(lambda connection: connection.set_trace_callback(count))
    commits = 0
    holding = asyncio.ensure_future(database.write(hold))
    await started.wait()
    others = [asyncio.ensure_future(database.write(add_graph(str(index)))) for index in range(100)]
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(holding, *others)
    await database.write(lambda connection: connection.set_trace_callback(None))
    assert commits == 2


async def test_a_commit_that_fails_fails_every_command_and_stores_none(database: Database) -> None:
    def break_at_commit(connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA defer_foreign_keys=ON")
        connection.execute(
            "INSERT INTO exec_run_attempts (run_id, attempt, worker_id, devices, slots, status, started_at)"
            " VALUES ('nobody', 1, 'local', '[]', '[]', 'running', 0)"
        )

    results = await asyncio.gather(
        database.write(break_at_commit), database.write(add_graph("with it")), return_exceptions=True
    )
    assert isinstance(results[0], sqlite3.IntegrityError)
    # The second one may have come into a group of its own.
    stored = await database.read(graph_names)
    assert stored == ([] if isinstance(results[1], sqlite3.IntegrityError) else ["with it"])
    assert await database.write(add_graph("next")) == len(stored) + 1


async def test_a_reader_sees_one_snapshot_and_cannot_write(database: Database) -> None:
    loop = asyncio.get_running_loop()

    def read_twice(connection: sqlite3.Connection) -> tuple[list[str], list[str]]:
        before = graph_names(connection)
        asyncio.run_coroutine_threadsafe(database.write(add_graph("meanwhile")), loop).result()
        return before, graph_names(connection)

    before, after = await database.read(read_twice)
    assert before == after == []
    assert await database.read(graph_names) == ["meanwhile"]
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        await database.read(add_graph("sneaky"))


async def test_closing_writes_what_is_queued_and_then_refuses(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "codefy.db")
    waiting = [asyncio.ensure_future(database.write(add_graph(str(index)))) for index in range(50)]
    await asyncio.sleep(0)
    await database.close()
    await asyncio.gather(*waiting)
    with pytest.raises(DatabaseClosed):
        await database.write(add_graph("late"))
    with pytest.raises(DatabaseClosed):
        await database.read(graph_names)
    connection = sqlite3.connect(tmp_path / "codefy.db")
    assert len(graph_names(connection)) == 50
    connection.close()


async def test_a_cancelled_writer_still_gets_its_command_done(database: Database) -> None:
    task = asyncio.create_task(database.write(add_graph("wanted")))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await database.write(lambda connection: None)
    assert await database.read(graph_names) == ["wanted"]


def test_the_writer_syncs_every_commit_to_a_write_ahead_log(tmp_path: Path) -> None:
    migrate(tmp_path / "codefy.db")
    connection = connect_writer(tmp_path / "codefy.db")
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    connection.close()


def test_migrations_apply_once(tmp_path: Path) -> None:
    migrate(tmp_path / "codefy.db")
    connection = sqlite3.connect(tmp_path / "codefy.db")
    once = connection.execute("SELECT * FROM _sqlite_migrations").fetchall()
    migrate(tmp_path / "codefy.db")
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    twice = connection.execute("SELECT * FROM _sqlite_migrations").fetchall()
    connection.close()
    assert once and once == twice
    assert tables >= {
        "exec_runs",
        "exec_run_attempts",
        "exec_run_events",
        "exec_run_metrics",
        "exec_run_artifacts",
        "exec_graphs",
        "exec_node_sources",
        "exec_run_node_sources",
        "exec_run_fingerprints",
        "exec_run_provenance",
    }
