"""Optimizers without the compiler.

The first optimizer of a process makes torch import its compiler (``torch._dynamo``): a second and a half with byte
code at hand, eight without, before the first step of a training that compiles nothing. torch does it to keep a few
methods of ``Optimizer`` out of compiled code and to break compiled graphs around ``step``. Here these methods ask
for the compiler only once something else has loaded it. Where torch is built otherwise, it is left as it is.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, cast

import torch

_SLOT = "__dynamo_disable"
"""Where ``torch._compile`` keeps the guarded function of a method."""
_STEP_WRAPPER = "_use_grad"
"""Name of the function that torch puts around ``step``: it switches gradients off, with the compiler's help."""


@functools.cache
def lean_optimizer(name: str) -> type[torch.optim.Optimizer]:
    """The optimizer class ``name`` of ``torch.optim``, which does the same without loading the compiler.

    Raises:
        AttributeError: torch has no such optimizer.
    """
    _keep_compiler_out()
    original = cast("type[torch.optim.Optimizer]", getattr(torch.optim, name))
    wrapped = _find_wrapper(getattr(original, "step", None))
    plain = getattr(wrapped, "__wrapped__", None)
    if wrapped is None or plain is None:
        return original

    def step(self: torch.optim.Optimizer, closure: Callable[[], float] | None = None) -> Any:
        if "torch._dynamo" in sys.modules:
            return wrapped(self, closure)
        with torch.set_grad_enabled(bool(self.defaults.get("differentiable", False))):
            return plain(self, closure)

    return type(name, (original,), {"step": step, "__doc__": original.__doc__})


def _find_wrapper(method: Any) -> Callable[..., Any] | None:
    """Look through what hooks have put around the method since."""
    while method is not None:
        if getattr(getattr(method, "__code__", None), "co_name", "") == _STEP_WRAPPER:
            return cast("Callable[..., Any]", method)
        method = getattr(method, "__wrapped__", None)
    return None


def _keep_compiler_out() -> None:
    for method in vars(torch.optim.Optimizer).values():
        original = getattr(method, "__wrapped__", None)
        code = getattr(method, "__code__", None)
        if original is None or code is None or _SLOT not in code.co_consts or hasattr(original, _SLOT):
            continue
        setattr(original, _SLOT, _guard_when_loaded(original))


def _guard_when_loaded(original: Callable[..., Any]) -> Callable[..., Any]:
    guarded: Callable[..., Any] | None = None

    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal guarded
        if guarded is None:
            disable = getattr(sys.modules.get("torch._dynamo"), "disable", None)
            if disable is None:
                return original(*args, **kwargs)
            guarded = cast("Callable[..., Any]", disable(original, True, wrapping=False))
        return guarded(*args, **kwargs)

    return call
