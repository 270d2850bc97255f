"""The owner's configuration file: read, checked for a revision, changed and written whole.

A write replaces the file atomically (a new file is renamed over it), so that a kill leaves the old
or the new one. The new one is for the owner only, since it may hold keys. A link is followed.
"""

from __future__ import annotations

import copy
import fcntl
import hashlib
import json
import os
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ...json_types import Json
from ...lib import strict_json
from ...lib.runtime import private_files
from ...lib.runtime.descriptors import open_fd
from ...lib.runtime.file_stamps import stamp_of
from .hidden_secrets import put_back

LOCK = ".config.lock"  # in the home folder: of all processes that write the file


class ConfigFileError(ValueError):
    """The file cannot be read or written as asked; `pointer` is the place of a wrong change."""

    def __init__(self, detail: str, pointer: str = "") -> None:
        super().__init__(detail)
        self.detail, self.pointer = detail, pointer


class Reading(NamedTuple):
    """What a file holds, and the digest of its bytes."""

    document: dict[str, Any]
    revision: str


class ConfigFile:
    """The file `path`, which need not exist; `home` is the server's home folder."""

    def __init__(self, path: Path, home: Path) -> None:
        self.path, self._home = path, home

    def stamp(self) -> tuple[int, ...]:
        """Return what changes when the file does; () if it is not there."""
        return stamp_of(self.path)

    def read(self) -> Reading:
        """Return what the file holds; an empty document without one. Raises ConfigFileError."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return Reading({}, "")
        except OSError as error:
            raise ConfigFileError(f"it cannot be read: {error.strerror}") from None
        try:
            document = strict_json.loads(data.removeprefix(BOM_UTF8))
        except strict_json.JSONError as error:
            raise ConfigFileError(f"it is not valid JSON: {error}") from None
        if not isinstance(document, dict):
            raise ConfigFileError("it does not hold an object")
        return Reading(document, hashlib.sha256(data).hexdigest())

    def unwritable(self) -> str:
        """Return why the file cannot be replaced; empty if it can."""
        target = Path(os.path.realpath(self.path))
        if not os.access(target.parent, os.W_OK | os.X_OK):
            return "its folder is not writable"
        if target.exists() and not (target.is_file() and os.access(target, os.W_OK)):
            return "it is not a writable file"
        return ""

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes of this host from writing. Blocks; call it in a thread."""
        with open_fd(self._home / LOCK, os.O_RDWR | os.O_CREAT) as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield

    def write(self, document: dict[str, Any]) -> None:
        """Replace the file; the caller holds `lock`. Raises ConfigFileError and OSError."""
        if why := self.unwritable():
            raise ConfigFileError(why)
        target = Path(os.path.realpath(self.path))
        text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
        private_files.write(target, text.encode(), durable=True)


def apply_changes(document: dict[str, Any], changes: list[Json]) -> dict[str, Any]:
    """Return the document with changes `{"path": [names], "value"}` or `{…, "remove": true}`.

    The shape of the changes is checked before (routes.py). A hidden secret in a value stays
    what it was at that place. Objects on the way are made; what is not there is removed without an
    error. Raises ConfigFileError.
    """
    result = copy.deepcopy(document)
    for number, change in enumerate(changes):
        path = change["path"]
        holder: Any = result
        for name in path[:-1]:
            holder = holder.setdefault(name, {})
            if not isinstance(holder, dict):
                text = f"{'.'.join(path)}: {name} holds no object"
                raise ConfigFileError(text, f"/changes/{number}/path")
        if change.get("remove") is True:
            holder.pop(path[-1], None)
            continue
        last = path[-1]
        try:
            holder |= put_back({last: change["value"]}, {last: holder.get(last)})
        except ValueError as error:
            place = ".".join(path[:-1]) + str(error)
            text = f"{place} is said to keep its secret, but has none; send the secret itself"
            raise ConfigFileError(text, f"/changes/{number}/value") from None
    return result
