"""What a submission becomes: device, queue key and target; and run ids."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from codefy_control_plane.runs.submission import Submission, check_submission, run_id_maker
from codefy_engine.graph.builder import Builder
from codefy_engine.nodes.registry import default_registry
from codefy_protocol.names import RunOptions, Target


def submission(graph_device: str | None = None, **options: Any) -> Submission:
    builder = Builder("g", device=graph_device)
    builder.add("SklearnDataset", name="iris")
    return check_submission(builder.to_bytes(), RunOptions(**options), " spaced ", default_registry())


@pytest.mark.parametrize(
    ("graph_device", "options", "device", "key"),
    [
        (None, {}, "cpu", "cpu"),
        ("cuda:1", {}, "cuda:1", "cuda:1"),
        ("cuda:1", {"device": "cpu:0"}, "cpu", "cpu"),
        (None, {"device": "cuda"}, "cuda:0", "cuda:0"),
        (None, {"device": "mps"}, "mps:0", "mps:0"),
        (None, {"target": Target(worker="local", devices=("cuda:2", "cuda:0"))}, "cuda:2", "cuda:2"),
        ("cuda", {"target": Target(worker="box")}, "cuda", "box/cuda"),
        (None, {"target": Target(worker="any"), "device": "cuda:1"}, "cuda:1", "any/cuda:1"),
        (
            None,
            {"target": Target(worker="box.two", devices=("cuda:1", "cuda:0"))},
            "cuda:1",
            "box.two/cuda:1",
        ),
        (None, {"target": Target()}, "cpu", "cpu"),
    ],
)
def test_device_and_queue_key(
    graph_device: str | None, options: dict[str, Any], device: str, key: str
) -> None:
    made = submission(graph_device, **options)
    assert (made.device, made.queue_key) == (device, key)
    assert "/" not in made.device


def test_the_stored_row_brings_the_same_run_back() -> None:
    made = submission(target=Target(worker="box", devices=("cuda:1", "cuda:0")), seed=3)
    row = made.row("r1", 5.0)
    assert (row.name, row.graph_name, row.requested_devices) == ("spaced", "g", '["cuda:1","cuda:0"]')
    assert row.node_types == '["SklearnDataset"]'
    queued = made.queued("r1", 7)
    assert (queued.worker, queued.wanted, queued.sequence) == ("box", ("cuda:1", "cuda:0"), 7)


def test_the_stored_document_is_canonical() -> None:
    builder = Builder("g")
    builder.add("SklearnDataset", name="iris")
    tight = builder.to_bytes()
    loose = tight.replace(b",", b" , ")
    registry = default_registry()
    first, second = (check_submission(data, RunOptions(), "", registry) for data in (tight, loose))
    assert first.graph == second.graph == tight
    assert first.graph_hash == second.graph_hash


def test_types_within_subgraphs_count() -> None:
    builder = Builder("g")
    net = builder.subgraph("net")
    start = net.add("ModuleInput")
    linear = net.add("Linear", x=start, out_features=2)
    net.add("ModuleOutput", x=linear)
    builder.add("Module", subgraph="net")
    made = check_submission(builder.to_bytes(), RunOptions(), "", default_registry())
    assert made.node_types == {"Module", "ModuleInput", "Linear", "ModuleOutput"}


def test_types_that_presets_bring_count_and_those_of_unused_ones_do_not() -> None:
    """S-8: what stands in presets counts like what stands in the graph."""

    def preset(node_type: str, ports: tuple[str, str], params: dict[str, Any]) -> dict[str, Any]:
        node = {"id": "it", "type": node_type, "position": {"x": 0, "y": 0}, "data": {"params": params}}
        return {
            "nodes": [node],
            "edges": [],
            "inputs": [{"name": "x", "node": "it", "port": ports[0]}],
            "outputs": [{"name": "y", "node": "it", "port": ports[1]}],
        }

    document = {
        "format_version": 1,
        "nodes": [
            {
                "id": "p",
                "type": "Preset",
                "position": {"x": 0, "y": 0},
                "data": {"params": {"preset": "iris"}},
            }
        ],
        "edges": [],
        "presets": {
            "iris": {
                **preset("SklearnDataset", ("x", "dataset"), {"name": "iris"}),
                "inputs": [],
                "outputs": [],
            },
            "unused": preset("OfNobody", ("x", "y"), {}),
        },
    }
    made = check_submission(msgspec.json.encode(document), RunOptions(), "", default_registry())
    assert made.node_types == {"SklearnDataset"}


def test_run_ids_sort_by_time_and_never_repeat() -> None:
    now = 1_800_000_000.0
    make = run_id_maker(lambda: now)
    ids = [make() for _ in range(3000)]
    assert len(set(ids)) == 3000
    now += 1
    ids.append(make())
    now -= 3600  # the clock was set back
    ids.append(make())
    assert ids == sorted(ids)
    assert all(len(run_id) == 16 and run_id.isalnum() for run_id in ids)
