"""Parameters of nodes: from an annotated field to a checked value, and to the sentence that says what was expected."""

from __future__ import annotations

import inspect
import math
import re
import sys
import types
from collections.abc import Callable
from typing import Any, Literal, Union, cast, get_args, get_origin

import msgspec

from codefy_engine.nodes.definition import Choice, ParamDefinition, VisibleIf

KINDS = frozenset(
    (
        "int",
        "float",
        "bool",
        "text",
        "choice",
        "subgraph",
        "code",
        "file",
        "secret",
        "colour",
        "tensor",
        "ints",
        "preset",
    )
)


class NodeDefinitionError(TypeError):
    """A class does not describe a node; raised when it is defined."""


class BadParam(ValueError):
    """A value does not fit its parameter; the message says what was expected."""


class Secret(msgspec.Struct, frozen=True):
    """A reference to a secret, which is all that a graph holds of it (X-5); ``ctx.secret`` gives its value."""

    name: str


class ParamField(msgspec.Struct, kw_only=True, frozen=True):
    """What ``param(...)`` wrote on the class, before its annotation is read."""

    default: Any
    minimum: float | None
    exclusive_min: bool
    maximum: float | None
    exclusive_max: bool
    choices: list[Choice] | None
    kind: str | None
    unit: str
    label: str
    doc: str
    advanced: bool
    visible_if: VisibleIf | None


class ParamSpec(msgspec.Struct, kw_only=True, frozen=True):
    """A parameter with what decodes it."""

    definition: ParamDefinition
    value_type: Any
    """The annotation, without ``None``."""

    def decode(self, value: Any) -> Any:
        """The value as the node gets it.

        Raises:
            BadParam: it does not fit; the message is what was expected.
        """
        definition = self.definition
        if value is None:
            if definition.optional:
                return None
            raise BadParam(self.expected())
        if definition.choices is not None:
            for choice in definition.choices:
                # True == 1: the type decides too.
                if choice.value == value and isinstance(choice.value, bool) == isinstance(value, bool):
                    return choice.value
            raise BadParam(self.expected())
        special = _DECODERS.get(definition.kind)
        if special is not None:
            try:
                return special(value, definition.optional)
            except ValueError:
                raise BadParam(self.expected()) from None
        try:
            decoded = msgspec.convert(value, self.value_type)
        except msgspec.ValidationError:
            raise BadParam(self.expected()) from None
        items = cast("list[Any]", decoded if isinstance(decoded, list) else [decoded])
        for item in items:
            if isinstance(item, int) and not -(2**63) <= item < 2**63:
                raise BadParam(f"{self.expected()}, within 64 bits")
            if isinstance(item, int | float) and not isinstance(item, bool) and not self._in_range(item):
                raise BadParam(self.expected())
        return cast("Any", decoded)

    def _in_range(self, value: float) -> bool:
        definition = self.definition
        low, high = definition.min, definition.max
        if not math.isfinite(value):
            return False
        if low is not None and (value < low or (definition.exclusive_min and value == low)):
            return False
        return not (high is not None and (value > high or (definition.exclusive_max and value == high)))

    def expected(self) -> str:
        """What the parameter takes, in words: ``expected a whole number from 1 to 512``."""
        definition = self.definition
        if definition.choices is not None:
            text = "one of " + ", ".join(str(choice.value) for choice in definition.choices)
        else:
            text = _TYPE_WORDS.get(definition.kind, "a text") + self._range_words()
        return f"expected {text}" + (", or nothing" if definition.optional else "")

    def _range_words(self) -> str:
        definition = self.definition
        low = None if definition.min is None else f"{definition.min:g}"
        high = None if definition.max is None else f"{definition.max:g}"
        if (
            low is not None
            and high is not None
            and not (definition.exclusive_min or definition.exclusive_max)
        ):
            return f" from {low} to {high}"
        words: list[str] = []
        if low is not None:
            words.append(f"above {low}" if definition.exclusive_min else f"of at least {low}")
        if high is not None:
            words.append(f"below {high}" if definition.exclusive_max else f"of at most {high}")
        return " " + " and ".join(words) if words else ""


_TYPE_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "ints": "whole numbers",
    "tensor": "numbers, or lists of equal length of them",
    "subgraph": "the name of a subgraph",
    "preset": "the name of a preset",
    "secret": 'a reference {"secret": NAME} and never the secret itself',
    "colour": "a colour such as #3b82f6",
}

_COLOUR = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})")


