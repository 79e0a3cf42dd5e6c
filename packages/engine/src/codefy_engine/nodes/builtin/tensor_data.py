"""Between tensors and data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codefy_engine.nodes.base import Node, NodeContext, input, node, output, param

if TYPE_CHECKING:
    from torch import Tensor

    from codefy_engine.training.data import TensorDataset


@node(type="TensorsToDataset", title="Tensors to data", category="tensor", icon="database")
class TensorsToDataset(Node):
    """Make a data set of two tensors: samples `[n, …]` and what a model should say of each `[n, …]`.

    Whole numbers as targets are classes; other targets are numbers to predict, and a row `[n]` of them becomes
    `[n, 1]`. Without targets, the samples are their own.
    """

    inputs: Tensor = input("tensor", doc="The samples, the batch first.")
    targets: Tensor | None = input("tensor", required=False, doc="As many targets. Without: the samples.")
    name: str = param("", doc="What to call the data.")
    dataset: TensorDataset = output("dataset", doc="The data set.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.data import TensorDataset

        inputs = self.inputs.cpu()
        targets = inputs if self.targets is None else self.targets.cpu()
        if targets.is_floating_point() and targets.dim() == 1:
            targets = targets.unsqueeze(1)
        elif not targets.is_floating_point():
            targets = targets.long()
        return TensorDataset(inputs=inputs, targets=targets, name=self.name)


@node(type="DatasetToTensors", title="Data to tensors", category="tensor", icon="grid")
class DatasetToTensors(Node):
    """Take a data set apart: its samples `[n, …]` and their targets `[n, …]`."""

    dataset: TensorDataset = input("dataset", doc="The data set.")
    limit: int | None = param(None, ge=1, le=10**9, unit="samples", doc="The first ones only. Empty: all.")
    inputs: Tensor = output("tensor", doc="The samples.")
    targets: Tensor = output("tensor", doc="Their targets.")

    def run(self, ctx: NodeContext) -> Any:
        return {"inputs": self.dataset.inputs[: self.limit], "targets": self.dataset.targets[: self.limit]}


@node(type="InputsAsTargets", title="Inputs as targets", category="tensor", icon="copy")
class InputsAsTargets(Node):
    """Let a model learn to give back what it gets: every sample becomes its own target.

    For auto-encoders and diffusion models. Shapes stay.
    """

    dataset: TensorDataset = input("dataset", doc="The data; its targets are dropped.")
    copied: TensorDataset = output("dataset", name="dataset", doc="The same samples as inputs and targets.")

    def run(self, ctx: NodeContext) -> Any:
        from dataclasses import replace

        return replace(self.dataset, targets=self.dataset.inputs, class_names=())
