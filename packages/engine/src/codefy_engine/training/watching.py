"""Which epoch is the best so far, and when to stop because none gets better."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal


class Watch:
    """Looks at the values of every epoch.

    Args:
        monitor: ``loss``, ``accuracy``, or ``auto`` for accuracy when there is one.
        patience: epochs without improvement after which to stop; ``None`` never stops.
        min_delta: by how much the watched value must change to count as an improvement for ``patience``.
    """

    def __init__(
        self,
        *,
        monitor: Literal["auto", "loss", "accuracy"] = "auto",
        patience: int | None = None,
        min_delta: float = 0.0,
    ) -> None:
        self._monitor = monitor
        self._patience = patience
        self._min_delta = min_delta
        self._rank: tuple[float, float] | None = None
        self._mark: float | None = None
        """The value that an improvement has to beat; smaller is better."""
        self._waited = 0
        self.best_epoch: int | None = None
        self.best_value: float | None = None

    @property
    def exhausted(self) -> bool:
        """Whether ``patience`` epochs in a row brought nothing better."""
        return self._patience is not None and self._waited >= self._patience

    def look(self, epoch: int, values: Mapping[str, float], part: Literal["train", "val"]) -> bool:
        """Take in the values of ``epoch``; whether it beats all before it.

        A lower loss decides between equal accuracies. A loss that is not finite beats nothing.
        """
        loss = values[f"{part}_loss"]
        accuracy = None if self._monitor == "loss" else values.get(f"{part}_accuracy")
        main = loss if accuracy is None else -accuracy
        finite = math.isfinite(loss)
        if finite and (self._mark is None or main < self._mark - self._min_delta):
            self._mark = main
            self._waited = 0
        else:
            self._waited += 1
        rank = (0.0 if accuracy is None else -accuracy, loss)
        if not finite or (self._rank is not None and rank >= self._rank):
            return False
        self._rank = rank
        self.best_epoch = epoch
        self.best_value = loss if accuracy is None else accuracy
        return True

    def state(self) -> dict[str, Any]:
        """Plain data for a checkpoint."""
        return {
            "rank": None if self._rank is None else list(self._rank),
            "mark": self._mark,
            "waited": self._waited,
            "best_epoch": self.best_epoch,
            "best_value": self.best_value,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what :meth:`state` gave."""
        rank = state["rank"]
        self._rank = None if rank is None else (rank[0], rank[1])
        self._mark = state["mark"]
        self._waited = state["waited"]
        self.best_epoch, self.best_value = state["best_epoch"], state["best_value"]
