"""Secret values in texts (X-5): the forms in which one shows, and their removal from a text that comes in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

REDACTED = "[secret]"
MIN_CHARACTERS = 3
"""A shorter value would be found everywhere; a submission with one is refused."""
MIN_LINE = 4
"""A shorter line of a value with several is none by itself, such as a bracket."""


def forms_of(value: str) -> set[str]:
    """How a value shows: as it is, trimmed, in a URL, behind backslashes as Python (text or bytes) and JSON write
    them, and line by line."""
    lines = (line.strip() for line in value.splitlines())
    return {
        value,
        value.strip(),
        quote(value, safe=""),
        quote_plus(value),
        repr(value)[1:-1],
        # A lone surrogate has no UTF-8; it must not keep the other forms from being found.
        repr(value.encode("utf-8", "surrogatepass"))[2:-1],
        json.dumps(value, ensure_ascii=True)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        *(line for line in lines if len(line) >= MIN_LINE),
    } - {""}


class StreamRedactor:
    """Replaces secret values in a text that comes in pieces. What might be the beginning of one is held back."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for value in secrets if value for form in forms_of(value)}
        self._forms = sorted(forms, key=len, reverse=True)
        self._held = ""

    def feed(self, text: str) -> str:
        """The part of everything fed so far that can be shown."""
        if not self._forms:
            return text
        text = self._held + text
        keep = max((self._open_end(text, form) for form in self._forms), default=0)
        # What is held back may itself begin inside a whole secret that the replacement below takes out.
        ready, self._held = self._replace(text, len(text) - keep)
        return ready

    def flush(self) -> str:
        """What was held back, at the end."""
        text, self._held = self._held, ""
        return self._replace(text, len(text))[0]

    def _replace(self, text: str, limit: int) -> tuple[str, str]:
        shown: list[str] = []
        position = 0
        while position < len(text):
            found = [(text.find(form, position), -len(form), form) for form in self._forms]
            found = [each for each in found if each[0] >= 0]
            start, _, form = min(found) if found else (len(text), 0, "")
            if start >= limit:
                shown.append(text[position : max(limit, position)])
                return "".join(shown), text[max(limit, position) :]
            shown += (text[position:start], REDACTED)
            position = start + len(form)
        return "".join(shown), ""

    @staticmethod
    def _open_end(text: str, form: str) -> int:
        """Length of the longest end of ``text`` that ``form`` begins with, without being it."""
        start = text.find(form[0], max(0, len(text) - len(form) + 1))
        while start >= 0:
            if form.startswith(text[start:]):
                return len(text) - start
            start = text.find(form[0], start + 1)
        return 0
