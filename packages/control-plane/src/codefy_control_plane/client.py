"""A typed client of the HTTP API and of ``/ws/execution``: for the CLI, for tests and for scripts.

Errors of the server arrive as :class:`ApiError` with its code, parameters and problems; a server that cannot be
reached as :class:`ServerUnreachable`, which says how to start one.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import httpx
import msgspec

from codefy_control_plane.api import schemas
from codefy_engine.graph.problems import GraphProblem
from codefy_engine.nodes.definition import NodeDefinition
from codefy_protocol.names import RunOptions

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

TERMINAL_STATUSES = frozenset(("succeeded", "failed", "cancelled", "interrupted"))
TOKEN_HEADER = "X-Codefy-Token"  # noqa: S105 - the name of a header

ResponseT = TypeVar("ResponseT")


class ApiError(Exception):
    """The server refused a request; ``str()`` is its sentence for people."""

    def __init__(self, problem: schemas.Problem) -> None:
        super().__init__(problem.detail)
        self.status = problem.status
        self.code = problem.code
        self.params = problem.params
        self.problems: list[GraphProblem] = problem.problems or []


class ServerUnreachable(Exception):
    """Nothing answers at the address."""

    def __init__(self, url: str, cause: object) -> None:
        # Timeouts have no words of their own.
        why = str(cause).strip() or type(cause).__name__
        super().__init__(f"No Codefy server answers at {url} ({why}). Start one with: codefy serve")
        self.url = url


class WatchedEvents(msgspec.Struct, frozen=True, tag="events"):
    """Events of a watched run, in order, without gap or repeat."""

    run_id: str
    events: list[schemas.StoredEvent]


class WatchedMetrics(msgspec.Struct, frozen=True, tag="metrics"):
    """Metric points of a watched run."""

    run_id: str
    metrics_cursor: int
    points: list[schemas.StoredMetric]


class _Ended(msgspec.Struct, frozen=True, tag="ended"):
    run_id: str


class _SocketError(msgspec.Struct, frozen=True, tag="error"):
    code: str
    message: str
    params: dict[str, Any] = {}


class _Accepted(msgspec.Struct, frozen=True, tag="accepted"):
    run_id: str


class _RunsChanged(msgspec.Struct, frozen=True, tag="runs_changed"):
    pass


class _Pong(msgspec.Struct, frozen=True, tag="pong"):
    pass


_SocketMessage = WatchedEvents | WatchedMetrics | _Ended | _SocketError | _Accepted | _RunsChanged | _Pong
_socket_decoder = msgspec.json.Decoder(_SocketMessage)


class Client:
    """Speaks to one server. Use as an async context manager.

    Args:
        url: such as ``http://127.0.0.1:8000``.
        token: the session token.
    """

    def __init__(self, url: str, token: str, *, timeout_s: float = 30.0) -> None:
        self.url = url.rstrip("/")
        self._token = token
        self._http = httpx.AsyncClient(
            base_url=self.url,
            headers={TOKEN_HEADER: token},
            timeout=httpx.Timeout(timeout_s, connect=5.0),
            trust_env=False,
        )

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    # -------------------------------------------------------------- requests

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        query: Mapping[str, str | int | float] | None = None,
        timeout_s: float | None = None,
    ) -> httpx.Response:
        """One request, its error already raised.

        Raises:
            ApiError: the server answered with a problem.
            ServerUnreachable: nothing answers.
        """
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            response = await self._http.request(
                method,
                path,
                content=body,
                headers=headers,
                params=dict(query or {}),
                timeout=httpx.USE_CLIENT_DEFAULT if timeout_s is None else timeout_s,
            )
        except httpx.TransportError as error:
            raise ServerUnreachable(self.url, error) from error
        if response.is_error:
            raise ApiError(_problem(response))
        return response

    async def _get(self, kind: type[ResponseT], path: str, **query: str | int | float) -> ResponseT:
        response = await self.request("GET", path, query=query)
        return msgspec.json.decode(response.content, type=kind)

    async def _post(self, kind: type[ResponseT], path: str, body: bytes = b"{}") -> ResponseT:
        response = await self.request("POST", path, body=body)
        return msgspec.json.decode(response.content, type=kind)

    async def health(self) -> schemas.Health:
        """Whether the server answers, and its version."""
        return await self._get(schemas.Health, "/api/health")

    async def submit(
        self,
        graph: bytes | Mapping[str, Any],
        options: RunOptions | None = None,
        name: str = "",
        *,
        secrets: Mapping[str, str] | None = None,
    ) -> schemas.RunSubmitted:
        """Queue a run of ``graph`` (a document, as JSON bytes or as built-ins) with the secrets that it refers to."""
        raw = graph if isinstance(graph, bytes) else msgspec.json.encode(graph)
        request = schemas.SubmitRun(
            graph=msgspec.Raw(raw), options=options or RunOptions(), name=name, secrets=dict(secrets or {})
        )
        return await self._post(schemas.RunSubmitted, "/api/runs", msgspec.json.encode(request))

    async def run(self, run_id: str) -> schemas.RunDetail:
        """One run with its graph."""
        return await self._get(schemas.RunDetail, f"/api/runs/{run_id}")

    async def runs(self, *, limit: int = 50, cursor: str = "", status: str = "") -> schemas.RunList:
        """A page of runs, newest first."""
        query: dict[str, str | int | float] = {"limit": limit}
        if cursor:
            query["cursor"] = cursor
        if status:
            query["status"] = status
        return await self._get(schemas.RunList, "/api/runs", **query)

    async def cancel(self, run_id: str) -> schemas.RunCancelled:
        """Ask a run to stop; committed when this returns."""
        return await self._post(schemas.RunCancelled, f"/api/runs/{run_id}/cancel")

    async def set_priority(self, run_id: str, priority: int) -> schemas.RunDetail:
        """Move a waiting run within its queue."""
        body = msgspec.json.encode(schemas.ChangeRun(priority=priority))
        answer = await self.request("PATCH", f"/api/runs/{run_id}", body=body)
        return msgspec.json.decode(answer.content, type=schemas.RunDetail)

    async def waiting(self, run_id: str) -> schemas.Waiting:
        """Why a run waits, and until when."""
        return await self._get(schemas.Waiting, f"/api/runs/{run_id}/waiting")

    async def preflight(self, graph: bytes, options: RunOptions | None = None) -> schemas.Preflight:
        """Where a graph could run now, later or never."""
        body = schemas.PreflightRequest(graph=msgspec.Raw(graph), options=options or RunOptions())
        return await self._post(schemas.Preflight, "/api/runs/preflight", msgspec.json.encode(body))

    async def delete(self, run_id: str) -> None:
        """Delete an ended run with everything it left."""
        await self.request("DELETE", f"/api/runs/{run_id}")

    async def events(self, run_id: str, cursor: int = 0, limit: int = 5000) -> list[schemas.StoredEvent]:
        """Every event after ``cursor``."""
        events: list[schemas.StoredEvent] = []
        while True:
            page = await self._get(
                schemas.EventList, f"/api/runs/{run_id}/events", cursor=cursor, limit=limit
            )
            events += page.events
            if not page.events:
                return events
            cursor = page.next_cursor

    async def metrics(self, run_id: str, name: str = "", cursor: int = 0) -> list[schemas.StoredMetric]:
        """Every metric point after ``cursor``, of one name or of all."""
        points: list[schemas.StoredMetric] = []
        query: dict[str, str | int | float] = {"limit": 5000}
        if name:
            query["name"] = name
        while True:
            page = await self._get(schemas.MetricList, f"/api/runs/{run_id}/metrics", cursor=cursor, **query)
            points += page.points
            if not page.points:
                return points
            cursor = page.next_cursor

    async def provenance(self, run_id: str) -> schemas.ProvenanceList:
        """What computed the run, and every record of where its results come from."""
        whole: schemas.ProvenanceList | None = None
        cursor = 0
        while True:
            page = await self._get(
                schemas.ProvenanceList, f"/api/runs/{run_id}/provenance", cursor=cursor, limit=5000
            )
            if whole is None:
                whole = page
            else:
                whole.records += page.records
            if not page.records:
                return whole
            cursor = whole.next_cursor = page.next_cursor

    async def artifacts(self, run_id: str) -> list[schemas.StoredArtifact]:
        """What the run wrote."""
        return (await self._get(schemas.ArtifactList, f"/api/runs/{run_id}/artifacts")).artifacts

    async def artifact_content(self, run_id: str, artifact_id: int) -> bytes:
        """The bytes of one artifact."""
        return (await self.request("GET", f"/api/runs/{run_id}/artifacts/{artifact_id}/content")).content

    async def log(self, run_id: str, offset: int = 0) -> bytes:
        """The run's console output from a byte offset on."""
        return (await self.request("GET", f"/api/runs/{run_id}/log", query={"from": offset})).content

    async def workers(self) -> list[schemas.WorkerStatus]:
        """The server itself and every worker it has seen."""
        return (await self._get(schemas.WorkerList, "/api/workers")).workers

    async def drain(self, worker_id: str, *, draining: bool = True) -> schemas.WorkerStatus:
        """Stop new placements on a worker, or allow them again."""
        verb = "drain" if draining else "undrain"
        return await self._post(schemas.WorkerStatus, f"/api/workers/{worker_id}/{verb}")

    async def nodes(self) -> schemas.NodeList:
        """The node catalog."""
        return await self._get(schemas.NodeList, "/api/nodes")

    async def node(self, node_type: str) -> NodeDefinition:
        """One node's definition."""
        return await self._get(NodeDefinition, f"/api/nodes/{node_type}")

    async def validate(self, graph: bytes) -> schemas.GraphValidation:
        """All problems of a graph."""
        request = schemas.ValidateGraph(graph=msgspec.Raw(graph))
        return await self._post(schemas.GraphValidation, "/api/graphs/validate", msgspec.json.encode(request))

    async def example(self, name: str) -> schemas.Example:
        """One of the example graphs."""
        return await self._get(schemas.Example, f"/api/examples/{name}")

    # -------------------------------------------------------------- watching

    async def wait(self, run_id: str, timeout_s: float | None = None) -> schemas.RunDetail:
        """Wait until the run ended and return it.

        Raises:
            TimeoutError: it did not end within ``timeout_s``.
        """
        async with asyncio.timeout(timeout_s):
            cursor = 0
            while True:
                response = await self.request(
                    "GET", f"/api/runs/{run_id}/events", query={"cursor": cursor, "wait": 20}, timeout_s=40.0
                )
                page = msgspec.json.decode(response.content, type=schemas.EventList)
                cursor = page.next_cursor
                if page.ended:
                    return await self.run(run_id)

    async def watch(
        self, run_id: str, cursor: int = 0, metrics_cursor: int = 0, give_up_s: float | None = None
    ) -> AsyncIterator[WatchedEvents | WatchedMetrics]:
        """Replay and then follow a run until it ends; a lost connection is made again from the last cursor.

        Args:
            give_up_s: raise :class:`ServerUnreachable` after this long without a connection; ``None`` keeps trying.

        Raises:
            ApiError: the run does not exist, or the token is wrong.
        """
        # Commands that watch nothing start without them.
        from websockets.asyncio.client import connect
        from websockets.exceptions import ConnectionClosed, InvalidHandshake

        loop = asyncio.get_running_loop()
        lost_at: float | None = None
        delay = 0.2
        while True:
            try:
                async with connect(
                    self.url.replace("http", "ws", 1) + "/ws/execution",
                    additional_headers={TOKEN_HEADER: self._token},
                    max_size=None,
                    proxy=None,
                ) as socket:
                    lost_at, delay = None, 0.2
                    async for message in self._attached(socket, run_id, cursor, metrics_cursor):
                        if isinstance(message, WatchedEvents):
                            cursor = message.events[-1].cursor if message.events else cursor
                        else:
                            metrics_cursor = message.metrics_cursor
                        yield message
                    return
            except (OSError, ConnectionClosed, InvalidHandshake, TimeoutError) as error:
                if isinstance(error, InvalidHandshake):
                    await self.run(run_id)  # Says in words why the server refuses, such as a wrong token.
                now = loop.time()
                lost_at = now if lost_at is None else lost_at
                if give_up_s is not None and now - lost_at > give_up_s:
                    raise ServerUnreachable(self.url, error) from error
                await asyncio.sleep(delay * (0.5 + random.random()))
                delay = min(delay * 2, 5.0)

    async def _attached(
        self, socket: ClientConnection, run_id: str, cursor: int, metrics_cursor: int
    ) -> AsyncIterator[WatchedEvents | WatchedMetrics]:
        attach = {"type": "attach", "run_id": run_id, "cursor": cursor, "metrics_cursor": metrics_cursor}
        await socket.send(msgspec.json.encode(attach).decode())
        async for text in socket:
            message = _socket_decoder.decode(text)
            if isinstance(message, WatchedEvents | WatchedMetrics):
                yield message
            elif isinstance(message, _SocketError):
                raise ApiError(
                    schemas.Problem(
                        title=message.code,
                        status=400,
                        detail=message.message,
                        code=message.code,
                        params=message.params,
                    )
                )
            elif isinstance(message, _Ended):
                return
        raise ConnectionResetError("the server closed the connection")


def _problem(response: httpx.Response) -> schemas.Problem:
    try:
        return msgspec.json.decode(response.content, type=schemas.Problem)
    except (msgspec.DecodeError, RecursionError):
        return schemas.Problem(
            title=response.reason_phrase,
            status=response.status_code,
            detail=f"The server answered {response.status_code} {response.reason_phrase} to {response.request.url.path}.",
            code="http_error",
        )


def read_token(path: Path) -> str:
    """The token in a file.

    Raises:
        OSError: the file cannot be read.
    """
    return path.read_text().strip()
