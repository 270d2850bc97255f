"""Read the folder of one skill: its `SKILL.md`, the names of its files, and a hash of all.

Works on any folder, in the server for those of the owner and in the workspace process for those of
a trusted folder. Nothing outside is ever opened, and no link is followed.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from ..hidden_characters import count_hidden
from ..runtime.descriptors import open_fd
from .front_matter import FrontMatter, FrontMatterError, Value, read_front_matter

FILE = "SKILL.md"
MAX_TEXT = 256 * 1024  # bytes of a SKILL.md
MAX_REFERENCE = 256 * 1024  # bytes of a file that a model is shown
MAX_FILES = 1_000
MAX_LOOKED_AT = 5_000  # entries of a folder and those in it: links and empty folders count too
MAX_BYTES = 32 * 1024 * 1024  # of all files of a skill
MAX_DEPTH = 8
SKIPPED = frozenset((".git", ".hg", ".svn", "node_modules", "__pycache__", ".DS_Store"))

NAME = re.compile(r"\w[\w-]{0,63}")  # it is a folder's name in the sandbox
STANDARD_NAME = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
MAX_DESCRIPTION = 1_024  # characters
MAX_COMPATIBILITY = 500


class SkillError(ValueError):
    """A skill that cannot be used; the message says why and holds no path."""


@dataclass(frozen=True)
class SkillText:
    """What a `SKILL.md` says.

    text           the whole file
    allowed_tools  as it is written; it permits nothing here
    remarks        what the standard does not allow and is accepted all the same
    hidden         characters that are not seen -> how many
    """

    name: str
    description: str
    text: str
    license: str = ""
    compatibility: str = ""
    allowed_tools: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    hidden: dict[str, int] = field(default_factory=dict)


class SkillFile(NamedTuple):
    """A file of a skill. `path` is relative, with slashes."""

    path: str
    size: int
    executable: bool
    changed_ns: int


def skill_text(data: bytes, folder: str) -> SkillText:
    """Return what a `SKILL.md` in a folder of this name says. Raises SkillError."""
    if len(data) > MAX_TEXT:
        raise SkillError(f"{FILE} is larger than {MAX_TEXT >> 10} KB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SkillError(f"{FILE} is not UTF-8") from None
    if "\0" in text:
        raise SkillError(f"{FILE} is no text")
    try:
        found = read_front_matter(text)
    except FrontMatterError as error:
        raise SkillError(f"{FILE}: {error}") from None
    written = unicodedata.normalize("NFKC", _text(found, "name") or folder)
    name = written if NAME.fullmatch(written) else unicodedata.normalize("NFKC", folder)
    if not NAME.fullmatch(name):
        raise SkillError(
            f"the name {written[:80]!r} is not possible: 1 to 64 lowercase letters, digits and"
            " hyphens; rename its folder, or write a `name`"
        )
    description = " ".join(_text(found, "description").split())
    if not description:
        raise SkillError(f"{FILE} has no description, without which no model can choose it")
    remarks = [*found.remarks, *_remarks(found, name, description, folder)]
    metadata = found.fields.get("metadata")
    return SkillText(
        name,
        description,
        text,
        license=_text(found, "license"),
        compatibility=_text(found, "compatibility"),
        allowed_tools=_text(found, "allowed-tools"),
        metadata=metadata if isinstance(metadata, dict) else {},
        remarks=tuple(remarks),
        hidden=count_hidden(text),
    )


def _text(found: FrontMatter, key: str) -> str:
    value: Value = found.fields.get(key, "")
    if isinstance(value, list):
        return " ".join(value)
    return value.strip() if isinstance(value, str) else ""


def _remarks(found: FrontMatter, name: str, description: str, folder: str) -> Iterator[str]:
    """Yield what the standard does not allow."""
    if not found.fields.get("name"):
        yield "there is no name; the folder's is used"
    elif name != unicodedata.normalize("NFKC", _text(found, "name")):
        yield f"its name {_text(found, 'name')[:80]!r} is not possible; the folder's is used"
    elif name != unicodedata.normalize("NFKC", folder):
        yield f"its name is {name}, its folder's {folder[:80]}; the standard wants them to be equal"
    if not STANDARD_NAME.fullmatch(name) or name != name.lower():
        yield "the name should have lowercase letters, digits and single hyphens only"
    if len(description) > MAX_DESCRIPTION:
        yield f"the description is longer than {MAX_DESCRIPTION} characters; the rest is not listed"
    if len(_text(found, "compatibility")) > MAX_COMPATIBILITY:
        yield f"compatibility is longer than {MAX_COMPATIBILITY} characters"
    if not found.body:
        yield "there are no instructions behind the front matter"


# -- files ----------------------------------------------------------------------------------------


def read_file(folder: Path, path: str, most: int) -> bytes:
    """Return a file of a skill. Raises SkillError, also for a link on the way."""
    parts = path.split("/")
    if not path or any(part in ("", ".", "..") for part in parts) or "\0" in path:
        raise SkillError(f"{path[:80]!r} is no file of the skill: name it from its folder")
    try:
        with open_fd(folder, os.O_DIRECTORY | os.O_NOFOLLOW) as at:
            return _read_below(at, parts, path, most)
    except OSError as error:
        raise SkillError(f"{path[:80]}: {error.strerror}") from None


def _read_below(at: int, parts: list[str], path: str, most: int) -> bytes:
    name, *rest = parts
    flags = os.O_NOFOLLOW | (os.O_DIRECTORY if rest else os.O_NONBLOCK)
    with open_fd(name, flags, dir_fd=at) as opened:
        if rest:
            return _read_below(opened, rest, path, most)
        about = os.fstat(opened)
        if not stat.S_ISREG(about.st_mode):
            raise SkillError(f"{path[:80]} is no file")
        with os.fdopen(os.dup(opened), "rb") as file:
            data = file.read(most + 1)
    if len(data) > most:
        raise SkillError(f"{path[:80]} is larger than {most >> 10} KB")
    return data


def first_entries(folder: str | Path, most: int) -> list[os.DirEntry[str]]:
    """Return what is in a folder in order of the names, at most so much. Raises OSError."""
    with os.scandir(folder) as entries:
        return sorted(islice(entries, most), key=lambda each: each.name)


def files_of(folder: Path) -> tuple[list[SkillFile], list[str]]:
    """Return (files of a skill in order of their paths, what is left out and why).

    Raises SkillError if there are too many, or they are too large.
    """
    found: list[SkillFile] = []
    left_out: list[str] = []
    total = looked = 0
    waiting = [("", 1)]
    while waiting:
        place, depth = waiting.pop()
        try:
            here = first_entries(folder / place, MAX_LOOKED_AT - looked + 1)
        except OSError as error:
            raise SkillError(f"{place or 'its folder'}: {error.strerror}") from None
        looked += len(here)
        if looked > MAX_LOOKED_AT:
            raise SkillError(f"it has more than {MAX_LOOKED_AT} files, folders and links")
        for entry in here:
            path = f"{place}{entry.name}"
            if entry.name in SKIPPED:
                continue
            if not _is_text(path):
                left_out.append(f"{path[:80]!r} is no name in UTF-8 and is left out")
                continue
            try:
                about = entry.stat(follow_symlinks=False)
            except OSError:  # it has just gone
                continue
            if stat.S_ISDIR(about.st_mode) and depth < MAX_DEPTH:
                waiting.append((f"{path}/", depth + 1))
            elif stat.S_ISREG(about.st_mode):
                executable = bool(about.st_mode & 0o111)
                found.append(SkillFile(path, about.st_size, executable, about.st_mtime_ns))
                total += about.st_size
            else:
                kind = "a link" if entry.is_symlink() else "no file, or too deep"
                left_out.append(f"{path[:80]} is {kind} and is left out")
            if len(found) + len(waiting) > MAX_FILES:
                raise SkillError(f"it has more than {MAX_FILES} files")
            if total > MAX_BYTES:
                raise SkillError(f"its files are larger than {MAX_BYTES >> 20} MB")
    return sorted(found), left_out


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def content_hash(folder: Path) -> str:
    """Return the SHA-256 of a skill's files: their paths, contents and whether they are programs.

    Raises SkillError.
    """
    whole = hashlib.sha256()
    for each in files_of(folder)[0]:
        content = hashlib.sha256(read_file(folder, each.path, MAX_BYTES)).hexdigest()
        whole.update(f"{each.path}\0{content} {each.executable:d}\n".encode())
    return whole.hexdigest()
