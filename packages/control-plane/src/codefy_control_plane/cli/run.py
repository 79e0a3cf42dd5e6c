"""``codefy run``: queue a graph and watch it."""

from __future__ import annotations

import asyncio
import shlex
import signal
from collections.abc import Callable
from pathlib import Path

import click
import msgspec
from click.core import ParameterSource

from codefy_control_plane.api.schemas import RunDetail
from codefy_control_plane.cli.connect import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    find_server,
    run_with_client,
    server_options,
)
from codefy_control_plane.cli.secrets import secret_option
from codefy_control_plane.cli.watch import Watcher, make_watcher
from codefy_control_plane.client import TERMINAL_STATUSES, Client
from codefy_protocol.names import RunOptions, Target


class WatchingStopped(Exception):
    """Ctrl-C: the run goes on, this terminal stops watching."""


@click.command()
@click.argument("graph", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--worker", metavar="NAME", help="Run on this worker, on any that fits (any), or in the server (local)."
)
@click.option("--device", metavar="DEVICE", help="cpu, cuda, cuda:1 or mps. By default what the graph says.")
@click.option("--devices", metavar="LIST", help="A set of devices of one kind, such as cuda:0,cuda:1.")
@click.option("--name", default="", help="A name for the run. By default the graph's.")
@click.option("--seed", type=int, help="Seed of every random generator.")
@click.option(
    "--priority", type=int, default=0, show_default=True, help="Higher starts sooner within its queue."
)
@secret_option
@click.option(
    "--record-outputs",
    is_flag=True,
    help="Keep what its nodes give for the inspector of the page; in the server only.",
)
@click.option(
    "--provenance", is_flag=True, help="Record where each result comes from: codefy runs show --provenance."
)
@click.option("--detach", is_flag=True, help="Queue it, print its id, and return.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@server_options
def run(
    graph: Path,
    worker: str | None,
    device: str | None,
    devices: str | None,
    name: str,
    seed: int | None,
    priority: int,
    secrets: dict[str, str],
    record_outputs: bool,
    provenance: bool,
    detach: bool,
    as_json: bool,
    server: str | None,
    token_file: Path | None,
    data_dir: Path | None,
) -> None:
    """Queue GRAPH (a graph file) and watch it until it ends.

    Ctrl-C stops watching only; the run goes on. Watch it again with: codefy runs watch ID. Stop it with:
    codefy runs cancel ID

    Exit code: 0 succeeded (or detached), 1 failed, cancelled, interrupted or not submitted, 2 bad command line,
    130 Ctrl-C.
    """
    address = find_server(server, token_file, data_dir)
    wanted = tuple(part.strip() for part in devices.split(",")) if devices else None
    target = Target(worker=worker, devices=wanted) if worker or wanted else None
    document = graph.read_bytes()
    options = RunOptions(
        device=device,
        target=target,
        seed=seed,
        priority=priority,
        provenance=provenance,
        record_outputs=record_outputs,
    )

    async def submit_and_watch(client: Client) -> RunDetail | None:
        submitted = await client.submit(document, options, name, secrets=secrets)
        if detach:
            click.echo(msgspec.json.encode(submitted).decode() if as_json else submitted.run_id)
            return None
        return await watch_run(client, submitted.run_id, as_json=as_json)

    exit_after(lambda: run_with_client(address, submit_and_watch))


def exit_after(work: Callable[[], RunDetail | None]) -> None:
    """Run ``work`` and leave with the exit code of the run it watched."""
    try:
        ended = work()
    except WatchingStopped as stopped:
        click.echo(str(stopped), err=True)
        raise SystemExit(EXIT_INTERRUPTED) from None
    if ended is not None and ended.status != "succeeded":
        raise SystemExit(EXIT_FAILED)


async def watch_run(client: Client, run_id: str, *, as_json: bool) -> RunDetail:
    """Show a run until it ended.

    Raises:
        WatchingStopped: Ctrl-C; nothing happened to the run.
    """
    watcher = make_watcher(as_json=as_json)
    watching = asyncio.ensure_future(_follow(client, run_id, watcher))
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, watching.cancel)
    try:
        ended = await watching
    except asyncio.CancelledError:
        watcher.close()
        where = repeated_options()
        raise WatchingStopped(
            f"Stopped watching; run {run_id} goes on.\n"
            f"  watch it again:  codefy runs watch {run_id}{where}\n"
            f"  stop it:         codefy runs cancel {run_id}{where}"
        ) from None
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        watcher.close()
    watcher.result(ended)
    return ended


def repeated_options() -> str:
    """The options that found the server, as they were typed, so that a command told here can be copied."""
    context = click.get_current_context(silent=True)
    if context is None:
        return ""
    given = [
        f" --{name.replace('_', '-')} {shlex.quote(str(value))}"
        for name, value in context.params.items()
        if name in ("server", "token_file", "data_dir")
        and value is not None
        and context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    return "".join(given)


async def _follow(client: Client, run_id: str, watcher: Watcher) -> RunDetail:
    first = await client.run(run_id)
    watcher.queued(first)
    async for message in client.watch(run_id):
        watcher.show(message)
    ended = await client.run(run_id)
    if ended.status not in TERMINAL_STATUSES:
        raise RuntimeError(f"run {run_id} is said to have ended and is {ended.status}")
    return ended
