"""Read and change single files of a folder by their place, without following a link anywhere."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ..lib.runtime.descriptors import open_fd
from .errors import WorkspaceError, system_errors
from .objects import chunks_of, write_sparse
from .restore import Folders
from .scan import FILE, FOLDER, NEW_FILE
from .trees import Place, text_of

MOST_DEEP = 200  # folders in each other that are removed; each is open meanwhile


class FileAccess:
    """The files below an open folder."""

    def __init__(self, top: int) -> None:
        self.top = top

    @contextmanager
    def folder(
        self, place: Place, make: bool = False, sought: Place | None = None
    ) -> Iterator[int]:
        """Open a folder; `make` it and those on the way. Raises WorkspaceError.

        `sought`: what is looked for in it, for errors. What was made is removed if it is for
        nothing.
        """
        made = list[Place]()
        with Folders(self.top) as folders:
            try:
                for depth in range(1, len(place) + 1) if make else ():
                    with suppress(FileExistsError):
                        os.mkdir(place[depth - 1], 0o755, dir_fd=folders.at(place[: depth - 1]))
                        made.append(place[:depth])
                yield folders.at(place)
            except BaseException as error:
                with suppress(OSError):  # others may have put something there
                    for each in reversed(made):
                        os.rmdir(each[-1], dir_fd=folders.at(each[:-1]))
                if isinstance(error, OSError):
                    raise _refusal(error, place if sought is None else sought) from error
                raise

    @contextmanager
    def reader(self, place: Place) -> Iterator[tuple[int, os.stat_result]]:
        """Open a regular file for reading. Raises WorkspaceError."""
        with self.folder(place[:-1], sought=place) as above:
            # First: a device is not opened, and a pipe without writer would wait.
            if not stat.S_ISREG(os.stat(place[-1], dir_fd=above, follow_symlinks=False).st_mode):
                raise WorkspaceError("not_found", f"{text_of(place)} is not a file")
            descriptor = os.open(place[-1], FILE, dir_fd=above)
        try:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                raise WorkspaceError("not_found", f"{text_of(place)} is not a file")
            yield descriptor, about
        finally:
            os.close(descriptor)

    def place(self, place: Place, source: int) -> str:
        """Put a copy of an open file in its place as a whole; return its SHA-256.

        Keeps the mode of a file that is replaced. Makes the folders on the way.
        """
        with self.folder(place[:-1], make=True, sought=place) as above:
            mode = 0o644
            with suppress(FileNotFoundError):
                about = os.stat(place[-1], dir_fd=above, follow_symlinks=False)
                if stat.S_ISDIR(about.st_mode):
                    raise WorkspaceError("conflict", f"{text_of(place)} is a folder")
                mode = about.st_mode & 0o777 if stat.S_ISREG(about.st_mode) else mode
            draft = _draft_name(above, place[-1])
            try:
                digest = hashlib.sha256()
                size = 0
                with open_fd(draft, NEW_FILE, dir_fd=above) as descriptor:
                    for chunk in chunks_of(source):
                        digest.update(chunk)
                        size += len(chunk)
                        write_sparse(descriptor, chunk)
                    os.ftruncate(descriptor, size)
                    os.fchmod(descriptor, mode)
                    os.fsync(descriptor)
                os.rename(draft, place[-1], src_dir_fd=above, dst_dir_fd=above)
            except BaseException:
                with suppress(OSError):
                    os.unlink(draft, dir_fd=above)
                raise
        return digest.hexdigest()

    def remove(self, place: Place) -> None:
        """Remove a file, a link or a folder with all that it holds. Raises WorkspaceError.

        Of a folder that cannot be removed a part may be gone; the error has the fact `partial`.
        """
        with self.folder(place[:-1], sought=place) as above:
            about = os.stat(place[-1], dir_fd=above, follow_symlinks=False)
            if stat.S_ISDIR(about.st_mode):
                count = 0
                try:
                    with system_errors("remove"):
                        for _ in _remove_folder(above, place[-1], MOST_DEEP):
                            count += 1
                except WorkspaceError as error:
                    if count:
                        error.detail += "; a part of the folder is gone"
                        error.facts["partial"] = True
                    raise
            else:
                os.unlink(place[-1], dir_fd=above)

    def move(self, source: Place, target: Place) -> None:
        """Rename a file or folder; nothing may be at `target`. Raises WorkspaceError."""
        if target[: len(source)] == source:
            raise WorkspaceError("conflict", f"{text_of(source)} cannot be moved into itself")
        with (
            self.folder(target[:-1], make=True, sought=target) as below,
            self.folder(source[:-1], sought=source) as above,
        ):
            try:
                os.stat(target[-1], dir_fd=below, follow_symlinks=False)
            except FileNotFoundError:
                os.rename(source[-1], target[-1], src_dir_fd=above, dst_dir_fd=below)
                return
        raise WorkspaceError("conflict", f"{text_of(target)} is there already")

    def make_folder(self, place: Place) -> None:
        """Make a folder and those on the way. Raises WorkspaceError."""
        with self.folder(place, make=True):
            pass


def _draft_name(above: int, name: str) -> str:
    """Return the name of a file in which the next content of a name is written.

    It is the same for each attempt, which so removes what an earlier one could not, unless
    something is there that cannot be removed.
    """
    draft = f".yaa-{hashlib.sha256(os.fsencode(name)).hexdigest()[:32]}"
    try:
        os.unlink(draft, dir_fd=above)
    except FileNotFoundError:
        return draft
    except OSError:
        return f".yaa-{secrets.token_hex(16)}"
    return draft


def _remove_folder(above: int, name: str, depth: int) -> Iterator[None]:
    """Remove a folder with all that it holds, and yield after each name."""
    if depth < 0:
        raise WorkspaceError("too_large", "there are too many folders in each other")
    with open_fd(name, FOLDER, dir_fd=above) as descriptor:
        mode = os.fstat(descriptor).st_mode
        if mode & 0o700 != 0o700:
            os.fchmod(descriptor, mode & 0o777 | 0o700)
        yield from _remove_names(descriptor, depth)
    os.rmdir(name, dir_fd=above)
    yield


def remove_all(folder: int, depth: int = MOST_DEEP) -> None:
    """Remove all that an open folder holds. Raises OSError and WorkspaceError."""
    for _ in _remove_names(folder, depth):
        pass


def _remove_names(folder: int, depth: int) -> Iterator[None]:
    with os.scandir(folder) as entries:
        found = list(entries)
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            yield from _remove_folder(folder, entry.name, depth - 1)
        else:
            os.unlink(entry.name, dir_fd=folder)
            yield


def _refusal(error: OSError, place: Place) -> Exception:
    if error.errno in (errno.ENOENT,):
        return WorkspaceError("not_found", f"{text_of(place)} is not there")
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return WorkspaceError("outside", f"{text_of(place)} leads through a link or a file")
    return error
