"""Take back what calls change of what the owner's programs run, in a folder of the mode write.

In tier A what is there is read-only for calls (sandbox/worker.py), so this is for what was not
there, and for the other tiers. A change is a call's if the kernel says that it was made since the
call began. What git itself writes for new repositories and branches, and what runs nothing, stays.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ..lib.runtime.descriptors import open_fd
from ..lib.sandbox import host_programs
from .errors import WorkspaceError
from .file_access import FileAccess
from .root import Root
from .scan import FILE, FOLDER, SLACK_NS
from .trees import IGNORED, Entry, Place, is_left, load, place_of, text_of

STATE = "protected.json"  # {path: entry}, at the last record
MAX_STATE = 4 << 20
MAX_CONFIG = 64 << 10
MOST_LOOKED_AT = 2_000  # names below one place

# What git writes by itself in a configuration, and what none of it can start.
_SECTION = re.compile(r'\[\s*(\w+)(?:\s+"([^"\\]*)")?\s*\]')
_KEY = re.compile(r"(\w+)\s*=\s*([\w.,:/@+*~ -]*)")
_HARMLESS = {
    "core": "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode"
    " symlinks",
    "remote": "url fetch",
    "branch": "remote merge rebase",
    "user": "name email",
    "extensions": "objectformat worktreeconfig",
    "submodule": "active url",
}
_URL = re.compile(r"(https?|ssh|git|file)://[^-]|[\w.]+@\w[\w.-]*:|/|\.")


def protected_places(state: Path) -> tuple[str, ...]:
    """Return the places that the last record knew, for mounts. `state`: of the workspace."""
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(state / STATE, flags), "rb") as file:
            value = json.loads(file.read(MAX_STATE))
    except (OSError, ValueError, RecursionError):  # nothing was recorded yet
        return ()
    if not isinstance(value, dict):
        return ()
    return tuple(sorted(value, key=lambda text: value[text] == ["x", IGNORED]))  # these come last


class Guard:
    """What programs run in one folder: as the last record knew it, and as it is."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._files = FileAccess(root.top)
        self._known: dict[str, Entry] | None = None

    def save(self) -> None:
        """Take what the last scan found for what holds."""
        now = {text_of(place): entry for place, entry in self._now().items()}
        if now != self._load():
            self._root.state.save(now, STATE)
            self._known = now

    def take_back(self, began_ms: int) -> list[Place]:
        """Undo what a call that began then changed; return the places. The folder was scanned."""
        known, now = self._load(), self._now()
        if {text_of(place): entry for place, entry in now.items()} == known:
            return []
        began_ns = began_ms * 1_000_000 - SLACK_NS
        before = {place_of(text): entry for text, entry in known.items()}
        taken = []
        for place in sorted(before.keys() | now.keys(), key=len):
            old, new = before.get(place), now.get(place)
            if old == new or not self._is_since(place, began_ns, old is None):
                continue
            if not self._is_harmless(place, old, new) and self._put_back(place, old):
                taken.append(place)
        return taken

    def _now(self) -> dict[Place, Entry]:
        return self._root.scanner.protected_places()

    def _load(self) -> dict[str, Entry]:
        if self._known is None:
            self._known = self._root.state.load(STATE)
        return self._known

    # -- whose change

    def _is_since(self, place: Place, began_ns: int, is_new: bool) -> bool:
        """Return whether a place became what it is after a moment."""
        if self._root.scanner.folder(place[:-1]) is None:
            return False  # it went with its folder
        names = {place[-1]}
        if is_new:  # a repository may be complete only now
            names |= {"HEAD", "objects", "refs", "commondir"}
        depth = len(place) - 1
        with suppress(WorkspaceError), self._files.folder(place[:-1]) as above:
            found = [newest_change(above, name) for name in names]
            if not any(found):
                found = [os.fstat(above).st_ctime_ns]  # the place is gone
            while depth and self._root.scanner.is_new_folder(place[:depth]):
                with self._files.folder(place[:depth]) as folder:
                    found.append(os.fstat(folder).st_ctime_ns)
                depth -= 1
            return max(found) >= began_ns
        return True

    # -- what git writes

    def _is_harmless(self, place: Place, old: Entry | None, new: Entry | None) -> bool:
        match place[-1].lower(), new:
            case "config" | "config.worktree", ["f", _, int(size), _] if size <= MAX_CONFIG:
                return is_harmless_config(self._text(old), self._text(new))
            case "commondir", ["f", _, int(size), _] if size < 10:
                return place[-3:-2] == ("worktrees",) and self._text(new).strip() == "../.."
            case "hooks", ["d", _, str(tree)] if tree:
                known = load(self._root.store, old[2]) if old and old[0] == "d" else {}
                return all(
                    entry[0] == "f"
                    and name.endswith(host_programs.SAMPLE)
                    or known.get(name) == entry
                    for name, entry in load(self._root.store, tree).items()
                ) and all(name in load(self._root.store, tree) for name in known)
        return False

    def _text(self, entry: Entry | None) -> str:
        if entry is None or entry[0] != "f" or entry[2] > MAX_CONFIG:
            return ""
        return self._root.store.read(entry[3], MAX_CONFIG).decode("utf-8", "replace")

    # -- back

    def _put_back(self, place: Place, old: Entry | None) -> bool:
        """Make a place what it was; return whether that was possible."""
        if old is not None and old[0] not in ("f", "l", "d"):
            return False  # it was never recorded
        try:
            with suppress(FileNotFoundError):
                self._files.remove(place)
        except WorkspaceError as error:
            if error.code != "not_found":
                return False
        try:
            if old is not None:
                self._make(place, old)
        except WorkspaceError:  # an object is gone, or a folder on the way
            pass
        return True

    def _make(self, place: Place, entry: Entry) -> None:
        if entry[0] == "d":
            self._files.make_folder(place)
            for name, below in load(self._root.store, entry[2]).items():
                self._make((*place, name), below)
        elif is_left(entry):
            return
        elif entry[0] == "f":
            with self._root.store.open(entry[3], entry[2]) as source:
                self._files.place(place, source.fileno())
        with self._files.folder(place[:-1], make=True) as above:
            if entry[0] == "l":
                os.symlink(entry[1], place[-1], dir_fd=above)
                return
            with open_fd(place[-1], FILE, dir_fd=above) as made:
                os.fchmod(made, entry[1])


