"""A mixture of experts: for every vector a gate chooses few of several small networks (Shazeer et al., 2017)."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn


class _WithBalance(torch.autograd.Function):
    """Passes values through; backwards it adds the gradient of a second loss, as if it had been added to the first."""

    @staticmethod
    def forward(ctx: Any, y: Tensor, loss: Tensor) -> Tensor:  # type: ignore[override]
        ctx.save_for_backward(loss)
        return y.view_as(y)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        return grad, torch.ones_like(ctx.saved_tensors[0])


class MixtureOfExperts(nn.Module):
    """``y = Σ g_e(x) · expert_e(x)`` over the ``chosen`` experts with the highest gates, for ``x`` ``[n, …, width]``.

    ``g`` is the softmax of the chosen gates' scores. An expert is ``Linear(width, hidden)``, GELU,
    ``Linear(hidden, width)``. Returns ``(y, load)``: ``load`` ``[n, experts]`` is the share of each sample's choices
    that went to each expert. While training, ``balance · experts · Σ f_e p_e`` (Fedus et al., 2021, equation 4) is
    made small along with the loss: ``f`` are the shares of choices, ``p`` the mean probabilities.
    """

    def __init__(self, width: int, *, experts: int, chosen: int, hidden: int, balance: float) -> None:
        super().__init__()
        self.chosen = chosen
        self.balance = balance
        self.gate = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))
            for _ in range(experts)
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        flat = x.reshape(-1, x.shape[-1])
        scores = self.gate(flat)
        best, indices = scores.topk(self.chosen, dim=-1)
        gates = torch.zeros_like(scores).scatter(-1, indices, best.softmax(dim=-1))
        used = torch.zeros_like(scores).scatter(-1, indices, 1.0 / self.chosen)
        y = self._mixed(flat, gates, used).reshape(x.shape)
        if self.training and self.balance > 0 and torch.is_grad_enabled():
            loss = len(self.experts) * (used.mean(0) * scores.softmax(dim=-1).mean(0)).sum()
            y = cast("Tensor", _WithBalance.apply(y, self.balance * loss))
        load = used.reshape(x.shape[0], -1, len(self.experts)).mean(dim=1)
        return y, load.detach()

    def _mixed(self, x: Tensor, gates: Tensor, used: Tensor) -> Tensor:
        y = torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            if x.device.type == "meta":
                # No values, so nobody can be chosen; the shape is the same.
                y = y + expert(x) * gates[:, index : index + 1]
                continue
            (rows,) = torch.nonzero(used[:, index], as_tuple=True)
            if len(rows):
                y = y.index_add(0, rows, (expert(x[rows]) * gates[rows, index : index + 1]).to(y.dtype))
        return y
