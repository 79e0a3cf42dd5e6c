"""The web UI's files: the built page, its hashed assets, and a clear page when it was not built."""

from __future__ import annotations

import asyncio
import mimetypes
import os
import stat
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.types import Receive, Scope, Send

from codefy_control_plane.api.middleware import is_private
from codefy_control_plane.api.problems import problem_response
from codefy_protocol import reasons
from codefy_protocol.reasons import reason

WEB_DIST = Path(__file__).parents[1] / "web_dist"
IMMUTABLE = "public, max-age=31536000, immutable"
REVALIDATE = "no-cache"

_ENCODINGS = (("br", ".br"), ("gzip", ".gz"))

PLACEHOLDER = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Codefy</title></head>
<body>
<h1>Codefy is running. Its web UI was not built.</h1>
<p>Install Node.js 20 or newer and run <code>make web</code> in the checkout, then reload this page.</p>
<p>The command line and the HTTP API work without it: <code>codefy run GRAPH.json</code>,
<a href="/openapi.json">/openapi.json</a>.</p>
</body>
</html>
"""


class Site:
    """Serves every path that is neither ``/api`` nor ``/ws``; pages of the single-page UI all get ``index.html``."""

    def __init__(self, root: Path = WEB_DIST) -> None:
        self._root = root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1000})
            return
        response = await self._answer(scope)
        await response(scope, receive, send)

    async def _answer(self, scope: Scope) -> Response:
        path: str = scope["path"]
        if is_private(path):
            return problem_response(404, reason(reasons.NOT_FOUND, path=path))
        if scope["method"] not in ("GET", "HEAD"):
            why = reason(reasons.METHOD_NOT_ALLOWED, path=path, method=scope["method"], allowed="GET, HEAD")
            return problem_response(405, why, headers={"allow": "GET, HEAD"})
        return await asyncio.to_thread(self._find, path, Headers(scope=scope))

    def _find(self, path: str, headers: Headers) -> Response:
        name = path.strip("/")
        found = self._file(name) if name else None
        hashed = name.startswith("assets/")
        if found is None and (hashed or name == "favicon.ico"):
            return problem_response(404, reason(reasons.NOT_FOUND, path=path))
        if found is None:
            found = self._file("index.html")
        if found is None:
            return HTMLResponse(PLACEHOLDER, headers={"cache-control": "no-store"})
        return _file_response(*found, headers, IMMUTABLE if hashed else REVALIDATE)

    def _file(self, name: str) -> tuple[Path, os.stat_result] | None:
        root = self._root.resolve()
        try:
            path = (root / name).resolve()
            status = path.stat()
        except (OSError, ValueError):
            return None
        if not path.is_relative_to(root) or not stat.S_ISREG(status.st_mode):
            return None
        return path, status


def _file_response(path: Path, status: os.stat_result, headers: Headers, cache_control: str) -> Response:
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    answer = {"cache-control": cache_control, "vary": "accept-encoding"}
    accepted = {part.partition(";")[0].strip() for part in headers.get("accept-encoding", "").split(",")}
    for encoding, suffix in _ENCODINGS:
        packed = path.with_name(path.name + suffix)
        if encoding in accepted and packed.is_file():
            path, status = packed, packed.stat()
            answer["content-encoding"] = encoding
            break
    response = FileResponse(path, media_type=media_type, headers=answer, stat_result=status)
    etag = response.headers["etag"]
    if etag in {
        candidate.strip().removeprefix("W/") for candidate in headers.get("if-none-match", "").split(",")
    }:
        kept = {name: response.headers[name] for name in ("etag", "cache-control", "vary")}
        return Response(status_code=304, headers=kept)
    return response
