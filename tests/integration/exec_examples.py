"""Executes graph files one after the other as ``codefy graph exec FILE --json`` does; torch is imported once.

Run as a program by ``test_examples``: ``exec_examples.py FOLDER NAME …``. ``FOLDER/NAME.json`` is the graph, and
``FOLDER/NAME.jsonl`` gets what the command prints.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from codefy_control_plane.cli.graph import execute


def main(folder: Path, names: list[str]) -> None:
    for name in names:
        out, files = folder / f"{name}-out", folder / "files"
        files.mkdir(exist_ok=True)
        arguments = [str(folder / f"{name}.json"), "--json", "--out", str(out), "--files", str(files)]
        with (folder / f"{name}.jsonl").open("w") as told, contextlib.redirect_stdout(told):
            execute.main(arguments, standalone_mode=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
