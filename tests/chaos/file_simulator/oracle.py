"""Judge the answers of a workspace by the bytes that are there before and after.

Losses:
lost        bytes are neither in the folder nor in a tree that an answer named
gone        a restore removed a path that was there at the moment it goes back to, or that was
            there when a tree did not have it; a refresh, an apply or a discard one that the other
            side has
objects     a tree that was named cannot be had any more

Wrong words, where every byte is still there:
deleted     said of what is there
added       said of what was there before
stale       a tree says something else than the disk
unrecorded  what must be in a tree is not, or what is left out is not said
status      the layer differs from the folder, and nothing says so

Wrong deeds:
bits        a folder lost its sticky or set-id bit
outside     an operation changed what it must not touch
crash       an operation ended with an error that is none of its own
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .disk import RULES, Disk, Row, Trees, bytes_of, ignored_paths

Json = dict[str, Any]
KINDS = {
    "losses": ("lost", "gone", "objects"),
    "words": ("deleted", "added", "stale", "unrecorded", "status"),
    "deeds": ("bits", "outside", "crash"),
}
CLASSES = tuple(name for names in KINDS.values() for name in names)
TREES = ("before", "after", "tree", "replaced", "base")  # of an answer
LOOKS = ("record", "status", "diff")  # change nothing
BITS = 0o7000


class Oracle:
    """What was named and what was there, from the first answer of a story to its last."""

    def __init__(self, objects: Path, files: int, file_bytes: int) -> None:
        self.at = ""  # the step, for messages
        self.wrong: list[str] = []
        self._files, self._file_bytes = files, file_bytes
        self._trees = Trees(objects)
        self._named: set[str] = set()  # trees
        self._kept: set[str] = set()  # objects of files in them
        self._moments: dict[str, set[str]] = {}  # tree -> paths that were there each time
        self._bits: dict[str, dict[str, int]] = {}  # tree -> such bits of folders, the last time
        self._last: Disk | None = None  # the workspace when it was recorded last
        self._unmade: set[str] = set()  # paths that were there when a tree did not have them
        self._is_cut = False  # the next operation finishes one that was cut
        self._filled: Disk | None = None  # the real folder when the copy was filled
        self._looked: Disk = {}  # the real folder when an overlay has last looked at it
        self._shared: set[str] = set()  # paths that it and the copy had at some moment
        self._agreed: dict[str, Row | None] = {}  # what both had when they were last the same
        self._agreed_at: dict[str, dict[str, Row | None]] = {}  # tree of the copy -> that
        self._written: dict[int, str] = {}  # files with several names -> the one last written by

    def note(self, name: str, text: str) -> None:
        """Note that something is wrong."""
        self.wrong.append(f"{name}: {text} ({self.at})")

    def note_write(self, path: str, inode: int) -> None:
        """Note by which of its names a file was written."""
        self._written[inode] = path

    def name_all(self, ids: Iterable[str]) -> None:
        """Note the trees that an answer names."""
        for tree in ids:
            if tree not in self._named and self._trees.has(tree):
                self._named.add(tree)
                entries = self._trees.read(tree).values()
                self._kept |= {entry[3] for entry in entries if entry[0] == "f"}

    def cut(self, before: tuple[Disk, Disk], tree: str = "") -> None:
        """Expect that the next operation also finishes one that was cut.

        `tree`: what it restores, if it had begun: what that has is as any other from then on.
        """
        self._unmade -= self._trees.read(tree).keys() if tree else set()
        self._go_back(tree)
        self._last, self._is_cut = None, True
        self._forget_ignored(before[1])

    def check_objects(self) -> None:
        """Every tree that was named can still be had."""
        for sha256 in sorted(self._kept):
            if not self._trees.has(sha256):
                self.note("objects", f"object {sha256[:12]} of a named tree is gone")

    # -- one answer

    def judge(
        self,
        name: str,
        arguments: Json,
        answer: Json,
        before: tuple[Disk, Disk],
        after: tuple[Disk, Disk],
        released: frozenset[bytes],
    ) -> None:
        """Compare an answer with what was there and what is there: (workspace, real folder).

        `released`: bytes that the person asked to remove or replace.
        """
        self.name_all(answer[key] for key in TREES if answer.get(key))
        self._check_bytes(name, before, after, released)
        self._check_bits(before, after, self._bits.get(arguments.get("tree", "")))
        if name in LOOKS and "refused" not in answer and not self._is_cut:
            self._check_same("workspace", before[0], after[0])
        if name != "apply" and not self._is_cut:
            self._check_same("real folder", before[1], after[1])
        self._is_cut = False
        if "refused" in answer:
            return
        check = getattr(self, f"_check_{name}", None)
        if check:
            check(arguments, answer, before, after)

    def _check_bytes(
        self,
        name: str,
        before: tuple[Disk, Disk],
        after: tuple[Disk, Disk],
        released: frozenset[bytes],
    ) -> None:
        there = bytes_of(after[0]) | bytes_of(after[1])
        gone = (bytes_of(before[0]) - there) | (bytes_of(before[1]) - bytes_of(after[1]))
        for data in gone - released:
            sha256 = hashlib.sha256(data).hexdigest()
            if sha256 not in self._kept or not self._trees.has(sha256):
                self.note("lost", f"{name} removed {data[:40]!r}")

    def _check_bits(
        self, before: tuple[Disk, Disk], after: tuple[Disk, Disk], then: dict[str, int] | None
    ) -> None:
        """Folders keep such bits, in a restore those that also had them `then`."""
        for old, new in zip(before, after, strict=True):
            for path, bits in _bits_of(old).items():
                now = new.get(path)
                if now and now.inode == old[path].inode and now.mode & BITS != bits:
                    if then is None or then.get(path) == bits:
                        self.note("bits", f"{path} had {old[path].mode:o}, has {now.mode:o}")

    def _check_same(self, what: str, before: Disk, after: Disk) -> None:
        if before != after:
            paths = [p for p in before.keys() | after.keys() if before.get(p) != after.get(p)]
            self.note("outside", f"the {what} has changed: {sorted(paths)[:3]}")

    # -- by operation

    def _check_record(
        self, _arguments: Json, answer: Json, _before: Any, after: tuple[Disk, Disk]
    ) -> None:
        disk = after[0]
        for row in answer["changed"]:
            self._check_change(row, disk, self._last)
        left = self._check_tree(answer["after"], disk, "beyond" in answer["left_out"])
        for reason in sorted(left - answer["left_out"].keys()):
            self.note("unrecorded", f"left_out does not say {reason}")
        self._remember(answer["after"], disk)

    def _check_diff(
        self, arguments: Json, answer: Json, _before: Any, after: tuple[Disk, Disk]
    ) -> None:
        moment = self._moments.get(arguments["from"], set())
        for row in answer["files"]:
            if row["change"] == "deleted" and _is_file(after[0].get(row["path"])):
                self.note("deleted", f"the difference says so of {row['path']}, which is there")
            if row["change"] == "added" and row["path"] in moment:
                self.note("added", f"the difference says so of {row['path']}, which was there")

    def _check_restore(
        self, arguments: Json, answer: Json, before: tuple[Disk, Disk], after: tuple[Disk, Disk]
    ) -> None:
        disk = after[0]
        blocked = answer.get("blocked", ())
        if arguments.get("paths"):
            self._check_chosen(arguments, before[0], disk)
            self._check_given_up(arguments, blocked, disk)
            self._check_entries(answer["tree"], disk)
            self._remember(answer["tree"], disk)
            return
        for path in sorted(self._moments.get(arguments["tree"], set()) & before[0].keys()):
            if path not in disk:
                self.note("gone", f"restore removed {path}, which was there then")
        aim = self._trees.read(arguments["tree"])
        for path in sorted(self._unmade & before[0].keys() - disk.keys() - aim.keys()):
            if not _is_below(path, aim) and not any(_is_below(one, [path]) for one in aim):
                self.note("gone", f"restore removed {path}, which no call is known to have made")
        self._unmade -= aim.keys()
        for path, entry in aim.items():
            row = disk.get(path)
            if (row is None or row.entry != entry) and not _is_below(path, blocked):
                self.note("stale", f"{path} is not as in the tree that was restored")
        self._check_entries(answer["tree"], disk)
        self._go_back(arguments["tree"])
        self._remember(answer["tree"], disk)

    def _go_back(self, tree: str) -> None:
        """What the folder and the copy had in common goes back with the copy to a tree."""
        self._agreed = dict(self._agreed_at.get(tree, self._agreed))

    def _check_given_up(self, arguments: Json, blocked: Iterable[str], disk: Disk) -> None:
        """What a person named is as in the tree."""
        aim = self._trees.read(arguments["tree"])
        self._unmade -= set(arguments["paths"])
        for path in sorted(aim.keys() & set(arguments["paths"])):
            if _entry(disk.get(path)) != aim[path] and not _is_below(path, blocked):
                self.note("stale", f"{path} was named, and is not as in the tree")

    def _check_refresh(
        self, _arguments: Json, answer: Json, before: tuple[Disk, Disk], after: tuple[Disk, Disk]
    ) -> None:
        if self._filled is None:
            self._filled = after[1]
        self._check_removed("refresh", before[0], after[0], after[1])
        self._check_entries(answer["tree"], after[0])
        self._look(after)
        self._remember(answer["tree"], after[0])

    def _look(self, after: tuple[Disk, Disk]) -> None:
        self._looked = after[1]
        self._share(after)

    def _share(self, disks: tuple[Disk, Disk]) -> None:
        layer, real = disks
        self._shared |= layer.keys() & real.keys()
        for path in self._agreed.keys() | layer.keys() | real.keys():
            if _entry(layer.get(path)) == _entry(real.get(path)):
                self._agreed[path] = real.get(path)

    def _check_status(
        self, _arguments: Json, answer: Json, _before: Any, after: tuple[Disk, Disk]
    ) -> None:
        layer, real = after
        listed = {row["path"] for row in answer["files"]}
        for row in answer["files"]:
            path = row["path"]
            if row["change"] == "deleted" and _is_file(layer.get(path)):
                self.note("deleted", f"status says so of {path}, which is there")
            was_there = _is_file(real.get(path)) and _is_file((self._filled or {}).get(path))
            if row["change"] == "added" and was_there and not row.get("conflict"):
                self.note("added", f"status says so of {path}, which the folder has")
        if answer.get("left_out"):
            return
        for path in sorted(layer.keys() | real.keys()):
            mine, theirs = layer.get(path), real.get(path)
            if theirs != self._looked.get(path) or path in listed or self._is_ahead(path, after):
                continue
            if _entry(mine) != _entry(theirs) and "d" not in (_kind(mine), _kind(theirs)):
                self.note("status", f"{path} differs from the folder, and is not listed")

    def _check_apply(
        self, arguments: Json, answer: Json, before: tuple[Disk, Disk], after: tuple[Disk, Disk]
    ) -> None:
        self._check_same("layer", before[0], after[0])
        self._check_removed("apply", before[1], after[1], after[0])
        self._check_chosen(arguments, before[1], after[1])
        self._forget_ignored(before[1])
        self._share(after)
        if arguments.get("paths") or answer.get("left_out"):
            return
        said = [*answer["left"], *answer["conflicts"], *answer["asks"]]
        for path in sorted(self._recordable(after[0]) | self._recordable(after[1])):
            mine, theirs = after[0].get(path), after[1].get(path)
            if theirs != self._looked.get(path) and theirs == before[1].get(path):
                continue  # the person changed it, and the layer does not know yet
            if self._is_ahead(path, after):
                continue
            if _entry(mine) != _entry(theirs) and not _is_below(path, said):
                if "d" not in (_kind(mine), _kind(theirs)):
                    self.note("status", f"apply left {path} as it was and does not say so")

    def _is_ahead(self, path: str, disks: tuple[Disk, Disk]) -> bool:
        """Return whether the folder has what the copy never had; the next run takes it over.

        So it does with what the copy's rules ignore, or did when both had the same, or rules did
        that no tree has, as they ignored themselves: that the copy had it is recorded nowhere. And
        with what is or is not in the copy as it was in both: only the folder has changed it.
        """
        layer, real = disks
        if _entry(layer.get(path)) == _entry(self._agreed.get(path)):
            return True
        if path in layer or path not in self._shared:
            return path not in layer
        if path in ignored_paths({**layer, path: real[path]}, tracked_paths(layer)):
            return True
        if path in self._hidden():
            return True
        ignored = ignored_paths(self._filled or {}, tracked_paths(self._filled or {}))
        hidden = {one.removesuffix(RULES) for one in ignored if f"/{one}".endswith(f"/{RULES}")}
        return path in ignored and not path.endswith(RULES) and path.startswith(tuple(hidden))

    def _hidden(self) -> set[str]:
        """Return what rules ignored in both when they were the same: the base does not tell of it.

        It names rules that ignore themselves, unless their folder is ignored.
        """
        agreed = {path: row for path, row in self._agreed.items() if row}
        ignored = ignored_paths(agreed, tracked_paths(agreed))
        rules = {path for path in ignored if f"/{path}".endswith(f"/{RULES}")}
        return ignored - {path for path in rules if path.rpartition("/")[0] not in ignored}

    def _forget_ignored(self, real: Disk) -> None:
        """Note that an apply leaves what rules ignore; those that it changes may end that."""
        self._shared -= ignored_paths(real, tracked_paths(real)) | self._hidden()

    def _check_discard(
        self, arguments: Json, answer: Json, before: tuple[Disk, Disk], after: tuple[Disk, Disk]
    ) -> None:
        # What is left out of the folder was never taken over, so a discard cannot bring it.
        known = self._looked.keys() & self._shared
        there = after[1].items()
        seen = {path: row for path, row in there if path in known and not self._reason(row)}
        self._check_removed("discard", before[0], after[0], seen)
        self._check_entries(answer["tree"], after[0])
        self._look(after)
        self._remember(answer["tree"], after[0])

    # -- pieces

    def _check_change(self, row: Json, disk: Disk, last: Disk | None) -> None:
        path = row["path"]
        if row["change"] == "deleted" and _is_file(disk.get(path)):
            self.note("deleted", f"the record says so of {path}, which is there")
        if row["change"] == "added" and last is not None and _is_file(last.get(path)):
            self.note("added", f"the record says so of {path}, which was there before")

    def _check_removed(self, name: str, before: Disk, after: Disk, other: Disk) -> None:
        """Nothing may go from one side that the other one has."""
        for path in sorted(before.keys() - after.keys()):
            if path in other and "d" not in (before[path].kind, other[path].kind):
                self.note("gone", f"{name} removed {path}, which the other side has")

    def _check_chosen(self, arguments: Json, before: Disk, after: Disk) -> None:
        """Nothing but what was chosen may change, apart from folders on the way to it."""
        chosen = arguments.get("paths")
        if not chosen:
            return
        for path in sorted(before.keys() | after.keys()):
            old, new = before.get(path), after.get(path)
            if _entry(old) != _entry(new) and not _is_below(path, chosen):
                if not (new and new.kind == "d" and any(one.startswith(path) for one in chosen)):
                    self.note("outside", f"{path} was applied and not chosen")

    def _check_entries(self, tree: str, disk: Disk) -> None:
        """What a tree records is on the disk."""
        for path, entry in self._trees.read(tree).items():
            row = disk.get(path)
            if (row is None or row.entry != entry) and not self._is_unseen(row, disk):
                self.note("stale", f"the tree has {path} as {entry}, the disk {row and row.entry}")

    def _is_unseen(self, row: Row | None, disk: Disk) -> bool:
        """Return whether a file was written by a name that is gone, or in an ignored folder.

        The kernel tells a write to watchers of the name that was used, and to no others.
        """
        name = self._written.get(row.inode) if row else None
        if row is None or name is None:
            return False
        if name not in disk or disk[name].inode != row.inode:
            return True
        return name.rpartition("/")[0] in ignored_paths(disk, tracked_paths(disk))

    def _check_tree(self, tree: str, disk: Disk, is_full: bool) -> set[str]:
        """What must be in a tree is; return why anything is left out.

        `is_full`: something is beyond the limit of entries. Nobody looks how large that is, or
        into such a folder.
        """
        self._check_entries(tree, disk)
        recorded = self._trees.read(tree)
        wanted = self._recordable(disk)
        ignored = ignored_paths(disk, tracked_paths(disk))
        left = {self._reason(row) for path, row in disk.items() if path not in ignored} - {""}
        if is_full:
            left.clear()
        if any(not is_full or path.rpartition("/")[0] in {"", *recorded} for path in ignored):
            left.add("ignored")
        missing = {path for path in wanted - recorded.keys() if disk[path].kind != "d"}
        if missing and self._files and len(disk.keys() - ignored) > self._files:
            return {"beyond"}
        for path in sorted(missing):
            self.note("unrecorded", f"{path} is not in the tree")
        return left

    def _recordable(self, disk: Disk) -> set[str]:
        """Return the paths that no rule, size or kind leaves out."""
        ignored = ignored_paths(disk, tracked_paths(disk))
        return {path for path, row in disk.items() if not self._reason(row)} - ignored

    def _reason(self, row: Row) -> str:
        """Return why a path is left out, whatever rules say; "" if it is not."""
        is_large = self._file_bytes and row.kind == "f" and len(row.data) > self._file_bytes
        return "special" if row.kind == "p" else "large" if is_large else ""

    def _remember(self, tree: str, disk: Disk) -> None:
        paths = {path for path, row in disk.items() if row.kind != "d"}
        self._moments[tree] = self._moments.get(tree, paths) & paths
        self._unmade = self._unmade & paths | paths - self._trees.read(tree).keys()
        self._bits[tree] = _bits_of(disk)
        self._agreed_at[tree] = dict(self._agreed)
        self._last = disk


def _bits_of(disk: Disk) -> dict[str, int]:
    rows = ((path, row.mode & BITS) for path, row in disk.items() if row.kind == "d")
    return {path: bits for path, bits in rows if bits}


def tracked_paths(disk: Disk) -> set[str]:
    """Return the files that the repositories of a folder track, unless one is ignored itself."""
    indexes = [path for path in disk if f"/{path}".endswith("/.git/index")]
    ignored = ignored_paths(disk, set()) if indexes else set()
    tracked = set()
    for path in indexes:
        row = disk[path]
        if row.kind == "f" and path not in ignored:
            above = path.removesuffix(".git/index")
            tracked |= {above + name for name in _index(row.data)}
    return tracked


def _index(data: bytes) -> set[str]:
    """Return the names in an index of git, of version 2."""
    names, at = set(), 12
    for _ in range(int.from_bytes(data[8:12], "big")):
        end = data.index(b"\0", at + 62)
        names.add(data[at + 62 : end].decode())
        at += (end - at + 8) // 8 * 8
    return names


def _entry(row: Row | None) -> tuple[Any, ...] | None:
    return row.entry if row else None


def _kind(row: Row | None) -> str:
    return row.kind if row else ""


def _is_file(row: Row | None) -> bool:
    return row is not None and row.kind != "d"


def _is_below(path: str, places: Iterable[str]) -> bool:
    return any(path == one or path.startswith(one + "/") for one in places)
