"""Learning-rate schedules as values that travel with an optimizer's recipe, and their binding to an optimizer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import torch
from torch.optim import lr_scheduler

_PLATEAU = "ReduceLROnPlateau"


@dataclass(frozen=True, kw_only=True)
class ScheduleRecipe:
    """A scheduler of ``torch.optim.lr_scheduler`` by name, with its options."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    per: Literal["epoch", "step"] = "epoch"
    """When it moves: after every epoch, or after every optimizer step."""
    span: str = ""
    """The option that is the length of the whole training (in epochs or steps) when ``options`` lacks it."""
    chains: bool = True
    """Whether it multiplies the rate it finds. One that sets the rate itself must be the only one."""

    def bind(self, optimizer: torch.optim.Optimizer, *, epochs: int, steps_per_epoch: int) -> Any:
        """The scheduler over ``optimizer`` for a training of this length.

        Raises:
            ValueError: an option is out of range.
        """
        options = dict(self.options)
        if self.span and options.get(self.span) is None:
            options[self.span] = max(1, epochs if self.per == "epoch" else epochs * steps_per_epoch)
        make = cast("Callable[..., Any]", getattr(lr_scheduler, self.name))
        return make(optimizer, **options)


class Schedules:
    """The schedulers of one training, in the order of their nodes."""

    def __init__(
        self,
        recipes: Sequence[ScheduleRecipe],
        optimizer: torch.optim.Optimizer,
        *,
        epochs: int,
        steps_per_epoch: int,
    ) -> None:
        if len(recipes) > 1:
            for recipe in recipes:
                if not recipe.chains:
                    raise ValueError(
                        f"{recipe.name} sets the learning rate by itself and cannot be joined with "
                        f"{', '.join(other.name for other in recipes if other is not recipe)}"
                    )
        self._recipes = tuple(recipes)
        self._schedulers = [
            recipe.bind(optimizer, epochs=epochs, steps_per_epoch=steps_per_epoch) for recipe in recipes
        ]
        pairs = list(zip(self._recipes, self._schedulers, strict=True))
        self._by_step = [scheduler for recipe, scheduler in pairs if recipe.per == "step"]
        self._by_epoch = [
            (scheduler, recipe.name == _PLATEAU) for recipe, scheduler in pairs if recipe.per == "epoch"
        ]

    @property
    def each_step(self) -> bool:
        """Whether the rate changes within an epoch."""
        return bool(self._by_step)

    def after_step(self) -> None:
        """An optimizer step was done."""
        for scheduler in self._by_step:
            scheduler.step()

    def after_epoch(self, loss: float) -> None:
        """An epoch was done; ``loss`` is what a plateau is looked for in."""
        for scheduler, watches in self._by_epoch:
            if watches:
                scheduler.step(loss)
            else:
                scheduler.step()

    def state(self) -> list[dict[str, Any]]:
        """Where they stand, as plain data for a checkpoint."""
        return [
            {"name": recipe.name, "state": _plain(scheduler.state_dict())}
            for recipe, scheduler in zip(self._recipes, self._schedulers, strict=True)
        ]

    def restore(self, states: Sequence[Mapping[str, Any]]) -> None:
        """Go on from what :meth:`state` gave; the length of the training stays the present one.

        Raises:
            ValueError: these are the states of other schedulers.
        """
        found = [state["name"] for state in states]
        if found != [recipe.name for recipe in self._recipes]:
            mine = ", ".join(recipe.name for recipe in self._recipes) or "no schedule"
            raise ValueError(
                f"the checkpoint was written with {', '.join(found) or 'no schedule'}, this training has {mine}"
            )
        for recipe, scheduler, entry in zip(self._recipes, self._schedulers, states, strict=True):
            state = dict(entry["state"])
            if recipe.span and recipe.options.get(recipe.span) is None:
                state.pop(recipe.span, None)
            scheduler.load_state_dict(state)
            # The steps were done before the checkpoint: torch would warn that a schedule moves without one.
            scheduler.optimizer._opt_called = True


def _plain(state: Mapping[str, Any]) -> dict[str, Any]:
    """Only what a checkpoint may hold: numbers, texts, and lists and dicts of them."""
    kept: dict[str, Any] = {}
    for name, value in state.items():
        if isinstance(value, bool | int | float | str) or value is None:
            kept[name] = value
        elif isinstance(value, list | tuple) and all(
            isinstance(item, bool | int | float | str) for item in cast("Sequence[Any]", value)
        ):
            kept[name] = list(cast("Sequence[Any]", value))
    return kept
