"""Losses that torch has not, or not with the targets that a data set gives."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class ClassLoss(nn.CrossEntropyLoss):
    """Cross-entropy over scores in dimension ``class_dim``: 1 as torch has it, or -1 for ``[n, …, classes]``.

    The loop reads ``class_dim`` to count right answers.
    """

    def __init__(
        self,
        *,
        weight: Tensor | None = None,
        label_smoothing: float = 0.0,
        ignore_index: int = -100,
        class_dim: int = 1,
    ) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType]  # torch leaves its arguments untyped
            weight=weight, label_smoothing=label_smoothing, ignore_index=ignore_index
        )
        self.class_dim = class_dim

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        if self.class_dim == -1 and input.dim() > 2:
            input, target = input.flatten(0, -2), target.flatten()
        return super().forward(input, target)


class FocalLoss(nn.Module):
    """Mean of ``(1 - p)^gamma · -log p`` (Lin et al. 2017) over scores ``[n, classes, …]`` and classes ``[n, …]``."""

    def __init__(self, gamma: float) -> None:
        super().__init__()
        self.gamma = gamma

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        surprise = functional.cross_entropy(input, target, reduction="none")
        return ((1 - torch.exp(-surprise)) ** self.gamma * surprise).mean()


class BinaryLoss(nn.Module):
    """Binary cross-entropy that also takes class numbers 0 and 1 as targets, ``[n]`` beside outputs ``[n, 1]``."""

    any_targets = True

    def __init__(self, *, logits: bool, positive_weight: float = 1.0) -> None:
        super().__init__()
        self.logits = logits
        self.positive_weight = positive_weight

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        if not target.is_floating_point():
            target = target.to(input.dtype).reshape(input.shape)
        if not self.logits:
            return functional.binary_cross_entropy(input, target)
        weight = None if self.positive_weight == 1 else input.new_tensor(self.positive_weight)
        return functional.binary_cross_entropy_with_logits(input, target, pos_weight=weight)

    def count_correct(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Right answers as a scalar int64 tensor: class 1 from a score of 0, or a share of one half, on."""
        return (self.answers(outputs).reshape(targets.shape) == targets).sum()

    def answers(self, outputs: Tensor) -> Tensor:
        """Class numbers 0 and 1, int64, of the outputs' shape."""
        return (outputs >= (0.0 if self.logits else 0.5)).long()


class CosineLoss(nn.Module):
    """Mean of ``max(0, 1 - cos(output, target) - slack)`` over ``[n, features]``."""

    def __init__(self, slack: float = 0.0) -> None:
        super().__init__()
        self.slack = slack

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        distance = 1 - functional.cosine_similarity(input, target, dim=-1)
        return (distance - self.slack).clamp(min=0).mean() if self.slack else distance.mean()


class BatchTripletLoss(nn.Module):
    """Batch-hard triplets (Hermans et al. 2017): vectors ``[n, features]``, classes ``[n]``.

    Samples without another of their class, or of another class, in the batch count nothing.
    """

    counts_answers = False
    """Outputs are vectors, not scores of classes."""

    def __init__(self, margin: float) -> None:
        super().__init__()
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        squared = (input.unsqueeze(0) - input.unsqueeze(1)).square().sum(-1)
        # The root's slope at 0 is infinite.
        distances = squared.clamp(min=1e-12).sqrt()
        same = target.unsqueeze(0) == target.unsqueeze(1)
        itself = torch.eye(len(target), dtype=torch.bool, device=target.device)
        farthest = distances.masked_fill(~same | itself, 0.0).amax(1)
        nearest = distances.masked_fill(same, torch.inf).amin(1)
        usable = (same & ~itself).any(1) & (~same).any(1)
        losses = (farthest - nearest + self.margin).clamp(min=0)
        return torch.where(usable, losses, torch.zeros_like(losses)).sum() / usable.sum().clamp(min=1)
