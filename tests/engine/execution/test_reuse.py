"""What a session's next run does not do again, and running to a chosen node (G-4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codefy_engine.execution.cache import ResultCache, result_of, size_of, stamp_of
from codefy_engine.execution.state import ExecutionState
from codefy_engine.graph import Builder, parse_graph
from codefy_engine.nodes.base import Node, NodeContext, Secret, input, node, output, param
from codefy_protocol.names import RunOptions

RAN: list[str] = []


@node(type="Add", title="Add", category="tests", icon="plus")
class Add(Node):
    """Add a number."""

    x: Any = input("value", required=False)
    amount: float = param(1.0)
    value: Any = output("value")

    def run(self, ctx: NodeContext) -> Any:
        RAN.append(ctx.node_id)
        return (self.x or 0) + self.amount


@node(type="Chance", title="Chance", category="tests", icon="dice")
class Chance(Node):
    """Use the seed."""

    value: Any = output("value")

    def run(self, ctx: NodeContext) -> Any:
        RAN.append(ctx.node_id)
        return ctx.seed or 0


@node(type="Clock", title="Clock", category="tests", icon="clock", deterministic=False)
class Clock(Node):
    """Never the same."""

    value: Any = output("value")

    def run(self, ctx: NodeContext) -> Any:
        RAN.append(ctx.node_id)
        return len(RAN)


@node(type="ReadFile", title="Read", category="tests", icon="file")
class ReadFile(Node):
    """Read a file."""

    path: str = param("", kind="file")
    value: Any = output("value")

    def run(self, ctx: NodeContext) -> Any:
        RAN.append(ctx.node_id)
        return (ctx.files_dir / self.path).read_text()


@node(type="WriteArtifact", title="Write", category="tests", icon="file")
class WriteArtifact(Node):
    """Write an artifact and give its path."""

    value: Any = output("value")

    def run(self, ctx: NodeContext) -> Any:
        RAN.append(ctx.node_id)
        path = ctx.artifact_path("a.txt")
        path.write_text("a")
        ctx.artifact("text", "a.txt", path)
        return str(path)


@node(type="UseSecret", title="Use a secret", category="tests", icon="key")
class UseSecret(Node):
    """Use a secret."""

    token: Secret | None = param(None, kind="secret")
    value: Any = output("value")

    def run(self, ctx: NodeContext) -> Any:
        RAN.append(ctx.node_id)
        return len(ctx.secret(self.token))


@node(type="Weights", title="Weights", category="tests", icon="scale")
class Weights(Node):
    """Count how often it was asked."""

    start: int = param(0)
    value: Any = output("value")

    def run(self, ctx: NodeContext) -> Any:
        kept = ctx.persistent("count", lambda: [self.start])
        kept[0] += 1
        return kept[0]


NODES = (Add, Chance, Clock, ReadFile, WriteArtifact, UseSecret, Weights)


@pytest.fixture(autouse=True)
def forget() -> None:
    RAN.clear()


@pytest.fixture
def runs(harness: Any, one_at_a_time: None) -> Any:
    state = ExecutionState()

    def run(graph: Any, **fields: Any) -> tuple[list[str], dict[str, str]]:
        """Which nodes did work, and every node's last status."""
        RAN.clear()
        fields.setdefault("state", state)
        outcome, kept = harness.execute(graph.build(), nodes=NODES, **fields)
        assert outcome.status == "succeeded", outcome.error
        return list(RAN), kept.last_status()

    return run


def chain(harness: Any, **amounts: float) -> Any:
    graph = Builder(registry=harness.registry(*NODES))
    a = graph.add("Add", "a", amount=amounts.get("a", 1))
    b = graph.add("Add", "b", x=a, amount=amounts.get("b", 1))
    graph.add("Add", "c", x=b, amount=amounts.get("c", 1))
    graph.add("Add", "alone", amount=amounts.get("alone", 1))
    return graph


def test_nothing_runs_twice_and_a_change_runs_what_follows_it(harness: Any, runs: Any) -> None:
    assert runs(chain(harness))[0] == ["a", "b", "c", "alone"]
    ran, statuses = runs(chain(harness))
    assert ran == []
    assert set(statuses.values()) == {"reused"}
    ran, statuses = runs(chain(harness, b=5))
    assert ran == ["b", "c"]
    assert statuses == {"a": "reused", "b": "succeeded", "c": "succeeded", "alone": "reused"}
    # What was there before is still known.
    assert runs(chain(harness))[0] == []


