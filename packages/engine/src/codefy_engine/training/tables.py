"""CSV files as data sets."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TextIO

import torch

from codefy_engine.nodes.base import NodeError
from codefy_engine.training.data import TensorDataset

_LOOK_EVERY = 1000
_READ_AT_ONCE = 1 << 24
"""Characters."""
_NEARLY_ALL = 0.9
"""Share of numbers from which a column is meant to hold numbers, so that another cell in it is a mistake."""
_MISSING = frozenset(("", "na", "n/a", "nan", "null", "none", "?"))


@dataclass(frozen=True, kw_only=True)
class Table:
    """The cells of a file as texts, every row as long as the header."""

    columns: list[str]
    rows: list[list[str]]
    lines: list[int]
    """The line of the file that each row ends at."""


def read_text(file: TextIO, limit: int | None, check_stop: Callable[[], None]) -> str:
    """What is left of a file, or ``limit`` characters of it; ``check_stop`` is called every now and then."""
    parts: list[str] = []
    left = limit
    while left is None or left > 0:
        check_stop()
        part = file.read(_READ_AT_ONCE if left is None else min(left, _READ_AT_ONCE))
        if not part:
            break
        parts.append(part)
        left = None if left is None else left - len(part)
    return "".join(parts)


def read_table(
    path: Path, *, delimiter: str, header: bool, check_stop: Callable[[], None] = lambda: None
) -> Table:
    """Read a CSV file in UTF-8.

    Raises:
        NodeError: it is no text, has no rows, or a row has another number of values than the first one.
    """
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, delimiter=delimiter, skipinitialspace=True, strict=True)
            for row in reader:
                if len(rows) % _LOOK_EVERY == 0:
                    check_stop()
                if not row:
                    continue
                if rows and len(row) != len(rows[0]):
                    first = "the header" if header else f"line {lines[0]}"
                    raise NodeError(
                        f"line {reader.line_num} of {path.name} has {len(row)} values; {first} has {len(rows[0])}"
                    )
                rows.append(row)
                lines.append(reader.line_num)
    except UnicodeDecodeError as error:
        raise NodeError(f"{path.name} is no text in UTF-8 (byte {error.start}): save it as UTF-8") from error
    except csv.Error as error:
        raise NodeError(f"{path.name} is no CSV file at line {len(rows) + 1}: {error}") from error
    if not rows:
        raise NodeError(f"{path.name} is empty")
    columns = [name.strip() for name in rows[0]] if header else [f"x{i + 1}" for i in range(len(rows[0]))]
    if header:
        rows, lines = rows[1:], lines[1:]
        twice = sorted({name for name in columns if columns.count(name) > 1})
        if twice:
            raise NodeError(f"{path.name} has two columns called {', '.join(map(repr, twice))}")
    if not rows:
        raise NodeError(f"{path.name} has a header and no rows")
    return Table(columns=columns, rows=rows, lines=lines)


def column_index(table: Table, name: str, where: str) -> int:
    """The place of a column by its name, or by its number from 1.

    Raises:
        NodeError: there is none.
    """
    if name in table.columns:
        return table.columns.index(name)
    if name.isdigit() and 1 <= int(name) <= len(table.columns):
        return int(name) - 1
    raise NodeError(f"{where} has no column {name!r}; it has {', '.join(table.columns)}")


def dataset_of(
    table: Table,
    *,
    name: str,
    target: str,
    features: Sequence[str],
    task: Literal["auto", "classes", "numbers"],
    missing: Literal["error", "drop", "mean"],
    texts: Literal["error", "one_hot", "drop"],
    check_stop: Callable[[], None] = lambda: None,
) -> TensorDataset:
    """Samples of the feature columns, targets of the target column (the last one when ``target`` is empty).

    With ``features`` empty, all other columns count. A column of texts becomes one column per text that occurs; one
    whose cells are nearly all numbers is none of texts, and its first other cell is refused.

    Raises:
        NodeError: a column that is not there, or a cell that cannot be used; line and column are named.
    """
    aim = len(table.columns) - 1 if not target else column_index(table, target, name)
    chosen = (
        [column_index(table, item, name) for item in features]
        if features
        else [index for index in range(len(table.columns)) if index != aim]
    )
    if not chosen:
        raise NodeError(f"{name} has no column left to learn from")
    table = _without_missing(table, [*chosen, aim], aim, missing, name)
    columns: list[list[float]] = []
    names: list[str] = []
    for index in chosen:
        check_stop()
        cells = [row[index].strip() for row in table.rows]
        numbers = [_number(cell) for cell in cells]
        bad = next(
            (i for i, value in enumerate(numbers) if value is None and not _is_missing(cells[i])), None
        )
        if bad is None:
            columns.append(_filled(numbers))
            names.append(table.columns[index])
            continue
        if texts == "error":
            raise NodeError(
                f"line {table.lines[bad]} of {name}: {cells[bad]!r} in column {table.columns[index]!r} is no number"
            )
        _refuse_slip(table, index, cells, numbers, name)
        if texts == "one_hot":
            for label in sorted(set(cells)):
                columns.append([1.0 if cell == label else 0.0 for cell in cells])
                names.append(f"{table.columns[index]}={label}")
    if not columns:
        raise NodeError(f"{name} has no column of numbers to learn from")
    inputs = torch.tensor(columns, dtype=torch.float32).T.contiguous()
    cells = [row[aim].strip() for row in table.rows]
    numbers = [_number(cell) for cell in cells]
    if task == "auto":
        _refuse_slip(table, aim, cells, numbers, name)
    if task == "classes" or (task == "auto" and any(value is None for value in numbers)):
        labels = _sorted_labels(set(cells))
        places = {label: place for place, label in enumerate(labels)}
        targets = torch.tensor([places[cell] for cell in cells], dtype=torch.int64)
        return TensorDataset(
            inputs=inputs, targets=targets, name=name, class_names=tuple(labels), feature_names=tuple(names)
        )
    for place, value in enumerate(numbers):
        if value is None:
            raise NodeError(
                f"line {table.lines[place]} of {name}: {cells[place]!r} in column {table.columns[aim]!r} "
                "is no number"
            )
    targets = torch.tensor([[value] for value in numbers], dtype=torch.float32)
    return TensorDataset(inputs=inputs, targets=targets, name=name, feature_names=tuple(names))


def _without_missing(table: Table, used: list[int], aim: int, missing: str, name: str) -> Table:
    kept: list[int] = []
    for place, row in enumerate(table.rows):
        gap = next((index for index in used if _is_missing(row[index])), None)
        if gap is None or (missing == "mean" and not _is_missing(row[aim])):
            kept.append(place)
        elif missing != "drop":
            raise NodeError(
                f"line {table.lines[place]} of {name} has nothing in column {table.columns[gap]!r}: "
                "choose what to do with missing values"
            )
    if not kept:
        raise NodeError(f"every row of {name} has a missing value")
    return Table(
        columns=table.columns,
        rows=[table.rows[place] for place in kept],
        lines=[table.lines[place] for place in kept],
    )


def _refuse_slip(table: Table, index: int, cells: list[str], numbers: list[float | None], name: str) -> None:
    """Refuse the first cell that is no number in a column that is meant to hold numbers, and an infinite one in any."""
    present = [place for place, cell in enumerate(cells) if not _is_missing(cell)]
    bad = [place for place in present if numbers[place] is None]
    endless = [place for place in bad if _is_endless(cells[place])]
    meant = len(present) - len(bad) + len(endless)
    numeric = meant >= _NEARLY_ALL * len(present)
    found = bad if numeric else endless
    if not found:
        return
    why = f"; {meant - len(endless)} of the {len(present)} cells are numbers" if numeric else ""
    raise NodeError(
        f"line {table.lines[found[0]]} of {name}: {cells[found[0]]!r} in column {table.columns[index]!r} "
        f"is no number that can be used{why}: mend the cell, or leave the row out"
    )


def _filled(numbers: list[float | None]) -> list[float]:
    present = [value for value in numbers if value is not None]
    mean = sum(present) / len(present) if present else 0.0
    return [mean if value is None else value for value in numbers]


def _number(cell: str) -> float | None:
    # Python takes 1_000 for a number; in a table it is a slip.
    if "_" in cell or "\0" in cell:
        return None
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _is_endless(cell: str) -> bool:
    """Whether it stands for infinity, or for no number with a sign."""
    return cell.lower().lstrip("+-") in ("inf", "infinity", "nan")


def _is_missing(cell: str) -> bool:
    return cell.strip().lower() in _MISSING


def _sorted_labels(labels: set[str]) -> list[str]:
    """By number when all are numbers, so that 10 comes after 9."""
    if all(_number(label) is not None for label in labels):
        return sorted(labels, key=float)
    return sorted(labels)
