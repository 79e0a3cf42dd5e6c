"""An ``nn.Module`` made of the layer nodes of a subgraph (G-5).

The sizes of layers are not written in the graph: a layer is made when the shape that reaches it is known. That is
when an example of the data arrives, at the start of training. Each layer is then made and run once on zeros, in
topological order, so that the next one's shape is known.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

import torch
from torch import Tensor, nn

from codefy_engine.graph.plan import Plan, PlannedNode
from codefy_engine.training.data import describe_shape
from codefy_engine.training.seeding import SeededDropout, derive_seed, seeded_initialisation

INPUT_TYPE = "ModuleInput"
OUTPUT_TYPE = "ModuleOutput"

Shape = tuple[int, ...]
"""Shape of one sample, without the batch dimension."""


class ModuleBuildError(ValueError):
    """A module cannot be made for the data; the message names the layer and the shapes."""


@runtime_checkable
class LayerNode(Protocol):
    """A node that becomes part of a module."""

    def build(self, *shapes: Shape) -> nn.Module:
        """The layer for inputs of these shapes, one per input port, without the batch dimension.

        Raises:
            ValueError: the layer does not take such a shape; the message says what it takes.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class LayerReport:
    """A layer as it was made."""

    id: str
    type: str
    name: str
    """Its name in the module, hence in the state dict."""
    shape: Shape
    """Of its output, without the batch dimension."""
    parameters: int


@dataclass(frozen=True, slots=True)
class _Step:
    module: nn.Module
    sources: tuple[int, ...]
    """Slots that it reads."""
    slot: int
    free: tuple[int, ...]
    """Slots that nothing reads after it."""


class GraphModule(nn.Module):
    """The module of a subgraph. It is made for a shape by :meth:`build_for`, or by the first input.

    Args:
        name: name of the subgraph, for messages.
        plan: its nodes: one ``ModuleInput``, one ``ModuleOutput``, layers between.
        seed: decides the initial weights and the dropout masks; ``None`` takes torch's global generator.

    Raises:
        ModuleBuildError: the plan has no single input and output, or a node that is no layer.
    """

    def __init__(self, name: str, plan: Plan, *, seed: int | None = None) -> None:
        super().__init__()
        self.graph_name = name
        self.plan = plan
        self.seed = seed
        self.reports: tuple[LayerReport, ...] = ()
        self.sample_shape: Shape | None = None
        """The shape of one sample that the module was made for."""
        self.trained_steps = 0
        """Optimizer steps that made its weights."""
        self.trained_epochs = 0
        self._steps: tuple[_Step, ...] = ()
        self._output_slot = 0
        self._input, self._output, self._layers = _used_layers(name, plan)

    @property
    def built(self) -> bool:
        """Whether the layers exist."""
        return self.sample_shape is not None

    @property
    def parameter_count(self) -> int:
        """Numbers to train in the whole module."""
        return sum(report.parameters for report in self.reports)

    def build_for(self, example: Tensor) -> tuple[LayerReport, ...]:
        """Make the layers for inputs like ``example`` (``[n, …]``; only shape, type and device matter).

        Nothing happens when they exist.

        Raises:
            ModuleBuildError: a layer does not take the shape that reaches it.
        """
        if self.built:
            return self.reports
        slots: dict[str, int] = {self._input.id: 0}
        values: dict[str, Tensor] = {self._input.id: example.new_zeros((1, *example.shape[1:]))}
        steps: list[tuple[nn.Module, tuple[int, ...], int]] = []
        reports: list[LayerReport] = []
        for planned in self._layers:
            sources = [planned.inputs[port].node_id for port in planned.node_class.spec.inputs]
            layer, value = self._make(planned, [values[source] for source in sources])
            layer.to(example.device)
            name = self._register(planned.id, layer)
            slots[planned.id] = len(slots)
            values[planned.id] = value
            steps.append((layer, tuple(slots[source] for source in sources), slots[planned.id]))
            reports.append(
                LayerReport(
                    id=planned.id,
                    type=planned.type,
                    name=name,
                    shape=tuple(value.shape[1:]),
                    parameters=sum(parameter.numel() for parameter in layer.parameters()),
                )
            )
        self._output_slot = slots[self._output.inputs["x"].node_id]
        self._steps = _with_last_uses(steps, self._output_slot)
        self.reports = tuple(reports)
        self.sample_shape = tuple(example.shape[1:])
        return self.reports

    def forward(self, x: Tensor) -> Tensor:
        """``x`` is ``[n, …]``; the result is what reaches ``ModuleOutput``."""
        if not self.built:
            self.build_for(x)
        values: list[Tensor | None] = [None] * (len(self._steps) + 1)
        values[0] = x
        for step in self._steps:
            sources = step.sources
            if len(sources) == 1:
                values[step.slot] = step.module(values[sources[0]])
            else:
                values[step.slot] = step.module(*(values[source] for source in sources))
            for slot in step.free:
                values[slot] = None
        return cast("Tensor", values[self._output_slot])

    def codefy_summary(self) -> dict[str, Any]:
        """Facts for the inspector: the layers, with shapes and parameters once they are made."""
        if not self.built:
            layers: list[dict[str, Any]] = [{"id": layer.id, "type": layer.type} for layer in self._layers]
            return {"layers": layers, "summary": f"{len(layers)} layers, made when data arrives"}
        layers = [
            {"id": r.id, "type": r.type, "shape": list(r.shape), "parameters": r.parameters}
            for r in self.reports
        ]
        return {
            "layers": layers,
            "parameters": self.parameter_count,
            "summary": f"{len(layers)} layers, {self.parameter_count:,} parameters",
        }

    def architecture(self) -> list[dict[str, Any]]:
        """The layers as plain data, for checkpoints: id, type, parameters, sources, output shape."""
        by_id = {planned.id: planned for planned in self._layers}
        return [
            {
                "id": report.id,
                "type": report.type,
                "name": report.name,
                "params": dict(by_id[report.id].params),
                "inputs": {port: source.node_id for port, source in by_id[report.id].inputs.items()},
                "shape": list(report.shape),
            }
            for report in self.reports
        ]

    def _make(self, planned: PlannedNode, inputs: list[Tensor]) -> tuple[nn.Module, Tensor]:
        shapes = [tuple(value.shape[1:]) for value in inputs]
        seed = None if self.seed is None else derive_seed(self.seed, self.graph_name, planned.id)
        node = cast("LayerNode", planned.create())
        try:
            with seeded_initialisation(seed):
                layer = node.build(*shapes)
            if isinstance(layer, SeededDropout):
                layer.seed = seed
            layer.to(inputs[0].device)
            layer.eval()
            with torch.no_grad():
                value = layer(*inputs)
            layer.train(self.training)
        except (ValueError, TypeError, RuntimeError, IndexError) as error:
            arriving = " and ".join(describe_shape(shape) for shape in shapes)
            raise ModuleBuildError(
                f"{planned.id} ({planned.title}) in {self.graph_name} does not take {arriving}: {error}"
            ) from error
        return layer, value

    def _register(self, node_id: str, layer: nn.Module) -> str:
        name = node_id.replace(".", "_")
        # Ids are the author's: one that is an attribute of every module would hide it.
        while name == "" or hasattr(self, name):
            name += "_"
        self.add_module(name, layer)
        return name


