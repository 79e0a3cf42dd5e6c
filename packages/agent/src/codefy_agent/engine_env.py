"""Which interpreter runs graphs: the agent itself never imports the engine."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import msgspec

_WINDOWS_BOOT = """
import msvcrt, os, runpy, sys
module = sys.argv.pop(1)
for place, flag in ((2, os.O_RDONLY), (4, os.O_WRONLY)):
    sys.argv[place] = str(msvcrt.open_osfhandle(int(sys.argv[place]), flag | os.O_BINARY))
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
"""Windows passes handles to a new process, not descriptors; the child's own interpreter makes these of those."""


class EngineNotFound(LookupError):
    """The interpreter that was asked for is not there."""


class Engine(msgspec.Struct, frozen=True):
    """An interpreter with the engine installed."""

    python: Path
    origin: str
    """``--engine-python``, ``this environment`` or ``data folder``."""
    module: str = "codefy_engine.child"

    def child_command(self) -> list[str]:
        """The run child's command, with ``{read}`` and ``{write}`` for its pipe.

        ``-P`` keeps the working folder, which the run writes to, out of the import path.
        """
        if sys.platform == "win32":
            program = [str(self.python), "-P", "-c", _WINDOWS_BOOT, self.module]
        else:
            program = [str(self.python), "-P", "-m", self.module]
        escaped = [part.replace("{", "{{").replace("}", "}}") for part in program]
        return [*escaped, "--read-fd", "{read}", "--write-fd", "{write}"]

    def discover_command(self, cache: Path) -> list[str]:
        """The command that says what this engine can run; it keeps its catalog in ``cache``."""
        return [str(self.python), "-P", "-m", self.module, "--discover", str(cache)]


def find_engine(
    engine_python: str | None, *folders: Path, module: str = "codefy_engine.child"
) -> Engine | None:
    """The engine to use: ``--engine-python``, else the agent's own environment, else one in ``folders``.

    Args:
        module: what speaks the child's side of the pipe; tests have a scripted one.

    Raises:
        EngineNotFound: ``engine_python`` was given and is no program.
    """
    if engine_python is not None:
        # Not resolved: the link in a virtual environment is what says which environment it is.
        python = Path(engine_python).expanduser().absolute()
        if not (python.is_file() and os.access(python, os.X_OK)):
            raise EngineNotFound(
                f"--engine-python {engine_python}: there is no such program. Name the python of an environment that has "
                "codefy-engine."
            )
        return Engine(python, "--engine-python", module)
    # Finding a top-level package does not import it.
    if importlib.util.find_spec(module.partition(".")[0]) is not None:
        return Engine(Path(sys.executable), "this environment", module)
    for folder in folders:
        for place in ("bin/python", "Scripts/python.exe"):
            python = folder / place
            if python.is_file() and os.access(python, os.X_OK):
                return Engine(python, "data folder", module)
    return None
