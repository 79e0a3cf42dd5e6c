"""Data sets that live in memory, and batches of them.

Batches are cut from whole tensors: one ``index_select`` a batch instead of one Python object a sample, which is what
keeps small models from waiting for their data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor

DEFAULT_BATCH_SIZE = 64
_RESIDENT_BYTES = 1 << 30
"""Up to this size a data set is copied to the accelerator once, above it batch by batch."""


def describe_shape(shape: Sequence[int]) -> str:
    """``32 x 4 x 4``; ``a single number`` for no dimension."""
    return " x ".join(str(size) for size in shape) if shape else "a single number"


@dataclass(frozen=True, kw_only=True)
class Batching:
    """How a data set is cut into batches; a ``DataLoader`` node adds it to a data set."""

    batch_size: int = DEFAULT_BATCH_SIZE
    shuffle: bool = False
    drop_last: bool = False


class Alteration(Protocol):
    """Changes a batch of inputs at random while a model learns (augmentation)."""

    def __call__(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        """A batch of the same shape; every random number comes from ``generator``, which lies on the CPU."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class TensorDataset:
    """Samples and their targets as two tensors with the same first dimension.

    ``inputs`` is ``[n, …]``, usually float32. ``targets`` is ``[n]`` int64 with class numbers for classification, or
    ``[n]`` or ``[n, k]`` floating point for regression.

    Raises:
        ValueError: the first dimensions differ.
    """

    inputs: Tensor
    targets: Tensor
    name: str = ""
    class_names: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()
    batching: Batching | None = None
    alterations: tuple[Alteration, ...] = ()
    """Applied to every batch of a training, in order."""

    def __post_init__(self) -> None:
        if self.inputs.shape[:1] != self.targets.shape[:1]:
            raise ValueError(
                f"{self.inputs.shape[0]} samples need as many targets, got {self.targets.shape[0]} targets"
            )

    def __len__(self) -> int:
        return int(self.inputs.shape[0])

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """Shape of one sample, without the batch dimension."""
        return tuple(self.inputs.shape[1:])

    @property
    def classification(self) -> bool:
        """Whether the targets are class numbers."""
        return not (self.targets.is_floating_point() or self.targets.is_complex())

    @property
    def class_count(self) -> int:
        """Number of classes; 0 for regression."""
        if not self.classification:
            return 0
        if self.class_names:
            return len(self.class_names)
        return int(self.targets.max()) + 1 if len(self) else 0

    def codefy_summary(self) -> dict[str, Any]:
        """Facts for the inspector: samples, their shape, classes, batches."""
        facts: dict[str, Any] = {"samples": len(self), "shape": list(self.sample_shape)}
        words = [f"{len(self):,} samples of {describe_shape(self.sample_shape)}"]
        if self.classification:
            facts["classes"] = self.class_count
            words.append(f"{self.class_count} classes")
        if self.alterations:
            words.append(
                f"altered in {len(self.alterations)} ways" if len(self.alterations) > 1 else "altered"
            )
        if self.batching is not None:
            facts["batch_size"] = self.batching.batch_size
            words.append(f"batches of {self.batching.batch_size}")
        return {**facts, "summary": ", ".join(words)}

    def select(self, indices: Tensor) -> TensorDataset:
        """The samples at ``indices`` (int64), in that order."""
        return replace(
            self, inputs=self.inputs.index_select(0, indices), targets=self.targets.index_select(0, indices)
        )

    def batched(self, batching: Batching) -> TensorDataset:
        """The same data with another way to cut it; the tensors are shared."""
        return replace(self, batching=batching)

    def altered(self, alteration: Alteration) -> TensorDataset:
        """The same data, each batch of which is also changed by ``alteration``."""
        return replace(self, alterations=(*self.alterations, alteration))

    def unaltered(self) -> TensorDataset:
        """The same data as it is, for judging."""
        return replace(self, alterations=()) if self.alterations else self


