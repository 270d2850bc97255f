"""Read what a trusted folder says to agents: AGENTS.md or CLAUDE.md, and the skills in it.

Runs in the workspace process. Of an overlay the real folder is read: what a model wrote into the
layer says nothing before a person has applied it. A link counts only where it leads to something
in the folder.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..lib.agent_skills.folder import (
    FILE,
    MAX_REFERENCE,
    MAX_TEXT,
    SkillError,
    files_of,
    first_entries,
    read_file,
)
from ..lib.agent_skills.folder import content_hash as hash_of
from .errors import WorkspaceError

NAMES = ("AGENTS.md", "CLAUDE.md")  # the first that is there
SKILLS = (".agents/skills", ".claude/skills", ".codex/skills", ".github/skills")
MAX_INSTRUCTIONS = 32 * 1024  # bytes of the topmost file
MOST_SKILLS = 100
MAX_HEAD = 16 * 1024  # characters of each, for the list
MOST_LOOKED_AT = 5_000  # entries in which further instructions are looked for
MOST_NESTED = 200
MAX_DEPTH = 8
SKIPPED = frozenset(("node_modules", "__pycache__", "venv", "vendor", "target", "dist", "build"))


def read_guidance(root: str) -> dict[str, Any]:
    """Return {instructions, skills} of a folder.

    `instructions`: {path?, text?, cut?, nested, nested_count}. `skills`: [{path, text}] with the
    beginning of each `SKILL.md`, or [{path, problem}].
    """
    top = Path(os.path.realpath(root))
    return {"instructions": _instructions(top), "skills": list(_skills(top))}


def read_skill(root: str, path: str, file: str | None = None) -> dict[str, Any]:
    """Return {text, hash, files} of a skill that `read_guidance` found, or {text} of a file of it.

    Raises WorkspaceError.
    """
    top = Path(os.path.realpath(root))
    place, _, name = path.rpartition("/")
    if place not in SKILLS or name in ("", ".", ".."):
        raise WorkspaceError("not_found", f"{path[:80]} is no skill of this folder")
    try:
        folder = _inside(top, path)
        if file is not None:
            return {"text": _text(read_file(folder, file, MAX_REFERENCE), file)}
        text = _text(read_file(folder, FILE, MAX_TEXT), FILE)
        files = [each.path for each in files_of(folder)[0]]
        return {"text": text, "hash": hash_of(folder), "files": files}
    except SkillError as error:
        raise WorkspaceError("not_found", str(error)) from None


def _inside(top: Path, path: str) -> Path:
    """Return the real folder of a path. Raises SkillError if it is outside."""
    found = Path(os.path.realpath(top / path))
    if not found.is_relative_to(top):
        raise SkillError("it is a link to something outside of the folder")
    return found


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SkillError(f"{name} is no text in UTF-8") from None


def _skills(top: Path) -> Iterator[dict[str, Any]]:
    number = looked = 0
    seen: set[Path] = set()
    for place in SKILLS:
        try:
            here = first_entries(_inside(top, place), MOST_LOOKED_AT - looked + 1)
        except (OSError, SkillError):
            continue
        looked += len(here)
        if looked > MOST_LOOKED_AT:
            yield {"path": place, "problem": f"more than {MOST_LOOKED_AT} entries are there"}
            return
        for name in (each.name for each in here):
            path = f"{place}/{name}"
            try:
                path.encode()
                folder = _inside(top, path)
                if name.startswith(".") or folder in seen or not (folder / FILE).exists():
                    continue
                seen.add(folder)
                number += 1
                if number > MOST_SKILLS:
                    return
                text = _text(read_file(folder, FILE, MAX_TEXT), FILE)
                yield {"path": path, "text": text[:MAX_HEAD]}
            except UnicodeEncodeError:
                continue
            except SkillError as error:
                yield {"path": path, "problem": str(error)}


# -- instructions ---------------------------------------------------------------------------------


def _instructions(top: Path) -> dict[str, Any]:
    nested = list(_nested(top))
    found: dict[str, Any] = {"nested": nested[:MOST_NESTED], "nested_count": len(nested)}
    for name in NAMES:
        if (data := _read(top, name)) is None:
            continue
        cut = len(data) > MAX_INSTRUCTIONS
        text = data[:MAX_INSTRUCTIONS].decode(errors="replace" if not cut else "ignore")
        text = text.removeprefix("\ufeff").replace("\0", "\ufffd")
        return {"path": name, "text": text, **({"cut": True} if cut else {}), **found}
    return found


def _read(top: Path, name: str) -> bytes | None:
    """Return the beginning of a file, a byte more than is used; None if there is none."""
    path = Path(os.path.realpath(top / name))
    if not path.is_relative_to(top):
        return None
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(opened, "rb") as file:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                return None
            return file.read(MAX_INSTRUCTIONS + 1)
    except OSError:
        return None


def _is_file(top: Path, path: str) -> bool:
    try:
        return stat.S_ISREG((top / path).lstat().st_mode)
    except OSError:
        return False


def _nested(top: Path) -> Iterator[str]:
    """Yield the paths of instructions in folders below, the topmost first, one for each folder."""
    waiting, looked = [("", 0)], 0
    for place, depth in waiting:  # it grows
        try:
            here = first_entries(top / place, MOST_LOOKED_AT - looked + 1)
        except OSError:
            continue
        if place and (name := next((each for each in NAMES if _is_file(top, place + each)), "")):
            yield f"{place}{name}"
        looked += len(here)
        if looked > MOST_LOOKED_AT:
            return
        for entry in here:
            if entry.name.startswith(".") or entry.name in SKIPPED or depth >= MAX_DEPTH:
                continue
            if entry.is_dir(follow_symlinks=False) and entry.name.isprintable():
                waiting.append((f"{place}{entry.name}/", depth + 1))
