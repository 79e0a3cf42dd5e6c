"""Settings of the server: one table of names, defaults and help, read from ``CODEFY_*`` variables.

``codefy serve --help`` lists :data:`SETTINGS`; a command line option wins over its variable. A value that cannot be
read is refused with the variable's name, so a misspelled number never starts a server with other limits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import platformdirs

from codefy_protocol.reasons import MALFORMED_OVERRIDE, Reason, reason


class BadSetting(ValueError):
    """A variable holds something its setting cannot be."""


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting: the field of :class:`Settings`, its variable, its default as text, and what it does."""

    field: str
    variable: str
    default: str
    help: str
    parse: Callable[[str], Any]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can be set. Times are in seconds, sizes in bytes."""

    data_dir: Path
    host: str = "127.0.0.1"
    port: int = 8000
    allowed_hosts: tuple[str, ...] = ()
    max_body_bytes: int = 32 * 1024 * 1024
    payload_cap_bytes: int = 128 * 1024
    """V-3: an event's payload is cut to this."""
    max_concurrent_cpu: int = 2
    max_concurrent_gpu: int = 1
    slot_overrides: Mapping[str, int] = {}
    """S-3: limits of single slots, ``cuda:0`` of the server or ``gpu-box-1/cuda:0`` of a worker."""
    max_interactive: int = 2
    queue_on_restart: str = "keep"
    """``keep`` or ``interrupt`` (D-6)."""
    retention_keep_last: int = 200
    """Ended runs that are kept; 0 keeps all."""
    max_log_bytes: int = 64 * 1024 * 1024
    output_store_max_mb: int = 512
    """O-3: memory in MiB for captured outputs of runs in the server; 0 keeps none."""
    local_grace_s: float = 30.0
    """L-4: how long a run in the server may take to react to a stop."""
    shutdown_grace_s: float = 5.0
    """How long a graceful stop of the server waits for its local runs."""
    heartbeat_s: float = 10.0
    grace_s: float = 30.0
    """P-3: how long a worker's run may take to react to a cancel, as told in ``welcome``."""
    resume_grace_s: float = 86_400.0
    """D-3: how long a run waits for its disconnected worker."""
    hello_timeout_s: float = 10.0
    preload: bool = True
    """Whether ``codefy serve`` imports the nodes and torch when it is ready."""
    max_upload_bytes: int = 20 * 1024**3
    """Largest file that may be uploaded to the data folder."""
    max_draft_bytes: int = 16 * 1024 * 1024
    max_drafts: int = 500
    """Drafts that are kept at once; none is ever removed to make room."""
    web_dist: Path | None = None
    """The built web UI to serve instead of the one in the package."""
    warnings: tuple[Reason, ...] = ()
    """What was ignored while reading the environment."""

    @property
    def database_path(self) -> Path:
        return self.data_dir / "codefy.db"

    @property
    def token_path(self) -> Path:
        return self.data_dir / "session-token"

    @property
    def server_file(self) -> Path:
        """``server.json``: url and pid of the running server."""
        return self.data_dir / "server.json"

    @property
    def graphs_dir(self) -> Path:
        return self.data_dir / "graphs"

    @property
    def drafts_dir(self) -> Path:
        """What the canvas keeps of graphs that are not saved in ``graphs_dir``, or not yet."""
        return self.data_dir / "drafts"

    @property
    def presets_dir(self) -> Path:
        """Groups of nodes that people kept for other graphs."""
        return self.data_dir / "presets"

    @property
    def nodes_dir(self) -> Path:
        """Node types as single files, added to those of installed packages."""
        return self.data_dir / "nodes"

    @property
    def catalog_file(self) -> Path:
        """The catalog of node types, for the next start."""
        return self.data_dir / "catalog.json"

    @property
    def files_dir(self) -> Path:
        return self.data_dir / "files"

    @property
    def runs_dir(self) -> Path:
        return self.data_dir / "runs"


def default_data_dir() -> Path:
    """The data folder of this user when ``CODEFY_DATA_DIR`` names none."""
    return Path(platformdirs.user_data_dir("codefy", appauthor=False))


def parse_slot_overrides(text: str) -> tuple[dict[str, int], tuple[Reason, ...]]:
    """Read ``cuda:0=2,gpu-box-1/cuda:0=3`` (S-3): limits by slot, and a warning per malformed entry.

    A limit below 1 is 1.
    """
    limits: dict[str, int] = {}
    warnings: list[Reason] = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, equals, number = entry.partition("=")
        try:
            limit = int(number) if equals and name.strip() else None
        except ValueError:
            limit = None
        if limit is not None:
            limits[name.strip()] = max(1, limit)
        else:
            warnings.append(reason(MALFORMED_OVERRIDE, entry=entry))
    return limits, tuple(warnings)


def _integer(low: int, high: int | None = None) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = int(text)
        if number < low or (high is not None and number > high):
            limits = f"at least {low}" if high is None else f"{low} to {high}"
            raise ValueError(f"a whole number, {limits}")
        return number

    return parse


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 <= number < float("inf"):
        raise ValueError("seconds, 0 or more")
    return number


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip().lower() for part in text.split(",") if part.strip())


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError("one of " + ", ".join(choices))
        return text

    return parse


def _switch(text: str) -> bool:
    return _one_of("on", "off")(text) == "on"


def _path(text: str) -> Path:
    return Path(text).expanduser()


def _setting(field: str, variable: str, help: str, parse: Callable[[str], Any], default: str) -> Setting:
    return Setting(field=field, variable=f"CODEFY_{variable}", default=default, help=help, parse=parse)


