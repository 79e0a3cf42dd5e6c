"""Functions as modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn


class FunctionModule(nn.Module):
    """A module without weights that calls ``function``."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *values: Any) -> Any:
        return self.function(*values)

    def extra_repr(self) -> str:
        owner = getattr(self.function, "__self__", None)
        return type(owner).__name__ if owner is not None else getattr(self.function, "__name__", "")