def newest_change(above: int, name: str) -> int:
    """Return when a name of an open folder, or anything below it, was changed; 0 without one.

    It is the time of the inode, which no program can set. Of more than MOST_LOOKED_AT it is now.
    """
    left = MOST_LOOKED_AT

    def _newest(folder: int, name: str) -> int:
        nonlocal left
        left -= 1
        if left < 0:
            return time.time_ns()
        about = os.stat(name, dir_fd=folder, follow_symlinks=False)
        newest = about.st_ctime_ns
        if stat.S_ISDIR(about.st_mode):
            with open_fd(name, FOLDER, dir_fd=folder) as opened:
                for below in os.listdir(opened):
                    newest = max(newest, _newest(opened, below))
        return newest

    try:
        return _newest(above, name)
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except OSError:  # closed, or others change it
        return time.time_ns()


def is_harmless_config(before: str, after: str) -> bool:
    """Return whether two configurations of git differ only in what starts no program."""
    old, new = Counter(_settings(before)), Counter(_settings(after))
    return all(harmless for _, harmless in (old - new) + (new - old))


def _settings(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line with its section, and whether it is harmless."""
    kind, title = "", ""
    for line in map(str.strip, text.splitlines()):
        if not line or line.startswith(("#", ";")):
            continue
        if section := _SECTION.fullmatch(line):
            kind, title = section[1].lower(), line
            continue
        found = _KEY.fullmatch(line)
        key = found[1].lower() if found else ""
        fine = found is not None and key in _HARMLESS.get(kind, "").split()
        if found is not None and key == "url":
            fine = fine and _URL.match(found[2]) is not None
        if found is None and line.startswith("["):  # a section of another form
            kind = ""
        yield f"{title} {line}", fine
