"""``codefy nodes``: the node types and their documentation, without a server."""

from __future__ import annotations

import difflib
import sys

import click
import msgspec
from rich.console import Console
from rich.markdown import Markdown

from codefy_control_plane.cli.runs import as_json_option, echo_json, print_table
from codefy_engine.nodes.definition import NodeDefinition, ParamDefinition
from codefy_engine.nodes.registry import default_registry


@click.group()
def nodes() -> None:
    """The node types that graphs are made of."""


@nodes.command("list")
@as_json_option
def list_(as_json: bool) -> None:
    """All node types, by category."""
    definitions = default_registry().definitions()
    if as_json:
        echo_json(definitions)
        return
    print_table(
        ("category", "type", "what it does"),
        [(definition.category, definition.type, definition.summary) for definition in definitions],
    )


@nodes.command()
@click.argument("node_type", metavar="TYPE")
@as_json_option
def show(node_type: str, as_json: bool) -> None:
    """The documentation of TYPE: what it does, its ports and parameters."""
    registry = default_registry()
    definition = next(
        (found for found in registry.definitions() if found.type.lower() == node_type.lower()), None
    )
    if definition is None:
        close = difflib.get_close_matches(node_type, list(registry), n=3, cutoff=0.5)
        hint = f" Did you mean {', '.join(close)}?" if close else " All types: codefy nodes list"
        raise click.ClickException(f"There is no node type {node_type!r}.{hint}")
    if as_json:
        echo_json([definition])
        return
    console = Console(width=None if sys.stdout.isatty() else 100, highlight=False)
    console.print(Markdown(documentation(definition)))


def documentation(definition: NodeDefinition) -> str:
    """A node's documentation as Markdown."""
    lines = [f"# {definition.title} ({definition.type})", "", definition.doc]
    for title, ports in (("Inputs", definition.inputs), ("Outputs", definition.outputs)):
        if ports:
            lines += ["", f"## {title}", ""]
            for port in ports:
                optional = "" if port.required else ", optional"
                lines.append(f"- **{port.name}** ({port.type}{optional}): {port.doc}")
    if definition.params:
        lines += ["", "## Parameters", ""]
        for param in definition.params:
            lines.append(f"- **{param.name}** ({describe(param)}): {param.doc}")
    return "\n".join(lines)


def describe(param: ParamDefinition) -> str:
    """Kind, range, choices and default in one phrase."""
    parts = [param.kind]
    if param.choices is not None:
        parts = ["one of " + ", ".join(str(choice.value) for choice in param.choices)]
    if param.min is not None:
        parts.append(f"{'more than' if param.exclusive_min else 'at least'} {param.min:g}")
    if param.max is not None:
        parts.append(f"{'less than' if param.exclusive_max else 'at most'} {param.max:g}")
    if param.unit:
        parts.append(f"in {param.unit}")
    parts.append(f"default {msgspec.json.encode(param.default).decode()}")
    return ", ".join(parts)
