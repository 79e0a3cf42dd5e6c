"""Diffusion models: noise schedules, the model that learns to remove noise, and samplers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from codefy_engine.nodes.base import Node, NodeContext, NodeError, input, node, output, param

if TYPE_CHECKING:
    from torch import Tensor, nn

    from codefy_engine.modules.denoising import NoiseSchedule as Schedule


@node(type="NoiseSchedule", title="Noise schedule", category="diffusion", icon="trending-up")
class NoiseSchedule(Node):
    """Say how much noise each step of a diffusion adds.

    After step `t` a picture is `sqrt(ᾱ_t) x + sqrt(1 - ᾱ_t) ε` with `ᾱ_t = Π (1 - β_s)`. *Linear* lets β grow from
    *first* to *last* (Ho et al., 2020: 0.0001 to 0.02 over 1,000 steps; with fewer steps take a larger *last*).
    *Cosine* lets `ᾱ` fall like `cos²` (Nichol and Dhariwal, 2021) and suits small pictures and few steps.
    """

    kind: Literal["linear", "cosine"] = param(
        "cosine", choices=[("linear", "Linear"), ("cosine", "Cosine")], doc="How the noise grows."
    )
    steps: int = param(100, ge=2, le=10_000, unit="steps", doc="From the picture to pure noise.")
    first: float = param(1e-4, gt=0, lt=1, doc="β of the first step.", visible_if={"kind": ["linear"]})
    last: float = param(0.02, gt=0, lt=1, doc="β of the last step.", visible_if={"kind": ["linear"]})
    schedule: Schedule = output("value", doc="For the other diffusion nodes.")
    signal: Tensor = output("tensor", doc="`ᾱ`, the share of the signal that is left: float32 `[steps]`.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.modules.denoising import NoiseSchedule

        made = NoiseSchedule.make(self.kind, self.steps, first=self.first, last=self.last)
        return {"schedule": made, "signal": made.signal.float()}


@node(type="AddNoise", title="Add noise", category="diffusion", icon="waves")
class AddNoise(Node):
    """Bring pictures to a step of a noise schedule: `sqrt(ᾱ_t) x + sqrt(1 - ᾱ_t) ε`.

    `[n, …] → [n, …]`. The run's seed decides the noise.
    """

    x: Tensor = input("tensor", doc="The pictures, the batch first.")
    schedule: Schedule = input("value", doc="From a **Noise schedule**.")
    step: int = param(50, ge=0, le=10_000, doc="Counted from 0.")
    y: Tensor = output("tensor", doc="The noisy pictures.")
    noise: Tensor = output("tensor", doc="The noise ε that was added.")

    def run(self, ctx: NodeContext) -> Any:
        import torch

        schedule = _schedule(self.schedule)
        if self.step >= schedule.steps:
            raise NodeError(f"the schedule has the steps 0 to {schedule.steps - 1}")
        x = self.x.to(ctx.device)
        noise = torch.empty_like(x).normal_(generator=_generator(ctx, x.device))
        steps = torch.full((len(x),), self.step, dtype=torch.int64, device=x.device)
        return {"y": schedule.add_noise(x, noise, steps), "noise": noise}


@node(type="DiffusionModel", title="Diffusion model", category="diffusion", icon="waves")
class DiffusionModel(Node):
    """Make a model that learns to remove noise, out of a Module that guesses it.

    The Module has two inputs: number 1 takes noisy pictures `[n, …]`, number 2 the steps, int64 `[n]` (put a
    **Time step embedding** after it). It gives its guess of the noise, `[n, …]`.

    In the training loop this model takes plain pictures, draws a step and noise for each by the run's seed, and gives
    guess and noise. Wire **Diffusion loss** to the loop, and pictures whose targets are numbers, such as from
    **Inputs as targets**. Pictures should lie around 0, from -1 to 1.
    """

    model: nn.Module = input("model", doc="From a **Module** with two inputs.")
    schedule: Schedule = input("value", doc="From a **Noise schedule**.")
    diffusion: nn.Module = output(
        "model", name="model", doc="For the training loop, then a **Diffusion sampler**."
    )

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.modules.denoising import DenoisingModule
        from codefy_engine.training.module import GraphModule

        if not isinstance(self.model, GraphModule) or self.model.built:
            raise NodeError("a Diffusion model is made of a Module that was not trained yet")
        module = self.model
        return DenoisingModule(
            module.graph_name,
            module.plan,
            schedule=_schedule(self.schedule),
            seed=module.seed,
            plans=module.plans,
        )


@node(type="DiffusionSampler", title="Diffusion sampler", category="diffusion", icon="image")
class DiffusionSampler(Node):
    """Draw new pictures from a trained diffusion model, starting from pure noise.

    `[count, …picture]`. **DDPM** visits every step and adds fresh noise after each (Ho et al., 2020); **DDIM** may
    skip steps and adds noise by *eta*, none at 0 (Song et al., 2021). The same seed gives the same pictures.
    """

    model: nn.Module = input("model", doc="A trained **Diffusion model**.")
    count: int = param(16, ge=1, le=65_536, doc="How many pictures.")
    method: Literal["ddpm", "ddim"] = param(
        "ddpm", choices=[("ddpm", "DDPM"), ("ddim", "DDIM")], doc="How to go back to the picture."
    )
    steps: int = param(
        25,
        ge=1,
        le=10_000,
        unit="steps",
        doc="How many of the schedule's steps.",
        visible_if={"method": ["ddim"]},
    )
    eta: float = param(
        0.0, ge=0, le=1, doc="Share of fresh noise after each step.", visible_if={"method": ["ddim"]}
    )
    clip: float | None = param(
        1.0, gt=0, le=1000, doc="Keep guessed pictures within ± this. Empty: as they are.", advanced=True
    )
    samples: Tensor = output("tensor", doc="The pictures.")

    def run(self, ctx: NodeContext) -> Any:
        import torch

        from codefy_engine.modules.denoising import DenoisingModule, draw_samples
        from codefy_engine.training.applying import ready_model

        if not isinstance(self.model, DenoisingModule) or not self.model.sample_shapes:
            raise NodeError("a Diffusion sampler takes a trained Diffusion model")
        model = ready_model(ctx, self.model)
        if not isinstance(model, DenoisingModule):
            raise NodeError("a Diffusion sampler takes a trained Diffusion model")
        device = torch.device(ctx.device)
        generator = _generator(ctx, device)
        start = torch.empty(self.count, *model.sample_shapes[0], device=device).normal_(generator=generator)
        total = model.schedule.steps if self.method == "ddpm" else min(self.steps, model.schedule.steps)

        trace = ctx.trace("sampling")

        def check(index: int, x: Tensor) -> None:
            ctx.check_stop()
            ctx.progress(current=index, total=total, unit="steps")
            if trace is not None and trace.wanted(index, end=index == total - 1):
                trace.add(index, {"pictures": x})

        return draw_samples(
            model.denoise,
            model.schedule,
            start,
            steps=total,
            eta=1.0 if self.method == "ddpm" else self.eta,
            clip=self.clip,
            generator=generator,
            check=check,
        )


def _schedule(value: object) -> Schedule:
    from codefy_engine.modules.denoising import NoiseSchedule

    if not isinstance(value, NoiseSchedule):
        raise NodeError(f"a noise schedule is needed, got a {type(value).__name__}")
    return value


def _generator(ctx: NodeContext, device: Any) -> Any:
    import torch

    from codefy_engine.training.seeding import derive_seed

    generator = torch.Generator(device)
    if ctx.seed is None:
        generator.seed()
    else:
        generator.manual_seed(derive_seed(ctx.seed, ctx.node_id))
    return generator
