"""Whose a process is, as the system tells: its name, the mark of its run, and whether Codefy started it."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from codefy_agent.cards import ProcessFacts
from codefy_agent.process import MARK

_PROGRAMS = ("codefy", "codefy-agent")
_MODULES = ("codefy_engine", "codefy_agent", "codefy_control_plane")
_GENERATIONS = 32
_FIRST_NAMESPACE = "pid:[4026531836]"
"""Linux gives the machine's own process numbers this one, always."""


def numbers_are_the_drivers() -> bool:
    """Whether a process id of the driver's is one of ours: in a container with numbers of its own it is not."""
    if sys.platform != "linux":
        return True
    try:
        return str(Path("/proc/self/ns/pid").readlink()) == _FIRST_NAMESPACE
    except OSError:
        return False


def process_facts(pids: Iterable[int]) -> dict[int, ProcessFacts]:
    """What can be known of those that exist. Reads the process table: call it in a thread."""
    found: dict[int, ProcessFacts] = {}
    for pid in set(pids):
        facts = _linux(pid) if sys.platform == "linux" else _elsewhere(pid)
        if facts is not None:
            found[pid] = facts
    return found


def living(pids: Iterable[int]) -> set[int]:
    """Those that exist and are no zombies."""
    import psutil

    alive: set[int] = set()
    for pid in pids:
        try:
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                alive.add(pid)
        except psutil.Error:
            continue
    return alive


def is_codefy(command: list[str]) -> bool:
    """Whether a command line is that of a Codefy program: by its name, or as ``python -m codefy_…``."""
    names = {os.path.basename(word).removesuffix(".exe") for word in command[:2]}  # noqa: PTH119 - any text, not a path
    modules = {word.partition(".")[0] for before, word in itertools.pairwise(command) if before == "-m"}
    return bool(names & set(_PROGRAMS)) or bool(modules & set(_MODULES))


def _linux(pid: int) -> ProcessFacts | None:
    folder = Path("/proc") / str(pid)
    try:
        name = (folder / "comm").read_text(errors="replace").strip()
    except OSError:
        return None
    return ProcessFacts(name=name, mark=_mark(folder), codefy=_below_codefy(pid))


def _mark(folder: Path) -> str:
    try:
        environment = (folder / "environ").read_bytes()
    except OSError:  # somebody else's, or gone
        return ""
    start = f"{MARK}=".encode()
    for entry in environment.split(b"\0"):
        if entry.startswith(start):
            return entry[len(start) :].decode(errors="replace")
    return ""


def _below_codefy(pid: int) -> bool:
    for _ in range(_GENERATIONS):
        try:
            words = (Path("/proc") / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
            status = (Path("/proc") / str(pid) / "stat").read_text(errors="replace")
        except OSError:
            return False
        if is_codefy(words):
            return True
        # The name may hold spaces and parentheses: what follows the last one is state and parent.
        pid = int(status.rpartition(")")[2].split()[1])
        if pid <= 1:
            return False
    return False


def _elsewhere(pid: int) -> ProcessFacts | None:
    import psutil

    try:
        process = psutil.Process(pid)
        name = process.name()
    except psutil.Error:
        return None
    mark, codefy = "", False
    try:
        mark = process.environ().get(MARK, "")
        codefy = any(is_codefy(each.cmdline()) for each in (process, *process.parents()))
    except (psutil.Error, OSError):
        pass
    return ProcessFacts(name=name, mark=mark, codefy=codefy)
