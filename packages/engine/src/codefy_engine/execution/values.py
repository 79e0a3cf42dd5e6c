"""From what a node's ``run`` returned to its outputs by port."""

from __future__ import annotations

from typing import Any, cast

from codefy_engine.graph.plan import PlannedNode


def outputs_by_port(planned: PlannedNode, result: Any) -> dict[str, Any]:
    """What ``run`` returned, by output port.

    Raises:
        TypeError: it does not match the declared outputs.
    """
    ports = planned.outputs
    if not ports:
        return {}
    if isinstance(result, dict) and cast("dict[Any, Any]", result).keys() == ports.keys():
        return cast("dict[str, Any]", result)
    if len(ports) == 1:
        return {next(iter(ports)): result}
    got = (
        "a dict with " + (", ".join(str(key) for key in cast("dict[Any, Any]", result)) or "nothing")
        if isinstance(result, dict)
        else f"a {type(result).__name__}"
    )
    raise TypeError(f"{planned.type} returned {got}; it declares the outputs {', '.join(ports)}")
