"""Tensors out of nothing: random ones, rows of numbers, one value everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from codefy_engine.nodes.base import Node, NodeContext, NodeError, input, node, output, param
from codefy_engine.nodes.builtin._layer import TensorOperation

if TYPE_CHECKING:
    from torch import Tensor


@node(type="RandomTensor", title="Random tensor", category="tensor", icon="dices")
class RandomTensor(Node):
    """Draw a tensor `[*shape]` of random numbers; the run's seed decides them.

    *Normal* has the given mean and deviation, *uniform* lies from *low* to below *high*, *integers* are int64 from
    *low* to below *high*. Two nodes draw different numbers.
    """

    shape: list[int] = param([8, 4], ge=0, le=10**9, doc="Its sizes.")
    distribution: Literal["normal", "uniform", "integers"] = param(
        "normal",
        choices=[("normal", "Normal"), ("uniform", "Uniform"), ("integers", "Whole numbers")],
        doc="How the numbers are spread.",
    )
    mean: float = param(
        0.0, ge=-1e9, le=1e9, doc="What they lie around.", visible_if={"distribution": ["normal"]}
    )
    deviation: float = param(
        1.0, ge=0, le=1e9, doc="Standard deviation.", visible_if={"distribution": ["normal"]}
    )
    low: float = param(
        0.0, ge=-1e9, le=1e9, doc="The smallest number.", visible_if={"distribution": ["uniform", "integers"]}
    )
    high: float = param(
        1.0, ge=-1e9, le=1e9, doc="All are below this.", visible_if={"distribution": ["uniform", "integers"]}
    )
    y: Tensor = output("tensor", doc="float32, or int64 for whole numbers.")

    def run(self, ctx: NodeContext) -> Any:
        import torch

        from codefy_engine.training.seeding import derive_seed

        # On the CPU, so that the numbers do not depend on the device.
        generator = torch.Generator()
        if ctx.seed is None:
            generator.seed()
        else:
            generator.manual_seed(derive_seed(ctx.seed, ctx.node_id))
        if self.distribution == "normal":
            made = torch.empty(self.shape).normal_(self.mean, self.deviation, generator=generator)
        elif self.low >= self.high:
            raise NodeError("low must be below high")
        elif self.distribution == "uniform":
            made = torch.empty(self.shape).uniform_(self.low, self.high, generator=generator)
        else:
            made = torch.randint(int(self.low), int(self.high), tuple(self.shape), generator=generator)
        return made.to(ctx.device)


@node(type="FilledTensor", title="Filled tensor", category="tensor", icon="square")
class FilledTensor(Node):
    """A tensor `[*shape]` with the same number everywhere, such as zeros or ones."""

    shape: list[int] = param([8, 4], ge=0, le=10**9, doc="Its sizes.")
    number: float = param(0.0, ge=-1e30, le=1e30, doc="What it is filled with.")
    y: Tensor = output("tensor", doc="The tensor: float32.")

    def run(self, ctx: NodeContext) -> Any:
        import torch

        return torch.full(tuple(self.shape), self.number, dtype=torch.float32, device=ctx.device)


@node(type="Arange", title="Range", category="tensor", icon="list-ordered")
class Arange(Node):
    """Count from *start* to before *stop* in equal steps: `[ceil((stop - start) / step)]`."""

    start: float = param(0.0, ge=-1e12, le=1e12, doc="The first number.")
    stop: float = param(10.0, ge=-1e12, le=1e12, doc="Where it ends; this number is left out.")
    step: float = param(1.0, ge=-1e12, le=1e12, doc="From one number to the next.")
    whole: bool = param(False, doc="Give int64 instead of float32.")
    y: Tensor = output("tensor", doc="The numbers: float32, or int64.")

    def run(self, ctx: NodeContext) -> Any:
        import torch

        if self.step == 0 or (self.stop - self.start) * self.step < 0:
            raise NodeError("the step must lead from start to stop")
        if self.whole:
            return torch.arange(int(self.start), int(self.stop), int(self.step) or 1, device=ctx.device)
        return torch.arange(self.start, self.stop, self.step, dtype=torch.float32, device=ctx.device)


@node(type="Linspace", title="Even numbers", category="tensor", icon="list-ordered")
class Linspace(Node):
    """Lay numbers evenly from *start* to *stop*, both included: `[count]`."""

    start: float = param(0.0, ge=-1e12, le=1e12, doc="The first number.")
    stop: float = param(1.0, ge=-1e12, le=1e12, doc="The last number.")
    count: int = param(100, ge=1, le=10**8, doc="How many.")
    y: Tensor = output("tensor", doc="The numbers, float32.")

    def run(self, ctx: NodeContext) -> Any:
        import torch

        return torch.linspace(self.start, self.stop, self.count, device=ctx.device)


@node(type="OneHot", title="One-hot", category="tensor", icon="hash")
class OneHot(TensorOperation):
    """Turn class numbers into rows with a single 1: int64 `[…] → […, classes]`, float32."""

    x: Tensor = input("tensor", doc="Class numbers from 0 on.")
    classes: int = param(10, ge=1, le=1_000_000, doc="How many classes there are.")

    def compute(self, *values: Any) -> Any:
        import torch

        (x,) = values
        return (x.unsqueeze(-1) == torch.arange(self.classes, device=x.device)).float()
