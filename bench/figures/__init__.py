"""The figures by group."""

from bench.figures import agent, events, graph, lightning, scheduling, serve, start, training, web
from bench.measure import Measure

FIGURES: dict[str, Measure] = {
    "agent": agent.measure,
    "serve": serve.measure,
    "start": start.measure,
    "events": events.measure,
    "graph": graph.measure,
    "training": training.measure,
    "lightning": lightning.measure,
    "scheduling": scheduling.measure,
    "web": web.measure,
}
