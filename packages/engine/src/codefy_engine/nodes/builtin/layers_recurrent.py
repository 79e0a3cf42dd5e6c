"""Recurrent layers: they read a sequence step by step. Shapes are written without the batch dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from codefy_engine.nodes.base import input, node, output, param
from codefy_engine.nodes.builtin._layer import Layer, sequence_of

if TYPE_CHECKING:
    from torch import Tensor, nn

    from codefy_engine.modules.recurrent import Kind


class _Recurrent(Layer):
    """What every recurrent layer has."""

    x: Tensor = input("tensor", doc="The sequences: length x features.")
    state: Tensor | None = input(
        "tensor", required=False, doc="The state to start from: layers · directions x hidden. Without: zeros."
    )
    hidden: int = param(64, ge=1, le=65_536, doc="Size of the state that is carried from step to step.")
    layers: int = param(1, ge=1, le=32, doc="How many are stacked.")
    bidirectional: bool = param(False, doc="Read from the end too, and put both results side by side.")
    y: Tensor = output("tensor", doc="What it gave at every step: length x directions · hidden.")
    last: Tensor = output("tensor", doc="What each direction ended with: directions · hidden.")
    state_out: Tensor = output(
        "tensor", label="State", name="state", doc="The state at the end: layers · directions x hidden."
    )

    def _make(self, kind: Kind, shape: Any) -> nn.Module:
        from codefy_engine.modules.recurrent import Recurrent

        _, features = sequence_of(shape)
        return Recurrent(kind, features, self.hidden, layers=self.layers, bidirectional=self.bidirectional)


@node(type="RNN", title="RNN", category="layers", icon="repeat")
class RNN(_Recurrent):
    """The plain recurrent network: `h_t = f(W x_t + b + U h_(t-1) + c)`.

    `length x features → length x directions · hidden`. It forgets soon; **GRU** and **LSTM** remember longer.
    """

    activation: Literal["tanh", "relu"] = param("tanh", doc="The function f.")

    def build(self, *shapes: Any) -> nn.Module:
        return self._make("rnn_tanh" if self.activation == "tanh" else "rnn_relu", shapes[0])


@node(type="GRU", title="GRU", category="layers", icon="repeat")
class GRU(_Recurrent):
    """A recurrent network with two gates, which decide what to forget and what to take in (Cho et al., 2014).

    `length x features → length x directions · hidden`. With `r` and `z` the sigmoid gates:
    `n = tanh(W x + b + r · (U h + c))`, `h' = (1 - z) · n + z · h`.
    """

    def build(self, *shapes: Any) -> nn.Module:
        return self._make("gru", shapes[0])


@node(type="LSTM", title="LSTM", category="layers", icon="repeat")
class LSTM(_Recurrent):
    """A recurrent network with a memory cell behind three gates (Hochreiter and Schmidhuber, 1997).

    `length x features → length x directions · hidden`. With the sigmoid gates `i`, `f`, `o`:
    `c' = f · c + i · tanh(W x + U h + b)`, `h' = o · tanh(c')`. Wire *last* to a **Linear** to predict from a whole
    sequence.
    """

    cell: Tensor | None = input(
        "tensor", required=False, doc="The cell to start from, of the state's shape. Without: zeros."
    )
    cell_out: Tensor = output(
        "tensor", label="Cell", name="cell", doc="The cell at the end: layers · directions x hidden."
    )

    def build(self, *shapes: Any) -> nn.Module:
        return self._make("lstm", shapes[0])
