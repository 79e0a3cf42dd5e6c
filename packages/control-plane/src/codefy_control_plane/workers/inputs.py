"""``GET /api/worker/runs/{run_id}/inputs/{sha256}``: what a worker fetches for its own runs (X-9, F-6, G-2).

The request is authorised as ``/ws/worker`` is, and names its worker in ``X-Codefy-Worker``. It gets the graph or a node file
of a run that goes on at that worker, and learns nothing of any other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from codefy_control_plane.access import Access, HostPolicy
from codefy_control_plane.api.problems import problem_response
from codefy_control_plane.workers.handshake import FORBIDDEN, Denied, authorise
from codefy_control_plane.workers.registry import WorkerRegistry
from codefy_protocol.inputs import WORKER_API, WORKER_HEADER, is_sha256
from codefy_protocol.reasons import INPUT_NOT_FOUND, METHOD_NOT_ALLOWED, reason

INPUT_PATH = WORKER_API + "runs/{run_id}/inputs/{sha256}"

ReadInput = Callable[[str, str], Awaitable[bytes | None]]
"""The content of a run's input by its SHA-256; ``RunService.input_of``."""


class WorkerInputs:
    """The ASGI application of the endpoint."""

    def __init__(self, registry: WorkerRegistry, access: Access, hosts: HostPolicy, read: ReadInput) -> None:
        self._registry = registry
        self._access = access
        self._hosts = hosts
        self._read = read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._answer(Request(scope, receive))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        server = cast("tuple[str, int | None] | None", request.scope.get("server"))
        peer = authorise(
            request.headers,
            None,  # a token in an address ends in logs
            request.client.host if request.client else "",
            server[0] if server else None,
            self._access,
            self._hosts,
        )
        if isinstance(peer, Denied):
            return problem_response(403 if peer.code == FORBIDDEN else 401, peer.why)
        if request.method not in ("GET", "HEAD"):
            why = reason(
                METHOD_NOT_ALLOWED, path=request.url.path, method=request.method, allowed="GET, HEAD"
            )
            return problem_response(405, why, headers={"allow": "GET, HEAD"})
        run_id, sha256 = request.path_params["run_id"], request.path_params["sha256"]
        content = None
        if is_sha256(sha256) and self._registry.has_run(request.headers.get(WORKER_HEADER, ""), run_id):
            content = await self._read(run_id, sha256)
        if content is None:
            return problem_response(404, reason(INPUT_NOT_FOUND, run_id=run_id[:64], sha256=sha256[:64]))
        return Response(content, media_type="application/octet-stream", headers={"cache-control": "no-store"})
