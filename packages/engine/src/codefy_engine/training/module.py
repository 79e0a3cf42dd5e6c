"""An ``nn.Module`` made of the layer nodes of a subgraph (G-5).

The sizes of layers are not written in the graph: a layer is made when the shape that reaches it is known. That is
when an example of the data arrives, at the start of training. Each layer is then made and run once on zeros, in
topological order, so that the next one's shape is known.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

import torch
from torch import Tensor, nn

from codefy_engine.graph.plan import Plan, PlannedNode
from codefy_engine.modules.randomness import seed_generators
from codefy_engine.training.data import describe_shape
from codefy_engine.training.module_plan import (
    INPUT_TYPE,
    OUTPUT_TYPE,
    ModuleBuildError,
    Shape,
    module_ends,
    used_layers,
)
from codefy_engine.training.seeding import derive_seed, seeded_initialisation

__all__ = [
    "INPUT_TYPE",
    "OUTPUT_TYPE",
    "GraphModule",
    "LayerNode",
    "LayerReport",
    "ModuleBuildError",
    "NestedNode",
    "RepeatedModule",
    "Shape",
    "independent_copy",
]


_Value = TypeVar("_Value")


@runtime_checkable
class LayerNode(Protocol):
    """A node that becomes part of a module."""

    def build(self, *shapes: Shape) -> nn.Module:
        """The layer for inputs of these shapes, one per input port, without the batch dimension.

        Raises:
            ValueError: the layer does not take such a shape; the message says what it takes.
        """
        ...


@runtime_checkable
class NestedNode(Protocol):
    """A layer node that is itself made of a subgraph."""

    def build_nested(self, plans: Mapping[str, Plan], seed: int | None) -> nn.Module:
        """The module; ``plans`` are those of the document's subgraphs by name."""
        ...


@dataclass(frozen=True, kw_only=True)
class LayerReport:
    """A layer as it was made."""

    id: str
    type: str
    name: str
    """Its name in the module, hence in the state dict."""
    shape: Shape
    """Of its (first) output, without the batch dimension."""
    parameters: int
    shapes: Mapping[str, Shape]
    """Of all its outputs, by port."""
    inner: tuple[LayerReport, ...] = ()
    """Layers of a module within the module."""


@dataclass(frozen=True, slots=True)
class _Step:
    module: nn.Module
    sources: tuple[int, ...]
    """Slots that it reads; -1 for an optional input without a wire."""
    slots: tuple[int, ...]
    """Slots that it writes, one per output."""
    free: tuple[int, ...]
    """Slots that nothing reads after it."""


