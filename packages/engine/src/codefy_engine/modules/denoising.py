"""Diffusion: the schedule of the noise, the model that learns to take it away, and how samples are drawn.

After Ho et al. (2020), "Denoising diffusion probabilistic models", and Song et al. (2021), "Denoising diffusion
implicit models"; the cosine schedule is that of Nichol and Dhariwal (2021).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from codefy_engine.graph.plan import Plan
from codefy_engine.training.module import GraphModule, LayerReport, ModuleBuildError


@dataclass(frozen=True, eq=False)
class NoiseSchedule:
    """How much noise each step adds: ``betas`` ``[steps]``, float64."""

    betas: Tensor

    @classmethod
    def make(
        cls, kind: Literal["linear", "cosine"], steps: int, *, first: float = 1e-4, last: float = 0.02
    ) -> NoiseSchedule:
        """Linear betas from ``first`` to ``last``, or the cosine schedule with offset 0.008 and betas to 0.999."""
        if kind == "linear":
            return cls(torch.linspace(first, last, steps, dtype=torch.float64))
        at = torch.linspace(0, 1, steps + 1, dtype=torch.float64)
        level = torch.cos((at + 0.008) / 1.008 * math.pi / 2) ** 2
        return cls((1 - level[1:] / level[:-1]).clamp(max=0.999))

    @property
    def steps(self) -> int:
        return len(self.betas)

    @property
    def signal(self) -> Tensor:
        """``ᾱ_t = Π (1 - β_s)``: the share of the picture's variance that is left, ``[steps]``."""
        return torch.cumprod(1 - self.betas, dim=0)

    def add_noise(self, x: Tensor, noise: Tensor, steps: Tensor) -> Tensor:
        """``sqrt(ᾱ_t) x + sqrt(1 - ᾱ_t) ε`` for ``x`` ``[n, …]`` and ``steps`` ``[n]`` from 0 on."""
        kept = self.signal.to(x.device)[steps].reshape(-1, *(1 for _ in x.shape[1:]))
        return kept.sqrt().to(x.dtype) * x + (1 - kept).sqrt().to(x.dtype) * noise

    def codefy_summary(self) -> dict[str, Any]:
        """Facts for the inspector."""
        left = float(self.signal[-1])
        return {"steps": self.steps, "summary": f"{self.steps} steps, {left:.2g} of the signal left"}


class DenoisingModule(GraphModule):
    """A module of two inputs, pictures and steps, that guesses the noise, with the schedule that it learns by.

    Called with pictures ``[n, …]`` it draws a step and noise for each and returns ``(guess, noise)``, both ``[n, …]``.
    In evaluation the draws are the same every time, so that epochs can be compared.
    """

    def __init__(
        self,
        name: str,
        plan: Plan,
        *,
        schedule: NoiseSchedule,
        seed: int | None = None,
        plans: Mapping[str, Plan] | None = None,
    ) -> None:
        super().__init__(name, plan, seed=seed, plans=plans)
        if self.input_count != 2 or self.output_count != 1:
            raise ModuleBuildError(f"{name} needs two inputs, pictures and steps, and one output")
        self.schedule = schedule
        self._generator: torch.Generator | None = None

    def build_for(self, *examples: Tensor) -> tuple[LayerReport, ...]:
        """Make the layers for pictures like the first example; the steps' example is made when it is left out."""
        if len(examples) == 1:
            steps = torch.zeros(len(examples[0]), dtype=torch.int64, device=examples[0].device)
            return super().build_for(examples[0], steps)
        return super().build_for(*examples)

    def denoise(self, x: Tensor, steps: Tensor) -> Tensor:
        """The noise in ``x`` ``[n, …]`` as the model guesses it; ``steps`` is int64 ``[n]``."""
        return super().forward(x, steps)

    def forward(self, *inputs: Tensor | None) -> Any:
        if len(inputs) != 1 or inputs[0] is None:
            return super().forward(*inputs)
        x = inputs[0]
        generator = self._drawing(x.device)
        steps = torch.randint(self.schedule.steps, (len(x),), generator=generator, device=x.device)
        noise = torch.empty_like(x).normal_(generator=generator)
        return self.denoise(self.schedule.add_noise(x, noise, steps), steps), noise

    def fresh(self) -> DenoisingModule:
        return DenoisingModule(
            self.graph_name, self.plan, schedule=self.schedule, seed=self.seed, plans=self.plans
        )

    def generator_state(self) -> Tensor | None:
        """State of the generator, or ``None`` while it was not used."""
        return None if self._generator is None else self._generator.get_state()

    def restore_generator(self, state: Tensor, device: torch.device) -> None:
        """Go on from a state that :meth:`generator_state` gave on the same kind of device."""
        self._generator = torch.Generator(device)
        self._generator.set_state(state)

    def _drawing(self, device: torch.device) -> torch.Generator | None:
        if device.type == "meta":
            return None
        if not self.training:
            return torch.Generator(device).manual_seed(self.seed or 0)
        if self.seed is None:
            return None
        if self._generator is None or self._generator.device.type != device.type:
            self._generator = torch.Generator(device).manual_seed(self.seed)
        return self._generator


def steps_to_visit(total: int, count: int) -> list[int]:
    """``count`` steps from the last one down to 0, evenly spaced."""
    if count >= total:
        return list(range(total - 1, -1, -1))
    if count == 1:
        return [total - 1]
    return [round((total - 1) * (1 - index / (count - 1))) for index in range(count)]


@torch.no_grad()
def draw_samples(
    guess: Callable[[Tensor, Tensor], Tensor],
    schedule: NoiseSchedule,
    start: Tensor,
    *,
    steps: int,
    eta: float,
    clip: float | None,
    generator: torch.Generator | None,
    check: Callable[[int, Tensor], None],
) -> Tensor:
    """Pictures ``[n, …]`` out of the noise ``start`` ``[n, …]``.

    Each step guesses the picture, ``x0 = (x - sqrt(1 - ᾱ) ε) / sqrt(ᾱ)``, and goes to the noise level of the next:
    ``sqrt(ᾱ') x0 + sqrt(1 - ᾱ' - σ²) ε + σ z`` with ``σ² = eta² (1 - ᾱ') / (1 - ᾱ) (1 - ᾱ / ᾱ')`` (Song et al.,
    equation 12). ``eta`` 0 is DDIM, 1 over all steps is DDPM. ``clip`` bounds the guessed picture. ``check`` is
    called before each step with its number and the pictures so far, and may raise.
    """
    signal = schedule.signal
    visited = steps_to_visit(schedule.steps, steps)
    x = start
    for index, step in enumerate(visited):
        check(index, x)
        level = float(signal[step])
        following = float(signal[visited[index + 1]]) if index + 1 < len(visited) else 1.0
        noise = guess(x, torch.full((len(x),), step, dtype=torch.int64, device=x.device))
        picture = (x - math.sqrt(1 - level) * noise) / math.sqrt(level)
        if clip is not None:
            picture = picture.clamp(-clip, clip)
            # The noise that leads from the clipped picture to x.
            noise = (x - math.sqrt(level) * picture) / math.sqrt(1 - level)
        sigma = eta * math.sqrt((1 - following) / (1 - level) * (1 - level / following))
        x = math.sqrt(following) * picture + math.sqrt(max(1 - following - sigma**2, 0.0)) * noise
        if sigma > 0:
            x = x + sigma * torch.empty_like(x).normal_(generator=generator)
    return x
