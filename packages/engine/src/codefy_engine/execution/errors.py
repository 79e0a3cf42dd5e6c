"""From an exception in a node to the error of the run: what it says, and the traceback of the user's own code."""

from __future__ import annotations

import re
import sys
import sysconfig
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from codefy_engine.execution.secrets import SecretMissing
from codefy_engine.graph.problems import GraphProblem
from codefy_engine.nodes.base import NodeError
from codefy_protocol import reasons
from codefy_protocol.bodies import RunError

_DETAIL_CHARACTERS = 1000
_TRACEBACK_CHARACTERS = 16_000
_CHAIN = 3

Redact = Callable[[str], str]


def _as_it_is(text: str) -> str:
    return text


_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_AMOUNT = re.compile(rf"allocate ([0-9.]+) ?({'|'.join(_UNITS)})\b")

_EXECUTION = str(Path(__file__).parent)
_STANDARD_LIBRARY = str(Path(sysconfig.get_paths()["stdlib"]))


def node_error(
    error: BaseException,
    *,
    node_id: str,
    title: str,
    device: str,
    home: str | None,
    redact: Redact = _as_it_is,
) -> RunError:
    """The error of a run whose node ``node_id`` raised ``error``.

    ``home`` is the file of the node's class: its folder counts as user code even where packages are installed.
    ``redact`` takes secrets out of a text before it is cut.
    """
    detail = _detail(error, redact)
    if is_out_of_memory(error):
        made = reasons.reason(
            reasons.OUT_OF_MEMORY,
            node_id=node_id,
            title=title,
            device=device,
            detail=detail,
            wanted_bytes=_wanted_bytes(detail),
        )
    elif isinstance(error, SecretMissing):
        made = reasons.reason(reasons.SECRET_MISSING, node_id=node_id, title=title, secret=error.name)
    else:
        made = reasons.reason(reasons.NODE_FAILED, node_id=node_id, title=title, detail=detail)
    return RunError(
        code=made.code,
        message=made.message,
        params=made.params,
        node_id=node_id,
        traceback=None if isinstance(error, NodeError) else _safe_traceback(error, home, redact),
    )


def engine_error(error: BaseException, redact: Redact = _as_it_is) -> RunError:
    """The error of a run that failed outside of any node."""
    made = reasons.reason(reasons.ENGINE_ERROR, detail=_detail(error, redact))
    try:
        text = redact(encodable("".join(traceback.format_exception(error))))
    except Exception:  # a stranger's exception may fail to say what it is
        text = type(error).__name__
    return RunError(
        code=made.code, message=made.message, params=made.params, traceback=text[-_TRACEBACK_CHARACTERS:]
    )


def invalid_graph_error(problems: list[GraphProblem]) -> RunError:
    """The error of a run whose graph has problems."""
    made = reasons.reason(reasons.INVALID_GRAPH, count=len(problems))
    return RunError(
        code=made.code,
        message=made.message,
        params=made.params,
        problems=[
            {"message": p.message, "code": p.code, "node_id": p.node_id, "params": p.params} for p in problems
        ],
    )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device or the machine had no memory left for this."""
    if isinstance(error, MemoryError):
        return True
    # Another thread may be importing torch right now: then it has no such class yet, and nobody raised it.
    of_torch: Any = getattr(sys.modules.get("torch"), "OutOfMemoryError", None)
    if isinstance(of_torch, type) and isinstance(error, of_torch):
        return True
    # torch has no class of its own for the host's memory.
    return isinstance(error, RuntimeError) and "DefaultCPUAllocator: can't allocate memory" in _text(error)


def _wanted_bytes(text: str) -> int | None:
    """How much was asked for, as torch and numpy put it in words; ``None`` where they do not say."""
    found = _AMOUNT.search(text)
    if found is None:
        return None
    return round(float(found[1]) * 1024 ** _UNITS.index(found[2]))


def encodable(text: str) -> str:
    """``text`` as UTF-8 can hold it: lone surrogates are written out."""
    return text.encode("utf-8", "backslashreplace").decode()


def _text(error: BaseException) -> str:
    """What an exception says; nothing when it fails to."""
    try:
        # As plain text: a subclass of str may be anything.
        return encodable("".join(str(error)))
    except Exception:  # a stranger's exception may fail to say what it is
        return ""


def _detail(error: BaseException, redact: Redact) -> str:
    text = redact(_text(error)).strip()
    if not isinstance(error, NodeError):
        name = encodable(type(error).__name__)
        text = f"{name}: {text}" if text else name
    return text if len(text) <= _DETAIL_CHARACTERS else text[: _DETAIL_CHARACTERS - 1] + "…"


def _safe_traceback(error: BaseException, home: str | None, redact: Redact) -> str | None:
    try:
        return encodable(trimmed_traceback(error, home, redact))
    except Exception:  # a stranger's exception may fail to say what it is
        return None


def trimmed_traceback(error: BaseException, home: str | None, redact: Redact = _as_it_is) -> str:
    """The traceback without the engine's frames and without those of libraries, but for the place it was raised."""
    parts: list[str] = []
    current: BaseException | None = error
    for _ in range(_CHAIN):
        if current is None:
            break
        frames = _user_frames(current.__traceback__, home)
        lines = ["Traceback (most recent call last):\n", *traceback.format_list(frames)] if frames else []
        lines += traceback.format_exception_only(current)
        parts.append("".join(lines))
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    text = redact("\nwhich led to:\n\n".join(reversed(parts)))
    return text[-_TRACEBACK_CHARACTERS:]


def _user_frames(trace: TracebackType | None, home: str | None) -> list[traceback.FrameSummary]:
    frames = [frame for frame in traceback.extract_tb(trace) if not frame.filename.startswith(_EXECUTION)]
    kept = [frame for frame in frames[:-1] if not _is_library(frame.filename, home)]
    return kept + frames[-1:]


def _is_library(filename: str, home: str | None) -> bool:
    if home is not None and Path(filename).parent == Path(home).parent:
        return False
    return (
        filename.startswith(("<frozen", _STANDARD_LIBRARY))
        or "site-packages" in filename
        or "dist-packages" in filename
    )