def test_a_reused_node_tells_its_outputs_and_hands_them_on(harness: Any, runs: Any) -> None:
    runs(chain(harness))
    outcome, kept = harness.execute(
        chain(harness, c=10).build(), nodes=NODES, state=(state := ExecutionState())
    )
    first = kept.payloads("node_status")
    _, kept = harness.execute(chain(harness, c=10).build(), nodes=NODES, state=state)
    reused = kept.payloads("node_status")
    assert [item["outputs"] for item in reused] == [item["outputs"] for item in first if "outputs" in item]
    assert all("duration_s" not in item for item in reused)
    _, kept = harness.execute(chain(harness, c=20).build(), nodes=NODES, state=state)
    (last,) = [item for item in kept.payloads("node_status") if item["node_id"] == "c" and "outputs" in item]
    assert last["outputs"]["value"]["value"] == 22
    assert outcome.status == "succeeded"


def test_without_a_session_everything_runs(harness: Any, runs: Any) -> None:
    assert (
        runs(chain(harness), state=None)[0] == runs(chain(harness), state=None)[0] == ["a", "b", "c", "alone"]
    )


def test_another_seed_or_wire_runs_anew(harness: Any, runs: Any) -> None:
    runs(chain(harness), options=RunOptions(seed=1))
    assert runs(chain(harness), options=RunOptions(seed=1))[0] == []
    assert runs(chain(harness), options=RunOptions(seed=2))[0] == ["a", "b", "c", "alone"]
    graph = Builder(registry=harness.registry(*NODES))
    a = graph.add("Add", "a")
    graph.add("Add", "b", amount=1)
    graph.add("Add", "c", x=a)
    assert runs(graph, options=RunOptions(seed=1))[0] == ["b", "c"]


def test_chance_without_a_seed_is_not_reused_nor_what_follows(harness: Any, runs: Any) -> None:
    graph = Builder(registry=harness.registry(*NODES))
    graph.add("Add", "after", x=graph.add("Chance", "chance"))
    graph.add("Add", "alone")
    assert runs(graph)[0] == ["chance", "after", "alone"]
    assert runs(graph)[0] == ["chance", "after"]
    assert runs(graph, options=RunOptions(seed=0))[0] == ["chance", "after", "alone"]
    assert runs(graph, options=RunOptions(seed=0))[0] == []


def test_a_node_that_is_not_deterministic_always_runs(harness: Any, runs: Any) -> None:
    graph = Builder(registry=harness.registry(*NODES))
    graph.add("Add", "after", x=graph.add("Clock", "clock"))
    assert runs(graph)[0] == runs(graph)[0] == ["clock", "after"]


def test_a_changed_file_is_read_again(harness: Any, runs: Any) -> None:
    folder = harness.folder / "files"
    folder.mkdir()
    (folder / "f.txt").write_text("one")
    graph = Builder(registry=harness.registry(*NODES))
    graph.add("ReadFile", "read", path="f.txt")
    assert runs(graph)[0] == ["read"]
    assert runs(graph)[0] == []
    (folder / "f.txt").write_text("three")
    assert runs(graph)[0] == ["read"]


def test_a_lost_artifact_is_made_again(harness: Any, runs: Any) -> None:
    graph = Builder(registry=harness.registry(*NODES))
    graph.add("WriteArtifact", "w")
    runs(graph)
    assert runs(graph)[0] == []
    for path in Path(harness.folder).rglob("a.txt"):
        path.unlink()
    assert runs(graph)[0] == ["w"]


def test_a_reused_node_tells_its_metrics_and_files_again(harness: Any, tmp_path: Path) -> None:
    @node(type="Tells", title="Tells", category="tests", icon="x")
    class Tells(Node):
        """Tell things."""

        value: Any = output("value")

        def run(self, ctx: NodeContext) -> Any:
            ctx.metric("loss", 0.5, 1)
            path = ctx.artifact_path("a.txt")
            path.write_text("hello")
            ctx.artifact("text", "a.txt", path)
            return 1

    graph = Builder(registry=harness.registry(Tells))
    graph.add("Tells", "t")
    state = ExecutionState()
    told: list[Any] = []
    for folder in ("one", "two"):
        harness.folder = tmp_path / folder
        outcome, kept = harness.execute(graph.build(), nodes=[Tells], state=state)
        assert outcome.status == "succeeded", outcome.error
        assert (tmp_path / folder / "run" / kept.artifacts[0]["path"]).read_text() == "hello"
        told.append((kept.metrics, kept.artifacts))
    assert kept.last_status() == {"t": "reused"}
    assert told[0] == told[1]


