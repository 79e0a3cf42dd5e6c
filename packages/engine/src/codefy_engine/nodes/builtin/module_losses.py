"""Losses of models that give several outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from codefy_engine.nodes.base import Node, NodeContext, node, output, param

if TYPE_CHECKING:
    from torch import nn


@node(type="VAELoss", title="VAE loss", category="training", icon="target")
class VAELoss(Node):
    """The loss of a variational auto-encoder: how badly it copies, and how far its code is from normal noise.

    For a Module with three outputs, reconstruction, mean and log variance:
    `error + beta · ½ Σ (mean² + exp(log variance) - 1 - log variance)`, summed over a sample's numbers, averaged over
    the batch (Kingma and Welling, 2013). The data's targets are what to copy: **Inputs as targets**.
    """

    reconstruction: Literal["mse", "bce"] = param(
        "mse",
        choices=[("mse", "Squared error"), ("bce", "Cross-entropy of scores")],
        doc="For numbers, or for values from 0 to 1 whose scores the model gives.",
    )
    beta: float = param(1.0, ge=0, le=1000, doc="Weight of the code's part.")
    loss: nn.Module = output("loss", doc="For the training loop.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.modules.model_losses import VAELoss

        return VAELoss(self.reconstruction, self.beta)


@node(type="DiffusionLoss", title="Diffusion loss", category="training", icon="target")
class DiffusionLoss(Node):
    """The loss of a **Diffusion model**: the mean of `(guess - noise)²`. The data's targets do not matter."""

    loss: nn.Module = output("loss", doc="For the training loop.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.modules.model_losses import DiffusionLoss

        return DiffusionLoss()
