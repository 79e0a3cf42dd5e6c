"""What a figure is, how it is judged, and the clockwork for measuring processes.

A machine is never as quick today as it was yesterday, so no figure is an absolute time: each round measures the thing
and its floor next to each other, and the ratio of the two is what has a goal. The noise is half the spread of the
middle half of the rounds' ratios; a goal is missed only by more than that.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
GOALS = Path(__file__).parent / "goals.toml"


@dataclass(frozen=True)
class Goal:
    """The bound on a ratio: ``at_most`` for times and sizes, ``at_least`` for rates."""

    at_most: float | None = None
    at_least: float | None = None

    def __str__(self) -> str:
        return f"≤ {self.at_most:g}" if self.at_most is not None else f"≥ {self.at_least:g}"

    def held(self, ratio: float, noise: float) -> bool:
        """Whether ``ratio`` holds the goal, give or take ``noise``."""
        if self.at_most is not None:
            return ratio - noise <= self.at_most
        assert self.at_least is not None
        return ratio + noise >= self.at_least


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


def resident_mib(pid: int) -> float:
    """Resident memory of a process in MiB (Linux)."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Rss:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"/proc/{pid}/smaps_rollup names no Rss")