class GraphModule(nn.Module):
    """The module of a subgraph. It is made for a shape by :meth:`build_for`, or by the first input.

    Args:
        name: name of the subgraph, for messages.
        plan: its nodes: ``ModuleInput`` nodes, ``ModuleOutput`` nodes, layers between.
        seed: decides the initial weights and the dropout masks; ``None`` takes torch's global generator.
        plans: plans of subgraphs that modules within it are made of, by name.

    Raises:
        ModuleBuildError: the plan has no input or output, or a node that is no layer.
    """

    def __init__(
        self, name: str, plan: Plan, *, seed: int | None = None, plans: Mapping[str, Plan] | None = None
    ) -> None:
        super().__init__()
        self.graph_name = name
        self.plan = plan
        self.plans: Mapping[str, Plan] = plans or {}
        self.seed = seed
        self.reports: tuple[LayerReport, ...] = ()
        self.sample_shapes: tuple[Shape, ...] = ()
        """The shape of one sample of each input that the module was made for."""
        self.trained_steps = 0
        """Optimizer steps that made its weights."""
        self.trained_epochs = 0
        self._steps: tuple[_Step, ...] = ()
        self._output_slots: tuple[int, ...] = ()
        self._slot_count = 0
        self._inputs, self._outputs = module_ends(name, plan)
        self._layers = used_layers(name, plan, self._outputs)

    @property
    def built(self) -> bool:
        """Whether the layers exist."""
        return bool(self.sample_shapes)

    @property
    def sample_shape(self) -> Shape | None:
        """The shape of one sample of the first input, once the module was made."""
        return self.sample_shapes[0] if self.sample_shapes else None

    @property
    def input_count(self) -> int:
        return len(self._inputs)

    @property
    def output_count(self) -> int:
        return len(self._outputs)

    @property
    def parameter_count(self) -> int:
        """Numbers to train in the whole module."""
        return sum(report.parameters for report in self.reports)

    def build_for(self, *examples: Tensor) -> tuple[LayerReport, ...]:
        """Make the layers for inputs like ``examples`` (``[n, …]``; only shape, type and device matter).

        Nothing happens when they exist.

        Raises:
            ModuleBuildError: a layer does not take the shape that reaches it, or an input is missing.
        """
        if self.built:
            return self.reports
        if len(examples) != len(self._inputs):
            raise ModuleBuildError(
                f"{self.graph_name} has {len(self._inputs)} inputs and was given {len(examples)}"
            )
        slots: dict[tuple[str, str], int] = {}
        values: dict[tuple[str, str], Tensor] = {}
        for planned, example in zip(self._inputs, examples, strict=True):
            slots[planned.id, "x"] = len(slots)
            values[planned.id, "x"] = example.new_zeros((1, *example.shape[1:]))
        steps: list[tuple[nn.Module, tuple[int, ...], tuple[int, ...]]] = []
        reports: list[LayerReport] = []
        for planned in self._layers:
            sources = [_source(planned, port) for port in planned.node_class.spec.input_ports(planned.params)]
            arriving = [
                None if source is None else _found(values, source, self.graph_name) for source in sources
            ]
            layer, results = self._make(planned, arriving, examples[0])
            name = self._register(planned.id, layer)
            written: list[int] = []
            for port, value in results.items():
                written.append(len(slots))
                slots[planned.id, port] = len(slots)
                values[planned.id, port] = value
            steps.append(
                (layer, tuple(-1 if source is None else slots[source] for source in sources), tuple(written))
            )
            shapes = {port: tuple(value.shape[1:]) for port, value in results.items()}
            reports.append(
                LayerReport(
                    id=planned.id,
                    type=planned.type,
                    name=name,
                    shape=next(iter(shapes.values())),
                    shapes=shapes,
                    parameters=sum(parameter.numel() for parameter in layer.parameters()),
                    inner=_inner_reports(layer),
                )
            )
        ends = [planned.inputs["x"] for planned in self._outputs]
        self._output_slots = tuple(_found(slots, (end.node_id, end.port), self.graph_name) for end in ends)
        self._steps = _with_last_uses(steps, self._output_slots)
        self._slot_count = len(slots)
        self.reports = tuple(reports)
        self.sample_shapes = tuple(tuple(example.shape[1:]) for example in examples)
        return self.reports

    def forward(self, *inputs: Tensor | None) -> Any:
        """Each input is ``[n, …]``; the result is what reaches ``ModuleOutput``, a tuple when there are several."""
        if inputs[-1] is None:
            # Optional ports of a module within a module.
            inputs = tuple(value for value in inputs if value is not None)
        if not self.built:
            self.build_for(*cast("tuple[Tensor, ...]", inputs))
        if len(inputs) != len(self._inputs):
            raise ValueError(f"{self.graph_name} has {len(self._inputs)} inputs and was given {len(inputs)}")
        values: list[Any] = [None] * self._slot_count
        values[: len(inputs)] = inputs
        for step in self._steps:
            sources = step.sources
            if len(sources) == 1:
                result = step.module(values[sources[0]])
            else:
                result = step.module(*[None if source < 0 else values[source] for source in sources])
            if len(step.slots) == 1:
                values[step.slots[0]] = result
            else:
                for slot, value in zip(step.slots, result, strict=True):
                    values[slot] = value
            for slot in step.free:
                values[slot] = None
        if len(self._output_slots) == 1:
            return values[self._output_slots[0]]
        return tuple(values[slot] for slot in self._output_slots)

    def fresh(self) -> GraphModule:
        """The same module, its layers not made yet."""
        return GraphModule(self.graph_name, self.plan, seed=self.seed, plans=self.plans)

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

    def part(self, path: str) -> nn.Module:
        """A layer or module within, by the ids of nodes: ``decoder`` or ``decoder/hidden``.

        Raises:
            ValueError: there is no such part, or the layers are not made yet.
        """
        if not self.built:
            raise ValueError(f"the layers of {self.graph_name} are not made yet: train or apply it first")
        first, _, rest = path.partition("/")
        names = {report.id: report.name for report in self.reports}
        if first not in names:
            raise ValueError(f"{self.graph_name} has no layer {first!r}; it has {', '.join(names) or 'none'}")
        found = self.get_submodule(names[first])
        if not rest:
            return found
        if not isinstance(found, GraphModule):
            raise ValueError(f"{first} in {self.graph_name} is not made of layers")  # noqa: TRY004  # the user's choice
        return found.part(rest)

    def _make(
        self, planned: PlannedNode, inputs: list[Tensor | None], example: Tensor
    ) -> tuple[nn.Module, dict[str, Tensor]]:
        shapes = [None if value is None else tuple(value.shape[1:]) for value in inputs]
        device = example.device
        seed = None if self.seed is None else derive_seed(self.seed, self.graph_name, planned.id)
        node: Any = planned.create()
        try:
            if isinstance(node, NestedNode):
                layer = node.build_nested(self.plans, seed)
            else:
                # Shapes alone are wanted on the meta device: no memory, no time.
                with torch.device("meta") if device.type == "meta" else contextlib.nullcontext():
                    with seeded_initialisation(seed):
                        layer = cast("nn.Module", node.build(*shapes))
                    seed_generators(layer, seed)
            layer.to(device)
            layer.eval()
            with torch.no_grad():
                result: Any = layer(*inputs)
            layer.train(self.training)
        except (ValueError, TypeError, RuntimeError, IndexError) as error:
            arriving = " and ".join(describe_shape(shape) for shape in shapes if shape is not None)
            raise ModuleBuildError(
                f"{planned.id} ({planned.title}) in {self.graph_name} does not take {arriving}: {error}"
            ) from error
        ports = list(planned.node_class.spec.output_ports(planned.params))
        if not isinstance(result, tuple):
            # A nested module with fewer results than ports fills the first ones.
            return layer, {ports[0]: result}
        return layer, dict(zip(ports, cast("tuple[Tensor, ...]", result), strict=False))

    def _register(self, node_id: str, layer: nn.Module) -> str:
        name = node_id.replace(".", "_")
        # Ids are the author's: one that is an attribute of every module would hide it.
        while name == "" or hasattr(self, name):
            name += "_"
        self.add_module(name, layer)
        return name


