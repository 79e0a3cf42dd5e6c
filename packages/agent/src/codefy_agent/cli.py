"""``codefy-agent``: start, stop, status. What is slow to import is imported by the command that needs it."""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codefy_agent import __version__

if TYPE_CHECKING:
    from codefy_agent.connection import ControlPlane
    from codefy_agent.engine_env import Engine
    from codefy_agent.state import AgentState

_LOG_LEVELS = ("debug", "info", "warning", "error")
_STOP_TIMEOUT_S = 40.0
"""More than the grace of the runs, the time to kill them and the time to deliver what they left."""
_STOP_POLL_S = 0.05
_MOST_STANDBY = 64

_data_dir_option = click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="CODEFY_AGENT_DATA_DIR",
    show_envvar=True,
    metavar="DIR",
    help="Folder of this machine's agents, one folder in it per worker name. Default: in the user's data folder.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="codefy-agent")
def main() -> None:
    """Codefy's worker: offers this machine's devices to a control plane, runs each graph in a process of its own."""


@main.command()
@click.option(
    "--control",
    required=True,
    envvar="CODEFY_AGENT_CONTROL",
    show_envvar=True,
    metavar="URL",
    help="Address of the control plane, such as http://127.0.0.1:8000.",
)
@click.option(
    "--name",
    metavar="NAME",
    help="Name of this worker: lower-case letters, digits and hyphens. Default: the host's name.",
)
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="CODEFY_AGENT_TOKEN_FILE",
    show_envvar=True,
    metavar="FILE",
    help="File with the token. On the server's own machine: session-token in the server's data folder, "
    "which is also the default there.",
)
@click.option(
    "--token",
    envvar="CODEFY_AGENT_TOKEN",
    show_envvar=True,
    metavar="TOKEN",
    help="The token itself. Others on this machine can see it in the process list; a file is better.",
)
@click.option(
    "--engine-python",
    metavar="PYTHON",
    help="Python of the environment that has codefy-engine. Default: this one, where it is installed.",
)
@click.option(
    "--standby",
    default="auto",
    show_default=True,
    envvar="CODEFY_AGENT_STANDBY",
    show_envvar=True,
    metavar="auto|N",
    help="How many run children to start ahead, so that a run begins in milliseconds; each takes about 600 MiB. auto: "
    "one, on a machine with at least 8 GiB of memory. 0: none.",
)
@click.option(
    "--process-list",
    type=click.Choice(("auto", "trust", "ignore")),
    default="auto",
    show_default=True,
    envvar="CODEFY_AGENT_PROCESS_LIST",
    show_envvar=True,
    help="Whether the driver's list of processes says which run or program is on a card. auto: not in a container, where "
    "process ids are others.",
)
@_data_dir_option
@click.option(
    "--log-level",
    type=click.Choice(_LOG_LEVELS),
    default="info",
    show_default=True,
    help="How much to say on stderr.",
)
@click.option("--engine-module", default="codefy_engine.child", hidden=True)
def start(
    control: str,
    name: str | None,
    token_file: Path | None,
    token: str | None,
    engine_python: str | None,
    standby: str,
    process_list: str,
    data_dir: Path | None,
    log_level: str,
    engine_module: str,
) -> None:
    """Connect to a control plane and run what it assigns, until stopped.

    The agent opens no port: it dials the server, and comes back by itself when the connection breaks. Ctrl-C gives
    its runs 10 seconds to end; a second Ctrl-C ends them at once.

    Exit codes: 0 stopped, 1 refused or failed, 2 wrong options.
    """
    from codefy_agent.connection import BadControlUrl, ControlPlane, NoToken, token_reader
    from codefy_agent.engine_env import EngineNotFound, find_engine
    from codefy_agent.store import default_data_dir
    from codefy_protocol.names import BadName, check_worker_name

    _set_up_logging(log_level)
    ahead = _standby_count(standby)
    root = (data_dir or default_data_dir()).expanduser().absolute()
    try:
        worker = check_worker_name(_host_name() if name is None else name, instances=False)
        folder = root / worker
        if token is None and token_file is None:
            token_file = _default_token_file(folder, control)
        read_token = token_reader(token, token_file)
        plane = ControlPlane(control, read_token)
        read_token()  # so that a wrong path is told now and not after the first try
        engine = find_engine(engine_python, folder / "engine", root / "engine", module=engine_module)
    except (BadName, BadControlUrl, EngineNotFound, NoToken) as error:
        raise click.UsageError(str(error)) from error
    if engine is None:
        logging.getLogger(__name__).warning(
            "codefy-engine is not installed in this environment: every run will fail until it is, or until "
            "--engine-python names a python that has it"
        )
    sys.exit(_run(worker, folder, engine, ahead, process_list, plane))


