"""Every code that a person or a program can be told, with its parameters and its English sentence.

A code and its parameters are stable; the sentence is for people and the web UI words it in their language. Problems of
a graph, errors of runs, refusals, warnings and the reasons of waiting runs all come from here, so that the CLI, the
API and the UI use the same words.
"""

from __future__ import annotations

import string
from typing import Any

import msgspec


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """A code with its parameters and the sentence made from them."""

    code: str
    message: str
    params: dict[str, Any]


_TEMPLATES: dict[str, str] = {}


def register(code: str, template: str) -> str:
    """Add a code; returns it. Parameters are the template's fields."""
    if code in _TEMPLATES:
        raise ValueError(f"reason {code!r} is registered twice")
    _TEMPLATES[code] = template
    return code


def codes() -> dict[str, str]:
    """All codes with their templates."""
    return dict(_TEMPLATES)


def parameters(code: str) -> frozenset[str]:
    """Names of the parameters that the sentence of ``code`` needs."""
    return frozenset(name for _, name, _, _ in string.Formatter().parse(_TEMPLATES[code]) if name)


def reason(code: str, /, **params: Any) -> Reason:
    """Make a reason.

    Raises:
        KeyError: the code is not registered, or a parameter of its sentence is missing.
    """
    return Reason(code=code, message=_TEMPLATES[code].format(**params), params=params)


# ------------------------------------------------------------------ graph documents and validation
GRAPH_NOT_JSON = register("graph_not_json", "This file is not JSON: {detail} (line {line}, column {column}).")
GRAPH_NOT_A_GRAPH = register("graph_not_a_graph", "This file is not a graph: at {path}, {detail}.")
GRAPH_TOO_NEW = register(
    "graph_too_new",
    "This graph has format version {found}; this Codefy reads up to {supported}. Update Codefy to run it.",
)
GRAPH_EMPTY = register("graph_empty", "The graph has no nodes. Add one, or open an example.")
DUPLICATE_NODE_ID = register("duplicate_node_id", "Two nodes share the id {node_id!r}. Give each its own.")
UNKNOWN_NODE_TYPE = register(
    "unknown_node_type", "{node_id} is of type {type}, which is not installed here.{suggestion}"
)
UNKNOWN_NODE = register("unknown_node", "A wire {end} the node {missing!r}, which is not in the graph.")
UNKNOWN_PORT = register("unknown_port", "{node_id} ({type}) has no {direction} {port!r}. It has: {ports}.")
PORT_TYPE_MISMATCH = register(
    "port_type_mismatch",
    "{source_id}.{source_port} gives {source_type}; {node_id}.{port} takes {target_type}.",
)
PORT_WIRED_TWICE = register("port_wired_twice", "{node_id}.{port} takes one wire and has {count}.")
INPUT_MISSING = register(
    "input_missing", "{node_id} ({title}) needs its input {port!r}. Wire a {type} to it."
)
GRAPH_CYCLE = register("graph_cycle", "These nodes form a cycle: {nodes}. Remove one of their wires.")
PARAM_UNKNOWN = register("param_unknown", "{node_id} ({type}) has no parameter {param!r}.{suggestion}")
PARAM_INVALID = register("param_invalid", "{node_id}.{param}: {detail}; got {value}.")
UNKNOWN_SUBGRAPH = register(
    "unknown_subgraph", "{node_id} uses the subgraph {subgraph!r}, which is not in the graph."
)
MODULE_INVALID = register("module_invalid", "The module of {node_id}: {detail}.")
ONLY_IN_MODULE = register("only_in_module", "{node_id} ({type}) can only stand in the subgraph of a Module.")
NOT_IN_MODULE = register(
    "not_in_module", "{node_id} ({type}) cannot stand in the subgraph of a Module; layers can."
)
UNKNOWN_PRESET = register(
    "unknown_preset", "{node_id} uses the preset {preset!r}, which is not in the graph."
)
PRESET_INVALID = register("preset_invalid", "The preset {preset!r} of {node_id}: {detail}.")
PRESET_CYCLE = register("preset_cycle", "{node_id} contains itself: {chain}. Take one of them out.")
GRAPH_TOO_BIG = register(
    "graph_too_big", "The graph has more than {limit} nodes once its presets and modules are expanded."
)
MORE_PROBLEMS = register("more_problems", "There are {count} more problems. Put these right first.")
NODE_TOO_NEW = register(
    "node_too_new",
    "{node_id} ({type}) was saved with version {found} of its type; here is version {supported}. Update Codefy.",
)
SHAPE_MISMATCH = register("shape_mismatch", "{node_id} ({title}) does not take {shape}: {detail}")
UNKNOWN_UNTIL_NODE = register(
    "unknown_until_node", "The run is to end at {until_node!r}, which is not in the graph."
)
SETTING_INVALID = register("setting_invalid", "settings.{setting}: {detail}; got {value}.")

