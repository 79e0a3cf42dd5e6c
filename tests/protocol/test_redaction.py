"""X-5: a secret never shows, however a text is cut and however the value is written."""

from __future__ import annotations

import json

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


VALUE = 'pä"ss\\wörd\u2028😀'


@pytest.mark.parametrize(
    "shown",
    [
        r'"p\u00e4\"ss\\w\u00f6rd\u2028\ud83d\ude00"',
        '"pä\\"ss\\\\wörd\u2028😀"',
        r"""b'p\xc3\xa4"ss\\w\xc3\xb6rd\xe2\x80\xa8\xf0\x9f\x98\x80'""",
        r"""'pä"ss\\wörd\u2028😀'""",
    ],
    ids=["json", "json with letters", "bytes", "repr"],
)
def test_a_secret_in_json_and_in_bytes_is_one(shown: str) -> None:
    assert shown in {
        json.dumps(VALUE),
        json.dumps(VALUE, ensure_ascii=False),
        repr(VALUE.encode()),
        repr(VALUE),
    }
    redactor = StreamRedactor([VALUE])
    told = redactor.feed(shown) + redactor.flush()
    assert told.removeprefix("b")[1:-1] == REDACTED
