"""``codefy serve``: start the server and its web UI."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import webbrowser
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codefy_control_plane.settings import SETTINGS, BadSetting, Settings, load_settings

if TYPE_CHECKING:
    from codefy_control_plane.server import Server
    from codefy_control_plane.warmup import WarmUp

OPEN_PAGE = "open.html"


class ServeCommand(click.Command):
    """Lists every setting in its help."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Environment variables (an option wins over its variable)"):
            formatter.write_dl(
                [(setting.variable, f"{setting.help} Default: {setting.default}.") for setting in SETTINGS]
            )


@click.command(cls=ServeCommand)
@click.option("--host", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 takes a free one.")
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the database, the runs and the session token.",
)
@click.option(
    "--open/--no-open",
    "open_browser",
    default=None,
    help="Open the UI in a browser. Default: when started from a terminal on a desktop.",
)
@click.option("--verbose", is_flag=True, help="Log more.")
def serve(
    host: str | None, port: int | None, data_dir: Path | None, open_browser: bool | None, verbose: bool
) -> None:
    """Start the server and its web UI.

    It prints three lines once it listens: its address, the link that opens it in a browser, and the folder of its
    data. Stop it with Ctrl-C.
    """
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )
    logging.getLogger("codefy").setLevel(logging.INFO)
    # Hypercorn greets at INFO with an address of its own.
    logging.getLogger("codefy.http").setLevel(logging.WARNING)
    try:
        settings = load_settings(host=host, port=port, data_dir=data_dir)
    except BadSetting as error:
        raise click.UsageError(str(error)) from None
    for warning in settings.warnings:
        click.echo(f"Warning: {warning.message}", err=True)
    if open_browser is None:
        open_browser = on_a_desktop()
    warm_ups: list[WarmUp] = []
    code = asyncio.run(_serve(settings, open_browser=open_browser, warm_ups=warm_ups))
    if any(warm_up.importing for warm_up in warm_ups):
        # All is stored and closed. Nobody waits for libraries that nobody will use.
        sys.stdout.flush()
        logging.shutdown()
        os._exit(code)
    raise SystemExit(code)


async def _serve(settings: Settings, *, open_browser: bool, warm_ups: list[WarmUp]) -> int:
    from codefy_control_plane.server import CannotServe, Server
    from codefy_control_plane.warmup import WarmUp

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    received: list[signal.Signals] = []

    def on_signal(which: signal.Signals) -> None:
        received.append(which)
        if len(received) > 1:
            # Asked twice: what is still going on ends with the process, as after a crash.
            settings.server_file.unlink(missing_ok=True)
            os._exit(128 + which)
        stop.set()

    for which in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(which, on_signal, which)
    try:
        async with Server(settings) as server:
            click.echo(f"Codefy is ready at {server.url}")
            click.echo(f"Open {server.link}")
            click.echo(f"Data is in {settings.data_dir}")
            sys.stdout.flush()
            if settings.preload:
                warm_ups.append(WarmUp(server.context.registry, server.activity))
            if open_browser:
                page = settings.data_dir / OPEN_PAGE
                await asyncio.to_thread(open_in_browser, page, server.link)
                try:
                    await _until_stopped(server, stop, warm_ups)
                finally:
                    page.unlink(missing_ok=True)
            else:
                await _until_stopped(server, stop, warm_ups)
    except CannotServe as error:
        click.echo(f"Error: {error}", err=True)
        return 1
    click.echo("stopped")
    return 0


async def _until_stopped(server: Server, stop: asyncio.Event, warm_ups: list[WarmUp]) -> None:
    stopping = asyncio.create_task(stop.wait())
    failing = asyncio.create_task(server.wait_failed())
    warming = [asyncio.create_task(warm_up.run()) for warm_up in warm_ups]
    try:
        await asyncio.wait((stopping, failing), return_when=asyncio.FIRST_COMPLETED)
        if failing.done():
            failing.result()
    finally:
        for task in (stopping, failing, *warming):
            task.cancel()
        await asyncio.gather(stopping, failing, *warming, return_exceptions=True)


def on_a_desktop() -> bool:
    if not sys.stdout.isatty():
        return False
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def open_in_browser(page: Path, link: str) -> None:
    """Open ``link`` through a private file: a command line is seen by every account of the machine, token and all."""
    handle = os.open(page, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(
            f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={escape(link)}">'
            f'<a href="{escape(link)}">Codefy</a>'
        )
    webbrowser.open(page.as_uri())
