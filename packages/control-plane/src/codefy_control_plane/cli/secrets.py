"""``--secret``: values of secrets from the environment, a file or the keyboard, never from the command line itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click


def secret_option(command: Any) -> Any:
    """``--secret``, which may be given several times."""
    return click.option(
        "--secret",
        "secrets",
        metavar="NAME[=@FILE|=VARIABLE]",
        multiple=True,
        callback=_read,
        help="A secret that the graph refers to: from the environment variable NAME, or VARIABLE, or from FILE; asked "
        "for when there is no such variable. May be given several times.",
    )(command)


def _read(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    values: dict[str, str] = {}
    for item in given:
        name, has_source, source = item.partition("=")
        if not name:
            raise click.BadParameter(f"no name stands before the = of {item!r}")
        if source.startswith("@"):
            values[name] = _from_file(name, Path(source[1:]))
        elif has_source:
            values[name] = _from_variable(name, source)
        else:
            values[name] = os.environ[name] if name in os.environ else _asked(name)
    return values


def _from_file(name: str, path: Path) -> str:
    try:
        # An editor ends the last line; no token ends with a line break.
        return path.read_text("utf-8").removesuffix("\n").removesuffix("\r")
    except (OSError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"the file of {name} cannot be read: {error}") from None


def _from_variable(name: str, variable: str) -> str:
    value = os.environ.get(variable)
    if value is None:
        # Whatever stands there may be the value itself: it is not repeated.
        raise click.BadParameter(
            f"what follows {name}= is no environment variable. A value is not taken from the command line, where every "
            f"program can read it: put it into a variable or a file, and give {name}=VARIABLE or {name}=@FILE"
        )
    return value


def _asked(name: str) -> str:
    if not sys.stdin.isatty():
        raise click.BadParameter(f"no environment variable is called {name}; give {name}=@FILE for a file")
    return str(click.prompt(f"Secret {name}", hide_input=True, err=True))
