"""The rules are documented as they are, and each has a planted bug."""

from __future__ import annotations

from pathlib import Path

from codefy_control_plane.scheduling.rules import RULES

ROOT = Path(__file__).parents[3]


def table() -> str:
    lines = ["| rule | from | what it says |", "| --- | --- | --- |"]
    lines += [f"| `{rule.id}` | {rule.requirement} | {rule.text} |" for rule in RULES]
    return "\n".join(lines)


def test_the_document_shows_the_rules() -> None:
    text = (ROOT / "docs" / "scheduling.md").read_text(encoding="utf-8")
    shown = text.split("<!-- rules -->")[1].split("<!-- /rules -->")[0].strip()
    assert shown == table()


def test_every_rule_has_a_planted_bug() -> None:
    planted = {path.stem for path in (ROOT / "tests" / "mutants").glob("scheduling-*.patch")}
    assert planted == {f"scheduling-{rule.id}" for rule in RULES}
