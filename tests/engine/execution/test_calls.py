"""A node that executes a preset by itself, such as once for each item."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from codefy_engine.graph import parse_graph, validate_graph
from codefy_engine.nodes.base import Node, NodeContext, RunStopped, node, output, param


@node(type="Each", title="Each", category="tests", icon="repeat")
class Each(Node):
    """Execute a preset for 0, 1, 2."""

    preset: str = param("", kind="preset")
    amount: float | None = param(None)
    port: str = param("x")
    values: list[Any] = output("any")

    def run(self, ctx: NodeContext) -> Any:
        params = {} if self.amount is None else {"amount": self.amount}
        return [
            ctx.call(self.preset, {self.port: float(item)}, params, label=f"item {item}")["y"]
            for item in range(3)
        ]


def node_(node_id: str, type: str, **params: Any) -> dict[str, Any]:
    return {"id": node_id, "type": type, "data": {"params": params}}


def graph(presets: dict[str, Any] | None = None, **params: Any) -> Any:
    add = {
        "nodes": [node_("k", "Constant", number=10), node_("add", "Sum")],
        "edges": [{"source": "k", "sourceHandle": "value", "target": "add", "targetHandle": "b"}],
        "inputs": [{"name": "x", "node": "add", "port": "a"}],
        "outputs": [{"name": "y", "node": "add", "port": "value"}],
        "params": [{"name": "amount", "node": "k", "param": "number"}],
    }
    raw = {
        "nodes": [node_("each", "Each", preset="add", **params)],
        "presets": {"add": add, **(presets or {})},
    }
    return parse_graph(json.dumps(raw).encode())


def values(kept: Any) -> Any:
    return kept.payloads("node_status")[-1]["outputs"]["values"]


def test_a_preset_runs_once_for_each_item(harness: Any) -> None:
    seen: list[Any] = []

    class Watched(Each):
        """Watched."""

        def run(self, ctx: NodeContext) -> Any:
            seen.append(super().run(ctx))
            return seen[-1]

    watched = node(type="Each", title="Each", category="tests", icon="x")(Watched)
    outcome, kept = harness.execute(graph(), nodes=[watched])
    assert outcome.status == "succeeded", outcome.error
    harness.execute(graph(amount=1), nodes=[watched])
    assert seen == [[10, 11, 12], [1, 2, 3]]
    inner = kept.payloads("inner_node_status")
    assert [(item["path"], item["status"]) for item in inner[:4]] == [
        (["item 0", "k"], "running"),
        (["item 0", "k"], "succeeded"),
        (["item 0", "add"], "running"),
        (["item 0", "add"], "succeeded"),
    ]
    assert len(inner) == 12


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"port": "z"}, "has no input 'z'; it has: x"),
        ({"amount": 1e9}, "expected a number from -100 to 100"),
    ],
)
def test_what_does_not_fit_the_preset_is_the_nodes_failure(
    harness: Any, params: dict[str, Any], words: str
) -> None:
    outcome, _ = harness.execute(graph(**params), nodes=[Each])
    assert outcome.error.node_id == "each"
    assert words in outcome.error.message


def test_an_error_inside_names_the_inner_node(harness: Any) -> None:
    bad = {"nodes": [node_("bad", "Fail")], "outputs": [{"name": "y", "node": "bad", "port": "out"}],
           "inputs": [{"name": "x", "node": "bad", "port": "value"}]}  # fmt: skip
    outcome, kept = harness.execute(graph({"add": bad}), nodes=[Each])
    assert outcome.error.node_id == "each"
    assert "in each/item 0/bad (Fail)" in outcome.error.traceback
    assert kept.payloads("inner_node_status") == [
        {"node_id": "each", "path": ["item 0", "bad"], "status": status} for status in ("running", "failed")
    ]


def test_a_stop_takes_effect_between_two_nodes(harness: Any) -> None:
    stop = threading.Event()

    def run(self: Any, ctx: NodeContext) -> Any:
        stop.set()
        with pytest.raises(RunStopped):
            ctx.call(self.preset, {"x": 1.0})
        ctx.check_stop()

    stopping = node(type="Each", title="Each", category="tests", icon="x")(
        type("Stopping", (Each,), {"__doc__": "Doc.", "run": run})
    )
    outcome, _ = harness.execute(graph(), nodes=[stopping], stop=stop)
    assert outcome.status == "cancelled"


def test_validation_looks_inside(harness: Any) -> None:
    registry = harness.registry(Each)
    bad = {"nodes": [node_("c", "Constant", number=1e9), node_("e", "Each", preset="add")]}
    found = [(p.code, p.node_id) for p in validate_graph(graph({"add": bad}), registry)]
    assert found == [("param_invalid", "each/c"), ("preset_cycle", "each/e")]
    document = graph()
    document.presets.clear()
    assert [(p.code, p.node_id) for p in validate_graph(document, registry)] == [("unknown_preset", "each")]
