"""The tool `skill_save`: writes a skill of the model into the home folder.

A person sees all of it and approves each call, whatever the session or its agent allows. It runs in
the server, since no sandbox can write to the folder. The server's owner saves for all keys, every
other key for itself (catalog.py). A skill that is there is replaced only where the call says
so, and keeps what is not named.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from ...lib.agent_skills.folder import (
    FILE,
    MAX_BYTES,
    MAX_DESCRIPTION,
    STANDARD_NAME,
    SkillError,
    skill_text,
)
from ...lib.hidden_characters import HIDDEN, first_hidden
from ...tools.base import Emit, Invocation, Tool, failure
from ...tools.decorators import Context, ToolError, tool
from ...tools.runner import Outcome
from .catalog import MAX_SKILLS, SkillCatalog
from .library import SkillLibrary

MAX_NAME = 64  # characters
MOST_FILES = 20  # beside SKILL.md


@tool(destructive=True)
def skill_save(
    ctx: Context,
    name: Annotated[str, "Lowercase letters, digits and single hyphens"],
    description: Annotated[str, "What it does and when to use it, in one or two sentences"],
    instructions: Annotated[str, "Markdown: how to do such a task, step by step"],
    files: Annotated[
        dict[str, str], "Further files by path, such as scripts/x.py or references/x.md"
    ] = {},  # noqa: B006
    replace: Annotated[bool, "Overwrite a skill of this name"] = False,
) -> str:
    """Save a skill: instructions that later sessions can load. Only when the user asks for one.
    Write what holds for every such task, not what happened in this one."""
    raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class SkillSaveTool(Tool):
    """The tool `skill_save`. `library`: the skills of this server."""

    library: SkillLibrary = field(compare=False)

    always_asks = True

    async def run(self, call: Invocation, emit: Emit) -> Outcome:
        """Save the skill for the key whose call it is."""
        try:
            said = await asyncio.to_thread(save, self.library.catalog, call.owner, **call.args)
        except ToolError as error:
            return failure(str(error))
        return Outcome("ok", {"saved": call.args["name"]}, text=said)


def save(
    catalog: SkillCatalog,
    owner: str,
    name: str,
    description: str,
    instructions: str,
    files: Mapping[str, str] | None = None,
    replace: bool = False,
) -> str:
    """Write a skill for a key and return a sentence about it. Raises ToolError."""
    if len(name) > MAX_NAME or not STANDARD_NAME.fullmatch(name) or name != name.lower():
        raise ToolError("not saved: a name has 1 to 64 lowercase letters, digits, single hyphens")
    if len(description) > MAX_DESCRIPTION:
        raise ToolError(f"not saved: the description is over {MAX_DESCRIPTION} characters")
    contents = {FILE: _skill_file(name, description, instructions)}
    for path, text in (files or {}).items():
        contents[_checked(path)] = _encoded(text, path)
    _refuse_same_places(contents)
    if len(contents) > MOST_FILES + 1:
        raise ToolError(f"not saved: there are more than {MOST_FILES} files")
    if sum(map(len, contents.values())) > MAX_BYTES:
        raise ToolError(f"not saved: it is larger than {MAX_BYTES >> 20} MB")
    try:
        skill_text(contents[FILE], name)
    except SkillError as error:
        raise ToolError(f"not saved: {error}") from None
    _refuse_hidden({"the description": description, "the instructions": instructions})
    _refuse_hidden(files or {})
    known = catalog.of(owner).get(name)
    folder = catalog.sources(owner)[0].folder
    there = known is not None or os.path.lexists(folder / name)
    if there and not replace:
        raise ToolError(
            f"there is a skill {name} already; save with replace to use this one instead of it"
        )
    try:
        if not (folder / name).is_dir() and _count(folder) >= MAX_SKILLS:
            raise ToolError(f"not saved: there are {MAX_SKILLS} skills already; replace one")
        _write(folder, name, contents)
    except OSError as error:
        raise ToolError(f"the skill cannot be written: {error.strerror}") from None
    return f"The skill {name} is {'replaced' if there else 'saved'}; sessions can load it now."


def _skill_file(name: str, description: str, instructions: str) -> bytes:
    quoted = json.dumps(" ".join(description.split()), ensure_ascii=False)
    text = f"---\nname: {name}\ndescription: {quoted}\n---\n\n{instructions.strip()}\n"
    return _encoded(text, FILE)


def _encoded(text: str, path: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ToolError(f"not saved: {path} holds half a surrogate pair") from None


def _refuse_hidden(texts: Mapping[str, str]) -> None:
    """Raise ToolError for a character that the person who is asked could not see."""
    for name, text in texts.items():
        if found := first_hidden(text):
            raise ToolError(f"not saved: {name[:80]} would hide {found}; write it without")


def _checked(path: str) -> str:
    """Return a path that is one of a skill's further files. Raises ToolError."""
    parts = path.split("/")
    wrong = any(part in ("", ".", "..") or not part.isprintable() for part in parts)
    wrong = wrong or bool(first_hidden(path))
    if wrong or path == FILE or len(path) > 200 or len(parts) > 4 or "\\" in path:
        raise ToolError(f"not saved: {path[:80]!r} is no path such as scripts/x.py")
    return path


def _refuse_same_places(paths: Iterable[str]) -> None:
    """Raise ToolError for two paths that are one place on some disk.

    Disks may ignore case, the form of accents, joiners, and dots and spaces at the end of a name.
    """
    places: dict[str, str] = {}
    for path in paths:
        parts = unicodedata.normalize("NFKC", HIDDEN.sub("", path)).casefold().split("/")
        place = unicodedata.normalize("NFC", "/".join(part.rstrip(" .") for part in parts))
        if other := places.get(place):
            raise ToolError(f"not saved: {path[:80]} and {other[:80]} may be one file")
        places[place] = path
    for place, path in places.items():
        folders = place.split("/")[:-1]
        for depth in range(1, len(folders) + 1):
            if other := places.get("/".join(folders[:depth])):
                raise ToolError(
                    f"not saved: {other[:80]} would be a file, and a folder of {path[:80]}"
                )


def _count(folder: Path) -> int:
    return sum(each.is_dir() for each in folder.iterdir()) if folder.is_dir() else 0


def _write(folder: Path, name: str, contents: Mapping[str, bytes]) -> None:
    """Write the files of a skill: all of a new one at once, of one that is there each file at once.

    `SKILL.md` is the last. Raises OSError, ToolError.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    target, draft = folder / name, folder / f".{secrets.token_hex(8)}"
    try:
        for path, data in contents.items():
            place = draft / path
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            mode = 0o700 if data.startswith(b"#!") else 0o600
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            with os.fdopen(os.open(place, flags, mode), "wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
        if not os.path.lexists(target):
            draft.rename(target)
            return
        for path in sorted(contents, key=lambda each: each == FILE):
            _refuse_links(target, path)
            (target / path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            (draft / path).replace(target / path)
    finally:
        with suppress(OSError):
            shutil.rmtree(draft, ignore_errors=True)


def _refuse_links(target: Path, path: str) -> None:
    """Raise ToolError if a link is on the way to a file that is to be replaced."""
    place = target
    for part in ("", *path.split("/")[:-1]):
        place = place / part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            raise ToolError(f"not saved: {place.name} in the folder of the skill is no folder")
