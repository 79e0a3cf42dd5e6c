"""The shape on every wire and the parameters of every layer, without running the graph (G-5).

Tensors on torch's ``meta`` device have a shape and a type and no numbers. Layers are made and called on such, in
modules too, where the data set that reaches the training loop says what comes in. What cannot be told without real
data (a file, a condition on values) is left out. Blocking, and imports torch: call it in a thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from codefy_engine.graph.document import GraphDocument
from codefy_engine.graph.plan import Plan, PlannedNode, plan_graph, plan_subgraph
from codefy_engine.graph.prepare import Prepared, prepare_graph
from codefy_engine.graph.problems import GraphProblem
from codefy_engine.graph.shape_sources import DATASETS, run_for_shapes
from codefy_engine.graph.validation import MODULE_INPUT, MODULE_OUTPUT, validate_prepared
from codefy_engine.nodes.registry import Registry
from codefy_protocol import reasons

BATCH = 2
"""Stands for the batch dimension inside modules; told as ``None``."""
_MAX_DEPTH = 16
_MAX_INNER_NODES = 20_000
"""Nodes inside modules that are walked through; what is beyond has no shapes."""
_MAX_REAL_NUMBERS = 4_000_000
"""Layers whose shapes depend on values are called on zeros when they are no larger than this."""

Values = dict[tuple[str, str], Any]


class WireShape(msgspec.Struct, kw_only=True, frozen=True):
    """What a wire carries. Ids inside presets and modules are paths, such as ``model/conv1``."""

    source: str
    source_port: str
    target: str
    target_port: str
    edge_id: str | None = None
    shape: list[int | None] | None = None
    """``None`` in it is the size of the batch; of a data set, the shape of its inputs."""
    dtype: str = ""
    text: str = ""
    """``n × 16 × 8 × 8``."""


class NodeShape(msgspec.Struct, kw_only=True, frozen=True):
    """What is known of a node."""

    node_id: str
    outputs: dict[str, list[int | None]] = {}
    parameters: int | None = None
    """Numbers to train, of a layer or a whole module."""


class GraphShapes(msgspec.Struct, kw_only=True, frozen=True):
    """All that could be told."""

    wires: list[WireShape]
    nodes: list[NodeShape]
    problems: list[GraphProblem]
    """Layers that do not take the shape that reaches them; the graph's own problems when it cannot be planned."""


@dataclass(frozen=True, slots=True)
class _Data:
    """A data set: the shape of one sample and the type of its numbers."""

    count: int | None
    sample: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True, slots=True)
class _Model:
    """An untrained module of the graph."""

    path: str
    subgraph: str


@dataclass(slots=True)
class _Level:
    """Values of one level; inside a module the first dimension of tensors is the batch."""

    prefix: str
    batch: bool
    values: Values = field(default_factory=dict[tuple[str, str], Any])


def graph_shapes(document: GraphDocument, registry: Registry) -> GraphShapes:
    """Shapes and parameter counts of a graph. Never raises for what the graph says."""
    prepared = prepare_graph(document, registry)
    problems = validate_prepared(prepared, registry)
    if any(item.code not in _HARMLESS for item in problems):
        return GraphShapes(wires=[], nodes=[], problems=problems)
    return _Inference(prepared, registry).run()


_HARMLESS = frozenset((reasons.INPUT_MISSING,))
"""Problems of a graph in the making that leave it plannable."""


