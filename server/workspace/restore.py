"""Make a folder what a tree says: contents, modes and links, byte for byte.

What is there has been recorded before (scan.py), so nothing is lost at any moment: a file is
written beside its place under a name that the next scan removes, and renamed; removals come last.
Only what both trees know is changed or removed. What one of them left out is made where nothing is,
and else left as it is, unless a person gives it up: nothing keeps what is there. A file that
changed since it was scanned is not replaced.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Set
from contextlib import suppress
from dataclasses import dataclass, field

from ..lib.runtime.descriptors import open_fd
from .differences import differences
from .objects import ObjectStore, sync_file_system
from .omitted_paths import Left
from .scan import CLOSED, FILE, FOLDER, GONE, NEW_FILE, Stamp, stamp_of
from .trees import Entry, Place, is_left

OPEN_FOLDERS = 32
BLOCKING = frozenset({errno.EISDIR, errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EBUSY})
Step = Callable[[str], None]


def no_step(name: str) -> None:
    """Do nothing at a step; tests pass a function that ends the process there."""


class Folders:
    """Open folders below a top one, which are reached name by name without following links."""

    def __init__(self, top: int) -> None:
        self.top = top
        self._open: dict[Place, int] = {}

    def __enter__(self) -> Folders:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all but the top one."""
        while self._open:
            os.close(self._open.popitem()[1])

    def at(self, place: Place) -> int:
        """Return a descriptor of a folder, valid until the next call. Raises OSError."""
        if not place:
            return self.top
        if place in self._open:
            return self._open[place]
        depth = next(n for n in range(len(place) - 1, -1, -1) if not n or place[:n] in self._open)
        if len(self._open) >= OPEN_FOLDERS:
            kept = {place[:n] for n in range(max(1, depth - OPEN_FOLDERS // 2), depth + 1)}
            for other in [other for other in self._open if other not in kept]:
                os.close(self._open.pop(other))
        descriptor = self._open[place[:depth]] if depth else self.top
        for end in range(depth + 1, len(place) + 1):
            below = os.open(place[end - 1], FOLDER, dir_fd=descriptor)
            descriptor = self._open[place[:end]] = below
            if len(self._open) > 2 * OPEN_FOLDERS:
                oldest = next(iter(self._open))
                os.close(self._open.pop(oldest))
        return descriptor

    def has(self, place: Place) -> bool:
        """Return whether anything is at a place."""
        try:
            os.stat(place[-1], dir_fd=self.at(place[:-1]), follow_symlinks=False)
        except OSError as error:
            return error.errno not in GONE
        return True

    def can_read(self, place: Place) -> bool:
        """Return whether a file that can be read is at a place."""
        try:
            with open_fd(place[-1], FILE, dir_fd=self.at(place[:-1])) as file:
                return not stat.S_ISDIR(os.fstat(file).st_mode)
        except OSError:
            return False

    def forget(self, place: Place) -> None:
        """Close a folder that goes away, and those in it."""
        for other in [other for other in self._open if other[: len(place)] == place]:
            os.close(self._open.pop(other))


@dataclass
class Plan:
    """What must be done, each list in its order; entries as in trees."""

    removed: list[tuple[Place, Entry]] = field(default_factory=list)  # in the way of another kind
    folders: list[tuple[Place, int]] = field(default_factory=list)  # to make
    files: list[tuple[Place, Entry, Entry | None]] = field(default_factory=list)  # after, before
    obsolete: list[tuple[Place, Entry]] = field(default_factory=list)  # to remove at the end
    modes: list[tuple[Place, int]] = field(default_factory=list)  # of folders that are there
    left: bool = False  # one of the trees left out what the other has

    @property
    def is_empty(self) -> bool:
        """Tell whether there is nothing to do."""
        return not (self.removed or self.folders or self.files or self.obsolete or self.modes)


def plan(
    store: ObjectStore,
    before: str,
    after: str,
    only: Set[Place] | None = None,
    first: Left | None = None,
    given_up: Set[Place] = frozenset(),
) -> Plan:
    """Return what makes the tree `before` the tree `after`, at all places or `only` at some.

    At those what `after` has no entry for goes, whatever its rules ignore. `first`: what was left
    out when the restore began is not touched, although it is recorded since. `given_up`: what is
    removed there although `before` left it out.
    """
    found = Plan()
    for item in differences(store, before, after, folders=True, unknown=True, strict=True):
        if only is not None and item.place not in only or first and not first.knows(item.place):
            continue
        old, new, place = item.before, item.after, item.place
        if is_left(new) and only is not None:
            new = None
        if old and not new and place in given_up:
            found.obsolete.append((place, old))
            continue
        if is_left(old) or is_left(new):
            found.left, old = True, None
        if is_left(new):
            continue  # it may be meant to be there
        if old and not new:
            found.obsolete.append((place, old))
        if old and new and old[0] != new[0] and "d" in (old[0], new[0]):
            found.removed.append((place, old))
            old = None
        if new and new[0] == "d":
            if old is None:
                found.folders.append((place, new[1]))
            if not is_left(item.before):
                found.modes.append((place, new[1]))
        elif new:
            found.files.append((place, new, old))
    ways = {place for place, entry in found.removed if entry[0] == "d"}
    # What a folder holds goes with it, before anything takes its place.
    inside = [row for row in found.obsolete if any(row[0][:n] in ways for n in range(len(row[0])))]
    taken = {place for place, _ in inside}
    found.removed += inside
    found.removed.sort(key=lambda row: len(row[0]), reverse=True)
    found.obsolete = [row for row in found.obsolete if row[0] not in taken]
    found.obsolete.sort(key=lambda row: len(row[0]), reverse=True)
    return found


class Restore:
    """One restore of a folder."""

    def __init__(
        self,
        top: int,
        store: ObjectStore,
        draft: str,
        stamps: Callable[[Place], Stamp | None],
        step: Step = no_step,
        given_up: Set[Place] = frozenset(),
    ) -> None:
        """`draft`: name of a temporary file; `stamps`: what files were like when scanned.

        `given_up`: where also a file that the scan left out is replaced.
        """
        self.top, self.store = top, store
        self.draft, self.stamps, self.step, self.given_up = draft, stamps, step, given_up
        self.blocked: list[Place] = []  # could not be made: something left out is in the way
        self.changed = False  # a file was changed meanwhile, so it was left
        self._folders = Folders(top)
        self._modes: dict[Place, int] = {}  # of folders, which they get at the end
        self._opened_up: dict[Place, int] = {}  # folders that were made writable -> their mode
        self._several: set[int] = set()  # inodes that lose a name here and have others

    def perform(self, todo: Plan) -> None:
        """Do what a plan says. Raises OSError where the system refuses, and WorkspaceError."""
        self._modes = dict(todo.modes)
        with self._folders:
            for place, entry in todo.removed:
                self._remove(place, entry)
            for place, mode in todo.folders:
                self._make_folder(place, mode)
            for place, entry, before in todo.files:
                self._put(place, entry, before)
            for place, entry in todo.obsolete:
                self._remove(place, entry)
            modes = {**self._opened_up, **self._modes}
            for place in sorted(modes, key=len, reverse=True):
                self._set_mode(place, modes[place])
        sync_file_system(self.top)
        self.step("synchronized")

    # -- steps

    def _remove(self, place: Place, entry: Entry) -> None:
        self.step("remove")
        is_folder = entry[0] == "d"
        try:
            above = self._writable(place[:-1])
            if is_folder:
                self._folders.forget(place)
                above = self._folders.at(place[:-1])
                os.rmdir(place[-1], dir_fd=above)
            elif self._is_as_scanned(above, place):
                os.unlink(place[-1], dir_fd=above)
        except OSError as error:
            if error.errno not in GONE | BLOCKING:
                raise
            # A folder that holds what is left out stays.

    def _make_folder(self, place: Place, mode: int) -> None:
        self.step("folder")
        try:
            above = self._writable(place[:-1])
            if place in self.given_up:
                with suppress(OSError):
                    os.unlink(place[-1], dir_fd=above)
            try:
                os.mkdir(place[-1], 0o700 | mode, dir_fd=above)
                self._opened_up[place] = mode
                self._folders.at(place)
            except FileExistsError:
                about = os.fstat(self._folders.at(place))
                if about.st_mode & 0o777 != mode and place not in self._modes:
                    self.blocked.append(place)
        except OSError as error:
            if error.errno not in GONE | BLOCKING:
                raise
            self.blocked.append(place)

    def _put(self, place: Place, entry: Entry, before: Entry | None) -> None:
        try:
            above = self._writable(place[:-1])
        except OSError as error:
            if error.errno not in GONE | BLOCKING:
                raise
            self.blocked.append(place)
            return
        if before is None and place not in self.given_up and self._is_taken(above, place, entry):
            return
        if before and before[0] == "f" and entry[0] == "f" and before[2:] == entry[2:]:
            if self._is_as_scanned(above, place) and _set_file_mode(above, place[-1], entry[1]):
                self.step("mode")
                return
        draft = self.draft
        self.step("write")
        try:
            with suppress(FileNotFoundError):  # of a restore that was cut, in an ignored folder
                os.unlink(draft, dir_fd=above)
            if entry[0] == "l":
                os.symlink(entry[1], draft, dir_fd=above)
            else:
                self._write(above, draft, entry)
            self.step("rename")
            if self._is_as_scanned(above, place):
                os.rename(draft, place[-1], src_dir_fd=above, dst_dir_fd=above)
        except OSError as error:
            if error.errno not in BLOCKING:
                raise
            self.blocked.append(place)
        finally:
            with suppress(OSError):  # mostly it has its name by now
                os.unlink(draft, dir_fd=above)

    def _write(self, above: int, draft: str, entry: Entry) -> None:
        with open_fd(draft, NEW_FILE, dir_fd=above) as descriptor:
            self.store.copy_to(entry[3], descriptor)
            os.fchmod(descriptor, entry[1])

    def _set_mode(self, place: Place, mode: int) -> None:
        self.step("folder mode")
        try:
            folder = self._folders.at(place)
            # Trees do not record what is above the nine bits, so the folder keeps that.
            os.fchmod(folder, os.fstat(folder).st_mode & 0o7000 | mode)
        except OSError as error:
            if error.errno not in GONE | CLOSED:
                raise

    # -- checks

    def _is_taken(self, above: int, place: Place, entry: Entry) -> bool:
        """Return whether something is at a place, and note it if it is not what an entry says."""
        found = is_there(above, place[-1], entry)
        if found is False:
            self.blocked.append(place)
        return found is not None

    def _is_as_scanned(self, above: int, place: Place) -> bool:
        """Return whether a name is what the scan saw, and note it if not."""
        try:
            about = os.stat(place[-1], dir_fd=above, follow_symlinks=False)
        except FileNotFoundError:
            return True
        seen = self.stamps(place)
        if seen is None and place in self.given_up:
            return True
        if seen is None:
            self.blocked.append(place)
            return False
        found, inode = stamp_of(about), about.st_ino
        if inode in self._several:  # losing another name gave it a new ctime
            found = (*found[:3], seen[3], inode)
        if found != seen:
            self.changed = True
            return False
        if about.st_nlink > 1:
            self._several.add(inode)
        return True

    def _writable(self, place: Place) -> int:
        """Return a descriptor of a folder, in which files can be made."""
        descriptor = self._folders.at(place)
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        if mode & 0o300 != 0o300 and place:
            os.fchmod(descriptor, mode | 0o700)
            self._opened_up[place] = mode
        return descriptor


def is_there(above: int, name: str, entry: Entry) -> bool | None:
    """Return whether what is at a name is what an entry says, None if nothing is."""
    try:
        about = os.stat(name, dir_fd=above, follow_symlinks=False)
        if entry[0] == "l":
            return stat.S_ISLNK(about.st_mode) and os.readlink(name, dir_fd=above) == entry[1]
        if entry[0] == "d" or not stat.S_ISREG(about.st_mode):
            return entry[0] == "d" and stat.S_ISDIR(about.st_mode)
        if [about.st_mode & 0o777, about.st_size] != entry[1:3]:
            return False
        with open(os.open(name, FILE, dir_fd=above), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == str(entry[3])
    except FileNotFoundError:
        return None
    except PermissionError:
        return False


def _set_file_mode(above: int, name: str, mode: int) -> bool:
    """Set the mode of a regular file; return False if it must be written anew for that."""
    try:
        with open_fd(name, FILE, dir_fd=above) as descriptor:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1:  # other names keep their mode
                return False
            os.fchmod(descriptor, mode)
    except OSError:
        return False
    return True
