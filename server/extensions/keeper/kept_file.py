"""One kept session: its file, and the journal beside it with what the file does not have yet.

The journal of a kept session begins with the content that the file had, so that both its own
changes and those of another program (an editor, git, Syncthing) are there, whoever wrote last:

    {"base": digest of the file, "size": n}     then n bytes, the file itself
    an event                                    for each that the file lacks
    {"next": digest}                            before the file is replaced by that content

A file that has another content than these two digests was written by another program. It is never
overwritten: what is ours becomes a session of its own, a branch.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ...cli.session_files import LockedSession, as_text, digest_of, journal_of, write_whole
from ...json_types import Event, Session
from ...lib.strict_json import JSONError, as_object, dumps, loads
from ...session.events import dumps as as_line
from ...session.fold import Folder
from ...session.result_places import is_object

DIGEST = 32  # hex digits of a digest in a revision
ORIGIN = "forked_from"  # member of `ext` of a branch, as the page's branches have it
BEHIND = 64 << 10  # bytes of events, and as many as the file has, that it may lack
TRIES = 4  # to read a file and its journal between two writes of another process

Stamp = tuple[int, int, int, int]


class Unusable(Exception):
    """A file that is no session that can be kept; its text is the reason."""


class StoredSession(NamedTuple):
    """What is on the disk of a session.

    session    the document, with all events
    revision   its name: the digest of the file, and how many bytes of events follow it
    digest     of the file
    stamp      of the file
    size       bytes of the file
    unsaved    what the journal holds, if another program has written the file since; else None
    """

    session: Session
    revision: str
    digest: str
    stamp: Stamp
    size: int
    unsaved: Session | None = None


def stamp_of(about: os.stat_result) -> Stamp:
    """Return what changes when a file is written."""
    return about.st_ino, about.st_mtime_ns, about.st_size, about.st_ctime_ns


def stamp_at(file: Path) -> Stamp | None:
    """Return the stamp of a file, None if there is none."""
    try:
        return stamp_of(file.lstat())
    except OSError:
        return None


def revision_of(digest: str, position: int) -> str:
    """Return the revision of a file with `position` bytes of events after it."""
    return f"{digest[:DIGEST]}-{position}" if position else digest[:DIGEST]


def read_stored(file: Path, most: int) -> StoredSession:
    """Return what is on the disk. Raises FileNotFoundError, and Unusable with the reason."""
    for _ in range(TRIES):
        data, stamp = read_plain(file, most)
        digest = digest_of(data)
        head, document, lines = _read_journal(journal_of(file), most)
        if head == digest or not head or _announced(lines, digest):
            break
    session = parse(data)
    if head != digest or not lines:
        events, _ = _events(lines)
        foreign = head and head != digest and not _announced(lines, digest)
        unsaved = _with_events(parse(document), events) if foreign else None
        return StoredSession(session, revision_of(digest, 0), digest, stamp, len(data), unsaved)
    events, position = _events(lines)
    session = _with_events(session, events)
    return StoredSession(session, revision_of(digest, position), digest, stamp, len(data))


def read_plain(file: Path, most: int) -> tuple[bytes, Stamp]:
    """Return the content of a file that is no link, and its stamp. Raises as `read_stored`."""
    check_kind(file.lstat(), most)
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Unusable(f"{error.strerror}") from None
    with os.fdopen(handle, "rb") as source:
        about = os.fstat(source.fileno())
        check_kind(about, most)
        try:
            return source.read(most + 1), stamp_of(about)
        except OSError as error:
            raise Unusable(f"{error.strerror}") from None


def check_kind(about: os.stat_result, most: int) -> None:
    """Raise Unusable for what is no file, or too large."""
    if stat.S_ISLNK(about.st_mode):
        raise Unusable("It is a link")
    if not stat.S_ISREG(about.st_mode):
        raise Unusable("It is no file")
    if about.st_size > most:
        text = f"It has {about.st_size} bytes; server.keeper.session_mb allows {most}"
        raise Unusable(text)


def parse(data: bytes) -> Session:
    """Return the session in a file. Raises Unusable."""
    try:
        document: Any = loads(data)
    except JSONError as error:
        raise Unusable(f"It is not valid JSON: {error}") from None
    if not is_object(document) or not isinstance(document.get("messages"), list):
        raise Unusable("It is no session: an object with messages")
    session: Session = document
    return session


def _read_journal(file: Path, most: int) -> tuple[str, bytes, list[bytes]]:
    """Return the digest that a journal was begun with, that content, and its whole lines.

    The digest is "" if there is no journal, or one that was cut before its first event.
    """
    try:
        data, _ = read_plain(file, 8 * most)
    except (Unusable, FileNotFoundError):
        return "", b"", []
    first, _, rest = data.partition(b"\n")
    with suppress(JSONError):
        head: Any = loads(first)
        if is_object(head) and isinstance(size := head.get("size"), int):
            document, rest = rest[:size], rest[size:]
            if digest_of(document) == head.get("base") and rest[:1] == b"\n":
                *lines, _ = rest[1:].split(b"\n")
                return head["base"], document, lines
    return "", b"", []


def _announced(lines: list[bytes], digest: str) -> bool:
    """Return whether the journal says that the file is to be replaced by this content."""
    return any(line == _next(digest) for line in lines[-2:])


def _next(digest: str) -> bytes:
    return dumps({"next": digest}).encode()


def _events(lines: list[bytes]) -> tuple[list[Event], int]:
    """Return the events of a journal, and how many bytes they have with their ends of line."""
    events: list[Event] = []
    position = 0
    with suppress(JSONError):
        for line in lines:
            event: Any = loads(line)
            if not is_object(event):
                break
            if "next" not in event or "type" in event:
                events.append(event)
                position += len(line) + 1
    return events, position


def _with_events(session: Session, events: list[Event]) -> Session:
    folder = Folder(session)
    for event in events:
        folder.apply(event)
    folder.flush()
    return session


class KeptFile(LockedSession):
    """A kept session that this process writes, until `close`.

    id         of the session; another one once it had to become a branch
    revision   of what was saved last
    origin     the id that it had before that, "" if it still has it
    size       bytes of the file
    `free`: (id) -> a file that is not there yet, for a branch of that session.
    Raises as LockedSession.
    """

    def __init__(
        self, session_id: str, file: Path, most: int, free: Callable[[str], KeptFile]
    ) -> None:
        super().__init__(file)
        self.id, self.origin, self._most, self._free = session_id, "", most, free
        self._digest, self._stamp, self._position = "", stamp_at(file), 0
        self._lines: list[bytes] = []  # of the journal, which are not written yet
        self._former: list[tuple[Path, BinaryIO]] = []  # journals of before it became a branch
        self._left_at = ""  # the revision at which it became a branch
        self.size = 0

    @property
    def revision(self) -> str:
        """Return the revision of what was saved last."""
        return revision_of(self._digest, self._position)

    @property
    def place(self) -> tuple[str, int]:
        """Return the digest of the file, and how many bytes of events follow it."""
        return self._digest[:DIGEST], self._position

    def open(self) -> Session | None:
        """Return what is there, None if there is no file. Raises Unusable.

        What a journal holds of a file that another program has written since becomes a branch.
        """
        stored = lost = None
        try:
            stored = read_stored(self.file, self._most)
            lost = stored.unsaved
        except FileNotFoundError:  # perhaps another program has removed it
            _, document, lines = _read_journal(journal_of(self.file), self._most)
            lost = _with_events(parse(document), _events(lines)[0]) if document else None
        if lost is not None:
            revision = stored.revision if stored else ""
            with self._free(self.id) as branch:
                branch.save(as_branch(lost, branch.id, self.id, revision))
                if branch.failed:
                    raise OSError(errno.EIO, branch.failed)
            self.begin_journal(b"")
        if stored is None:
            return None
        self._digest, self._stamp, self.size = stored.digest, stored.stamp, stored.size
        self._position = int(stored.revision.partition("-")[2] or 0)
        if not self._position:
            self.begin_journal(b"")  # a process that was killed has left it
        return stored.session

    def begin(self, session: Session) -> None:
        """Begin the journal of a session as `open` returned it. Raises Unusable, and OSError."""
        data, _ = read_plain(self.file, self._most)
        if self._position or digest_of(data) != self._digest:
            self.save(session)
            return
        self._begin_journal_of(data)
        self._written = True

    def needs_save(self, event: Event) -> bool:
        """Return whether the file is written now: once there are many events after it."""
        grown = self._position > self.size + BEHIND or self.failed or not self._written
        return bool(grown and super().needs_save(event))

    def save(self, session: Session) -> None:
        """Write the whole file and begin a new journal. Sets `failed`."""
        if self.origin:
            session = as_branch(session, self.id, self.origin, self._left_at)
        super().save(session)

    def replace(self, data: bytes) -> None:
        """Write the file, unless another program has written it: then a branch. Raises OSError."""
        self.flush()
        if self._is_foreign():
            self._become_branch()
            data = as_text(as_branch(parse(data), self.id, self.origin, self._left_at))
        digest = digest_of(data)
        self._journal.write(_next(digest) + b"\n")
        self._journal.flush()
        write_whole(self.file, data)
        self._stamp, self._digest, self._position = stamp_at(self.file), digest, 0
        self.size = len(data)
        self._begin_journal_of(data)
        while self._former:  # what it holds is in the branch now
            journal, lock = self._former.pop()
            journal.unlink(missing_ok=True)
            lock.close()

    def _begin_journal_of(self, data: bytes) -> None:
        self._lines = []
        head = dumps({"base": self._digest, "size": len(data)}).encode()
        self.begin_journal(head + b"\n" + data + b"\n")

    def append(self, event: Event) -> None:
        """Add an event to the journal. Sets `failed`."""
        self.add(event)
        self.flush()

    def add(self, event: Event) -> None:
        """Add an event to what `flush` writes to the journal."""
        line = as_line(event).encode("utf-8", "replace") + b"\n"
        self._lines.append(line)
        self._position += len(line)

    def flush(self) -> None:
        """Write the events that were added, at once. Sets `failed`."""
        if not self._lines or self.failed:  # after a gap nothing may follow; the next save has all
            return
        lines, self._lines = b"".join(self._lines), []
        try:
            self._journal.write(lines)
            self._journal.flush()
        except OSError as error:
            self.failed = error.strerror or str(error)

    def _is_foreign(self) -> bool:
        """Return whether another program has written the file since we read or wrote it."""
        now = stamp_at(self.file)
        if now is None or now == self._stamp:
            return False
        try:
            data, self._stamp = read_plain(self.file, self._most)
        except FileNotFoundError:
            return False
        except Unusable:
            return True
        return digest_of(data) != self._digest

    def _become_branch(self) -> None:
        """Go on in another file. The first one stays as another program has left it."""
        branch = self._free(self.id)
        self._former.append((journal_of(self.file), self._journal))
        self.origin, self._left_at = self.origin or self.id, self._digest[:DIGEST]
        self.id, self.file, self._journal = branch.id, branch.file, branch._journal
        self._stamp = None

    def remove(self) -> None:
        """Delete the file, with its journal at the close. Raises OSError."""
        self.file.unlink()
        self._position = 0
        self.begin_journal(b"")

    def close(self) -> None:
        """Release the lock. The journal stays while it has events that the file lacks."""
        self.flush()
        journals = [lock for _, lock in self._former] + [self._journal] * bool(self._position)
        for journal in journals:
            with suppress(OSError):  # what cannot be written was not told
                journal.close()
        super().close()


def as_branch(session: Session, branch: str, origin: str, revision: str) -> Session:
    """Return a session as a branch of another one: under its own id, and with where it is from."""
    ext = as_object(session.get("ext"))
    known = ext.get(ORIGIN) if session.get("id") == branch else None
    from_where = known or {"session": origin, "revision": revision}
    return {**session, "id": branch, "ext": {**ext, ORIGIN: from_where}}
