"""Paths that a person writes in a node: where to read, and where writing is allowed."""

from __future__ import annotations

from pathlib import Path

from codefy_engine.nodes.base import NodeContext, NodeError


def input_path(ctx: NodeContext, text: str) -> Path:
    """The file or folder that ``text`` names: an absolute path, or one below the folder of the user's files.

    Raises:
        NodeError: there is nothing, or a relative path leads out of the folder.
    """
    if not text.strip():
        raise NodeError("no file is named: choose one, or wire a path")
    given = Path(text).expanduser()
    path = given if given.is_absolute() else _below(ctx, text)
    ctx.reading(path)
    if not path.exists():
        where = "" if given.is_absolute() else " among your files"
        raise NodeError(f"there is no {text}{where}")
    return path


def input_file(ctx: NodeContext, text: str) -> Path:
    """Like :func:`input_path`, for a file."""
    path = input_path(ctx, text)
    if not path.is_file():
        raise NodeError(f"{text} is a folder; a file is needed")
    return path


def input_folder(ctx: NodeContext, text: str) -> Path:
    """Like :func:`input_path`, for a folder."""
    path = input_path(ctx, text)
    if not path.is_dir():
        raise NodeError(f"{text} is a file; a folder is needed")
    return path


def output_path(ctx: NodeContext, text: str) -> Path:
    """Where to write what is to stand at ``text`` below the folder of the user's files; its parent is made.

    Raises:
        NodeError: the path leads out of the folder.
    """
    if not text.strip() or Path(text).is_absolute():
        raise NodeError(
            f"{text!r} is no place for a file: write a path below your files, such as out/result.csv"
        )
    path = _below(ctx, text)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def shown(ctx: NodeContext, path: Path) -> str:
    """``path`` for messages: relative to the user's files when it lies there."""
    root = ctx.files_dir.resolve()
    resolved = path.resolve()
    return resolved.relative_to(root).as_posix() if resolved.is_relative_to(root) else str(path)


def _below(ctx: NodeContext, text: str) -> Path:
    root = ctx.files_dir.resolve()
    # Resolved, so that links cannot lead out either.
    path = (root / text).resolve()
    if path != root and not path.is_relative_to(root):
        raise NodeError(f"{text!r} leads out of the folder of your files")
    return path
