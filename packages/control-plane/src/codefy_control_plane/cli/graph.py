"""``codefy graph``: check a graph file, or execute it right here without a server."""

from __future__ import annotations

import os
import queue
import signal
import threading
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click
import msgspec

from codefy_control_plane.api.schemas import RunDetail, StoredEvent, StoredMetric
from codefy_control_plane.cli.connect import EXIT_FAILED, EXIT_INTERRUPTED
from codefy_control_plane.cli.secrets import secret_option
from codefy_control_plane.cli.watch import Watcher, make_watcher
from codefy_control_plane.client import WatchedEvents, WatchedMetrics
from codefy_control_plane.settings import default_data_dir
from codefy_engine.graph.document import GraphDocument, GraphInvalid, graph_hash, parse_graph
from codefy_engine.graph.problems import GraphProblem
from codefy_engine.graph.validation import validate_graph
from codefy_engine.nodes.registry import Registry, default_registry, load_registry
from codefy_protocol import reasons
from codefy_protocol.bodies import MetricsBody
from codefy_protocol.names import BadName, RunOptions, parse_device
from codefy_protocol.reasons import reason

if TYPE_CHECKING:
    from codefy_engine.execution.executor import ExecutionOutcome

PAYLOAD_CAP_BYTES = 131_072


@click.group()
def graph() -> None:
    """Check graph files, and execute them without a server."""


def load(path: Path, registry: Registry | None = None, until_node: str | None = None) -> GraphDocument:
    """The document in a file, its problems told one per line and exit code 1."""
    try:
        document = parse_graph(path.read_bytes())
    except GraphInvalid as error:
        raise refuse(path, error.problems) from error
    problems = validate_graph(document, registry or default_registry(), until_node=until_node)
    if problems:
        raise refuse(path, problems)
    return document


def refuse(path: Path, problems: list[GraphProblem]) -> click.ClickException:
    count = f"{len(problems)} problems" if len(problems) != 1 else "1 problem"
    lines = [f"{path} has {count}:"]
    lines += [f"  {problem.node_id or 'graph'}: {problem.message}" for problem in problems]
    return click.ClickException("\n".join(lines))


@graph.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print each problem as a JSON object on a line.")
def validate(file: Path, as_json: bool) -> None:
    """Check FILE and name every problem: the node, the port or parameter, and the reason.

    Exit code: 0 no problem, 1 at least one.
    """
    if not as_json:
        document = load(file)
        click.echo(f"{file} is fine: {len(document.nodes)} nodes, {len(document.edges)} wires.")
        return
    try:
        problems = validate_graph(parse_graph(file.read_bytes()), default_registry())
    except GraphInvalid as error:
        problems = error.problems
    for problem in problems:
        click.echo(msgspec.json.encode(problem).decode())
    if problems:
        raise SystemExit(EXIT_FAILED)


@graph.command("exec")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--device", metavar="DEVICE", help="cpu, cuda, cuda:1 or mps. By default what the graph says.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Seed of every random generator.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for checkpoints and pictures. By default codefy-out/NAME.",
)
@click.option(
    "--files",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Folder that file parameters are relative to. By default this one.",
)
@click.option("--until", metavar="NODE", help="Run only this node and what it needs.")
@click.option(
    "--nodes",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with node types as single files. By default that of the data folder, if there is one.",
)
@secret_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def execute(
    file: Path,
    device: str | None,
    seed: int | None,
    out: Path | None,
    files: Path,
    until: str | None,
    nodes: Path | None,
    secrets: dict[str, str],
    as_json: bool,
) -> None:
    """Execute FILE in this process, without a server. Ctrl-C stops it between two batches.

    Exit code: 0 succeeded, 1 failed or invalid, 2 bad command line, 130 Ctrl-C.
    """
    registry = _registry(nodes)
    document = load(file, registry, until)
    try:
        wanted = str(parse_device(device or document.settings.device or "cpu"))
    except BadName as error:
        raise click.BadParameter(str(error), param_hint="--device") from error
    if device is not None:
        _check_device(wanted)
    folder = out or Path("codefy-out") / (document.name or file.stem)
    folder.mkdir(parents=True, exist_ok=True)
    watcher = make_watcher(as_json=as_json)
    started = time.time()
    try:
        options = RunOptions(device=device, seed=seed, until_node=until)
        outcome = _execute(document, options, wanted, folder, files, watcher, registry, secrets)
    finally:
        watcher.close()
    watcher.result(
        RunDetail(
            run_id="here",
            number=0,
            name=document.name,
            graph_name=document.name,
            lane="interactive",
            status=outcome[0].status,
            attempt=1,
            queue_key=wanted,
            device=wanted,
            created_at=started,
            started_at=started,
            ended_at=time.time(),
            error=outcome[0].error,
            latest_metrics=outcome[1],
            graph=msgspec.Raw(b"null"),
            options=RunOptions(),
            graph_hash=graph_hash(document),
        )
    )
    if outcome[0].status == "succeeded" and not as_json:
        click.echo(f"files are in {folder}")
    if outcome[0].status == "cancelled":
        raise SystemExit(EXIT_INTERRUPTED)
    if outcome[0].status != "succeeded":
        raise SystemExit(EXIT_FAILED)


