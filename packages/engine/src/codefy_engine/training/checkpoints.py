"""Checkpoints: everything that is needed to go on from a step, in a file that plain ``torch.load`` reads.

The files hold tensors, numbers, texts, lists and dicts only, so ``torch.load(path, weights_only=True)`` opens them
anywhere, without Codefy. Keys: ``format`` (1), ``model`` and ``optimizer`` (state dicts), ``progress`` (``epoch``:
completed ones, ``step``, ``batch``: batches done of the epoch under way), ``rng`` (states of the random generators),
``config`` (settings of the loop), ``architecture`` (the module's layers), ``metrics`` (of the last epoch) and
``state`` (schedules, loss scale, gradients of an unfinished group, the best epoch, the values of all epochs).
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

FORMAT = 1


class CheckpointError(ValueError):
    """A file is not a checkpoint of ours, or does not fit the model; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where a training stands."""

    epoch: int = 0
    """Completed epochs."""
    step: int = 0
    """Batches done in all."""
    batch: int = 0
    """Batches done of the epoch under way."""
    loss_sum: float = 0.0
    samples: int = 0
    correct: int = 0
    answers: int = 0


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """The contents of a checkpoint file."""

    model: dict[str, Tensor]
    optimizer: dict[str, Any]
    progress: Progress
    rng: dict[str, Any]
    config: dict[str, Any] = field(default_factory=dict[str, Any])
    architecture: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    metrics: dict[str, float] = field(default_factory=dict[str, float])
    state: dict[str, Any] = field(default_factory=dict[str, Any])
    """What else the loop needs to go on; see :meth:`codefy_engine.training.loop.TrainingLoop.checkpoint`."""


def random_state(model: nn.Module) -> dict[str, Any]:
    """States of torch's generators and of the module's own (the dropout layers have one each)."""
    state: dict[str, Any] = {"torch": torch.get_rng_state()}
    layers: dict[str, Tensor] = {}
    for name, module in _modules(model):
        read = getattr(module, "generator_state", None)
        if callable(read):
            value = read()
            if isinstance(value, Tensor):
                layers[name] = value
    state["layers"] = layers
    return state


def restore_random_state(model: nn.Module, state: dict[str, Any]) -> None:
    """Put the generators back to where :func:`random_state` read them."""
    torch.set_rng_state(state["torch"])
    layers = cast("dict[str, Tensor]", state.get("layers", {}))
    first = next(model.parameters(), None)
    device = first.device if first is not None else torch.device("cpu")
    for name, module in _modules(model):
        if name in layers:
            restore = getattr(module, "restore_generator", None)
            if callable(restore):
                restore(layers[name], device)


def _modules(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    return cast("Iterator[tuple[str, nn.Module]]", model.named_modules())


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write ``path`` so that it is either the old file or the whole new one, also after a crash.

    Raises:
        OSError: the folder cannot be written or the disk is full; no partial file stays behind.
    """
    content = {
        "format": FORMAT,
        "model": checkpoint.model,
        "optimizer": checkpoint.optimizer,
        "progress": {name: getattr(checkpoint.progress, name) for name in Progress.__dataclass_fields__},
        "rng": checkpoint.rng,
        "config": checkpoint.config,
        "architecture": checkpoint.architecture,
        "metrics": checkpoint.metrics,
        "state": checkpoint.state,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with partial.open("wb") as file:
            torch.save(content, file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def load_checkpoint(path: Path, *, device: torch.device | str = "cpu") -> Checkpoint:
    """Read a checkpoint without running any code from it.

    Raises:
        CheckpointError: the file is no checkpoint or was written by a newer version.
        OSError: the file cannot be read.
    """
    try:
        content = torch.load(path, map_location=device, weights_only=True)
    except OSError:
        raise
    except Exception as error:
        raise CheckpointError(f"{path.name} is not a checkpoint: {error}") from error
    if not isinstance(content, dict) or "format" not in content or "model" not in content:
        raise CheckpointError(f"{path.name} is not a checkpoint of Codefy: it has no format and model")
    fields = cast("dict[str, Any]", content)
    if fields["format"] != FORMAT:
        raise CheckpointError(
            f"{path.name} has checkpoint format {fields['format']}; this Codefy reads {FORMAT}"
        )
    rng = {name: _on_cpu(value) for name, value in fields["rng"].items()}
    return Checkpoint(
        model=fields["model"],
        optimizer=fields["optimizer"],
        progress=Progress(**fields["progress"]),
        rng=rng,
        config=fields["config"],
        architecture=fields["architecture"],
        metrics=fields["metrics"],
        state=fields.get("state", {}),
    )


def _on_cpu(value: Any) -> Any:
    """Generator states are read on the CPU, wherever the model goes."""
    if isinstance(value, Tensor):
        return value.cpu()
    if isinstance(value, dict):
        return {name: _on_cpu(item) for name, item in cast("dict[str, Any]", value).items()}
    return value
