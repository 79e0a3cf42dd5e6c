"""Small facts about values for the inspector: never an error, never large."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
import torch

from codefy_engine.execution.summaries import summarize
from codefy_protocol.envelope import encode_body


class Odd:
    @property
    def shape(self) -> Any:
        raise RuntimeError("no shape")


class Told:
    def codefy_summary(self) -> dict[str, Any]:
        return {"summary": "1,797 samples", "samples": np.int64(1797), "shape": torch.Size([1, 8, 8])}


class Said:
    def codefy_summary(self) -> str:
        return "a recipe"


@pytest.mark.parametrize(
    ("value", "facts"),
    [
        (None, {"summary": "nothing"}),
        (True, {"summary": "True", "value": True}),
        (3, {"summary": "3", "value": 3}),
        (0.123456789, {"summary": "0.123457", "value": 0.123456789}),
        ("short", {"summary": "short"}),
        ("long" * 100, {"summary": ("long" * 50)[:199] + "…"}),
        (
            torch.zeros(2, 3),
            {"summary": "float32 [2, 3]", "shape": [2, 3], "dtype": "float32", "device": "cpu"},
        ),
        (np.zeros((4,)), {"summary": "float64 [4]", "shape": [4], "dtype": "float64", "device": "cpu"}),
        ({"accuracy": 0.5, "n": 3, "text": "x"}, {"summary": "accuracy 0.5, n 3", "length": 3}),
        ({"a": "b"}, {"summary": "1 entries", "length": 1}),
        ([1, 2], {"summary": "list of 2", "length": 2}),
        (torch.nn.Linear(2, 3), {"summary": "Linear, 9 parameters", "parameters": 9}),
        (object(), {"summary": "object"}),
        (Odd(), {"summary": "Odd (RuntimeError when looked at)"}),
        (Told(), {"summary": "1,797 samples", "samples": 1797, "shape": [1, 8, 8]}),
        (Said(), {"summary": "a recipe"}),
    ],
)
def test_what_is_said_of_a_value(value: Any, facts: dict[str, Any]) -> None:
    said = summarize(value, "any")
    assert said["type"] == "any"
    assert {key: said.get(key) for key in facts} == facts
    assert msgspec.json.decode(encode_body(said))


def test_a_large_dict_is_cut_short() -> None:
    said = summarize({f"metric-{i}": i for i in range(10_000)}, "metrics")
    assert said["length"] == 10_000
    assert len(encode_body(said)) < 2000
