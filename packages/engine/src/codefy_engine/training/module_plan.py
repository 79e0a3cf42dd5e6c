"""What of a subgraph's plan a module is made of: its inputs, its outputs, and the layers that lead to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from codefy_engine.graph.plan import Plan, PlannedNode

INPUT_TYPE = "ModuleInput"
OUTPUT_TYPE = "ModuleOutput"

Shape = tuple[int, ...]
"""Shape of one sample, without the batch dimension."""


class ModuleBuildError(ValueError):
    """A module cannot be made for the data; the message names the layer and the shapes."""


def module_ends(name: str, plan: Plan) -> tuple[tuple[PlannedNode, ...], tuple[PlannedNode, ...]]:
    """The inputs and the outputs, each in the order of their numbers.

    Raises:
        ModuleBuildError: there is none, two have one number, or nothing is wired to an output.
    """
    inputs = _numbered(name, plan, INPUT_TYPE)
    outputs = _numbered(name, plan, OUTPUT_TYPE)
    if not inputs or not outputs:
        raise ModuleBuildError(
            f"{name} needs a ModuleInput and a ModuleOutput; it has {len(inputs)} and {len(outputs)}"
        )
    for planned in outputs:
        if not planned.inputs:
            raise ModuleBuildError(f"nothing is wired to {planned.id} in {name}")
    return inputs, outputs


def _numbered(name: str, plan: Plan, node_type: str) -> tuple[PlannedNode, ...]:
    found = [planned for planned in plan.nodes if planned.type == node_type]
    by_number: dict[int, PlannedNode] = {}
    for planned in found:
        number = int(planned.params.get("number", 1))
        if number in by_number:
            raise ModuleBuildError(
                f"{by_number[number].id} and {planned.id} in {name} are both number {number}: "
                "give each its own number"
            )
        by_number[number] = planned
    return tuple(by_number[number] for number in sorted(by_number))


def used_layers(name: str, plan: Plan, outputs: tuple[PlannedNode, ...]) -> tuple[PlannedNode, ...]:
    """The layers that lead to an output, in order.

    Raises:
        ModuleBuildError: a node among them is no layer.
    """
    needed = {source.node_id for planned in outputs for source in planned.inputs.values()}
    layers: list[PlannedNode] = []
    for planned in reversed(plan.nodes):
        if planned.id not in needed or planned.type == INPUT_TYPE:
            continue
        build: Callable[..., Any] | None = getattr(planned.node_class, "build", None)
        if build is None:
            raise ModuleBuildError(f"{planned.id} ({planned.title}) in {name} is no layer")
        layers.append(planned)
        needed.update(source.node_id for source in planned.inputs.values())
    return tuple(reversed(layers))


def plans_within(plan: Plan, plan_of: Callable[[str], Plan]) -> dict[str, Plan]:
    """The plans of all subgraphs that modules within ``plan`` are made of, by name.

    Raises:
        KeyError: a subgraph does not exist.
    """
    found: dict[str, Plan] = {}
    waiting = [plan]
    while waiting:
        for planned in waiting.pop().nodes:
            if not hasattr(planned.node_class, "build_nested"):
                continue
            name = str(planned.params.get("subgraph", ""))
            if name not in found:
                found[name] = plan_of(name)
                waiting.append(found[name])
    return found
