"""Values, formulas, scripts, choices and repetition."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest
import torch

from codefy_engine.graph import Builder
from codefy_engine.graph.document import GraphDocument, parse_graph
from codefy_engine.nodes.base import NodeError
from codefy_engine.nodes.builtin import flow
from codefy_engine.nodes.builtin._expressions import BadExpression, evaluate


def run(cls: Any, params: dict[str, Any] | None = None, /, **inputs: Any) -> Any:
    return cls.create(params, **inputs).run(None)


def test_a_constant_is_what_was_typed() -> None:
    assert run(flow.ConstantValue, {"number": 2.5}) == 2.5
    whole = run(flow.ConstantValue, {"number": 3.0, "whole": True})
    assert whole == 3 and isinstance(whole, int)
    assert run(flow.ConstantValue, {"kind": "text", "text": "a"}) == "a"
    assert run(flow.ConstantValue, {"kind": "bool", "yes": False}) is False
    assert run(flow.ConstantValue, {"kind": "list", "numbers": [1, 2]}) == [1, 2]


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("a + b * 2", 7.0),
        ("(a - b) ** 2 / 4", 1.0),
        ("-a // 2 + 7 % 4", 2.0),
        ("a < b <= 3 and not a == b", True),
        ("a > b or 'yes'", "yes"),
        ("'big' if a > 2 else 'small'", "small"),
        ("m['accuracy'] * 100", 50.0),
        ("[a, b][-1] + len(range(4))", 7.0),
        ("sum([1, 2, 3]) + max(a, b) + min(4, 2)", 11.0),
        ("round(sqrt(2) * sin(pi / 2), 3)", 1.414),
        ("mean([1, 2, 6]) + abs(-1)", 4.0),
        ("2 in [1, 2] and 'x' not in 'abc'", True),
        ("[5, 6, 7, 8][1:3]", [6, 7]),
        ("{'k': a}['k']", 1.0),
    ],
)
def test_a_formula_is_computed(formula: str, value: Any) -> None:
    found = evaluate(formula, {"a": 1.0, "b": 3.0, "m": {"accuracy": 0.5}})
    assert found == value


def test_a_formula_takes_tensors() -> None:
    a, b = torch.tensor([[1.0, 4.0]]), torch.tensor([[2.0], [3.0]])
    assert torch.equal(evaluate("sqrt(a) @ b", {"a": a, "b": b}), a.sqrt() @ b)
    assert evaluate("mean(a) + sum(a)", {"a": a}) == 7.5
    assert evaluate("a[0, 1]", {"a": a}) == 4
    assert math.isnan(evaluate("nan", {}))
    assert evaluate("'%05.1f %s%%' % a", {"a": (2.5, "x")}) == "002.5 x%"
    assert evaluate("'%(k)s%(k)s' % {'k': 7}", {}) == "77"
    assert evaluate("2000000 % 7", {}) == 2000000 % 7


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("__import__('os').system('x')", "not allowed"),
        ("().__class__", "not allowed"),
        ("a.__class__.__mro__", "not allowed"),
        ("open('x')", "no function open"),
        ("eval('1')", "no function eval"),
        ("(lambda: 1)()", "not allowed"),
        ("[x for x in a]", "not allowed"),
        ("f'{a}'", "not allowed"),
        ("a := 2", "no formula"),
        ("a +", "no formula: a"),
        ("", "it is empty"),
        ("c", "c is not known; there are a, pi, e, inf, nan"),
        ("9 ** 99999999", "too many digits"),
        ("[0] * 99999999", "more than 1,000,000 items"),
        ("'%1000000000d' % 1", "more than 1,000,000 items"),
        ("'%-0999999999.2f' % 1", "more than 1,000,000 items"),
        ("'%.1000000000d' % 1", "more than 1,000,000 items"),
        ("('%%' + '%999d' * 2000) % 1", "more than 1,000,000 items"),
        ("('%(k)s' * 1000) % {'k': 'x' * 2000}", "more than 1,000,000 items"),
        ("'%*d' % wide", "more than 1,000,000 items"),
        ("range(99999999)", "1,000,000 at most"),
        ("1 / 0", "division by zero"),
        ("a is a", "only =="),
        ("(" * 70 + "1" + ")" * 70 + "+" + "-" * 70 + "1", "nested too deeply"),
        ("1" * 3000, "at most 2000 characters"),
    ],
)
def test_a_formula_reaches_nothing_else(formula: str, words: str) -> None:
    started = time.perf_counter()
    with pytest.raises(BadExpression, match=words.replace("(", r"\(")):
        evaluate(formula, {"a": 1.0} | ({"wide": (10**9, 1)} if "wide" in formula else {}))
    assert time.perf_counter() - started < 1


def test_expressions_and_scripts_have_the_ports_that_are_named(harness: Any) -> None:
    graph = Builder("ports")
    one = graph.add("ConstantValue", "one", number=3.0)
    formula = graph.add(
        "Expression", "formula", names="width, height", formula="width * height", width=one, height=one
    )
    script = graph.add(
        "PythonScript",
        "script",
        inputs="area",
        outputs="double, where",
        code="double = torch.tensor(area) * 2\nwhere = ctx.node_id\nctx.metric('double', float(double), 1)\n",
        area=formula,
    )
    graph.add("Print", "p", value=script["where"], label="where")
    outcome, kept = harness.execute(graph.build())
    assert outcome.status == "succeeded", outcome.error
    facts = {p["node_id"]: p["outputs"] for p in kept.payloads("node_status") if p["status"] == "succeeded"}
    assert facts["formula"]["result"]["value"] == 9.0
    assert facts["script"]["where"]["summary"] == "script"
    assert [p["value"] for body in kept.metrics for p in body["points"]] == [18.0]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("y = (", "no Python at line 1"),
        ("z = 1", "sets no variable y"),
        ("def f():\n    raise KeyError('inner')\ny = f()", "inner"),
    ],
)
def test_a_script_fails_with_its_own_line(harness: Any, code: str, words: str) -> None:
    graph = Builder("script")
    graph.add("PythonScript", "mine", code=code)
    outcome, _ = harness.execute(graph.build())
    assert outcome.status == "failed"
    assert (outcome.error.node_id, words in outcome.error.message) == ("mine", True)
    if "inner" in words:
        assert "line 2, in f" in outcome.error.traceback
        assert "raise KeyError('inner')" in outcome.error.traceback


def test_a_switch_gives_one_side() -> None:
    assert run(flow.Switch, None, condition=True, yes=1, no=2) == 1
    assert run(flow.Switch, None, condition=torch.tensor(0), yes=1, no=2) == 2
    assert run(flow.Switch, {"choose": False}, yes=1, no=2) == 2
    with pytest.raises(NodeError, match="nothing is wired"):
        run(flow.Switch, None, condition=0.0, yes=1)


def test_an_entry_is_picked_by_its_path() -> None:
    metrics = {"accuracy": 0.5, "history": [{"val_loss": 2.0}, {"val_loss": 1.0}]}
    assert run(flow.PickEntry, None, value=metrics) == 0.5
    assert run(flow.PickEntry, {"entry": "history.-1.val_loss"}, value=metrics) == 1.0
    assert torch.equal(run(flow.PickEntry, {"entry": "1"}, value=torch.eye(2)), torch.tensor([0.0, 1.0]))
    with pytest.raises(NodeError, match="there are accuracy, history"):
        run(flow.PickEntry, {"entry": "loss"}, value=metrics)
    with pytest.raises(NodeError, match="there are 2"):
        run(flow.PickEntry, {"entry": "history.7"}, value=metrics)


def test_a_list_is_made_and_reduced() -> None:
    assert run(flow.MakeList, {"count": 3}, values1=1, values3=3) == [1, 3]
    reduce = flow.ReduceList
    assert run(reduce, {"how": "mean"}, items=[1, 2, 6]) == 3.0
    assert run(reduce, {"how": "sum"}, items=[1, 2]) == 3
    assert run(reduce, {"how": "max"}, items=[1.5, 0.5]) == 1.5
    assert run(reduce, {"how": "std"}, items=[1, 3]) == 1.0
    assert run(reduce, {"how": "argmin"}, items=[3, 1, 2]) == 1
    assert run(reduce, {"how": "last"}, items=["a", "b"]) == "b"
    rows = [torch.tensor([1.0, 4.0]), torch.tensor([3.0, 2.0])]
    assert torch.equal(run(reduce, {"how": "min"}, items=rows), torch.tensor([1.0, 2.0]))
    assert torch.equal(run(reduce, {"how": "stack"}, items=rows), torch.stack(rows))
    assert torch.equal(run(reduce, {"how": "concat"}, items=rows), torch.cat(rows))
    assert run(reduce, {"how": "mean"}, items=torch.tensor([1.0, 2.0])) == 1.5
    assert run(reduce, {"how": "max", "entry": "f1"}, items=[{"f1": 0.25}, {"f1": 0.5}]) == 0.5
    for items, words in (([], "the list is empty"), ([1, "a"], "got int, str"), (3, "a list is needed")):
        with pytest.raises(NodeError, match=words):
            run(reduce, None, items=items)


def mapped(how: str, **params: Any) -> GraphDocument:
    """Squares of a list by a preset with an Expression; ``how`` says what the item goes to."""
    graph = Builder("map")
    items = graph.add("ConstantValue", "items", kind="list", numbers=[1, 2, 3])
    wires: dict[str, Any] = (
        {"shared": graph.add("ConstantValue", "ten", number=10.0)} if how == "input" else {}
    )
    graph.add("MapPreset", "map", items=items, preset="square", goes_to=how, result="y", **wires, **params)
    graph.add(
        "ReduceList", "reduce", items=graph.add("Print", "p", value=graph.add("MakeList", "l", count=1))
    )
    data = __import__("json").loads(graph.to_bytes())
    data["nodes"] = [n for n in data["nodes"] if n["id"] in ("items", "ten", "map")]
    data["edges"] = [e for e in data["edges"] if e["target"] == "map"]
    node = {"id": "f", "type": "Expression", "position": {"x": 0, "y": 0}}
    if how == "input":
        node["data"] = {"params": {"names": "a, b", "formula": "a * a + b"}}
        preset: dict[str, Any] = {
            "nodes": [node],
            "edges": [],
            "inputs": [
                {"name": "item", "node": "f", "port": "a"},
                {"name": "shared", "node": "f", "port": "b"},
            ],
            "outputs": [{"name": "y", "node": "f", "port": "result"}],
        }
    else:
        node = {"id": "f", "type": "ConstantValue", "position": {"x": 0, "y": 0}, "data": {"params": {}}}
        preset = {
            "nodes": [node],
            "edges": [],
            "outputs": [{"name": "y", "node": "f", "port": "value"}],
            "params": [{"name": "item", "node": "f", "param": "number"}],
        }
    data["presets"] = {"square": preset}
    return parse_graph(__import__("json").dumps(data).encode())


@pytest.mark.parametrize(("how", "results"), [("input", [11.0, 14.0, 19.0]), ("param", [1.0, 2.0, 3.0])])
def test_a_preset_is_mapped_over_a_list(harness: Any, how: str, results: list[float]) -> None:
    seen: list[Any] = []
    document = mapped(how)
    original = flow.MapPreset.run

    def spy(self: Any, ctx: Any) -> Any:
        seen.append(original(self, ctx))
        return seen[-1]

    flow.MapPreset.run = spy  # type: ignore[method-assign]
    try:
        outcome, kept = harness.execute(document)
    finally:
        flow.MapPreset.run = original  # type: ignore[method-assign]
    assert outcome.status == "succeeded", outcome.error
    assert seen == [results]
    inner = kept.payloads("inner_node_status")
    ended = [item["path"] for item in inner if item["status"] == "succeeded"]
    assert ended == [[f"item {n}", "f"] for n in (1, 2, 3)]


def test_a_map_names_what_its_preset_lacks(harness: Any) -> None:
    outcome, _ = harness.execute(mapped("input", item="nothing"))
    assert "no input 'nothing'" in outcome.error.message
    document = mapped("input")
    document.nodes[[n.id for n in document.nodes].index("map")].data.params["result"] = "z"
    outcome, _ = harness.execute(document)
    assert "no output 'z'; it has y" in outcome.error.message
