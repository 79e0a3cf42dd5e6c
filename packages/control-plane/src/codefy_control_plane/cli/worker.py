"""``codefy worker``: the machines that take runs."""

from __future__ import annotations

from pathlib import Path

import click

from codefy_control_plane.cli.connect import find_server, run_with_client, server_options
from codefy_control_plane.cli.runs import as_json_option, echo_json, print_table, when


@click.group()
def worker() -> None:
    """See the workers, and stop or allow new runs on them."""


@worker.command("list")
@as_json_option
@server_options
def list_(as_json: bool, server: str | None, token_file: Path | None, data_dir: Path | None) -> None:
    """The server itself and every worker it has seen."""
    workers = run_with_client(find_server(server, token_file, data_dir), lambda client: client.workers())
    if as_json:
        echo_json(workers)
        return
    rows = [
        (
            found.worker_id,
            found.state + (", draining" if found.draining else "") + (", outdated" if found.outdated else ""),
            ", ".join(
                f"{device.device.name} {device.slots.used}/{device.slots.limit}" for device in found.devices
            ),
            ", ".join(found.run_ids),
            when(found.last_heard_at),
        )
        for found in workers
    ]
    print_table(("worker", "state", "devices (runs/slots)", "runs", "last heard"), rows)


@worker.command()
@click.argument("name")
@server_options
def drain(name: str, server: str | None, token_file: Path | None, data_dir: Path | None) -> None:
    """Place no new run on NAME; what runs there goes on."""
    run_with_client(find_server(server, token_file, data_dir), lambda client: client.drain(name))
    click.echo(f"{name} is draining. Undo it with: codefy worker undrain {name}")


@worker.command()
@click.argument("name")
@server_options
def undrain(name: str, server: str | None, token_file: Path | None, data_dir: Path | None) -> None:
    """Place runs on NAME again."""
    run_with_client(
        find_server(server, token_file, data_dir), lambda client: client.drain(name, draining=False)
    )
    click.echo(f"{name} takes runs again.")
