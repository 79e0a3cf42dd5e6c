"""What ``codefy-agent status`` and ``stop`` know of running agents: a small file per worker name."""

from __future__ import annotations

from pathlib import Path

import msgspec

from codefy_agent.lock import is_locked

STATE_FILE = "agent.json"


class RunState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    run_id: str
    attempt: int
    pid: int | None = None
    devices: tuple[str, ...] = ()
    since: float = 0.0


class StandbyState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    device: str
    state: str
    """``starting`` or ``ready``."""
    pid: int | None = None


class AgentState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    pid: int
    name: str
    control: str
    version: str = ""
    connection: str = "disconnected"
    """``disconnected``, ``hello_sent``, ``live`` or ``rejected``."""
    since: float = 0.0
    """Unix seconds of the last change of ``connection``."""
    started: float = 0.0
    draining: bool = False
    stopping: bool = False
    problem: str = ""
    """Why it is not connected."""
    waiting_records: int = 0
    """Records that the control plane has not acknowledged."""
    runs: tuple[RunState, ...] = ()
    standby: tuple[StandbyState, ...] = ()
    """Children that were started ahead and wait for a run."""


def write_state(folder: Path, state: AgentState) -> None:
    """Replace the state file at once: a reader sees the old one or the new one."""
    temporary = folder / f"{STATE_FILE}.new"
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(state)))
    temporary.replace(folder / STATE_FILE)


def read_state(folder: Path) -> AgentState | None:
    """The state of the agent that runs in ``folder`` now; ``None`` when none does."""
    if not is_locked(folder):
        return None
    try:
        return msgspec.json.decode((folder / STATE_FILE).read_bytes(), type=AgentState)
    except (OSError, msgspec.DecodeError):
        return None


def running_agents(data_dir: Path) -> list[AgentState]:
    """Every agent that runs under ``data_dir``, by name."""
    if not data_dir.is_dir():
        return []
    states = [read_state(folder) for folder in sorted(data_dir.iterdir()) if folder.is_dir()]
    return [state for state in states if state is not None]
