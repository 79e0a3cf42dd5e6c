"""Executing a graph right here, for scripts and tests: no server, progress on the console."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from codefy_engine.execution import events
from codefy_engine.execution.request import SUCCEEDED, ExecutionRequest
from codefy_engine.execution.run import execute_graph
from codefy_engine.execution.sinks import RunSinks
from codefy_engine.graph.document import GraphDocument
from codefy_engine.graph.needs import graph_needs
from codefy_engine.nodes.registry import Registry, default_registry
from codefy_protocol.bodies import MetricPoint, MetricsBody, RunError
from codefy_protocol.names import BadName, RunOptions, parse_device


@dataclass
class LocalResult:
    """What a run here gave."""

    status: str
    error: RunError | None
    metrics: list[MetricPoint] = field(default_factory=list[MetricPoint])
    """All points, in the order they were made."""
    artifacts: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @property
    def latest(self) -> dict[str, float | str]:
        """The last value of each metric."""
        return {point.name: point.value for point in self.metrics}


def run_here(
    document: GraphDocument,
    out: Path,
    *,
    files: Path | None = None,
    options: RunOptions | None = None,
    registry: Registry | None = None,
    secrets: dict[str, str] | None = None,
    stop: threading.Event | None = None,
    verbose: bool = False,
) -> LocalResult:
    """Execute a document in this thread; checkpoints and pictures go below ``out``.

    Raises:
        codefy_protocol.names.BadName: the device is none.
    """
    result = LocalResult(status="", error=None)
    lock = threading.Lock()
    options = options or RunOptions()
    device = parse_device(options.device or document.settings.device or "cpu")

    def event(kind: str, ts: float, body: bytes) -> None:
        if verbose and kind == events.NODE_STATUS:
            said = msgspec.json.decode(body)
            if said["status"] != events.RUNNING:
                print(f"{said['node_id']}: {said['status']}", file=sys.stderr, flush=True)

    def metrics(ts: float, body: bytes) -> None:
        points = msgspec.json.decode(body, type=MetricsBody).points
        with lock:
            result.metrics += points
        if verbose:
            epoch = [point for point in points if point.scope == "epoch"]
            if epoch:
                shown = ", ".join(f"{point.name} {_shown(point.value)}" for point in epoch)
                print(f"epoch {epoch[0].epoch:g}: {shown}", file=sys.stderr, flush=True)

    def artifact(ts: float, body: bytes) -> None:
        with lock:
            result.artifacts.append(msgspec.json.decode(body))

    def warn(ts: float, body: bytes) -> None:
        if verbose:
            print(f"warning: {msgspec.json.decode(body)['message']}", file=sys.stderr, flush=True)

    outcome = execute_graph(
        ExecutionRequest(
            run_id="here",
            graph=document,
            options=options,
            device=str(device),
            run_dir=out.resolve(),
            files_dir=(files or Path()).resolve(),
            secrets=secrets or {},
            sinks=RunSinks(emit=event, record_metrics=metrics, record_artifact=artifact, warn=warn),
            registry=registry,
            stop=stop or threading.Event(),
        )
    )
    result.status, result.error = outcome.status, outcome.error
    return result


def run_script(document: GraphDocument, file: str, arguments: list[str] | None = None) -> int:
    """What an exported script does: read its command line, run, print the last metrics. Returns the exit status.

    0 succeeded, 1 failed, 2 bad command line, 130 Ctrl-C.
    """
    path = Path(file)
    parser = argparse.ArgumentParser(prog=path.name, description=document.description or document.name)
    parser.add_argument("--device", help="cpu, cuda, cuda:1 or mps; by default what the graph says")
    parser.add_argument("--seed", type=int, help="seed of every random generator")
    parser.add_argument("--out", type=Path, help="folder for checkpoints and pictures")
    parser.add_argument(
        "--files", type=Path, default=Path(), help="folder that file parameters are relative to"
    )
    parser.add_argument("--until", metavar="NODE", help="run only this node and what it needs")
    parser.add_argument("--json", action="store_true", help="print the result as one line of JSON")
    chosen = parser.parse_args(arguments)
    secrets = {
        use.name: os.environ[use.name]
        for use in graph_needs(document, default_registry()).secrets
        if use.name in os.environ
    }
    stop = threading.Event()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, lambda number, frame: stop.set())
    try:
        result = run_here(
            document,
            chosen.out or Path(f"{path.stem}-out"),
            files=chosen.files,
            options=RunOptions(device=chosen.device, seed=chosen.seed, until_node=chosen.until),
            secrets=secrets,
            stop=stop,
            verbose=not chosen.json,
        )
    except BadName as error:
        parser.error(str(error))
    if chosen.json:
        told = {"status": result.status, "error": result.error, "metrics": result.latest}
        print(msgspec.json.encode(told).decode())
    else:
        for name, value in result.latest.items():
            print(f"{name}: {_shown(value)}")
    if result.error is not None and not chosen.json:
        print(result.error.traceback or result.error.message, file=sys.stderr)
        for problem in result.error.problems or []:
            print(f"  {problem['node_id'] or 'graph'}: {problem['message']}", file=sys.stderr)
    if result.status == SUCCEEDED:
        return 0
    return 130 if stop.is_set() else 1


def _shown(value: float | str) -> str:
    return f"{value:.6g}" if isinstance(value, float | int) else value
