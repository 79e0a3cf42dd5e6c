"""The command line ``codefy``.

Commands are listed here and imported when they are used, so ``codefy --help`` stays quick. Packages add commands
through the entry point group ``codefy.commands``.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

import click

from codefy_protocol import __version__

ENTRY_POINT_GROUP = "codefy.commands"


@dataclass(frozen=True)
class LazyCommand:
    """A command of ours: ``module:attribute``, and its line in the help (a test compares it with the command's own)."""

    target: str
    summary: str


COMMANDS: dict[str, LazyCommand] = {
    "demo": LazyCommand(
        "codefy_control_plane.cli.demo:demo",
        "Start a server and a worker, train the digits model on the worker, and show it in the browser.",
    ),
    "graph": LazyCommand(
        "codefy_control_plane.cli.graph:graph", "Check graph files, and execute them without a server."
    ),
    "nodes": LazyCommand("codefy_control_plane.cli.nodes:nodes", "The node types that graphs are made of."),
    "run": LazyCommand(
        "codefy_control_plane.cli.run:run", "Queue GRAPH (a graph file) and watch it until it ends."
    ),
    "runs": LazyCommand("codefy_control_plane.cli.runs:runs", "Look at runs, and stop them."),
    "serve": LazyCommand("codefy_control_plane.cli.serve:serve", "Start the server and its web UI."),
    "worker": LazyCommand(
        "codefy_control_plane.cli.worker:worker", "See the workers, and stop or allow new runs on them."
    ),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *COMMANDS, *(entry.name for entry in plugin_entries())})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        ours = COMMANDS.get(cmd_name)
        if ours is not None:
            module, _, attribute = ours.target.partition(":")
            return getattr(importlib.import_module(module), attribute)
        for entry in plugin_entries():
            if entry.name == cmd_name:
                return _load_plugin(entry)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: list[tuple[str, str]] = []
        for name in self.list_commands(ctx):
            ours = COMMANDS.get(name)
            if ours is not None:
                rows.append((name, ours.summary))
                continue
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                rows.append((name, command.get_short_help_str(limit=70)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def plugin_entries() -> list[EntryPoint]:
    """Commands of other packages; a name that Codefy has itself is left out."""
    return [entry for entry in entry_points(group=ENTRY_POINT_GROUP) if entry.name not in COMMANDS]


def _load_plugin(entry: EntryPoint) -> click.Command:
    try:
        command: object = entry.load()
    except Exception as error:  # a stranger's import may raise anything; the other commands go on working
        return _broken_command(entry.name, f"{type(error).__name__}: {error}")
    if isinstance(command, click.Command):
        return command
    return _broken_command(entry.name, f"{entry.value} is no click command")


def _broken_command(name: str, detail: str) -> click.Command:
    def fail() -> None:
        raise click.ClickException(f"The command {name} cannot be loaded: {detail}")

    return click.Command(
        name,
        callback=fail,
        help=f"(cannot be loaded: {detail})",
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(__version__, prog_name="codefy")
def main() -> None:
    """Codefy: draw, queue and run machine learning graphs."""