class Batches:
    """An epoch's batches of a data set on a device, in an order that depends on the seed and the epoch only.

    Because no generator is carried from epoch to epoch, training can go on from any batch of any epoch.
    """

    def __init__(
        self, dataset: TensorDataset, batching: Batching, *, device: torch.device, seed: int = 0
    ) -> None:
        self.dataset = dataset
        self.batching = batching
        self.device = device
        self.seed = seed
        self._inputs = dataset.inputs
        self._targets = dataset.targets
        size = self._inputs.numel() * self._inputs.element_size()
        if device.type != "cpu" and size <= _RESIDENT_BYTES:
            self._inputs = self._inputs.to(device)
            self._targets = self._targets.to(device)

    @property
    def sample_count(self) -> int:
        """Samples in one epoch."""
        if self.batching.drop_last:
            return len(self) * self.batching.batch_size
        return len(self.dataset)

    def __len__(self) -> int:
        full, rest = divmod(len(self.dataset), self.batching.batch_size)
        return full if self.batching.drop_last or not rest else full + 1

    def epoch(self, epoch: int, *, start: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield ``(inputs, targets)`` on the device: the batches of ``epoch`` from batch ``start`` on."""
        size = self.batching.batch_size
        order = self._order(epoch) if self.batching.shuffle else None
        for index in range(start, len(self)):
            first = index * size
            if order is None:
                inputs, targets = self._inputs[first : first + size], self._targets[first : first + size]
            else:
                chosen = order[first : first + size]
                inputs, targets = self._inputs.index_select(0, chosen), self._targets.index_select(0, chosen)
            if inputs.device != self.device:
                inputs = inputs.to(self.device, non_blocking=True)
                targets = targets.to(self.device, non_blocking=True)
            if self.dataset.alterations:
                inputs = self._altered(inputs, epoch, index)
            yield inputs, targets

    def _altered(self, inputs: Tensor, epoch: int, index: int) -> Tensor:
        generator = torch.Generator()
        generator.manual_seed(
            (self.seed * 1_000_003 + epoch * 7_919 + index * 104_729 + 500_000_003) % (1 << 63)
        )
        for alteration in self.dataset.alterations:
            inputs = alteration(inputs, generator)
        return inputs

    def _order(self, epoch: int) -> Tensor:
        generator = torch.Generator()
        # Two different mixes: epoch 1 of seed 0 must not be epoch 0 of seed 1.
        generator.manual_seed((self.seed * 1_000_003 + epoch * 7_919 + 1) % (1 << 63))
        return torch.randperm(len(self.dataset), generator=generator).to(self._inputs.device)


def batches_of(dataset: TensorDataset, default: Batching, *, device: torch.device, seed: int = 0) -> Batches:
    """Batches as the data set's loader says, or as ``default`` when it has none."""
    return Batches(dataset, dataset.batching or default, device=device, seed=seed)


@dataclass(frozen=True, kw_only=True)
class Split:
    """The three parts of a data set."""

    train: TensorDataset
    validation: TensorDataset
    test: TensorDataset


def split_dataset(
    dataset: TensorDataset,
    *,
    test_fraction: float,
    validation_fraction: float,
    seed: int,
    stratify: bool = True,
    standardize: bool = False,
) -> Split:
    """Divide at random; the sizes of test and validation are rounded, training gets the rest.

    With ``stratify`` each class is divided by itself, so its share in a part is off by less than one sample. With
    ``standardize`` all parts are scaled with mean and deviation of the training part, feature by feature.

    Raises:
        ValueError: the fractions leave nothing to train with.
    """
    count = len(dataset)
    if test_fraction + validation_fraction >= 1:
        raise ValueError(
            f"test ({test_fraction:g}) and validation ({validation_fraction:g}) leave nothing to train with"
        )
    generator = torch.Generator()
    generator.manual_seed(seed)
    order = torch.randperm(count, generator=generator)
    if stratify and dataset.classification:
        order = _interleave_classes(order, dataset.targets)
    test_count = round(count * test_fraction)
    validation_count = min(round(count * validation_fraction), count - test_count)
    train_count = count - test_count - validation_count
    if train_count < 1:
        raise ValueError(f"{count} samples are too few for these fractions: nothing is left to train with")
    test, validation, train = torch.split(order, [test_count, validation_count, train_count])
    # Interleaved classes must not be met in that order when nothing shuffles later.
    train = train[torch.randperm(train_count, generator=generator)]
    parts = [dataset.select(indices) for indices in (train, validation, test)]
    if standardize:
        parts = _standardized(parts)
    return Split(train=parts[0], validation=parts[1], test=parts[2])


def fold_dataset(
    dataset: TensorDataset, *, folds: int, fold: int, seed: int
) -> tuple[TensorDataset, TensorDataset]:
    """Training and test part of fold ``fold`` (from 1); classes keep their shares.

    Raises:
        ValueError: fewer samples than folds, or no such fold.
    """
    if fold > folds:
        raise ValueError(f"there is no part {fold} of {folds}")
    if len(dataset) < folds:
        raise ValueError(f"{len(dataset)} samples cannot be divided into {folds} parts")
    generator = torch.Generator()
    generator.manual_seed(seed)
    order = torch.randperm(len(dataset), generator=generator)
    if dataset.classification:
        # Class by class, so that dealing them out in turn gives every part its share of each.
        labels = dataset.targets.reshape(len(dataset), -1)[:, 0]
        order = order[torch.argsort(labels[order], stable=True)]
    place = torch.arange(len(order)) % folds
    return dataset.select(order[place != fold - 1].sort().values), dataset.select(
        order[place == fold - 1].sort().values
    )


def join_datasets(first: TensorDataset, second: TensorDataset) -> TensorDataset:
    """The samples of both, ``first``'s before ``second``'s; names and batches are the first's.

    Raises:
        ValueError: samples or targets differ in shape or kind.
    """
    if first.sample_shape != second.sample_shape:
        raise ValueError(
            f"samples of {describe_shape(first.sample_shape)} cannot be joined with samples of "
            f"{describe_shape(second.sample_shape)}"
        )
    if first.targets.shape[1:] != second.targets.shape[1:] or first.classification != second.classification:
        raise ValueError("the targets of the two data sets differ in kind or shape")
    return replace(
        first,
        inputs=torch.cat((first.inputs, second.inputs)),
        targets=torch.cat((first.targets, second.targets)),
    )


def _interleave_classes(order: Tensor, targets: Tensor) -> Tensor:
    """Reorder so that every stretch has the classes in the same shares.

    The k-th of a class's n samples gets the position (k + 1/2) / n, and the samples are sorted by it.
    """
    labels = targets[order].flatten(1).select(1, 0) if targets.dim() > 1 else targets[order]
    position = torch.empty(len(order), dtype=torch.float64)
    for label in range(int(labels.max()) + 1 if len(labels) else 0):
        members = torch.argwhere(labels == label).squeeze(1)
        position[members] = (torch.arange(len(members), dtype=torch.float64) + 0.5) / len(members)
    return order[torch.argsort(position, stable=True)]


def _standardized(parts: list[TensorDataset]) -> list[TensorDataset]:
    """Scale all parts by the first one's mean and deviation; a feature that never changes becomes 0."""
    inputs = parts[0].inputs
    mean = inputs.mean(dim=0, keepdim=True)
    deviation = inputs.std(dim=0, keepdim=True, correction=0)
    scale = torch.where(deviation > 0, deviation, torch.ones_like(deviation))
    return [replace(part, inputs=(part.inputs - mean) / scale) for part in parts]
