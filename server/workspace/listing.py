"""List what a folder or a tree holds, for people and pages."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Any

from .errors import WorkspaceError
from .file_access import FileAccess
from .objects import ObjectStore
from .trees import DEPTH, Place, entry_at, is_left, load, text_of

KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
TREE_KINDS = {"f": "file", "d": "folder", "l": "link"}
MAX_NAMES = 200_000  # of one folder


def listed_in_folder(
    files: FileAccess, place: Place, depth: int, scratch: str = ""
) -> Iterator[dict[str, Any]]:
    """Yield what is in a folder now, in order, a folder before what it holds.

    `scratch`: see scan.Limits.
    """
    rows: list[tuple[str, os.stat_result]] = []
    with files.folder(place) as descriptor:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if entry.name == scratch and not place:
                    continue
                try:
                    rows.append((entry.name, entry.stat(follow_symlinks=False)))
                except OSError:  # it has just gone
                    continue
                if len(rows) > MAX_NAMES:
                    text = f"the folder holds more than {MAX_NAMES} files"
                    raise WorkspaceError("too_large", text)
    for name, about in sorted(rows, key=lambda row: row[0]):
        kind = KINDS.get(stat.S_IFMT(about.st_mode), "special")
        yield {
            "path": text_of((*place, name)),
            "kind": kind,
            "bytes": about.st_size if kind == "file" else 0,
            "mode": about.st_mode & 0o777,
            "modified_ms": about.st_mtime_ns // 1_000_000,
        }
        if kind == "folder" and depth > 1 and len(place) < DEPTH:
            try:
                yield from listed_in_folder(files, (*place, name), depth - 1)
            except (OSError, WorkspaceError):  # it has just gone, or is closed
                continue


def listed_in_tree(
    store: ObjectStore, tree: str, place: Place, depth: int
) -> Iterator[dict[str, Any]]:
    """Yield what a folder of a tree holds, in the same form without times."""
    folder = entry_at(store, tree, place)
    if folder[0] != "d":
        raise WorkspaceError("not_found", f"{text_of(place)} is not a folder in this tree")
    for name, entry in load(store, folder[2]).items():
        here = (*place, name)
        if is_left(entry):
            continue
        yield {
            "path": text_of(here),
            "kind": TREE_KINDS[entry[0]],
            "bytes": entry[2] if entry[0] == "f" else 0,
            "mode": 0o777 if entry[0] == "l" else entry[1],
        }
        if entry[0] == "d" and depth > 1 and len(place) < DEPTH:
            yield from listed_in_tree(store, tree, here, depth - 1)
