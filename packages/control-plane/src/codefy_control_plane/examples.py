"""The example graphs that ship with Codefy: packed into the wheel, read from the checkout in a development install."""

from __future__ import annotations

from pathlib import Path

import msgspec

from codefy_control_plane.api.schemas import Example, ExampleList, ExampleSummary
from codefy_control_plane.graphs import count_nodes
from codefy_control_plane.runs.errors import Refused
from codefy_protocol import reasons
from codefy_protocol.reasons import reason

_PACKED = Path(__file__).parent / "examples"
_CHECKOUT = Path(__file__).parents[4] / "examples"


class _Head(msgspec.Struct):
    name: str = ""
    title: str = ""
    description: str = ""


def examples_folder() -> Path:
    """Where the examples lie in this installation."""
    return _PACKED if _PACKED.is_dir() else _CHECKOUT


class ExampleStore:
    """Blocking: call it in a thread. An example's name is its file name without ``.json``."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or examples_folder()

    def list(self) -> ExampleList:
        """All examples by name."""
        examples = [self._read(path) for path in sorted(self._folder.glob("*.json"))]
        return ExampleList(
            examples=[
                ExampleSummary(
                    name=example.name,
                    title=example.title,
                    description=example.description,
                    node_count=count_nodes(bytes(example.graph)),
                )
                for example in examples
            ]
        )

    def get(self, name: str) -> Example:
        """One example with its graph.

        Raises:
            Refused: 404 ``example_not_found``.
        """
        # Chosen among what is there, so a name can never lead out of the folder.
        for path in self._folder.glob("*.json"):
            if path.stem == name:
                return self._read(path)
        raise Refused(404, reason(reasons.EXAMPLE_NOT_FOUND, name=name))

    def _read(self, path: Path) -> Example:
        data = path.read_bytes()
        head = msgspec.json.decode(data, type=_Head)
        title = head.title or path.stem.replace("-", " ").capitalize()
        return Example(
            name=path.stem, title=title, description=head.description, graph=msgspec.Raw(data.strip())
        )
