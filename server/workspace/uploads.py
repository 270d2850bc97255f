"""Files that come or go in pieces: uploads before they are complete, and archives.

They are kept beside the state, where tools do not see them, and removed a day after the last
piece, or when there are too many.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..lib.runtime.descriptors import open_fd
from .errors import WorkspaceError
from .objects import BLOCK, ObjectStore, write_all
from .trees import Entry, Place, text_of, walk

KEPT_S = 86_400
MOST = 32  # uploads and archives; the oldest go first
MAX_ARCHIVE = 4 << 30  # bytes of the files in an archive
ARCHIVE = re.compile(r"[0-9a-f]{32}\Z")
FIRST_TIME = (1980, 1, 1, 0, 0, 0)  # trees have no times, and a ZIP none before


class Uploads:
    """The pieces of one workspace."""

    def __init__(self, state: str) -> None:
        self.folder = Path(state) / "pieces"

    # -- in

    def receive(self, upload: str, piece: bytes, offset: int, total: int) -> int:
        """Take a piece; return how many bytes there are now. Raises WorkspaceError.

        A piece may begin within what was received: it replaces all from there on, which may be of
        another file. An empty piece only asks.
        """
        if not 0 <= offset <= offset + len(piece) <= total:
            raise WorkspaceError("invalid", "a piece lies outside of its file")
        path = self._upload(upload)
        self._make_room(path)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with open_fd(path, flags) as descriptor:
            received = os.fstat(descriptor).st_size
            if offset > received:
                text = f"a piece begins at {offset}, but only {received} bytes were received"
                raise WorkspaceError("conflict", text, received=received)
            os.lseek(descriptor, offset, os.SEEK_SET)
            write_all(descriptor, piece)
            if piece or received > total:
                received = offset + len(piece)
                os.ftruncate(descriptor, received)
            return received

    @contextmanager
    def complete(self, upload: str, total: int) -> Iterator[int]:
        """Open a complete upload, and remove it after it was used."""
        path = self._upload(upload)
        with open_fd(path, os.O_RDONLY | os.O_NOFOLLOW) as descriptor:
            if os.fstat(descriptor).st_size != total:
                raise WorkspaceError("conflict", "the upload was changed meanwhile")
            yield descriptor
            with suppress(OSError):  # it was used; `_make_room` removes it a day later
                path.unlink()

    def _upload(self, upload: str) -> Path:
        name = hashlib.sha256(upload.encode("utf-8", "surrogatepass")).hexdigest()
        return self.folder / f"upload-{name}"

    # -- out

    def archive(self, store: ObjectStore, tree: str, chosen: list[Place] | None) -> str:
        """Make a ZIP of a tree, or of the chosen files and folders; return its name."""
        name = secrets.token_hex(16)
        path = self.folder / f"archive-{name}"
        self._make_room(path)
        left = MAX_ARCHIVE
        try:
            with zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
                for place, entry in walk(store, tree):
                    if chosen is None or any(place[: len(one)] == one for one in chosen):
                        left -= entry[2] if entry[0] == "f" else 0
                        if left < 0:
                            text = f"the archive would hold more than {MAX_ARCHIVE >> 30} GiB"
                            raise WorkspaceError("too_large", text)
                        _add(file, store, place, entry)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return name

    def piece(self, archive: str, offset: int, most: int) -> tuple[bytes, int]:
        """Return a piece of an archive, and the size of the whole. The last piece removes it."""
        if not ARCHIVE.match(archive):
            raise WorkspaceError("invalid", "there is no such archive")
        path = self.folder / f"archive-{archive}"
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                data = os.pread(file.fileno(), most, max(0, offset))
        except FileNotFoundError:
            raise WorkspaceError("not_found", "the archive is no longer there") from None
        if offset + len(data) >= size:
            path.unlink(missing_ok=True)
        return data, size

    def give_up(self, name: str) -> None:
        """Remove the upload or archive of this name, if it is there."""
        self._upload(name).unlink(missing_ok=True)
        if ARCHIVE.match(name):
            (self.folder / f"archive-{name}").unlink(missing_ok=True)

    def _make_room(self, wanted: Path) -> None:
        """Remove what is old or too much, so that there is room for one more; make the folder."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        found, now = [], time.time()
        for path in self.folder.iterdir():
            with suppress(OSError):
                if path != wanted:
                    found.append((abs(now - path.lstat().st_mtime), path))
        for number, (age_s, path) in enumerate(sorted(found), 1):
            if number >= MOST or age_s > KEPT_S:
                path.unlink(missing_ok=True)


def _add(file: zipfile.ZipFile, store: ObjectStore, place: Place, entry: Entry) -> None:
    name = text_of(place)
    if entry[0] == "d":
        about = zipfile.ZipInfo(name + "/", FIRST_TIME)
        about.external_attr = (stat.S_IFDIR | entry[1]) << 16 | 0x10
        file.writestr(about, b"")
        return
    about = zipfile.ZipInfo(name, FIRST_TIME)
    about.compress_type = zipfile.ZIP_DEFLATED
    about.create_system = 3  # Unix: what follows is a mode
    if entry[0] == "l":
        about.external_attr = (stat.S_IFLNK | 0o777) << 16
        file.writestr(about, os.fsencode(entry[1]))
        return
    about.external_attr = (stat.S_IFREG | entry[1]) << 16
    about.file_size = entry[2]
    with store.open(entry[3], entry[2]) as source, file.open(about, "w") as target:
        while chunk := source.read(BLOCK):
            target.write(chunk)
