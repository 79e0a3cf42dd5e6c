"""What the server says of itself."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from codefy_control_plane.api.context import Context
from codefy_control_plane.api.schemas import Health, ServerInfo
from codefy_protocol import PROTOCOL_VERSION, __version__


async def health() -> Health:
    """Whether the server is up, and its versions."""
    return Health(status="ok", version=__version__, protocol_version=PROTOCOL_VERSION)


async def server_info(context: Context) -> ServerInfo:
    """Where the server keeps its data and the session token. The token itself is not told."""
    settings = context.settings
    return ServerInfo(
        version=__version__,
        data_dir=str(settings.data_dir.absolute()),
        token_file=str(settings.token_path.absolute()),
    )


async def openapi() -> Response:
    """This description."""
    from codefy_control_plane.api.openapi import openapi_document
    from codefy_control_plane.app import API_ROUTES

    return JSONResponse(openapi_document(API_ROUTES))
