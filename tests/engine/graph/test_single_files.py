"""Nodes as single files: loaded, reloaded, named when they fail (G-2)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from codefy_engine.nodes.registry import Registry, code_digest, load_registry, reload_files

NODE = '''
from codefy_engine.nodes.base import Node, node, output, param

@node(type="{type}", title="Mine", category="tests", icon="user")
class Mine(Node):
    """Mine."""
    value: float = output("value")
    def run(self, ctx):
        return {result}
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "nodes"
    path.mkdir()
    return path


def write(folder: Path, name: str, type: str, result: float = 1) -> None:
    (folder / name).write_text(NODE.format(type=type, result=result))


def test_a_file_adds_nodes_and_is_their_source(folder: Path) -> None:
    write(folder, "my filter.py", "MyFilter")
    write(folder, "_helper.py", "Hidden")
    registry = load_registry([], folder)
    assert registry.failures == ()
    assert registry.get("MyFilter").spec.definition.source == "nodes/my filter.py"
    assert "Hidden" not in registry
    assert load_registry([], folder / "missing").failures == ()


def test_files_that_fail_are_named_and_break_nothing_else(folder: Path) -> None:
    write(folder, "a_good.py", "Good")
    write(folder, "b_clash.py", "Good")
    write(folder, "c_taken.py", "Print")
    (folder / "d_syntax.py").write_text("def (")
    (folder / "e_exit.py").write_text("raise SystemExit(3)")
    (folder / "f_empty.py").write_text("x = 1")
    (folder / "g_bad.py").write_text(NODE.format(type="lower", result=1))
    write(folder, "h_good.py", "AlsoGood")
    registry = load_registry([], folder)
    assert {"Good", "AlsoGood", "Print"} <= set(registry)
    errors = {failure.source: failure.error for failure in registry.failures}
    assert errors["nodes/b_clash.py"].endswith("exist already: Good (from nodes/a_good.py)")
    assert errors["nodes/c_taken.py"].endswith("exist already: Print (from builtin)")
    assert errors["nodes/d_syntax.py"].startswith("SyntaxError")
    assert errors["nodes/e_exit.py"] == "SystemExit: 3"
    assert errors["nodes/f_empty.py"].endswith("defines no node class")
    assert "PascalCase" in errors["nodes/g_bad.py"]
    assert len(errors) == 6
    assert not [name for name in sys.modules if "d_syntax" in name or "e_exit" in name]


def test_reloading_changes_what_changed_everywhere_at_once(folder: Path) -> None:
    write(folder, "one.py", "One", 1)
    write(folder, "two.py", "Two", 2)
    registry = load_registry([], folder)
    running = registry.snapshot()
    before, catalog = registry.get("One"), registry.catalog_hash
    two = registry.get("Two")
    write(folder, "one.py", "One", 10)
    reload_files(registry, folder)
    assert registry.get("One").create().run(None) == 10  # type: ignore[arg-type]
    assert running.get("One") is before and before.create().run(None) == 1  # type: ignore[arg-type]
    assert registry.get("Two") is two
    assert registry.catalog_hash != catalog
    assert code_digest(registry.get("One")) != code_digest(before)
    (folder / "one.py").unlink()
    (folder / "two.py").write_text("oops")
    reload_files(registry, folder)
    assert "One" not in registry and "Two" not in registry and "Print" in registry
    assert [failure.source for failure in registry.failures] == ["nodes/two.py"]


def test_the_hash_follows_the_file_not_what_python_remembers(folder: Path) -> None:
    def hashed(result: float) -> str:
        write(folder, "one.py", "One", result)
        registry: Registry = load_registry([], folder)
        return registry.hashes["One"]

    assert hashed(1) != hashed(2)
    assert hashed(1) == hashed(1)
