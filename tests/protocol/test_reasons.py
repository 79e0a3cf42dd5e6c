"""Every code has one sentence whose parameters are known."""

from __future__ import annotations

import re

import pytest

from codefy_protocol import reasons


def test_codes_are_snake_case_and_have_a_constant_of_their_name() -> None:
    for code in reasons.codes():
        assert re.fullmatch(r"[a-z][a-z0-9_]*", code)
        assert getattr(reasons, code.upper()) == code


def test_the_sentence_is_made_from_the_parameters() -> None:
    made = reasons.reason(reasons.RUN_NOT_FOUND, run_id="abc")
    assert made == reasons.Reason(
        code="run_not_found", message="There is no run abc.", params={"run_id": "abc"}
    )


def test_a_missing_parameter_is_an_error() -> None:
    with pytest.raises(KeyError, match="run_id"):
        reasons.reason(reasons.RUN_NOT_FOUND)


def test_a_code_is_registered_once() -> None:
    with pytest.raises(ValueError, match="twice"):
        reasons.register(reasons.RUN_NOT_FOUND, "again")
