"""Recurrent layers with the batch first everywhere, also in their states."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

Kind = Literal["rnn_tanh", "rnn_relu", "lstm", "gru"]


class Recurrent(nn.Module):
    """An RNN, LSTM or GRU over ``x`` ``[n, t, features]``.

    Called with ``(x, state, cell)`` of which the states may be ``None`` (zeros); they are ``[n, layers · directions,
    hidden]``. Returns ``(y, last, state)``, an LSTM also the cell: ``y`` is ``[n, t, directions · hidden]``, ``last``
    ``[n, directions · hidden]`` what each direction of the top layer ended with.
    """

    def __init__(self, kind: Kind, features: int, hidden: int, *, layers: int, bidirectional: bool) -> None:
        super().__init__()
        options: dict[str, Any] = {
            "num_layers": layers,
            "bidirectional": bidirectional,
            "batch_first": True,
        }
        self.directions = 2 if bidirectional else 1
        if kind == "lstm":
            self.core: nn.RNNBase = nn.LSTM(features, hidden, **options)
        elif kind == "gru":
            self.core = nn.GRU(features, hidden, **options)
        else:
            self.core = nn.RNN(features, hidden, nonlinearity=kind.removeprefix("rnn_"), **options)

    def forward(
        self, x: Tensor, state: Tensor | None = None, cell: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        start: Any = None
        if state is not None or cell is not None:
            known = state if state is not None else torch.zeros_like(cell)  # type: ignore[arg-type]  # one is there
            start = known.transpose(0, 1).contiguous()
            if isinstance(self.core, nn.LSTM):
                other = torch.zeros_like(known) if cell is None else cell
                start = (start, other.transpose(0, 1).contiguous())
        y, ended = self.core(x, start)
        hidden: Tensor = ended[0] if isinstance(self.core, nn.LSTM) else ended
        last = torch.cat([hidden[-self.directions + index] for index in range(self.directions)], dim=1)
        if isinstance(self.core, nn.LSTM):
            return y, last, hidden.transpose(0, 1), ended[1].transpose(0, 1)
        return y, last, hidden.transpose(0, 1)
