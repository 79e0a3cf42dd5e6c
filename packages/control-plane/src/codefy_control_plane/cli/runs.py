"""``codefy runs``: look at runs, and stop them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import click
import msgspec
from rich.console import Console
from rich.table import Table

from codefy_control_plane.api.schemas import ProvenanceList, RunDetail, RunSummary, StoredArtifact, Waiting
from codefy_control_plane.cli.connect import find_server, run_with_client, server_options
from codefy_control_plane.cli.run import exit_after, watch_run
from codefy_control_plane.cli.watch import duration, metric_text
from codefy_control_plane.client import TERMINAL_STATUSES, Client


@click.group()
def runs() -> None:
    """Look at runs, and stop them.

    RUN is a run's id, the beginning of one, or its number.
    """


def as_json_option(command: Any) -> Any:
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")(command)


def echo_json(values: Sequence[object]) -> None:
    for value in values:
        click.echo(msgspec.json.encode(value).decode())


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table without frames; full width when the output is no terminal, so that nothing is cut."""
    table = Table(*columns, box=None, header_style="bold", pad_edge=False)
    for cells in rows:
        table.add_row(*cells)
    Console(width=None if sys.stdout.isatty() else 240, highlight=False).print(table)


async def resolve(client: Client, text: str) -> str:
    """The run id for an id, the beginning of one, or a number."""
    text = text.strip()
    if not text.lstrip("#"):
        raise click.ClickException(
            "No run is named. Give its number, its id or the beginning of its id; codefy runs list shows them."
        )
    if len(text) >= 16 and not text.isdecimal():
        return text
    page = await client.runs(limit=200)
    by_number = [run.run_id for run in page.runs if str(run.number) == text.lstrip("#")]
    if by_number:
        return by_number[0]
    found = [run.run_id for run in page.runs if run.run_id.startswith(text)]
    if len(found) > 1:
        raise click.ClickException(
            f"{text} fits {len(found)} runs: {', '.join(found[:5])}. Give more of the id."
        )
    return found[0] if found else text


def when(seconds: float | None) -> str:
    """Local date and time."""
    return (
        ""
        if seconds is None
        else datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    )


def where(run: RunSummary) -> str:
    return f"{run.worker_id or (run.queue_key.partition('/')[0] if '/' in run.queue_key else 'server')} {run.device}"


def took(run: RunSummary) -> str:
    return duration(run.ended_at - run.started_at) if run.ended_at and run.started_at else ""


def result_text(run: RunSummary) -> str:
    if run.error is not None:
        return run.error.message
    if run.status == "queued":
        return run.queue_reason or (f"position {run.queue_position}" if run.queue_position else "")
    names = [
        name
        for name in ("test_accuracy", "val_accuracy", "accuracy", "val_loss", "loss")
        if name in run.latest_metrics
    ]
    return f"{names[0]} {metric_text(run.latest_metrics[names[0]])}" if names else ""


@runs.command("list")
@click.option("--status", default="", help="Only runs of this status, such as running or failed.")
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True)
@as_json_option
@server_options
def list_(
    status: str, limit: int, as_json: bool, server: str | None, token_file: Path | None, data_dir: Path | None
) -> None:
    """The latest runs, newest first."""
    page = run_with_client(
        find_server(server, token_file, data_dir), lambda client: client.runs(limit=limit, status=status)
    )
    if as_json:
        echo_json(page.runs)
        return
    if not page.runs:
        click.echo("No runs yet. Queue one with: codefy run GRAPH.json")
        return
    rows = [
        (
            str(run.number),
            run.run_id,
            run.status,
            run.name or run.graph_name,
            where(run),
            when(run.created_at),
            took(run),
            result_text(run),
        )
        for run in page.runs
    ]
    print_table(("#", "id", "status", "name", "where", "submitted", "took", "result"), rows)
    if page.next_cursor is not None:
        click.echo(f"{page.total - len(page.runs)} more; show them with --limit")