def test_a_node_that_used_a_secret_is_not_reused(harness: Any, runs: Any) -> None:
    graph = Builder(registry=harness.registry(*NODES))
    graph.add("UseSecret", "s", token={"secret": "KEY"})
    assert runs(graph, secrets={"KEY": "12345"})[0] == ["s"]
    assert runs(graph, secrets={"KEY": "123456"})[0] == ["s"]


def test_a_result_changed_in_place_is_not_reused(harness: Any, runs: Any) -> None:
    import torch

    @node(type="Ones", title="Ones", category="tests", icon="x")
    class Ones(Node):
        """A tensor of ones."""

        value: Any = output("tensor")

        def run(self, ctx: NodeContext) -> Any:
            RAN.append(ctx.node_id)
            return torch.ones(2)

    @node(type="Spoil", title="Spoil", category="tests", icon="x", deterministic=False)
    class Spoil(Node):
        """Change the input."""

        x: Any = input("tensor")

        def run(self, ctx: NodeContext) -> Any:
            self.x.add_(1)

    graph = Builder(registry=harness.registry(Ones, Spoil))
    graph.add("Spoil", "spoil", x=graph.add("Ones", "ones"))
    state = ExecutionState()
    for _ in range(2):
        RAN.clear()
        harness.execute(graph.build(), nodes=(Ones, Spoil), state=state)
        assert RAN == ["ones"]


def test_the_store_is_bounded_and_lets_go_of_the_oldest() -> None:
    cache = ResultCache(max_bytes=3000)
    for name in (b"a", b"b", b"c"):
        cache.put(name, result_of({"v": "x" * 800}, {}, (), b""))
    assert cache.size <= 3000
    cache.touch([b"a"])
    cache.put(b"d", result_of({"v": "x" * 800}, {}, (), b""))
    kept = {name: cache.get(name) for name in (b"a", b"b", b"c", b"d")}
    assert [name for name, item in kept.items() if item is not None and item.outputs is not None] == [
        b"a",
        b"c",
        b"d",
    ]
    cache.put(b"huge", result_of({"v": "x" * 5000}, {"v": {"summary": "big"}}, (), b""))
    huge = cache.get(b"huge")
    assert huge is not None and huge.outputs is None and huge.facts == {"v": {"summary": "big"}}
    cache.clear()
    assert cache.size == len(cache) == 0


def test_a_value_that_had_to_go_is_made_again_only_when_it_is_needed(harness: Any, runs: Any) -> None:
    state = ExecutionState()
    runs(chain(harness), state=state)
    for result in state.results._results.values():
        result.size = 0
    key_of = {result.event: key for key, result in state.results._results.items()}
    (a_key,) = [key for event, key in key_of.items() if b'"node_id":"a"' in event]
    state.results._results.pop(a_key)
    assert runs(chain(harness), state=state)[0] == []
    assert runs(chain(harness, b=9), state=state)[0] == ["a", "b", "c"]


def test_sizes_of_values() -> None:
    import numpy as np
    import torch

    assert 4000 <= size_of(torch.zeros(1000)) < 5000
    assert size_of(np.zeros(1000)) >= 8000
    assert size_of(torch.nn.Linear(100, 100)) >= 40_000
    assert size_of({"a": [torch.zeros(1000)] * 2}) < 6000
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    assert size_of(cyclic) > 0


def test_running_to_a_node_runs_what_it_needs_and_tells_of_nothing_else(harness: Any, runs: Any) -> None:
    ran, statuses = runs(chain(harness), options=RunOptions(until_node="b"))
    assert ran == ["a", "b"]
    assert statuses == {"a": "succeeded", "b": "succeeded"}
    assert runs(chain(harness))[0] == ["c", "alone"]
    outcome, kept = harness.execute(
        chain(harness).build(), nodes=NODES, options=RunOptions(until_node="nobody")
    )
    assert outcome.error.problems[0]["code"] == "unknown_until_node"
    assert kept.events == []


def test_a_presets_nodes_have_their_own_states_and_can_be_run_to(harness: Any, runs: Any) -> None:
    preset = {
        "nodes": [
            {"id": "one", "type": "Add", "data": {"params": {}}},
            {"id": "two", "type": "Add", "data": {"params": {}}},
        ],
        "edges": [{"source": "one", "sourceHandle": "value", "target": "two", "targetHandle": "x"}],
        "outputs": [{"name": "y", "node": "two", "port": "value"}],
        "params": [{"name": "n", "node": "two", "param": "amount"}],
    }
    graph = chain(harness)
    graph.add("Preset", "p", preset="plus", n=4)
    document = graph.build()
    document.presets["plus"] = preset

    class Ready:
        def build(self) -> Any:
            return document

    ran, statuses = runs(Ready(), options=RunOptions(until_node="p"))
    assert ran == ["p/one", "p/two"]
    assert statuses == {"p/one": "succeeded", "p/two": "succeeded"}
    document.nodes[-1].data.params["n"] = 5
    assert runs(Ready(), options=RunOptions(until_node="p/two"))[0] == ["p/two"]


