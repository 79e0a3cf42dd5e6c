"""What all suites share."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

# A wall-clock deadline would make a busy machine fail a right answer.
settings.register_profile("codefy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# For planted bugs it matters that something fails, not what the smallest case is.
settings.register_profile(
    "mutants",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.generate],
)
settings.load_profile(os.environ.get("CODEFY_HYPOTHESIS_PROFILE", "codefy"))

_NVML_SOURCE = Path(__file__).parent / "protocol" / "machine" / "fake_nvml.c"
GIB = 1024**3


@pytest.fixture(scope="session")
def nvml_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a driver library that describes machines which do not exist."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs Linux and a C compiler")
    folder = tmp_path_factory.mktemp("nvml")
    library = folder / "libnvidia-ml.so.1"
    command = [compiler, "-shared", "-fPIC", "-O1", "-Wl,-soname,libnvidia-ml.so.1", "-o", str(library)]
    subprocess.run([*command, str(_NVML_SOURCE)], check=True)
    return folder


class FakeCards:
    """The cards of a machine, for every process that is started in :attr:`environment`; they may change any time.

    Cards are plain data, as they would stand in a JSON file::

        {"uuid": "GPU-a", "name": "NVIDIA H200", "total": BYTES, "free": BYTES,
         "processes": [{"pid": 12, "bytes": 5, "kind": "graphics"}] or None where they are not listed,
         "mig": [CARD, …]}

    ``"lost"`` in place of a card is one that answers nothing. All keys may be left out.
    """

    def __init__(self, library: Path, file: Path) -> None:
        self._file = file
        self.environment = {"LD_LIBRARY_PATH": str(library), "FAKE_NVML_FILE": str(file)}
        # In a container too: the processes on these cards are whatever a test says.
        self.environment["CODEFY_AGENT_PROCESS_LIST"] = "trust"
        self.show()

    def show(self, *cards: Any) -> None:
        """Have these cards from now on, in this order."""
        lines = [line for card in cards for line in (["lost"] if card == "lost" else self._card(card))]
        new = self._file.with_name(f"{self._file.name}.new")
        new.write_text("\n".join(lines))
        new.replace(self._file)

    def _card(self, card: dict[str, Any], kind: str = "card") -> list[str]:
        total = card.get("total", 140 * GIB)
        facts = [kind, card.get("uuid", ""), card.get("name", "NVIDIA H200"), total, card.get("free", total)]
        instances = card.get("mig", [])
        if kind == "card":
            facts += ["0", "40", "75000", "1" if instances else "0"]
        lines = ["|".join(map(str, facts))]
        processes = card.get("processes", [])
        if processes is None:
            lines.append("noprocesses")
        for process in processes or []:
            lines.append(f"process|{process['pid']}|{process.get('bytes', GIB)}|{process.get('kind', '')}")
        return lines + [line for instance in instances for line in self._card(instance, "mig")]


@pytest.fixture
def fake_cards(nvml_folder: Path, tmp_path: Path) -> Callable[..., FakeCards]:
    """Makes a machine: ``fake_cards({"uuid": "GPU-a"}, …)``."""
    made: list[FakeCards] = []

    def make(*cards: Any) -> FakeCards:
        made.append(FakeCards(nvml_folder, tmp_path / f"cards-{len(made)}.txt"))
        made[-1].show(*cards)
        return made[-1]

    return make
