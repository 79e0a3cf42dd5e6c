from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from codefy_engine.training.module import GraphModule, ModuleBuildError, independent_copy


def draw_cnn(net: Any) -> None:
    x = net.add("ModuleInput", "input")
    x = net.add("Conv2d", "conv", x=x, out_channels=6, kernel_size=3, padding=1)
    x = net.add("BatchNorm2d", "norm", x=x)
    x = net.add("ReLU", "relu", x=x)
    x = net.add("MaxPool2d", "pool", x=x, kernel_size=2)
    x = net.add("Flatten", "flat", x=x)
    x = net.add("Linear", "scores", x=x, out_features=5)
    net.add("ModuleOutput", "output", x=x)


def test_sizes_follow_from_the_data_and_are_reported(make_module: Callable[..., GraphModule]) -> None:
    model = make_module(draw_cnn)
    assert not model.built
    reports = model.build_for(torch.zeros(7, 3, 8, 10))
    assert [(r.id, r.shape, r.parameters) for r in reports] == [
        ("conv", (6, 8, 10), 6 * 3 * 9 + 6),
        ("norm", (6, 8, 10), 12),
        ("relu", (6, 8, 10), 0),
        ("pool", (6, 4, 5), 0),
        ("flat", (120,), 0),
        ("scores", (5,), 605),
    ]
    assert model.parameter_count == sum(p.numel() for p in model.parameters())
    # Looking at shapes must not have moved the running means.
    assert float(model.get_buffer("norm.running_mean").abs().sum()) == 0


def test_it_computes_what_the_same_layers_compute_in_torch(make_module: Callable[..., GraphModule]) -> None:
    model = make_module(draw_cnn)
    x = torch.randn(4, 3, 8, 8)
    model(x)
    plain = nn.Sequential(
        nn.Conv2d(3, 6, 3, padding=1),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(96, 5),
    )
    names = ["conv", "norm", "relu", "pool", "flat", "scores"]
    plain.load_state_dict(
        {
            f"{names.index(key.split('.')[0])}.{key.split('.', 1)[1]}": v
            for key, v in model.state_dict().items()
        }
    )
    model.eval()
    plain.eval()
    assert torch.equal(model(x), plain(x))


def draw_skips(net: Any) -> None:
    x = net.add("ModuleInput", "input")
    a = net.add("Linear", "a", x=x, out_features=4)
    shortcut = net.add("Add", "residual", a=a, b=x)
    both = net.add("Concat", "both", a=shortcut, b=x)
    net.add("ModuleOutput", "output", x=both)


def test_skip_connections_and_joins(make_module: Callable[..., GraphModule]) -> None:
    model = make_module(draw_skips)
    x = torch.randn(3, 4)
    result = model(x)
    linear = model.get_submodule("a")
    assert torch.allclose(result, torch.cat([linear(x) + x, x], dim=1))
    assert {r.id: r.shape for r in model.reports} == {"a": (4,), "residual": (4,), "both": (8,)}


def test_the_input_may_go_straight_to_the_output(make_module: Callable[..., GraphModule]) -> None:
    def draw(net: Any) -> None:
        net.add("ModuleOutput", "output", x=net.add("ModuleInput", "input"))

    x = torch.randn(2, 3)
    assert torch.equal(make_module(draw)(x), x)


def test_layers_that_lead_nowhere_are_left_out(make_module: Callable[..., GraphModule]) -> None:
    def draw(net: Any) -> None:
        x = net.add("ModuleInput", "input")
        net.add("Linear", "unused", x=x, out_features=3)
        net.add("ModuleOutput", "output", x=net.add("Linear", "used", x=x, out_features=2))

    model = make_module(draw)
    model.build_for(torch.zeros(1, 4))
    assert [r.id for r in model.reports] == ["used"]


def test_a_seed_gives_the_weights_layer_by_layer(make_module: Callable[..., GraphModule]) -> None:
    def draw_longer(net: Any) -> None:
        x = net.add("ModuleInput", "input")
        x = net.add("Conv2d", "before", x=x, out_channels=3, kernel_size=3, padding=1)
        x = net.add("Conv2d", "conv", x=x, out_channels=6, kernel_size=3, padding=1)
        net.add("ModuleOutput", "output", x=x)

    example = torch.zeros(1, 3, 8, 8)
    models = [make_module(draw_cnn, seed=seed) for seed in (1, 1, 2)] + [make_module(draw_longer, seed=1)]
    before = torch.get_rng_state()
    for model in models:
        model.build_for(example)
    assert torch.equal(before, torch.get_rng_state())
    one, same, other, longer = (model.get_parameter("conv.weight") for model in models)
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert torch.equal(one, longer)


def test_a_shape_that_does_not_fit_names_layer_and_shape(make_module: Callable[..., GraphModule]) -> None:
    with pytest.raises(ModuleBuildError, match=r"conv \(Convolution 2d\) in net does not take 13: .*height"):
        make_module(draw_cnn).build_for(torch.zeros(2, 13))
    # The window is larger than the picture: torch itself says so.
    with pytest.raises(ModuleBuildError, match=r"pool .* does not take 6 x 1 x 1"):
        make_module(draw_cnn).build_for(torch.zeros(2, 3, 1, 1))


def test_branches_of_different_shape_cannot_be_added(make_module: Callable[..., GraphModule]) -> None:
    def draw(net: Any) -> None:
        x = net.add("ModuleInput", "input")
        net.add(
            "ModuleOutput",
            "output",
            x=net.add("Add", "sum", a=x, b=net.add("Linear", "l", x=x, out_features=3)),
        )

    with pytest.raises(ModuleBuildError, match=r"sum .* does not take 4 and 3"):
        make_module(draw).build_for(torch.zeros(1, 4))


@pytest.mark.parametrize("name", ["training", "plan", "a.b", "forward", "reports"])
def test_a_layer_may_be_called_anything(make_module: Callable[..., GraphModule], name: str) -> None:
    def draw(net: Any) -> None:
        x = net.add("ModuleInput", "input")
        net.add("ModuleOutput", "output", x=net.add("Linear", name, x=x, out_features=2))

    model = make_module(draw)
    assert model(torch.zeros(1, 3)).shape == (1, 2)
    assert len(model.state_dict()) == 2
    assert model.reports[0].id == name


def test_a_copy_learns_on_its_own(make_module: Callable[..., GraphModule]) -> None:
    unbuilt = make_module(draw_cnn)
    x = torch.randn(2, 3, 8, 8)
    built = independent_copy(unbuilt)
    built(x)
    assert not unbuilt.built
    copied = independent_copy(built)
    with torch.no_grad():
        for parameter in copied.parameters():
            parameter.add_(1)
    built.eval()
    copied.eval()
    assert not torch.equal(copied(x), built(x))
    assert isinstance(copied, GraphModule)
    assert copied.plan is unbuilt.plan


def test_a_plan_without_its_ends_is_refused(make_module: Callable[..., GraphModule]) -> None:
    with pytest.raises(ModuleBuildError, match="it has 1 and 0"):
        make_module(lambda net: net.add("ModuleInput", "input"))
    with pytest.raises(ModuleBuildError, match="nothing is wired to output"):
        make_module(lambda net: (net.add("ModuleInput", "input"), net.add("ModuleOutput", "output")))


def test_the_example_s_device_decides_where_layers_are_made(make_module: Callable[..., GraphModule]) -> None:
    model = make_module(draw_cnn)
    model.build_for(torch.empty(1, 3, 8, 8, device="meta"))
    assert model.reports[-1].shape == (5,)
    assert {p.device.type for p in model.parameters()} == {"meta"}