# ------------------------------------------------------------------ submissions and requests
INVALID_GRAPH = register("invalid_graph", "The graph has {count} problem(s); nothing was queued.")
INVALID_BODY = register("invalid_body", "At {path}: {detail}.")
INVALID_QUERY = register("invalid_query", "The query parameter {name}: {detail}.")
BODY_TOO_LARGE = register("body_too_large", "The body is over the limit of {limit_bytes} bytes.")
NOT_FOUND = register("not_found", "There is nothing at {path}.")
METHOD_NOT_ALLOWED = register("method_not_allowed", "{path} does not take {method}; it takes {allowed}.")
RUN_NOT_FOUND = register("run_not_found", "There is no run {run_id}.")
ARTIFACT_NOT_FOUND = register("artifact_not_found", "The run {run_id} has no artifact {artifact}.")
ARTIFACT_GONE = register("artifact_gone", "The file of the artifact {artifact} is not there any more.")
OUTPUT_NOT_KEPT = register(
    "output_not_kept",
    "The output {port!r} of {node_id} is not kept for the run {run_id}. Outputs are kept of the last runs of the canvas, "
    "and of queued runs that record them, until the server ends.",
)
STEPS_NOT_KEPT = register(
    "steps_not_kept",
    "No steps of {node_id} are kept for the run {run_id}: it told none, or they had to make room for newer runs.",
)
OUTPUT_NO_PICTURE = register("output_no_picture", "The output {port!r} of {node_id} is no picture.")
OUTPUTS_ON_WORKER = register(
    "outputs_on_worker",
    "Outputs are recorded in the server only. Leave out options.record_outputs, or queue the run in the server instead of "
    "{worker}.",
)
EXAMPLE_NOT_FOUND = register("example_not_found", "There is no example {name!r}.")
NODE_TYPE_NOT_FOUND = register("node_type_not_found", "There is no node type {type!r}.{suggestion}")
GRAPH_NOT_FOUND = register("graph_not_found", "There is no saved graph {name!r}.")
GRAPH_CHANGED = register(
    "graph_changed",
    "The saved graph {name!r} is at revision {revision}, not {base_revision}. Reload it, or save under another name.",
)
GRAPH_EXISTS = register("graph_exists", "There is a graph {name!r} already. Choose another name.")
DRAFT_NOT_FOUND = register("draft_not_found", "There is no draft of {name!r}.")
DRAFT_CHANGED = register(
    "draft_changed",
    "The draft of {name!r} is at revision {revision}, not {base_revision}: it was changed elsewhere.",
)
DRAFT_TOO_LARGE = register(
    "draft_too_large", "The draft has {size} bytes; up to {limit} are kept (CODEFY_DRAFT_MAX_BYTES)."
)
DRAFTS_FULL = register(
    "drafts_full",
    "{limit} drafts are kept already (CODEFY_DRAFTS_MAX). Name or delete some, then this one can be kept too.",
)
PRESET_NOT_FOUND = register("preset_not_found", "There is no preset {name!r}.")
PRESET_CHANGED = register(
    "preset_changed",
    "The preset {name!r} is at revision {revision}, not {base_revision}: it was changed elsewhere.",
)
PRESET_REFUSED = register("preset_refused", "The preset {name!r} cannot be kept: {detail}.")
INVALID_NAME = register("invalid_name", "{detail}")
INVALID_PATH = register("invalid_path", "{path!r} is no path of a file here: {detail}.")
FILE_NOT_FOUND = register("file_not_found", "There is no file {path!r}.")
FILE_EXISTS = register("file_exists", "There is a file or folder {path!r} already.")
FILE_IS_FOLDER = register("file_is_folder", "{path!r} is a folder.")
FOLDER_NOT_EMPTY = register(
    "folder_not_empty",
    "The folder {path!r} is not empty. Delete it with everything in it, or empty it first.",
)
FILE_TOO_LARGE = register(
    "file_too_large", "{path!r} has {size} bytes; up to {limit} are taken (CODEFY_UPLOAD_MAX_BYTES)."
)
NO_ROOM_FOR_FILE = register(
    "no_room_for_file", "The disk has no room for {path!r}: {size} bytes, and {free} are free."
)
UPLOAD_OFFSET = register(
    "upload_offset", "Of {path!r} {offset} bytes are here. Go on from there, not from {start}."
)
UPLOAD_CUT = register("upload_cut", "Of {path!r} {received} of {expected} bytes arrived. Send it again.")
UPLOAD_DAMAGED = register(
    "upload_damaged", "{path!r} arrived changed: its SHA-256 is {found}, not {expected}. Send it again."
)
INVALID_HEADER = register("invalid_header", "The header {name}: {detail}.")
INVALID_TARGET = register("invalid_target", "{detail}")
UNKNOWN_DEVICE = register("unknown_device", "{where} has no device {device}; it offers {offered}.")
UNKNOWN_DEVICE_ANYWHERE = register(
    "unknown_device_anywhere",
    "Neither the server nor any worker seen since the start has {device}. Seen so far: {offered}.",
)
UNKNOWN_WORKER = register(
    "unknown_worker",
    "No worker {worker!r} is enrolled or was seen since the start. Start it with: codefy-agent start --name {worker}",
)
INTERACTIVE_WITH_WORKER = register(
    "interactive_with_worker", "The canvas runs in the server. Queue the run to send it to {worker}."
)
SECRETS_NOT_GIVEN = register(
    "secrets_not_given",
    "The graph refers to secrets whose values were not given: {names}. Give them with the submission; nothing was queued.",
)
SECRET_NOT_GIVEN = register(
    "secret_not_given", "{node_id}.{param} refers to the secret {secret!r}, and no value for it was given."
)
SECRETS_UNKNOWN = register(
    "secrets_unknown",
    "No node of the graph refers to these secrets: {names}. Leave them out, or refer to them.",
)
SECRET_INVALID = register("secret_invalid", "The secret {secret!r} cannot be taken: {detail}.")
SECRETS_LOST = register(
    "secrets_lost",
    "The run waited with secrets, which are in memory only, when the server restarted. Submit it again with their values.",
)
DISK_FULL = register(
    "disk_full", "The disk of {path} is full; nothing was stored. Make room there, then submit the run again."
)
INTERACTIVE_BUSY = register(
    "interactive_busy",
    "{running} interactive runs are going on, the most at once. Stop one, or queue this run.",
)
EDITOR_BUSY = register(
    "editor_busy", "The run {run_id} of this editor is still going on. Stop it, or queue this one."
)
NOT_SUPPORTED_YET = register("not_supported_yet", "{what} is not supported by this version.")
DEVICE_NOT_CLOSED = register(
    "device_not_closed",
    "Nothing of an earlier run is left on {device} of {worker}; there is nothing to reclaim.",
)
RUN_NOT_WAITING = register("run_not_waiting", "The run {run_id} is {status}; it does not wait for a place.")
RUN_ENDED = register("run_ended", "The run {run_id} has ended ({status}); there is nothing to cancel.")
RUN_ACTIVE = register("run_active", "The run {run_id} is {status}. Cancel it before deleting it.")
SHUTTING_DOWN = register("shutting_down", "The server is shutting down. Try again when it is back.")
INTERNAL_ERROR = register(
    "internal_error", "Something went wrong in the server ({error_id}); its log has the details."
)
NODE_FILES_TOO_LARGE = register(
    "node_files_too_large",
    "The graph uses {count} node files of {bytes} bytes; up to {max_count} of {limit} bytes travel to a worker. "
    "Run it in the server, or install them as a package.",
)
NODE_FILES_NOT_TAKEN = register(
    "node_files_not_taken",
    "{worker} does not take node files, and the graph needs {types} from such files. Update its agent.",
)
PROVENANCE_NOT_TAKEN = register(
    "provenance_not_taken",
    "{worker} does not tell where results come from. Update its agent, or leave out options.provenance.",
)
WORKER_LACKS_TYPES = register(
    "worker_lacks_types",
    "{worker} lacks the node types {types}. Install there what has them: codefy-agent engine install --with {packages}",
)
INPUT_NOT_FOUND = register("input_not_found", "This worker has no run {run_id} with the input {sha256}.")

