"""Routes as data: a handler's own signature says what it takes and gives.

A handler is ``async def handler(context, run_id, query, body) -> Answer``. ``context`` and ``request`` are handed in by
name, ``query`` and ``body`` are decoded into the struct of their annotation, every other parameter is a piece of the
path. The returned struct is encoded once; a handler that streams returns a ready response. ``/openapi.json`` is made
from the same signatures, so it cannot drift from what the server does.
"""

from __future__ import annotations

import inspect
import logging
import re
import secrets
import typing
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute
from starlette.types import Receive, Scope, Send

from codefy_control_plane.api.decoding import decode_json, decode_query
from codefy_control_plane.api.problems import ApiError, api_error, problem_response
from codefy_control_plane.runs.errors import Refused
from codefy_protocol import reasons
from codefy_protocol.reasons import reason

logger = logging.getLogger("codefy.api")

Handler = Callable[..., Awaitable[Any]]

_encoder = msgspec.json.Encoder()
_HANDED_IN = frozenset(("context", "request"))
_NO_RESPONSE: tuple[Any, ...] = (type(None), Response)


@dataclass(frozen=True, kw_only=True)
class Signature:
    """What a handler's annotations say. ``body``, ``query`` and ``answer`` are struct types or ``None``."""

    path_params: Mapping[str, type[Any]]
    handed_in: frozenset[str]
    query: type[Any] | None
    body: type[Any] | None
    answer: type[Any] | None
    summary: str
    description: str


@dataclass(frozen=True)
class ApiRoute:
    """One method of one path.

    ``errors`` are the statuses it answers beside those every route has (400, 401, 403, 500). ``produces`` is the media
    type of a handler that returns a ready response.
    """

    method: str
    path: str
    handler: Handler
    status: int = 200
    errors: tuple[int, ...] = ()
    produces: str | None = None
    public: bool = False
    """Answered without the session token."""
    signature: Signature = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "signature", _read_signature(self.handler, self.path))


def _read_signature(handler: Handler, path: str) -> Signature:
    hints = typing.get_type_hints(handler)
    answer = hints.pop("return", None)
    in_path = set(re.findall(r"{(\w+)", path))
    path_params = {name: kind for name, kind in hints.items() if name not in _HANDED_IN | {"query", "body"}}
    if set(path_params) != in_path:
        raise TypeError(
            f"{handler.__qualname__} takes {sorted(path_params)}, its path {path} gives {sorted(in_path)}"
        )
    summary, _, description = (inspect.getdoc(handler) or "").partition("\n")
    return Signature(
        path_params=path_params,
        handed_in=_HANDED_IN & hints.keys(),
        query=hints.get("query"),
        body=hints.get("body"),
        answer=None if answer in _NO_RESPONSE else answer,
        summary=summary.rstrip("."),
        description=description.strip(),
    )


class Endpoint:
    """All methods of one path as an ASGI application."""

    def __init__(self, context: object, routes: Sequence[ApiRoute]) -> None:
        self._context = context
        self._routes = {route.method: route for route in routes}
        if "GET" in self._routes:
            self._routes.setdefault("HEAD", self._routes["GET"])
        self._allowed = ", ".join(sorted(self._routes))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        route = self._routes.get(request.method)
        if route is None:
            why = reason(
                reasons.METHOD_NOT_ALLOWED,
                path=request.url.path,
                method=request.method,
                allowed=self._allowed,
            )
            return problem_response(405, why, headers={"allow": self._allowed})
        try:
            result = await route.handler(**await self._arguments(route, request))
        except ApiError as error:
            return problem_response(error.status, error.reason, error.problems, error.headers)
        except Refused as error:
            return problem_response(error.status, error.reason, error.problems, current=error.current)
        if isinstance(result, Response):
            return result
        if result is None:
            return Response(status_code=204)
        headers = {"cache-control": "no-store"}
        revision = getattr(result, "revision", None)
        if revision is not None:
            # What a client gives back as If-Match.
            headers["etag"] = f'"{revision}"'
        return Response(
            _encoder.encode(result), status_code=route.status, media_type="application/json", headers=headers
        )

    async def _arguments(self, route: ApiRoute, request: Request) -> dict[str, Any]:
        signature = route.signature
        arguments: dict[str, Any] = {}
        for name, kind in signature.path_params.items():
            arguments[name] = _path_value(request, name, kind)
        if "context" in signature.handed_in:
            arguments["context"] = self._context
        if "request" in signature.handed_in:
            arguments["request"] = request
        if signature.query is not None:
            arguments["query"] = decode_query(request.query_params.multi_items(), signature.query)
        if signature.body is not None:
            arguments["body"] = decode_json(await request.body(), signature.body)
        return arguments


def _path_value(request: Request, name: str, kind: type[Any]) -> Any:
    text = request.path_params[name]
    if kind is not int:
        return text
    try:
        return int(text)
    except ValueError:
        raise api_error(404, reasons.NOT_FOUND, path=request.url.path) from None


def compile_routes(context: object, routes: Sequence[ApiRoute]) -> list[StarletteRoute]:
    """Starlette routes, one per path, in the order in which paths first appear."""
    by_path: dict[str, list[ApiRoute]] = {}
    for route in routes:
        by_path.setdefault(route.path, []).append(route)
    return [StarletteRoute(path, Endpoint(context, group)) for path, group in by_path.items()]


def report_exception(where: str) -> str:
    """Log the exception being handled under a fresh id; returns the id."""
    error_id = secrets.token_hex(6)
    logger.exception("internal error %s at %s", error_id, where)
    return error_id


def report_internal_error(where: str) -> Response:
    """Log the exception being handled, and make the answer that names its id."""
    return problem_response(500, reason(reasons.INTERNAL_ERROR, error_id=report_exception(where)))
