"""The run record (V-7) and the one JSON encoder (V-6).

A payload is encoded to JSON bytes once, where the graph runs. From there to the database and the browser it is an
opaque ``body``. msgspec alone writes NaN and the infinities as ``null``, which would turn a diverged loss into a
missing one; :func:`encode_body` writes them as the strings ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

import msgspec

NAN = "NaN"
POSITIVE_INFINITY = "Infinity"
NEGATIVE_INFINITY = "-Infinity"

_NONFINITE_TEXTS = {NAN: math.nan, POSITIVE_INFINITY: math.inf, NEGATIVE_INFINITY: -math.inf}

JsonNumber = float | str
"""A number as JSON carries it: a finite float, or one of the three texts."""


def json_number(value: float) -> JsonNumber:
    """``value`` itself when finite, else the text that stands for it."""
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return NAN
    return POSITIVE_INFINITY if value > 0 else NEGATIVE_INFINITY


def number_from_json(value: JsonNumber) -> float:
    """The inverse of :func:`json_number`.

    Raises:
        ValueError: the text is none of the three.
    """
    if isinstance(value, str):
        try:
            return _NONFINITE_TEXTS[value]
        except KeyError:
            raise ValueError(
                f"expected a number or one of {', '.join(_NONFINITE_TEXTS)}, got {value!r}"
            ) from None
    return float(value)


def _replace_nonfinite(value: Any) -> Any:
    if isinstance(value, float):
        return json_number(value)
    if isinstance(value, Mapping):
        return {key: _replace_nonfinite(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_replace_nonfinite(item) for item in cast("list[Any]", value)]
    return value


_encoder = msgspec.json.Encoder(decimal_format="number")
_FLOAT_TEXT = (b"null",)


def encode_body(payload: Any) -> bytes:
    """Encode a payload (built-ins and msgspec structs) as JSON bytes, NaN and infinities as texts.

    Raises:
        TypeError: the payload holds something that has no JSON form.
    """
    encoded = _encoder.encode(payload)
    # Fast path: msgspec writes a non-finite float as null, so without a null there was none.
    if _FLOAT_TEXT[0] not in encoded:
        return encoded
    return _encoder.encode(_replace_nonfinite(msgspec.to_builtins(payload)))


def decode_body(body: bytes) -> Any:
    """Decode a body to built-ins. Non-finite texts stay texts: what they mean depends on the field.

    Raises:
        msgspec.DecodeError: the bytes are no JSON, or nested deeper than can be read.
    """
    try:
        return msgspec.json.decode(body)
    except RecursionError:
        raise msgspec.DecodeError("its parts are nested too deep") from None


def cap_body(body: bytes, cap: int) -> bytes:
    """Return ``body`` if it has at most ``cap`` bytes, else the payload with its ``outputs`` elided (V-3, V-5).

    Only a body over the cap is parsed. The result fits the cap, so capping twice changes nothing.
    """
    if len(body) <= cap:
        return body
    marker = {"elided": True, "bytes": len(body), "cap": cap}
    payload = decode_body(body)
    if isinstance(payload, dict):
        fields = cast("dict[str, Any]", payload)
        if "outputs" in fields:
            capped = encode_body({**fields, "outputs": marker})
            if len(capped) <= cap:
                return capped
        kept = {
            key: value
            for key, value in fields.items()
            if isinstance(value, int | float | bool) or (isinstance(value, str) and len(value) <= 256)
        }
        capped = encode_body({**kept, **marker})
        if len(capped) <= cap:
            return capped
    return encode_body(marker)
