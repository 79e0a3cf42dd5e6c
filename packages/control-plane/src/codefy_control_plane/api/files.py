"""The user's files over HTTP: browse, download, upload, make folders, move and remove."""

from __future__ import annotations

import asyncio
from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from codefy_control_plane.api.context import Context
from codefy_control_plane.api.problems import api_error
from codefy_control_plane.api.run_files import ARTIFACT_POLICY, INLINE_TYPES, ArtifactResponse
from codefy_control_plane.api.schemas import ChangeFile, FileEntry, FileList, UploadProgress
from codefy_control_plane.files.uploads import IfExists, read_part
from codefy_protocol import reasons

UPLOAD_HEADER = "x-codefy-upload"
SHA256_HEADER = "x-codefy-sha256"


class FolderQuery(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    folder: str = ""
    """Its path; by default the folder of all files."""


class DownloadQuery(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    download: Literal["0", "1"] = "0"
    """1 offers the file as a download."""
    about: Literal["0", "1"] = "0"
    """1 answers what is known of the file instead of its content."""


class UploadQuery(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    if_exists: IfExists = "refuse"
    """Where a file of the name is: ``refuse``, ``replace`` it, or ``number`` the new one: ``data (2).csv``."""


class DeleteQuery(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    with_content: Literal["0", "1"] = "0"
    """1 removes a folder with everything in it."""


async def list_files(context: Context, query: FolderQuery) -> FileList:
    """What lies in a folder of the user's files."""
    return await asyncio.to_thread(context.files.list, query.folder.strip("/"))


async def read_file(context: Context, path: str, query: DownloadQuery) -> Response:
    """The content of a file; byte ranges are served. With ``about=1`` what is known of it, as of a folder."""
    found = await asyncio.to_thread(context.files.find, path)
    entry = await asyncio.to_thread(context.files.entry, path)
    if query.about == "1":
        return Response(msgspec.json.encode(entry), media_type="application/json")
    if entry.kind == "folder":
        raise api_error(404, reasons.FILE_IS_FOLDER, path=path)
    inline = entry.media_type in INLINE_TYPES and query.download == "0"
    return ArtifactResponse(
        found,
        media_type=entry.media_type if entry.media_type in INLINE_TYPES else "application/octet-stream",
        filename=entry.name,
        content_disposition_type="inline" if inline else "attachment",
        headers={"content-security-policy": ARTIFACT_POLICY, "cache-control": "private, no-cache"},
    )


async def upload_file(context: Context, request: Request, path: str, query: UploadQuery) -> UploadProgress:
    """Upload a file: its bytes are the body.

    A large one may come in parts, each with ``Content-Range: bytes START-END/TOTAL`` and the same ``X-Codefy-Upload``,
    a word of the client's choice. A part that does not continue what is here answers 409 ``upload_offset`` with the
    ``offset`` to go on from. With ``X-Codefy-SHA256`` the content is compared before it is put in place.
    """
    part = read_part(request.headers.get("content-range"), request.headers.get("content-length"))
    received = await context.uploads.receive(
        path,
        request.stream(),
        part,
        if_exists=query.if_exists,
        upload=request.headers.get(UPLOAD_HEADER, "")[:200],
        sha256=request.headers.get(SHA256_HEADER),
    )
    if not received.done:
        return UploadProgress(received=received.received, file=None)
    entry = await asyncio.to_thread(context.files.entry, received.path, received.sha256)
    return UploadProgress(received=received.received, file=entry)


async def change_file(context: Context, path: str, body: ChangeFile) -> FileEntry:
    """Make a folder at the path, or move what is there."""
    if body.action == "make_folder":
        return await asyncio.to_thread(context.files.make_folder, path)
    return await asyncio.to_thread(context.files.move, path, body.to)


async def delete_file(context: Context, path: str, query: DeleteQuery) -> None:
    """Remove a file or a folder."""
    await asyncio.to_thread(context.files.delete, path, with_content=query.with_content == "1")
