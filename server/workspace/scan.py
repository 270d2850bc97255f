"""Record a folder as a tree, reading only what changed since the last time.

All is opened relative to its folder and without following links; only regular files are opened.
What is left out is not recorded and said: `ignored` by rules, `large` or `special` files,
`unreadable` ones, and what is `beyond` the number of entries or the depth that are recorded. What
rules would have ignored is recorded if they are too many; `rules` says so. The tree names what was
left out, but for what the rules in it ignore (omitted_paths.py).

A file is known by its stamp. As in git, one that was written within the clock's granularity of
being read is read again the next time, since a later write could have left the same stamp.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Container, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from ..lib.runtime.descriptors import open_fd
from ..lib.sandbox import host_programs
from . import git_index, ignore
from .ignore import MAX_STEPS, Budget, Rules, Stack, TooManyError
from .objects import ObjectStore, read_some
from .trees import (
    BEYOND,
    DEPTH,
    IGNORED,
    LARGE,
    SAYS,
    SPECIAL,
    UNREADABLE,
    Entries,
    Entry,
    Place,
    has_left,
    keep,
    text_of,
)
from .watch import Watch

READS = 3  # of a file that changes while it is read
NAMED = 10  # paths of a kind in left_out
MAX_NEWLY = 100  # names that are noted when they are left out
MAX_LINKED = 1_000  # files with several names, which are looked at each time
SLACK_NS = 20_000_000  # granularity of the clock of files
COARSE_NS = 2_000_000_000  # of FAT, and the like with whole seconds
GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ESTALE, errno.ENXIO})
CLOSED = frozenset({errno.EACCES, errno.EPERM, errno.EIO})
MAX_UNSEEN, DEPTH_UNSEEN = 2_000, 5  # names of a scan, and folders, that rules ignore
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
PATHS = (LARGE, UNREADABLE, "rules")  # said with their paths, the others with their number

Stamp = tuple[int, int, int, int, int]  # mode, size, mtime, ctime, inode
Known = tuple[Stamp, Entry, bool]  # bool: read again


@dataclass(frozen=True)
class Limits:
    """What is recorded: bytes of a file, and the number of files, links and folders.

    `scratch`: name of a folder at the top that is the sandbox's own, and as if it were not there.
    `steps`: what a scan may spend on rules (ignore.Budget).
    """

    file_bytes: int = 64 << 20
    files: int = 50_000
    scratch: str = ""
    steps: int = MAX_STEPS


LIMITS = Limits()


@dataclass
class Totals:
    """What a folder holds with all below: entries recorded, and what was left out.

    `protected`: what programs run (sandbox/host_programs.py), a folder with the id of its tree.
    `hidden`: there are rules that ignore the file that they are in.
    """

    entries: int = 0
    hidden: bool = False
    left: dict[str, int] = field(default_factory=dict)
    named: dict[str, list[Place]] = field(default_factory=dict)
    protected: dict[Place, Entry] = field(default_factory=dict)

    def add(self, other: Totals, name: str) -> None:
        """Add those of the folder `name`."""
        self.entries += other.entries
        for reason, number in other.left.items():
            self.left[reason] = self.left.get(reason, 0) + number
        for reason, places in other.named.items():
            for place in places:
                self.name(reason, (name, *place))
        for place, entry in other.protected.items():
            if name.lower() not in host_programs.INSTALLED or host_programs.is_of_repository(place):
                self.protected[name, *place] = entry

    def name(self, reason: str, place: Place) -> None:
        """Note a path, if there are not enough yet."""
        named = self.named.setdefault(reason, [])
        if len(named) < NAMED:
            named.append(place)


class Folder:
    """What is known of one folder. `tree` is the id of its object, "" if it must be made."""

    __slots__ = (
        *("files", "first", "folders", "identity", "ignored", "left", "mode", "rules", "totals"),
        *("tree", "unread", "unseen"),
    )

    def __init__(self, first: int = 0) -> None:
        """`first`: the number of the scan that has seen it first."""
        self.first = first
        self.files: dict[str, Known] = {}
        self.folders: dict[str, Folder] = {}
        self.left: dict[str, str] = {}  # name -> reason
        self.unseen: dict[str, Totals] = {}  # of those that rules ignore: what programs run
        self.rules: tuple[Stamp, Rules] | None = None
        self.unread = False  # it has rules, and they are too many
        self.ignored = False  # by rules, so only what git tracks in it is recorded
        self.identity = (0, 0)
        self.mode = 0
        self.tree = ""
        self.totals = Totals()

    def forget(self, name: str) -> None:
        """Remove a name, if it is there."""
        for table in (self.files, self.folders, self.left, self.unseen):
            if table.pop(name, None) is not None:
                self.tree = ""

    @property
    def is_hollow(self) -> bool:
        """Tell whether it holds nothing but what is left out, and is left out itself."""
        return not self.totals.entries and bool(self.totals.left)


class OpenFolder(NamedTuple):
    """A folder whose names are looked at. `ruled`: those that rules may be about."""

    descriptor: int
    folder: Folder
    place: Place
    stack: Stack
    ruled: Container[str]


class Scanner:
    """One folder, and what is known of it from one scan to the next."""

    def __init__(
        self,
        top: int,
        store: ObjectStore,
        limits: Limits = LIMITS,
        known: dict[str, Any] | None = None,
        watched: bool = True,
    ) -> None:
        """`top`: descriptor of the folder. `known`: from `save` of an earlier process."""
        self.top, self.store, self.limits = top, store, limits
        self.is_guarded = False  # what programs run is looked for where rules ignore, too
        self.temporary = ""  # prefix of names that a restore left, which are removed
        self.hashed = 0  # files that were read
        self.newly: list[Place] = []  # the first that the last scan left out and none before
        self._root = Folder()
        self._old: dict[str, Any] = known or {}
        self._linked: dict[Place, set[str]] = {}
        self._tracked: dict[Place, tuple[Stamp, frozenset[str]]] = {}  # by repository
        self._count = self._scans = 0
        self._is_part = False  # only what changed is looked at
        self._budget = Budget(limits.steps)
        self._unseen = 0  # names that were looked at where rules ignore
        self._is_unruled = False  # no rules hold: all together are too many
        self._watch = Watch(top) if watched else None

    def close(self) -> None:
        """End the watch."""
        if self._watch:
            self._watch.close()

    def scan(self, everything: bool = False) -> str:
        """Return the tree of the folder as it is; `everything`: whatever the watch says."""
        self._budget = Budget(self.limits.steps)
        self._unseen = 0
        self._scans += 1
        self.newly.clear()
        if everything or not self._scan_changes():
            for self._is_unruled in (False, True):
                self._linked.clear()
                self._count = 0
                with suppress(TooManyError):
                    self._scan(self.top, self._root, (), ())
                    break
            self._old = {}
        self._seal(self._root, "")
        return self._root.tree

    def left_out(self) -> dict[str, Any]:
        """Return what the last scan left out: numbers, or up to NAMED paths; {} for nothing."""
        totals = self._root.totals
        return {
            reason: [text_of(place) for place in totals.named[reason]]
            if reason in PATHS
            else number
            for reason, number in sorted(totals.left.items())
        }

    def protected_places(self) -> dict[Place, Entry]:
        """Return what other programs run, as the last scan found it; nobody may change it."""
        return self._root.totals.protected

    def stamp(self, place: Place) -> Stamp | None:
        """Return the stamp of a recorded file or link as it was scanned."""
        found = self.folder(place[:-1])
        known = found.files.get(place[-1]) if found else None
        return known[0] if known else None

    def known(self, place: Place, about: os.stat_result) -> str | None:
        """Return the SHA-256 of a file, if it was recorded and is as it was then."""
        found = self.folder(place[:-1])
        row = found.files.get(place[-1]) if found else None
        if row is None or row[2] or row[1][0] != "f" or row[0] != stamp_of(about):
            return None
        return str(row[1][3])

    def reason(self, place: Place) -> str:
        """Return why the last scan left out what is at a place, "" if nothing is there."""
        above = self.folder(place[:-1])
        if above is None:
            return ""
        return above.left.get(place[-1]) or (IGNORED if place[-1] in above.folders else "")

    def folder(self, place: Place) -> Folder | None:
        """Return what is known of a folder."""
        folder: Folder | None = self._root
        for name in place:
            folder = folder.folders.get(name) if folder else None
        return folder

    def is_new_folder(self, place: Place) -> bool:
        """Return whether the last scan found a folder that was not at this place before."""
        found = self.folder(place)
        return found is not None and found.first == self._scans

    def save(self) -> dict[str, Any]:
        """Return what is known of files as JSON, for a later process."""
        files: dict[str, Any] = {}
        waiting: list[tuple[Place, Folder]] = [((), self._root)]
        while waiting:
            place, folder = waiting.pop()
            waiting += (((*place, name), below) for name, below in folder.folders.items())
            kept = {
                name: [*stamp, entry[3]]
                for name, (stamp, entry, again) in folder.files.items()
                if entry[0] == "f" and not again
            }
            if kept:
                files["/".join(place)] = kept
        return files

    # -- changes only

    def _scan_changes(self) -> bool:
        """Look at what the watch says; return False if everything must be looked at."""
        if not self._root.totals.entries or BEYOND in self._root.totals.left:
            return False
        changes = self._watch.changes() if self._watch else None
        if changes is None or sum(map(len, self._linked.values())) > MAX_LINKED:
            return False
        for place, names in self._linked.items():
            changes.names.setdefault(place, set()).update(names)
        self._count = self._root.totals.entries
        self._is_part = True
        try:
            for place in sorted(changes.names):
                new = {name for name in changes.names[place] if (*place, name) in changes.new}
                self._scan_names(place, changes.names[place], new)
        except (_LookAtAll, TooManyError):
            return False
        finally:
            self._is_part = False
        return True

    def _scan_names(self, place: Place, names: set[str], new: set[str]) -> None:
        folder = self.folder(place)
        if folder is None:  # it is gone, or ignored, or was just scanned as a new one
            return
        if git_index.FOLDER in names:  # another repository tracks other files
            raise _LookAtAll
        try:
            if place[-1:] == (git_index.FOLDER,) and git_index.NAME in names:
                with self._opened(place[:-1]) as descriptor:
                    self._look_at_index(descriptor, place[:-1])
            with self._opened(place) as descriptor:
                stack = self._stack(place)
                if ignore.NAME in names and stack is not None:
                    if self._is_unruled:  # they may be fewer now
                        raise _LookAtAll
                    self._scan(descriptor, folder, place, self._stack(place[:-1]) if place else ())
                else:
                    ruled = ignore.subjects(stack, place, [*names], self._budget)
                    here = OpenFolder(descriptor, folder, place, stack, ruled)
                    for name in names:
                        if name in new:
                            self._drop(folder, place, name)
                        self._look(here, name, deep=False)
        except OSError as error:
            if error.errno not in GONE | CLOSED:
                raise
            # The folder above has an event of it, too, or will have.
            self._drop_place(place)
        if not folder.tree:
            self._change(place)

    @contextmanager
    def _opened(self, place: Place) -> Iterator[int]:
        descriptor = self.top
        with ExitStack() as way:
            for name in place:
                descriptor = way.enter_context(open_fd(name, FOLDER, dir_fd=descriptor))
            yield descriptor

    def _drop_place(self, place: Place) -> None:
        above = self.folder(place[:-1]) if place else None
        if above:
            self._drop(above, place[:-1], place[-1])
            self._change(place[:-1])

    def _change(self, place: Place) -> None:
        folder = self._root
        folder.tree = ""
        for name in place:
            folder = folder.folders[name]
            folder.tree = ""

    def _stack(self, place: Place) -> Stack:
        """Return the rules that hold in a folder, its own among them."""
        folder, stack = self._root, _with_rules((), self._root, 0)
        for depth, name in enumerate(place, 1):
            folder = folder.folders[name]
            stack = _with_rules(ignore.stack_below(stack, name), folder, depth)
        return stack

    # -- everything

    def _scan(self, descriptor: int, folder: Folder, place: Place, above: Stack) -> None:
        if self._watch:
            self._watch.add(descriptor, place)
        with os.scandir(descriptor) as listing:
            found = sorted(listing, key=attrgetter("name"))
        if above is not None:
            self._read_rules(descriptor, folder)
        stack = _with_rules(above, folder, len(place))
        names = {entry.name for entry in found}
        ruled = ignore.subjects(stack, place, [*names], self._budget)
        if git_index.FOLDER in names:
            self._read_index(descriptor, place)
        elif self._tracked:
            self._tracked.pop(place, None)
        for table in (folder.files, folder.folders, folder.left):
            for name in [name for name in table if name not in names]:
                self._drop(folder, place, name)
        here = OpenFolder(descriptor, folder, place, stack, ruled)
        for entry in found:
            self._look(here, entry.name, deep=True, entry=entry)

    def _read_index(self, descriptor: int, place: Place) -> frozenset[str]:
        """Read what git tracks in a repository, if its index changed, and return it."""
        before = self._tracked.pop(place, None)
        with suppress(OSError):
            with (
                open_fd(git_index.FOLDER, FOLDER, dir_fd=descriptor) as inner,
                open_fd(git_index.NAME, FILE, dir_fd=inner) as file,
            ):
                about = os.fstat(file)
                found = before
                if not before or before[0] != stamp_of(about) or is_fresh(about, time.time_ns()):
                    is_read = stat.S_ISREG(about.st_mode) and about.st_size <= git_index.MAX_BYTES
                    index = read_some(file, git_index.MAX_BYTES) if is_read else b""
                    found = stamp_of(about), git_index.tracked_paths(index)
                self._tracked[place] = found or (stamp_of(about), frozenset())
        return self._tracked[place][1] if place in self._tracked else frozenset()

    def _look_at_index(self, descriptor: int, place: Place) -> None:
        """Read an index that changed. Raises _LookAtAll if rules ignore what it newly has."""
        before = self._tracked.get(place)
        changed = self._read_index(descriptor, place) ^ (before[1] if before else frozenset())
        if any(self._is_ruled_out((*place, *path.split("/"))) for path in changed):
            raise _LookAtAll

    def _is_ruled_out(self, place: Place) -> bool:
        """Return whether rules ignore a file, or a folder on the way to it."""
        folder, stack = self._root, _with_rules((), self._root, 0)
        for end, name in enumerate(place, 1):
            if ignore.leaves_out(stack, place[:end], end < len(place), self._budget):
                return True
            if name not in folder.folders:
                break
            folder = folder.folders[name]
            stack = _with_rules(ignore.stack_below(stack, name), folder, end)
        return False

    def _is_tracked(self, place: Place) -> bool:
        """Return whether the repository around a place tracks it, or something in it."""
        for depth in range(len(place) - 1, -1, -1) if self._tracked else ():
            if found := self._tracked.get(place[:depth]):
                return "/".join(place[depth:]) in found[1]
        return False

    def _read_rules(self, descriptor: int, folder: Folder) -> None:
        """Read the rules of a folder, if its file changed."""
        before, folder.rules, unread = folder.rules, None, False
        with suppress(OSError), open_fd(ignore.NAME, FILE, dir_fd=descriptor) as file:
            about = os.fstat(file)
            if stat.S_ISREG(about.st_mode):
                unread = self._is_unruled or about.st_size > ignore.MAX_BYTES
                folder.rules = None if unread else self._rules(file, about, before)
                unread = folder.rules is None
        if unread != folder.unread:
            folder.unread, folder.tree = unread, ""

    def _rules(
        self, file: int, about: os.stat_result, before: tuple[Stamp, Rules] | None
    ) -> tuple[Stamp, Rules] | None:
        """Return the rules of a file, those `before` if it is the same. None if it has too many.

        Raises TooManyError if all together are too many.
        """
        stamp = stamp_of(about)
        if before and before[0] == stamp and not is_fresh(about, time.time_ns()):
            return before
        rules = ignore.rules_of(read_some(file, ignore.MAX_BYTES), self._budget)
        return (stamp, rules) if rules else None

    def _drop(self, folder: Folder, place: Place, name: str) -> None:
        below = folder.folders.get(name)
        folder.forget(name)
        if self._watch and below:
            waiting = [((*place, name), below)]
            while waiting:
                here, gone = waiting.pop()
                self._watch.drop(here)
                waiting += (((*here, inner), item) for inner, item in gone.folders.items())

    # -- one name

    def _look(
        self, here: OpenFolder, name: str, *, deep: bool, entry: os.DirEntry[str] | None = None
    ) -> None:
        """Look at one name of a folder. `deep`: what is below is looked at as well."""
        descriptor, folder, place, stack, ruled = here
        if name == self.limits.scratch and not place:
            return
        try:
            if entry:
                about = entry.stat(follow_symlinks=False)
            else:
                about = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        except OSError as error:
            if error.errno not in GONE | CLOSED:
                raise
            self._drop(folder, place, name)
            return
        if self.temporary and name.startswith(self.temporary):
            with suppress(OSError):
                os.unlink(name, dir_fd=descriptor)
            self._drop(folder, place, name)
            return
        kind = stat.S_IFMT(about.st_mode)
        is_folder = kind == stat.S_IFDIR
        ignored = folder.ignored or (
            name in ruled and ignore.leaves_out(stack, (*place, name), is_folder, self._budget)
        )
        if kind == stat.S_IFREG and about.st_nlink > 1:
            names = self._linked.setdefault(place, set())
            if self._is_part and name not in names:
                raise _LookAtAll  # its other names had no event
            names.add(name)
        if ignored and not self._is_tracked((*place, name)):
            self._leave(folder, place, name, IGNORED)
            if is_folder and self.is_guarded:
                self._look_where_ignored(descriptor, folder, name)
        elif not self._may_count(deep or name not in folder.files and name not in folder.folders):
            self._leave(folder, place, name, BEYOND)
        elif is_folder:
            below = folder.folders.get(name)
            deep = deep or below is None or below.ignored != ignored
            self._look_below(here, name, about, deep, ignored)
        elif kind == stat.S_IFREG:
            self._look_at_file(here, name, about)
        elif kind == stat.S_IFLNK:
            self._look_at_link(here, name, about)
        else:
            self._leave(folder, place, name, SPECIAL)

    def _look_where_ignored(self, descriptor: int, folder: Folder, name: str) -> None:
        """Note what programs run in a folder that rules ignore, as far as it is soon found."""
        found = Totals()
        for place in self._places_in(descriptor, name, 0):
            found.protected[place] = ["x", IGNORED]
        if found.protected.keys() != folder.unseen.get(name, Totals()).protected.keys():
            folder.unseen[name], folder.tree = found, ""

    def _places_in(self, descriptor: int, name: str, depth: int) -> Iterator[Place]:
        if self._unseen > MAX_UNSEEN or name.lower() in host_programs.INSTALLED:
            return
        with suppress(OSError), open_fd(name, FOLDER, dir_fd=descriptor) as opened:
            with os.scandir(opened) as listing:
                found = islice(listing, MAX_UNSEEN)
                is_folder = {each.name: each.is_dir(follow_symlinks=False) for each in found}
            self._unseen += len(is_folder)
            for each in host_programs.protected_names(name, is_folder, is_folder.__getitem__):
                yield (each,)
            is_repository = host_programs.is_repository(is_folder)
            below = ("modules", "worktrees") if is_repository else is_folder
            for each in sorted(below) if depth < DEPTH_UNSEEN else ():
                if is_folder.get(each):
                    for place in self._places_in(opened, each, depth + 1):
                        yield each, *place

    def _may_count(self, counted: bool) -> bool:
        self._count += counted
        if self._count <= self.limits.files:
            return True
        if self._is_part:
            raise _LookAtAll
        return False

    def _leave(self, folder: Folder, place: Place, name: str, reason: str) -> None:
        if folder.left.get(name) != reason:
            if name not in folder.left and self._scans > 1 and len(self.newly) < MAX_NEWLY:
                self.newly.append((*place, name))
            self._drop(folder, place, name)
            folder.left[name], folder.tree = reason, ""

    def _look_below(
        self, here: OpenFolder, name: str, about: os.stat_result, deep: bool, ignored: bool
    ) -> None:
        descriptor, folder, place, stack, _ = here
        if len(place) >= DEPTH:
            self._leave(folder, place, name, BEYOND)
            return
        identity = about.st_dev, about.st_ino
        below = folder.folders.get(name)
        is_new = below is None or below.identity != identity
        if below is None or is_new:
            self._drop(folder, place, name)
            below = folder.folders[name] = Folder(self._scans)
            below.identity = identity
            folder.tree = ""
        below.ignored = ignored
        mode = about.st_mode & 0o777
        if below.mode != mode:  # it may have become unreadable
            below.mode, folder.tree, deep = mode, "", True
        if not (deep or is_new):
            return
        try:
            with open_fd(name, FOLDER, dir_fd=descriptor) as opened:
                self._scan(opened, below, (*place, name), ignore.stack_below(stack, name))
        except OSError as error:
            self._note_closed(folder, place, name, error)
        if not below.tree:
            folder.tree = ""

    def _look_at_file(self, here: OpenFolder, name: str, about: os.stat_result) -> None:
        folder, place = here.folder, here.place
        if about.st_size > self.limits.file_bytes:
            self._leave(folder, place, name, LARGE)
            return
        stamp = stamp_of(about)
        known = folder.files.get(name) or self._known_before(place, name, stamp)
        if known is None or known[2] or known[0] != stamp:
            try:
                known = self._read(here.descriptor, name)
            except OSError as error:
                self._note_closed(folder, place, name, error)
                return
        if known is None:
            self._leave(folder, place, name, LARGE)
        else:
            self._keep(folder, place, name, known)

    def _note_closed(self, folder: Folder, place: Place, name: str, error: OSError) -> None:
        """Note why a name could not be opened: it is closed, or gone. Raises any other error."""
        if error.errno in CLOSED:
            self._leave(folder, place, name, UNREADABLE)
        elif error.errno in GONE:
            self._drop(folder, place, name)
        else:
            raise error

    def _look_at_link(self, here: OpenFolder, name: str, about: os.stat_result) -> None:
        try:
            target = os.readlink(name, dir_fd=here.descriptor)
        except OSError:  # it is gone, or no link any more: the next scan sees what it is
            self._drop(here.folder, here.place, name)
            return
        self._keep(here.folder, here.place, name, (stamp_of(about), ["l", target], False))

    def _keep(self, folder: Folder, place: Place, name: str, known: Known) -> None:
        before = folder.files.get(name)
        if before is None:
            self._drop(folder, place, name)
        if before is None or before[1] != known[1]:
            folder.tree = ""
        folder.files[name] = known

    def _known_before(self, place: Place, name: str, stamp: Stamp) -> Known | None:
        """Return what an earlier process knew of a file, if that still holds."""
        if not self._old:
            return None
        row = self._old.get("/".join(place), {}).get(name)
        if not isinstance(row, list) or tuple(row[:5]) != stamp:
            return None
        if self.store.size(row[5]) != stamp[1]:
            return None
        return stamp, ["f", stamp[0] & 0o777, stamp[1], row[5]], False

    def _read(self, descriptor: int, name: str) -> Known | None:
        """Store a file. None if it is too large; raises OSError if it is gone or cannot be read."""
        for again in range(READS):
            moment = time.time_ns()
            with open_fd(name, FILE, dir_fd=descriptor) as file:
                before = os.fstat(file)
                if not stat.S_ISREG(before.st_mode):
                    raise OSError(errno.ENOENT, "no regular file any more")
                found = self.store.put_file(file, self.limits.file_bytes)
                after = os.fstat(file)
            self.hashed += 1
            if found is None:
                return None
            sha256, size = found
            is_stable = stamp_of(before) == stamp_of(after) and size == after.st_size
            if is_stable or again == READS - 1:
                break
        entry = ["f", after.st_mode & 0o777, size, sha256]
        return stamp_of(after), entry, not is_stable or is_fresh(after, moment)

    # -- objects

    def _seal(self, folder: Folder, own_name: str) -> None:
        """Make the directory objects that are missing."""
        if folder.tree:
            return
        files = map(itemgetter(1), folder.files.values())
        entries: Entries = dict(zip(folder.files, files, strict=True))
        totals = folder.totals = Totals(len(entries))
        for name, unseen in folder.unseen.items():
            totals.add(unseen, name)
        if folder.left:
            entries |= self._left_entries(folder)
        if folder.unread:
            totals.left["rules"] = 1
            totals.name("rules", (ignore.NAME,))
        for name, below in folder.folders.items():
            self._seal(below, name)
            totals.add(below.totals, name)
            if not below.is_hollow:
                entries[name] = ["d", below.mode, below.tree]
                totals.entries += 1
            elif below.totals.hidden:
                entries[name] = ["x", IGNORED]
                totals.hidden = True
        names = entries.keys() | folder.left.keys()
        for name in host_programs.protected_names(own_name, names, folder.folders.__contains__):
            totals.protected[name,] = entries.get(name) or ["x", folder.left.get(name, "")]
        if folder is self._root or has_left(entries):
            entries[""] = SAYS
        folder.tree = keep(self.store, entries)

    def _left_entries(self, folder: Folder) -> Entries:
        """Return what a folder says of the names that were left out, and count them.

        What rules ignore is not named, unless they ignore the file that they are in. Of what is
        beyond the limit the first is: those before it were all looked at.
        """
        totals, named = folder.totals, Entries()
        for name, reason in folder.left.items():
            totals.left[reason] = totals.left.get(reason, 0) + 1
            if reason in PATHS:
                totals.name(reason, (name,))
            if reason not in (IGNORED, BEYOND):
                named[name] = ["x", reason]
        if BEYOND in totals.left:
            named[min(name for name in folder.left if folder.left[name] == BEYOND)] = ["x", BEYOND]
        totals.entries += len(named)
        if folder.rules and folder.left.get(ignore.NAME) == IGNORED:
            named[ignore.NAME] = ["x", IGNORED]
            totals.hidden = True
        return named


class _LookAtAll(Exception):
    """What changed does not tell enough: which entries are beyond, or other names of a file."""


def _with_rules(stack: Stack, folder: Folder, depth: int) -> Stack:
    return ignore.with_rules(stack, folder.rules[1] if folder.rules else None, depth)


def stamp_of(about: os.stat_result) -> Stamp:
    """Return what tells whether a file changed."""
    return about.st_mode, about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino


def is_fresh(about: os.stat_result, moment_ns: int) -> bool:
    """Return whether a write after `moment_ns` could leave the same times."""
    newest = max(about.st_mtime_ns, about.st_ctime_ns)
    is_coarse = not (about.st_mtime_ns % 1_000_000_000 or about.st_ctime_ns % 1_000_000_000)
    return newest > moment_ns - (COARSE_NS if is_coarse else SLACK_NS)
