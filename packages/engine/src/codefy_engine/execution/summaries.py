"""Small facts about a value that came out of a node, for the inspector and the log. Never imports torch.

A class of one's own says more by a method ``codefy_summary()``, which returns a text, or a dict of facts of which
``summary`` is the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from codefy_engine.execution.events import plain

_TEXT_CHARACTERS = 200
_ENTRIES = 24


Redact = Callable[[str], str]


def summarize(value: Any, port_type: str, redact: Redact | None = None) -> dict[str, Any]:
    """``{"type", "summary", ...}``; never raises.

    ``redact`` takes secrets out of a text before it is cut, for half a secret is one too; whoever has secrets takes
    them out of the rest.
    """
    # Most values of a large graph are plain numbers.
    kind = cast("type[object]", type(value))
    if kind is int:
        return {"type": port_type, "summary": str(value), "value": value}
    if kind is float:
        return {"type": port_type, "summary": f"{value:.6g}", "value": value}
    facts: dict[str, Any] = {"type": port_type, "summary": ""}
    try:
        _describe(value, facts, redact)
    except Exception as error:  # a stranger's repr, len or shape may raise anything
        facts["summary"] = f"{type(value).__name__} ({type(error).__name__} when looked at)"
    return facts


def _describe(value: Any, facts: dict[str, Any], redact: Redact | None) -> None:
    if value is None:
        facts["summary"] = "nothing"
        return
    if isinstance(value, str):
        facts["summary"] = _short(value, redact)
        return
    if isinstance(value, bool | int | float):
        facts["summary"] = f"{value:.6g}" if isinstance(value, float) else str(value)
        facts["value"] = plain(value)
        return
    own = getattr(value, "codefy_summary", None)
    if callable(own):
        said = own()
        if isinstance(said, Mapping):
            facts.update(plain(said))
        else:
            facts["summary"] = _short(str(said), redact)
        return
    shape = getattr(value, "shape", None)
    if shape is not None and hasattr(value, "dtype"):
        facts["shape"] = [int(size) for size in shape]
        facts["dtype"] = str(value.dtype).removeprefix("torch.")
        facts["summary"] = f"{facts['dtype']} {facts['shape']}"
        if hasattr(value, "device"):
            facts["device"] = str(value.device)
        return
    if isinstance(value, Mapping):
        _describe_mapping(cast("Mapping[Any, Any]", value), facts, redact)
        return
    if callable(getattr(value, "parameters", None)) and callable(getattr(value, "state_dict", None)):
        count = sum(int(parameter.numel()) for parameter in value.parameters())
        facts["parameters"] = count
        facts["summary"] = f"{type(value).__name__}, {count:,} parameters"
        return
    try:
        length = len(value)
    except TypeError:
        facts["summary"] = type(value).__name__
        return
    facts["length"] = length
    facts["summary"] = f"{type(value).__name__} of {length:,}"


def _describe_mapping(items: Mapping[Any, Any], facts: dict[str, Any], redact: Redact | None) -> None:
    numbers = {
        str(key): plain(item)
        for key, item in list(items.items())[:_ENTRIES]
        if isinstance(item, int | float) and not isinstance(item, bool)
    }
    if numbers:
        facts["values"] = numbers
        named = (f"{name} {number:.4g}" for name, number in numbers.items())
        facts["summary"] = _short(", ".join(named), redact)
    else:
        facts["summary"] = f"{len(items):,} entries"
    facts["length"] = len(items)


def _short(text: str, redact: Redact | None) -> str:
    if redact is not None:
        text = redact(text)
    return text if len(text) <= _TEXT_CHARACTERS else text[: _TEXT_CHARACTERS - 1] + "…"
