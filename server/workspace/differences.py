"""How two trees differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import compress
from operator import ne
from typing import Any

from .objects import ObjectStore
from .omitted_paths import Left
from .trees import Count, Entries, Entry, Place, is_left, load_in_walk, text_of

UNKNOWN: Entry = ["x", ""]  # not named by the tree, but something may be there


@dataclass(frozen=True)
class Difference:
    """An entry that differs between two trees; None where there is none.

    Where one of the trees left something out, its entry is `["x", reason]`.
    """

    place: Place
    before: Entry | None
    after: Entry | None

    @property
    def change(self) -> str:
        """Return added, deleted, mode (and nothing else) or modified."""
        if self.before is None:
            return "added"
        if self.after is None:
            return "deleted"
        if self.before[0] == self.after[0] and self.before[2:] == self.after[2:] != []:
            return "mode"
        return "modified"

    @property
    def row(self) -> dict[str, Any]:
        """Return it for clients: {path, change, bytes?}."""
        about: dict[str, Any] = {"path": text_of(self.place), "change": self.change}
        if self.after and self.after[0] == "f":
            about["bytes"] = self.after[2]
        return about

    @property
    def of_folder(self) -> bool:
        """Tell whether it is a folder that comes, goes or gets another mode."""
        return _is_folder(self.after or self.before)

    def of_files(self) -> Difference | None:
        """Return what it says of files and links, None if that is nothing."""
        one, other = (
            None if entry and entry[0] in ("d", "x") else entry
            for entry in (self.before, self.after)
        )
        is_unknown = is_left(self.before) or is_left(self.after)
        return None if is_unknown or one == other else Difference(self.place, one, other)


def differences(
    store: ObjectStore,
    before: str | None,
    after: str | None,
    folders: bool = False,
    unknown: bool = False,
    strict: bool = False,
) -> Iterator[Difference]:
    """Yield the files and links that differ, in order; None is the empty tree.

    What one of the trees left out is no difference: nothing was added or deleted there. With
    `folders` also folders that were added or deleted or got another mode, before what they hold;
    their ids tell nothing. With `unknown` also what one tree left out and the other did not; with
    `strict` a tree that does not say what it left out may have left out anything.
    """
    left = Left(store, before, strict), Left(store, after, strict)
    yield from _Walk(store, left, folders, unknown, Count()).differences(before, after, ())


@dataclass
class _Walk:
    """One comparison. A folder that a tree left out is "", one that it does not have None."""

    _store: ObjectStore
    _left: tuple[Left, Left]
    _folders: bool
    _unknown: bool
    _count: Count

    def differences(
        self, before: str | None, after: str | None, place: Place
    ) -> Iterator[Difference]:
        """Yield how two folders at a place differ."""
        if before == after:
            return
        old, new = self._entries(before, place), self._entries(after, place)
        names = sorted(old.keys() | new.keys())
        for name in compress(names, map(ne, map(old.get, names), map(new.get, names))):
            one, other = old.get(name), new.get(name)
            here = (*place, name)
            if one is None and (before == "" or self._left[0].may_hold(here, _is_folder(other))):
                one = UNKNOWN
            if other is None and (after == "" or self._left[1].may_hold(here, _is_folder(one))):
                other = UNKNOWN
            left = is_left(one) + is_left(other)
            if not left or self._unknown and left == 1 and name:
                yield from self._rows(here, one, other)

    def _entries(self, folder: str | None, place: Place) -> Entries:
        return load_in_walk(self._store, folder, place, self._count) if folder else {}

    def _rows(self, here: Place, one: Entry | None, other: Entry | None) -> Iterator[Difference]:
        was_folder, is_folder = _is_folder(one), _is_folder(other)
        if self._folders or not was_folder and not is_folder:
            if not (was_folder and is_folder and one and other and one[1] == other[1]):
                yield Difference(here, _plain(one), _plain(other))
        elif one and other and was_folder != is_folder and not (is_left(one) or is_left(other)):
            # The file of the two; what the folder holds follows.
            yield Difference(here, None if was_folder else one, None if is_folder else other)
        if was_folder or is_folder:
            yield from self.differences(_below(one), _below(other), here)


def _is_folder(entry: Entry | None) -> bool:
    return entry is not None and entry[0] == "d"


def _below(entry: Entry | None) -> str | None:
    if entry is None or entry[0] != "d":
        return "" if is_left(entry) else None
    return str(entry[2])


def _plain(entry: Entry | None) -> Entry | None:
    return ["d", entry[1], ""] if entry is not None and entry[0] == "d" else entry
