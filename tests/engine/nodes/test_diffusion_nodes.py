"""Noise schedules, the model that learns from them, samplers and losses of several outputs."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from codefy_engine.graph import Builder
from codefy_engine.graph.plan import plan_subgraph
from codefy_engine.modules.denoising import DenoisingModule, NoiseSchedule, draw_samples, steps_to_visit
from codefy_engine.nodes.base import NodeError, RunStopped
from codefy_engine.nodes.registry import default_registry
from codefy_engine.training.module import GraphModule, ModuleBuildError, independent_copy


class Quiet:
    """As much of a context as these nodes ask for."""

    device = "cpu"
    node_id = "here"
    seed = 5
    stop = False

    def progress(self, **fields: Any) -> None: ...

    def trace(self, kind: str) -> None: ...

    def check_stop(self) -> None:
        if self.stop:
            raise RunStopped


def run(type: str, ctx: Any = None, params: dict[str, Any] | None = None, **inputs: Any) -> Any:
    return default_registry().get(type).create(params, **inputs).run(ctx or Quiet())


def build(type: str, *shapes: Any, **params: Any) -> Any:
    return default_registry().get(type).create(params).build(*shapes)  # type: ignore[attr-defined]  # a layer


def noise_guesser(seed: int = 3) -> GraphModule:
    graph = Builder("test")
    net = graph.subgraph("net")
    x = net.add("ModuleInput", "pictures")
    t = net.add("TimestepEmbedding", "time", x=net.add("ModuleInput", "steps", number=2), width=8)
    x = net.add("Conv2d", "grow", x=x, out_channels=4)
    x = net.add("ResidualBlock2d", "block", x=x, time=t, out_channels=8, groups=4)
    x = net.add("SpatialAttention", "attention", x=x, heads=2, groups=4)
    net.add("ModuleOutput", "output", x=net.add("Conv2d", "shrink", x=x, out_channels=1))
    return GraphModule("net", plan_subgraph(graph.build(), "net", default_registry()), seed=seed)


def test_schedules_are_the_papers() -> None:
    linear = run("NoiseSchedule", params={"kind": "linear", "steps": 10, "first": 0.1, "last": 0.5})
    betas = torch.linspace(0.1, 0.5, 10, dtype=torch.float64)
    assert torch.allclose(linear["schedule"].betas, betas)
    assert torch.allclose(linear["signal"], torch.cumprod(1 - betas, 0).float())
    cosine = run("NoiseSchedule", params={"steps": 8})["schedule"]
    level = [math.cos((t / 8 + 0.008) / 1.008 * math.pi / 2) ** 2 for t in range(9)]
    assert cosine.betas.tolist() == pytest.approx(
        [min(0.999, 1 - b / a) for a, b in itertools.pairwise(level)]
    )


def test_noise_is_added_by_the_step() -> None:
    schedule = NoiseSchedule.make("cosine", 20)
    x = torch.rand(3, 2, 4)
    made = run("AddNoise", params={"step": 7}, x=x, schedule=schedule)
    kept = float(schedule.signal[7])
    assert torch.allclose(made["y"], math.sqrt(kept) * x + math.sqrt(1 - kept) * made["noise"])
    assert torch.equal(made["noise"], run("AddNoise", params={"step": 7}, x=x, schedule=schedule)["noise"])
    with pytest.raises(NodeError, match="steps 0 to 19"):
        run("AddNoise", x=x, schedule=schedule)
    with pytest.raises(NodeError, match="a noise schedule is needed"):
        run("AddNoise", x=x, schedule=3)


def test_the_model_learns_from_plain_pictures() -> None:
    schedule = NoiseSchedule.make("cosine", 20)
    model = run("DiffusionModel", model=noise_guesser(), schedule=schedule)
    assert isinstance(model, DenoisingModule)
    x = torch.rand(6, 1, 4, 4)
    model.build_for(x)
    other = independent_copy(model)
    guess, noise = model(x)
    assert torch.equal(other(x)[1], noise)
    assert not torch.equal(model(x)[1], noise)
    # The steps that were drawn: noisy pictures give the guess back.
    generator = torch.Generator().manual_seed(3)
    steps = torch.randint(20, (6,), generator=generator)
    assert torch.allclose(model.denoise(schedule.add_noise(x, noise, steps), steps), guess, atol=1e-6)
    model.eval()
    assert torch.equal(model(x)[1], model(x)[1])
    loss = run("DiffusionLoss")
    assert torch.equal(loss((guess, noise), x), functional.mse_loss(guess, noise))
    with pytest.raises(ValueError, match="two outputs"):
        loss((guess,), x)
    with pytest.raises(NodeError, match="was not trained yet"):
        run("DiffusionModel", model=model, schedule=schedule)


def test_a_training_that_goes_on_draws_the_same_noise() -> None:
    model = run("DiffusionModel", model=noise_guesser(), schedule=NoiseSchedule.make("cosine", 20))
    x = torch.rand(2, 1, 4, 4)
    model(x)
    state = model.generator_state()
    assert state is not None
    wanted = model(x)[1]
    late = independent_copy(model)
    assert isinstance(late, DenoisingModule)
    late.restore_generator(state, torch.device("cpu"))
    assert torch.equal(late(x)[1], wanted)


def test_a_module_of_one_input_is_no_diffusion_model() -> None:
    graph = Builder("test")
    net = graph.subgraph("net")
    net.add("ModuleOutput", "output", x=net.add("ModuleInput", "input"))
    plain = GraphModule("net", plan_subgraph(graph.build(), "net", default_registry()))
    with pytest.raises(ModuleBuildError, match="two inputs, pictures and steps"):
        run("DiffusionModel", model=plain, schedule=NoiseSchedule.make("cosine", 20))


def test_ddpm_is_the_algorithm_of_the_paper() -> None:
    schedule = NoiseSchedule.make("linear", 6, first=0.05, last=0.3)
    weight = torch.tensor(0.3)
    start = torch.randn(4, 3)

    def guess(x: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
        return weight * x + steps[:, None] * 0.01

    made = draw_samples(
        guess, schedule, start, steps=6, eta=1.0, clip=None,
        generator=torch.Generator().manual_seed(0), check=lambda index, x: None,
    )  # fmt: skip
    # Algorithm 2 of Ho et al. with the posterior variance.
    generator = torch.Generator().manual_seed(0)
    x = start
    for t in range(5, -1, -1):
        beta, signal = float(schedule.betas[t]), float(schedule.signal[t])
        before = float(schedule.signal[t - 1]) if t else 1.0
        eps = guess(x, torch.full((4,), t))
        x = (x - beta / math.sqrt(1 - signal) * eps) / math.sqrt(1 - beta)
        if t:
            sigma = math.sqrt((1 - before) / (1 - signal) * beta)
            x = x + sigma * torch.empty_like(x).normal_(generator=generator)
    assert torch.allclose(made, x, atol=1e-4)


def test_ddim_with_the_true_noise_gives_the_picture_back() -> None:
    schedule = NoiseSchedule.make("cosine", 50)
    picture = torch.rand(3, 4) * 2 - 1

    def guess(x: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
        kept = schedule.signal[steps][:, None].float()
        return (x - kept.sqrt() * picture) / (1 - kept).sqrt()

    visited: list[int] = []
    made = draw_samples(
        guess,
        schedule,
        torch.randn(3, 4),
        steps=5,
        eta=0.0,
        clip=1.0,
        generator=None,
        check=lambda index, x: visited.append(index),
    )
    assert torch.allclose(made, picture, atol=1e-4)
    assert visited == [0, 1, 2, 3, 4]
    assert steps_to_visit(50, 5) == [49, 37, 24, 12, 0]
    assert steps_to_visit(3, 9) == [2, 1, 0]
    assert steps_to_visit(3, 1) == [2]


@pytest.mark.parametrize("params", [{"method": "ddpm"}, {"method": "ddim", "steps": 4, "eta": 0.5}])
def test_a_sampler_draws_pictures_and_stops(params: dict[str, Any]) -> None:
    model = run("DiffusionModel", model=noise_guesser(), schedule=NoiseSchedule.make("cosine", 8))
    with pytest.raises(NodeError, match="a trained Diffusion model"):
        run("DiffusionSampler", model=model)
    model.build_for(torch.zeros(1, 1, 4, 4))
    model.eval()
    made = run("DiffusionSampler", params={"count": 3, **params}, model=model)
    assert made.shape == (3, 1, 4, 4)
    assert float(made.abs().max()) <= 1.0
    assert torch.equal(made, run("DiffusionSampler", params={"count": 3, **params}, model=model))
    ctx = Quiet()
    ctx.stop = True
    with pytest.raises(RunStopped):
        run("DiffusionSampler", ctx, params=params, model=model)


def test_a_residual_block_is_its_formula() -> None:
    made = build("ResidualBlock2d", (4, 3, 3), (6,), out_channels=8, groups=2).eval()
    x, time = torch.randn(2, 4, 3, 3), torch.randn(2, 6)
    assert torch.equal(made(x, time), made.skip(x))
    with torch.no_grad():
        made.second[3].weight.normal_()
    h = made.first[2](functional.silu(functional.group_norm(x, 2)))
    h = h + made.time[1](functional.silu(time))[:, :, None, None]
    wanted = made.skip(x) + made.second[3](functional.silu(functional.group_norm(h, 2)))
    assert torch.allclose(made(x, time), wanted, atol=1e-5)
    alone = build("ResidualBlock2d", (8, 3, 3), None, out_channels=8, groups=2)
    assert isinstance(alone.skip, nn.Identity)
    for shapes, params, words in [
        (((6, 3, 3), None), {"groups": 4}, "6 channels cannot"),
        (((8, 3, 3), (1, 2)), {}, "one vector per sample"),
    ]:
        with pytest.raises(ValueError, match=words):
            build("ResidualBlock2d", *shapes, **params)


def test_attention_over_pixels_is_torch_s() -> None:
    made = build("SpatialAttention", (8, 3, 2), heads=2, groups=4)
    x = torch.randn(2, 8, 3, 2)
    rows = functional.group_norm(x, 4).reshape(2, 8, 6).transpose(1, 2)
    mixed = made.attention(rows, rows, rows)[0]
    assert torch.allclose(made(x), x + mixed.transpose(1, 2).reshape(2, 8, 3, 2), atol=1e-6)
    with pytest.raises(ValueError, match="6 channels cannot"):
        build("SpatialAttention", (6, 2, 2), heads=2, groups=4)


def test_the_vae_loss_is_the_bound() -> None:
    made, mean, log_variance, target = (
        torch.rand(4, 6),
        torch.randn(4, 2),
        torch.randn(4, 2),
        torch.rand(4, 6),
    )
    q = torch.distributions.Normal(mean, (log_variance / 2).exp())
    p = torch.distributions.Normal(torch.zeros(4, 2), torch.ones(4, 2))
    divergence = torch.distributions.kl_divergence(q, p).sum() / 4
    error = (made - target).square().sum() / 4
    loss = run("VAELoss", params={"beta": 0.5})
    assert torch.allclose(loss((made, mean, log_variance), target), error + 0.5 * divergence)
    scores = run("VAELoss", params={"reconstruction": "bce"})
    chance = torch.distributions.Bernoulli(logits=made)
    wanted = -(target * chance.logits.sigmoid().log() + (1 - target) * (1 - made.sigmoid()).log()).sum() / 4
    assert torch.allclose(scores((made, mean, log_variance), target), wanted + divergence, atol=1e-5)
    with pytest.raises(ValueError, match="three outputs"):
        loss((made, mean), target)
