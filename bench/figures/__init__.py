"""The figures by group."""

from bench.figures import training
from bench.measure import Measure

FIGURES: dict[str, Measure] = {
    "training": training.measure,
}
