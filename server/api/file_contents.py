"""Keep small files in memory, with their digests and in gzip, as long as they do not change.

The page's files hold no secrets and nothing that a request says, so that their length in gzip tells
nobody anything. Answers of the API are never compressed.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
from collections import OrderedDict
from pathlib import Path
from typing import NamedTuple

LARGEST = 1_048_576  # bytes of a file that is kept; larger ones are read for each request
KEPT = 16 * LARGEST  # bytes of all kept files
SMALLEST = 512  # bytes below which gzip saves less than its headers cost

# Other formats are compressed already.
TEXTS = frozenset({".css", ".html", ".js", ".mjs", ".svg", ".webmanifest"})

_WEIGHT = re.compile(r"q=0(?:\.0{0,3})?")  # of what a client does not accept

Stamp = tuple[int, int, int, int]  # numbers that change with a file


class Content:
    """The bytes of one file, which never change; `digest` names them."""

    def __init__(self, name: str, body: bytes) -> None:
        self.body = body
        self.digest = digest(body)
        self._is_text = Path(name).suffix.lower() in TEXTS and len(body) >= SMALLEST
        self._packed: bytes | None = None

    def compress(self) -> bytes | None:
        """Return the bytes in gzip, made at the first call; None if that saves nothing."""
        if self._is_text and self._packed is None:
            self._packed = gzip.compress(self.body, 9, mtime=0)
            self._is_text = len(self._packed) < len(self.body)
        return self._packed if self._is_text else None


class _Kept(NamedTuple):
    stamp: Stamp
    content: Content


class Contents:
    """The contents of files, by path. At most `limit` bytes of them are kept."""

    def __init__(self, limit: int = KEPT) -> None:
        self._limit = limit
        self._size = 0
        self._kept: OrderedDict[Path, _Kept] = OrderedDict()

    def read(self, path: Path) -> Content | None:
        """Return the content of a regular file; None if it has more than LARGEST bytes.

        A file that is the same as before is not read again. Raises OSError.
        """
        stamp = stamp_of(path)
        if (kept := self._kept.get(path)) and kept.stamp == stamp:
            return kept.content
        with path.open("rb") as file:
            stamp = _stamp(os.fstat(file.fileno()))
            body = file.read(LARGEST + 1)
        if len(body) > LARGEST:
            return None
        content = Content(path.name, body)
        self._keep(path, _Kept(stamp, content))
        return content

    def _keep(self, path: Path, new: _Kept) -> None:
        old = self._kept.pop(path, None)
        self._size += len(new.content.body) - (len(old.content.body) if old else 0)
        self._kept[path] = new
        while self._size > self._limit:
            _, gone = self._kept.popitem(last=False)
            self._size -= len(gone.content.body)


def stamp_of(path: Path) -> Stamp:
    """Return the stamp of a file. Raises OSError."""
    return _stamp(path.stat())


def digest(body: bytes) -> str:
    """Return 24 hexadecimal digits for the bytes."""
    return hashlib.blake2b(body, digest_size=12).hexdigest()


def accepts_gzip(header: str) -> bool:
    """Return whether an `Accept-Encoding` header allows gzip (RFC 9110 section 12.5.3)."""
    allowed = {}
    for part in header.lower().split(","):
        name, _, weight = part.partition(";")
        allowed[name.strip()] = not _WEIGHT.fullmatch(weight.replace(" ", ""))
    return allowed.get("gzip", allowed.get("*", False))


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
