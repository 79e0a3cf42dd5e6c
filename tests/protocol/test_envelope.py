"""The one encoder: NaN and infinities survive (V-6), capping is idempotent (V-5)."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefy_protocol.bodies import MetricPoint, MetricsBody
from codefy_protocol.envelope import cap_body, decode_body, encode_body, json_number, number_from_json

payloads = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text() | st.floats(),
    lambda children: (
        st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=8), children, max_size=4)
    ),
    max_leaves=12,
)


def expected(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, list):
        return [expected(item) for item in value]
    if isinstance(value, dict):
        return {key: expected(item) for key, item in value.items()}
    return value


@given(payloads)
def test_every_payload_is_valid_json_with_its_nonfinite_numbers(payload: Any) -> None:
    assert decode_body(encode_body(payload)) == expected(payload)


@pytest.mark.parametrize(
    ("value", "text"),
    [(math.nan, '"NaN"'), (math.inf, '"Infinity"'), (-math.inf, '"-Infinity"'), (0.25, "0.25")],
)
def test_a_number_becomes_its_text(value: float, text: str) -> None:
    assert encode_body({"loss": value}) == f'{{"loss":{text}}}'.encode()


def test_null_stays_null_beside_a_nan() -> None:
    assert encode_body({"a": None, "b": [math.nan, (math.inf,)]}) == b'{"a":null,"b":["NaN",["Infinity"]]}'


def test_structs_are_encoded_with_their_nonfinite_fields() -> None:
    body = MetricsBody(points=[MetricPoint(name="loss", value=math.nan, step=3)])
    assert decode_body(encode_body(body)) == {"points": [{"name": "loss", "value": "NaN", "step": 3}]}


@given(st.floats())
def test_numbers_return(value: float) -> None:
    returned = number_from_json(json_number(value))
    assert returned == value or (math.isnan(returned) and math.isnan(value))


def test_another_text_is_no_number() -> None:
    with pytest.raises(ValueError, match="'nan'"):
        number_from_json("nan")


def test_a_body_within_the_cap_is_the_same_object() -> None:
    body = encode_body({"outputs": {"x": 1}})
    assert cap_body(body, len(body)) is body


def test_outputs_are_elided_and_the_rest_stays() -> None:
    body = encode_body({"node_id": "n", "status": "succeeded", "outputs": {"x": "y" * 1000}})
    capped = decode_body(cap_body(body, 300))
    assert capped["node_id"] == "n"
    assert capped["status"] == "succeeded"
    assert capped["outputs"] == {"elided": True, "bytes": len(body), "cap": 300}


@given(payloads, st.integers(200, 400))
def test_capping_fits_and_twice_changes_nothing(payload: Any, cap: int) -> None:
    body = encode_body({"node_id": "n", "outputs": payload, "rest": payload})
    once = cap_body(body, cap)
    assert len(once) <= cap
    assert cap_body(once, cap) == once
    msgspec.json.decode(once)


def test_a_body_nested_too_deep_is_no_json_that_can_be_read() -> None:
    with pytest.raises(msgspec.DecodeError, match="too deep"):
        decode_body(b"[" * 5000 + b"]" * 5000)
