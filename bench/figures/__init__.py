"""The figures by group."""

from bench.figures import agent, events, graph, start, training, web
from bench.measure import Measure

FIGURES: dict[str, Measure] = {
    "agent": agent.measure,
    "start": start.measure,
    "events": events.measure,
    "graph": graph.measure,
    "training": training.measure,
    "web": web.measure,
}
