"""The figures by group."""

from bench.figures import graph, training
from bench.measure import Measure

FIGURES: dict[str, Measure] = {
    "graph": graph.measure,
    "training": training.measure,
}
