"""Imports of what strangers wrote: whatever one raises counts as its failure, and one that does not end is named."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

_T = TypeVar("_T")
_log = logging.getLogger(__name__)

SLOW_SECONDS = 5.0
"""An import that takes longer is named in the log: it may be one that never ends."""


class ImportFailed(Exception):
    """An import raised something; the message names its type, ``__cause__`` is what it raised."""


def guarded(source: str, load: Callable[[], _T]) -> _T:
    """What ``load`` returns; ``source`` is the file or package that it imports.

    Raises:
        ImportFailed: it raised anything, ``SystemExit``, ``KeyboardInterrupt`` and ``GeneratorExit`` included.
        KeyboardInterrupt: someone pressed Ctrl-C meanwhile.
    """
    watchdog = threading.Timer(SLOW_SECONDS, _warn, (source,))
    watchdog.daemon = True
    watchdog.start()
    interrupt = _Interrupt()
    interrupt.watch()
    try:
        return load()
    except BaseException as error:
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
