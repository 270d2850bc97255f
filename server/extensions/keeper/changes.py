"""Change stored sessions; what comes while a session is in use waits on the disk until it is free.

A change that waits is a small file. Whoever stores the session next applies it and then removes
the file, and each kind of change does nothing when it is applied again: so none is lost by a kill,
and none counts twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import Problem
from ...json_types import Json, Session
from ...lib.runtime import private_files
from ...lib.runtime.offload import LARGE, offload
from ...lib.strict_json import JSONError, as_object, dumps, loads
from ...telemetry import log
from .answers import with_answers
from .folder import KeptFolder
from .marks import Mark, Marks
from .session_keys import keeper_keys, with_keeper_keys
from .webhooks import add_delivery

FOLDER = ".waiting"  # in the folder of kept sessions
WAIT_S, LOOK_S = 3.0, 0.05  # how long a file is waited for that is in use, and how often

Key = tuple[str, str]  # person, id of the session

logger = log.get("keeper")


def _with_due(session: Session, moment: str) -> Session:
    """Return the session with a run of its schedule that is to begin when it is free."""
    keys = keeper_keys(session)
    record = as_object(keys.get("scheduled"))
    if record.get("last", "") >= moment:
        return session
    return with_keeper_keys(session, {**keys, "scheduled": {**record, "queued": True}})


class Kind(NamedTuple):
    """A kind of change.

    apply   (session, what came) -> the session with it; raises Problem
    name    (what came) -> what is the same where it comes again
    """

    apply: Callable[[Session, Any], Session]
    name: Callable[[Any], Any]


KINDS = {
    "answers": Kind(with_answers, lambda entries: [each["id"] for each in entries]),
    "delivery": Kind(add_delivery, itemgetter("id")),
    "due": Kind(_with_due, lambda moment: ""),
}


class Changes:
    """Makes changes of the kinds in KINDS, to sessions of all people.

    path    of what waits
    folder  (person) -> their kept sessions
    marks   of the sessions that are to run
    """

    def __init__(self, path: Path, folder: Callable[[str], KeptFolder], marks: Marks) -> None:
        self._path, self._folder, self.marks = path / FOLDER, folder, marks
        self._lock = threading.Lock()

    async def answer(self, key: Key, entries: list[Any]) -> bool:
        """Store answers, now or when the session is free. Return whether they wait. Raises Problem.

        A session that gets an answer is marked as one that is to run.
        """
        deadline = asyncio.get_running_loop().time() + WAIT_S
        while True:
            try:
                await offload(LARGE, self._store, key, entries)
                return False
            except Problem as problem:
                if problem.code != "run_active":
                    raise
            late = asyncio.get_running_loop().time() > deadline
            if late or self.marks.has(*key):
                if not await offload(LARGE, self.queue, key, "answers", entries):
                    raise Problem("question_closed", "Another device has just answered this")
                return True
            await asyncio.sleep(LOOK_S)

    def _store(self, key: Key, entries: list[Any]) -> None:
        with self._folder(key[0]).lock(key[1]) as kept:
            there = kept.open()
            if there is None:
                raise FileNotFoundError
            session, applied = self.apply(key, there)
            session = with_answers(session, entries)
            self.marks.set(Mark(*key))
            kept.save(session)
            if kept.failed:
                self.marks.remove(*key)
                raise Problem("disk_failed", kept.failed)
            remove(applied)

    def queue(self, key: Key, kind: str, what: Any) -> bool:
        """Let a change wait until the session is free. Return False if it does so already.

        Raises Problem if it could not be made as the session is now, and OSError.
        """
        with self._lock:
            KINDS[kind].apply(self.look(key), what)
            name = hashlib.sha256(dumps(KINDS[kind].name(what)).encode()).hexdigest()[:32]
            file = self._path / f"{_prefix(key)}{kind}-{name}"
            data = dumps({"key": [*key], "kind": kind, "what": what})
            return private_files.write(
                file, data.encode("utf-8", "surrogatepass"), replace=False, durable=True
            )

    def look(self, key: Key) -> Session:
        """Return a session with what waits for it. Raises Problem."""
        return self.apply(key, self._folder(key[0]).read(key[1]).session)[0]

    def apply(self, key: Key, session: Session) -> tuple[Session, list[Path]]:
        """Return the session with what waits for it, and the files to remove once it is stored."""
        applied = []
        for file, change in self._waiting(_prefix(key)):
            try:
                session = KINDS[change["kind"]].apply(session, change["what"])
            except Problem as problem:
                logger.warning("kept session %s: %s", key[1], problem.detail)
            applied.append(file)
        return session, applied

    def drop(self, key: Key) -> None:
        """Forget what waits for a session that is not there any more."""
        remove([file for file, _ in self._waiting(_prefix(key))])

    def keys(self) -> set[Key]:
        """Return the sessions for which something waits."""
        return {(change["key"][0], change["key"][1]) for _, change in self._waiting("")}

    def count(self, owner: str, session_ids: Iterable[str]) -> Mapping[str, int]:
        """Return how many messages wait for each of these sessions until it is free."""
        counts: Counter[str] = Counter()
        with suppress(OSError):
            for file in self._path.glob("*-*-*"):
                prefix, kind, *_ = file.name.split("-")
                counts[f"{prefix}-"] += kind != "answers"
        return {each: counts[_prefix((owner, each))] for each in session_ids} if counts else {}

    def _waiting(self, prefix: str) -> Iterator[tuple[Path, Json]]:
        """Yield (file, change) of what waits, the oldest first."""
        files: list[tuple[int, Path]] = []
        with suppress(OSError):
            for file in self._path.glob(f"{prefix}*-*"):
                with suppress(OSError):
                    files.append((file.stat().st_mtime_ns, file))
        for _, file in sorted(files):
            with suppress(OSError, JSONError):
                change = as_object(loads(file.read_bytes()))
                if change.get("kind") in KINDS:
                    yield file, change


def remove(applied: list[Path]) -> None:
    """Remove the files of changes that are stored."""
    for file in applied:
        file.unlink(missing_ok=True)


def _prefix(key: Key) -> str:
    return hashlib.sha256("\0".join(key).encode("utf-8", "surrogatepass")).hexdigest()[:40] + "-"