@runs.command()
@click.argument("run")
@click.option("--provenance", is_flag=True, help="Also what computed it, and where each result comes from.")
@as_json_option
@server_options
def show(
    run: str,
    provenance: bool,
    as_json: bool,
    server: str | None,
    token_file: Path | None,
    data_dir: Path | None,
) -> None:
    """Everything about one run."""

    async def fetch(client: Client) -> tuple[RunDetail, list[StoredArtifact], ProvenanceList | None]:
        run_id = await resolve(client, run)
        origin = await client.provenance(run_id) if provenance else None
        return await client.run(run_id), await client.artifacts(run_id), origin

    detail, artifacts, origin = run_with_client(find_server(server, token_file, data_dir), fetch)
    if as_json:
        echo_json([detail] if origin is None else [detail, origin])
        return
    facts = {
        "run": f"{detail.number} ({detail.run_id})",
        "name": detail.name or detail.graph_name,
        "status": detail.status
        + (", cancel requested" if detail.cancel_requested and detail.ended_at is None else ""),
        "where": where(detail),
        "queue": f"{detail.queue_key}, position {detail.queue_position}"
        if detail.queue_position
        else detail.queue_key,
        "waits": detail.queue_reason or "",
        "submitted": when(detail.created_at),
        "started": when(detail.started_at),
        "ended": when(detail.ended_at),
        "took": took(detail),
        "events": str(detail.event_count),
        "error": detail.error.message if detail.error else "",
        "metrics": ", ".join(f"{name} {metric_text(value)}" for name, value in detail.latest_metrics.items()),
        "artifacts": ", ".join(artifact.path for artifact in artifacts),
    }
    print_table(("", ""), [(name, value) for name, value in facts.items() if value])
    if detail.error is not None and detail.error.traceback:
        click.echo(detail.error.traceback)
    if detail.error is not None and detail.error.output_tail:
        click.echo("last output:\n" + detail.error.output_tail)
    if origin is not None:
        _show_provenance(origin)


def _show_provenance(origin: ProvenanceList) -> None:
    click.echo()
    if origin.fingerprint_digest is None:
        click.echo("The run has not told what computes it.")
    else:
        found: dict[str, Any] = msgspec.json.decode(origin.fingerprint)
        rows = [("fingerprint", origin.fingerprint_digest)]
        for name, value in found.items():
            if isinstance(value, dict):
                items = cast("dict[str, Any]", value).items()
                value = ", ".join(f"{key} {item}" for key, item in items)
            elif isinstance(value, list):
                value = ", ".join(str(item) for item in cast("list[Any]", value))
            rows.append((name, str(value)))
        print_table(("", ""), [row for row in rows if row[1]])
    click.echo()
    if not origin.records:
        click.echo("No records of nodes: queue it with --provenance to have them.")
        return
    print_table(
        ("node", "type", "status", "took", "seed", "parameters", "inputs"),
        [
            (
                record.node_id,
                f"{record.type} v{record.version}",
                record.status + (", volatile" if record.volatile else ""),
                duration(record.duration_s),
                "" if record.seed is None else str(record.seed),
                record.params_hash[:12],
                ", ".join(
                    f"{port} of {source} {record.input_hashes.get(port, '')[:12]}".rstrip()
                    for port, source in record.inputs.items()
                ),
            )
            for record in origin.records
        ],
    )


@runs.command()
@click.argument("run")
@as_json_option
@server_options
def watch(
    run: str, as_json: bool, server: str | None, token_file: Path | None, data_dir: Path | None
) -> None:
    """Show a run from its start until it ends, as codefy run does. Ctrl-C stops watching only."""

    async def follow(client: Client) -> RunDetail:
        return await watch_run(client, await resolve(client, run), as_json=as_json)

    exit_after(lambda: run_with_client(find_server(server, token_file, data_dir), follow))


@runs.command()
@click.argument("run")
@server_options
def cancel(run: str, server: str | None, token_file: Path | None, data_dir: Path | None) -> None:
    """Stop a run: at once when it waits, between two batches when it trains."""

    async def stop(client: Client) -> str:
        answer = await client.cancel(await resolve(client, run))
        return f"run {answer.run_id}: {'stopping' if answer.status in ('running', 'disconnected') else answer.status}"

    click.echo(run_with_client(find_server(server, token_file, data_dir), stop))


@runs.command()
@click.argument("run")
@as_json_option
@server_options
def why(run: str, as_json: bool, server: str | None, token_file: Path | None, data_dir: Path | None) -> None:
    """Say what a waiting run waits for, when it is expected to start, and where else it could go."""

    async def ask(client: Client) -> Waiting:
        return await client.waiting(await resolve(client, run))

    told = run_with_client(find_server(server, token_file, data_dir), ask)
    if as_json:
        echo_json([told])
        return
    click.echo(told.sentence)
    for place in told.elsewhere:
        reason = place.reason.message if place.reason is not None else "its devices are busy"
        click.echo(
            f"  {place.worker_id}: " + ("could start now" if place.verdict == "now" else f"later: {reason}")
        )


@runs.command()
@click.argument("run")
@click.argument("number", type=click.IntRange(-100, 100))
@server_options
def priority(
    run: str, number: int, server: str | None, token_file: Path | None, data_dir: Path | None
) -> None:
    """Move a waiting run within its queue. A point counts as ten minutes of waiting; put -- before a negative one."""

    async def move(client: Client) -> RunDetail:
        return await client.set_priority(await resolve(client, run), number)

    moved = run_with_client(find_server(server, token_file, data_dir), move)
    click.echo(f"run {moved.run_id}: priority {number}, place {moved.queue_position} in its queue")


