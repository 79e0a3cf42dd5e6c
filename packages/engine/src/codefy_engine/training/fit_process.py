"""Runs one fit of scikit-learn in a process that can be ended: ``python -m codefy_engine.training.fit_process FOLDER``.

The folder, which only its owner can read, holds ``call.pickle`` (estimator, name of the method, its arguments); the
answer is ``result.pickle`` (whether it went well, then estimator and result, or the error). When the process that
started it is gone, so is this one.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
from pathlib import Path
from typing import Any

CALL = "call.pickle"
RESULT = "result.pickle"


def _end_with_parent() -> None:
    """The other end of the standard input closes when its process ends, however it does."""
    sys.stdin.buffer.read()
    os._exit(1)


def answer_to(call: bytes) -> bytes:
    """Do what was asked; never raises for what the estimator does."""
    import importlib
    import warnings

    # scikit-learn has no types that a checker could use.
    too_few: Any = importlib.import_module("sklearn.exceptions")
    answer: tuple[bool, Any, Any]
    try:
        estimator, method, arguments = pickle.loads(call)  # noqa: S301  # from the process that started this one
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", too_few.ConvergenceWarning)
            result = getattr(estimator, method)(*arguments)
        answer = (True, estimator, None if result is estimator else result)
    except Exception as error:  # told to whoever asked
        own = isinstance(error, ValueError | MemoryError)
        answer = (False, type(error).__name__, error if own else str(error))
    return pickle.dumps(answer)


def main(folder: Path) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    answer = answer_to((folder / CALL).read_bytes())
    partial = folder / f"{RESULT}.part"
    partial.write_bytes(answer)
    partial.replace(folder / RESULT)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    # No waiting for the thread that reads.
    sys.stdout.flush()
    os._exit(0)
