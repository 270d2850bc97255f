"""The skills of the owner's folders, and those that other keys saved.

Each run asks `current` first: if nothing in the folders has changed, they are not read again, so a
change takes effect with the next run. A skill that cannot be used is listed in `problems`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ...lib.agent_skills.folder import (
    FILE,
    MAX_LOOKED_AT,
    MAX_TEXT,
    SkillError,
    SkillText,
    content_hash,
    files_of,
    first_entries,
    read_file,
)
from ...lib.agent_skills.folder import skill_text as parse
from ...lib.runtime.file_stamps import FileStamps, Stamp, stamp_of
from ...telemetry import log

MAX_SKILLS = 200  # of one folder
HOME, FOLDER, KEY = "home", "folder", "key"  # where a skill comes from, for clients
OF_KEYS = ".keys"  # below the skills of the home folder: a folder for each other key

logger = log.get("skills")


class Source(NamedTuple):
    """A folder of skills. `given`: as the owner knows it."""

    kind: str
    folder: Path
    given: str


@dataclass(frozen=True)
class Skill:
    """A skill that can be used. `given`: its folder as the owner knows it."""

    about: SkillText
    folder: Path
    source: str
    given: str

    @property
    def name(self) -> str:
        """Return its name."""
        return self.about.name


@dataclass
class _Entry:
    """A folder that was read. `hash`: of its files at `state`, "" before it was needed."""

    stamp: Stamp
    skill: Skill | None = None
    problem: str = ""
    state: tuple[Any, ...] = ()
    hash: str = ""


@dataclass
class SkillCatalog:
    """The skills of one server.

    `home`: the home folder. `folders`: server.skills.folders. `owners`: those who count as the
    server's owner (api.auth.owners); what another key saves is visible to that key only.
    """

    home: Path
    folders: Iterable[str] = ()
    owners: Collection[str] = ("",)
    _known: dict[Path, _Entry] = field(default_factory=dict)
    # By key: what `of` found last, and the stamps of all that it looked at
    _found: dict[str, tuple[FileStamps, Mapping[str, Skill]]] = field(default_factory=dict)

    def sources(self, owner: str = "") -> list[Source]:
        """Return the folders that a key has skills from, the first of which it saves to."""
        own = self.home / "skills"
        found = [Source(HOME, own, "skills")]
        if owner not in self.owners:
            name = hashlib.sha256(owner.encode("utf-8", "surrogatepass")).hexdigest()[:32]
            found.insert(0, Source(KEY, own / OF_KEYS / name, "saved with this key"))
        for given in self.folders:
            try:
                found.append(Source(FOLDER, Path(given).expanduser(), given))
            except RuntimeError:  # no home folder for `~`
                continue
        return found

    def current(self, owner: str = "") -> Mapping[str, Skill] | None:
        """Return what `of` found last, None if it has to look again.

        Fast enough for the event loop.
        """
        stamps, found = self._found.get(owner, (None, {}))
        return found if stamps is not None and stamps.are_current() else None

    def of(self, owner: str = "") -> Mapping[str, Skill]:
        """Return the skills of a key by name, in order of their names.

        A name in several folders is that of the first.
        """
        stamps = FileStamps(self._places(owner))
        found: dict[str, Skill] = {}
        for entry in self._entries(owner):
            if entry.skill is not None:
                found.setdefault(entry.skill.name, entry.skill)
        self._found[owner] = stamps, dict(sorted(found.items()))
        return self._found[owner][1]

    def _places(self, owner: str) -> Iterator[str]:
        """Yield what `of` looks at: the folders, and the text of each skill in them."""
        for source in self.sources(owner):
            yield str(source.folder)
            with suppress(OSError):
                yield from (f"{source.folder}/{name}/{FILE}" for name in _names(source.folder)[0])

    def problems(self, owner: str = "") -> list[str]:
        """Return what the owner has to fix or may want to know, one line each."""
        lines: list[str] = []
        first: dict[str, Skill] = {}
        for entry in self._entries(owner):
            if entry.skill is None:
                lines.append(entry.problem)
                continue
            skill = first.setdefault(entry.skill.name, entry.skill)
            if skill is not entry.skill:
                lines.append(f"{entry.skill.given}: not used, since {skill.given} has this name")
        return lines

    def hash_of(self, skill: Skill) -> str:
        """Return the hash of a skill's files as they are now. Raises SkillError."""
        state = tuple(files_of(skill.folder)[0])
        entry = self._known.get(skill.folder)
        if entry is not None and entry.hash and entry.state == state:
            return entry.hash
        found = content_hash(skill.folder)
        if entry is not None:
            entry.hash, entry.state = found, state
        return found

    def _entries(self, owner: str) -> Iterator[_Entry]:
        for source in self.sources(owner):
            yield from self._scan(source)

    def _scan(self, source: Source) -> Iterator[_Entry]:
        try:
            names, has_more = _names(source.folder)
        except FileNotFoundError:
            return
        except OSError as error:
            yield _Entry((), problem=f"{source.given}: {error.strerror}")
            return
        number = 0
        for name in names:
            folder = source.folder / name
            if not (stamp := stamp_of(folder / FILE)):
                continue
            if number == MAX_SKILLS:
                text = (
                    f"{source.given}: more than {MAX_SKILLS} skills; {name} and what follows are"
                    " not used. Put them into another folder, and name it in server.skills.folders"
                )
                yield _Entry((), problem=text)
                return
            known = self._known.get(folder)
            if known is None or known.stamp != stamp:
                known = self._known[folder] = _read(source, name, stamp)
                if known.problem:
                    logger.warning("skill not used: %s", known.problem)
            number += not known.problem
            yield known
        if has_more:
            text = f"{source.given}: more than {MAX_LOOKED_AT} entries; the rest is not looked at"
            yield _Entry((), problem=text)


