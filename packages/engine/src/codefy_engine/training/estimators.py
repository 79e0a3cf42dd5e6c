"""scikit-learn's estimators on data sets, and as models that the other nodes can apply and judge."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn

from codefy_engine.training.data import TensorDataset
from codefy_engine.training.fitting import Watcher, fit
from codefy_engine.training.synthetic import tensor_of

_TREES_AT_ONCE = 10


def sklearn(module: str) -> Any:
    """``sklearn.<module>``, imported when it is needed; it has no types that pyright can use."""
    return cast("Any", importlib.import_module(f"sklearn.{module}"))


class EstimatorModel(nn.Module):
    """A fitted estimator as a module: ``[n, …]`` to scores ``[n, classes]``, or to numbers ``[n, k]``.

    Scores of classes are logarithms of their probabilities, so that cross-entropy over them is the log loss; an
    estimator without probabilities gives 0 to the class it chooses and -20 to the others.
    """

    def __init__(self, estimator: Any, *, classes: int, title: str) -> None:
        super().__init__()
        self.estimator = estimator
        self.classes = classes
        """0 for numbers."""
        self.title = title
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        samples = flat_array(x)
        if not self.classes:
            numbers = tensor_of(self.estimator.predict(samples), torch.float32)
            return numbers.reshape(len(x), -1).to(x.device)
        known = tensor_of(self.estimator.classes_, torch.int64)
        scores = torch.full((len(x), self.classes), -20.0, dtype=torch.float64)
        if hasattr(self.estimator, "predict_proba"):
            shares = tensor_of(self.estimator.predict_proba(samples), torch.float64)
            scores[:, known] = shares.clamp(min=1e-15).log()
        else:
            chosen = tensor_of(self.estimator.predict(samples), torch.int64)
            scores[torch.arange(len(x)), chosen] = 0.0
        return scores.float().to(x.device)

    def codefy_summary(self) -> str:
        return f"{self.title}, fitted"


def flat_array(inputs: Tensor) -> Any:
    """float64 ``[n, features]`` as scikit-learn takes it."""
    flat = inputs.detach().cpu().double().flatten(1) if inputs.dim() > 1 else inputs.reshape(-1, 1).double()
    return cast("Any", flat).numpy()


def fit_estimator(watcher: Watcher, estimator: Any, data: TensorDataset, title: str) -> EstimatorModel:
    """Fit to a data set; see :mod:`codefy_engine.training.fitting` for how a stop ends it.

    Raises:
        ValueError: there is no data, or the estimator does not take its targets.
        RunStopped: the run is to stop.
    """
    if not len(data):
        raise ValueError("there is no data to learn from: the data set is empty")
    if data.classification and data.targets.dim() > 1:
        raise ValueError("each sample needs one class; these have several")
    samples = flat_array(data.inputs)
    targets = cast("Any", data.targets.cpu()).numpy()
    if not data.classification and data.targets.dim() > 1 and data.targets.shape[1] == 1:
        targets = targets.ravel()
    name = type(estimator).__name__
    here: Callable[[], Any] | None = None
    if name.startswith("RandomForest"):
        here = functools.partial(_fit_in_parts, watcher, estimator, samples, targets)
    elif name.startswith("GradientBoosting"):

        def monitored() -> Any:
            return estimator.fit(samples, targets, monitor=lambda *_: watcher.stopped)  # pyright: ignore[reportUnknownLambdaType]

        here = monitored

    estimator, _ = fit(watcher, estimator, samples, targets, here=here)
    return EstimatorModel(estimator, classes=data.class_count, title=title)


def _fit_in_parts(watcher: Watcher, estimator: Any, samples: Any, targets: Any) -> None:
    """A forest grown a few trees at a time; the trees are those of one fit."""
    total = estimator.n_estimators
    estimator.set_params(warm_start=True)
    for count in range(_TREES_AT_ONCE, total + _TREES_AT_ONCE, _TREES_AT_ONCE):
        watcher.check_stop()
        estimator.set_params(n_estimators=min(count, total))
        estimator.fit(samples, targets)


def convergence_ignored(fit: Callable[[], Any]) -> Any:
    """Run ``fit`` without scikit-learn's warnings about too few iterations; the result shows it."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sklearn("exceptions").ConvergenceWarning)
        return fit()