def _standby_count(text: str) -> int | None:
    if text == "auto":
        return None
    if text.isdecimal() and int(text) <= _MOST_STANDBY:
        return int(text)
    raise click.UsageError(f"--standby {text}: say auto, or a number from 0 to {_MOST_STANDBY}.")


def _run(
    worker: str,
    folder: Path,
    engine: Engine | None,
    standby: int | None,
    process_list: str,
    plane: ControlPlane,
) -> int:
    import asyncio

    from codefy_agent.agent import Agent, AgentConfig
    from codefy_agent.lock import FolderLocked
    from codefy_agent.standby import StandbySettings

    async def live() -> int:
        config = AgentConfig(
            name=worker,
            folder=folder,
            engine_command=None if engine is None else tuple(engine.child_command()),
            discover_command=None
            if engine is None
            else tuple(engine.discover_command(folder / "catalog.json")),
            standby=StandbySettings(count=standby),
            process_list=process_list,
        )
        end = await Agent(config, plane).run()
        if end.code:
            click.echo(f"codefy-agent: {end.reason}", err=True)
        return end.code

    try:
        return asyncio.run(live())
    except FolderLocked as error:
        click.echo(
            f"codefy-agent: a worker called {worker} runs on this machine already: {error} "
            "Stop it with codefy-agent stop, or choose another --name.",
            err=True,
        )
    except OSError as error:
        click.echo(f"codefy-agent: {folder} cannot be used: {error}", err=True)
    return 1


@main.command()
@click.option("--name", metavar="NAME", help="Which worker; not needed when only one runs here.")
@_data_dir_option
def stop(name: str | None, data_dir: Path | None) -> None:
    """Stop a worker of this machine: its runs have 10 seconds to end, what they left is delivered.

    Exit codes: 0 stopped, 1 it did not end, 2 none or several run here.
    """
    state = _one_agent(name, data_dir)
    folder = _folder(state, data_dir)
    _ask_to_stop(state.pid)
    from codefy_agent.lock import is_locked

    deadline = time.monotonic() + _STOP_TIMEOUT_S
    while is_locked(folder):
        if time.monotonic() > deadline:
            click.echo(
                f"{state.name} (process {state.pid}) did not end within {_STOP_TIMEOUT_S:.0f} s.", err=True
            )
            sys.exit(1)
        time.sleep(_STOP_POLL_S)
    click.echo(f"{state.name} is stopped.")


