"""Browsing the user's files, and making, moving and removing them. Blocking: call it in a thread."""

from __future__ import annotations

import mimetypes
import os
import shutil
from pathlib import Path

from codefy_control_plane.api.schemas import FileEntry, FileList
from codefy_control_plane.atomic import sync_folder
from codefy_control_plane.files.paths import below, existing
from codefy_control_plane.runs.errors import Refused
from codefy_protocol import reasons
from codefy_protocol.reasons import reason

MAX_LISTED = 5000


class FileStore:
    """``<data dir>/files``. Hidden files are neither shown nor served."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def find(self, path: str) -> Path:
        """Where a file or folder lies.

        Raises:
            Refused: 400 ``invalid_path``; 404 ``file_not_found``.
        """
        if path == "":
            self.root.mkdir(parents=True, exist_ok=True)
        return existing(self.root, path)

    def list(self, path: str) -> FileList:
        """A folder: its folders first, then its files, by name.

        Raises:
            Refused: 400 ``invalid_path``; 404 ``file_not_found``.
        """
        folder = self.find(path)
        if not folder.is_dir():
            raise Refused(404, reason(reasons.FILE_NOT_FOUND, path=path))
        with os.scandir(folder) as entries:
            names = sorted(
                (entry.name for entry in entries if not entry.name.startswith(".")), key=str.casefold
            )
        prefix = f"{path}/" if path else ""
        found = [entry for name in names[:MAX_LISTED] if (entry := self._entry(folder / name, prefix + name))]
        found.sort(key=lambda entry: entry.kind != "folder")
        return FileList(
            path=path,
            entries=found,
            total=len(names),
            free_bytes=shutil.disk_usage(folder).free,
        )

    def entry(self, path: str, sha256: str | None = None) -> FileEntry:
        """One file or folder.

        Raises:
            Refused: 400 ``invalid_path``; 404 ``file_not_found``.
        """
        found = self._entry(self.find(path), path, sha256)
        if found is None:
            raise Refused(404, reason(reasons.FILE_NOT_FOUND, path=path))
        return found

    def make_folder(self, path: str) -> FileEntry:
        """Make a folder, and those around it.

        Raises:
            Refused: 400 ``invalid_path``; 409 ``file_exists``.
        """
        folder = below(self.root, path)
        try:
            folder.mkdir(parents=True)
        except (FileExistsError, NotADirectoryError):
            raise _exists(path) from None
        sync_folder(folder.parent)
        return self.entry(path)

    def move(self, path: str, to: str) -> FileEntry:
        """Move or rename a file or folder.

        Raises:
            Refused: 400 ``invalid_path``; 404 ``file_not_found``; 409 ``file_exists``.
        """
        source, target = self._named(path), below(self.root, to)
        if target.exists():
            raise _exists(to)
        if target.is_relative_to(source):
            detail = "a folder cannot be moved into itself"
            raise Refused(400, reason(reasons.INVALID_PATH, path=to, detail=detail))
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            source.rename(target)
        except (FileExistsError, NotADirectoryError):
            raise _exists(to) from None
        sync_folder(source.parent)
        sync_folder(target.parent)
        return self.entry(to)

    def delete(self, path: str, *, with_content: bool = False) -> None:
        """Remove a file, or a folder: with everything in it only when asked to.

        Raises:
            Refused: 400 ``invalid_path``; 404 ``file_not_found``; 409 ``folder_not_empty``.
        """
        found = self._named(path)
        if found.is_dir() and not found.is_symlink():
            try:
                shutil.rmtree(found) if with_content else found.rmdir()
            except OSError as error:
                if not found.is_dir() or with_content:
                    raise
                raise Refused(409, reason(reasons.FOLDER_NOT_EMPTY, path=path)) from error
        else:
            found.unlink()
        sync_folder(found.parent)

    def _named(self, path: str) -> Path:
        """Something below the folder, not the folder itself."""
        if path == "":
            raise Refused(400, reason(reasons.INVALID_PATH, path=path, detail="a name in it is empty"))
        return existing(self.root, path)

    def _entry(self, path: Path, shown: str, sha256: str | None = None) -> FileEntry | None:
        try:
            status = path.stat()
        except OSError:
            # A link that leads nowhere, or a file that went just now.
            return None
        folder = path.is_dir()
        return FileEntry(
            name=path.name,
            path=shown,
            kind="folder" if folder else "file",
            size=None if folder else status.st_size,
            modified_at=status.st_mtime,
            media_type="" if folder else mimetypes.guess_type(path.name)[0] or "application/octet-stream",
            sha256=sha256,
        )


def _exists(path: str) -> Refused:
    return Refused(409, reason(reasons.FILE_EXISTS, path=path))
