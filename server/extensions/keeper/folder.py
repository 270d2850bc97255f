"""The kept sessions of one person: a folder with a file for each, and an index of what lists show.

The index is a cache, which may be deleted: a row counts only for the file that has its stamp. Of
its lines, one for each file, those are parsed that a page shows; what changed is added at its end.
As programs write files in place, which does not show in their folder, a list looks at each file.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from heapq import nlargest
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from ...cli.session_files import LONGEST_NAME, SUFFIX, JsonSession, as_text, digest_of
from ...errors import Problem, disk_problem
from ...json_types import Json, Session
from ...lib.runtime import private_files
from ...lib.strict_json import JSONError, as_list, as_object, dumps, loads
from .kept_file import (
    DIGEST,
    ORIGIN,
    KeptFile,
    StoredSession,
    Unusable,
    as_branch,
    read_stored,
    stamp_of,
)
from .session_keys import keeper_keys

FOLDER = "keeper"  # in the home folder
HOME_OWNER = "@home"  # the folder of the owner ""; other names have no @
INDEX = ".index"
DRAFT_S = 60.0  # after which a file that is not complete is one of a process that was killed
MOST_LINES = 4  # times as many lines as sessions: then the index is written anew
TITLE = 200  # characters
_PLACE = itemgetter(0, 1)
_BRANCH = re.compile(r"-\d+\Z")


class Room(NamedTuple):
    """How much a person may keep: sessions, bytes of all, bytes of one."""

    sessions: int
    total: int
    each: int

    @classmethod
    def of(cls, server: Any) -> Room:
        """Return the limits of a configuration's half `server`."""
        keeper = server["keeper"]
        return cls(keeper["sessions"], keeper["total_mb"] << 20, keeper["session_mb"] << 20)


class Conflict(Exception):
    """A session was changed meanwhile; what was to be stored is a branch of it now."""

    def __init__(self, branch: str, branch_revision: str, revision: str) -> None:
        super().__init__(branch)
        self.branch, self.branch_revision, self.revision = branch, branch_revision, revision


def folder_name(owner: str) -> str:
    """Return the name of a person's folder."""
    name = quote(owner.encode("utf-8", "surrogateescape"), safe="")
    name = name.replace(".", "%2E", 1) if name.startswith(".") else name
    if len(name) > LONGEST_NAME:
        name = f"@{hashlib.sha256(name.encode()).hexdigest()}"
    return name or HOME_OWNER