@main.command()
@click.option("--name", metavar="NAME", help="Only this worker.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@_data_dir_option
def status(name: str | None, as_json: bool, data_dir: Path | None) -> None:
    """Show the workers that run on this machine, whether they are connected, and their runs.

    Exit codes: 0 at least one runs, 1 none does.
    """
    states = [state for state in _agents(data_dir) if name is None or state.name == name]
    if as_json:
        import msgspec

        for state in states:
            click.echo(msgspec.json.encode(state))
    else:
        for state in states:
            for line in describe(state, time.time()):
                click.echo(line)
        if not states:
            which = f"No worker called {name}" if name else "No worker"
            click.echo(f"{which} runs on this machine. Start one with: codefy-agent start --control URL")
    sys.exit(0 if states else 1)


def describe(state: AgentState, now: float) -> list[str]:
    """Lines for people about one agent."""
    words = {
        "live": f"connected to {state.control}",
        "hello_sent": f"connecting to {state.control}",
        "rejected": f"refused by {state.control}",
    }
    connection = words.get(state.connection, f"not connected to {state.control}, trying again")
    if state.stopping:
        connection += ", stopping"
    elif state.draining:
        connection += ", draining"
    lines = [f"{state.name}: {connection} for {_duration(now - state.since)} (process {state.pid})"]
    if state.problem:
        lines.append(f"  {state.problem}")
    if state.waiting_records:
        lines.append(f"  {state.waiting_records} records wait to be delivered")
    for run in state.runs:
        devices = ", ".join(run.devices)
        attempt = f", attempt {run.attempt}" if run.attempt > 1 else ""
        lines.append(f"  run {run.run_id} on {devices}{attempt} for {_duration(now - run.since)}")
    if not state.runs:
        lines.append("  no runs")
    for child in state.standby:
        lines.append(
            f"  {'ready' if child.state == 'ready' else 'getting ready'} for a run on {child.device}"
        )
    return lines


def _duration(seconds: float) -> str:
    whole = max(int(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


# ------------------------------------------------------------------ helpers
def _agents(data_dir: Path | None) -> list[AgentState]:
    from codefy_agent.state import running_agents

    return running_agents(_root(data_dir))


def _root(data_dir: Path | None) -> Path:
    from codefy_agent.store import default_data_dir

    return (data_dir or default_data_dir()).expanduser().absolute()


def _folder(state: AgentState, data_dir: Path | None) -> Path:
    return _root(data_dir) / state.name


def _one_agent(name: str | None, data_dir: Path | None) -> AgentState:
    states = _agents(data_dir)
    chosen = [state for state in states if name is None or state.name == name]
    if len(chosen) == 1:
        return chosen[0]
    if chosen:
        names = ", ".join(state.name for state in chosen)
        raise click.UsageError(f"Several workers run here ({names}): say which with --name.")
    which = f"No worker called {name}" if name else "No worker"
    others = f" There is: {', '.join(state.name for state in states)}." if states else ""
    raise click.UsageError(f"{which} runs on this machine.{others}")


def _ask_to_stop(pid: int) -> None:
    try:
        if sys.platform == "win32":
            os.kill(pid, signal.CTRL_BREAK_EVENT)
        else:
            os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        pass  # it ended just now
    except PermissionError as error:
        raise click.ClickException(f"The worker is another user's process ({pid}): {error}.") from error


def _host_name() -> str:
    import socket

    first = socket.gethostname().split(".")[0].lower()
    name = re.sub(r"[^a-z0-9-]+", "-", first).strip("-")[:63]
    return name if name and name not in ("local", "any", "localhost") else "worker"


def _default_token_file(folder: Path, control: str) -> Path:
    """The worker's own token, or the session token of a server of this user on this machine.

    Raises:
        NoToken: neither is there; says what to pass.
    """
    from codefy_agent.connection import NoToken, worker_socket

    _, loopback = worker_socket(control)
    places = [folder / "worker-token"]
    if loopback:
        places.append(_control_plane_data_dir() / "session-token")
    for place in places:
        if place.is_file():
            return place
    if loopback:
        raise NoToken(
            "No token. Pass --token-file DIR/session-token, where DIR is the server's data folder "
            "(codefy serve --data-dir DIR); there is none in " + str(places[-1].parent) + "."
        )
    raise NoToken("No token. Pass --token-file FILE or --token TOKEN, as the server's Workers page shows it.")


def _control_plane_data_dir() -> Path:
    configured = os.environ.get("CODEFY_DATA_DIR")
    if configured:
        return Path(configured).expanduser()
    import platformdirs

    return Path(platformdirs.user_data_dir("codefy", appauthor=False))


def _set_up_logging(level: str) -> None:
    logging.basicConfig(
        level=level.upper(), format="%(asctime)s %(levelname)-7s %(message)s", datefmt="%H:%M:%S"
    )
    # One line per connection is ours; what the library says about frames is for debugging it.
    logging.getLogger("websockets").setLevel(logging.WARNING)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    logging.getLogger("httpx").setLevel(logging.WARNING)
