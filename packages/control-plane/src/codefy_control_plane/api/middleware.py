"""Pure ASGI middleware, outermost first: answer headers, errors, body limit, host and origin, session token.

``/ws/worker`` and what lies under ``/api/worker/`` bring credentials of their own (X-1, X-9), so the guards let them pass to
their endpoints, which check them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any, cast
from urllib.parse import parse_qsl, quote, urlencode

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from codefy_control_plane.access import (
    COOKIE_MAX_AGE_S,
    TOKEN_HEADER,
    Access,
    HostPolicy,
    cookie_name,
)
from codefy_control_plane.api.problems import problem_of, problem_response
from codefy_control_plane.api.routing import report_internal_error
from codefy_protocol import reasons
from codefy_protocol.inputs import WORKER_API
from codefy_protocol.reasons import Reason, reason

WORKER_SOCKET_PATH = "/ws/worker"
UPLOAD_PATH = "/api/files/"
SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))

CLOSE_FORBIDDEN = 4003
CLOSE_UNAUTHENTICATED = 4401

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)

_ANSWER_HEADERS = (
    ("content-security-policy", CONTENT_SECURITY_POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
)

_LINGER_S = 5.0
_LINGER_BYTES = 256 * 1024 * 1024

_encoder = msgspec.json.Encoder()


class AnswerHeaders:
    """Adds the security headers to every answer, and ``no-store`` to those of the API that say nothing else."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        private = is_private(scope["path"])

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                for name, value in _ANSWER_HEADERS:
                    headers.setdefault(name, value)
                if private:
                    headers.setdefault("cache-control", "no-store")
            await send(message)

        await self.app(scope, receive, send_with_headers)


class Errors:
    """The last resort: an exception becomes a 500 with an ``error_id`` that the log names too."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def watch(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, watch)
        except _BodyTooLarge as error:
            if not started:
                await problem_response(413, error.reason)(scope, receive, send)
        except Exception:
            # The path only: a query string may hold the token.
            response = report_internal_error(f"{scope['method']} {scope['path']}")
            if started:
                raise
            await response(scope, receive, send)


class _BodyTooLarge(Exception):
    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.reason = reason(reasons.BODY_TOO_LARGE, limit_bytes=limit)


class BodyLimit:
    """Counts the body as it streams in and stops at ``limit`` bytes.

    With an early answer it reads what the client is still sending, within bounds: closing with unread bytes would
    reset the connection, and the client would never see why it was refused.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app = app
        self.limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        # A file goes to the disk as it comes, and its handler has a limit of its own.
        limit = float("inf") if _is_upload(scope) else self.limit
        seen = 0
        finished = False
        length = Headers(scope=scope).get("content-length", "")
        declared_too_large = length.isdigit() and int(length) > limit

        async def counted() -> Message:
            nonlocal seen, finished
            if declared_too_large and not finished:
                raise _BodyTooLarge(self.limit)
            message = await receive()
            if message["type"] == "http.request":
                seen += len(message.get("body", b""))
                finished = not message.get("more_body", False)
                if seen > limit:
                    raise _BodyTooLarge(self.limit)
            else:
                finished = True
            return message

        async def read_the_rest() -> None:
            nonlocal seen
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LINGER_S):
                    while seen < _LINGER_BYTES:
                        message = await receive()
                        if message["type"] != "http.request" or not message.get("more_body", False):
                            return
                        seen += len(message.get("body", b""))

        async def send_then_linger(message: Message) -> None:
            ends = message["type"] == "http.response.body" and not message.get("more_body", False)
            if ends and not finished and scope["method"] not in SAFE_METHODS:
                # The server closes the connection with the last part of the answer, so that part waits.
                await send({**message, "more_body": True})
                await read_the_rest()
                message = {"type": "http.response.body", "body": b"", "more_body": False}
            await send(message)

        await self.app(scope, counted, send_then_linger)


def _is_upload(scope: Scope) -> bool:
    """Whether the body is a file."""
    return scope["method"] == "PUT" and scope["path"].startswith(UPLOAD_PATH)


@dataclass(frozen=True, kw_only=True)
class _Refusal:
    status: int
    close_code: int
    why: Reason
    deny: bool
    """Refuse a socket before it is accepted; otherwise it is accepted and closed, which tells a browser the code."""