class RepeatedModule(nn.Module):
    """Modules of one drawing one after the other, each with weights of its own; only the first input goes along."""

    def __init__(self, blocks: list[GraphModule]) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x: Tensor, *others: Tensor | None) -> Tensor:
        for block in self.blocks:
            x = block(x, *others)
            if not isinstance(cast("Any", x), Tensor):
                raise ValueError("only a module with one output can be repeated")  # noqa: TRY004
        return x


def independent_copy(model: nn.Module) -> nn.Module:
    """A model that trains on its own: the given one keeps its weights.

    Two training loops on one model, or a second run that reuses the cached model, must both start from the same
    weights.
    """
    memo: dict[int, Any] = {}
    if isinstance(model, GraphModule):
        if not model.built:
            return model.fresh()
        memo = {id(plan): plan for plan in (model.plan, *model.plans.values())} | {
            id(model.plans): model.plans
        }
    return copy.deepcopy(model, memo)


def _source(planned: PlannedNode, port: str) -> tuple[str, str] | None:
    source = planned.inputs.get(port)
    return None if source is None else (source.node_id, source.port)


def _found(values: Mapping[tuple[str, str], _Value], source: tuple[str, str], name: str) -> _Value:
    if source not in values:
        raise ModuleBuildError(f"{source[0]} in {name} gives nothing at its output {source[1]}")
    return values[source]


def _inner_reports(layer: nn.Module) -> tuple[LayerReport, ...]:
    if isinstance(layer, RepeatedModule):
        layer = layer.blocks[0]
    return layer.reports if isinstance(layer, GraphModule) else ()


def _with_last_uses(
    steps: list[tuple[nn.Module, tuple[int, ...], tuple[int, ...]]], kept: tuple[int, ...]
) -> tuple[_Step, ...]:
    last_use = {source: index for index, (_, sources, _) in enumerate(steps) for source in sources}
    made: list[_Step] = []
    for index, (module, sources, slots) in enumerate(steps):
        done = [source for source in dict.fromkeys(sources) if source >= 0 and last_use[source] == index]
        unread = [slot for slot in slots if slot not in last_use]
        free = tuple(slot for slot in (*done, *unread) if slot not in kept)
        made.append(_Step(module, sources, slots, free))
    return tuple(made)
