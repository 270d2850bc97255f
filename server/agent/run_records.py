"""Store the records of runs (session/run_record.py) as files of JSON lines.

One folder for each session, named by a hash, and one file in it for each message of the user's,
named by a hash of the messages up to that one. It has a record for each answer. A line is appended
before each call that may not run twice, so a killed process leaves all that it had recorded. An
incomplete line is ignored.

A record is kept for as long as claims. What is left then are the fingerprints of the calls that may
have run, so that such a call is asked about.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..json_types import Json, Session
from ..lib.runtime import private_files
from ..lib.runtime.descriptors import open_fd
from ..lib.strict_json import JSONError, dumps, loads
from ..session import run_record
from ..session.run_record import Record
from ..telemetry import log
from .home_name import home_id

_log = log.get("runs")

MAX_BYTES = 16 * 1024 * 1024  # of one file; the messages of a longer run are not recorded
MAX_TOTAL = 256 * 1024 * 1024  # of all files; beyond that the oldest shrink before they expire
KEPT_TIMES = 30  # fingerprints are kept so many times as long as a record
DAY_S = 86_400
SHRUNK = ".ran"  # suffix of a file that says only which calls may have run
SessionKey = tuple[str, str]  # owner, session id


class RunRecords:
    """The records on this host.

    `folder` is created on demand; None stores nothing. Records older than `ttl_s` are swept.
    """

    def __init__(
        self,
        folder: Path | None = None,
        ttl_s: float = 0,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder, self._ttl_s, self._clock = folder, ttl_s, clock
        self.home = home_id(folder.parent) if folder else ""

    def info(self) -> Json:
        """Return what `/info` says: which servers have these records, and for how long."""
        return {"home": self.home, "kept_s": self._ttl_s}

    def has(self, session: SessionKey) -> bool:
        """Return whether there may be a record of a session; mostly there is none."""
        return self._folder is not None and os.access(_path(self._folder, session), os.X_OK)

    def find(self, session: SessionKey, base: str) -> list[Record]:
        """Return the records of the answers to one message of a session, the newest first."""
        if self._folder is None:
            return []
        path, data = _path(self._folder, session) / base, b""
        for each in (path.with_suffix(SHRUNK), path):
            with contextlib.suppress(OSError):
                data += each.read_bytes()
        return read_records(data, base)[::-1] if data else []

    def writer(self, session: SessionKey, run: str, record: Record | None = None) -> RecordWriter:
        """Return the writer of a run's record, which continues `record` or begins one."""
        folder = None if self._folder is None else _path(self._folder, session)
        return RecordWriter(folder, run, record)

    def sweep(self) -> None:
        """Shrink expired records, and the oldest beyond MAX_TOTAL; remove those that have shrunk.

        Slow for a large folder.
        """
        files: list[tuple[float, int, Path]] = []
        folders: list[Path] = []
        for place, _, names in os.walk(self._folder or ""):
            folders.append(Path(place))
            for path in (Path(place, name) for name in names):
                with contextlib.suppress(OSError):
                    files.append((path.stat().st_mtime, path.stat().st_size, path))
        total, now = 0, self._clock()
        # A day to come is of a clock that was wrong: such a file counts as the oldest.
        files.sort(key=lambda file: (file[0] < now + DAY_S, file), reverse=True)
        for changed_at, size, path in files:
            total += size
            age_s = now - changed_at
            with contextlib.suppress(OSError):
                if not path.suffix and (age_s > self._ttl_s or total > MAX_TOTAL):
                    _shrink(path)
                elif path.suffix and age_s > self._ttl_s * KEPT_TIMES:
                    path.unlink()
        for folder in reversed(folders):
            with contextlib.suppress(OSError):  # it is not empty
                folder.rmdir()


def read_records(data: bytes, base: str) -> list[Record]:
    """Return the records in a file, in the order of their last lines."""
    records: dict[str, Record] = {}
    for text in data.split(b"\n"):
        try:
            line = loads(text, max_depth=200)
        except JSONError:
            continue  # an incomplete line, or the empty one
        root = str(line.get("root"))
        record = records[root] = records.pop(root, Record(base, root))
        record.add(line)
    return list(records.values())


def _shrink(path: Path) -> None:
    """Keep of the records in a file only which calls may have run."""
    lines = [
        {"root": each.root, run_record.AGAIN: each.again, "ran": ran}
        for each in read_records(path.read_bytes(), "")
        if (
            ran := {
                call_id: fingerprint for call_id, fingerprint in each.ran.items() if fingerprint
            }
        )
    ]
    if lines:
        _append(path.with_suffix(SHRUNK), "".join(f"\n{dumps(line)}" for line in lines).encode())
    path.unlink()