@runs.command()
@click.argument("run")
@click.option("--follow", "-f", is_flag=True, help="Go on until the run ends. Ctrl-C stops following only.")
@server_options
def log(run: str, follow: bool, server: str | None, token_file: Path | None, data_dir: Path | None) -> None:
    """The run's console output."""

    async def copy(client: Client) -> None:
        run_id = await resolve(client, run)
        offset = 0
        while True:
            ended = (await client.run(run_id)).status in TERMINAL_STATUSES
            text = await client.log(run_id, offset)
            offset += len(text)
            sys.stdout.buffer.write(text)
            sys.stdout.buffer.flush()
            if ended or not follow:
                if not offset:
                    click.echo("The run printed nothing" + ("." if ended else " yet."), err=True)
                return
            if not text:
                await asyncio.sleep(0.5)

    try:
        run_with_client(find_server(server, token_file, data_dir), copy)
    except KeyboardInterrupt:
        raise SystemExit(130) from None


@runs.command()
@click.argument("run")
@click.option("--cursor", type=int, default=0, help="Only events after this one.")
@as_json_option
@server_options
def events(
    run: str, cursor: int, as_json: bool, server: str | None, token_file: Path | None, data_dir: Path | None
) -> None:
    """The run's event log."""

    async def fetch(client: Client) -> list[Any]:
        return list(await client.events(await resolve(client, run), cursor))

    stored = run_with_client(find_server(server, token_file, data_dir), fetch)
    if as_json:
        echo_json(stored)
        return
    for event in stored:
        click.echo(f"{event.cursor:>6}  {when(event.ts)}  {event.type:<18}  {bytes(event.payload).decode()}")


@runs.command()
@click.argument("run")
@click.option("--name", default="", help="Only this metric.")
@as_json_option
@server_options
def metrics(
    run: str, name: str, as_json: bool, server: str | None, token_file: Path | None, data_dir: Path | None
) -> None:
    """The run's metric points."""

    async def fetch(client: Client) -> list[Any]:
        return list(await client.metrics(await resolve(client, run), name))

    points = run_with_client(find_server(server, token_file, data_dir), fetch)
    if as_json:
        echo_json(points)
        return
    rows = [
        (
            point.name,
            str(point.step),
            "" if point.epoch is None else f"{point.epoch:g}",
            metric_text(point.value),
            point.node_id,
        )
        for point in points
    ]
    print_table(("metric", "step", "epoch", "value", "node"), rows)


@runs.command()
@click.argument("run")
@click.option(
    "--download",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Copy the files to DIR.",
)
@as_json_option
@server_options
def artifacts(
    run: str,
    download: Path | None,
    as_json: bool,
    server: str | None,
    token_file: Path | None,
    data_dir: Path | None,
) -> None:
    """What the run wrote: checkpoints, pictures, tables."""

    async def fetch(client: Client) -> list[StoredArtifact]:
        run_id = await resolve(client, run)
        found = await client.artifacts(run_id)
        for artifact in found if download else ():
            assert download is not None
            await _download(client, run_id, artifact, download)
        return found

    found = run_with_client(find_server(server, token_file, data_dir), fetch)
    if as_json:
        echo_json(found)
        return
    rows = [
        (
            str(artifact.artifact_id),
            artifact.kind,
            artifact.path,
            "" if artifact.size is None else f"{artifact.size:,} B",
            artifact.node_id,
        )
        for artifact in found
    ]
    print_table(("id", "kind", "path", "size", "node"), rows)


def inside(folder: Path, path: str) -> Path:
    """Where an artifact goes below ``folder``.

    Raises:
        click.ClickException: its path leads out of it.
    """
    target = (folder / path).resolve()
    if not target.is_relative_to(folder.resolve()):
        raise click.ClickException(f"The artifact {path} would lie outside {folder}; it is not written.")
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def write_whole(target: Path, content: bytes) -> None:
    """Write a file so that a cut leaves no half under its name."""
    partial = target.with_name(target.name + ".part")
    partial.write_bytes(content)
    partial.replace(target)


async def _download(client: Client, run_id: str, artifact: StoredArtifact, folder: Path) -> None:
    if not artifact.available:
        click.echo(f"{artifact.path} is not on the server; it stays on {artifact.backend}", err=True)
        return
    target = inside(folder, artifact.path)
    content = await client.artifact_content(run_id, artifact.artifact_id)
    await asyncio.to_thread(write_whole, target, content)
    click.echo(f"wrote {target}", err=True)
