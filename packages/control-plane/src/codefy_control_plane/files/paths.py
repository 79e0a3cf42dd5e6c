"""Paths below the user's folder: checked name by name, and never led out of it by a link."""

from __future__ import annotations

import errno
import unicodedata
from pathlib import Path

from codefy_control_plane.runs.errors import Refused
from codefy_protocol import reasons
from codefy_protocol.reasons import reason

MAX_NAME_BYTES = 240
"""Room for the suffix of a temporary file within the 255 bytes that file systems take."""
MAX_PATH_CHARS = 1000


def split_path(text: str) -> tuple[str, ...]:
    """The names of a path such as ``pictures/cats 貓/1.png``; none for the folder itself.

    Names come out in their composed form (NFC), as keyboards give them.

    Raises:
        Refused: 400 ``invalid_path``.
    """
    if len(text) > MAX_PATH_CHARS:
        raise _invalid(text[:80] + "…", f"it has more than {MAX_PATH_CHARS} characters")
    names = tuple(unicodedata.normalize("NFC", name) for name in text.split("/")) if text else ()
    for name in names:
        detail = _what_is_wrong(name)
        if detail is not None:
            raise _invalid(text, detail)
    return names


def _what_is_wrong(name: str) -> str | None:
    if name == "":
        return "a name in it is empty"
    if name in (".", ".."):
        return "it must not lead out of its folder"
    if name.startswith("."):
        # Uploads that are under way lie in a hidden folder, and hidden files are not shown.
        return "names must not begin with a dot"
    if "\\" in name or any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name):
        return "it holds a character that file names cannot have"
    if name != name.strip():
        return "names must not begin or end with a space"
    if len(name.encode()) > MAX_NAME_BYTES:
        return f"a name in it is longer than {MAX_NAME_BYTES} bytes"
    return None


def below(root: Path, text: str) -> Path:
    """The place of ``text`` below ``root``, which need not exist.

    Raises:
        Refused: 400 ``invalid_path``: it is no path, or a link on the way leads out of the folder or in a circle.
    """
    path = root.joinpath(*split_path(text))
    if not _stays_in(root, path, text):
        raise _invalid(text, "a link on the way leads out of the folder")
    return path


def _stays_in(root: Path, path: Path, text: str) -> bool:
    """Whether a path lies below the folder once links are followed.

    Raises:
        Refused: 400 ``invalid_path``: its links lead in a circle.
    """
    try:
        place = path.resolve()
        path.stat()
    except RuntimeError:
        # What resolving says of a circle before Python 3.13; later ones leave it to the look at the file.
        raise _invalid(text, "links on the way lead in a circle") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _invalid(text, "links on the way lead in a circle") from None
        place = path.resolve()
    return place.is_relative_to(root.resolve())


def existing(root: Path, text: str) -> Path:
    """Like :func:`below`, for something that is there. A name that other programs wrote decomposed is found too.

    Raises:
        Refused: 400 ``invalid_path``; 404 ``file_not_found``.
    """
    path = below(root, text)
    if not path.exists():
        as_given = root.joinpath(*text.split("/"))
        if not _stays_in(root, as_given, text) or not as_given.exists():
            raise Refused(404, reason(reasons.FILE_NOT_FOUND, path=text))
        return as_given
    return path


def _invalid(path: str, detail: str) -> Refused:
    return Refused(400, reason(reasons.INVALID_PATH, path=path, detail=detail))
