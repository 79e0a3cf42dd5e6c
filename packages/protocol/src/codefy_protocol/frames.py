"""Every frame between an agent and the control plane (SPEC section 6).

Frames are frozen, keyword-only structs, one per verb; the tag is the verb. A message is one array of frames (see
``codec``). Frames of an attempt are *run records*: ``{run_id, attempt, seq, kind, ts, body}``, whose body is JSON that
was encoded where the graph runs and stays opaque on its way.
"""

from __future__ import annotations

import msgspec

# ------------------------------------------------------------------ shared parts


class UncleanSlot(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run ended and something of it still holds its card (P-9): part of ``Device``."""

    run_id: str
    attempt: int = 1
    pid: int
    """Of the process that holds it; of the first one when there are several."""
    process: str = ""
    """Its name, when the system tells it."""
    pids: tuple[int, ...] = ()
    """All of them."""


class ForeignUse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What programs outside Codefy hold of a card (S-16): part of ``Device``."""

    memory: int = 0
    """Bytes that all of them hold; 0 when the driver does not say."""
    pid: int
    """Of the one that holds the most."""
    process: str = ""
    """Its name, such as ``blender``."""


class Device(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One device of a machine. Memory is in bytes, load in 0..1; ``None`` means the driver does not say."""

    name: str
    """``cpu``, ``cuda:0``, ``mps:0``."""
    kind: str
    """``cpu``, ``cuda`` or ``mps``."""
    label: str = ""
    """The product name, for people."""
    uuid: str | None = None
    mig: bool = False
    memory_total: int | None = None
    memory_free: int | None = None
    load: float | None = None
    temperature: float | None = None
    power_watts: float | None = None
    unclean: UncleanSlot | None = None
    """Set from before the ``run_finished`` of the run until its processes are gone."""
    foreign: ForeignUse | None = None
    cleanliness_unverifiable: bool = False
    """Whether the driver's process list says nothing here, as in most containers: then neither of the two can be told."""


class DeviceIdentity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A device as assigned, with the UUID it had at the moment of placement."""

    name: str
    uuid: str | None = None


class AttemptState(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent knows of one attempt: part of ``run_alive``."""

    run_id: str
    attempt: int
    state: str
    """``running`` or ``ended``."""
    last_seq: int
    """The highest seq in the spool (0 when nothing was written)."""


class RecordedSeq(msgspec.Struct, frozen=True, kw_only=True):
    """What the control plane has durably recorded of one attempt: part of ``welcome``."""

    run_id: str
    attempt: int
    seq: int


class NodeSource(msgspec.Struct, frozen=True, kw_only=True):
    """A file of single nodes that a run needs: part of ``assign``. The agent fetches it by its hash."""

    name: str
    """Of the file, without a folder: ``filters.py``."""
    sha256: str
    size: int


# ------------------------------------------------------------------ agent -> control plane


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag="hello", omit_defaults=True):
    name: str
    product_version: str
    protocol_version: int
    capabilities: tuple[str, ...] = ()
    machine_id: str = ""
    """SHA-256 of what identifies the machine; empty when it has nothing."""
    boot_id: str = ""
    incarnation: str = ""
    """Random per agent process."""
    devices: tuple[Device, ...] = ()
    mounts: tuple[str, ...] = ()
    platform: str = ""
    pid: int = 0
    fingerprint: str = ""
    catalog_hash: str = ""
    node_types: tuple[str, ...] = ()
    one_shot: bool = False
    one_shot_run_id: str | None = None
    instance: str | None = None
    instance_id: str | None = None


class Catalog(msgspec.Struct, frozen=True, kw_only=True, tag="catalog", omit_defaults=True):
    catalog_hash: str
    node_types: tuple[str, ...]
    fingerprint: str = ""
    engine: str = ""
    """Version of the engine that runs here; empty when there is none."""
    hashes: dict[str, str] = {}
    """Of what each type declares; of a type without one nothing is known but its name."""


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True, tag="heartbeat", omit_defaults=True):
    devices: tuple[Device, ...] = ()
    run_ids: tuple[str, ...] = ()


class RunAlive(msgspec.Struct, frozen=True, kw_only=True, tag="run_alive"):
    """After every ``welcome``: the complete list of attempts that the agent holds."""

    attempts: tuple[AttemptState, ...]


class RunRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A numbered frame of one attempt. ``seq`` starts at 1 and has no holes."""

    run_id: str
    attempt: int
    seq: int
    ts: float
    """Unix seconds where the graph runs."""
    kind: str = ""
    """The event type of an ``event`` frame; empty elsewhere."""
    body: bytes
    """JSON, see ``bodies`` for the struct of each frame."""


class RunStarted(RunRecord, frozen=True, kw_only=True, tag="run_started"):
    pass


class Event(RunRecord, frozen=True, kw_only=True, tag="event"):
    pass


class Metrics(RunRecord, frozen=True, kw_only=True, tag="metrics"):
    pass


class Artifact(RunRecord, frozen=True, kw_only=True, tag="artifact"):
    pass


class RunWarning(RunRecord, frozen=True, kw_only=True, tag="warning"):
    pass


class RunFacts(RunRecord, frozen=True, kw_only=True, tag="run_facts"):
    pass


class Console(RunRecord, frozen=True, kw_only=True, tag="console"):
    pass


class RunFinished(RunRecord, frozen=True, kw_only=True, tag="run_finished"):
    pass


class OutputAnswer(msgspec.Struct, frozen=True, kw_only=True, tag="output_answer", omit_defaults=True):
    request_id: str
    status: int
    body: bytes = b""
    final: bool = True


# ------------------------------------------------------------------ control plane -> agent


class Welcome(msgspec.Struct, frozen=True, kw_only=True, tag="welcome", omit_defaults=True):
    worker_id: str
    product_version: str
    heartbeat_s: float
    grace_s: float
    resume_grace_s: float
    capabilities: tuple[str, ...] = ()
    recorded: tuple[RecordedSeq, ...] = ()
    """For every attempt that the control plane knows of this worker, the recorded seq."""
    draining: bool = False
    outdated: bool = False


class Reject(msgspec.Struct, frozen=True, kw_only=True, tag="reject", omit_defaults=True):
    """The agent is not wanted; the socket closes after this."""

    code: str
    text: str
    params: dict[str, str | int | float | bool | None] = {}
    fatal: bool = True
    """Whether trying again cannot help."""


class Assign(msgspec.Struct, frozen=True, kw_only=True, tag="assign", omit_defaults=True):
    run_id: str
    attempt: int
    graph: bytes | None = None
    """The graph document as canonical JSON, or ``None`` when it is to be fetched by ``graph_hash``."""
    graph_hash: str = ""
    graph_size: int = 0
    """Bytes of a graph that is to be fetched."""
    options: bytes = b"{}"
    """``names.RunOptions`` as JSON."""
    secrets: dict[str, str] = {}
    """Values by name. They are in memory only, on either side."""
    payload_cap: int
    device: str
    devices: tuple[DeviceIdentity, ...]
    grace_s: float
    storage: dict[str, str] = {}
    memory_budgets: dict[str, int] = {}
    node_source_digest: str = ""
    """Of ``node_sources`` (``inputs.node_source_digest``)."""
    node_sources: tuple[NodeSource, ...] = ()
    """Files of single nodes that the graph uses, to be fetched and loaded for this run only."""
    node_packages: dict[str, str] = {}
    """Node types of the graph that come from packages → the package."""

    def __repr__(self) -> str:
        # Values of secrets must not get into a log by chance.
        return f"Assign(run_id={self.run_id!r}, attempt={self.attempt}, secrets={sorted(self.secrets)})"


class Cancel(msgspec.Struct, frozen=True, kw_only=True, tag="cancel", omit_defaults=True):
    run_id: str
    attempt: int
    grace_s: float | None = None


class Drain(msgspec.Struct, frozen=True, kw_only=True, tag="drain"):
    draining: bool


class Ack(msgspec.Struct, frozen=True, kw_only=True, tag="ack"):
    """Everything of the attempt up to and including ``seq`` is durably recorded."""

    run_id: str
    attempt: int
    seq: int


class Credentials(msgspec.Struct, frozen=True, kw_only=True, tag="credentials", omit_defaults=True):
    run_id: str
    credentials: dict[str, str]


class FetchOutput(msgspec.Struct, frozen=True, kw_only=True, tag="fetch_output", omit_defaults=True):
    request_id: str
    run_id: str
    kind: str
    query: dict[str, str] = {}
    wait_s: float = 0.0


class CancelFetch(msgspec.Struct, frozen=True, kw_only=True, tag="cancel_fetch"):
    request_id: str


class DropOutputs(msgspec.Struct, frozen=True, kw_only=True, tag="drop_outputs"):
    run_id: str


RUN_RECORD_TYPES: tuple[type[RunRecord], ...] = (
    RunStarted,
    Event,
    Metrics,
    Artifact,
    RunWarning,
    RunFacts,
    Console,
    RunFinished,
)

AGENT_FRAME_TYPES: tuple[type[msgspec.Struct], ...] = (
    Hello,
    Catalog,
    Heartbeat,
    RunAlive,
    *RUN_RECORD_TYPES,
    OutputAnswer,
)

CONTROL_FRAME_TYPES: tuple[type[msgspec.Struct], ...] = (
    Welcome,
    Reject,
    Assign,
    Cancel,
    Drain,
    Ack,
    Credentials,
    FetchOutput,
    CancelFetch,
    DropOutputs,
)

Frame = msgspec.Struct
"""Any of the above."""


def frame_tag(frame_type: type[msgspec.Struct]) -> str:
    """The tag of a frame type, such as ``run_alive``."""
    tag = frame_type.__struct_config__.tag
    if not isinstance(tag, str):
        raise TypeError(f"{frame_type.__name__} is not a frame")
    return tag


RECORD_BY_TAG: dict[str, type[RunRecord]] = {frame_tag(record): record for record in RUN_RECORD_TYPES}
