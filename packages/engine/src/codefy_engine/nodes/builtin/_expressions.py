"""Formulas that a person types, computed without running Python code.

The formula is parsed and only what is listed here is computed: numbers, texts, lists, arithmetic, comparisons,
conditions, elements, and the named functions. There is no attribute access, so nothing else can be reached.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

MAX_LENGTH = 2000
_MAX_DEPTH = 60
_MAX_POWER = 10_000
_MAX_ITEMS = 1_000_000

_FORMAT = re.compile(r"%(?:\([^)]*\))?[#0\- +]*(\*|\d+)?(?:\.(\*|\d+)?)?.", re.DOTALL)
"""A place in a text that ``%`` fills in: its width and its digits."""

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: operator.mod,
    ast.MatMult: lambda a, b: a @ b,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}


class BadExpression(ValueError):
    """A formula that cannot be computed; the message says why and where."""


def _on_numbers(name: str) -> Callable[[Any], Any]:
    """``math.<name>`` of a number, the method ``<name>`` of a tensor."""
    plain = getattr(math, name)

    def apply(value: Any) -> Any:
        own = getattr(value, name, None) if hasattr(value, "dtype") else None
        return own() if callable(own) else plain(value)

    return apply


def _mean(value: Any) -> Any:
    if hasattr(value, "dtype"):
        return value.float().mean()
    items = list(value)
    return sum(items) / len(items)


def _total(value: Any) -> Any:
    return value.sum() if hasattr(value, "dtype") else sum(value)


def _range(*bounds: Any) -> list[int]:
    numbers = range(*bounds)
    if len(numbers) > _MAX_ITEMS:
        raise BadExpression(f"range has {len(numbers):,} numbers; {_MAX_ITEMS:,} at most")
    return list(numbers)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: _on_numbers(name)
        for name in ("sqrt", "exp", "log", "log2", "log10", "sin", "cos", "tan", "tanh", "floor", "ceil")
    },
    "abs": abs,
    "round": round,
    "min": min,
    "max": max,
    "sum": _total,
    "mean": _mean,
    "len": len,
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
    "range": _range,
    "sorted": sorted,
}


def evaluate(text: str, names: Mapping[str, Any]) -> Any:
    """The value of ``text`` with the values of ``names``.

    Raises:
        BadExpression: it is no formula, uses something that is not allowed, or fails when it is computed.
    """
    if len(text) > MAX_LENGTH:
        raise BadExpression(f"a formula has at most {MAX_LENGTH} characters; this has {len(text)}")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise BadExpression(f"this is no formula: {text.strip() or 'it is empty'}") from None
    try:
        return _value(tree.body, names, 0)
    except BadExpression:
        raise
    except Exception as error:  # a person's formula may raise anything
        raise BadExpression(f"{text.strip()}: {error}") from error


def _value(node: ast.expr, names: Mapping[str, Any], depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise BadExpression("the formula is nested too deeply")

    def part(inner: ast.expr) -> Any:
        return _value(inner, names, depth + 1)

    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return value
        case ast.Name(id=name):
            if name in names:
                return names[name]
            if name in _CONSTANTS:
                return _CONSTANTS[name]
            raise BadExpression(f"{name} is not known; there are {', '.join((*names, *_CONSTANTS))}")
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(part(left), part(right))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _sized(_BINARY[type(op)], part(left), part(right))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](part(operand))
        case ast.BoolOp(op=op, values=values):
            result: Any = None
            for item in values:
                result = part(item)
                if bool(result) is isinstance(op, ast.Or):
                    break
            return result
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            before = part(left)
            result = True
            for op, right in zip(ops, comparators, strict=True):
                if type(op) not in _COMPARE:
                    raise BadExpression("only ==, !=, <, <=, >, >=, in and not in compare")
                after = part(right)
                result = _COMPARE[type(op)](before, after)
                if len(ops) > 1 and not result:
                    return result
                before = after
            return result
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return part(body) if part(test) else part(orelse)
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [part(element) for element in elements]
        case ast.Dict(keys=keys, values=values):
            return {
                part(key): part(value) for key, value in zip(keys, values, strict=True) if key is not None
            }
        case ast.Subscript(value=value, slice=place):
            return part(value)[_place(place, part)]
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](*(part(argument) for argument in arguments))
        case ast.Call(func=ast.Name(id=name)):
            raise BadExpression(f"there is no function {name}; there are {', '.join(sorted(FUNCTIONS))}")
        case _:
            raise BadExpression(f"{ast.unparse(node)} is not allowed in a formula")


def _place(place: ast.expr, part: Callable[[ast.expr], Any]) -> Any:
    if isinstance(place, ast.Slice):
        bounds = (place.lower, place.upper, place.step)
        return slice(*(None if bound is None else part(bound) for bound in bounds))
    if isinstance(place, ast.Tuple):
        return tuple(_place(item, part) for item in place.elts)
    return part(place)


def _power(base: Any, exponent: Any) -> Any:
    if (
        isinstance(base, int)
        and isinstance(exponent, int)
        and abs(exponent) * max(1, base.bit_length()) > _MAX_POWER
    ):
        raise BadExpression("this power has too many digits")
    return base**exponent


def _sized(operation: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Keep a list or text from being multiplied, or a text from being filled in, until the memory is full."""
    for items, times in ((left, right), (right, left)):
        if operation is not operator.mul or not isinstance(times, int) or not isinstance(items, list | str):
            continue
        if len(cast("list[Any] | str", items)) * times > _MAX_ITEMS:
            raise BadExpression(f"the result has more than {_MAX_ITEMS:,} items")
    if operation is operator.mod and isinstance(left, str):
        _refuse_long_text(left, right)
    return operation(left, right)


def _refuse_long_text(text: str, values: Any) -> None:
    """Keep ``text % values`` from becoming longer than a text may be."""
    given = cast("tuple[Any, ...]", values) if isinstance(values, tuple) else (values,)
    starred = max((abs(value) for value in given if isinstance(value, int)), default=0)
    places = [match for match in _FORMAT.finditer(text) if match.group() != "%%"]
    length = 0
    for match in places:
        for size in match.groups():
            # A number with more digits than the limit has is beyond it, however many there are.
            digits = (size or "").lstrip("0")
            if len(digits) > 9:
                length = _MAX_ITEMS + 1
            elif digits:
                length += starred if digits == "*" else int(digits)
    if isinstance(values, dict) and len(places) > 1:
        # By name, one long value may be filled in many times.
        length += len(places) * max((len(str(value)) for value in cast("Any", values).values()), default=0)
    if length > _MAX_ITEMS:
        raise BadExpression(f"the result has more than {_MAX_ITEMS:,} items")
