"""Checking a submission, all of it before a row is written (S-6, S-8)."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Mapping
from secrets import randbits

import msgspec

from codefy_control_plane.runs.errors import Refused
from codefy_control_plane.runs.secrets import NO_SECRETS, check_secrets
from codefy_control_plane.scheduling.model import MAX_PRIORITY, QueuedRun
from codefy_control_plane.storage.runs import NewRun
from codefy_engine.graph.document import GraphDocument, GraphInvalid, canonical_bytes, parse_graph
from codefy_engine.graph.needs import used_types
from codefy_engine.graph.validation import validate_graph
from codefy_engine.nodes.registry import Registry
from codefy_engine.nodes.travelling import SourceFile, packages_of, source_files
from codefy_protocol import reasons
from codefy_protocol.inputs import MAX_NODE_SOURCE_BYTES, MAX_NODE_SOURCES
from codefy_protocol.names import (
    LOCAL,
    BadName,
    RunOptions,
    Target,
    check_target,
    local_queue_key,
    parse_device,
    worker_queue_key,
)
from codefy_protocol.reasons import reason

QUEUED_LANE = "queued"
INTERACTIVE_LANE = "interactive"
MAX_NAME = 200
MAX_SEED = 2**63 - 1


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """A submission whose graph and options are in order; whether its devices exist is for the scheduler to say."""

    name: str
    graph_name: str
    graph_hash: str
    graph: bytes
    """Canonical."""
    node_types: frozenset[str]
    options: RunOptions
    worker: str
    device: str
    devices: tuple[str, ...]
    queue_key: str
    node_files: tuple[SourceFile, ...] = ()
    """What goes along to a worker; empty for a run in the server, which has it."""
    packages: dict[str, str] = {}
    """Node types of packages → the package."""
    secret_names: tuple[str, ...] = ()
    """What its nodes refer to; the values are no part of it."""

    def queued(self, run_id: str, sequence: int, submitted_at: float = 0.0) -> QueuedRun:
        """The run as the scheduler sees it; ``submitted_at`` in Unix seconds."""
        return QueuedRun(
            run_id=run_id,
            sequence=sequence,
            submitted_at=submitted_at,
            priority=self.options.priority,
            queue_key=self.queue_key,
            worker=self.worker,
            device=self.device,
            devices=self.devices,
            node_types=self.node_types,
            file_types=frozenset(name for file in self.node_files for name in file.types),
            packages=self.packages,
        )

    def row(self, run_id: str, now: float) -> NewRun:
        """The run as it is stored."""
        return NewRun(
            run_id=run_id,
            name=self.name,
            graph_name=self.graph_name,
            graph_hash=self.graph_hash,
            graph=self.graph,
            node_types=msgspec.json.encode(sorted(self.node_types)).decode(),
            lane=self.options.lane,
            options=msgspec.json.encode(self.options).decode(),
            queue_key=self.queue_key,
            requested_worker=self.worker,
            requested_device=self.device,
            requested_devices=msgspec.json.encode(self.devices).decode(),
            created_at=now,
            node_files=self.node_files,
            secret_names=msgspec.json.encode(self.secret_names).decode(),
        )


def check_submission(
    graph: bytes,
    options: RunOptions,
    name: str,
    registry: Registry,
    secrets: Mapping[str, str] = NO_SECRETS,
) -> Submission:
    """Check everything that needs no knowledge of workers. Takes a while for a large graph: call it in a thread.

    Raises:
        Refused: 400, for a graph with all its problems, or for secrets that are not as the graph needs them.
    """
    check_options(options)
    if len(name) > MAX_NAME:
        raise _bad_field("$.name", f"at most {MAX_NAME} characters, got {len(name)}")
    try:
        document = parse_graph(graph)
        problems = validate_graph(document, registry, until_node=options.until_node)
    except GraphInvalid as error:
        problems = error.problems
    else:
        if not problems:
            names = check_secrets(document, registry, secrets, options.until_node)
            made = _resolve(document, options, name.strip(), registry)
            return msgspec.structs.replace(made, secret_names=names)
    raise Refused(400, reason(reasons.INVALID_GRAPH, count=len(problems)), problems)


def check_options(options: RunOptions) -> None:
    """Check the options of a submission on their own.

    Raises:
        Refused: 400.
    """
    if options.lane not in (QUEUED_LANE, INTERACTIVE_LANE):
        raise _bad_field(
            "$.options.lane", f"expected {QUEUED_LANE} or {INTERACTIVE_LANE}, got {options.lane!r}"
        )
    if options.seed is not None and not 0 <= options.seed <= MAX_SEED:
        raise _bad_field("$.options.seed", f"a whole number from 0 to 2^63 - 1, got {options.seed}")
    check_priority(options.priority, "$.options.priority")
    grace = options.resume_grace_s
    if grace is not None and not (math.isfinite(grace) and grace >= 0):
        raise _bad_field("$.options.resume_grace_s", "seconds, 0 or more")
    if options.device is not None:
        try:
            parse_device(options.device)
        except BadName as error:
            raise _bad_field("$.options.device", str(error)) from None
    target = options.target or Target()
    try:
        check_target(target)
    except BadName as error:
        raise Refused(400, reason(reasons.INVALID_TARGET, detail=str(error))) from None
    worker = target.worker or LOCAL
    if options.lane == INTERACTIVE_LANE and worker != LOCAL:
        raise Refused(400, reason(reasons.INTERACTIVE_WITH_WORKER, worker=worker))
    if options.record_outputs and worker != LOCAL:
        raise Refused(400, reason(reasons.OUTPUTS_ON_WORKER, worker=worker))
    for unsupported, what in (
        (options.error_mode != "stop", f"options.error_mode {options.error_mode!r}"),
        (options.retry is not None, "options.retry"),
        (target.pool is not None, "target.pool"),
        (target.memory_gib is not None, "target.memory_gib"),
        (target.memory_source is not None, "target.memory_source"),
        (not target.wait, "target.wait = false"),
    ):
        if unsupported:
            raise Refused(400, reason(reasons.NOT_SUPPORTED_YET, what=what))


def check_priority(priority: int, path: str) -> None:
    """Check a priority.

    Raises:
        Refused: 400, naming the ``path`` it came from.
    """
    if not -MAX_PRIORITY <= priority <= MAX_PRIORITY:
        raise _bad_field(path, f"a whole number from -{MAX_PRIORITY} to {MAX_PRIORITY}, got {priority}")


def _bad_field(path: str, detail: str) -> Refused:
    return Refused(400, reason(reasons.INVALID_BODY, path=path, detail=detail))


def _resolve(document: GraphDocument, options: RunOptions, name: str, registry: Registry) -> Submission:
    target = options.target or Target()
    worker = target.worker or LOCAL
    devices = tuple(str(parse_device(text)) for text in target.devices or ())
    device = parse_device(devices[0] if devices else options.device or document.settings.device or "cpu")
    if worker == LOCAL and not device.concrete:
        # "cuda" means the current card, which in the server is the first one.
        device = msgspec.structs.replace(device, index=0)
    graph = canonical_bytes(document)
    node_types = used_types(document, registry, until_node=options.until_node)
    return Submission(
        name=name,
        graph_name=document.name,
        graph_hash=hashlib.sha256(graph).hexdigest(),
        graph=graph,
        node_types=node_types,
        options=options,
        worker=worker,
        device=str(device),
        devices=devices,
        queue_key=local_queue_key(device) if worker == LOCAL else worker_queue_key(worker, str(device)),
        node_files=() if worker == LOCAL else _node_files(node_types, registry),
        packages={} if worker == LOCAL else packages_of(node_types, registry),
    )


def _node_files(node_types: frozenset[str], registry: Registry) -> tuple[SourceFile, ...]:
    """The files of single nodes that travel, as they are loaded now.

    Raises:
        Refused: 400, they are more than a worker takes.
    """
    files = tuple(source_files(node_types, registry))
    total = sum(len(file.content) for file in files)
    if len(files) > MAX_NODE_SOURCES or total > MAX_NODE_SOURCE_BYTES:
        why = reason(
            reasons.NODE_FILES_TOO_LARGE,
            count=len(files),
            bytes=total,
            max_count=MAX_NODE_SOURCES,
            limit=MAX_NODE_SOURCE_BYTES,
        )
        raise Refused(400, why)
    return files


def run_id_maker(clock: Callable[[], float] = time.time) -> Callable[[], str]:
    """Make a source of run ids: 16 hex characters that sort by time, none given twice."""
    last = 0

    def make() -> str:
        nonlocal last
        # 44 bits of milliseconds last until the year 2527; 20 random bits keep ids from being guessed in a row.
        last = max((int(clock() * 1000) << 20) | randbits(20), last + 1)
        return f"{last:016x}"

    return make
