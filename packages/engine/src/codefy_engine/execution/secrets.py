"""Secrets of a run: what takes their values out of everything that is told about it (X-5)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

import msgspec

from codefy_engine.execution.body_shape import BODY, ERROR, Each, Identifier, Number, Rule
from codefy_engine.nodes.base import NodeError
from codefy_protocol.bodies import RunError
from codefy_protocol.envelope import encode_body
from codefy_protocol.redaction import MIN_CHARACTERS, forms_of

_T = TypeVar("_T")


class SecretMissing(NodeError):
    """A node asked for a secret that the run was not given."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the run was not given the secret {name!r}")
        self.name = name


class Redactor:
    """Replaces secret values, however they are written, by ``[secret NAME]``."""

    def __init__(self, secrets: Mapping[str, str] | Iterable[tuple[str, str]]) -> None:
        """From values by name, or from pairs of name and value."""
        pairs = cast("Mapping[str, str]", secrets).items() if isinstance(secrets, Mapping) else secrets
        found: dict[str, str] = {}
        for name, value in pairs:
            if len(value) < MIN_CHARACTERS:
                continue
            for form in forms_of(value):
                if len(form) >= MIN_CHARACTERS:
                    found.setdefault(form, f"[secret {name}]")
        # The longest first: one secret may begin with another.
        self._forms = sorted(found.items(), key=lambda item: -len(item[0]))
        self._needles = [json.dumps(form, ensure_ascii=False)[1:-1].encode() for form, _ in self._forms]

    def __bool__(self) -> bool:
        return bool(self._forms)

    def text(self, text: str) -> str:
        """``text`` without secrets."""
        for form, marker in self._forms:
            if form in text:
                text = text.replace(form, marker)
        return text

    def body(self, body: bytes) -> bytes:
        """A JSON body without secrets. Only one that holds some is parsed."""
        if not any(needle in body for needle in self._needles):
            return body
        return encode_body(self.fields(msgspec.json.decode(body), BODY))

    def fields(self, value: _T, rule: Rule) -> _T:
        """Built-ins without secrets in what users wrote; the protocol's own words stay, as ``rule`` tells them."""
        return cast("_T", self._fields(value, rule))

    def plain(self, value: _T) -> _T:
        """Built-ins without secrets, in keys and in numbers too."""
        return cast("_T", self._plain(value))

    def _fields(self, value: Any, rule: Rule) -> Any:
        if isinstance(rule, Identifier) and isinstance(value, str):
            return value
        if isinstance(rule, Number) and isinstance(value, int | float):
            return value
        if isinstance(rule, frozenset) and isinstance(value, str) and value in rule:
            return value
        if isinstance(rule, Mapping) and isinstance(value, list):
            return [self._fields(item, rule) for item in cast("list[Any]", value)]
        if isinstance(rule, Each) and isinstance(value, dict):
            return {key: self._fields(item, rule.item) for key, item in cast("dict[str, Any]", value).items()}
        if isinstance(rule, Mapping) and isinstance(value, dict):
            return {
                key if key in rule else self.text(key): self._fields(item, rule.get(key))
                for key, item in cast("dict[str, Any]", value).items()
            }
        return self._plain(value)

    def _plain(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            items = cast("dict[str, Any]", value)
            return {self.text(key): self._plain(item) for key, item in items.items()}
        if isinstance(value, list | tuple):
            return [self._plain(item) for item in cast("list[Any]", value)]
        if isinstance(value, int | float) and not isinstance(value, bool):
            text = str(value)
            return self.text(text) if any(form == text for form, _ in self._forms) else value
        return value

    def error(self, error: RunError) -> RunError:
        """An error without secrets, its traceback too."""
        return msgspec.convert(self.fields(msgspec.to_builtins(error), ERROR), RunError)