def _append(path: Path, data: bytes) -> None:
    """Append to a file. Raises OSError if not all of it can be written."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open_fd(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) as descriptor:
        if os.write(descriptor, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@lru_cache(maxsize=32)  # a run asks for its own several times
def _path(folder: Path, session: SessionKey) -> Path:
    """Return the place in a folder of what is about a session."""
    told = dumps(list(session)).encode("utf-8", "surrogatepass")
    return folder / hashlib.sha256(told).hexdigest()


class RecordWriter:
    """Appends to one record.

    begun    something was written, by this run or an earlier one
    ran      call id -> fingerprint of calls that are about to run, "" for one that did not begin
    """

    def __init__(
        self, folder: Path | None = None, run: str = "", record: Record | None = None
    ) -> None:
        self._folder, self._base = folder, record.base if record else ""
        self.begun = record is not None
        self.ran: dict[str, str] = {}
        self._earlier = record.ran if record else {}
        self._root = record.root if record else run
        self._known = {message["id"] for message in record.messages} if record else set()
        self._is_full = False
        self._written: dict[tuple[str, str], str] = {}  # the JSON last written of calls and state

    @property
    def not_begun(self) -> list[str]:
        """Return the ids of calls that were announced and then did not begin."""
        return [call_id for call_id, each in (self._earlier | self.ran).items() if not each]

    def append(self, session: Session) -> None:
        """Record what is new in the session. Raises OSError if that cannot be written."""
        if self._folder is None:
            return
        if not self._base:
            messages = session["messages"]
            self._base = run_record.base_of(messages, run_record.count_users(messages))
        path = self._folder / self._base
        again = session.get(run_record.AGAIN, "")
        line: Json = {"root": self._root, run_record.AGAIN: again, "ran": self.ran}
        new = run_record.new_values(session, self._known)
        for call_id in self.not_begun:  # the client may know it as `started`
            new["calls"].pop(call_id, None)
        changed = {name: dict(self._changed(name, new[name])) for name in ("calls", "state")}
        data = dumps({**line, **new, **changed}).encode()
        with contextlib.suppress(OSError):
            if not self._is_full and path.stat().st_size + len(data) > MAX_BYTES:
                _log.warning("a run of session %s is too long to be recorded", session["id"])
                self._is_full = True  # from here on, since no message may be missing between others
        if self._is_full:
            data = dumps(line).encode()
        _append(path, b"\n" + data)  # the line before may be incomplete
        self._earlier, self.ran = self._earlier | self.ran, {}
        self.begun = True

    def _changed(self, kind: str, values: Json) -> Iterator[tuple[str, Any]]:
        for key, value in values.items():
            if (text := dumps(value)) != self._written.get((kind, key)):
                self._written[kind, key] = text
                yield key, value


# -- stop signals ---------------------------------------------------------------------------------
# Requests to stop a session, as files that every process of this host sees.
#
# `POST /session/stop` may reach another worker than the one that runs the session. A request is a
# file, named by a hash of the session and replaced by each further one. A process that runs
# anything looks whether the folder has changed, and only then at the files of its own sessions.

KEPT_S = 60.0  # a request is removed after this long, when the server cleans up

Stamp = tuple[int, int]  # changes with each request


class StopSignals:
    """The stop requests of one process.

    `folder` is created on demand. None for a single process: nothing is sent.
    """

    def __init__(
        self, folder: Path | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._folder, self._clock = folder, clock
        self._seen: dict[SessionKey, Stamp | None] = {}  # of sessions that run here
        self._changed_at: Stamp | None = None  # of the folder
        self._changed = False

    def send(self, session: SessionKey) -> None:
        """Ask the other processes to stop this session. Raises OSError."""
        if self._folder is None:
            return
        path = _path(self._folder, session)
        private_files.write(path, b"")
        if session in self._seen:
            self._seen[session] = _stamp(path)

    def begin(self, session: SessionKey) -> None:
        """Note that a session begins to run here: earlier requests do not concern it."""
        if self._folder is not None:
            self._seen[session] = _stamp(_path(self._folder, session))

    def new_requests(self, sessions: set[SessionKey]) -> set[SessionKey]:
        """Return which of all sessions that run here were asked to stop since the last call."""
        if self._folder is None:
            return set()
        before = {each: self._seen[each] for each in sessions if each in self._seen}
        self._seen, changed_at = before, _stamp(self._folder)
        # Once more after a change: the clock of the files does not tell two in a moment apart.
        look, self._changed = self._changed, changed_at != self._changed_at
        self._changed_at = changed_at
        if not look and not self._changed:
            return set()
        self._seen = {each: _stamp(_path(self._folder, each)) for each in sessions}
        return {
            each for each, stamp in self._seen.items() if stamp and stamp != before.get(each, stamp)
        }

    def sweep(self) -> None:
        """Remove expired requests."""
        if self._folder is not None:
            private_files.remove_old(self._folder, KEPT_S, self._clock())


def _stamp(path: Path) -> Stamp | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns
