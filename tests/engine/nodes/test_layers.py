"""Every layer node against the torch module that it stands for."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from codefy_engine.execution.state import ExecutionState
from codefy_engine.graph import Builder
from codefy_engine.nodes.base import Node, NodeContext, input, node, output
from codefy_engine.nodes.registry import default_registry

CASES: list[tuple[str, dict[str, Any], tuple[int, ...], nn.Module]] = [
    ("Linear", {"out_features": 5}, (3, 7), nn.Linear(7, 5)),
    ("Linear", {"out_features": 5, "bias": False}, (7,), nn.Linear(7, 5, bias=False)),
    ("Conv2d", {"out_channels": 4}, (3, 8, 8), nn.Conv2d(3, 4, 3, padding=1)),
    (
        "Conv2d",
        {"out_channels": 4, "kernel_size": 2, "stride": 2, "padding": 0, "dilation": 2, "groups": 2},
        (2, 9, 8),
        nn.Conv2d(2, 4, 2, stride=2, dilation=2, groups=2),
    ),
    ("MaxPool2d", {}, (2, 8, 6), nn.MaxPool2d(2)),
    (
        "MaxPool2d",
        {"kernel_size": 3, "stride": 1, "padding": 1},
        (2, 8, 6),
        nn.MaxPool2d(3, stride=1, padding=1),
    ),
    ("AvgPool2d", {"kernel_size": 3, "stride": 2}, (2, 9, 9), nn.AvgPool2d(3, stride=2)),
    ("AdaptiveAvgPool2d", {"output_size": 3}, (2, 7, 8), nn.AdaptiveAvgPool2d(3)),
    ("BatchNorm1d", {"momentum": 0.3}, (6,), nn.BatchNorm1d(6, momentum=0.3)),
    ("BatchNorm1d", {}, (6, 4), nn.BatchNorm1d(6)),
    ("BatchNorm2d", {"eps": 1e-3}, (3, 4, 4), nn.BatchNorm2d(3, eps=1e-3)),
    ("LayerNorm", {}, (3, 6), nn.LayerNorm(6)),
    ("LayerNorm", {"dimensions": 2}, (3, 6), nn.LayerNorm([3, 6])),
    ("Conv1d", {"out_channels": 4, "kernel_size": 5, "padding": 2}, (3, 9), nn.Conv1d(3, 4, 5, padding=2)),
    ("Conv3d", {"out_channels": 4}, (2, 4, 4, 4), nn.Conv3d(2, 4, 3, padding=1)),
    ("ConvTranspose1d", {"out_channels": 4}, (3, 5), nn.ConvTranspose1d(3, 4, 2, stride=2)),
    (
        "ConvTranspose2d",
        {"out_channels": 4, "kernel_size": 3, "padding": 1, "output_padding": 1},
        (3, 5, 4),
        nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1),
    ),
    ("ConvTranspose3d", {"out_channels": 2}, (3, 2, 2, 2), nn.ConvTranspose3d(3, 2, 2, stride=2)),
    ("MaxPool1d", {}, (2, 9), nn.MaxPool1d(2)),
    ("MaxPool3d", {}, (2, 4, 4, 4), nn.MaxPool3d(2)),
    ("AvgPool1d", {"kernel_size": 3, "stride": 2}, (2, 9), nn.AvgPool1d(3, stride=2)),
    ("AvgPool3d", {}, (2, 4, 4, 4), nn.AvgPool3d(2)),
    ("AdaptiveAvgPool1d", {"output_size": 3}, (2, 7), nn.AdaptiveAvgPool1d(3)),
    ("AdaptiveAvgPool3d", {"output_size": 2}, (2, 3, 4, 5), nn.AdaptiveAvgPool3d(2)),
    ("AdaptiveMaxPool1d", {"output_size": 3}, (2, 7), nn.AdaptiveMaxPool1d(3)),
    ("AdaptiveMaxPool2d", {"output_size": 2}, (2, 7, 5), nn.AdaptiveMaxPool2d(2)),
    ("AdaptiveMaxPool3d", {"output_size": 2}, (2, 3, 4, 5), nn.AdaptiveMaxPool3d(2)),
    ("BatchNorm3d", {}, (2, 3, 3, 3), nn.BatchNorm3d(2)),
    ("RMSNorm", {}, (3, 6), nn.RMSNorm(6, eps=1e-6)),
    ("GroupNorm", {"groups": 2}, (6, 4, 3), nn.GroupNorm(2, 6)),
    ("InstanceNorm", {}, (3, 7), nn.InstanceNorm1d(3)),
    ("InstanceNorm", {"affine": True}, (3, 4, 5), nn.InstanceNorm2d(3, affine=True)),
    ("InstanceNorm", {}, (2, 3, 4, 5), nn.InstanceNorm3d(2)),
    ("Reshape", {"shape": [2, -1]}, (3, 4), nn.Sequential(nn.Flatten(), nn.Unflatten(1, [2, 6]))),
    ("Upsample", {}, (2, 5), nn.Upsample(scale_factor=2)),
    ("Upsample", {"method": "linear", "factor": 3}, (2, 3, 4), nn.Upsample(scale_factor=3, mode="bilinear")),
    ("PixelShuffle", {}, (8, 3, 2), nn.PixelShuffle(2)),
    ("PixelUnshuffle", {}, (2, 4, 6), nn.PixelUnshuffle(2)),
    ("ReLU6", {}, (5,), nn.ReLU6()),
    ("ELU", {"alpha": 0.5}, (5,), nn.ELU(0.5)),
    ("CELU", {"alpha": 0.5}, (5,), nn.CELU(0.5)),
    ("SELU", {}, (5,), nn.SELU()),
    ("Mish", {}, (5,), nn.Mish()),
    ("Softplus", {"beta": 2}, (5,), nn.Softplus(2)),
    ("Softsign", {}, (5,), nn.Softsign()),
    ("LogSigmoid", {}, (5,), nn.LogSigmoid()),
    ("Hardtanh", {"low": -0.5, "high": 0.25}, (5,), nn.Hardtanh(-0.5, 0.25)),
    ("Hardswish", {}, (5,), nn.Hardswish()),
    ("Hardsigmoid", {}, (5,), nn.Hardsigmoid()),
    ("PReLU", {"per_channel": True}, (3, 4), nn.PReLU(3)),
    ("GLU", {"dimension": 1}, (4, 3), nn.GLU(1)),
    ("LogSoftmax", {}, (2, 5), nn.LogSoftmax(-1)),
    ("Flatten", {}, (3, 4, 2), nn.Flatten()),
    ("ReLU", {}, (5,), nn.ReLU()),
    ("LeakyReLU", {"slope": 0.2}, (5,), nn.LeakyReLU(0.2)),
    ("GELU", {}, (5,), nn.GELU()),
    ("GELU", {"approximate": "tanh"}, (5,), nn.GELU(approximate="tanh")),
    ("SiLU", {}, (5,), nn.SiLU()),
    ("Sigmoid", {}, (5,), nn.Sigmoid()),
    ("Tanh", {}, (5,), nn.Tanh()),
    ("Softmax", {}, (2, 5), nn.Softmax(dim=-1)),
    ("Softmax", {"dimension": 1}, (2, 5), nn.Softmax(dim=1)),
]


@pytest.mark.parametrize(("type", "params", "shape", "wanted"), CASES)
def test_a_layer_computes_what_torch_s_does(
    type: str, params: dict[str, Any], shape: tuple[int, ...], wanted: nn.Module
) -> None:
    built = default_registry().get(type).create(params).build(shape)  # type: ignore[attr-defined]  # a layer
    built.load_state_dict(wanted.state_dict())
    x = torch.randn(4, *shape)
    for module in (built, wanted):
        module.train()
    assert torch.equal(built(x), wanted(x))
    for module in (built, wanted):
        module.eval()
    assert torch.equal(built(x), wanted(x))


@pytest.mark.parametrize(
    ("type", "params", "shape", "words"),
    [
        ("Conv2d", {}, (64,), "channels x height x width"),
        ("MaxPool2d", {}, (3, 8), "3 dimensions, got 2"),
        ("AvgPool2d", {}, (), "got 0"),
        ("AdaptiveAvgPool2d", {}, (1, 2, 3, 4), "got 4"),
        ("BatchNorm2d", {}, (8,), "got 1"),
        ("BatchNorm1d", {}, (1, 2, 3), "features, or channels x length"),
        ("Linear", {}, (), "at least one dimension"),
        ("LayerNorm", {"dimensions": 3}, (4,), "last 3 dimensions"),
        ("Softmax", {"dimension": 3}, (5,), "dimension 3 is not one of a sample"),
        ("Softmax", {"dimension": 0}, (5,), "dimension 0"),
        ("Conv1d", {}, (3, 4, 5), "channels x length"),
        ("ConvTranspose3d", {}, (3, 4, 5), "channels x depth x height x width"),
        ("GroupNorm", {"groups": 4}, (6, 2), "6 channels cannot be divided into 4"),
        ("GroupNorm", {}, (), "a single number"),
        ("InstanceNorm", {}, (6,), "1 to 3 further dimensions, got 1"),
        ("RMSNorm", {"dimensions": 2}, (6,), "last 2 dimensions"),
        ("Reshape", {"shape": [5, -1]}, (3, 4), "12 values per sample do not fit 5 x -1"),
        ("Reshape", {"shape": [-1, -1]}, (4,), "do not fit"),
        ("Reshape", {"shape": [7]}, (4,), "4 values per sample do not fit 7"),
        ("Upsample", {}, (6,), "1 to 3 further dimensions"),
        ("PixelShuffle", {}, (6, 2, 2), "6 channels cannot be divided by 4"),
        ("PixelUnshuffle", {}, (6, 3, 2), "multiples of 2"),
        ("Hardtanh", {"low": 1, "high": 0}, (2,), "low must be below high"),
        ("GLU", {"dimension": 2}, (4,), "dimension 2 is not one of a sample"),
        ("PReLU", {"per_channel": True}, (), "a single number"),
    ],
)
def test_a_shape_that_a_layer_does_not_take(
    type: str, params: dict[str, Any], shape: tuple[int, ...], words: str
) -> None:
    layer = default_registry().get(type).create(params)
    with pytest.raises(ValueError, match=words):
        layer.build(shape)  # type: ignore[attr-defined]  # a layer


def test_joins_say_what_they_need() -> None:
    join = default_registry().get("Concat").create({"dimension": 2})
    with pytest.raises(ValueError, match="same number of dimensions, at least 2"):
        join.build((3,), (3,))  # type: ignore[attr-defined]  # a layer


@node(type="Numbers", title="Numbers", category="data", icon="hash")
class Numbers(Node):
    """Give a batch of two rows."""

    x: Any = output("tensor")

    def run(self, ctx: NodeContext) -> Any:
        return torch.tensor([[1.0, -2.0, 3.0], [0.0, 5.0, -6.0]])


def test_layers_act_on_tensors_outside_a_module(harness: Any) -> None:
    seen: list[torch.Tensor] = []

    @node(type="Keep", title="Keep", category="views", icon="eye")
    class Keep(Node):
        """Keep what comes in."""

        x: Any = input("tensor")

        def run(self, ctx: NodeContext) -> None:
            seen.append(self.x)

    graph = Builder("tensors", seed=3)
    numbers = graph.add("Numbers")["x"]
    relu = graph.add("ReLU", x=numbers)
    graph.add("Keep", x=graph.add("Add", a=relu, b=numbers))
    graph.add("Keep", x=graph.add("Linear", "weights", x=numbers, out_features=2))
    for _ in range(2):
        outcome, _ = harness.execute(graph.build(), nodes=[Numbers, Keep])
        assert outcome.status == "succeeded", outcome.error
    sums = [x for x in seen if x.shape == (2, 3)]
    linear = [x for x in seen if x.shape == (2, 2)]
    assert sums[0].tolist() == [[2.0, -2.0, 6.0], [0.0, 10.0, -6.0]]
    # The seed decides the weights.
    assert torch.equal(linear[0], linear[1])


def test_without_a_seed_weights_stay_for_the_runs_of_a_session(harness: Any) -> None:
    seen: list[torch.Tensor] = []

    @node(type="Keep", title="Keep", category="views", icon="eye")
    class Keep(Node):
        """Keep what comes in."""

        x: Any = input("tensor")

        def run(self, ctx: NodeContext) -> None:
            seen.append(self.x)

    graph = Builder("tensors")
    graph.add("Keep", x=graph.add("Linear", x=graph.add("Numbers")["x"], out_features=2))
    state = ExecutionState()
    for session in (state, state, ExecutionState()):
        outcome, _ = harness.execute(graph.build(), nodes=[Numbers, Keep], state=session)
        assert outcome.status == "succeeded", outcome.error
    assert torch.equal(seen[0], seen[1])
    assert not torch.equal(seen[0], seen[2])
