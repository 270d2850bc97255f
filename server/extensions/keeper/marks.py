"""Which kept sessions are to run: a small file for each, so that a start reads nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ...lib.runtime import private_files
from ...lib.strict_json import JSONError, dumps, loads

FOLDER = ".running"  # in the folder of kept sessions
ENDED = ".ended"  # there, too: of those that have run, until their people were told


class Mark(NamedTuple):
    """A session that is to run. `attempts`: runs that were begun since it last got anywhere."""

    owner: str
    id: str
    attempts: int = 0


class Marks:
    """The marks of a home folder. The methods that write raise OSError."""

    def __init__(self, folder: Path, name: str = FOLDER) -> None:
        self._folder = folder / name

    def set(self, mark: Mark) -> None:
        """Note that a session is to run."""
        data = dumps(mark._asdict()).encode("utf-8", "surrogatepass")
        private_files.write(self._path(mark.owner, mark.id), data, durable=True)

    def remove(self, owner: str, session_id: str) -> bool:
        """Note that a session is not to run. Return whether it was."""
        with suppress(FileNotFoundError):
            self._path(owner, session_id).unlink()
            return True
        return False

    def move(self, owner: str, session_id: str, marks: Marks) -> None:
        """Make a mark one of others. It is always one of either, also after a kill."""
        path, other = (each._path(owner, session_id) for each in (self, marks))
        other.parent.mkdir(mode=0o700, exist_ok=True)
        path.replace(other)

    def has(self, owner: str, session_id: str) -> bool:
        """Return whether a session is to run."""
        return self._path(owner, session_id).exists()

    def all(self) -> Iterator[Mark]:
        """Yield the marks, the oldest first."""
        marks: list[tuple[float, Mark]] = []
        with suppress(OSError):
            for path in self._folder.iterdir():
                with suppress(OSError, JSONError, KeyError, TypeError):
                    about: Any = loads(path.read_bytes())
                    mark = Mark(about["owner"], about["id"], about["attempts"])
                    if self._path(mark.owner, mark.id) == path:
                        marks.append((path.stat().st_mtime, mark))
        yield from (mark for _, mark in sorted(marks, key=lambda each: each[0]))

    def _path(self, owner: str, session_id: str) -> Path:
        name = f"{owner}\0{session_id}".encode("utf-8", "surrogatepass")
        return self._folder / hashlib.sha256(name).hexdigest()[:40]
