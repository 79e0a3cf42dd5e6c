"""How a command finds its server, and how what goes wrong is told: one sentence, a remedy, an exit code."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from codefy_control_plane.client import ApiError, Client, ServerUnreachable, read_token
from codefy_control_plane.settings import default_data_dir

ResultT = TypeVar("ResultT")
CommandT = TypeVar("CommandT", bound=Callable[..., Any])

EXIT_FAILED = 1
"""Failed, cancelled, interrupted or not submitted."""
EXIT_INTERRUPTED = 130
"""Ctrl-C."""


class ServerFile(msgspec.Struct):
    """``server.json`` of a data folder: where its server listens."""

    url: str
    pid: int = 0


class ServerAddress(msgspec.Struct, frozen=True):
    """Where the server is and what opens it."""

    url: str
    token: str


def server_options(command: CommandT) -> CommandT:
    """Add the options that find a server: ``--server``, ``--token-file``, ``--data-dir``."""
    for option in (
        click.option(
            "--data-dir",
            type=click.Path(path_type=Path, file_okay=False),
            envvar="CODEFY_DATA_DIR",
            help="Data folder of a server on this machine; its address and token are read there.",
        ),
        click.option(
            "--token-file",
            type=click.Path(path_type=Path, dir_okay=False),
            envvar="CODEFY_TOKEN_FILE",
            help="File with the session token. By default session-token in the data folder.",
        ),
        click.option(
            "--server",
            metavar="URL",
            envvar="CODEFY_SERVER",
            help="Address of the server, such as http://127.0.0.1:8000. By default the one of the data folder.",
        ),
    ):
        command = option(command)
    return command


def find_server(server: str | None, token_file: Path | None, data_dir: Path | None) -> ServerAddress:
    """The address and token from the options, else from the data folder.

    Raises:
        click.ClickException: with what to do.
    """
    folder = data_dir or default_data_dir()
    url = server
    if url is None:
        try:
            url = msgspec.json.decode((folder / "server.json").read_bytes(), type=ServerFile).url
        except FileNotFoundError:
            raise click.ClickException(
                f"No server runs on {folder}. Start one with: codefy serve. "
                "Or name another with --server or --data-dir."
            ) from None
        except (OSError, msgspec.DecodeError) as error:
            raise click.ClickException(f"{folder / 'server.json'} cannot be read: {error}") from error
    path = token_file or folder / "session-token"
    token = os.environ.get("CODEFY_TOKEN", "") if token_file is None else ""
    if not token:
        try:
            token = read_token(path)
        except OSError as error:
            raise click.ClickException(
                f"The session token {path} cannot be read ({error.strerror or error}). "
                "Name its file with --token-file; it lies in the server's data folder."
            ) from error
    return ServerAddress(url, token)


def run_with_client(
    address: ServerAddress, work: Callable[[Client], Coroutine[Any, Any, ResultT]]
) -> ResultT:
    """Run ``work`` with a client; errors of the server become one sentence each and exit code 1."""

    async def connected() -> ResultT:
        async with Client(address.url, address.token) as client:
            return await work(client)

    try:
        return asyncio.run(connected())
    except ApiError as error:
        raise click.ClickException(describe(error)) from error
    except ServerUnreachable as error:
        raise click.ClickException(str(error)) from error


def describe(error: ApiError) -> str:
    """The server's sentence, and every problem of a refused graph on a line of its own."""
    lines = [str(error)]
    lines += [f"  {problem.node_id or 'graph'}: {problem.message}" for problem in error.problems]
    return "\n".join(lines)
