"""Files of single nodes that go along with a run (G-2): what is sent, and what they become where they arrive."""

from __future__ import annotations

import hashlib
import traceback
from pathlib import Path
from typing import Any

import pytest

from codefy_engine.child.serve import run_registry
from codefy_engine.nodes.registry import default_registry, load_registry, reload_files
from codefy_engine.nodes.travelling import (
    NodeFileFailed,
    missing_types,
    packages_of,
    source_files,
    with_node_files,
)
from codefy_protocol.bodies import RunError
from codefy_protocol.frames import DeviceIdentity
from codefy_protocol.pipe import NodeFile, StartRun

NODE = '''
from codefy_engine.nodes.base import Node, node, output, param

@node(type="{type}", title="Travelled", category="data", icon="plane")
class Travelled(Node):
    """From a file."""
    amount: float = param({default})
    value: float = output("value")
    def run(self, ctx):
        return self.amount * 2

    def broken(self):
        raise RuntimeError("on purpose")
'''


def content(type: str = "Travelled", default: float = 1.0) -> bytes:
    return NODE.format(type=type, default=default).encode()


def travelling(name: str, data: bytes) -> NodeFile:
    return NodeFile(name=name, sha256=hashlib.sha256(data).hexdigest(), content=data)


def start(**fields: Any) -> StartRun:
    return StartRun(
        run_id="r",
        attempt=1,
        graph=b"{}",
        options=b"{}",
        payload_cap=1000,
        device="cpu",
        devices=(DeviceIdentity(name="cpu"),),
        run_dir="run",
        files_dir="files",
        **fields,
    )


def test_what_is_sent_is_what_was_loaded_whatever_the_file_holds_by_then(tmp_path: Path) -> None:
    (tmp_path / "filters.py").write_bytes(content("FilterA"))
    (tmp_path / "other.py").write_bytes(content("FilterB"))
    registry = load_registry([], tmp_path)
    (tmp_path / "filters.py").write_bytes(content("FilterA", default=9.0))
    (file,) = source_files(["FilterA", "Print", "Nowhere"], registry)
    assert (file.name, file.content, file.types) == ("filters.py", content("FilterA"), ("FilterA",))
    assert file.sha256 == hashlib.sha256(content("FilterA")).hexdigest()
    reload_files(registry, tmp_path)
    (file,) = source_files(["FilterA"], registry)
    assert file.content == content("FilterA", default=9.0)
    assert [each.name for each in source_files(["FilterA", "FilterB"], registry)] == [
        "filters.py",
        "other.py",
    ]


def test_a_run_gets_the_nodes_of_its_files_and_the_process_keeps_none(tmp_path: Path) -> None:
    registry = run_registry(start(node_files=(travelling("filters.py", content()),)))
    assert not isinstance(registry, RunError)
    spec = registry.get("Travelled").spec
    assert spec.definition.source == "nodes/filters.py"
    assert "Print" in registry
    assert "Travelled" not in default_registry()
    assert run_registry(start()) is default_registry()
    other = run_registry(start(node_files=(travelling("other.py", content("Elsewhere")),)))
    assert not isinstance(other, RunError)
    assert "Elsewhere" in other
    assert "Travelled" not in other


def test_the_nodes_hash_as_they_do_where_they_come_from(tmp_path: Path) -> None:
    (tmp_path / "filters.py").write_bytes(content("Hashed"))
    there = load_registry([], tmp_path)
    here = with_node_files(default_registry(), [travelling("filters.py", content("Hashed"))])
    assert here.hashes["Hashed"] == there.hashes["Hashed"]


def test_a_traceback_shows_the_lines_of_a_file_that_lies_nowhere() -> None:
    registry = with_node_files(default_registry(), [travelling("filters.py", content("Traced"))])
    cls = registry.get("Traced")
    with pytest.raises(RuntimeError) as raised:
        cls.broken(object())  # type: ignore[attr-defined]
    shown = "".join(traceback.format_exception(raised.value))
    assert "nodes/filters.py" in shown
    assert 'raise RuntimeError("on purpose")' in shown


@pytest.mark.parametrize(
    ("data", "detail"),
    [
        (b"import nowhere_at_all", "No module named 'nowhere_at_all'"),
        (b"raise SystemExit(3)", "SystemExit: 3"),
        (b"x = 1", "filters.py defines no node class"),
        (b"def = 3", "SyntaxError"),
        (content("TrainingLoop"), "exist already: TrainingLoop (from builtin)"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_named_with_what_to_do(data: bytes, detail: str) -> None:
    error = run_registry(start(node_files=(travelling("filters.py", data),)))
    assert isinstance(error, RunError)
    assert error.code == "node_file_failed"
    assert "filters.py" in error.message
    assert detail in error.message
    assert "codefy-agent engine install --with" in error.message


def test_two_files_with_one_type_are_refused_with_both_named() -> None:
    files = [travelling("a.py", content("Twice")), travelling("b.py", content("Twice", default=2.0))]
    with pytest.raises(NodeFileFailed, match=r"Twice \(from nodes/a.py\)") as raised:
        with_node_files(default_registry(), files)
    assert raised.value.name == "b.py"


def test_a_package_that_is_missing_is_named_with_what_to_do() -> None:
    error = run_registry(start(node_packages={"Blur": "codefy-blur", "Print": "codefy-printing"}))
    assert isinstance(error, RunError)
    assert error.code == "node_package_missing"
    assert error.params == {"types": "Blur", "packages": "codefy-blur"}
    assert "codefy-agent engine install --with codefy-blur" in error.message
    registry = default_registry()
    assert missing_types({"Print": "codefy-printing"}, registry) == {}
    assert packages_of(["Print", "Nowhere"], registry) == {}
