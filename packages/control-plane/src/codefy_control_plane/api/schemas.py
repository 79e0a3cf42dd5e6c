"""Requests and responses of the HTTP API. ``/openapi.json`` and the web UI's types are derived from these structs.

Times are Unix seconds. Fields that may be added later are added, never renamed or removed (I-2).
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from codefy_engine.execution.output_pictures import PictureFacts
from codefy_engine.execution.outputs import CapturedOutput, OutputSlice, OutputStatistics
from codefy_engine.execution.provenance import ProvenanceRecord
from codefy_engine.execution.traces import TraceInfo
from codefy_engine.graph.plan import Source
from codefy_engine.graph.problems import GraphProblem
from codefy_engine.nodes.definition import NodeDefinition
from codefy_protocol.bodies import PeakMemory, RunError
from codefy_protocol.envelope import JsonNumber
from codefy_protocol.frames import Device
from codefy_protocol.names import RunOptions


class Problem(msgspec.Struct, kw_only=True, omit_defaults=True):
    """``application/problem+json`` (RFC 9457) with Codefy's ``code`` and ``params``."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    params: dict[str, Any] = {}
    problems: list[GraphProblem] | None = None
    """For ``invalid_graph``: all of them."""
    current: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    """For a stale write (409): what is there now, as a ``GET`` answers it."""


class Health(msgspec.Struct, kw_only=True):
    status: str
    version: str
    protocol_version: int


class ServerInfo(msgspec.Struct, kw_only=True):
    """Where the server keeps its things, on its own machine."""

    version: str
    data_dir: str
    """Absolute path."""
    token_file: str
    """Absolute path of the session token, for commands that are run on the server's machine."""


class SubmitRun(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    graph: msgspec.Raw
    """A graph document."""
    options: RunOptions = RunOptions()
    name: str = ""
    secrets: dict[str, str] = {}
    """Values by the name that nodes refer to; kept in memory until the run ends, and nowhere else."""

    def __repr__(self) -> str:
        return f"SubmitRun(name={self.name!r}, secrets={sorted(self.secrets)})"


class RunSubmitted(msgspec.Struct, kw_only=True):
    run_id: str
    number: int
    status: str
    queue_key: str
    queue_position: int | None


class RunSummary(msgspec.Struct, kw_only=True):
    """A row of ``GET /api/runs`` and the head of ``GET /api/runs/{id}``."""

    run_id: str
    number: int
    """Counts up from 1; what people call the run."""
    name: str
    graph_name: str
    lane: str
    status: str
    """``queued``, ``running``, ``disconnected``, ``succeeded``, ``failed``, ``cancelled`` or ``interrupted``."""
    attempt: int
    queue_key: str
    queue_position: int | None = None
    """From 1 within its queue; ``None`` once started."""
    queue_reason: str | None = None
    queue_reason_code: str | None = None
    queue_reason_params: dict[str, Any] | None = None
    worker_id: str | None = None
    """``None`` for a run in the server, or until placed."""
    device: str = "cpu"
    devices: list[str] = []
    created_at: float
    started_at: float | None = None
    ended_at: float | None = None
    last_heard_at: float | None = None
    error: RunError | None = None
    progress: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"null"))
    """Payload of the latest ``node_progress`` event of a live run (see ``events``), else null."""
    latest_metrics: dict[str, JsonNumber] = {}
    """Last value per metric name."""
    event_count: int = 0
    cancel_requested: bool = False


class RunDetail(RunSummary, kw_only=True):
    graph: msgspec.Raw
    options: RunOptions
    graph_hash: str
    execution_facts: dict[str, Any] = {}
    secret_names: list[str] = []
    """Secrets that its nodes refer to. Values are never told: whoever runs it again gives them again."""
    peak_memory: PeakMemory | None = None


