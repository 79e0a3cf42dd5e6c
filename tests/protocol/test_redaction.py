"""X-5: a secret never shows, however a text is cut and however the value is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefy_protocol.redaction import REDACTED, StreamRedactor


@given(st.data())
def test_a_secret_never_shows_however_it_is_cut(data: st.DataObject) -> None:
    secrets = data.draw(st.lists(st.text("abc", min_size=1, max_size=5), min_size=1, max_size=3))
    text = data.draw(st.text("abcx", max_size=40))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    redactor = StreamRedactor(secrets)
    shown = ""
    begin = 0
    for end in [*cuts, len(text)]:
        shown += redactor.feed(text[begin:end])
        begin = end
    shown += redactor.flush()
    whole = StreamRedactor(secrets)
    assert shown == whole.feed(text) + whole.flush()
    for part in shown.split(REDACTED):
        assert not any(secret in part for secret in secrets)
    if not any(secret in text for secret in secrets):
        assert shown == text


def test_lines_of_a_secret_are_secret_too() -> None:
    redactor = StreamRedactor(["-----BEGIN-----\nMIIEvQIB\n-----END-----\n"])
    assert redactor.feed("key: MIIEvQIB.\n") + redactor.flush() == f"key: {REDACTED}.\n"


@pytest.mark.parametrize(
    "shown",
    ['a b/c"d', "a%20b%2Fc%22d", "a+b%2Fc%22d", "tab\\there", "tab\there"],
)
def test_a_secret_in_other_writing_is_one(shown: str) -> None:
    redactor = StreamRedactor(['a b/c"d', "tab\there"])
    assert redactor.feed(f"<{shown}>") + redactor.flush() == f"<{REDACTED}>"
