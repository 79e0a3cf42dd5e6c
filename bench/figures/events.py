"""Durable events per second from a run child, through spool, socket and session, to SQLite: against raw SQLite.

The floor inserts rows of the same size into a table of the same shape, in transactions of 500, in WAL with
``synchronous=FULL``: what the disk allows a program that does nothing else.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.measure import Figure
from codefy_agent.testing import Agent
from codefy_control_plane.testing import ControlPlane
from codefy_engine.nodes.registry import default_registry
from codefy_protocol.names import RunOptions, Target

ROUNDS = 5
EVENTS = 30_000
BATCH = 500


def raw_inserts_per_s(folder: Path, body: bytes) -> float:
    connection = sqlite3.connect(folder / "raw.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(
        "CREATE TABLE events (run_id TEXT, cursor INTEGER, attempt INTEGER, type TEXT, ts REAL, payload BLOB, "
        "PRIMARY KEY (run_id, cursor)) WITHOUT ROWID"
    )
    started = time.perf_counter()
    for start in range(0, EVENTS, BATCH):
        rows = [("0123456789abcdef", start + i, 1, "node_progress", 1.5, body) for i in range(BATCH)]
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", rows)
        connection.execute("COMMIT")
    seconds = time.perf_counter() - started
    connection.close()
    return EVENTS / seconds


async def durable_per_s(server: ControlPlane) -> tuple[float, bytes]:
    """Events a second between the first and the last that the child made, by when the run had ended and was stored."""
    nodes = [{"id": "n", "type": "CrossEntropyLoss", "position": {"x": 0, "y": 0}, "data": {"params": {}}}]
    graph: dict[str, Any] = {"format_version": 1, "nodes": nodes, "edges": [], "script": [["events", EVENTS]]}
    submitted = await server.client.submit(graph, RunOptions(target=Target(worker="w1")))
    ended = await server.client.wait(submitted.run_id, 300)
    if ended.status != "succeeded" or ended.ended_at is None:
        raise RuntimeError(f"the run {ended.status}: {ended.error}")
    events = await server.client.events(submitted.run_id, limit=5000)
    made = [event for event in events if event.type == "node_progress"]
    if len(made) != EVENTS:
        raise RuntimeError(f"{len(made)} of {EVENTS} events are stored")
    return EVENTS / (ended.ended_at - made[0].ts), bytes(made[0].payload)


async def rounds() -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    async with (
        ControlPlane() as server,
        Agent(
            server.url, token_file=server.token_file, name="w1", scripted=True, node_types=default_registry()
        ) as agent,
    ):
        await agent.connected()
        await durable_per_s(server)
        for _ in range(ROUNDS):
            rate, body = await durable_per_s(server)
            with TemporaryDirectory() as folder:
                found.append((rate, await asyncio.to_thread(raw_inserts_per_s, Path(folder), body)))
    return found


def measure() -> list[Figure]:
    return [
        Figure(
            "durable_events",
            "durable events, run child to SQLite",
            "raw SQLite, 500 a transaction",
            "events/s",
            asyncio.run(rounds()),
        )
    ]
