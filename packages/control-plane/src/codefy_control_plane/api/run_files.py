"""The files of a run: its log from a byte offset, and the content of its artifacts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, BinaryIO, Literal

import msgspec
from starlette.responses import FileResponse, Response, StreamingResponse

from codefy_control_plane.api.context import Context
from codefy_control_plane.api.problems import api_error
from codefy_protocol import reasons

LOG_SIZE_HEADER = "x-codefy-log-size"
CHUNK_BYTES = 1024 * 1024

INLINE_TYPES = frozenset(
    (
        "image/png",
        "image/jpeg",
        "image/gif",
        "image/webp",
        "image/svg+xml",
        "text/plain",
        "text/csv",
        "application/json",
    )
)
"""Types a browser may show in place; everything else is offered as a download."""

ARTIFACT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
"""A picture drawn by a run is a stranger's document: an SVG must not run script with the session's cookie."""


class LogQuery(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, rename={"start": "from"}):
    start: Annotated[int, msgspec.Meta(ge=0, le=2**62)] = 0
    """Byte offset."""


class ContentQuery(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    download: Literal["0", "1"] = "0"
    """1 offers the file as a download."""


class ArtifactResponse(FileResponse):
    chunk_size = CHUNK_BYTES


async def read_log(context: Context, run_id: str, query: LogQuery) -> Response:
    """The console output of a run from a byte offset, as far as it is there.

    The header ``X-Codefy-Log-Size`` says how many bytes there are: pass it as ``from`` to go on.
    """
    await context.service.get(run_id)
    opened = await asyncio.to_thread(_open_at, context.service.log_path(run_id), query.start)
    size = 0 if opened is None else opened[1]
    headers = {LOG_SIZE_HEADER: str(size), "cache-control": "no-store"}
    if opened is None or query.start >= size:
        if opened is not None:
            opened[0].close()
        return Response(b"", media_type="text/plain", headers=headers)
    return StreamingResponse(_read(opened[0], size - query.start), media_type="text/plain", headers=headers)


def _open_at(path: Path, offset: int) -> tuple[BinaryIO, int] | None:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return None
    size = file.seek(0, 2)
    file.seek(min(offset, size))
    return file, size


async def _read(file: BinaryIO, count: int) -> AsyncIterator[bytes]:
    with file:
        while count > 0:
            chunk = await asyncio.to_thread(file.read, min(count, CHUNK_BYTES))
            if not chunk:
                return
            count -= len(chunk)
            yield chunk


async def read_artifact(context: Context, run_id: str, artifact_id: int, query: ContentQuery) -> Response:
    """The content of an artifact; byte ranges are served."""
    path, artifact = await context.service.artifact_file(run_id, artifact_id)
    inside = await asyncio.to_thread(_inside, path, context.settings.runs_dir / run_id)
    if inside is None:
        raise api_error(410, reasons.ARTIFACT_GONE, artifact=artifact.name)
    media_type = artifact.media_type.partition(";")[0].strip().lower()
    inline = media_type in INLINE_TYPES and query.download == "0"
    return ArtifactResponse(
        inside,
        media_type=media_type if media_type in INLINE_TYPES else "application/octet-stream",
        filename=artifact.name.replace("/", "_"),
        content_disposition_type="inline" if inline else "attachment",
        headers={"content-security-policy": ARTIFACT_POLICY, "cache-control": "private, no-cache"},
    )


def _inside(path: Path, folder: Path) -> Path | None:
    """The real path when it is a file within ``folder``, links followed."""
    real = path.resolve()
    return real if real.is_relative_to(folder.resolve()) and real.is_file() else None
