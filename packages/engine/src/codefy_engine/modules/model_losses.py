"""Losses of models that give several outputs, as a tuple."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn
from torch.nn import functional


class VAELoss(nn.Module):
    """The negative evidence lower bound per sample, for outputs ``(reconstruction, mean, log variance)``.

    ``reconstruction error + beta · ½ Σ (mean² + exp(log variance) - 1 - log variance)`` (Kingma and Welling, 2013,
    appendix B); sums over a sample's numbers, means over the batch.
    """

    def __init__(self, reconstruction: Literal["mse", "bce"] = "mse", beta: float = 1.0) -> None:
        super().__init__()
        self.reconstruction = reconstruction
        self.beta = beta

    def forward(self, outputs: tuple[Tensor, Tensor, Tensor], targets: Tensor) -> Tensor:
        if len(outputs) != 3:
            raise ValueError("it takes three outputs: reconstruction, mean and log variance")
        made, mean, log_variance = outputs
        if self.reconstruction == "bce":
            error = functional.binary_cross_entropy_with_logits(made, targets, reduction="sum")
        else:
            error = functional.mse_loss(made, targets, reduction="sum")
        divergence = (mean.square() + log_variance.exp() - 1 - log_variance).sum() / 2
        return (error + self.beta * divergence) / len(targets)


class DiffusionLoss(nn.Module):
    """The mean of ``(guess - noise)²`` for outputs ``(guess, noise)``; the targets do not matter."""

    def forward(self, outputs: tuple[Tensor, Tensor], targets: Tensor) -> Tensor:
        if len(outputs) != 2:
            raise ValueError("it takes the two outputs of a Diffusion model")
        return functional.mse_loss(outputs[0], outputs[1])
