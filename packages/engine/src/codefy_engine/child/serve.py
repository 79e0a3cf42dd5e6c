"""The run child's work: read the assignment, execute it, report how it ended."""

from __future__ import annotations

import os
import platform
import sys
import threading
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from codefy_engine import __version__
from codefy_engine.child.process import peak_resident_bytes
from codefy_engine.child.writer import RecordWriter, write_all
from codefy_engine.execution.sinks import RunSinks
from codefy_protocol import reasons
from codefy_protocol.bodies import PeakMemory, RunError, RunFinishedBody, RunStartedBody
from codefy_protocol.envelope import encode_body
from codefy_protocol.names import RunOptions
from codefy_protocol.pipe import (
    ChildRecord,
    ChunkReader,
    MalformedPipe,
    StartRun,
    StopRun,
    WarmUp,
    decode_agent_messages,
    encode_chunk,
)

if TYPE_CHECKING:
    from codefy_engine.nodes.registry import Registry

LEAVE_AFTER_EOF_S = 0.8
"""What a run gets to stop in when its agent died."""

_READ_BYTES = 64 * 1024


class Assignment:
    """What the agent sent, and the stop it may send later. Read by one thread."""

    def __init__(self, read_fd: int) -> None:
        self._fd = read_fd
        self._start: StartRun | None = None
        self._warm_up = False
        self._heard = threading.Event()
        """Something came, or the pipe ended."""
        self._arrived = threading.Event()
        self.stop = threading.Event()
        self.finished = threading.Event()
        """Set when the run has ended and the rest of the pipe does not matter."""
        self._problem = ""
        threading.Thread(target=self._read_loop, name="codefy-assignment", daemon=True).start()

    def wants_warmth(self) -> bool:
        """Wait for the first message; whether it asks for a standby child."""
        self._heard.wait()
        return self._warm_up

    def wait(self) -> StartRun | None:
        """The run to execute, or ``None`` when the pipe ended or said something else."""
        self._arrived.wait()
        return self._start

    @property
    def problem(self) -> str:
        """Why there is no run."""
        return self._problem

    def _read_loop(self) -> None:
        chunks = ChunkReader()
        try:
            while data := os.read(self._fd, _READ_BYTES):
                for chunk in chunks.feed(data):
                    for message in decode_agent_messages(chunk):
                        if isinstance(message, StopRun):
                            self.stop.set()
                        elif isinstance(message, WarmUp):
                            self._warm_up = True
                            self._heard.set()
                        elif self._start is None:
                            self._start = message
                            self._arrived.set()
                            self._heard.set()
            self._problem = "the agent closed the pipe before it sent a run"
        except (OSError, MalformedPipe) as error:
            self._problem = str(error)
        self.stop.set()
        self._arrived.set()
        self._heard.set()
        if self._start is None and self._warm_up:
            # A standby child that is not wanted any more: nothing of it is worth an orderly end.
            os._exit(0)
        if self._start is not None and not self.finished.wait(LEAVE_AFTER_EOF_S):
            # Nobody is left to report to, and the device is to be free.
            os._exit(1)


def serve(read_fd: int, write_fd: int) -> int:
    """Execute the run that comes over ``read_fd``; returns the exit status."""
    assignment = Assignment(read_fd)
    standby = assignment.wants_warmth()
    if standby:
        from codefy_engine.child.warm import warm_up

        try:
            write_all(write_fd, encode_chunk([warm_up()]))
        except OSError:
            return 1
    start = assignment.wait()
    if start is None:
        print(f"codefy_engine.child: {assignment.problem}", file=sys.stderr)
        return 1
    if standby:
        os.chdir(start.run_dir)  # where a child that is started for its run begins
    writer = RecordWriter(write_fd, on_lost=assignment.stop.set)
    finished = _run(start, assignment.stop, writer)
    writer.finish(ChildRecord(frame="run_finished", ts=time.time(), body=finished))
    assignment.finished.set()
    return 0


def _run(start: StartRun, stop: threading.Event, writer: RecordWriter) -> bytes:
    """Execute; returns the body of ``run_finished``."""
    try:
        outcome = _execute(start, stop, writer)
        return encode_body(outcome)
    except BaseException as error:  # whatever it is, the agent is to learn it
        from codefy_engine.execution.errors import engine_error
        from codefy_engine.execution.secrets import Redactor

        redactor = Redactor(start.secrets)
        told = redactor.error(engine_error(error, redactor.text))
        return encode_body(RunFinishedBody(status="failed", error=told))


