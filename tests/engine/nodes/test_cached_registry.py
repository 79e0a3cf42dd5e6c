"""The catalog of the last start: used while its sources are the same, never believed over the classes."""

from __future__ import annotations

import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import codefy_engine
from codefy_engine.nodes.cached import cached_registry
from codefy_engine.nodes.catalog import Catalog, encode_catalog, sources_digest
from codefy_engine.nodes.registry import (
    ENTRY_POINT_GROUP,
    Registry,
    default_registry,
    load_registry,
    reload_files,
)

STRANGER = '''
import os
from pathlib import Path
from codefy_engine.nodes.base import Node, node, output, param

with Path(__file__).parents[2].joinpath("imported.log").open("a") as file:
    file.write("x")

@node(type="Stranger", title="Stranger", category="data", icon="user")
class Stranger(Node):
    """From another package."""
    amount: float = param(float(os.environ.get("STRANGERS_AMOUNT", "1")))
    value: float = output("value")
    def run(self, ctx):
        return self.amount
'''


class Installed:
    """A package with a node, installed in a folder of its own, and a data folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name, self.site = name, folder / "site"
        self.package = self.site / name
        self.package.mkdir(parents=True)
        (self.package / "__init__.py").write_text("")
        (self.package / "nodes.py").write_text(STRANGER)
        self.version("1.0")
        self.nodes = folder / "nodes"
        self.nodes.mkdir()
        (self.nodes / "_helper.py").write_text("value = 1")
        self.cache = folder / "catalog.json"

    def version(self, version: str) -> None:
        for old in self.site.glob("*.dist-info"):
            for file in old.iterdir():
                file.unlink()
            old.rmdir()
        info = self.site / f"{self.name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {self.name}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[{ENTRY_POINT_GROUP}]\nmine = {self.name}.nodes\n")

    def imports(self) -> int:
        log = self.cache.with_name("imported.log")
        return len(log.read_text()) if log.exists() else 0

    def start(self) -> Registry:
        """What a new process would have: the package is not imported yet."""
        for name in [name for name in sys.modules if name.partition(".")[0] == self.name]:
            del sys.modules[name]
        return cached_registry(self.cache, self.nodes)

    def digest(self) -> str:
        return sources_digest(entry_points(group=ENTRY_POINT_GROUP), self.nodes)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Installed:
    default_registry()  # loaded before there is a stranger: other tests have it too
    name = f"strangers_{abs(hash(request.node.name))}"
    made = Installed(tmp_path, name)
    monkeypatch.syspath_prepend(str(made.site))
    monkeypatch.delenv("STRANGERS_AMOUNT", raising=False)
    return made


def test_a_second_start_answers_without_importing_and_imports_for_the_first_class(
    installed: Installed,
) -> None:
    first = installed.start()
    assert installed.imports() == 1
    assert stat.S_IMODE(installed.cache.stat().st_mode) == 0o600
    second = installed.start()
    assert encode_catalog(second.catalog()) == encode_catalog(first.catalog())
    assert set(second) == set(first) and len(second) == len(first)
    assert "Stranger" in second and "Nobody" not in second
    assert second.suggest("stranger") == "Stranger"
    shown = second.definition("Stranger")
    assert shown is not None and shown.source == installed.name
    assert second.definition("Nobody") is None and second.failures == ()
    assert installed.imports() == 1
    assert second.get("Stranger").create().run(None) == 1.0  # type: ignore[arg-type]
    assert second.find("Print") is default_registry().get("Print")
    assert installed.imports() == 2
    assert second.catalog_hash == first.catalog_hash == load_registry(folder=installed.nodes).catalog_hash


def _touch_package(installed: Installed) -> None:
    (installed.package / "nodes.py").write_text(STRANGER + "# same length of nothing\n")


def _touch_helper(installed: Installed) -> None:
    (installed.nodes / "_helper.py").write_text("value = 2")


def _add_node_file(installed: Installed) -> None:
    (installed.nodes / "mine.py").write_text("x = 1")


def _package_data(installed: Installed) -> None:
    (installed.package / "choices.json").write_text("[]")


CHANGES: list[Callable[[Installed], None]] = [
    _touch_package,
    _touch_helper,
    _add_node_file,
    _package_data,
    lambda installed: installed.version("1.1"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_the_digest_follows_every_source(installed: Installed, change: Callable[[Installed], None]) -> None:
    before = installed.digest()
    assert installed.digest() == before
    change(installed)
    assert installed.digest() != before


def test_the_digest_follows_the_engine_and_python(
    installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = {installed.digest()}
    monkeypatch.setattr(codefy_engine, "__version__", "99")
    digests.add(installed.digest())
    monkeypatch.setattr(sys, "version", "4.0")
    digests.add(installed.digest())
    monkeypatch.setattr(codefy_engine, "__path__", [str(installed.nodes)])
    digests.add(installed.digest())
    assert len(digests) == 4


def test_a_changed_node_file_is_there_at_the_next_start(installed: Installed) -> None:
    file = installed.nodes / "mine.py"
    text = STRANGER.replace('"Stranger"', '"Mine"').replace(
        'Path(__file__).parents[2].joinpath("imported.log")', "Path(os.devnull)"
    )
    file.write_text(text)
    assert "Mine" in installed.start()
    file.write_text(text.replace('"Mine"', '"Yours"'))
    changed = installed.start()
    assert "Yours" in changed and "Mine" not in changed
    file.write_text("oops")
    assert [failure.source for failure in installed.start().failures] == ["nodes/mine.py"]
    assert [failure.source for failure in installed.start().failures] == ["nodes/mine.py"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda kept: b"",
        lambda kept: kept[: len(kept) // 2],
        lambda kept: kept.replace(b"Print", b"Prink"),
        lambda kept: kept.partition(b"\n")[0] + b"\n{}",
        lambda kept: b"\xff" * 100,
    ],
)
def test_a_damaged_file_is_made_anew(installed: Installed, damage: Callable[[bytes], bytes]) -> None:
    installed.start()
    kept = installed.cache.read_bytes()
    installed.cache.write_bytes(damage(kept))
    registry = installed.start()
    assert "Print" in registry and "Stranger" in registry and len(registry) > 100
    assert installed.cache.read_bytes().partition(b"\n")[2] == encode_catalog(registry.catalog())


def test_a_folder_that_takes_no_file_costs_only_time(
    installed: Installed, caplog: pytest.LogCaptureFixture
) -> None:
    installed.cache.mkdir()
    assert "Stranger" in installed.start()
    assert "could not be kept" in caplog.text
    assert sorted(path.name for path in installed.cache.parent.iterdir()) == [
        "catalog.json",
        "imported.log",
        "nodes",
        "site",
    ]


def test_the_classes_count_where_they_disagree_with_the_file(
    installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed.start()
    monkeypatch.setenv("STRANGERS_AMOUNT", "5")
    stale = installed.start()
    before = stale.catalog_hash
    assert stale.get("Stranger").spec.definition.params[0].default == 5.0
    assert stale.catalog_hash != before
    shown = stale.definition("Stranger")
    assert shown is not None and shown.params[0].default == 5.0


def test_the_classes_are_imported_once_however_many_ask() -> None:
    calls: list[None] = []
    asked = threading.Barrier(4)

    def load() -> Registry:
        calls.append(None)
        return Registry([default_registry().get("Print")])

    empty = Catalog(definitions=[], hashes={"Print": "x"}, catalog_hash="x")
    registry = Registry.lazy(empty, load)
    found: list[object] = []

    def ask() -> None:
        asked.wait()
        found.append(registry.find("Print"))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [default_registry().get("Print")] * 4
    assert len(calls) == 1 and registry.catalog_hash != "x"


def test_snapshots_and_reloads_of_a_lazy_registry_have_its_classes(installed: Installed) -> None:
    installed.start()
    assert installed.start().snapshot().get("Stranger")
    registry = installed.start()
    (installed.nodes / "bad.py").write_text("oops")
    reload_files(registry, installed.nodes)
    assert "Stranger" in registry and [item.source for item in registry.failures] == ["nodes/bad.py"]


def test_a_warm_start_imports_no_node(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from codefy_engine.nodes.cached import cached_registry\n"
        "registry = cached_registry(Path(sys.argv[1]))\n"
        "assert len(registry.catalog().definitions) == len(registry) > 100\n"
        "print([name for name in sys.modules if '.builtin' in name])\n"
    )
    done = [
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "catalog.json")],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for _ in range(2)
    ]
    assert done[0] != "[]" and done[1] == "[]"
