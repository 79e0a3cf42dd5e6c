"""Where shapes begin: data sets whose shape is known, and nodes that may be run on tensors without numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from codefy_engine.graph.plan import Plan, PlannedNode
from codefy_engine.nodes.base import NodeError, Secret
from codefy_protocol.bodies import MetricPoint
from codefy_protocol.reasons import Reason

DataShape = tuple[int | None, tuple[int, ...], str]
"""Samples, shape of one, type of its numbers."""

_SKLEARN: dict[str, tuple[int, tuple[int, ...]]] = {
    "digits": (1797, (1, 8, 8)),
    "wine": (178, (13,)),
    "iris": (150, (4,)),
    "breast_cancer": (569, (30,)),
    "diabetes": (442, (10,)),
}


def _sklearn(params: Mapping[str, Any]) -> DataShape:
    count, sample = _SKLEARN[params["name"]]
    return count, sample, "float32"


DATASETS: dict[str, Callable[[Mapping[str, Any]], DataShape]] = {"SklearnDataset": _sklearn}
"""Types of nodes that load real data → the shape that they will give."""

_FREE_OF_EFFECTS = frozenset(("tensor", "text", "flow", "diffusion", "data"))
"""Categories whose nodes compute from their inputs and parameters alone, unless they name a file."""
_MAX_COST = 200_000
"""Characters of text that a node is run on."""


def run_for_shapes(planned: PlannedNode, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Outputs of a built-in node, run on tensors without numbers; empty when that cannot or must not be."""
    import torch

    definition = planned.node_class.spec.definition
    if (
        definition.source != "builtin"
        or definition.category not in _FREE_OF_EFFECTS
        or definition.writes
        or not definition.deterministic
        or any(item.kind in ("file", "secret", "preset") for item in definition.params)
        or any(item.kind == "code" and planned.type != "Text" for item in definition.params)
        or any(port.type in ("model", "metrics") for port in planned.outputs.values())
        or any(isinstance(value, str) and len(value) > _MAX_COST for value in inputs.values())
        or any(port not in inputs for port in planned.inputs)
    ):
        return {}
    from codefy_engine.execution.values import outputs_by_port

    try:
        with torch.no_grad(), torch.device("meta"):
            return outputs_by_port(planned, planned.create(inputs).run(ShapeContext(planned.id)))
    except Exception:  # what a node cannot do without numbers may fail in any way
        return {}


class ShapeContext:
    """The context of a node that is run for its shapes only: nothing is told, nothing is written."""

    device = "meta"
    seed: int | None = None
    deterministic = False
    stopped = False

    def __init__(self, node_id: str) -> None:
        self.node_id = node_id

    @property
    def run_dir(self) -> Path:
        raise NodeError("there is no folder while shapes are worked out")

    @property
    def files_dir(self) -> Path:
        raise NodeError("there is no folder while shapes are worked out")

    def check_stop(self) -> None: ...

    def progress(self, fraction: float | None = None, **facts: Any) -> None: ...

    def metric(
        self, name: str, value: float, step: int, epoch: float | None = None, scope: str = "step"
    ) -> None: ...

    def metrics(self, points: Sequence[MetricPoint]) -> None: ...

    def artifact_path(self, name: str) -> Path:
        raise NodeError("nothing is written while shapes are worked out")

    def artifact(
        self,
        kind: str,
        name: str,
        path: Path,
        media_type: str = "application/octet-stream",
        meta: Mapping[str, Any] | None = None,
    ) -> None: ...

    def warn(self, reason: Reason) -> None: ...

    def inner(self, path: str | Sequence[str], status: str, **facts: Any) -> None: ...

    def show(self, text: str) -> None: ...

    def reading(self, path: Path) -> None: ...

    def trace(self, kind: str) -> None: ...

    def subgraph(self, name: str) -> Plan:
        raise NodeError("a module is not made while shapes are worked out")

    def call(
        self,
        preset: str,
        inputs: Mapping[str, Any],
        params: Mapping[str, Any] | None = None,
        *,
        label: str = "",
    ) -> dict[str, Any]:
        raise NodeError("presets are not run while shapes are worked out")

    def secret(self, reference: Secret | None) -> str:
        raise NodeError("there are no secrets while shapes are worked out")

    def persistent(self, name: str, make: Callable[[], Any]) -> Any:
        return make()
