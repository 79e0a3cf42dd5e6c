"""What a figure is, how it is judged, and the clockwork for measuring processes.

A machine is never as quick today as it was yesterday, so figures are no absolute times: each round measures the thing
and its floor next to each other, and the ratio of the two is what has a goal. The noise is half the spread of the
middle half of the rounds' ratios; a goal is missed only by more than that. What was promised in seconds or MiB has that
as a second goal, which the best round has to reach: what else the machine did can only have added to the others.
"""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
GOALS = Path(__file__).parent / "goals.toml"


@dataclass(frozen=True)
class Goal:
    """The bound on a ratio: ``at_most`` for times and sizes, ``at_least`` for rates.

    ``value_at_most`` bounds the measured value itself, in the figure's unit.
    """

    at_most: float | None = None
    at_least: float | None = None
    value_at_most: float | None = None

    def words(self, unit: str) -> str:
        """The goal of a figure in ``unit``: ``≤ 1.6, ≤ 90 MiB``."""
        ratio = f"≤ {self.at_most:g}" if self.at_most is not None else f"≥ {self.at_least:g}"
        return ratio if self.value_at_most is None else f"{ratio}, ≤ {self.value_at_most:g} {unit}"

    def held(self, figure: Figure) -> bool:
        """Whether the figure's ratio holds the goal, give or take its noise, and its best value the other one."""
        if self.value_at_most is not None and min(value for value, _ in figure.rounds) > self.value_at_most:
            return False
        if self.at_most is not None:
            return figure.ratio - figure.noise <= self.at_most
        assert self.at_least is not None
        return figure.ratio + figure.noise >= self.at_least


@dataclass(frozen=True)
class Figure:
    """One measured figure: rounds of (value, floor) in ``unit``."""

    name: str
    what: str
    floor: str
    unit: str
    rounds: Sequence[tuple[float, float]]

    @property
    def value(self) -> float:
        return statistics.median(value for value, _ in self.rounds)

    @property
    def floor_value(self) -> float:
        return statistics.median(floor for _, floor in self.rounds)

    @property
    def ratios(self) -> list[float]:
        return sorted(value / floor for value, floor in self.rounds)

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)

    @property
    def noise(self) -> float:
        ratios = self.ratios
        if len(ratios) < 4:
            return (ratios[-1] - ratios[0]) / 2
        quarters = statistics.quantiles(ratios, n=4)
        return (quarters[2] - quarters[0]) / 2


Measure = Callable[[], list[Figure]]


class NotMeasured(Exception):
    """A figure cannot be measured here; the message says what is missing. The others can."""


def goals() -> dict[str, Goal]:
    """The goals by figure name."""
    return {name: Goal(**table) for name, table in tomllib.loads(GOALS.read_text()).items()}


def process_environment() -> dict[str, str]:
    """The environment of measured processes: one thread for numerics, no bytecode surprises."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}


def seconds_of(command: Sequence[str]) -> float:
    """Wall seconds of one whole process.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=process_environment())
    return time.perf_counter() - started


def alternate(
    rounds: int, value: Callable[[], float], floor: Callable[[], float]
) -> list[tuple[float, float]]:
    """Both in turns, the order swapped every round, so that a slow minute hits both, and no garbage of the other."""
    found: list[tuple[float, float]] = []
    for index in range(rounds):
        gc.collect()
        if index % 2:
            first = value()
            found.append((first, floor()))
        else:
            base = floor()
            found.append((value(), base))
    return found


def idle_mib(code: str) -> float:
    """Resident memory of an idle interpreter that has executed ``code``."""
    process = subprocess.Popen(
        [sys.executable, "-c", code + "; print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=process_environment(),
    )
    assert process.stdout is not None
    process.stdout.readline()
    try:
        return resident_mib(process.pid)
    finally:
        process.communicate(b"\n")


def resident_mib(pid: int) -> float:
    """Resident memory of a process in MiB (Linux)."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Rss:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"/proc/{pid}/smaps_rollup names no Rss")