def _execute(start: StartRun, stop: threading.Event, writer: RecordWriter) -> RunFinishedBody:
    writer.put(ChildRecord(frame="run_started", ts=time.time(), body=encode_body(started_body(start))))

    from codefy_engine.execution.errors import invalid_graph_error
    from codefy_engine.execution.request import FAILED, ExecutionRequest
    from codefy_engine.execution.run import execute_graph
    from codefy_engine.graph.document import GraphInvalid, parse_graph

    registry = run_registry(start)
    if isinstance(registry, RunError):
        return RunFinishedBody(status=FAILED, error=registry)
    try:
        graph = parse_graph(start.graph)
    except GraphInvalid as error:
        return RunFinishedBody(status=FAILED, error=invalid_graph_error(error.problems))
    outcome = execute_graph(
        ExecutionRequest(
            run_id=start.run_id,
            attempt=start.attempt,
            graph=graph,
            options=msgspec.json.decode(start.options or b"{}", type=RunOptions),
            device=start.device,
            run_dir=Path(start.run_dir),
            files_dir=Path(start.files_dir),
            payload_cap=start.payload_cap,
            secrets=start.secrets,
            sinks=pipe_sinks(writer),
            stop=stop,
            registry=registry,
        )
    )
    return RunFinishedBody(
        status=outcome.status, error=outcome.error, peak_memory=own_peak_memory(outcome.peak_memory)
    )


def run_registry(start: StartRun) -> Registry | RunError:
    """The node types of this run: those installed, and those of the files it brought along; or why it cannot have them.

    What is installed stays as it is, so that nothing of a run is left for another one.
    """
    from codefy_engine.nodes.registry import default_registry
    from codefy_engine.nodes.travelling import NodeFileFailed, missing_types, with_node_files

    registry = default_registry()
    missing = missing_types(start.node_packages, registry)
    if missing:
        types, packages = ", ".join(sorted(missing)), " --with ".join(sorted(set(missing.values())))
        return _error(reasons.reason(reasons.NODE_PACKAGE_MISSING, types=types, packages=packages))
    if not start.node_files:
        return registry
    try:
        return with_node_files(registry, start.node_files)
    except NodeFileFailed as error:
        return _error(reasons.reason(reasons.NODE_FILE_FAILED, file=error.name, detail=str(error)))


def _error(why: reasons.Reason) -> RunError:
    return RunError(code=why.code, message=why.message, params=why.params)


def pipe_sinks(writer: RecordWriter) -> RunSinks:
    """Sinks that put records into the pipe."""

    def emit(kind: str, ts: float, body: bytes) -> None:
        writer.put(ChildRecord(frame="event", ts=ts, kind=kind, body=body))

    def record_metrics(ts: float, body: bytes) -> None:
        writer.put(ChildRecord(frame="metrics", ts=ts, body=body))

    def record_artifact(ts: float, body: bytes) -> None:
        writer.put(ChildRecord(frame="artifact", ts=ts, body=body))

    def warn(ts: float, body: bytes) -> None:
        writer.put(ChildRecord(frame="warning", ts=ts, body=body))

    def facts(ts: float, body: bytes) -> None:
        writer.put(ChildRecord(frame="run_facts", ts=ts, body=body))

    return RunSinks(
        emit=emit, record_metrics=record_metrics, record_artifact=record_artifact, warn=warn, facts=facts
    )


def started_body(start: StartRun) -> RunStartedBody:
    """What the child is and what it sees, without importing torch."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    cards = [device.name for device in start.devices if device.name.startswith("cuda:")]
    return RunStartedBody(
        pid=os.getpid(),
        engine_version=__version__,
        python=platform.python_version(),
        torch=_torch_version(),
        device=start.device,
        visible_devices=[item for item in visible.split(",") if item],
        device_aliases={f"cuda:{index}": name for index, name in enumerate(cards)},
    )


def _torch_version() -> str:
    try:
        return version("torch")
    except PackageNotFoundError:
        return ""


def own_peak_memory(counted: PeakMemory | None) -> PeakMemory | None:
    """Peak memory of this process, which had the one run: exact where torch counted it (P-6)."""
    if counted is not None:
        return PeakMemory(devices=counted.devices, exact=True)
    resident = peak_resident_bytes()
    return None if resident is None else PeakMemory(devices={"cpu": resident})