def _secret(value: Any, optional: bool) -> Secret | None:
    if isinstance(value, Secret):
        return value
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    name = fields.get("secret")
    if len(fields) != 1 or not isinstance(name, str) or not name:
        raise ValueError
    return Secret(name)


def _colour(value: Any, optional: bool) -> str:
    if not isinstance(value, str) or not _COLOUR.fullmatch(value):
        raise ValueError
    return value


def _grid(value: Any, optional: bool) -> Any:
    _grid_shape(value)
    return value


def _grid_shape(value: Any) -> tuple[int, ...]:
    """The shape of nested lists.

    Raises:
        ValueError: something else than numbers, or lists of unequal length.
    """
    if isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool)):
        if not -(2**63) <= value < 2**63 and isinstance(value, int):
            raise ValueError
        return ()
    if not isinstance(value, list):
        raise ValueError  # noqa: TRY004  # it is told as a bad parameter
    shapes = {_grid_shape(item) for item in cast("list[Any]", value)}
    if len(shapes) > 1:
        raise ValueError
    items = cast("list[Any]", value)
    return (len(items), *next(iter(shapes), ()))


_DECODERS: dict[str, Callable[[Any, bool], Any]] = {"secret": _secret, "colour": _colour, "tensor": _grid}
"""Kinds whose values are decoded by more than their type."""

_KIND_BY_TYPE: dict[Any, str] = {int: "int", float: "float", bool: "bool", str: "text"}


def resolve_param(owner: type, name: str, field: ParamField, label: str) -> ParamSpec:
    """Read the annotation of ``name`` in ``owner`` and make the parameter's spec.

    Raises:
        NodeDefinitionError: no annotation, one that is not understood, or a default that does not fit.
    """
    where = f"{owner.__name__}.{name}"
    value_type, optional = _annotation(owner, name, where)
    choices = field.choices
    if get_origin(value_type) is Literal:
        if choices is None:
            choices = [Choice(value=value, label=str(value)) for value in get_args(value_type)]
        value_type = Any
    kind = field.kind or ("choice" if choices is not None else _kind(value_type, where))
    if kind not in KINDS:
        raise NodeDefinitionError(
            f"{where}: {kind!r} is no kind of parameter; there are {', '.join(sorted(KINDS))}"
        )
    spec = ParamSpec(
        definition=ParamDefinition(
            name=name,
            label=label,
            kind=kind,
            default=field.default,
            min=field.minimum,
            max=field.maximum,
            exclusive_min=field.exclusive_min,
            exclusive_max=field.exclusive_max,
            unit=field.unit,
            doc=field.doc,
            choices=choices,
            advanced=field.advanced,
            optional=optional,
            visible_if=field.visible_if,
        ),
        value_type=value_type,
    )
    try:
        # Decoded, so that a float parameter's default is a float in the catalog whatever its author wrote.
        spec.definition.default = spec.decode(field.default)
    except BadParam as error:
        raise NodeDefinitionError(f"{where}: {error}; its default is {field.default!r}") from None
    return spec


def _annotation(owner: type, name: str, where: str) -> tuple[Any, bool]:
    """The type of a field without ``None``, and whether ``None`` was in it.

    Annotations are read one by one: those of ports may name types that exist for the type checker only.
    """
    annotation: Any = inspect.get_annotations(owner).get(name)
    if annotation is None:
        raise NodeDefinitionError(f"{where} needs a type annotation")
    if isinstance(annotation, str):
        try:
            # The same evaluation as typing.get_type_hints, for one field of code that is imported already.
            annotation = eval(annotation, vars(sys.modules[owner.__module__]), dict(vars(owner)))  # noqa: S307
        except NameError as error:
            raise NodeDefinitionError(
                f"{where}: the type {annotation!r} is not known here ({error})"
            ) from None
    if get_origin(annotation) in (Union, types.UnionType):
        arguments: tuple[Any, ...] = get_args(annotation)
        rest: tuple[Any, ...] = tuple(argument for argument in arguments if argument is not type(None))
        if len(rest) < len(arguments):
            union: Any = Union
            return union[rest], True
    return annotation, False


def _kind(value_type: Any, where: str) -> str:
    if value_type in _KIND_BY_TYPE:
        return _KIND_BY_TYPE[value_type]
    parts = set(get_args(value_type)) if get_origin(value_type) in (Union, types.UnionType) else {value_type}
    if parts <= {int, list[int]} and list[int] in parts:
        return "ints"
    raise NodeDefinitionError(
        f"{where}: the type {value_type!r} is not understood; name the parameter's kind"
    )