class Guards:
    """Host, Origin and session token of every request and socket (X-9)."""

    def __init__(
        self, app: ASGIApp, access: Access, hosts: HostPolicy, is_public: Callable[[str, str], bool]
    ) -> None:
        self.app = app
        self.access = access
        self.hosts = hosts
        self.is_public = is_public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or is_for_agents(scope["path"]):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._check_address(scope, headers)
        if refusal is None and scope["type"] == "http" and not is_private(scope["path"]):
            page = self._exchange_link(scope, headers)
            if page is not None:
                await page(scope, receive, send)
                return
        if refusal is None:
            refusal = self._check_token(scope, headers)
        if refusal is None:
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await problem_response(refusal.status, refusal.why)(scope, receive, send)
        else:
            await _refuse_socket(refusal, receive, send)

    def _check_address(self, scope: Scope, headers: Headers) -> _Refusal | None:
        host = headers.get("host", "")
        server = cast("tuple[str, int] | None", scope.get("server"))
        if not self.hosts.host_allowed(host, server[0] if server else None):
            why = reason(reasons.HOST_NOT_ALLOWED, host=host)
            return _Refusal(status=403, close_code=CLOSE_FORBIDDEN, why=why, deny=True)
        origin = headers.get("origin")
        mutating = scope["type"] == "websocket" or scope["method"] not in SAFE_METHODS
        if origin is not None and mutating and not self.hosts.origin_allowed(origin, host):
            why = reason(reasons.ORIGIN_NOT_ALLOWED, origin=origin)
            return _Refusal(status=403, close_code=CLOSE_FORBIDDEN, why=why, deny=True)
        return None

    def _check_token(self, scope: Scope, headers: Headers) -> _Refusal | None:
        if scope["type"] == "http" and (
            not is_private(scope["path"]) or self.is_public(scope["method"], scope["path"])
        ):
            return None
        token = headers.get(TOKEN_HEADER)
        if token is None and scope["type"] == "websocket":
            token = dict(_query(scope)).get("token")
        if token is not None:
            if self.access.token_matches(token):
                return None
            why = reason(reasons.TOKEN_WRONG)
        elif self.access.cookie_matches(headers.get("cookie", "")):
            return None
        else:
            why = reason(reasons.TOKEN_REQUIRED)
        return _Refusal(status=401, close_code=CLOSE_UNAUTHENTICATED, why=why, deny=False)

    def _exchange_link(self, scope: Scope, headers: Headers) -> Response | None:
        """The page of a ``?token=`` link: sets the cookie and redirects to the same page without the token."""
        query = _query(scope)
        token = dict(query).get("token")
        if token is None or scope["method"] not in ("GET", "HEAD"):
            return None
        if not self.access.token_matches(token):
            return HTMLResponse(_wrong_link_page(), status_code=401, headers={"cache-control": "no-store"})
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        # One leading slash: "//elsewhere" would lead to another host.
        path = "/" + quote(scope["path"].lstrip("/\\"), safe="/@:~!$&'()*+,;=")
        response = RedirectResponse(path + ("?" + rest if rest else ""), status_code=303)
        response.headers["cache-control"] = "no-store"
        response.set_cookie(
            cookie_name(headers.get("host", "")),
            self.access.cookie_value,
            max_age=COOKIE_MAX_AGE_S,
            httponly=True,
            samesite="strict",
            secure=scope.get("scheme") == "https",
        )
        return response


def is_for_agents(path: str) -> bool:
    """Whether the endpoint of ``path`` itself checks who asks."""
    return path == WORKER_SOCKET_PATH or path.startswith(WORKER_API)


def is_private(path: str) -> bool:
    """Whether ``path`` needs the token: all but the pages and files of the web UI."""
    return path in ("/api", "/ws", "/openapi.json") or path.startswith(("/api/", "/ws/"))


def _query(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


async def _refuse_socket(refusal: _Refusal, receive: Receive, send: Send) -> None:
    await receive()
    if not refusal.deny:
        await send({"type": "websocket.accept"})
        await send(
            {"type": "websocket.close", "code": refusal.close_code, "reason": refusal.why.message[:120]}
        )
        return
    body: dict[str, Any] = msgspec.to_builtins(problem_of(refusal.status, refusal.why))
    body["reason"] = refusal.why.message
    body["close_code"] = refusal.close_code
    await send(
        {
            "type": "websocket.http.response.start",
            "status": refusal.status,
            "headers": [(b"content-type", b"application/problem+json"), (b"cache-control", b"no-store")],
        }
    )
    await send({"type": "websocket.http.response.body", "body": _encoder.encode(body)})


def _wrong_link_page() -> str:
    why = reason(reasons.TOKEN_WRONG)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Codefy</title>'
        f"<h1>This link does not open this server</h1><p>{escape(why.message)}</p>"
        "<p>Open the link that <code>codefy serve</code> printed when it started.</p></html>"
    )
