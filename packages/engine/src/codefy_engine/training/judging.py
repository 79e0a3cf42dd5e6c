"""The evaluation of a model as a node runs it: scores, metric points and the picture of the confusion matrix."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from codefy_engine.nodes.base import NodeContext
from codefy_engine.training.confusion_picture import confusion_svg
from codefy_engine.training.data import Batching, TensorDataset, batches_of
from codefy_engine.training.estimators import sklearn
from codefy_engine.training.loop import evaluate
from codefy_engine.training.module import GraphModule, independent_copy
from codefy_engine.training.recipes import default_loss
from codefy_engine.training.scores import accuracy, confusion_matrix, macro_f1, regression_scores
from codefy_protocol.bodies import MetricPoint
from codefy_protocol.envelope import json_number

BATCHING = Batching(batch_size=256)


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """How a model did."""

    scores: dict[str, float]
    """Without the prefix of the metrics: ``accuracy``, ``macro_f1``, ``loss``, or those of a regression."""
    confusion: Tensor
    """int64 ``[classes, classes]`` on the CPU; ``[0, 0]`` for a regression."""


def judge(
    ctx: NodeContext,
    data: TensorDataset,
    model: nn.Module,
    *,
    name: str,
    picture: bool = True,
    loss: nn.Module | None = None,
) -> Judgement:
    """Evaluate ``model`` on ``data``, record the scores as metrics and write the picture.

    Raises:
        codefy_engine.nodes.base.RunStopped: the run is to stop.
        ValueError: there is no data, or the model does not give one score per class.
    """
    if len(data) == 0:
        raise ValueError("there is no data to evaluate: the data set is empty")
    device = torch.device(ctx.device)
    model = _on_device(model, data, device)
    batches = batches_of(data.unaltered(), BATCHING, device=device)
    outputs: list[Tensor] = []
    targets: list[Tensor] = []

    def collect(output: Tensor, target: Tensor) -> None:
        outputs.append(answer_of(output) if data.classification else output)
        targets.append(target)
        seen = sum(map(len, targets))
        ctx.progress(current=seen, total=batches.sample_count, unit="samples")

    loss = (default_loss(classification=data.classification) if loss is None else loss).to(device)
    answer_of = answers_under(loss)
    mean = evaluate(
        model,
        batches,
        loss,
        classification=data.classification,
        stopped=lambda: ctx.stopped,
        on_batch=collect,
    )
    if mean is None:
        ctx.check_stop()
        raise RuntimeError("the evaluation ended early although the run goes on")
    true, predicted = torch.cat(targets).cpu(), torch.cat(outputs).cpu()
    if data.classification:
        classes = max(data.class_count, int(predicted.max()) + 1)
        confusion = confusion_matrix(predicted.flatten(), true.flatten(), classes)
        scores = {"accuracy": accuracy(confusion), "macro_f1": macro_f1(confusion), "loss": mean.loss}
    else:
        confusion = torch.zeros((0, 0), dtype=torch.int64)
        scores = {"loss": mean.loss, **regression_scores(predicted, true)}
    step, epoch = _trained(model)
    ctx.metrics(
        [
            MetricPoint(name=f"{name}_{key}", value=json_number(value), step=step, epoch=epoch, scope="epoch")
            for key, value in scores.items()
        ]
    )
    if picture and data.classification:
        _write_picture(ctx, data, confusion, scores, name)
    return Judgement(scores=scores, confusion=confusion)


def answers_under(loss: nn.Module) -> Callable[[Tensor], Tensor]:
    """How outputs become class numbers under ``loss``: by its own ``answers``, else the largest score."""
    own = getattr(loss, "answers", None)
    if callable(own):
        return cast("Callable[[Tensor], Tensor]", own)
    dim = int(getattr(loss, "class_dim", 1))
    return lambda outputs: outputs.argmax(dim=dim)


def predict(ctx: NodeContext, data: TensorDataset, model: nn.Module) -> dict[str, Tensor]:
    """Scores, shares, answers and targets of every sample, in order, on the run's device.

    Raises:
        codefy_engine.nodes.base.RunStopped: the run is to stop.
        ValueError: there is no data.
    """
    if len(data) == 0:
        raise ValueError("there is no data to predict: the data set is empty")
    device = torch.device(ctx.device)
    model = _on_device(model, data, device)
    batches = batches_of(replace(data.unaltered(), batching=None), BATCHING, device=device)
    parts: list[Tensor] = []
    targets: list[Tensor] = []
    with torch.no_grad():
        for inputs, right in batches.epoch(0):
            ctx.check_stop()
            parts.append(model(inputs))
            targets.append(right)
            ctx.progress(current=sum(map(len, targets)), total=len(data), unit="samples")
    scores = torch.cat(parts)
    found = {"scores": scores, "targets": torch.cat(targets)}
    if data.classification:
        return {**found, "shares": scores.float().softmax(1), "answers": scores.argmax(1)}
    return {**found, "shares": scores.new_zeros((0, 0)), "answers": scores}


def score_classes(ctx: NodeContext, predicted: Tensor, targets: Tensor, name: str) -> dict[str, Any]:
    """Scores and confusion matrix of class numbers.

    Raises:
        ValueError: different numbers of answers, or none.
    """
    given, right = _pair(predicted, targets)
    confusion = confusion_matrix(given.long(), right.long(), int(max(given.max(), right.max())) + 1)
    counts = confusion.double()
    hits, rows, columns = counts.diagonal(), counts.sum(1), counts.sum(0)
    present = (rows + columns) > 0
    zero = torch.zeros_like(hits)
    scores = {
        "accuracy": accuracy(confusion),
        "precision": float(torch.where(columns > 0, hits / columns, zero)[present].mean()),
        "recall": float(torch.where(rows > 0, hits / rows, zero)[present].mean()),
        "f1": macro_f1(confusion),
    }
    _record(ctx, scores, name)
    return {"metrics": scores, "confusion": confusion}


def score_numbers(ctx: NodeContext, predicted: Tensor, targets: Tensor, name: str) -> dict[str, float]:
    """Errors of numbers.

    Raises:
        ValueError: different numbers of answers, or none.
    """
    scores = regression_scores(*_pair(predicted, targets))
    _record(ctx, scores, name)
    return scores


def score_groups(ctx: NodeContext, groups: Tensor, targets: Tensor, name: str) -> dict[str, float]:
    """How far two divisions into groups agree.

    Raises:
        ValueError: different numbers of samples, or none.
    """
    found, right = (cast("Any", item).numpy() for item in _pair(groups, targets))
    metrics = sklearn("metrics")
    scores = {
        "adjusted_rand": float(metrics.adjusted_rand_score(right, found)),
        "mutual_information": float(metrics.normalized_mutual_info_score(right, found)),
    }
    _record(ctx, scores, name)
    return scores


def _pair(predicted: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    if predicted.numel() != targets.numel():
        raise ValueError(f"{predicted.numel()} answers cannot be compared with {targets.numel()} targets")
    if not predicted.numel():
        raise ValueError("there is nothing to compare")
    return predicted.detach().cpu().flatten(), targets.detach().cpu().flatten()


def _record(ctx: NodeContext, scores: dict[str, float], name: str) -> None:
    for key, value in scores.items():
        ctx.metric(f"{name}_{key}", value, 0, scope="epoch")


def _on_device(model: nn.Module, data: TensorDataset, device: torch.device) -> nn.Module:
    """The model itself where it can be used as it is, else a copy: others may be using it at this moment."""
    first = next(model.parameters(), None)
    ready = not isinstance(model, GraphModule) or model.built
    if ready and not model.training and (first is None or first.device == device):
        return model
    own = independent_copy(model)
    if isinstance(own, GraphModule):
        own.build_for(data.inputs[:1])
    return own.to(device).eval()


def _trained(model: nn.Module) -> tuple[int, float | None]:
    """Steps and epochs that made the model, so that its scores stand at the end of its curves."""
    if isinstance(model, GraphModule) and model.trained_steps:
        return model.trained_steps, float(model.trained_epochs)
    return 0, None


def _write_picture(
    ctx: NodeContext, data: TensorDataset, confusion: Tensor, scores: dict[str, float], name: str
) -> None:
    count = len(confusion)
    names = [*data.class_names, *(str(index) for index in range(len(data.class_names), count))]
    matrix: list[list[int]] = cast("Any", confusion).tolist()
    svg = confusion_svg(
        matrix,
        names,
        title=f"Confusion matrix: {data.name or name}",
        subtitle=f"{name} accuracy {scores['accuracy']:.3f}, macro F1 {scores['macro_f1']:.3f}, "
        f"{len(data):,} samples",
    )
    prefix = re.sub(r"[^A-Za-z0-9_-]+", "-", name) or "test"
    file = f"{prefix}-confusion-matrix.svg"
    path = ctx.artifact_path(file)
    path.write_text(svg, encoding="utf-8")
    meta: dict[str, Any] = {"classes": names, "accuracy": scores["accuracy"]}
    ctx.artifact("image", file, path, "image/svg+xml", meta)