class KeptFolder:
    """The kept sessions of one person. The methods raise Problem. May be used by several threads.

    `room`: how much they may keep.
    """

    def __init__(self, home: Path, owner: str, room: Room) -> None:
        self.room = room
        self.files = JsonSession(home / FOLDER / folder_name(owner))
        self.path = self.files.path
        self._index: dict[bytes, bytes] | None = None  # its lines, by name of the file
        self._lines = 0  # that it has, with those that others have replaced
        self._lock = threading.Lock()

    def read(self, session_id: str) -> StoredSession:
        """Return a session. Raises Problem, `not_found` if there is none."""
        with problems(session_id):
            return read_stored(self.files.file(session_id), self.room.each)

    @contextmanager
    def lock(self, session_id: str) -> Iterator[KeptFile]:
        """Open a session's file for changes. Raises Problem, `run_active` if it is open."""
        kept = self.open(session_id)
        try:
            with problems(session_id):
                yield kept
        finally:
            kept.close()

    def open(self, session_id: str, kind: type[KeptFile] = KeptFile) -> KeptFile:
        """Open and lock a session's file. Raises Problem."""
        file = self.files.file(session_id)
        with problems(session_id):
            for each in (self.path.parent, self.path):
                each.mkdir(mode=0o700, exist_ok=True)
            return kind(session_id, file, self.room.each, self.free)

    def free(self, session_id: str) -> KeptFile:
        """Return the locked file of a new session: of a branch of this one. Raises Problem."""
        branches = _branches(session_id)
        while True:
            with suppress(Problem):  # somebody else has just begun that one
                kept = self.open(next(branches))
                if not kept.exists():
                    return kept
                kept.close()

    def put(self, session_id: str, session: Session, base: str) -> str:
        """Store a session that was made from the revision `base`, and return its revision.

        `base`: "" for a new one. Raises Problem, and Conflict where another revision is stored, or
        the session runs: then a branch is stored.
        """
        session = {**session, "id": session_id}
        text = as_text(session)
        if len(text) > self.room.each:
            detail = f"It has {len(text)} bytes; server.keeper.session_mb allows {self.room.each}"
            raise Problem("body_too_large", detail)
        if not self.files.session_exists(session_id):
            self._check_room(len(text))
        try:
            with self.lock(session_id) as kept:
                there = kept.open()
                same = there is not None and kept.revision == digest_of(text)[:DIGEST]
                if same or kept.revision == (base if there is not None else ""):
                    return kept.revision if same else _saved(kept, session)
                revision = kept.revision
        except Problem as problem:
            if problem.code != "run_active":
                raise
            revision = self.read(session_id).revision
        raise self._store_branch(session_id, session, base, revision)

    def _store_branch(
        self, session_id: str, session: Session, base: str, revision: str
    ) -> Conflict:
        """Store a branch, unless a request that came twice has done so. Raises Problem."""
        for name in _branches(session_id):
            text = as_text(as_branch(session, name, session_id, base))
            try:
                stored = self.read(name).revision
            except Problem:
                break
            if stored == digest_of(text)[:DIGEST]:
                return Conflict(name, stored, revision)
        self._check_room(len(text))
        with self.free(session_id) as kept, problems(kept.id):
            branch = as_branch(session, kept.id, session_id, base)
            return Conflict(kept.id, _saved(kept, branch), revision)

    def delete(self, session_id: str) -> None:
        """Delete a session. Raises Problem."""
        with self.lock(session_id) as kept:
            kept.remove()

    def page(self, limit: int, before: str = "") -> tuple[list[Json], str]:
        """Return what lists show of `limit` sessions, the last changed first, and what follows.

        `before`: what an earlier page was followed by. What follows is "" after the last page.
        """
        try:
            seen = there = self._scan()
        except OSError:
            return [], ""
        if before:
            changed, _, name = before.partition("~")
            place = (int(changed) if changed.isdigit() else 0, name)
            seen = [each for each in seen if each[:2] < place]
        shown = nlargest(limit, seen, key=_PLACE)
        with self._lock:
            rows = [row for _, name, _ in shown if (row := self._row(name))]
            if self._lines > MOST_LINES * len(there) + 100:
                self._shorten_index({_key(name) for _, name, _ in there})
        last = f"{shown[-1][0]}~{shown[-1][1]}" if len(seen) > limit else ""
        return rows, last

    def _scan(self) -> list[tuple[int, str, int]]:
        """Return (when it was changed, name, bytes) of each file. Raises OSError."""
        seen = []
        folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:  # relative to the folder each takes half as long as by its whole path
            there = [each.name for each in os.scandir(self.path)]
            for name in there:
                if name[-5:] == SUFFIX and name[0] != ".":
                    try:
                        about = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    except OSError:  # it was just removed
                        continue
                    seen.append((about.st_mtime_ns, name, about.st_size))
        finally:
            os.close(folder)
        if any(name.endswith(private_files.DRAFT) for name in there):
            remove_drafts(self.path)
        return seen

    def _row(self, name: str) -> Json | None:
        """Return what lists show of a file, None if it was just removed."""
        try:
            about = (self.path / name).lstat()
        except OSError:
            return None
        stamp, line = [*stamp_of(about)], self._load_index().get(_key(name), b"")
        with suppress(JSONError, TypeError, ValueError):
            known, row = loads(line)
            if known == stamp:
                return dict(row)
        row = self._describe(name, about)
        self._store_line(name, dumps([stamp, row]).encode("utf-8", "replace"))
        return row

    def _describe(self, name: str, about: os.stat_result) -> Json:
        session_id = unquote(name.removesuffix(SUFFIX))
        row: Json = {"id": session_id, "bytes": about.st_size}
        row["changed"] = about.st_mtime_ns // 1_000_000
        try:
            stored = read_stored(self.path / name, self.room.each)
        except (Unusable, FileNotFoundError) as error:
            return {**row, "problem": str(error)}
        session = stored.session
        row |= {"title": title_of(session), "status": str(session.get("status") or "")}
        row |= {"messages": len(session["messages"]), "revision": stored.revision}
        row["waiting"] = open_questions(session)
        row["queued"] = len(as_list(keeper_keys(session).get("waiting")))
        if origin := as_object(as_object(session.get("ext")).get(ORIGIN)):
            row[ORIGIN] = origin
        return row

    def _load_index(self) -> dict[bytes, bytes]:
        if self._index is None:
            data = b""
            with suppress(OSError):
                data = (self.path / INDEX).read_bytes()
            lines = [parts for line in data.split(b"\n") if len(parts := line.split(b" ", 1)) == 2]
            self._index, self._lines = dict(lines), len(lines)
        return self._index

    def _store_line(self, name: str, line: bytes) -> None:
        """Add a line to the index."""
        self._load_index()[_key(name)] = line
        self._write_index({_key(name): line}, os.O_APPEND)

    def _shorten_index(self, there: set[bytes]) -> None:
        """Write the index anew with one line for each file that is there."""
        self._index = {key: line for key, line in self._load_index().items() if key in there}
        self._lines = 0
        self._write_index(self._index, os.O_TRUNC)

    def _write_index(self, lines: dict[bytes, bytes], mode: int) -> None:
        self._lines += len(lines)
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | mode
        with suppress(OSError):  # without an index lists take longer
            with os.fdopen(os.open(self.path / INDEX, flags, 0o600), "wb") as file:
                file.write(b"".join(b"%b %b\n" % each for each in lines.items()))

    def _check_room(self, size: int) -> None:
        """Raise Problem if a person keeps as much as they may."""
        sizes: list[int] = []
        with suppress(OSError):
            sizes = [each for _, _, each in self._scan()]
        full = ""
        if len(sizes) >= self.room.sessions:
            full = f"{len(sizes)} are kept; server.keeper.sessions allows {self.room.sessions}"
        elif sum(sizes) + size > self.room.total:
            full = f"{sum(sizes)} bytes are kept; server.keeper.total_mb allows {self.room.total}"
        if full:
            raise Problem("keeper_full", f"{full}. Delete some, or let the owner allow more.")


