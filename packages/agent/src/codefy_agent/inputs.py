"""Fetching what an assignment names by SHA-256: a large graph, files of single nodes (F-6, G-2).

What comes is used only when it is what the hash names. An answer that is wrong is asked for again a few times; a server that
cannot be reached is waited for, and only the time in which the socket is up counts against the patience: while that is
down, the run waits like every other.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import msgspec

from codefy_agent.connection import TOKEN_HEADER, ControlPlane, NoToken
from codefy_agent.input_cache import InputCache
from codefy_protocol import __version__, inputs, reasons
from codefy_protocol.frames import Assign
from codefy_protocol.pipe import NodeFile
from codefy_protocol.reasons import Reason, reason

if TYPE_CHECKING:
    import httpx

logger = logging.getLogger(__name__)

GRAPH = "the graph"
_TIMEOUT_S = 30.0
_BUSY = frozenset((408, 425, 429))


class FetchSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Times in seconds."""

    tries: int = 5
    """How often a wrong answer is asked for again, and once more."""
    patience_s: float = 300.0
    """How long a server that cannot be reached is waited for, while its socket is up."""
    first_s: float = 0.5
    longest_s: float = 30.0


class Inputs(msgspec.Struct, frozen=True):
    """Everything the run child is given."""

    graph: bytes
    node_files: tuple[NodeFile, ...] = ()


Gather = Callable[[Assign], Awaitable[Inputs]]


class InputsFailed(Exception):
    """An input cannot be had; ``why`` names it and what to do."""

    def __init__(self, why: Reason) -> None:
        super().__init__(why.message)
        self.why = why


class _Wrong(Exception):
    """The answer is not the input."""


class _Unreachable(Exception):
    """There was no answer, or one that says to come again."""


async def carried(assign: Assign) -> Inputs:
    """The inputs of an assignment that names none."""
    return Inputs(assign.graph or b"")


class InputFetcher:
    """Gathers the inputs of runs from the cache and the control plane.

    Args:
        worker: the name this agent is known by.
        connected: whether the socket is up.
        transport: what carries the requests, instead of the network.
    """

    def __init__(
        self,
        control: ControlPlane,
        cache: InputCache,
        *,
        worker: Callable[[], str],
        connected: Callable[[], bool],
        random: Callable[[], float],
        settings: FetchSettings | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._control = control
        self._cache = cache
        self._worker = worker
        self._connected = connected
        self._random = random
        self._settings = settings or FetchSettings()
        self._transport = transport
        self._sleep = sleep
        self._clock = clock
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def gather(self, assign: Assign) -> Inputs:
        """The graph and the node files of an assignment.

        Raises:
            InputsFailed: one of them cannot be had.
        """
        if assign.graph is not None and not assign.node_sources:
            return await carried(assign)
        self._check(assign)
        async with contextlib.AsyncExitStack() as stack:
            client = await stack.enter_async_context(self._client())
            graph = assign.graph
            if graph is None:
                graph = await self._input(client, assign.run_id, assign.graph_hash, assign.graph_size, GRAPH)
            files: list[NodeFile] = []
            for source in assign.node_sources:
                content = await self._input(client, assign.run_id, source.sha256, source.size, source.name)
                files.append(NodeFile(name=source.name, sha256=source.sha256, content=content))
        return Inputs(graph, tuple(files))

    def _check(self, assign: Assign) -> None:
        """Names and sizes decide about memory and disk here: nobody else's word is taken for them."""
        sources = assign.node_sources
        for source in sources:
            if not (
                inputs.legal_node_file(source.name) and inputs.is_sha256(source.sha256) and source.size >= 0
            ):
                raise self._wrong(repr(source.name[:80]), "its name, size or hash is none")
        total = sum(source.size for source in sources)
        if len(sources) > inputs.MAX_NODE_SOURCES or total > inputs.MAX_NODE_SOURCE_BYTES:
            raise self._wrong(f"{len(sources)} node files", f"they have {total} bytes, which is too much")
        if assign.graph is None and not (
            inputs.is_sha256(assign.graph_hash) and 0 <= assign.graph_size <= inputs.MAX_GRAPH_BYTES
        ):
            raise self._wrong(GRAPH, "its size or hash is none")

    async def _input(
        self, client: httpx.AsyncClient, run_id: str, sha256: str, size: int, what: str
    ) -> bytes:
        lock = self._locks.setdefault(sha256, asyncio.Lock())
        async with lock:  # runs that begin together need it once
            content = await asyncio.to_thread(self._cache.get, sha256)
            if content is not None:
                return content
            content = await self._insist(client, run_id, sha256, size, what)
            try:
                await asyncio.to_thread(self._cache.put, sha256, content)
            except OSError as error:
                logger.warning("%s cannot be kept for the next run: %s", what, error)
            return content

    async def _insist(
        self, client: httpx.AsyncClient, run_id: str, sha256: str, size: int, what: str
    ) -> bytes:
        settings = self._settings
        wrong, waited, delay = 0, 0.0, settings.first_s
        while True:
            since = self._clock()
            try:
                return await self._fetch(client, run_id, sha256, size)
            except _Wrong as error:
                problem = error
                wrong += 1
                if wrong >= settings.tries:
                    raise self._wrong(what, str(error)) from error
            except _Unreachable as error:
                problem = error
                if waited >= settings.patience_s:
                    why = reason(
                        reasons.INPUT_UNREACHABLE,
                        worker=self._worker(),
                        file=what,
                        seconds=round(waited),
                        detail=str(error),
                    )
                    raise InputsFailed(why) from error
            logger.warning("run %s: %s did not come (%s); trying again", run_id, what, problem)
            await self._sleep(delay * (0.5 + 0.5 * self._random()))
            delay = min(2 * delay, settings.longest_s)
            if self._connected():
                waited += self._clock() - since

    async def _fetch(self, client: httpx.AsyncClient, run_id: str, sha256: str, size: int) -> bytes:
        import httpx

        content = bytearray()
        try:
            headers = {TOKEN_HEADER: self._control.token(), inputs.WORKER_HEADER: self._worker()}
            url = self._control.http_url + inputs.input_path(run_id, sha256)
            async with client.stream("GET", url, headers=headers) as answer:
                if answer.status_code in _BUSY or answer.status_code >= 500:
                    raise _Unreachable(f"the server answered {answer.status_code}")
                if answer.status_code != 200:
                    raise _Wrong(f"the server answered {answer.status_code}")
                async for part in answer.aiter_bytes():
                    content += part
                    if len(content) > size:
                        raise _Wrong(f"more than its {size} bytes came")
        except (httpx.HTTPError, NoToken) as error:
            raise _Unreachable(str(error) or type(error).__name__) from error
        data = bytes(content)
        if not await asyncio.to_thread(inputs.matches, sha256, data):
            raise _Wrong("what came has another SHA-256")
        return data

    def _client(self) -> httpx.AsyncClient:
        import httpx  # only a run that needs it pays for it

        secure = self._control.http_url.startswith("https:")
        return httpx.AsyncClient(
            transport=self._transport,
            timeout=_TIMEOUT_S,
            # A redirect would carry the token elsewhere.
            follow_redirects=False,
            # A proxy that the environment names cannot reach this machine's loopback.
            trust_env=not self._control.loopback,
            # The machine's CAs, as the socket has them.
            verify=ssl.create_default_context() if secure else False,
            headers={"User-Agent": f"codefy-agent/{__version__}"},
        )

    def _wrong(self, what: str, detail: str) -> InputsFailed:
        return InputsFailed(reason(reasons.INPUT_WRONG, worker=self._worker(), file=what, detail=detail))
