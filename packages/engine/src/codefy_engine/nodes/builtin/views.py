"""Nodes that show something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from codefy_engine.nodes.base import Node, NodeContext, input, node, output, param

if TYPE_CHECKING:
    from collections.abc import Mapping

_LINES = 40
_WIDTH = 160


@node(type="Print", title="Print", category="views", icon="message-square-text")
class Print(Node):
    """Write a value to the run's console.

    Tensors are shown with shape, type and their numbers (large ones shortened), metrics line by line, data sets and
    models by their facts.
    """

    value: Any = input("any", doc="What to show.")
    label: str = param("", doc="Written before the value.")
    text: str = output("value", doc="What was written.")

    def run(self, ctx: NodeContext) -> Any:
        text = describe(self.value)
        if self.label:
            joiner = "\n" if "\n" in text else " "
            text = f"{self.label}:{joiner}{text}"
        ctx.show(text)
        return text


def describe(value: Any) -> str:
    """``value`` for people, in at most 40 lines."""
    import torch

    from codefy_engine.training.data import TensorDataset, describe_shape
    from codefy_engine.training.module import GraphModule

    if isinstance(value, torch.Tensor):
        size = " x ".join(map(str, value.shape)) or "scalar"
        text = f"tensor {size}, {str(value.dtype).removeprefix('torch.')}, {value.device}\n{value.detach().cpu()}"
    elif isinstance(value, TensorDataset):
        text = f"{value.name}: {value.codefy_summary()['summary']}".removeprefix(": ")
    elif isinstance(value, GraphModule) and value.built:
        rows = [
            f"  {report.id}: {report.type} → {describe_shape(report.shape)}, {report.parameters:,} parameters"
            for report in value.reports
        ]
        text = "\n".join([f"{value.graph_name}: {value.parameter_count:,} parameters", *rows])
    elif isinstance(value, dict):
        text = _describe_mapping(cast("Mapping[Any, Any]", value))
    else:
        text = str(value)
    lines = text.splitlines() or [""]
    if len(lines) > _LINES:
        lines = [*lines[: _LINES - 1], f"… {len(lines) - _LINES + 1} more lines"]
    return "\n".join(lines)


def _describe_mapping(value: Mapping[Any, Any]) -> str:
    rows: list[str] = []
    for key, item in value.items():
        shown = f"{item:.6g}" if isinstance(item, float) else str(item)
        rows.append(f"{key}: {shown if len(shown) <= _WIDTH else shown[: _WIDTH - 1] + '…'}")
    return "\n".join(rows)
