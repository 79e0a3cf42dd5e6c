"""``codefy demo``: a server, a worker and a real training, in one command."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import signal
import sys
import tempfile
from pathlib import Path

import click

from codefy_control_plane.api.schemas import RunDetail
from codefy_control_plane.cli.connect import EXIT_FAILED, EXIT_INTERRUPTED
from codefy_control_plane.cli.run import WatchingStopped, watch_run
from codefy_control_plane.cli.serve import OPEN_PAGE, on_a_desktop, open_in_browser
from codefy_control_plane.cli.watch import metric_text
from codefy_control_plane.testing import ControlPlane, ServerDidNotStart
from codefy_protocol.names import RunOptions, Target

WORKER = "demo-worker"
EXAMPLE = "digits-cnn"


@click.command()
@click.option(
    "--exit",
    "exit_after",
    is_flag=True,
    help="Stop everything when the run has ended; exit 0 if it succeeded.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    help="Port of the server; 0 takes a free one.",
)
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep everything in this folder. By default a temporary one that is removed at the end.",
)
@click.option(
    "--open/--no-open", "open_browser", default=None, help="Open the page. By default on a desktop."
)
def demo(exit_after: bool, port: int, data_dir: Path | None, open_browser: bool | None) -> None:
    """Start a server and a worker, train the digits model on the worker, and show it in the browser.

    Stays up until Ctrl-C.
    """
    if importlib.util.find_spec("codefy_agent") is None:
        raise click.ClickException(
            "The demo needs the agent. Install it beside this: pip install codefy-agent"
        )
    try:
        ended = asyncio.run(
            _demo(exit_after=exit_after, port=port, data_dir=data_dir, open_browser=open_browser)
        )
    except ServerDidNotStart as error:
        raise click.ClickException(f"The server did not start:\n{error}") from error
    except (KeyboardInterrupt, WatchingStopped):
        click.echo("stopped")
        raise SystemExit(EXIT_INTERRUPTED) from None
    if ended.status != "succeeded":
        raise SystemExit(EXIT_FAILED)


async def _demo(
    *, exit_after: bool, port: int, data_dir: Path | None, open_browser: bool | None
) -> RunDetail:
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(ControlPlane(data_dir, port=port))
        click.echo(f"server     {server.url}")
        click.echo(
            f"data       {server.data_dir}"
            + ("" if data_dir else " (removed at the end; keep it with --data-dir)")
        )
        agent_dir = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="codefy-demo-")))
        await stack.enter_async_context(_worker(server, agent_dir))
        await _online(server)
        click.echo(f"worker     {WORKER} is connected")
        example = await server.client.example(EXAMPLE)
        submitted = await server.client.submit(
            bytes(example.graph), RunOptions(target=Target(worker=WORKER)), "demo training"
        )
        link = f"{server.url}/runs/{submitted.run_id}?token={server.token}"
        click.echo(f"page       {link}")
        if open_browser or (open_browser is None and on_a_desktop()):
            await asyncio.to_thread(open_in_browser, server.data_dir / OPEN_PAGE, link)
        ended = await watch_run(server.client, submitted.run_id, as_json=False)
        accuracy = ended.latest_metrics.get("test_accuracy")
        if accuracy is not None:
            click.echo(f"accuracy   {metric_text(accuracy)} on the test digits, trained on {ended.worker_id}")
        if not exit_after:
            kept = "" if data_dir else ", then everything is removed"
            click.echo(f"The page stays up until Ctrl-C{kept}:\n  {link}")
            await _until_interrupted()
        return ended


@contextlib.asynccontextmanager
async def _worker(server: ControlPlane, folder: Path):
    """An agent in a process of its own; stopped with the demo."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "codefy_agent",
        "start",
        "--control",
        server.url,
        "--token-file",
        str(server.token_file),
        "--name",
        WORKER,
        "--log-level",
        "warning",
        env={**os.environ, "CODEFY_AGENT_DATA_DIR": str(folder)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=None,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), 30)
        except TimeoutError:
            process.kill()
            await process.wait()


async def _online(server: ControlPlane, timeout_s: float = 60.0) -> None:
    async with asyncio.timeout(timeout_s):
        # The server is another process: its list is asked again, there is nothing to be woken by.
        while not any(  # noqa: ASYNC110
            w.worker_id == WORKER and w.state == "online" for w in await server.client.workers()
        ):
            await asyncio.sleep(0.1)


async def _until_interrupted() -> None:
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, done.set)
    try:
        await done.wait()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