def _names(folder: Path) -> tuple[list[str], bool]:
    """Return (what is in a folder, in order, but for hidden names; whether there is more).

    Raises OSError.
    """
    found = first_entries(folder, MAX_LOOKED_AT + 1)
    names = [each.name for each in found[:MAX_LOOKED_AT] if not each.name.startswith(".")]
    return names, len(found) > MAX_LOOKED_AT


def _read(source: Source, name: str, stamp: Stamp) -> _Entry:
    given, folder = f"{source.given}/{name}", source.folder / name
    try:
        skill = read_skill(folder, source.kind, given)
    except SkillError as error:
        return _Entry(stamp, problem=f"{given}: {error}")
    return _Entry(stamp, skill)


def read_skill(folder: Path, source: str, given: str) -> Skill:
    """Return the skill of a folder. Raises SkillError."""
    if folder.is_symlink():
        raise SkillError(
            "it is a link, and links are not followed; list the folder it leads to in"
            " server.skills.folders"
        )
    return Skill(parse(read_file(folder, FILE, MAX_TEXT), folder.name), folder, source, given)


def mistakes(server: Mapping[str, Any], home: Path) -> Iterator[str]:
    """Yield the mistakes in `server.skills` with which the server must not start.

    `home`: the server's home folder. A folder that is missing is none: it may come later.
    """
    own = Path(os.path.realpath(home))
    for given in server["skills"]["folders"]:
        place = f"server.skills.folders: {given}"
        if not given.startswith(("/", "~")) or "\0" in given:
            yield f"{place!r} is no path that begins with / or ~"
            continue
        try:
            path = Path(os.path.realpath(Path(given).expanduser()))
        except RuntimeError:
            continue  # of no account without a home folder
        if path == own or own.is_relative_to(path):
            yield f"{place} holds the home folder {own}"


def source_folders(server: Mapping[str, Any], home: Path) -> list[Path]:
    """Return the folders that skills are read from: tools must not change them."""
    return [source.folder for source in SkillCatalog(home, server["skills"]["folders"]).sources()]