class ChangeRun(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    priority: int
    """From -100 to 100; a point is worth ten minutes of waiting."""


class ReasonText(msgspec.Struct, kw_only=True):
    code: str
    message: str
    params: dict[str, Any] = {}


class ProspectView(msgspec.Struct, kw_only=True):
    """What would become of a run if it were sent to this provider."""

    worker_id: str
    """``local`` or a worker."""
    verdict: str
    """``now``, ``later`` or ``never``."""
    devices: list[str] = []
    """Which it would get, when it could start now."""
    reason: ReasonText | None = None
    """Why not now, when it is more than a busy slot."""
    ahead: int = 0
    """Runs that wait before it there."""


class Waiting(msgspec.Struct, kw_only=True):
    """Why a run waits (S-15)."""

    run_id: str
    position: int
    """From 1 within its queue."""
    priority: int
    sentence: str
    """All of it in one English sentence."""
    reason: ReasonText | None = None
    """What it waits for, when that is more than a busy slot or runs before it."""
    ahead: list[str] = []
    """Runs before it in its queue, the head first; at most 20."""
    blocked_by: list[str] = []
    """Runs in the slots that it could use; at most 20."""
    reserved_for: list[str] = []
    """Waiting device sets for which those slots are kept; at most 20."""
    expected_start_at: float | None = None
    """Unix seconds, from the durations of earlier runs; ``None`` when they say nothing."""
    elsewhere: list[ProspectView] = []
    """What another target would change."""


class PreflightRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    graph: msgspec.Raw
    options: RunOptions = RunOptions()


class Preflight(msgspec.Struct, kw_only=True):
    """Where a graph with these options could run (S-14)."""

    providers: list[ProspectView]
    """The server first, then the workers by name."""
    usual_duration_s: float | None = None
    """Of earlier runs of this very graph."""


class RunList(msgspec.Struct, kw_only=True):
    runs: list[RunSummary]
    next_cursor: str | None
    total: int
    counts: dict[str, int]
    """Runs by status."""


class StoredEvent(msgspec.Struct, kw_only=True):
    cursor: int
    """1, 2, 3 … within the run, given at commit."""
    type: str
    ts: float
    payload: msgspec.Raw


class EventList(msgspec.Struct, kw_only=True):
    run_id: str
    events: list[StoredEvent]
    next_cursor: int
    """Pass as ``cursor`` to go on: events after it."""
    ended: bool
    """Whether the terminal event is included or lies before ``cursor``."""


class StoredMetric(msgspec.Struct, kw_only=True, omit_defaults=True):
    name: str
    value: JsonNumber
    step: int
    epoch: float | None = None
    scope: str = "step"
    node_id: str = ""
    ts: float = 0.0


class MetricList(msgspec.Struct, kw_only=True):
    run_id: str
    points: list[StoredMetric]
    next_cursor: int
    """Row id of the last point; pass as ``cursor`` to go on."""


class StoredArtifact(msgspec.Struct, kw_only=True):
    artifact_id: int
    kind: str
    name: str
    path: str
    node_id: str
    size: int | None
    sha256: str | None
    media_type: str
    backend: str
    meta: dict[str, Any]
    available: bool
    """Whether its content can be downloaded from here now."""
    created_at: float


class ArtifactList(msgspec.Struct, kw_only=True):
    run_id: str
    artifacts: list[StoredArtifact]


class ProvenanceList(msgspec.Struct, kw_only=True):
    """Where the results of a run's current attempt come from."""

    run_id: str
    attempt: int
    fingerprint: msgspec.Raw
    """The environment that computed it (``Fingerprint``), null until it has told."""
    fingerprint_digest: str | None
    records: list[ProvenanceRecord]
    """Of nodes in the order in which they ended; empty for a run without ``options.provenance``."""
    next_cursor: int
    """Pass as ``cursor`` to go on."""


class RunCancelled(msgspec.Struct, kw_only=True):
    run_id: str
    status: str
    cancel_requested: bool


class OutputList(msgspec.Struct, kw_only=True):
    """What the inspector finds of a run."""

    run_id: str
    kept: bool
    """Whether anything can be there: ``False`` before the run started, and once it was evicted."""
    outputs: list[CapturedOutput] = []
    """In the order in which nodes ended."""
    inputs: dict[str, dict[str, Source]] = {}
    """By node and port: the output that fed it, kept or not."""
    origins: dict[str, dict[str, Source]] = {}
    """By a preset's node and its output port: the output of a node inside that it stands for."""
    traces: list[TraceInfo] = []
    """Nodes that told their steps, such as trainings."""


class OutputAbout(msgspec.Struct, kw_only=True):
    run_id: str
    output: CapturedOutput
    statistics: OutputStatistics | None
    """``None`` for what has no numbers."""
    picture: PictureFacts | None
    """``None`` for what cannot be drawn."""


class OutputGradient(msgspec.Struct, kw_only=True):
    """The last gradient of a parameter."""

    run_id: str
    node_id: str
    parameter: str
    statistics: OutputStatistics
    part: OutputSlice


class Slots(msgspec.Struct, kw_only=True):
    """A device as one provider offers it. Slots of one physical device count together (S-5)."""

    limit: int
    used: int
    """Runs on the device, whoever they were placed with."""
    run_ids: list[str]
    limited_by: str | None = None
    """Whose limit applies: ``local`` or a worker; ``None`` for the provider's own."""


class SameCard(msgspec.Struct, kw_only=True):
    """Another provider's slot of the same physical device."""

    worker_id: str
    """``local`` for the server."""
    device: str


class NodeDifferences(msgspec.Struct, kw_only=True):
    """How the node types of a worker differ from the server's; such a worker is degraded (X-8)."""

    only_here: list[str] = []
    """In the server only: graphs that use them do not run on this worker."""
    only_there: list[str] = []
    different: list[str] = []
    """Of the same name, and declared otherwise."""


class DeviceStatus(msgspec.Struct, kw_only=True):
    device: Device
    slots: Slots
    same_card: list[SameCard] = []
    closed: str | None = None
    """Why no run is given this device for now."""
    closed_code: str | None = None
    closed_params: dict[str, Any] | None = None


class WorkerStatus(msgspec.Struct, kw_only=True):
    worker_id: str
    """Its name; ``local`` for the server itself."""
    label: str
    state: str
    """``online``, ``disconnected`` or ``offline``."""
    draining: bool
    outdated: bool
    same_machine: bool
    product_version: str
    platform: str
    connected_at: float | None
    last_heard_at: float | None
    devices: list[DeviceStatus]
    run_ids: list[str]
    capabilities: list[str]
    engine: str | None = None
    """Version of its engine; empty when it has none, ``None`` before it said so."""
    node_differences: NodeDifferences | None = None
    """Set for a degraded worker."""


class WorkerList(msgspec.Struct, kw_only=True):
    workers: list[WorkerStatus]
    """The server itself first."""


class ValidateGraph(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    graph: msgspec.Raw


class GraphValidation(msgspec.Struct, kw_only=True):
    valid: bool
    problems: list[GraphProblem]


class ExampleSummary(msgspec.Struct, kw_only=True):
    name: str
    title: str
    description: str
    node_count: int


class ExampleList(msgspec.Struct, kw_only=True):
    examples: list[ExampleSummary]


class Example(msgspec.Struct, kw_only=True):
    name: str
    title: str
    description: str
    graph: msgspec.Raw


class DeviceList(msgspec.Struct, kw_only=True):
    devices: list[DeviceStatus]
    """Of the server's machine."""


class NodeList(msgspec.Struct, kw_only=True):
    catalog_hash: str
    nodes: list[NodeDefinition]
    failures: list[dict[str, str]] = []


class GraphSummary(msgspec.Struct, kw_only=True):
    name: str
    revision: int
    updated_at: float
    node_count: int


class GraphList(msgspec.Struct, kw_only=True):
    graphs: list[GraphSummary]
    drafts: list[GraphSummary] = []
    """Drafts that are kept; of names that have no saved graph, or of one that was changed elsewhere meanwhile."""


class SavedGraph(msgspec.Struct, kw_only=True):
    name: str
    revision: int
    updated_at: float
    graph: msgspec.Raw


class Draft(msgspec.Struct, kw_only=True):
    """What the canvas keeps of a graph that is not in its file: it has no name yet, or was saved elsewhere meanwhile."""

    name: str
    revision: int
    """Of the draft."""
    graph_revision: int
    """The saved graph's revision that it was edited from; 0 when there was none."""
    updated_at: float
    graph: msgspec.Raw


class SaveDraft(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    graph: msgspec.Raw
    base_revision: int | None = None
    """The draft's revision it was edited from, 0 for a new one; another one on the server answers 409."""
    graph_revision: int = 0


class RenameGraph(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    name: str


class PresetSummary(msgspec.Struct, kw_only=True):
    name: str
    description: str
    revision: int
    updated_at: float
    node_count: int
    inputs: list[str]
    """Names of the ports and parameters that it exposes."""
    outputs: list[str]
    params: list[str]


class PresetList(msgspec.Struct, kw_only=True):
    presets: list[PresetSummary]


class StoredPreset(PresetSummary, kw_only=True):
    preset: msgspec.Raw
    """As it stands in a graph's ``presets``."""
    presets: msgspec.Raw
    """The presets that it holds, by name, to be taken into the graph with it."""
    subgraphs: msgspec.Raw
    """The subgraphs that its nodes name, likewise."""


class SavePreset(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    preset: dict[str, Any]
    presets: dict[str, Any] = {}
    subgraphs: dict[str, Any] = {}
    description: str = ""
    base_revision: int | None = None
    """The revision it was edited from, 0 for a new one; another one on the server answers 409."""


class FileEntry(msgspec.Struct, kw_only=True):
    name: str
    path: str
    """Below the user's folder, as nodes take it: ``pictures/cats.zip``."""
    kind: str
    """``file`` or ``folder``."""
    size: int | None
    """Bytes; ``None`` for a folder."""
    modified_at: float
    media_type: str
    sha256: str | None = None
    """Told for a file that was just uploaded."""


class FileList(msgspec.Struct, kw_only=True):
    path: str
    entries: list[FileEntry]
    """Folders first, then files, by name; at most 5,000."""
    total: int
    """How many there are."""
    free_bytes: int
    """On the disk of the folder."""


class UploadProgress(msgspec.Struct, kw_only=True):
    """What is here of a file that comes in parts; ``file`` once it is complete."""

    received: int
    """Bytes."""
    file: FileEntry | None


class ChangeFile(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    action: Literal["make_folder", "move"]
    to: str = ""
    """For ``move``: the new path."""


class SaveGraph(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    graph: msgspec.Raw
    base_revision: int | None = None
    """The revision it was edited from; another one on the server answers 409."""
