"""What the layers of a model give and what its parameters are told to change, step by step, for the inspector.

Statistics are worked out in the steps that are kept, on the device, and read with one copy; hooks are there in these
steps only. The numbers of the training do not depend on any of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import torch
from torch import Tensor, nn

from codefy_engine.execution.traces import (
    MAX_SERIES,
    StepTrace,
    TensorFacts,
    facts_from,
    histogram_of,
    moments,
)
from codefy_engine.training.module import GraphModule, RepeatedModule


class ModelTrace:
    """Fills a trace while ``model`` learns."""

    def __init__(self, trace: StepTrace, model: nn.Module) -> None:
        self._trace = trace
        self._model = model
        self._layers = list(layers_of(model))
        self._hooks: list[Any] = []
        self._seen: dict[str, tuple[Tensor, int]] = {}
        self._step = 0

    def begin(self, step: int, *, end: bool, pause: bool) -> bool:
        """Before a step: whether it is kept, and :meth:`finish` is to be called after it.

        ``end`` is the last step of the training, ``pause`` the last one of an epoch.
        """
        if not self._trace.wanted(step, end=end, pause=pause):
            return False
        self._step = step
        self._seen = {}
        for name, layer in self._layers[:MAX_SERIES]:
            self._hooks.append(layer.register_forward_hook(self._looking(name)))
        return True

    def finish(self, epoch: float, *, gradients: bool) -> None:
        """After the step; ``gradients`` when the optimizer used what is in the parameters now."""
        self._unhook()
        # A module's own output comes after those of its layers.
        values = _facts({name: self._seen[name] for name, _ in self._layers if name in self._seen})
        self._seen = {}
        found = dict(self._gradients()) if gradients else {}
        numbers = _facts({name: (moments(grad), grad.numel()) for name, grad in found.items()}, found)
        self._trace.add(self._step, values, numbers, epoch=epoch)

    def close(self) -> None:
        """When the training ended, however it did: keep the last gradients as a whole."""
        self._unhook()
        self._trace.keep_gradients(
            {
                name: parameter.grad
                for name, parameter in self._model.named_parameters()
                if parameter.grad is not None
            }
        )

    def _gradients(self) -> Iterator[tuple[str, Tensor]]:
        count = 0
        for name, parameter in self._model.named_parameters():
            if parameter.grad is not None and count < MAX_SERIES:
                count += 1
                yield name, parameter.grad

    def _looking(self, name: str) -> Any:
        def look(_: nn.Module, __: Any, result: Any) -> None:
            value = cast("Any", result[0] if isinstance(result, tuple) and result else result)
            if isinstance(value, Tensor) and not value.is_complex():
                self._seen[name] = (moments(value), value.numel())

        return look

    def _unhook(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()


def layers_of(model: nn.Module, prefix: str = "") -> Iterator[tuple[str, nn.Module]]:
    """The layers of a model by the ids of their nodes, ``block/conv`` within another; else by their names."""
    if isinstance(model, GraphModule):
        for report in model.reports:
            layer = model.get_submodule(report.name)
            yield from _layer(f"{prefix}{report.id}", layer)
        return
    for name, layer in model.named_children():
        yield from _layer(f"{prefix}{name}", layer)


def _layer(path: str, layer: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    yield path, layer
    if isinstance(layer, GraphModule):
        yield from layers_of(layer, f"{path}/")
    elif isinstance(layer, RepeatedModule):
        for number, block in enumerate(layer.blocks, 1):
            yield from layers_of(block, f"{path}/{number}/")


def _facts(
    numbers: dict[str, tuple[Tensor, int]], whole: dict[str, Tensor] | None = None
) -> dict[str, TensorFacts]:
    """Facts of moments that still lie on the device, read with one copy; of ``whole`` tensors also how they spread."""
    if not numbers:
        return {}
    rows: list[list[float]] = cast("Any", torch.stack([row for row, _ in numbers.values()])).tolist()
    return {
        name: facts_from(row, count, None if whole is None else histogram_of(whole[name], row[2], row[3]))
        for (name, (_, count)), row in zip(numbers.items(), rows, strict=True)
    }
