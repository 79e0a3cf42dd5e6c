"""A confusion matrix as an SVG picture, readable on light and dark pages. Pure: numbers in, text out."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_LIGHT = {
    "bg": "#FFFFFF",
    "ink": "#1A1B1E",
    "soft": "#64656B",
    "line": "#DEDAD1",
    "heat": "#134A86",
    "on": "#FFFFFF",
}
_DARK = {
    "bg": "#1E2023",
    "ink": "#ECEBE7",
    "soft": "#9D9EA5",
    "line": "#363940",
    "heat": "#93C5FA",
    "on": "#1A1B1E",
}
_CHARACTER = 6.6
"""About the width of a character at 11 px."""
_MAX_LABEL = 16
_GAP = 2


def confusion_svg(
    matrix: Sequence[Sequence[int]], class_names: Sequence[str], *, title: str, subtitle: str = ""
) -> str:
    """Draw ``matrix``: rows are true classes, columns predicted ones.

    The shade of a cell is its share of the row, so that rare classes can be read too; the number is the count.

    Raises:
        ValueError: the matrix is not square, or has another number of classes than names.
    """
    count = len(matrix)
    if any(len(row) != count for row in matrix) or len(class_names) != count:
        raise ValueError("the matrix needs one row, one column and one name per class")
    labels = [_shorten(name) for name in class_names]
    widest = max((len(label) for label in labels), default=1) * _CHARACTER
    digits = max((len(str(value)) for row in matrix for value in row), default=1)
    # Few classes get large cells, many get small ones; the number must fit in any case.
    cell = max(18.0, min(64.0, 320 / max(count, 1)), digits * _CHARACTER + 10)
    slanted = widest > cell - 4
    left, top = 16 + 20 + widest + 8, 16 + 24 + (20 if subtitle else 0) + 20
    header = (widest * 0.72 + 14 if slanted else 18.0) + 6
    grid_x, grid_y = left, top + header
    side = count * cell
    # Slanted names of the last columns lean out to the right.
    width = max(grid_x + side + (widest * 0.72 if slanted else 0) + 16, 16 + _width(title, subtitle))
    height = grid_y + side + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(title)}">',
        _style(),
        f'<rect class="bg" width="{width:.0f}" height="{height:.0f}" rx="8"/>',
        f'<text class="title" x="16" y="30">{escape(title)}</text>',
    ]
    if subtitle:
        parts.append(f'<text class="soft" x="16" y="50">{escape(subtitle)}</text>')
    middle = grid_x + side / 2
    parts.append(f'<text class="axis" x="{middle:.1f}" y="{top:.1f}" text-anchor="middle">predicted</text>')
    axis_y = grid_y + side / 2
    parts.append(
        f'<text class="axis" transform="translate(26 {axis_y:.1f}) rotate(-90)" text-anchor="middle">true</text>'
    )
    for index, (label, name) in enumerate(zip(labels, class_names, strict=True)):
        center = index * cell + cell / 2
        parts.append(_column_label(label, name, grid_x + center, grid_y - 8, slanted=slanted))
        parts.append(
            f'<text class="label" x="{grid_x - 8:.1f}" y="{grid_y + center + 4:.1f}" text-anchor="end">'
            f"<title>{escape(name)}</title>{escape(label)}</text>"
        )
    for row, values in enumerate(matrix):
        total = sum(values)
        for column, value in enumerate(values):
            share = value / total if total else 0.0
            tip = f"{class_names[row]} taken for {class_names[column]}: {value} of {total}"
            parts.append(_cell(grid_x + column * cell, grid_y + row * cell, cell, value, share, tip))
    parts.append("</svg>\n")
    return "\n".join(parts)


def _cell(x: float, y: float, size: float, value: int, share: float, tip: str) -> str:
    inner = size - _GAP
    # A faint shade still has to be told from none.
    opacity = 0.0 if value == 0 else 0.12 + 0.88 * share
    number = "zero" if value == 0 else "on" if opacity > 0.55 else "number"
    return (
        f'<g><title>{escape(tip)}</title><rect class="empty" x="{x:.1f}" y="{y:.1f}" width="{inner:.1f}" '
        f'height="{inner:.1f}" rx="3"/><rect class="heat" fill-opacity="{opacity:.3f}" x="{x:.1f}" y="{y:.1f}" '
        f'width="{inner:.1f}" height="{inner:.1f}" rx="3"/><text class="{number}" x="{x + inner / 2:.1f}" '
        f'y="{y + inner / 2 + 4:.1f}" text-anchor="middle">{value}</text></g>'
    )


def _column_label(label: str, name: str, x: float, y: float, *, slanted: bool) -> str:
    place = (
        f'transform="translate({x:.1f} {y:.1f}) rotate(-45)" text-anchor="start"'
        if slanted
        else f'x="{x:.1f}" y="{y:.1f}" text-anchor="middle"'
    )
    return f'<text class="label" {place}><title>{escape(name)}</title>{escape(label)}</text>'


def _style() -> str:
    def rules(colours: dict[str, str]) -> str:
        return (
            f".bg{{fill:{colours['bg']}}}.title,.label,.number{{fill:{colours['ink']}}}"
            f".soft,.axis,.zero{{fill:{colours['soft']}}}.on{{fill:{colours['on']}}}"
            f".empty{{fill:none;stroke:{colours['line']}}}.heat{{fill:{colours['heat']}}}"
        )

    return (
        "<style>text{font:11px Inter,system-ui,sans-serif}.title{font-size:15px;font-weight:600}"
        ".soft{font-size:12px}.number,.on,.zero{font-variant-numeric:tabular-nums}"
        f"{rules(_LIGHT)}@media (prefers-color-scheme:dark){{{rules(_DARK)}}}</style>"
    )


def _shorten(name: str) -> str:
    return name if len(name) <= _MAX_LABEL else name[: _MAX_LABEL - 1] + "…"


def _width(title: str, subtitle: str) -> float:
    return max(len(title) * 8.6, len(subtitle) * 7.0)