class _Inference:
    def __init__(self, prepared: Prepared, registry: Registry) -> None:
        self.prepared = prepared
        self.registry = registry
        self.wires: list[WireShape] = []
        self.nodes: dict[str, NodeShape] = {}
        self.problems: list[GraphProblem] = []
        self.modules: dict[str, int] = {}
        """Parameters by path of a module that was walked through."""
        self.plans: dict[str, Plan] = {}
        self.walked = 0

    def run(self) -> GraphShapes:
        plan = plan_graph(self.prepared.document, self.registry)
        top = _Level("", batch=False)
        for planned in plan.nodes:
            inputs = self._inputs(planned, top)
            self._put(planned, top, self._top(planned, inputs))
        self._wires(plan, top, {(e.target, e.target_handle): e.id for e in self.prepared.document.edges})
        return GraphShapes(wires=self.wires, nodes=list(self.nodes.values()), problems=self.problems)

    # ------------------------------------------------------------------ the top level

    def _top(self, planned: PlannedNode, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        ports = planned.node_class.spec.input_ports(planned.params)
        if planned.type == "Module":
            model = _Model(planned.id, str(planned.params.get("subgraph", "")))
            return dict.fromkeys(planned.outputs, model)
        known = DATASETS.get(planned.type)
        if known is not None:
            count, sample, dtype = known(planned.params)
            return {port: _Data(count, sample, _dtype(dtype)) for port in planned.outputs}
        models = [value for value in inputs.values() if isinstance(value, _Model)]
        results: tuple[Any, ...] = ()
        if models:
            results = self._through(planned, models[0], inputs)
        if hasattr(planned.node_class, "build") or hasattr(planned.node_class, "build_nested"):
            return self._layer(planned, inputs, "", ())
        found: dict[str, Any] = {}
        data = [value for value in inputs.values() if isinstance(value, _Data)]
        for port, declared in planned.outputs.items():
            if declared.type == "model" and models:
                found[port] = models[0]
            elif declared.type == "dataset" and data:
                # Splits and loaders change how many there are, not what one sample is.
                found[port] = _Data(None, data[0].sample, data[0].dtype)
            elif declared.type == "tensor" and results:
                found[port], *rest = results
                results = tuple(rest)
        if len(found) < len(planned.outputs) and all(
            not declared.required or port in inputs for port, declared in ports.items()
        ):
            computed = run_for_shapes(planned, {port: _as_value(value) for port, value in inputs.items()})
            for port, value in computed.items():
                if port not in found:
                    found[port] = _from_value(value)
        tensors = [value for value in inputs.values() if _is_tensor(value) and len(value.shape) > 0]
        for port, declared in planned.outputs.items():
            if declared.type == "dataset" and port not in found and tensors:
                # Made of tensors: the first is what goes in, sample by sample.
                first = tensors[0]
                found[port] = _Data(int(first.shape[0]), tuple(first.shape[1:]), first.dtype)
        return found

    def _through(self, planned: PlannedNode, model: _Model, inputs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Lead what reaches a node beside a model through that model, once."""
        examples: list[Any] = [
            _meta((BATCH, *v.sample), v.dtype) for v in inputs.values() if isinstance(v, _Data)
        ]
        examples = examples[:1] or [value for value in inputs.values() if _is_tensor(value)]
        if not examples:
            return ()
        results, parameters = self._module(model.subgraph, model.path, examples, ())
        if parameters is not None and model.path not in self.modules:
            self.modules[model.path] = parameters
            self.nodes[model.path] = NodeShape(node_id=model.path, parameters=parameters)
        return results

    # ------------------------------------------------------------------ inside modules

    def _module(
        self, subgraph: str, path: str, examples: Sequence[Any], inside: tuple[str, ...]
    ) -> tuple[tuple[Any, ...], int | None]:
        """What a module gives for these inputs, and its parameters; unknown parts are ``None``."""
        if subgraph in inside or len(inside) > _MAX_DEPTH or subgraph not in self.prepared.document.subgraphs:
            return (), None
        plan = self.plans.get(subgraph)
        if plan is None:
            plan = self.plans[subgraph] = plan_subgraph(self.prepared.document, subgraph, self.registry)
        self.walked += len(plan.nodes)
        if self.walked > _MAX_INNER_NODES:
            return (), None
        first_visit = path not in self.modules
        level = _Level(f"{path}/", batch=True)
        entries = sorted(_of_type(plan, MODULE_INPUT), key=_number)
        for index, planned in enumerate(entries):
            # A further input that nothing is known of is most often one number a sample, such as a time step.
            value = examples[index] if index < len(examples) else _meta((BATCH,), _dtype("float32"))
            self._put(planned, level, {"x": value})
        total = 0
        for planned in plan.nodes:
            if planned.type in (MODULE_INPUT, MODULE_OUTPUT):
                continue
            inputs = self._inputs(planned, level)
            certain = len(examples) >= len(entries)
            self._put(
                planned,
                level,
                self._layer(planned, inputs, level.prefix, (*inside, subgraph), certain=certain),
            )
            told = self.nodes.get(level.prefix + planned.id)
            total += 0 if told is None or told.parameters is None else told.parameters
        if first_visit:
            self._wires(plan, level, {})
        exits = sorted(_of_type(plan, MODULE_OUTPUT), key=_number)
        results = tuple(self._inputs(planned, level).get("x") for planned in exits)
        return results, total

    def _layer(
        self,
        planned: PlannedNode,
        inputs: Mapping[str, Any],
        prefix: str,
        inside: tuple[str, ...],
        *,
        certain: bool = True,
    ) -> Mapping[str, Any]:
        """The outputs of a layer node, and its parameters."""
        path = prefix + planned.id
        ports = planned.node_class.spec.input_ports(planned.params)
        if any(declared.required and inputs.get(port) is None for port, declared in ports.items()):
            return {}
        values = [inputs.get(port) for port in ports]
        if any(value is not None and not _is_tensor(value) for value in values):
            return {}
        if hasattr(planned.node_class, "build_nested"):
            given = [value for value in values if value is not None]
            repeat = int(planned.params.get("repeat", 1))
            results, parameters = self._module(str(planned.params.get("subgraph", "")), path, given, inside)
            if parameters is not None:
                parameters *= repeat
        else:
            try:
                results, parameters = _call(planned, values)
            except _CannotTell:
                return {}
            except (ValueError, TypeError, RuntimeError, IndexError) as error:
                if certain:
                    self._mismatch(path, planned, values, error)
                return {}
        if parameters is not None:
            self.nodes[path] = NodeShape(node_id=path, parameters=parameters)
        return dict(zip(planned.outputs, results, strict=False))

    def _mismatch(self, path: str, planned: PlannedNode, values: Sequence[Any], error: BaseException) -> None:
        if any(item.node_id == path for item in self.problems):
            return
        arriving = " and ".join(_text(_shape(value, batch=True)) for value in values if value is not None)
        made = reasons.reason(
            reasons.SHAPE_MISMATCH,
            node_id=path,
            title=planned.title,
            shape=arriving,
            detail=str(error).strip().splitlines()[0][:300] if str(error).strip() else type(error).__name__,
        )
        self.problems.append(
            GraphProblem(message=made.message, code=made.code, node_id=path, params=made.params)
        )

    # ------------------------------------------------------------------ bookkeeping

    def _inputs(self, planned: PlannedNode, level: _Level) -> dict[str, Any]:
        found = {
            port: level.values.get((source.node_id, source.port)) for port, source in planned.inputs.items()
        }
        return {port: value for port, value in found.items() if value is not None}

    def _put(self, planned: PlannedNode, level: _Level, outputs: Mapping[str, Any]) -> None:
        shapes: dict[str, list[int | None]] = {}
        for port, value in outputs.items():
            if value is None:
                continue
            level.values[planned.id, port] = value
            shape = _shape(value, batch=level.batch)
            if shape is not None:
                shapes[port] = shape
        path = level.prefix + planned.id
        told = self.nodes.get(path)
        if shapes or told is not None:
            parameters = None if told is None else told.parameters
            self.nodes[path] = NodeShape(node_id=path, outputs=shapes, parameters=parameters)

    def _wires(self, plan: Plan, level: _Level, ids: Mapping[tuple[str, str], str | None]) -> None:
        for planned in plan.nodes:
            for port, source in planned.inputs.items():
                value = level.values.get((source.node_id, source.port))
                shape = _shape(value, batch=level.batch)
                self.wires.append(
                    WireShape(
                        source=level.prefix + source.node_id,
                        source_port=source.port,
                        target=level.prefix + planned.id,
                        target_port=port,
                        edge_id=ids.get((planned.id, port)),
                        shape=shape,
                        dtype="" if value is None or shape is None else _type_name(value),
                        text=_text(shape),
                    )
                )


# ---------------------------------------------------------------------- layers on meta tensors


class _CannotTell(Exception):
    """The shape depends on values."""


def _call(planned: PlannedNode, values: Sequence[Any]) -> tuple[tuple[Any, ...], int]:
    """Results and parameters of a layer for meta tensors.

    Raises:
        _CannotTell: its shape depends on values, and the layer is too large to try.
        ValueError, TypeError, RuntimeError, IndexError: it does not take them.
    """
    import torch

    try:
        with torch.device("meta"):
            layer = _made(planned, values)
            parameters = sum(int(item.numel()) for item in layer.parameters())
            with torch.no_grad():
                return _as_tuple(layer.eval()(*values)), parameters
    except (NotImplementedError, RuntimeError) as error:
        if not isinstance(error, NotImplementedError) and "meta" not in str(error).lower():
            raise
    if sum(int(value.numel()) for value in values if value is not None) > _MAX_REAL_NUMBERS:
        raise _CannotTell
    from codefy_engine.training.seeding import seeded_initialisation

    # Also keeps its weights from being drawn from the numbers of a run.
    with torch.no_grad(), seeded_initialisation(0):
        layer = _made(planned, values).eval()
        real = [None if value is None else torch.zeros_like(value, device="cpu") for value in values]
        results = _as_tuple(layer(*real))
    return tuple(_to_meta(value) for value in results), sum(int(p.numel()) for p in layer.parameters())


def _made(planned: PlannedNode, values: Sequence[Any]) -> Any:
    node = cast("Any", planned.create())
    layer = node.build(*(None if value is None else tuple(value.shape[1:]) for value in values))
    return layer


def _as_tuple(result: Any) -> tuple[Any, ...]:
    return cast("tuple[Any, ...]", result) if isinstance(result, tuple) else (result,)


def _to_meta(value: Any) -> Any:
    return value.to("meta") if _is_tensor(value) else value


def _meta(shape: Sequence[int], dtype: Any) -> Any:
    import torch

    return torch.empty(tuple(shape), dtype=dtype, device="meta")


def _dtype(name: str) -> Any:
    import torch

    return getattr(torch, name)


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype") and hasattr(value, "device")


def _as_value(value: Any) -> Any:
    """What a node that is run for its shapes gets."""
    if isinstance(value, _Data):
        from codefy_engine.training.data import TensorDataset

        count = value.count if value.count is not None else 64
        return TensorDataset(
            inputs=_meta((count, *value.sample), value.dtype), targets=_meta((count,), _dtype("int64"))
        )
    return value


def _from_value(value: Any) -> Any:
    """What is kept of a value that a node gave."""
    if _is_tensor(value):
        return _to_meta(value)
    sample, inputs = getattr(value, "sample_shape", None), getattr(value, "inputs", None)
    if isinstance(sample, tuple) and _is_tensor(inputs):
        tensor = cast("Any", inputs)
        return _Data(int(tensor.shape[0]), cast("tuple[int, ...]", sample), tensor.dtype)
    return value


def _shape(value: Any, *, batch: bool) -> list[int | None] | None:
    if isinstance(value, _Data):
        return [value.count, *value.sample]
    if not _is_tensor(value):
        return None
    sizes: list[int | None] = [int(size) for size in value.shape]
    if batch and sizes:
        sizes[0] = None
    return sizes


def _type_name(value: Any) -> str:
    return str(value.dtype).removeprefix("torch.")


def _text(shape: Sequence[int | None] | None) -> str:
    if shape is None:
        return ""
    return " × ".join("n" if size is None else str(size) for size in shape) or "a single number"


def _of_type(plan: Plan, node_type: str) -> list[PlannedNode]:
    return [planned for planned in plan.nodes if planned.type == node_type]


def _number(planned: PlannedNode) -> int:
    return int(planned.params.get("number", 1))
