"""JSON bodies and query strings into structs; what does not fit is one :class:`ApiError` with a path and a reason."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, TypeVar

import msgspec

from codefy_control_plane.api.problems import ApiError, api_error
from codefy_protocol import reasons

T = TypeVar("T")

_AT = re.compile(r"^(?P<detail>.*?)(?: - at `(?P<path>\$.*)`)?$", re.DOTALL)
_UNKNOWN_FIELD = re.compile(r"unknown field `(?P<name>[^`]*)`")
_MISSING_FIELD = re.compile(r"missing required field `(?P<name>[^`]*)`")


UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)
"""What msgspec raises for JSON that somebody else wrote; it recurses, so deep nesting is one of them."""


def explain(error: Exception) -> tuple[str, str]:
    """Path (``$.options.device``) and reason of what msgspec refused, one of :data:`UNREADABLE`."""
    if isinstance(error, RecursionError):
        return "$", "its parts are nested too deep"
    if isinstance(error, UnicodeDecodeError):
        return "$", f"not UTF-8 at byte {error.start}"
    match = _AT.match(str(error))
    if match is None:
        return "$", str(error)
    path = match["path"] or "$"
    detail = match["detail"]
    for pattern in (_UNKNOWN_FIELD, _MISSING_FIELD):
        named = pattern.search(detail)
        if named is not None:
            return f"{path}.{named['name']}", "unknown field" if pattern is _UNKNOWN_FIELD else "missing"
    return path, detail[:1].lower() + detail[1:]


@cache
def _decoder(struct: type[Any]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(struct)


def decode_json(body: bytes, struct: type[T]) -> T:
    """Decode a request body.

    Raises:
        ApiError: 400 ``invalid_body``.
    """
    try:
        return _decoder(struct).decode(body)
    except UNREADABLE as error:
        path, detail = explain(error)
    raise api_error(400, reasons.INVALID_BODY, path=path, detail=detail)


def decode_query(pairs: list[tuple[str, str]], struct: type[T]) -> T:
    """Convert query parameters; numbers are read from their text.

    Raises:
        ApiError: 400 ``invalid_query`` naming the parameter.
    """
    values: dict[str, str] = {}
    for name, value in pairs:
        if name in values:
            raise _bad_query(name, "given twice")
        values[name] = value
    try:
        return msgspec.convert(values, struct, strict=False)
    except msgspec.ValidationError as error:
        path, detail = explain(error)
        raise _bad_query(path.removeprefix("$.") or "?", detail) from None


def _bad_query(name: str, detail: str) -> ApiError:
    return api_error(400, reasons.INVALID_QUERY, name=name, detail=detail)
