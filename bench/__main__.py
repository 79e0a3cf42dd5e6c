"""Measure and print: ``python -m bench [--check] [--markdown] [NAME …]``."""

from __future__ import annotations

import sys

import click
from rich.console import Console
from rich.table import Table

from bench.figures import FIGURES
from bench.measure import Figure, NotMeasured, goals

WHEN_NAMED = frozenset(("web",))
"""Groups that are measured only when they are named: they drive a browser for minutes."""
COLUMNS = ("figure", "measured", "floor", "ratio", "noise", "goal", "")


def number(value: float) -> str:
    """Three significant digits, thousands apart."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def row(figure: Figure, goal: str, held: bool) -> tuple[str, ...]:
    return (
        figure.what,
        f"{number(figure.value)} {figure.unit}",
        f"{number(figure.floor_value)} {figure.unit} ({figure.floor})",
        f"{figure.ratio:.2f}",
        f"± {figure.noise:.2f}",
        goal,
        "held" if held else "MISSED",
    )


@click.command(help=__doc__)
@click.option("--check", is_flag=True, help="Exit 1 when a ratio misses its goal by more than its noise.")
@click.option("--markdown", is_flag=True, help="Print the table as Markdown.")
@click.argument("names", nargs=-1)
def main(check: bool, markdown: bool, names: tuple[str, ...]) -> None:
    bounds = goals()
    unknown = [name for name in names if name not in FIGURES]
    if unknown:
        raise click.BadParameter(f"no such group: {', '.join(unknown)}; there are {', '.join(FIGURES)}")
    rows: list[tuple[str, ...]] = []
    missed: list[str] = []
    progress = Console(stderr=True)
    for name, measure in FIGURES.items():
        if name not in names if names else name in WHEN_NAMED:
            continue
        progress.print(f"measuring {name} …", style="dim")
        try:
            figures = measure()
        except NotMeasured as error:
            progress.print(f"{name} left out: {error}", style="yellow")
            continue
        for figure in figures:
            goal = bounds[figure.name]
            held = goal.held(figure)
            if not held:
                missed.append(figure.name)
            rows.append(row(figure, goal.words(figure.unit), held))
    if markdown:
        sys.stdout.write("| " + " | ".join(COLUMNS) + " |\n" + "| --- " * len(COLUMNS) + "|\n")
        for cells in rows:
            sys.stdout.write("| " + " | ".join(cells) + " |\n")
    else:
        table = Table(*COLUMNS, box=None, header_style="bold")
        for cells in rows:
            table.add_row(*cells)
        Console(width=None if sys.stdout.isatty() else 180).print(table)
    if check and missed:
        raise click.ClickException(f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
