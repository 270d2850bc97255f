"""Bytes that are named by their SHA-256: contents of files, and directory objects.

An object is written to a temporary file, synchronized and renamed, and never changed. It is checked
against its name whenever it is used, so a file that a power failure cut counts as missing. Only
`settle` makes new objects durable; whoever names them in a state calls it before.
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, BinaryIO

from ..lib.runtime.descriptors import open_fd
from .errors import WorkspaceError

ID = re.compile(r"[0-9a-f]{64}\Z")
CHUNK = 1 << 20  # bytes read at once
SMALL = 4 << 20  # bytes that are hashed in memory before anything is written
BLOCK = 1 << 16  # bytes; a block of zeros becomes a hole
ZEROS = bytes(BLOCK)
FICLONE = 0x40049409  # linux/fs.h: share the blocks of another file
TEMPORARY = ".new-"
REFRESH_S = 600  # an object that is put again counts as new after this time
GRACE_S = 3600  # s in which an object that no tree needs is kept: its tree may be in the making
MANY = 8  # new objects above which the whole file system is synchronized at once


class ObjectStore:
    """The objects of one owner, in a folder that is made when it is needed."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        self._unsettled: list[str] = []
        self.parsed: dict[str, dict[str, list[Any]]] = {}  # recent directory objects (trees.py)
        self.parsed_entries = 0  # in all of them, and their number

    # -- write

    def put(self, source: bytes) -> str:
        """Store bytes; return the object's id."""
        sha256 = hashlib.sha256(source).hexdigest()
        if not self._is_there(sha256, len(source)):
            self._write(lambda target: write_all(target, source), sha256)
        return sha256

    def put_file(self, descriptor: int, most: int | None = None) -> tuple[str, int] | None:
        """Store what a file holds from its position on; return the id and the number of bytes.

        The id is that of the bytes that were stored, also if the file changes meanwhile. None if
        there are more than `most` bytes.
        """
        room = SMALL if most is None else min(SMALL, most)
        head = read_some(descriptor, room + 1)
        if len(head) <= room:
            return self.put(head), len(head)
        if most is not None and room == most:
            return None
        digest = hashlib.sha256()
        size = 0

        def _copy(target: int) -> None:
            nonlocal size
            for chunk in chunks_of(descriptor, head):
                size += len(chunk)
                if most is not None and size > most:
                    raise _TooMuch
                digest.update(chunk)
                write_sparse(target, chunk)
            os.ftruncate(target, size)

        try:
            self._write(_copy, digest.hexdigest)
        except _TooMuch:
            return None
        return digest.hexdigest(), size

    def settle(self) -> None:
        """Make durable what was put since the last time."""
        pending, self._unsettled = self._unsettled, []
        if len(pending) > MANY:
            with open_fd(self.folder, os.O_RDONLY | os.O_DIRECTORY) as folder:
                sync_file_system(folder)
            return
        for path in pending:
            with suppress(FileNotFoundError), open_fd(path, os.O_RDONLY) as file:
                os.fsync(file)

    def _write(self, fill: Callable[[int], None], sha256: str | Callable[[], str]) -> None:
        draft = os.path.join(self.folder, TEMPORARY + secrets.token_hex(8))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            descriptor = os.open(draft, flags, 0o400)
        except FileNotFoundError:
            os.makedirs(self.folder, 0o700, exist_ok=True)
            descriptor = os.open(draft, flags, 0o400)
        try:
            try:
                fill(descriptor)
            finally:
                os.close(descriptor)
            place = self.path(sha256 if isinstance(sha256, str) else sha256())
            try:
                os.rename(draft, place)
            except FileNotFoundError:
                os.makedirs(os.path.dirname(place), 0o700, exist_ok=True)
                os.rename(draft, place)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft)
            raise
        self._unsettled.append(place)

    def _is_there(self, sha256: str, size: int) -> bool:
        path = self.path(sha256)
        try:
            about = os.stat(path)
        except FileNotFoundError:
            return False
        if about.st_size != size:  # it was cut when the power failed
            return False
        if abs(time.time() - about.st_mtime) > REFRESH_S:
            with suppress(OSError):
                os.utime(path)
        return True

    # -- read

    def path(self, sha256: str) -> str:
        """Return where an object is or would be. Raises WorkspaceError for what is no id."""
        if not ID.match(sha256):
            raise WorkspaceError("invalid", "an object's id is 64 hexadecimal digits")
        return f"{self.folder}/{sha256[:2]}/{sha256[2:]}"

    def has(self, sha256: str) -> bool:
        """Return whether the object is there."""
        return self.size(sha256) is not None

    def size(self, sha256: str) -> int | None:
        """Return the number of bytes, None if the object is not there."""
        try:
            return os.stat(self.path(sha256)).st_size
        except FileNotFoundError:
            return None

    def open(self, sha256: str, size: int | None = None) -> BinaryIO:
        """Open an object for reading. Its content is not checked. Raises WorkspaceError.

        `size`: what a tree says; an object with another number of bytes counts as missing.
        """
        if size is not None and self.size(sha256) != size:
            raise absence(sha256)
        try:
            return open(self.path(sha256), "rb")
        except FileNotFoundError:
            raise absence(sha256) from None

    def read(self, sha256: str, most: int) -> bytes:
        """Return the checked content of an object of at most `most` bytes."""
        with self.open(sha256) as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise WorkspaceError("too_large", f"object {sha256} has more than {most} bytes")
        if hashlib.sha256(data).hexdigest() != sha256:
            self._discard(sha256)
            raise absence(sha256)
        return data

    def copy_to(self, sha256: str, target: int) -> int:
        """Write an object into an empty file and return its size.

        The content is checked while it is written: the caller discards the file if this raises.
        """
        with self.open(sha256) as file:
            source = file.fileno()
            shared = clone(source, target)
            digest = hashlib.sha256()
            size = 0
            for chunk in chunks_of(source):
                digest.update(chunk)
                size += len(chunk)
                if not shared:
                    write_sparse(target, chunk)
            if not shared:
                os.ftruncate(target, size)
        if digest.hexdigest() != sha256:
            self._discard(sha256)
            raise absence(sha256)
        return size

    def _discard(self, sha256: str) -> None:
        with suppress(OSError):
            os.unlink(self.path(sha256))

    # -- clean

    def ids(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the id of each object and what the file system knows of it."""
        for entry in sorted(_listing(self.folder), key=lambda entry: entry.name):
            if entry.is_dir(follow_symlinks=False):
                for item in _listing(entry.path):
                    with suppress(FileNotFoundError):
                        if ID.match(entry.name + item.name):
                            yield entry.name + item.name, item.stat(follow_symlinks=False)

    def collect(self, kept: Iterable[str], most: int, grace_s: float = GRACE_S) -> dict[str, int]:
        """Remove objects that no kept tree needs until all have at most `most` bytes.

        `kept`: ids of all objects that are needed (trees.reachable). Those that were written in
        the last `grace_s` seconds are kept too. Returns {objects, bytes, useless, useless_bytes,
        removed, freed}.
        """
        needed = {bytes.fromhex(sha256) for sha256 in kept}
        now = time.time()
        objects = total = removed = freed = 0
        useless = []
        for sha256, about in self.ids():
            objects += 1
            total += about.st_size
            if bytes.fromhex(sha256) not in needed and abs(now - about.st_mtime) > grace_s:
                useless.append((about.st_mtime, about.st_size, sha256))
        for _, size, sha256 in sorted(useless):
            if total - freed <= most:
                break
            self._discard(sha256)
            removed += 1
            freed += size
        for entry in _listing(self.folder):
            if entry.name.startswith(TEMPORARY):
                with suppress(OSError):
                    if abs(now - entry.stat(follow_symlinks=False).st_mtime) > grace_s:
                        os.unlink(entry.path)
        return {
            "objects": objects - removed,
            "bytes": total - freed,
            "useless": len(useless),
            "useless_bytes": sum(size for _, size, _ in useless),
            "removed": removed,
            "freed": freed,
        }


class _TooMuch(Exception):
    """A file has more bytes than may be stored."""


def absence(sha256: str) -> WorkspaceError:
    """Return the error for an object that is not there."""
    return WorkspaceError("missing_objects", f"object {sha256} is not here", objects=[sha256])


def _listing(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []


# -- copies ---------------------------------------------------------------------------------------


def read_some(descriptor: int, most: int) -> bytes:
    """Read up to `most` bytes, fewer only at the end of the file."""
    data = os.read(descriptor, most)
    if not data or len(data) == most:
        return data
    parts = [data]
    size = len(data)
    while size < most and (data := os.read(descriptor, most - size)):
        parts.append(data)
        size += len(data)
    return b"".join(parts)


def chunks_of(descriptor: int, head: bytes = b"") -> Iterator[bytes]:
    """Yield `head`, if there is one, and the rest of a file."""
    if head:
        yield head
    while chunk := os.read(descriptor, CHUNK):
        yield chunk


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of `data`, however many calls that takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def write_sparse(descriptor: int, data: bytes) -> None:
    """Write `data` with holes for its blocks of zeros; the caller sets the size at the end."""
    if ZEROS not in data:
        write_all(descriptor, data)
        return
    for start in range(0, len(data), BLOCK):
        block = data[start : start + BLOCK]
        if block == ZEROS:
            os.lseek(descriptor, BLOCK, os.SEEK_CUR)
        else:
            write_all(descriptor, block)


def clone(source: int, target: int) -> bool:
    """Let an empty file share the blocks of another; return whether the file system can."""
    try:
        fcntl.ioctl(target, FICLONE, source)
    except OSError:
        return False
    return True


def sync_file_system(descriptor: int) -> None:
    """Make durable all that was written to the file system of an open folder."""
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(descriptor):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    except AttributeError:  # not Linux
        os.sync()
