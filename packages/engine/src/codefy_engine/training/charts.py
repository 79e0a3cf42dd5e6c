"""Small charts as SVG, readable on light and dark pages. Pure: numbers in, text out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT = 520, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 16, 46, 44
_COLOURS = 8
_LIGHT = ("#FFFFFF", "#1A1B1E", "#64656B", "#DEDAD1", "#134A86")
_DARK = ("#1E2023", "#ECEBE7", "#9D9EA5", "#363940", "#93C5FA")
_HUES_LIGHT = ("#1F6FC4", "#C2410C", "#15803D", "#7E22CE", "#B91C1C", "#0E7490", "#A16207", "#BE185D")
_HUES_DARK = ("#7CB8F5", "#FB923C", "#4ADE80", "#C4A1F5", "#F87171", "#67E0EE", "#FACC15", "#F472B6")

Points = Sequence[tuple[float, float]]


def line_chart(series: Sequence[tuple[str, Points]], *, title: str, x: str = "", y: str = "") -> str:
    """One line per series; points that are not finite break it.

    Raises:
        ValueError: there is no finite point.
    """
    frame = _Frame([point for _, points in series for point in points], title, x, y)
    parts = frame.head()
    for index, (name, points) in enumerate(series):
        pieces: list[list[str]] = [[]]
        for px, py in points:
            if math.isfinite(px) and math.isfinite(py):
                pieces[-1].append(f"{frame.x(px):.1f},{frame.y(py):.1f}")
            elif pieces[-1]:
                pieces.append([])
        for piece in pieces:
            if len(piece) == 1:
                cx, cy = piece[0].split(",")
                parts.append(f'<circle class="f{index % _COLOURS}" cx="{cx}" cy="{cy}" r="2.5"/>')
            elif piece:
                parts.append(
                    f'<polyline class="s{index % _COLOURS}" points="{" ".join(piece)}">'
                    f"<title>{escape(name)}</title></polyline>"
                )
    return frame.finish(parts, [name for name, _ in series])


def scatter_chart(groups: Sequence[tuple[str, Points]], *, title: str, x: str = "", y: str = "") -> str:
    """One colour per group.

    Raises:
        ValueError: there is no finite point.
    """
    frame = _Frame([point for _, points in groups for point in points], title, x, y)
    parts = frame.head()
    for index, (name, points) in enumerate(groups):
        shown = escape(name)
        for px, py in points:
            if math.isfinite(px) and math.isfinite(py):
                parts.append(
                    f'<circle class="f{index % _COLOURS}" fill-opacity=".75" cx="{frame.x(px):.1f}" '
                    f'cy="{frame.y(py):.1f}" r="3"><title>{shown}</title></circle>'
                )
    return frame.finish(parts, [name for name, _ in groups])


def bar_chart(bars: Sequence[tuple[float, float, float]], *, title: str, x: str = "", y: str = "") -> str:
    """Bars as ``(from, to, height)``: a histogram.

    Raises:
        ValueError: there is no bar.
    """
    corners = [(edge, height) for low, high, height in bars for edge in (low, high)]
    frame = _Frame([*corners, *((low, 0.0) for low, _, _ in bars)], title, x, y, margin=False)
    parts = frame.head()
    zero = frame.y(0.0)
    for low, high, height in bars:
        left, right, top = frame.x(low), frame.x(high), frame.y(height)
        tip = f"{_number(low)} to {_number(high)}: {_number(height)}"
        parts.append(
            f'<rect class="f0" x="{left + 0.5:.1f}" y="{min(top, zero):.1f}" '
            f'width="{max(0.5, right - left - 1):.1f}" height="{abs(zero - top):.1f}"><title>{tip}</title></rect>'
        )
    return frame.finish(parts, [])


def heat_map(
    rows: Sequence[Sequence[float]],
    *,
    title: str,
    row_names: Sequence[str] = (),
    column_names: Sequence[str] = (),
) -> str:
    """A cell per number: the deeper, the larger its share of the range; numbers are written when there is room.

    Raises:
        ValueError: there is no number, or rows differ in length.
    """
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise ValueError("a heat map needs rows of equal length")
    finite = [value for row in rows for value in row if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    span = high - low or 1.0
    names = [name[:16] for name in row_names]
    left = 16 + (max((len(name) for name in names), default=0) * 6.6 + 8 if names else 0)
    top = _TOP + (16 if column_names else 0)
    cell = max(6.0, min(40.0, (WIDTH - left - 16) / len(rows[0]), 560 / len(rows)))
    width, height = max(left + cell * len(rows[0]) + 16, 240), top + cell * len(rows) + 34
    parts = [*_open(width, height, title)]
    for r, row in enumerate(rows):
        if r < len(names):
            parts.append(
                f'<text class="tick" x="{left - 6:.1f}" y="{top + (r + 0.5) * cell + 4:.1f}" '
                f'text-anchor="end">{escape(names[r])}</text>'
            )
        for c, value in enumerate(row):
            share = (value - low) / span if math.isfinite(value) else 0.0
            px, py = left + c * cell, top + r * cell
            parts.append(
                f'<rect class="heat" fill-opacity="{0.06 + 0.94 * share:.3f}" x="{px:.1f}" y="{py:.1f}" '
                f'width="{cell - 1:.1f}" height="{cell - 1:.1f}"><title>{r}, {c}: {_number(value)}</title></rect>'
            )
            text = _number(value)
            if cell >= 26 and len(text) * 5.8 <= cell:
                tone = "on" if share > 0.55 else "tick ink"
                parts.append(
                    f'<text class="{tone}" x="{px + cell / 2:.1f}" y="{py + cell / 2 + 4:.1f}" '
                    f'text-anchor="middle">{text}</text>'
                )
    for c, name in enumerate(column_names[: len(rows[0])]):
        parts.append(
            f'<text class="tick" x="{left + (c + 0.5) * cell:.1f}" y="{top - 6}" text-anchor="middle">'
            f"{escape(name[: max(2, int(cell / 6))])}</text>"
        )
    parts.append(
        f'<text class="tick" x="{left:.1f}" y="{height - 12:.1f}">{_number(low)} (pale) to {_number(high)} (deep)'
        "</text></svg>\n"
    )
    return "\n".join(parts)


class _Frame:
    """Axes with ticks at round numbers around the data."""

    def __init__(self, points: Points, title: str, x: str, y: str, *, margin: bool = True) -> None:
        finite = [(px, py) for px, py in points if math.isfinite(px) and math.isfinite(py)]
        if not finite:
            raise ValueError("there is nothing to draw: no point is finite")
        self.title, self.x_name, self.y_name = title, x, y
        self.low_x, self.high_x = _range([px for px, _ in finite], margin)
        self.low_y, self.high_y = _range([py for _, py in finite], True)
        if not margin:
            self.low_y = min(0.0, self.low_y if min(py for _, py in finite) < 0 else 0.0)

    def x(self, value: float) -> float:
        return _LEFT + (value - self.low_x) / (self.high_x - self.low_x) * (WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        return (
            HEIGHT - _BOTTOM - (value - self.low_y) / (self.high_y - self.low_y) * (HEIGHT - _TOP - _BOTTOM)
        )

    def head(self) -> list[str]:
        parts = _open(WIDTH, HEIGHT, self.title)
        for tick in ticks(self.low_x, self.high_x):
            px = self.x(tick)
            parts.append(f'<path class="grid" d="M{px:.1f} {_TOP}V{HEIGHT - _BOTTOM}"/>')
            parts.append(
                f'<text class="tick" x="{px:.1f}" y="{HEIGHT - _BOTTOM + 15}" text-anchor="middle">'
                f"{_number(tick)}</text>"
            )
        for tick in ticks(self.low_y, self.high_y):
            py = self.y(tick)
            parts.append(f'<path class="grid" d="M{_LEFT} {py:.1f}H{WIDTH - _RIGHT}"/>')
            parts.append(
                f'<text class="tick" x="{_LEFT - 6}" y="{py + 4:.1f}" text-anchor="end">{_number(tick)}</text>'
            )
        return parts

    def finish(self, parts: list[str], names: Sequence[str]) -> str:
        if self.x_name:
            parts.append(
                f'<text class="tick" x="{(WIDTH + _LEFT - _RIGHT) / 2:.0f}" y="{HEIGHT - 10}" '
                f'text-anchor="middle">{escape(self.x_name)}</text>'
            )
        if self.y_name:
            parts.append(
                f'<text class="tick" transform="translate(14 {(HEIGHT + _TOP - _BOTTOM) / 2:.0f}) rotate(-90)" '
                f'text-anchor="middle">{escape(self.y_name)}</text>'
            )
        left = WIDTH - _RIGHT
        for index in range(min(len(names), _COLOURS) - 1, -1, -1):
            if len(names) == 1:
                break
            shown = names[index] if len(names[index]) <= 18 else names[index][:17] + "…"
            left -= len(shown) * 6.4
            if left < _LEFT + len(self.title) * 8.2 + 20:
                break
            parts.append(f'<text class="tick" x="{left:.0f}" y="38">{escape(shown)}</text>')
            left -= 12
            parts.append(f'<circle class="f{index}" cx="{left + 5:.0f}" cy="34" r="4"/>')
            left -= 10
        parts.append("</svg>\n")
        return "\n".join(parts)


def ticks(low: float, high: float, wanted: int = 6) -> list[float]:
    """About ``wanted`` round numbers from ``low`` to ``high``."""
    raw = (high - low) / wanted
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next((unit * factor for factor in (1, 2, 5) if unit * factor >= raw), unit * 10)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def _range(values: Sequence[float], margin: bool) -> tuple[float, float]:
    low, high = min(values), max(values)
    if high == low:
        half = abs(low) / 2 or 0.5
        return low - half, high + half
    room = (high - low) * 0.05 if margin else 0.0
    return low - room, high + room


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"
    return f"{value:.4g}"


def _open(width: float, height: float, title: str) -> list[str]:
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(title)}">',
        _style(),
        f'<rect class="bg" width="{width:.0f}" height="{height:.0f}" rx="8"/>',
        f'<text class="title" x="16" y="28">{escape(title)}</text>',
    ]


def _style() -> str:
    def rules(colours: Sequence[str], hues: Sequence[str]) -> str:
        background, ink, soft, line, heat = colours
        series = "".join(
            f".s{index}{{fill:none;stroke:{hue};stroke-width:1.8}}.f{index}{{fill:{hue}}}"
            for index, hue in enumerate(hues)
        )
        return (
            f".bg{{fill:{background}}}.title,.ink{{fill:{ink}}}.tick{{fill:{soft}}}.tick.ink{{fill:{ink}}}"
            f".on{{fill:{background}}}.grid{{stroke:{line};fill:none}}.heat{{fill:{heat}}}{series}"
        )

    return (
        "<style>text{font:11px Inter,system-ui,sans-serif}.title{font-size:15px;font-weight:600}"
        f"{rules(_LIGHT, _HUES_LIGHT)}@media (prefers-color-scheme:dark){{{rules(_DARK, _HUES_DARK)}}}</style>"
    )
