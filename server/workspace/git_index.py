"""Read which files a git repository tracks, from its `.git/index`.

Versions 2 to 4, with SHA-1 and SHA-256. A split index (`sharedindex.*`) is read without its shared
part. An index that is none, or too large, names nothing.
"""

from __future__ import annotations

import os
from struct import Struct

FOLDER, NAME = ".git", "index"
MAX_BYTES = 64 << 20
HASHES = (20, 32)  # bytes of SHA-1 and SHA-256
HEADER = Struct(">4sII")
MODE = 24  # where an entry's mode is; the hash is behind 40 bytes
FILES = (0o100000, 0o120000)  # types of files and links; others are repositories in this one
EXTENDED = 0x4000  # flag: two bytes more


def tracked_paths(index: bytes) -> frozenset[str]:
    """Return the tracked files, and the folders on the way to them, relative to the repository."""
    for size in HASHES:
        try:
            names = _names(index, size)
        except (IndexError, ValueError):
            continue
        paths = set(map(os.fsdecode, names))
        for path in tuple(paths):
            while (path := path.rpartition("/")[0]) and path not in paths:
                paths.add(path)
        return frozenset(paths)
    return frozenset()


def _names(index: bytes, hash_size: int) -> list[bytes]:
    """Return the names of all entries. Raises IndexError, ValueError for what is no index."""
    if len(index) < HEADER.size:
        raise ValueError("too short")
    mark, version, count = HEADER.unpack_from(index)
    if mark != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("no index")
    names, name, at = [], b"", HEADER.size
    for _ in range(count):
        flags_at = at + 40 + hash_size
        flags = index[flags_at] << 8 | index[flags_at + 1]
        begin = flags_at + (4 if flags & EXTENDED else 2)
        if version == 4:
            cut, begin = _offset(index, begin)
            end = index.index(b"\0", begin)
            name = name[: len(name) - cut] + index[begin:end]
            after = end + 1
        else:
            end = index.index(b"\0", begin + min(flags & 0xFFF, 0xFFE))
            name = index[begin:end]
            after = at + (end - at + 8) // 8 * 8
        if not name or len(name) != flags & 0xFFF and flags & 0xFFF != 0xFFF:
            raise ValueError("not with hashes of this size")
        if (index[at + MODE + 2] << 8 | index[at + MODE + 3]) & 0o170000 in FILES:
            names.append(name)
        at = after
    return names


def _offset(index: bytes, at: int) -> tuple[int, int]:
    """Return a number of git's variable width, and where it ends."""
    byte = index[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = index[at]
        value = (value + 1) << 7 | byte & 0x7F
    return value, at + 1
