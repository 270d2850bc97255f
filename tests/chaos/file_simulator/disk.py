"""What is in a folder, what rules leave out of it, and what a tree says: read without the product.

The rules are the few forms that stories use, and are read as git reads them.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

RULES = ".gitignore"


class Row(NamedTuple):
    """What a path is: its mode with twelve bits, the bytes of a file or the target of a link.

    `kind`: "f", "l", "d", or "p" for a pipe. `inode` tells a folder from one that took its place.
    """

    kind: str
    mode: int
    data: bytes = b""
    inode: int = 0

    @property
    def entry(self) -> tuple[Any, ...]:
        """Return what a tree should say of it."""
        mode = self.mode & 0o777
        if self.kind == "f":
            return ("f", mode, len(self.data), hashlib.sha256(self.data).hexdigest())
        return ("l", self.data.decode()) if self.kind == "l" else (self.kind, mode)


Disk = dict[str, Row]  # by path


def read_disk(top: Path) -> Disk:
    """Return all that is in a folder."""
    rows: Disk = {}
    _read_folder(str(top), "", rows)
    return rows


def _read_folder(folder: str, prefix: str, rows: Disk) -> None:
    with os.scandir(folder) as found:
        entries = list(found)
    for entry in entries:
        path, about = prefix + entry.name, entry.stat(follow_symlinks=False)
        mode = stat.S_IMODE(about.st_mode)
        if stat.S_ISLNK(about.st_mode):
            rows[path] = Row("l", 0o777, os.fsencode(Path(entry.path).readlink()), about.st_ino)
        elif stat.S_ISDIR(about.st_mode):
            rows[path] = Row("d", mode, b"", about.st_ino)
            _read_folder(entry.path, path + "/", rows)
        elif stat.S_ISFIFO(about.st_mode):
            rows[path] = Row("p", mode, b"", about.st_ino)
        else:
            file = os.open(entry.path, os.O_RDONLY)
            rows[path] = Row("f", mode, os.read(file, about.st_size + 1), about.st_ino)
            os.close(file)


def bytes_of(disk: Disk) -> set[bytes]:
    """Return the contents of all files."""
    return {row.data for row in disk.values() if row.kind == "f"}


def ignored_paths(disk: Disk, tracked: set[str]) -> set[str]:
    """Return the paths of files, links and folders that rules leave out.

    `tracked`: files of a repository, which are never left out, and neither are folders on the way.
    """
    kept = {path[:at] for path in tracked for at, one in enumerate(path) if one == "/"} | tracked
    ignored: set[str] = set()
    for path in sorted(disk, key=lambda path: path.count("/")):
        above, _, name = path.rpartition("/")
        if ".git" in path.split("/") and above not in ignored:
            continue
        if above in ignored or _verdict(disk, path, name):
            if path not in kept:
                ignored.add(path)
            elif disk[path].kind == "d":  # what else is in it stays left out
                ignored |= {below for below in disk if below.startswith(path + "/")} - kept
    return ignored


def _verdict(disk: Disk, path: str, name: str) -> bool:
    parts = path.split("/")
    is_folder = disk[path].kind == "d"
    for depth in range(len(parts) - 1, -1, -1):
        above = "/".join([*parts[:depth], RULES])
        row = disk.get(above)
        if row is None or row.kind != "f":
            continue
        inner = "/".join(parts[depth:])
        for line in reversed(row.data.decode("utf-8", "replace").split("\n")):
            rule = line.removeprefix("!")
            if not rule or rule.startswith("#") or rule.endswith("/") and not is_folder:
                continue
            bare = rule.rstrip("/")
            if "/" in bare:
                if not _is_path(inner, bare.removeprefix("/")):
                    continue
            elif not fnmatch.fnmatchcase(name, bare):
                continue
            return not line.startswith("!")
    return False


def _is_path(path: str, rule: str) -> bool:
    steps, parts = path.split("/"), rule.split("/")
    return len(steps) == len(parts) and all(map(fnmatch.fnmatchcase, steps, parts))


class Trees:
    """The objects of a store. What a directory object says is read once."""

    def __init__(self, objects: Path) -> None:
        self._objects = objects
        self._folders: dict[str, dict[str, Any]] = {}
        self._flat: dict[str, dict[str, tuple[Any, ...]]] = {}

    def has(self, name: str) -> bool:
        """Return whether an object is there."""
        return (self._objects / name[:2] / name[2:]).exists()

    def read(self, tree: str) -> dict[str, tuple[Any, ...]]:
        """Return the files, links and folders that a tree records, by path."""
        if tree not in self._flat:
            self._flat[tree] = dict(self._walk(tree, ""))
        return self._flat[tree]

    def _walk(self, tree: str, above: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
        if tree not in self._folders:
            data = (self._objects / tree[:2] / tree[2:]).read_bytes()
            self._folders[tree] = json.loads(data)["entries"]
        for name, entry in self._folders[tree].items():
            path = f"{above}/{name}" if above else name
            if entry[0] in ("f", "l"):
                yield path, tuple(entry)
            elif entry[0] == "d":
                yield path, ("d", entry[1])
                yield from self._walk(entry[2], path)
