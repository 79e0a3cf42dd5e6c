"""``--secret``: where values come from, and that none is taken from the command line."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from codefy_control_plane.cli.secrets import secret_option


@click.command()
@secret_option
def tell(secrets: dict[str, str]) -> None:
    for name, value in secrets.items():
        click.echo(f"{name} is {value!r}")


def invoke(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(tell, arguments, env=environment)


def test_from_variables_and_files(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_bytes(b"from a file\r\n")
    done = invoke("--secret", "A", "--secret", "B=OTHER", "--secret", f"C=@{file}", A="one", OTHER="two")
    assert done.exit_code == 0, done.output
    assert done.output.splitlines() == ["A is 'one'", "B is 'two'", "C is 'from a file'"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("KEY", "no environment variable is called KEY"),
        ("KEY=@missing-file", "cannot be read"),
        ("=x", "no name"),
        ("KEY=hunter2", "not taken from the command line"),
    ],
)
def test_what_cannot_be_had_is_said_and_a_typed_value_not_repeated(given: str, said: str) -> None:
    done = invoke("--secret", given)
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())
    assert "hunter2" not in done.output
