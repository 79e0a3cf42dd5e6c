"""A model applied to tensors, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from codefy_engine.nodes.base import NodeContext
from codefy_engine.training.module import GraphModule, independent_copy


def ready_model(ctx: NodeContext, model: nn.Module, *examples: Tensor) -> nn.Module:
    """The model in evaluation mode on the run's device: itself where it is so already, else a copy.

    Raises:
        codefy_engine.training.module.ModuleBuildError: a layer does not take the shape that reaches it.
    """
    device = torch.device(ctx.device)
    first = next(model.parameters(), None)
    built = not isinstance(model, GraphModule) or model.built
    if built and not model.training and (first is None or first.device == device):
        return model
    own = independent_copy(model)
    if isinstance(own, GraphModule):
        own.build_for(*examples)
    return own.to(device).eval()


def apply_model(
    ctx: NodeContext, model: nn.Module, inputs: Sequence[Tensor], *, batch_size: int
) -> tuple[Tensor, ...]:
    """The model's outputs for all samples, on the run's device, without gradients.

    Raises:
        codefy_engine.nodes.base.RunStopped: the run is to stop.
        ValueError: the inputs do not have one number of samples.
    """
    counts = {len(value) for value in inputs}
    if len(counts) != 1:
        raise ValueError(f"all inputs need the same number of samples, got {sorted(counts)}")
    total = counts.pop()
    if total == 0:
        raise ValueError("there are no samples to apply the model to")
    own = ready_model(ctx, model, *(value[:1] for value in inputs))
    parts: list[tuple[Tensor, ...]] = []
    with torch.no_grad():
        for first in range(0, total, batch_size):
            ctx.check_stop()
            result: Any = own(*(value[first : first + batch_size].to(ctx.device) for value in inputs))
            parts.append(cast("tuple[Tensor, ...]", result if isinstance(result, tuple) else (result,)))
            ctx.progress(current=min(first + batch_size, total), total=total, unit="samples")
    return tuple(torch.cat(columns) for columns in zip(*parts, strict=True))
