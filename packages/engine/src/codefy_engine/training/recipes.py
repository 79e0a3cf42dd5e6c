"""Optimizers and losses as values that travel over a wire before there is a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import Tensor, nn

from codefy_engine.training.lean import lean_optimizer


@dataclass(frozen=True, kw_only=True)
class OptimizerRecipe:
    """An optimizer of ``torch.optim`` by name, with its options. The training loop binds it to its model."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def codefy_summary(self) -> str:
        """``AdamW, lr 0.003``."""
        lr = self.options.get("lr")
        return self.name if lr is None else f"{self.name}, lr {lr:g}"

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

    Raises:
        ValueError: a classification loss with numbers, or the other way round.
    """
    if isinstance(loss, nn.CrossEntropyLoss) and not classification:
        raise ValueError("cross-entropy needs class numbers as targets; this data has numbers: use MSELoss")
    if isinstance(loss, nn.MSELoss | nn.L1Loss) and classification:
        raise ValueError("this loss needs numbers as targets; this data has classes: use CrossEntropyLoss")
