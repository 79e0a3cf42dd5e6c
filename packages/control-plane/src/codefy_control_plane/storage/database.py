"""The database: one writer thread that commits groups of commands, and a pool of reader connections.

A command is a function of a connection. The writer takes every command that waits, runs each under a savepoint and
commits them together (WAL, ``synchronous=FULL``), so many small writes share one fsync while a failing command undoes
only itself. A command's result is delivered after the commit that made it durable. Readers have connections of their
own, see one snapshot per call, and hold no transaction in between.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from codefy_control_plane.storage.migrations import migrate

T = TypeVar("T")

MAX_GROUP = 512
"""Commands in one transaction at most, so that the first of them does not wait for long."""
READERS = 3
BUSY_TIMEOUT_S = 30.0


def is_disk_full(error: sqlite3.Error) -> bool:
    """Whether a write failed for want of room on the disk."""
    # A full disk shows as an I/O error where it keeps the write-ahead log from growing.
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return code is not None and (code & 0xFF == sqlite3.SQLITE_FULL or code == sqlite3.SQLITE_IOERR_WRITE)


class DatabaseClosed(RuntimeError):
    """A command came after the database was closed."""


class _Command:
    __slots__ = ("error", "fn", "future", "loop", "result")

    def __init__(
        self,
        fn: Callable[[sqlite3.Connection], Any],
        loop: asyncio.AbstractEventLoop,
        future: asyncio.Future[Any],
    ) -> None:
        self.fn = fn
        self.loop = loop
        self.future = future
        self.result: Any = None
        self.error: BaseException | None = None


def connect_writer(path: Path) -> sqlite3.Connection:
    """Open the file for writing: WAL, every commit synced, transactions begun by hand."""
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA wal_autocheckpoint=4000")
    return connection


class Database:
    """The file ``codefy.db``, opened once per server.

    Use :meth:`open`, then ``await write(fn)`` and ``await read(fn)`` from any event loop, then ``await close()``.
    """

    def __init__(self, path: Path) -> None:
        """Open ``path``, make it when it is missing, and bring its tables up to date. Blocks: use :meth:`open`."""
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        migrate(path)
        self._connection = connect_writer(path)
        self._commands: SimpleQueue[_Command | None] = SimpleQueue()
        self._closed = False
        self._local = threading.local()
        self._reader_connections: list[sqlite3.Connection] = []
        self._readers_lock = threading.Lock()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="codefy-db-read")
        self._writer = threading.Thread(target=self._write_groups, name="codefy-db-write")
        self._writer.start()

    @classmethod
    async def open(cls, path: Path) -> Database:
        """Open the database without blocking the loop."""
        return await asyncio.to_thread(cls, path)

    # ------------------------------------------------------------------ writing

    def submit(self, fn: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        """Queue a command now and return the future of its result, resolved after the commit.

        Commands are executed in the order of their submission. Cancelling the future does not undo the command.

        Raises:
            DatabaseClosed: after :meth:`close`.
        """
        if self._closed:
            raise DatabaseClosed("the database is closed")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._commands.put(_Command(fn, loop, future))
        return future

    async def write(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``fn`` in the writer's next group and return its result once it is durable.

        Raises whatever ``fn`` raises (its changes are undone), or ``sqlite3.Error`` when the commit fails.
        """
        return await asyncio.shield(self.submit(fn))

    def _write_groups(self) -> None:
        last = False
        while not last:
            group: list[_Command] = []
            command = self._commands.get()
            while command is not None:
                group.append(command)
                if len(group) >= MAX_GROUP:
                    break
                try:
                    command = self._commands.get_nowait()
                except Empty:
                    break
            last = command is None
            if group:
                self._commit(group)
                _deliver(group)
        self._connection.close()

    def _commit(self, group: list[_Command]) -> None:
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            for command in group:
                self._run(command)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            for command in group:
                command.result, command.error = None, error

    def _run(self, command: _Command) -> None:
        connection = self._connection
        connection.execute("SAVEPOINT command")
        try:
            command.result = command.fn(connection)
        except BaseException as error:  # it belongs to whoever awaits the command
            command.error = error
            if isinstance(error, sqlite3.Error) and not connection.in_transaction:
                raise  # a full disk undoes the whole group: every command of it failed by this
            connection.execute("ROLLBACK TO command")
        connection.execute("RELEASE command")

    # ------------------------------------------------------------------ reading

    async def read(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``fn`` on a reader connection in a thread, within one snapshot, and return its result.

        Raises:
            DatabaseClosed: after :meth:`close`.
        """
        if self._closed:
            raise DatabaseClosed("the database is closed")
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, fn)

    def _read(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._reader()
        connection.execute("BEGIN")
        try:
            return fn(connection)
        finally:
            connection.execute("ROLLBACK")

    def _reader(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(
                self.path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
            connection.execute("PRAGMA query_only=ON")
            self._local.connection = connection
            with self._readers_lock:
                self._reader_connections.append(connection)
        return connection

    # ------------------------------------------------------------------ closing

    async def close(self) -> None:
        """Write what is queued, then close every connection. Calling it again does nothing."""
        if self._closed:
            return
        self._closed = True
        self._commands.put(None)
        await asyncio.to_thread(self._join)

    def _join(self) -> None:
        self._writer.join()
        self._readers.shutdown(wait=True)
        for connection in self._reader_connections:
            connection.close()


def _deliver(group: list[_Command]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[_Command]] = {}
    for command in group:
        by_loop.setdefault(command.loop, []).append(command)
    for loop, commands in by_loop.items():
        with suppress(RuntimeError):  # that loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_resolve, commands)


def _resolve(commands: list[_Command]) -> None:
    for command in commands:
        if command.future.cancelled():
            continue
        if command.error is not None:
            command.future.set_exception(command.error)
        else:
            command.future.set_result(command.result)
