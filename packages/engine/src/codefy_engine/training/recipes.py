"""Optimizers and losses as values that travel over a wire before there is a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from codefy_engine.training.lean import lean_optimizer
from codefy_engine.training.schedules import ScheduleRecipe

_NEED_CLASSES = (nn.CrossEntropyLoss, nn.NLLLoss, nn.MultiMarginLoss)
_NEED_NUMBERS = (nn.MSELoss, nn.L1Loss, nn.SmoothL1Loss, nn.HuberLoss, nn.BCELoss, nn.BCEWithLogitsLoss)


@dataclass(frozen=True, kw_only=True)
class OptimizerRecipe:
    """An optimizer of ``torch.optim`` by name, with its options. The training loop binds it to its model."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    schedules: tuple[ScheduleRecipe, ...] = ()
    """How its learning rate changes, in order."""

    def codefy_summary(self) -> str:
        """``AdamW, lr 0.003, StepLR``."""
        lr = self.options.get("lr")
        words = [self.name] if lr is None else [self.name, f"lr {lr:g}"]
        return ", ".join([*words, *(schedule.name for schedule in self.schedules)])

    def scheduled(self, schedule: ScheduleRecipe) -> OptimizerRecipe:
        """The same optimizer with one more schedule."""
        return replace(self, schedules=(*self.schedules, schedule))

    def bind(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """The optimizer over ``parameters``.

        Raises:
            ValueError: there are no parameters to train, or an option is out of range.
        """
        trainable = [parameter for parameter in parameters if parameter.requires_grad]
        if not trainable:
            raise ValueError("the model has no parameters to train: add a layer with weights, such as Linear")
        make = cast("Callable[..., torch.optim.Optimizer]", lean_optimizer(self.name))
        return make(trainable, **self.options)


def default_loss(*, classification: bool) -> nn.Module:
    """Cross-entropy for class numbers, mean squared error for numbers."""
    return nn.CrossEntropyLoss() if classification else nn.MSELoss()


def check_loss_fits(loss: Callable[[Tensor, Tensor], Tensor], *, classification: bool) -> None:
    """Refuse a loss that cannot work with the targets, in words, before torch does.

    A loss of one's own may say ``any_targets = True`` to take both.

    Raises:
        ValueError: a classification loss with numbers, or the other way round.
    """
    if getattr(loss, "any_targets", False):
        return
    if isinstance(loss, _NEED_CLASSES) and not classification:
        raise ValueError("cross-entropy needs class numbers as targets; this data has numbers: use MSELoss")
    if isinstance(loss, _NEED_NUMBERS) and classification:
        raise ValueError("this loss needs numbers as targets; this data has classes: use CrossEntropyLoss")
