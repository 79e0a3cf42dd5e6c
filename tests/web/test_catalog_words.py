"""The page words the built-in nodes in Traditional Chinese: none of their texts may be forgotten."""

from __future__ import annotations

import json
import re
from pathlib import Path

from codefy_engine.nodes.registry import default_registry

WORDS = Path(__file__).parents[2] / "web" / "src" / "canvas" / "catalog-words.ts"
KEY = re.compile(r'^  (?:("(?:[^"\\]|\\.)*")|(\w+)):', re.MULTILINE)


def worded() -> set[str]:
    source = WORDS.read_text("utf-8")
    return {json.loads(quoted) if quoted else bare for quoted, bare in KEY.findall(source)}


def texts() -> set[str]:
    found: set[str] = set()
    for definition in default_registry().definitions():
        found.add(definition.summary)
        for param in definition.params:
            found |= {param.label, param.doc, param.unit}
            found |= {choice.label for choice in param.choices or []}
    return found - {""}


def test_every_text_of_the_built_in_nodes_has_chinese_words() -> None:
    assert not texts() - worded()


def test_no_words_are_left_of_nodes_that_are_gone() -> None:
    assert not worded() - texts()
