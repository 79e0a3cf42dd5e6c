"""The run child as a process: what it sets up before anything else, and how it ends."""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import io
import os
import signal
import sys
import threading

EXIT_WITHIN_S = 3.0
"""How long exit handlers may take; then the process ends without them."""


def prepare_process(*fds: int) -> None:
    """Make this interpreter a run child. ``fds`` are the pipe: no process started by the run inherits them."""
    for fd in fds:
        os.set_inheritable(fd, False)
    # Ctrl-C in the agent's terminal reaches the whole group; the agent decides what becomes of its runs.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _no_core_dumps()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A pipe would be written in blocks, and an odd character would end the run.
            stream.reconfigure(line_buffering=True, errors="backslashreplace")
    with contextlib.suppress(ValueError, OSError, io.UnsupportedOperation):
        # A segfault then leaves its Python stack in the console.
        faulthandler.enable()


def _no_core_dumps() -> None:
    if sys.platform == "win32":
        return
    import resource

    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def peak_resident_bytes() -> int | None:
    """The largest resident memory this process had, or ``None`` where the system does not say."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux counts in KiB, macOS in bytes.
    return peak if sys.platform == "darwin" else peak * 1024


def leave(status: int) -> None:
    """End the process with ``status``: exit handlers run, but neither they nor a thread left over can hold it."""

    def give_up() -> None:
        os._exit(status)

    timer = threading.Timer(EXIT_WITHIN_S, give_up)
    timer.daemon = True
    timer.start()
    with contextlib.suppress(BaseException):  # an exit handler may raise anything
        # Loader processes and the like are ended by these. The rest of the interpreter's own end is left out: it
        # waits for threads that a node may have left behind.
        atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)
