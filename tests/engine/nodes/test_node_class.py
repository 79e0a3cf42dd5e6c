"""A node describes itself by its class: ports, parameters, documentation (G-2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pytest

from codefy_engine.nodes.base import Node, NodeContext, NodeDefinitionError, input, node, output, param
from codefy_engine.nodes.parameters import BadParam

if TYPE_CHECKING:
    from torch import Tensor


@node(type="Sample", title="Sample", category="data", icon="box", version=3)
class Sample(Node):
    """Cut a piece out.

    The shape is `[n, size]`.
    """

    x: Tensor = input("tensor", doc="What to cut.")
    like: Tensor = input("tensor", required=False)
    size: int = param(8, ge=1, le=64, unit="px", doc="How much.")
    rate: float = param(1, gt=0, lt=2, advanced=True)
    mode: Literal["fast", "exact"] = param("fast")
    power: int = param(2, choices=[(2, "square"), (3, "cube")], visible_if={"mode": "exact"})
    kernel: int | list[int] = param(3, ge=1)
    seed: int | None = param(None, ge=0)
    flag: bool = param(False)
    text: str = param("hello")
    y: Tensor = output("tensor")

    def run(self, ctx: NodeContext) -> Any:
        return self.x


def test_the_definition_is_read_from_the_class() -> None:
    definition = Sample.spec.definition
    assert (definition.type, definition.version, definition.layer) == ("Sample", 3, False)
    assert definition.summary == "Cut a piece out."
    assert definition.doc.endswith("The shape is `[n, size]`.")
    assert [(port.name, port.type, port.required) for port in definition.inputs] == [
        ("x", "tensor", True),
        ("like", "tensor", False),
    ]
    assert [port.name for port in definition.outputs] == ["y"]
    params = {item.name: item for item in definition.params}
    assert {name: item.kind for name, item in params.items()} == {
        "size": "int",
        "rate": "float",
        "mode": "choice",
        "power": "choice",
        "kernel": "ints",
        "seed": "int",
        "flag": "bool",
        "text": "text",
    }
    size = params["size"]
    assert (size.label, size.default, size.min, size.max, size.unit) == ("Size", 8, 1, 64, "px")
    rate = params["rate"]
    assert (rate.min, rate.exclusive_min, rate.max, rate.exclusive_max, rate.advanced) == (
        0,
        True,
        2,
        True,
        True,
    )
    assert params["seed"].optional and not size.optional
    power = params["power"]
    assert power.choices is not None and [choice.label for choice in power.choices] == ["square", "cube"]
    assert power.visible_if is not None
    assert (power.visible_if.param, power.visible_if.equals) == ("mode", ["exact"])


def test_a_default_is_kept_in_the_type_of_its_parameter() -> None:
    rate = Sample.spec.params["rate"].definition.default
    assert rate == 1.0 and type(rate) is float


@pytest.mark.parametrize(
    ("name", "given", "decoded"),
    [
        ("size", 64, 64),
        ("rate", 1, 1.0),
        ("mode", "exact", "exact"),
        ("power", 3, 3),
        ("kernel", 5, 5),
        ("kernel", [3, 5], [3, 5]),
        ("seed", None, None),
        ("flag", True, True),
        ("text", "", ""),
    ],
)
def test_a_fitting_value_is_decoded(name: str, given: Any, decoded: Any) -> None:
    value = getattr(Sample.create({name: given}), name)
    assert value == decoded and type(value) is type(decoded)


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("size", 65, "expected a whole number from 1 to 64"),
        ("size", 0, "expected a whole number from 1 to 64"),
        ("size", 1.5, "expected a whole number from 1 to 64"),
        ("size", True, "expected a whole number from 1 to 64"),
        ("size", "8", "expected a whole number from 1 to 64"),
        ("size", None, "expected a whole number from 1 to 64"),
        ("rate", 0, "expected a number above 0 and below 2"),
        ("rate", 2, "expected a number above 0 and below 2"),
        ("rate", float("nan"), "expected a number above 0 and below 2"),
        ("mode", "slow", "expected one of fast, exact"),
        ("power", 4, "expected one of 2, 3"),
        ("kernel", [3, 0], "expected whole numbers of at least 1"),
        ("kernel", ["3"], "expected whole numbers of at least 1"),
        ("seed", -1, "expected a whole number of at least 0, or nothing"),
        ("flag", 1, "expected true or false"),
        ("text", 1, "expected a text"),
    ],
)
def test_another_value_says_what_was_expected(name: str, given: Any, expected: str) -> None:
    with pytest.raises(BadParam) as caught:
        Sample.create({name: given})
    assert str(caught.value) == expected


def test_a_choice_does_not_take_a_boolean_for_a_number() -> None:
    @node(type="OneOrTwo", title="One or two", category="flow", icon="x")
    class OneOrTwo(Node):
        """Doc."""

        which: int = param(1, choices=[1, 2])

        def run(self, ctx: NodeContext) -> None: ...

    with pytest.raises(BadParam, match="expected one of 1, 2"):
        OneOrTwo.create({"which": True})


def test_instances_hold_inputs_and_parameters_and_share_no_default() -> None:
    @node(type="Lists", title="Lists", category="flow", icon="x")
    class Lists(Node):
        """Doc."""

        x: Any = input("any", required=False)
        sizes: list[int] = param([1, 2])

        def run(self, ctx: NodeContext) -> None: ...

    first, second = Lists.create(None, x="here"), Lists.create()
    assert (first.x, second.x) == ("here", None)
    first.sizes.append(3)
    assert second.sizes == [1, 2] and Lists.create().sizes == [1, 2]


def test_create_refuses_names_that_are_not_there() -> None:
    with pytest.raises(TypeError, match="no parameter 'siez'"):
        Sample.create({"siez": 1})
    with pytest.raises(TypeError, match="no input 'z'"):
        Sample.create(None, z=1)


def test_a_subclass_adds_fields_and_replaces_them() -> None:
    @node(type="Wider", title="Wider", category="data", icon="box")
    class Wider(Sample):
        """A wider sample."""

        size: int = param(16, ge=1, le=128)
        extra: float = param(0.5)

    names = [item.name for item in Wider.spec.definition.params]
    assert names == [*(item.name for item in Sample.spec.definition.params), "extra"]
    assert Wider.create({"size": 128}).size == 128
    assert Sample.create().size == 8


def test_a_class_with_build_may_stand_in_a_module() -> None:
    @node(type="Own", title="Own", category="layers", icon="layers")
    class Own(Node):
        """A layer."""

        def build(self, in_shape: tuple[int, ...]) -> None: ...

        def run(self, ctx: NodeContext) -> None: ...

    assert Own.spec.definition.layer


def _class(**parts: Any) -> type[Node]:
    body = {"__doc__": "Doc.", "run": lambda self, ctx: None, "__module__": __name__, **parts}
    return type("Made", (Node,), body)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"__doc__": None}, "needs a docstring"),
        ({"run": Node.run}, "needs a run method"),
        ({"a": param(1)}, "needs a type annotation"),
        ({"a": param(1), "__annotations__": {"a": "Nowhere"}}, "is not known here"),
        ({"a": param(1), "__annotations__": {"a": dict}}, "is not understood"),
        ({"a": param(0, ge=1), "__annotations__": {"a": int}}, "its default is 0"),
        ({"a": param("x", kind="odd"), "__annotations__": {"a": str}}, "no kind of parameter"),
        (
            {"a": param(1, visible_if={"b": 1}), "__annotations__": {"a": int}},
            "shown by 'b', which is no parameter",
        ),
    ],
)
def test_a_mistake_of_the_author_is_an_error_at_once(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(NodeDefinitionError, match=message):
        node(type="Made", title="Made", category="flow", icon="x")(_class(**parts))


def test_names_of_types_and_ports_are_checked() -> None:
    with pytest.raises(NodeDefinitionError, match="PascalCase"):
        node(type="made", title="Made", category="flow", icon="x")(_class())
    with pytest.raises(NodeDefinitionError, match="no port type"):
        input("tenser")  # type: ignore[arg-type]  # the mistake under test