SETTINGS: tuple[Setting, ...] = (
    _setting(
        "data_dir",
        "DATA_DIR",
        "Folder of the database, the runs and the session token.",
        _path,
        "the user's data folder",
    ),
    _setting("host", "HOST", "Address to listen on.", str, "127.0.0.1"),
    _setting("port", "PORT", "Port to listen on; 0 takes a free one.", _integer(0, 65535), "8000"),
    _setting(
        "allowed_hosts",
        "ALLOWED_HOSTS",
        "Further Host headers to serve, separated by commas.",
        _names,
        "none",
    ),
    _setting(
        "max_body_bytes", "MAX_BODY_BYTES", "Largest request body in bytes.", _integer(1024), "33554432"
    ),
    _setting(
        "payload_cap_bytes",
        "RUN_EVENT_PAYLOAD_CAP_BYTES",
        "Largest payload of a run's event in bytes; outputs beyond it are left out.",
        _integer(1024),
        "131072",
    ),
    _setting(
        "max_concurrent_cpu",
        "RUN_QUEUE_MAX_CONCURRENT_CPU",
        "Queued runs at once on a cpu.",
        _integer(1),
        "2",
    ),
    _setting(
        "max_concurrent_gpu",
        "RUN_QUEUE_MAX_CONCURRENT_GPU",
        "Queued runs at once on an accelerator.",
        _integer(1),
        "1",
    ),
    _setting(
        "slot_overrides",
        "RUN_QUEUE_MAX_CONCURRENT",
        "Limits of single slots, such as cuda:0=2,gpu-box-1/cuda:0=3.",
        parse_slot_overrides,
        "none",
    ),
    _setting("max_interactive", "RUN_MAX_INTERACTIVE", "Runs of the canvas at once.", _integer(1), "2"),
    _setting(
        "queue_on_restart",
        "QUEUE_ON_RESTART",
        "What a start does with waiting runs: keep or interrupt.",
        _one_of("keep", "interrupt"),
        "keep",
    ),
    _setting(
        "retention_keep_last",
        "RUN_RETENTION_KEEP_LAST",
        "Ended runs to keep; 0 keeps all.",
        _integer(0),
        "200",
    ),
    _setting(
        "max_log_bytes",
        "RUN_LOG_MAX_BYTES",
        "Largest console log of a run in bytes.",
        _integer(4096),
        "67108864",
    ),
    _setting(
        "output_store_max_mb",
        "RUN_OUTPUT_STORE_MAX_MB",
        "Memory in MiB for the outputs that runs in the server keep for the inspector; 0 keeps none.",
        _integer(0),
        "512",
    ),
    _setting(
        "local_grace_s",
        "RUN_STOP_GRACE_S",
        "Seconds that a run in the server has to react to a stop.",
        _seconds,
        "30",
    ),
    _setting(
        "shutdown_grace_s",
        "SHUTDOWN_GRACE_S",
        "Seconds that a stopping server waits for its own runs.",
        _seconds,
        "5",
    ),
    _setting(
        "heartbeat_s", "WORKER_HEARTBEAT_S", "Seconds between the heartbeats of a worker.", _seconds, "10"
    ),
    _setting(
        "grace_s",
        "WORKER_GRACE_S",
        "Seconds that a run on a worker has to react to a cancel.",
        _seconds,
        "30",
    ),
    _setting(
        "resume_grace_s",
        "WORKER_RESUME_GRACE_S",
        "Seconds that a run waits for its disconnected worker.",
        _seconds,
        "86400",
    ),
    _setting(
        "hello_timeout_s",
        "WORKER_HELLO_TIMEOUT_S",
        "Seconds that an agent has to introduce itself.",
        _seconds,
        "10",
    ),
    _setting(
        "preload",
        "PRELOAD",
        "Import torch when the server is ready and idle, so that the first run in it does not wait: on or off. "
        "A server whose runs all go to workers saves memory with off.",
        _switch,
        "on",
    ),
    _setting(
        "max_upload_bytes",
        "UPLOAD_MAX_BYTES",
        "Largest file that may be uploaded, in bytes.",
        _integer(1),
        "21474836480",
    ),
    _setting("max_draft_bytes", "DRAFT_MAX_BYTES", "Largest draft in bytes.", _integer(1024), "16777216"),
    _setting("max_drafts", "DRAFTS_MAX", "Drafts to keep at once.", _integer(1), "500"),
    _setting(
        "web_dist",
        "WEB_DIST",
        "Folder of a built web UI to serve instead of the packaged one.",
        _path,
        "none",
    ),
)


def load_settings(environ: Mapping[str, str] | None = None, **overrides: Any) -> Settings:
    """Read the settings from ``environ`` (the process's own by default).

    ``overrides`` are fields of :class:`Settings` that a command line option gave; ``None`` means not given.

    Raises:
        BadSetting: a variable cannot be read; the message names it and says what it takes.
    """
    variables = os.environ if environ is None else environ
    values: dict[str, Any] = {}
    warnings: tuple[Reason, ...] = ()
    for setting in SETTINGS:
        text = variables.get(setting.variable, "").strip()
        if not text:
            continue
        try:
            value = setting.parse(text)
        except ValueError as error:
            raise BadSetting(f"{setting.variable}={text}: {error}. {setting.help}") from None
        if setting.field == "slot_overrides":
            value, warnings = value
        values[setting.field] = value
    values.update({key: value for key, value in overrides.items() if value is not None})
    values.setdefault("data_dir", default_data_dir())
    return Settings(**values, warnings=warnings)
