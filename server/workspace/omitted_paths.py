"""What a tree left out: whether something may be at a place where it has no entry.

A tree names what it left out for its size or kind, and the first name beyond the limit of entries;
what rules ignored follows from the `.gitignore` files in it. Only a place that nothing of this
explains was empty when the tree was recorded.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from . import git_index, ignore
from .errors import WorkspaceError
from .ignore import Budget, Stack, TooManyError
from .objects import ObjectStore
from .trees import BEYOND, Entries, Place, is_left, load


class _Folder(NamedTuple):
    entries: Entries
    stack: Stack
    is_out: bool  # anything may be in it
    is_ignored: bool  # anything may be in it that git does not track
    beyond: str  # the first name beyond the limit, "" if there is none


class Left:
    """What one tree left out; None is the empty tree.

    `strict`: of a tree that does not say what it left out, as earlier versions made them, anything
    may have been; else what its rules do not ignore counts as absent.
    """

    def __init__(self, store: ObjectStore, tree: str | None, strict: bool = False) -> None:
        self._store, self._tree, self._strict = store, tree, strict
        self._folders: dict[Place, _Folder] = {}
        self._tracked: dict[Place, frozenset[str]] = {}  # by repository
        self._budget = Budget()

    def may_hold(self, place: Place, is_folder: bool) -> bool:
        """Return whether something may be at a place without an entry. Raises WorkspaceError."""
        return self._is_out(self._folder(place[:-1]), place, is_folder)

    def knows(self, place: Place) -> bool:
        """Return whether the tree tells what is at a place, or that nothing is there."""
        entry = self._folder(place[:-1]).entries.get(place[-1])
        if entry:
            return not is_left(entry)
        return not any(self.may_hold(place, is_folder) for is_folder in (False, True))

    def _folder(self, place: Place) -> _Folder:
        if place not in self._folders:
            self._folders[place] = self._read(place)
        return self._folders[place]

    def _read(self, place: Place) -> _Folder:
        entries: Entries = {}
        stack: Stack = ()
        is_out = is_ignored = False
        if place:
            above = self._folder(place[:-1])
            entry = above.entries.get(place[-1])
            is_out = above.is_out or is_left(entry) or not entry and _is_beyond(above, place[-1])
            is_ignored = self._is_ignored(above, place, True)
            stack = ignore.stack_below(above.stack, place[-1])
            entries = load(self._store, entry[2]) if entry and entry[0] == "d" else {}
        elif self._tree is not None:
            entries = load(self._store, self._tree)
            is_out = self._strict and "" not in entries
        rules = entries.get(ignore.NAME, [""])
        if rules[0] == "x":
            is_out = True
        elif rules[0] == "f" and rules[2] <= ignore.MAX_BYTES and stack is not None:
            try:
                found = ignore.rules_of(self._store.read(rules[3], rules[2]), self._budget)
                stack = ignore.with_rules(stack, found, len(place))
            except (TooManyError, WorkspaceError):
                is_out = True
        beyond = min((name for name in entries if entries[name] == ["x", BEYOND]), default="")
        return _Folder(entries, stack, is_out, is_ignored, beyond)

    def _is_out(self, above: _Folder, place: Place, is_folder: bool) -> bool:
        if above.is_out or _is_beyond(above, place[-1]):
            return True
        is_ignored = self._is_ignored(above, place, is_folder)
        return is_ignored and (is_folder or not self._is_tracked(place))

    def _is_tracked(self, place: Place) -> bool:
        """Return whether the repository around a place tracks a file there."""
        for depth in range(len(place) - 1, -1, -1):
            if git_index.FOLDER in self._folder(place[:depth]).entries:
                if place[:depth] not in self._tracked:
                    self._tracked[place[:depth]] = self._read_index(place[:depth])
                return "/".join(place[depth:]) in self._tracked[place[:depth]]
        return False

    def _read_index(self, place: Place) -> frozenset[str]:
        entry = self._folder((*place, git_index.FOLDER)).entries.get(git_index.NAME, [""])
        if entry[0] != "f" or entry[2] > git_index.MAX_BYTES:
            return frozenset()
        with suppress(WorkspaceError):
            return git_index.tracked_paths(self._store.read(entry[3], entry[2]))
        return frozenset()

    def _is_ignored(self, above: _Folder, place: Place, is_folder: bool) -> bool:
        if above.is_ignored:
            return True
        try:
            return ignore.leaves_out(above.stack, place, is_folder, self._budget)
        except TooManyError:
            return True


def _is_beyond(folder: _Folder, name: str) -> bool:
    return folder.beyond != "" and name > folder.beyond
