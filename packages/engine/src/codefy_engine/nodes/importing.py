"""Imports of what strangers wrote: whatever one raises counts as its failure, and one that does not end is named."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple, TypeVar

from codefy_engine.execution.preload import loaded_torch

_T = TypeVar("_T")
_log = logging.getLogger(__name__)

SLOW_SECONDS = 5.0
"""An import that takes longer is named in the log: it may be one that never ends."""


class ImportFailed(Exception):
    """An import raised something; the message names its type, ``__cause__`` is what it raised."""


def guarded(source: str, load: Callable[[], _T]) -> _T:
    """What ``load`` returns; ``source`` is the file or package that it imports.

    One that fails leaves torch's settings for all code as they were: no later run computes with what it set.

    Raises:
        ImportFailed: it raised anything, ``SystemExit``, ``KeyboardInterrupt`` and ``GeneratorExit`` included.
        KeyboardInterrupt: someone pressed Ctrl-C meanwhile.
    """
    watchdog = threading.Timer(SLOW_SECONDS, _warn, (source,))
    watchdog.daemon = True
    watchdog.start()
    interrupt = _Interrupt()
    interrupt.watch()
    before = _settings()
    try:
        return load()
    except BaseException as error:
        _restore(before)
        if interrupt.came:
            raise KeyboardInterrupt from error
        raise ImportFailed(_told(error)) from error
    finally:
        interrupt.unwatch()
        watchdog.cancel()


def _warn(source: str) -> None:
    _log.warning(
        "%s has been importing for more than %g seconds and nothing goes on until it is done; "
        "if it never ends, stop Codefy and move it away (a file out of its folder, a package uninstalled)",
        source,
        SLOW_SECONDS,
    )


def _told(error: BaseException) -> str:
    name = type(error).__name__
    try:
        return f"{name}: {error}"
    except Exception:  # a stranger's exception may not even tell what it is
        return name


class _Settings(NamedTuple):
    """What decides torch's numbers in the whole process, or the whole thread; as torch has it when it is new."""

    dtype: str = "float32"
    device: str = "cpu"
    deterministic: bool = False
    warn_only: bool = False
    matmul: str = "highest"
    benchmark: bool = False
    grad: bool = True


def _settings() -> _Settings:
    torch: Any = loaded_torch()
    if torch is None:
        return _Settings()
    return _Settings(
        dtype=str(torch.get_default_dtype()).removeprefix("torch."),
        device=str(torch.get_default_device()),
        deterministic=torch.are_deterministic_algorithms_enabled(),
        warn_only=torch.is_deterministic_algorithms_warn_only_enabled(),
        matmul=torch.get_float32_matmul_precision(),
        benchmark=torch.backends.cudnn.benchmark,
        grad=torch.is_grad_enabled(),
    )


def _restore(before: _Settings) -> None:
    torch: Any = loaded_torch()
    if torch is None or _settings() == before:
        return
    torch.set_default_dtype(getattr(torch, before.dtype))
    # Without a default device every call is faster than with the processor as one.
    torch.set_default_device(None if before.device == "cpu" else before.device)
    torch.use_deterministic_algorithms(before.deterministic, warn_only=before.warn_only)
    torch.set_float32_matmul_precision(before.matmul)
    torch.backends.cudnn.benchmark = before.benchmark
    torch.set_grad_enabled(before.grad)


class _Interrupt:
    """Tells the interrupt of a person, which arrives as a signal, from one that a file raises by itself."""

    def __init__(self) -> None:
        self.came = False
        self._before: Callable[[int, FrameType | None], object] | None = None

    def watch(self) -> None:
        # Signals arrive in the main thread alone, and only there may handlers be set.
        if threading.current_thread() is not threading.main_thread():
            return
        before = signal.getsignal(signal.SIGINT)
        if callable(before):
            self._before = before
            signal.signal(signal.SIGINT, self._note)

    def unwatch(self) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._before is None:
            return
        try:
            self._before(number, frame)
        except KeyboardInterrupt:
            self.came = True
            raise
