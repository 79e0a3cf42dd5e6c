"""A graph written in Python, and the order in which a graph is executed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefy_engine.graph import Builder, canonical_bytes, parse_graph
from codefy_engine.graph.plan import Source, plan_graph, plan_subgraph, topological_order
from codefy_engine.nodes.registry import Registry


def test_keywords_are_wires_or_parameters(registry: Registry) -> None:
    builder = Builder("sum", description="adds", device="cpu", seed=4, registry=registry)
    one = builder.add("Constant", number=3)
    pair = builder.add("Pair", "p").labelled("My pair")
    builder.add("Sum", "s", a=one, b=pair["value"])
    document = parse_graph(builder.to_bytes())
    assert (document.name, document.description) == ("sum", "adds")
    assert (document.settings.device, document.settings.seed) == ("cpu", 4)
    assert [(node.id, node.type) for node in document.nodes] == [
        ("constant", "Constant"),
        ("p", "Pair"),
        ("s", "Sum"),
    ]
    assert document.nodes[0].data.params == {"number": 3}
    assert document.nodes[1].data.label == "My pair"
    assert [(e.source, e.source_handle, e.target, e.target_handle) for e in document.edges] == [
        ("constant", "value", "s", "a"),
        ("p", "value", "s", "b"),
    ]
    assert canonical_bytes(document) == builder.to_bytes()


def test_nodes_are_called_after_their_type_and_laid_out(registry: Registry) -> None:
    builder = Builder(registry=registry)
    ids = [builder.add(type).id for type in ("Constant", "Constant", "Conv2d", "CrossEntropyLoss")]
    assert ids == ["constant", "constant_2", "conv2d", "cross_entropy_loss"]
    positions = {(node.position.x, node.position.y) for node in builder.build().nodes}
    assert len(positions) == 4
    with pytest.raises(ValueError, match="a node 'constant' already"):
        builder.add("Constant", "constant")


def test_a_node_with_several_outputs_needs_a_name(registry: Registry) -> None:
    builder = Builder(registry=registry)
    with pytest.raises(ValueError, match="has the outputs metrics, value"):
        builder.add("Sum", a=builder.add("Pair"))


def test_a_subgraph(registry: Registry) -> None:
    builder = Builder(registry=registry)
    net = builder.subgraph("net")
    entry = net.add("ModuleInput", "in")
    net.add("ModuleOutput", "out", x=net.add("ReLU", "relu", x=entry))
    builder.add("Module", "model", subgraph="net")
    document = builder.build()
    plan = plan_subgraph(document, "net", registry)
    assert [planned.id for planned in plan.nodes] == ["in", "relu", "out"]
    assert plan.nodes[2].inputs == {"x": Source("relu", "y")}
    assert builder.subgraph("net") is net
    with pytest.raises(KeyError):
        plan_subgraph(document, "other", registry)


def test_a_cycle_can_be_wired_and_is_for_validation_to_find(registry: Registry) -> None:
    builder = Builder(registry=registry)
    first = builder.add("Sum", "first")
    second = builder.add("Sum", "second", a=first)
    builder.wire(second, first, "a")
    assert len(builder.build().edges) == 2


def test_a_plan_decodes_parameters_and_fills_in_defaults(registry: Registry) -> None:
    builder = Builder(registry=registry)
    builder.add("Constant", "one", number=7)
    builder.add("Constant", "two").labelled("Second")
    plan = plan_graph(builder.build(), registry)
    assert [dict(planned.params) for planned in plan.nodes] == [{"number": 7.0}, {"number": 1.0}]
    assert [planned.title for planned in plan.nodes] == ["Constant", "Second"]
    assert plan.by_id()["two"].create().number == 1.0  # type: ignore[attr-defined]  # a Constant


def test_the_documents_order_breaks_ties() -> None:
    assert topological_order(4, []) == [0, 1, 2, 3]
    assert topological_order(4, [(3, 0)]) == [1, 2, 3, 0]
    assert topological_order(4, [(3, 0), (0, 1)]) == [2, 3, 0, 1]
    assert topological_order(3, [(0, 1), (1, 0)]) == [2]


@given(st.data())
def test_every_source_comes_before_its_targets(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 12))
    names = data.draw(st.permutations(range(count)))
    pairs = data.draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=30))
    edges = [(names[min(pair)], names[max(pair)]) for pair in pairs if pair[0] != pair[1]]
    order = topological_order(count, edges)
    assert sorted(order) == list(range(count))
    place = {step: index for index, step in enumerate(order)}
    assert all(place[source] < place[target] for source, target in edges)
    # The lowest of what is ready goes first.
    done: set[int] = set()
    for step in order:
        ready = [i for i in range(count) if i not in done and all(a in done for a, b in edges if b == i)]
        assert step == min(ready)
        done.add(step)