# ------------------------------------------------------------------ access
TOKEN_REQUIRED = register(
    "token_required",
    "This needs the session token: open the link that codefy serve printed, or send it as X-Codefy-Token.",
)
TOKEN_WRONG = register("token_wrong", "The session token is wrong. It changes when the data folder does.")
HOST_NOT_ALLOWED = register(
    "host_not_allowed", "The host {host!r} is not served here. Add it with CODEFY_ALLOWED_HOSTS."
)
ORIGIN_NOT_ALLOWED = register("origin_not_allowed", "Requests from {origin!r} are not accepted.")
NOT_LOOPBACK = register(
    "not_loopback",
    "The session token lets in agents on the server's own machine only; this one comes from {address}.",
)

# ------------------------------------------------------------------ workers
BAD_WORKER_NAME = register("bad_worker_name", "{detail}")
PROTOCOL_MISMATCH = register(
    "protocol_mismatch",
    "The agent speaks protocol {worker}, the control plane {control_plane}. Update {side}.",
)
HELLO_EXPECTED = register("hello_expected", "The first frame must be hello, within {seconds} s.")
MALFORMED_FRAMES = register("malformed_frames", "A message could not be read: {detail}.")
NAME_IN_USE = register(
    "name_in_use",
    "A worker called {worker} is connected from another machine. Choose another --name, or stop that one.",
)
REPLACED = register("replaced", "A newer agent connected as {worker}; this one stops.")
VERSION_MISMATCH = register(
    "version_mismatch", "version mismatch: worker {worker}, control plane {control_plane}"
)