def remove_drafts(folder: Path) -> None:
    """Remove what processes that were killed have not written to its end."""
    private_files.remove_old(folder, DRAFT_S, time.time(), private_files.DRAFT)


def _branches(session_id: str) -> Iterator[str]:
    """Yield the ids that a branch of a session may have."""
    stem = _BRANCH.sub("", session_id) or session_id
    return (f"{stem}-{number}" for number in count(2))


def _key(name: str) -> bytes:
    """Return how the index names a file: without spaces and ends of line."""
    return quote(os.fsencode(name)).encode()


def title_of(session: Session) -> str:
    """Return the title of a session, or the first line of its first message."""
    first: Any = session["messages"][0] if session["messages"] else None
    words = first.get("content") if isinstance(first, dict) else ""
    return str(session.get("title") or words or "").partition("\n")[0][:TITLE]


def open_questions(session: Session) -> int:
    """Return how many questions of a session have no answer."""
    asked = as_list(session.get("interrupts"))
    return sum(isinstance(each, dict) and "answer" not in each for each in asked)


def _saved(kept: KeptFile, session: Session) -> str:
    kept.save(session)
    if kept.failed:
        raise Problem("disk_failed", f"The session was not stored: {kept.failed}")
    return kept.revision


@contextmanager
def problems(session_id: str) -> Iterator[None]:
    """Raise what went wrong with a session's file as a Problem."""
    try:
        yield
    except FileNotFoundError:
        text = f"There is no kept session {session_id[:60]!r} of yours"
        raise Problem("not_found", text) from None
    except Unusable as why:
        raise Problem("kept_unusable", f"{session_id[:60]!r} cannot be used: {why}") from None
    except OSError as error:
        problem = disk_problem(error)
        raise problem or Problem("disk_failed", f"{session_id[:60]!r}: {error.strerror}") from None
