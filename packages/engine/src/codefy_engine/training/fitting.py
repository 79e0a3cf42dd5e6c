"""Fits of scikit-learn that a stop ends.

Most of them are one call into compiled code that nothing interrupts. One that would take long therefore runs in a
process of its own, which a stop ends at once; a short one is over before its process would have started.
"""

from __future__ import annotations

import itertools
import math
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, cast

from codefy_engine.nodes.base import RunStopped
from codefy_engine.training.fit_process import CALL, RESULT

APART_FROM_S = 1.0
"""Fits that are thought to take longer run in a process of their own."""
_LOOK_S = 0.05
_STAGE = 3e-8
"""Seconds to sort one number into a tree."""


class Watcher(Protocol):
    """What a long fit asks and tells."""

    def check_stop(self) -> None: ...

    @property
    def stopped(self) -> bool: ...


def fit(
    watcher: Watcher,
    estimator: Any,
    samples: Any,
    *others: Any,
    method: str = "fit",
    here: Callable[[], Any] | None = None,
) -> tuple[Any, Any]:
    """``estimator.fit(samples, *others)``, or another of its methods: the fitted estimator and what it returned.

    ``here`` does a short fit instead, where that can be stopped in between.

    Raises:
        RunStopped: the run is to stop; the fit has ended.
        ValueError: the estimator does not take the data.
        RuntimeError: the process of the fit died.
    """
    watcher.check_stop()
    if seconds_of(estimator, samples) <= APART_FROM_S:
        result = getattr(estimator, method)(samples, *others) if here is None else here()
        watcher.check_stop()
        return estimator, None if result is estimator else result
    return _apart(watcher, estimator, method, (samples, *others))


def _apart(watcher: Watcher, estimator: Any, method: str, arguments: tuple[Any, ...]) -> tuple[Any, Any]:
    with tempfile.TemporaryDirectory(prefix="codefy-fit-") as name:
        folder = Path(name)
        (folder / CALL).write_bytes(pickle.dumps((estimator, method, arguments)))
        process = subprocess.Popen(
            [sys.executable, "-m", "codefy_engine.training.fit_process", name], stdin=subprocess.PIPE
        )
        try:
            while process.poll() is None:
                if watcher.stopped:
                    raise RunStopped
                try:
                    process.wait(_LOOK_S)
                except subprocess.TimeoutExpired:
                    continue
        finally:
            process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()
        found = folder / RESULT
        if not found.exists():
            raise RuntimeError(f"the process of the fit ended with {process.returncode} and no result")
        # Written by our own process into a folder that nobody else can write.
        answer = pickle.loads(found.read_bytes())  # noqa: S301
        well, first, second = cast("tuple[bool, Any, Any]", answer)
    if well:
        return first, second
    if isinstance(second, BaseException):
        raise second
    raise RuntimeError(f"{first}: {second}")


def seconds_of(estimator: Any, samples: Any) -> float:
    """About how long a fit takes on one core: right to a factor of a few, which is all that it decides."""
    count, features = (int(size) for size in samples.shape)
    name = type(estimator).__name__
    get = cast("dict[str, Any]", estimator.get_params(deep=False)).get
    sorting = count * math.log2(count + 1) * features * _STAGE
    if name in ("SVC", "SVR"):
        # Where classes overlap, the steps grow with the samples, and with how dearly an error is paid. Too much is
        # the better guess: a fit here cannot be stopped.
        dear = max(1.0, float(get("C", 1.0))) * (5 if get("probability", False) else 1)
        return count**2 * max(features, 10) * 5e-9 + count**3 * dear * 1e-10
    if name.startswith("MLP"):
        sizes = [features, *get("hidden_layer_sizes", ()), 10]
        weights = sum(before * after for before, after in itertools.pairwise(sizes))
        batches = max(1, count // 200)
        return get("max_iter", 200) * (batches * 3e-4 + count * weights * 6 / 5e9)
    if name == "LogisticRegression":
        return count * features * min(get("max_iter", 100), 1000) * 1e-8
    if name.startswith("DecisionTree"):
        return sorting
    if name.startswith(("RandomForest", "GradientBoosting")):
        share = 1.0 if name.startswith("Gradient") else 1 / math.sqrt(features)
        return get("n_estimators", 100) * (sorting * share + 1e-3)
    if name == "TSNE":
        return count * 4e-3
    if name == "KMeans":
        tries = get("n_init", 10)
        return count * features * get("n_clusters", 8) * (tries if isinstance(tries, int) else 10) * 2e-8
    if name == "DBSCAN":
        return count**2 * features * 1e-9
    if name in ("Lasso", "ElasticNet"):
        return count * features * get("max_iter", 1000) * 1e-9
    # Linear algebra on the samples as a matrix, or less.
    return count * features * min(count, features) * 2e-9