def independent_copy(model: nn.Module) -> nn.Module:
    """A model that trains on its own: the given one keeps its weights.

    Two training loops on one model, or a second run that reuses the cached model, must both start from the same
    weights.
    """
    if isinstance(model, GraphModule):
        if not model.built:
            return GraphModule(model.graph_name, model.plan, seed=model.seed)
        return copy.deepcopy(model, {id(model.plan): model.plan})
    return copy.deepcopy(model)


def _used_layers(name: str, plan: Plan) -> tuple[PlannedNode, PlannedNode, tuple[PlannedNode, ...]]:
    """Input, output and the layers that lead to the output, in order."""
    inputs = [planned for planned in plan.nodes if planned.type == INPUT_TYPE]
    outputs = [planned for planned in plan.nodes if planned.type == OUTPUT_TYPE]
    if len(inputs) != 1 or len(outputs) != 1:
        raise ModuleBuildError(
            f"{name} needs one ModuleInput and one ModuleOutput; it has {len(inputs)} and {len(outputs)}"
        )
    needed = {source.node_id for source in outputs[0].inputs.values()}
    layers: list[PlannedNode] = []
    for planned in reversed(plan.nodes):
        if planned.id not in needed or planned.type == INPUT_TYPE:
            continue
        build: Callable[..., nn.Module] | None = getattr(planned.node_class, "build", None)
        if build is None:
            raise ModuleBuildError(f"{planned.id} ({planned.title}) in {name} is no layer")
        layers.append(planned)
        needed.update(source.node_id for source in planned.inputs.values())
    if not outputs[0].inputs:
        raise ModuleBuildError(f"nothing is wired to {outputs[0].id} in {name}")
    return inputs[0], outputs[0], tuple(reversed(layers))


def _with_last_uses(
    steps: list[tuple[nn.Module, tuple[int, ...], int]], output_slot: int
) -> tuple[_Step, ...]:
    last_use = {source: index for index, (_, sources, _) in enumerate(steps) for source in sources}
    return tuple(
        _Step(
            module,
            sources,
            slot,
            tuple(
                source
                for source in dict.fromkeys(sources)
                if last_use[source] == index and source != output_slot
            ),
        )
        for index, (module, sources, slot) in enumerate(steps)
    )
