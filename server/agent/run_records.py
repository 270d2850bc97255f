"""Store the records of runs (session/run_record.py) as files of JSON lines.

One file for a session, named by a hash. A line is appended before each call that may not run twice,
so a killed process leaves all that it had recorded. An incomplete line is ignored.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..json_types import Json, Session
from ..session import run_record
from ..session.run_record import Record
from ..strict_json import JSONError, dumps, loads
from ..telemetry import log

_log = log.get("runs")

MAX_BYTES = 16 * 1024 * 1024  # of one record; the rest of a longer run is not recorded
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

    def find(self, session: SessionKey) -> Record | None:
        """Return the record of a session's last run, None if there is none."""
        if self._folder is None:
            return None
        try:
            lines = self._path(session).read_bytes().split(b"\n")
        except OSError:
            return None
        record: Record | None = None
        for text in lines:
            try:
                line = loads(text, max_depth=200)
            except JSONError:
                continue  # an incomplete line, or the empty one
            if record is None:
                record = Record(str(line.get("base")))
            record.add(line)
        return record

    def writer(self, session: SessionKey, record: Record | None = None) -> RecordWriter:
        """Return the writer of a run's record, which continues `record` or replaces the file."""
        path = None if self._folder is None else self._path(session)
        return RecordWriter(path, record)

    def sweep(self) -> None:
        """Remove expired records."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            for entry in os.scandir(self._folder):
                with contextlib.suppress(OSError):
                    if self._clock() - entry.stat().st_mtime > self._ttl_s:
                        Path(entry.path).unlink()

    def _path(self, session: SessionKey) -> Path:
        assert self._folder is not None
        return self._folder / _file_name(session)


@lru_cache(maxsize=1024)  # a run asks for its own several times
def _file_name(session: SessionKey) -> str:
    """Return the name of the files about a session."""
    return hashlib.sha256(dumps(list(session)).encode("utf-8", "surrogatepass")).hexdigest()


class RecordWriter:
    """Appends to one record. `begun`: something was written, by this run or an earlier one."""

    def __init__(self, path: Path | None, record: Record | None) -> None:
        self._path = path
        self.begun = record is not None
        self._known = {message["id"] for message in record.messages} if record else set()
        self._full = False
        self._state: dict[str, str] = {}  # the JSON last written, by key

    def append(self, session: Session) -> None:
        """Record what is new in the session. Raises OSError if that cannot be written."""
        if self._path is None or self._full:
            return
        line = run_record.new_values(session, self._known)
        line["state"] = dict(self._changed(line["state"]))
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        if not self.begun:
            line = {"base": run_record.base_of(session["messages"]), **line}
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags |= os.O_TRUNC
        descriptor = os.open(self._path, flags, 0o600)
        try:
            data = b"\n" + dumps(line).encode()  # the previous line may be incomplete
            self._full = os.fstat(descriptor).st_size + len(data) > MAX_BYTES
            if self._full:
                _log.warning("a run of session %s is too long to be recorded", session["id"])
            elif os.write(descriptor, data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(descriptor)
        self.begun = True

    def _changed(self, state: Json) -> Iterator[tuple[str, Any]]:
        for key, value in state.items():
            if (text := dumps(value)) != self._state.get(key):
                self._state[key] = text
                yield key, value

    def forget(self) -> None:
        """Remove the record, once the client has the answer."""
        if self._path is not None and self.begun:
            with contextlib.suppress(OSError):
                self._path.unlink()


# -- stop signals ---------------------------------------------------------------------------------
# Requests to stop a session, as files that every process of this host reads.
#
# `POST /session/stop` may reach another worker than the one that runs the session. A request is a
# file, named by a hash of the session; each process looks for new ones while it runs anything.

KEPT_S = 60.0  # a request is removed after this long


class StopSignals:
    """The stop requests of one process.

    `folder` is created on demand. None for a single process: nothing is sent.
    """

    def __init__(
        self, folder: Path | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._folder, self._clock = folder, clock
        self._seen: set[str] = set()

    def send(self, session: tuple[str, str]) -> None:
        """Ask the other processes to stop this session. Raises OSError."""
        if self._folder is None:
            return
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = f"{self.file_prefix(session)}.{secrets.token_hex(8)}"
        self._seen.add(name)
        os.close(os.open(self._folder / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))

    def new_requests(self) -> set[str]:
        """Return the names of the sessions that were asked to stop since the last call."""
        if self._folder is None:
            return set()
        there: set[str] = set()
        with contextlib.suppress(OSError):
            for entry in os.scandir(self._folder):
                there.add(entry.name)
                if entry.name in self._seen:
                    with contextlib.suppress(OSError):
                        if self._clock() - entry.stat().st_mtime > KEPT_S:
                            Path(entry.path).unlink()
        new = there - self._seen
        self._seen = there
        return {name.partition(".")[0] for name in new}

    def sweep(self) -> None:
        """Remove expired requests, which stay if no process is running anything."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            for entry in os.scandir(self._folder):
                with contextlib.suppress(OSError):
                    if self._clock() - entry.stat().st_mtime > KEPT_S:
                        Path(entry.path).unlink()

    @staticmethod
    def file_prefix(session: tuple[str, str]) -> str:
        """Return the prefix of the file names of requests for this session."""
        return _file_name(session)
