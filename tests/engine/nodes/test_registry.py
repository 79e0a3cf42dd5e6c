"""Which types there are, where they come from, and the hash of what they declare (X-8)."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from codefy_engine.nodes.base import Node, NodeContext, NodeDefinitionError, input, node, param
from codefy_engine.nodes.registry import ENTRY_POINT_GROUP, Registry, default_registry, load_registry

STRANGER = '''
from codefy_engine.nodes.base import Node, node, output, param

@node(type="{type}", title="Stranger", category="data", icon="user")
class Stranger(Node):
    """From another package."""
    amount: float = param({default})
    value: float = output("value")
    def run(self, ctx):
        return self.amount
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(module: str, text: str) -> EntryPoint:
        (tmp_path / f"{module}.py").write_text(text)
        return EntryPoint(name=module, value=module, group=ENTRY_POINT_GROUP)

    return write


def test_the_registry_and_validation_never_import_torch() -> None:
    code = """
import sys
from codefy_engine.graph import Builder, canonical_bytes, parse_graph, validate_graph
from codefy_engine.nodes.registry import default_registry
registry = default_registry()
builder = Builder()
builder.add("TrainTestSplit", dataset=builder.add("SklearnDataset", name="digits"))
assert validate_graph(parse_graph(canonical_bytes(builder.build())), registry) == []
assert registry.catalog_hash and registry.definitions()
import codefy_engine.execution.executor, codefy_engine.child.serve
heavy = {"torch", "numpy", "sklearn"} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_builtin_type_is_documented_and_sorted() -> None:
    definitions = default_registry().definitions()
    assert [(d.category, d.title) for d in definitions] == sorted((d.category, d.title) for d in definitions)
    for definition in definitions:
        assert definition.source == "builtin"
        assert definition.doc and definition.icon, definition.type
        for item in definition.params:
            assert item.doc or item.label, (definition.type, item.name)


def test_a_package_adds_nodes_and_its_name_is_their_source(package: Any) -> None:
    entry = package("codefy_stranger_a", STRANGER.format(type="Stranger", default=1.0))
    registry = load_registry([entry])
    assert registry.failures == ()
    assert registry.get("Stranger").spec.definition.source == "codefy_stranger_a"
    one_class = EntryPoint(name="x", value="codefy_stranger_a:Stranger", group=ENTRY_POINT_GROUP)
    assert "Stranger" in load_registry([one_class])


def test_a_broken_package_leaves_the_others_alone(package: Any) -> None:
    broken = package("codefy_stranger_b", "import nowhere_at_all")
    taken = package("codefy_stranger_c", STRANGER.format(type="TrainingLoop", default=1.0))
    other = package("codefy_stranger_d", "value = 3")
    number = EntryPoint(name="number", value="codefy_stranger_d:value", group=ENTRY_POINT_GROUP)
    good = package("codefy_stranger_e", STRANGER.format(type="Good", default=1.0))
    registry = load_registry([broken, taken, other, number, good])
    assert "Good" in registry and "TrainTestSplit" in registry
    assert {failure.source: failure.error for failure in registry.failures} == {
        "codefy_stranger_b": "ModuleNotFoundError: No module named 'nowhere_at_all'",
        "codefy_stranger_c": "NodeDefinitionError: the node types exist already: TrainingLoop (from builtin)",
        "number": "NodeDefinitionError: codefy_stranger_d:value is neither a module nor a node class",
    }


def test_a_type_is_defined_once() -> None:
    cls = default_registry().get("Print")
    with pytest.raises(NodeDefinitionError, match="Print is defined by"):
        Registry([cls, cls])


def test_a_misspelled_type_is_recognised() -> None:
    registry = default_registry()
    assert registry.suggest("Conv2D") == "Conv2d"
    assert registry.suggest("traintestsplit") == "TrainTestSplit"
    assert registry.suggest("Zeppelin") is None


def _made(
    *, default: int = 1, doc: str = "Doc.", maximum: int | None = None, title: str = "Made"
) -> type[Node]:
    @node(type="Made", title=title, category="flow", icon="x")
    class Made(Node):
        """Doc."""

        x: Any = input("any", doc=doc)
        size: int = param(default, le=maximum, doc=doc)

        def run(self, ctx: NodeContext) -> None: ...

    return Made


def test_the_hash_covers_what_is_declared_and_no_prose() -> None:
    base = Registry([_made()]).catalog_hash
    assert Registry([_made(doc="Said better.", title="Other words")]).catalog_hash == base
    assert Registry([_made(default=2)]).catalog_hash != base
    assert Registry([_made(maximum=9)]).catalog_hash != base


def test_the_hash_of_a_strangers_type_covers_its_source(package: Any) -> None:
    text = STRANGER.format(type="Hashed", default=1.0)
    one = load_registry([package("codefy_stranger_f", text)]).hashes["Hashed"]
    two = load_registry([package("codefy_stranger_g", text + "# changed\n")]).hashes["Hashed"]
    again = load_registry([package("codefy_stranger_h", text)]).hashes["Hashed"]
    assert one != two
    assert one == again


def test_the_catalog_hash_is_the_same_in_another_process() -> None:
    code = "from codefy_engine.nodes.registry import default_registry; print(default_registry().catalog_hash)"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