def test_weights_outlive_a_run_of_a_session(harness: Any) -> None:
    def count(state: ExecutionState | None, start: int = 0) -> float:
        graph = Builder(registry=harness.registry(*NODES))
        graph.add("Weights", "w", start=start)
        _, kept = harness.execute(graph.build(), nodes=NODES, state=state)
        return kept.payloads("node_status")[-1]["outputs"]["value"]["value"]

    assert [count(None), count(None)] == [1, 1]
    state = ExecutionState()
    assert [count(state), count(state)] == [1, 2]
    assert count(state, start=10) == 11
    state.clear()
    assert count(state) == 1


def test_running_to_a_node_keeps_the_weights_of_the_others(harness: Any) -> None:
    graph = Builder(registry=harness.registry(*NODES))
    graph.add("Weights", "w")
    graph.add("Add", "a")
    state = ExecutionState()
    for until in (None, "a"):
        harness.execute(graph.build(), nodes=NODES, state=state, options=RunOptions(until_node=until))
    _, kept = harness.execute(graph.build(), nodes=NODES, state=state)
    assert kept.payloads("node_status")[1]["outputs"]["value"]["value"] == 2
    state.persistent("w/item 1/x", "n", None, lambda: 1)
    state.persistent("gone/x", "n", None, lambda: 1)
    state.keep_only({"w"})
    assert {key[0] for key in state._kept} == {"w", "w/item 1/x"}


def test_a_folder_is_another_when_what_its_links_lead_to_is(tmp_path: Path) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "animals"
    elsewhere.mkdir()
    folder.mkdir()
    (elsewhere / "1.png").write_bytes(b"one")
    (folder / "cat").symlink_to(elsewhere)
    (elsewhere / "back").symlink_to(folder)
    (folder / "nothing").symlink_to(tmp_path / "gone")
    before = stamp_of(folder)
    assert before == stamp_of(folder) != b"absent"
    (elsewhere / "1.png").write_bytes(b"other")
    after = stamp_of(folder)
    assert after not in (before, b"absent")
    (folder / "dog").mkdir()
    assert stamp_of(folder) != after


def test_a_tensor_of_inference_mode_is_kept(harness: Any) -> None:
    import torch

    with torch.inference_mode():
        value = torch.ones(2)
    result = result_of({"y": value}, {}, (), b"")
    assert result.versions == () and result.usable(stamp_of)


def test_a_module_is_made_anew_when_its_layers_change(harness: Any) -> None:
    def graph(size: int) -> Any:
        raw = {
            "nodes": [{"id": "m", "type": "Module", "data": {"params": {"subgraph": "net"}}}],
            "settings": {"seed": 1},
            "subgraphs": {
                "net": {
                    "nodes": [
                        {"id": "in", "type": "ModuleInput"},
                        {"id": "l", "type": "Linear", "data": {"params": {"out_features": size}}},
                        {"id": "out", "type": "ModuleOutput"},
                    ],
                    "edges": [
                        {"source": "in", "sourceHandle": "x", "target": "l", "targetHandle": "x"},
                        {"source": "l", "sourceHandle": "y", "target": "out", "targetHandle": "x"},
                    ],
                }
            },
        }
        import json

        return parse_graph(json.dumps(raw).encode())

    state = ExecutionState()
    statuses = [harness.execute(graph(size), state=state)[1].last_status()["m"] for size in (3, 3, 4)]
    assert statuses == ["succeeded", "reused", "succeeded"]


def test_a_nodes_own_device_falls_back_with_a_warning(harness: Any) -> None:
    seen: list[str] = []

    @node(type="Where", title="Where", category="tests", icon="x")
    class Where(Node):
        """Tell the device."""

        def run(self, ctx: NodeContext) -> None:
            seen.append(ctx.device)

    graph = Builder(registry=harness.registry(Where))
    graph.add("Where", "w")
    document = graph.build()
    document.nodes[0].data.extra["device"] = "cuda:700"
    _, kept = harness.execute(document, nodes=[Where])
    assert seen == ["cpu"]
    assert [(item["code"], item["node_id"]) for item in kept.warnings] == [("device_fallback", "w")]
    document.nodes[0].data.extra["device"] = "gpu"
    outcome, _ = harness.execute(document, nodes=[Where])
    assert outcome.error.problems[0]["params"]["param"] == "device"