# ------------------------------------------------------------------ waiting
WORKER_OFFLINE = register("worker_offline", "waiting for worker {worker} to reconnect")
WORKER_DRAINING = register("worker_draining", "worker {worker} is draining")
WORKER_OUTDATED = register("worker_outdated", "worker {worker} is outdated: update its agent")
WORKER_WITHOUT_CATALOG = register(
    "worker_without_catalog", "waiting for worker {worker} to say which node types it has"
)
CARD_IN_USE = register("card_in_use", "{device} of {worker} is used by {process}, which is not a run")
SLOT_NOT_CLEAN = register(
    "slot_not_clean", "{device} of {worker} is not clean: process {pid} of an earlier run still uses it"
)
NO_WORKER_OFFERS = register("no_worker_offers", "waiting for a worker that offers {devices}")
OFFERING_WORKERS_DRAINING = register(
    "offering_workers_draining", "waiting for a worker that offers {devices}: {workers} is draining"
)

# ------------------------------------------------------------------ errors of runs
NODE_FAILED = register("node_failed", "{node_id} ({title}) failed: {detail}")
ENGINE_ERROR = register("engine_error", "The engine failed outside of any node: {detail}")
SECRET_MISSING = register(
    "secret_missing", "{node_id} ({title}) needs the secret {secret!r}, which the run was not given."
)
OUT_OF_MEMORY = register("out_of_memory", "{node_id} ({title}) ran out of memory on {device}: {detail}")
CHILD_DIED = register("child_died", "The run's process ended without a report: {how}.")
CHILD_NOT_STARTED = register("child_not_started", "The run's process could not be started: {detail}")
ENGINE_VERSION_MISMATCH = register(
    "engine_version_mismatch",
    "The engine on {worker} has version {engine}, its agent {agent}. Install codefy-engine {agent} there.",
)
ENGINE_MISSING = register(
    "engine_missing", "No engine is installed on {worker}. Run there: codefy-agent engine install"
)
DEVICE_NOT_OFFERED = register("device_not_offered", "{worker} does not offer {device}; it offers {offered}.")
GRAPH_TOO_LARGE = register(
    "graph_too_large", "The graph has {bytes} bytes; a worker takes up to {limit}. Run it in the server."
)
INPUT_WRONG = register(
    "input_wrong",
    "{worker} could not get {file} from the server: {detail}. Submit the run again; if this goes on, see whether a proxy "
    "between the two changes what it carries.",
)
INPUT_UNREACHABLE = register(
    "input_unreachable",
    "{worker} could not get {file} from the server within {seconds} s: {detail}. "
    "Look at the network between the two, then submit the run again.",
)
NODE_FILE_FAILED = register(
    "node_file_failed",
    "The node file {file} cannot be loaded here: {detail}. "
    "What it imports is installed by codefy-agent engine install --with NAME",
)
NODE_PACKAGE_MISSING = register(
    "node_package_missing",
    "The node types {types} are not installed here. Run on the worker: codefy-agent engine install --with {packages}",
)
MIG_IN_SET = register(
    "mig_in_set",
    "{device} is a MIG instance, which takes part in no set of devices. Name it alone, or name whole cards.",
)
DUPLICATE_ASSIGNMENT = register("duplicate_assignment", "{worker} already has the run {run_id}.")
AGENT_DRAINING = register("agent_draining", "{worker} is draining and takes no run.")
AGENT_STOPPED = register("agent_stopped", "The agent {worker} was stopped.")
AGENT_RESTARTED = register("agent_restarted", "The agent {worker} was started again; its run had not ended.")
SERVER_RESTARTED = register("server_restarted", "The server was restarted while the run was going on.")
SERVER_STOPPED = register("server_stopped", "The server was stopped while the run was going on.")
STOP_IGNORED = register(
    "stop_ignored",
    "The run did not react to the stop within {seconds} s; its slot stays taken until it does.",
)
WORKER_DISCONNECTED = register(
    "worker_disconnected", "The connection to {worker} is lost. It is kept until it is back."
)
NO_HEARTBEAT = register("no_heartbeat", "Nothing was heard from {worker} for {seconds} s.")
CONNECTION_CLOSED = register("connection_closed", "The connection to {worker} was closed.")
CONNECTION_REPLACED = register("connection_replaced", "A newer connection of {worker} took over.")
NO_RECONNECT_AFTER_RESTART = register(
    "no_reconnect_after_restart",
    "{worker} did not come back within {seconds} s after the server was restarted.",
)
WORKER_RECONNECTED = register("worker_reconnected", "{worker} is connected again.")
WORKER_GONE = register("worker_gone", "{worker} did not come back within {seconds} s.")
WORKER_ADOPTED = register(
    "worker_adopted", "The server was restarted; it waits for {worker}, which has this run."
)
WORKER_LOST_AFTER_RESTART = register(
    "worker_lost_after_restart", "{worker} came back without this run, which had begun there."
)
SEQUENCE_GAP = register("sequence_gap", "Records {first} to {last} of this run are missing.")

# ------------------------------------------------------------------ warnings of runs
DEVICE_FALLBACK = register("device_fallback", "{wanted} is not available here; the run uses {used}.")
NONFINITE_LOSS = register("nonfinite_loss", "The loss is {value} at step {step}.")
FILES_SKIPPED = register("files_skipped", "{count} file(s) could not be read and were left out: {files}.")
PRECISION_FALLBACK = register(
    "precision_fallback", "{wanted} needs an accelerator; on {device} the training uses {used}."
)
MALFORMED_RECORD = register("malformed_record", "A {frame} record of this run could not be read: {detail}.")
RECORDS_DROPPED = register(
    "records_dropped",
    "{worker} has no room left for what this run reports; {what} records are dropped. The run goes on.",
)
MALFORMED_OVERRIDE = register(
    "malformed_override", "The slot override {entry!r} is not NAME=NUMBER; it is ignored."
)