def _check_device(wanted: str) -> None:
    """Refuse a device that was asked for in so many words and is not here; one of a graph's settings may fall back."""
    if wanted == "cpu":
        return
    from codefy_engine.execution.devices import available_devices, resolve_device

    _, fallback = resolve_device(wanted)
    if fallback is not None:
        told = reason(
            reasons.UNKNOWN_DEVICE,
            where="This machine",
            device=wanted,
            offered=", ".join(available_devices()),
        )
        raise click.ClickException(told.message)


def _registry(nodes: Path | None) -> Registry:
    """The installed node types and those of a folder of single files; what cannot be loaded is told."""
    folder = nodes or Path(os.environ.get("CODEFY_DATA_DIR") or default_data_dir()) / "nodes"
    registry = load_registry(folder=folder) if folder.is_dir() else default_registry()
    for failure in registry.failures:
        click.echo(f"warning: {failure.source} could not be loaded: {failure.error}", err=True)
    return registry


@graph.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write it. By default it is printed.",
)
def script(file: Path, output: Path | None) -> None:
    """Write FILE as a Python script that runs with codefy-engine alone and gives the same metrics.

    Exit code: 0 written, 1 the graph has problems.
    """
    from codefy_engine.graph.script import graph_script

    text = graph_script(load(file), default_registry())
    if output is None:
        click.echo(text, nl=False)
        return
    output.write_text(text, "utf-8")
    click.echo(f"{output} is written; run it with: python {output}")


def _execute(
    document: GraphDocument,
    options: RunOptions,
    device: str,
    folder: Path,
    files: Path,
    watcher: Watcher,
    registry: Registry,
    secrets: dict[str, str],
) -> tuple[ExecutionOutcome, dict[str, float | str]]:
    # Imported here: it needs no torch, but `graph validate` needs none of it.
    from codefy_control_plane.runs.terminal import run_end, start_event
    from codefy_engine.execution.executor import ExecutionRequest, execute_graph
    from codefy_engine.execution.sinks import RunSinks

    messages: queue.SimpleQueue[WatchedEvents | WatchedMetrics | None] = queue.SimpleQueue()
    latest: dict[str, float | str] = {}

    def event(kind: str, ts: float, body: bytes) -> None:
        messages.put(
            WatchedEvents(
                run_id="here", events=[StoredEvent(cursor=0, type=kind, ts=ts, payload=msgspec.Raw(body))]
            )
        )

    def metrics(ts: float, body: bytes) -> None:
        points = msgspec.json.decode(body, type=MetricsBody).points
        latest.update((point.name, point.value) for point in points)
        stored = [
            StoredMetric(
                name=p.name,
                value=p.value,
                step=p.step,
                epoch=p.epoch,
                scope=p.scope,
                node_id=p.node_id,
                ts=ts,
            )
            for p in points
        ]
        messages.put(WatchedMetrics(run_id="here", metrics_cursor=0, points=stored))

    stop = threading.Event()
    request = ExecutionRequest(
        run_id="here",
        attempt=1,
        graph=document,
        options=options,
        device=device,
        run_dir=folder.resolve(),
        files_dir=files.resolve(),
        payload_cap=PAYLOAD_CAP_BYTES,
        secrets=secrets,
        registry=registry,
        sinks=RunSinks(
            emit=event,
            record_metrics=metrics,
            record_artifact=lambda ts, body: None,
            warn=lambda ts, body: event("run_warning", ts, body),
        ),
        stop=stop,
    )
    outcomes: list[ExecutionOutcome] = []

    def work() -> None:
        # The first and the last event, as a server tells them (V-5): who reads both need not tell them apart.
        started = time.time()
        event(
            *start_event(
                started, name=document.name, device=device, document=document, worker_id=None, attempt=1
            )
        )
        try:
            outcome = execute_graph(request)
            ended = time.time()
            event(*run_end(outcome.status, ended, duration_s=ended - started, error=outcome.error).event)
            outcomes.append(outcome)
        finally:
            messages.put(None)

    # The graph runs in a thread of its own so that the main one can take Ctrl-C and draw.
    def stop_it(number: int, frame: FrameType | None) -> None:
        stop.set()

    previous = signal.signal(signal.SIGINT, stop_it)
    worker = threading.Thread(target=work, name="graph")
    worker.start()
    try:
        while (message := messages.get()) is not None:
            watcher.show(message)
    finally:
        worker.join()
        signal.signal(signal.SIGINT, previous)
    return outcomes[0], latest
