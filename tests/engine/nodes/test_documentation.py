"""The documentation of every built-in type says something: what it does, shapes, every port and every parameter."""

from __future__ import annotations

import re

import msgspec

from codefy_engine.nodes.definition import NodeDefinition, ParamDefinition
from codefy_engine.nodes.registry import default_registry

DEFINITIONS = default_registry().definitions()

SHAPE = re.compile(r"`[^`]*(\[[^\]`]*\]|→| x )[^`]*`|\bshape\b")
"""`[n, classes]`, `c x h x w`, `[n] → [n, width]`, or what happens to the shape in words."""

COUNTED = {
    "epochs": "epochs",
    "batch_size": "samples",
    "samples": "samples",
    "pixels": "px",
    "degrees": "degrees",
}
"""Parameters whose name is that of a unit."""


def words(text: str) -> list[str]:
    return re.findall(r"[A-Za-z0-9']+", text)


def of_shapes(definition: NodeDefinition) -> str:
    """Where shapes are told: the text, and the ports that carry tensors."""
    ports = [*definition.inputs, *definition.outputs]
    return " ".join([definition.doc, *(port.doc for port in ports if port.type == "tensor")])


def poor_params(definition: NodeDefinition) -> list[str]:
    return [fault for item in definition.params for fault in poor_param(item)]


def poor_param(item: ParamDefinition) -> list[str]:
    """What is missing in the documentation of a parameter."""
    found: list[str] = []
    if len(words(item.doc)) < 2 or not item.doc.endswith((".", "?")):
        found.append(f"{item.name} is not explained: {item.doc!r}")
    if item.doc.strip(".").lower() == item.label.lower():
        found.append(f"{item.name} repeats its label")
    bounded = item.min is not None and item.max is not None
    if item.kind in ("int", "float") and not bounded and "any number" not in item.doc:
        found.append(f"{item.name} has no range")
    if item.kind == "choice" and not all(choice.label for choice in item.choices or ()):
        found.append(f"{item.name} has choices without words")
    if item.optional and "mpty" not in item.doc:
        found.append(f"{item.name} does not say what leaving it empty means")
    if item.name in COUNTED and item.kind == "int" and item.unit != COUNTED[item.name]:
        found.append(f"{item.name} has no unit")
    return found


def poor_text(definition: NodeDefinition) -> list[str]:
    """What is missing in the text about a type."""
    found: list[str] = []
    summary = definition.summary
    if len(words(summary)) < 4 or not summary.endswith((".", ":", "…")):
        found.append(f"the summary says little: {summary!r}")
    if summary.strip(".").lower() == definition.title.lower() or len(words(definition.doc)) < 6:
        found.append("the text says no more than the title")
    ports = [*definition.inputs, *definition.outputs]
    if any(port.type == "tensor" for port in ports) and not SHAPE.search(of_shapes(definition)):
        found.append("there are tensors and no shapes")
    found += [f"the port {port.name} is not explained" for port in ports if len(words(port.doc)) < 2]
    return found


def test_every_type_port_and_parameter_is_explained() -> None:
    poor = {item.type: [*poor_text(item), *poor_params(item)] for item in DEFINITIONS}
    assert {name: faults for name, faults in poor.items() if faults} == {}


def test_no_two_types_have_the_same_text_or_title() -> None:
    assert len({item.doc for item in DEFINITIONS}) == len(DEFINITIONS)
    assert len({item.title for item in DEFINITIONS}) == len(DEFINITIONS)


def test_a_poor_documentation_is_noticed() -> None:
    silent = ParamDefinition(name="scale", label="Scale", kind="float", doc="Scale.", optional=True)
    assert len(poor_param(silent)) == 4
    known = next(item for item in DEFINITIONS if item.type == "MatMul")
    assert poor_text(known) == []
    port = msgspec.structs.replace(known.inputs[0], doc="")
    poor = msgspec.structs.replace(known, summary="Multiply.", doc="Multiply.", inputs=[port], outputs=[port])
    assert len(poor_text(poor)) == 5
