"""The real folders that the owner named: what is wrong with them, and whether they can be used now.

A session names a folder, never a path. Paths are resolved once, when the server starts; a link that
takes the place of one later is refused. Details for clients contain names of folders, no paths.
"""

from __future__ import annotations

import difflib
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import Problem
from ..json_types import Json
from ..lib.sandbox.policy import CONFINING
from ..telemetry import log

MODES = ("read", "write", "overlay")
NAME = re.compile(r"[^/\\\x00-\x1f\x7f\ud800-\udfff]{1,100}")

logger = log.get("workspace")


@dataclass(frozen=True)
class Folder:
    """A real folder. `path` is resolved; `given`: as the owner wrote it.

    trusted  its instructions and skills are the owner's word (workspace/guidance.py)
    people   values of `Key.owner` (api/auth.py) that it is for; None: for everybody
    """

    name: str
    path: Path
    mode: str
    given: str
    trusted: bool = False
    people: Collection[str] | None = None

    def check(self, tier: str) -> None:
        """Raise Problem if it cannot be used now: folder_missing, folder_mode."""
        try:
            about = self.path.lstat()
            is_same = os.path.realpath(self.path) == str(self.path)
        except OSError as error:
            text = f"The folder {self.name} cannot be reached: {error.strerror}"
            raise Problem("folder_missing", text) from None
        if not stat.S_ISDIR(about.st_mode) or not is_same:
            text = "is a link or a file since the server started; the owner can restart the server"
            raise Problem("folder_missing", f"The folder {self.name} {text}")
        if self.mode == "read" and tier not in CONFINING:
            text = f"The folder {self.name} may only be read, and this server's sandbox (tier"
            text += f" {tier}) cannot keep tools from writing: read needs tier A or B"
            raise Problem("folder_mode", text)


class Folders:
    """The folders of `server.folders`, by name. `tier` is that of the sandbox, once it is known.

    `owners`: values of `Key.owner` that stand for the server's owner, whom all are for.
    """

    def __init__(self, configured: Mapping[str, Json], owners: Collection[str] = ("",)) -> None:
        self._owners = owners
        self._by_name = {name: folder_of(name, each, owners) for name, each in configured.items()}
        self.refused: dict[str, str] = {}  # by name: what the sandbox's user may not do there
        self.tier = "none"
        for folder in self._by_name.values():
            if str(folder.path) != os.path.normpath(Path(folder.given).expanduser()):
                logger.info("server.folders.%s: its path leads to %s", folder.name, folder.path)

    def __iter__(self) -> Iterator[Folder]:
        return iter(self._by_name.values())

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the path of each folder, once."""
        return tuple(dict.fromkeys(str(folder.path) for folder in self))

    def of(self, person: str) -> dict[str, Folder]:
        """Return the folders of a person, by name. `person`: `Key.owner`."""
        return {each.name: each for each in self if each.people is None or person in each.people}

    def find(self, name: str, person: str = "") -> Folder:
        """Return a folder of a person that can be used now.

        Raises Problem: folder_unknown, folder_missing, folder_mode.
        """
        folders = self.of(person)
        if (folder := folders.get(name)) is None:
            known = ", ".join(folders) or "none"
            text = f"This server has no folder {name[:100]!r}; it has: {known[:500]}"
            if close := difflib.get_close_matches(name[:100], folders, 1):
                text += f". Did you mean {close[0]}?"
            raise Problem("folder_unknown", text)
        folder.check(self.tier)
        if reason := self.refused.get(name):
            raise Problem("folder_missing", reason)
        return folder

    def reason(self, folder: Folder) -> str:
        """Return why a folder cannot be used now; "" if it can."""
        try:
            self.find(folder.name)
        except Problem as problem:
            return problem.detail
        return ""

    def info(self, person: str = "") -> list[Json]:
        """Return `[{name, mode, available, reason?}]` of a person's folders for `/info`."""
        found: list[Json] = []
        for folder in self.of(person).values():
            reason, trusted = self.reason(folder), {"trusted": True} if folder.trusted else {}
            about = {"name": folder.name, "mode": folder.mode, "available": not reason, **trusted}
            found.append({**about, "reason": reason} if reason else about)
        return found

    def problems(self, people: Collection[str]) -> list[str]:
        """Return what the owner has to fix, a line each. `people`: whom the keys are of."""
        found = []
        for folder in self:
            place = f"server.folders.{folder.name}"
            if why := self.reason(folder):
                found.append(f"{place} ({folder.path}): {why}")
            if unknown := sorted({*(folder.people or ())} - {*people, *self._owners}):
                known = ", ".join(sorted({*people} - {""})) or "none"
                found.append(f"{place}.people: no key is {', '.join(unknown)}'s; known: {known}")
        return found


def folder_of(name: str, about: Mapping[str, Any], owners: Collection[str] = ("",)) -> Folder:
    """Return the folder of an entry of `server.folders`. Raises RuntimeError: no home for `~`."""
    given = about["path"]
    path = Path(os.path.realpath(Path(given).expanduser()))
    people = {*about["people"], *owners} if "people" in about else None
    mode, trusted = about.get("mode", "overlay"), about.get("trusted", False)
    return Folder(name, path, mode, given, trusted, people)


def mistakes(
    configured: Mapping[str, Mapping[str, Any]], home: Path, kept: Iterable[Path]
) -> Iterator[str]:
    """Yield the mistakes in `server.folders` with which the server must not start.

    `home` is the server's home folder, `kept` what a tool must not change besides: the server's
    code and agents. Folders that are missing are none: they may come later.
    """
    folders = []
    for name, about in configured.items():
        place = f"server.folders.{name}"
        given = about.get("path", "")
        if not NAME.fullmatch(name):
            yield f"server.folders: {name[:100]!r} is no name: 1 to 100 characters, without slashes"
            continue
        if not given.startswith(("/", "~")) or "\0" in given:
            yield f"{place}.path is {given!r}, wanted a path that begins with / or ~"
            continue
        try:
            folder = folder_of(name, about)
        except RuntimeError:
            yield f"{place}.path is {given}: there is no such home folder here"
            continue
        folders.append(folder)
        own = Path(os.path.realpath(home))
        if folder.path.is_relative_to(own) or own.is_relative_to(folder.path):
            yield (
                f"{place}.path leads to {folder.path}, which holds the home folder {own} or lies in"
                " it: what tools could change there would be the server's own"
            )
        if folder.mode != "write":
            continue
        for path in kept:
            if Path(os.path.realpath(path)).is_relative_to(folder.path):
                yield (
                    f"{place}.path leads to {folder.path}, which holds {path}: the server loads"
                    " that, so tools must not change it; use the mode overlay or read"
                )
    for inner in folders:
        for outer in folders:
            if outer.mode == "read" or inner.path == outer.path:
                continue
            if inner.path.is_relative_to(outer.path):
                yield (
                    f"server.folders.{inner.name} lies in server.folders.{outer.name}, which can be"
                    " changed: a tool could put a link in its place; give folders that are apart"
                )
