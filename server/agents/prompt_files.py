"""Prompts in files of their own: `"systemPrompt": "@pirate.md"`, beside the agent's definition.

Used by registry.py for definitions in files only: those in sessions, or saved by a model, cannot
include files. Nothing outside of the folder of the definitions is ever opened, whatever a name or a
link says.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Any

from ..session.agent_definition import MAX_FILE, files_named

Stamp = tuple[int, int, int]  # (mtime_ns, size, inode) of a file, to detect changes

_NAME = re.compile(r"[\w-][\w.-]*(?:/[\w-][\w.-]*)*")  # so no part is `.`, `..` or empty


class Refused(ValueError):
    """A file that is not accepted; the message says why."""


def stamp_of(path: Path) -> Stamp | None:
    """Return the stamp of a file, None if there is none."""
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size, about.st_ino


def included(folder: Path, definition: Any) -> tuple[dict[str, Stamp | None], list[str]]:
    """Put the text of the included files into a definition, in place.

    Returns (name → stamp of each file, problems). The stamp of a missing file is None.
    """
    seen: dict[str, Stamp | None] = {}
    problems: list[str] = []
    for place, key, name in list(files_named(definition)):
        try:
            if not _NAME.fullmatch(name):
                raise Refused("a prompt's file is named from the folder of its agent, without ..")
            seen[name] = stamp_of(folder / name)
            place[key] = _text(folder.resolve() / name)
        except Refused as error:
            problems.append(f"@{name[:80]}: {error}")
    return seen, problems


def _text(path: Path) -> str:
    """Return the text of a file. Raises Refused."""
    try:
        if path.resolve(strict=True) != path:
            raise Refused("it is a link, and links are not followed")
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):  # reading a pipe would block
            raise Refused("it is no file")
        if about.st_size > MAX_FILE:
            raise Refused(f"it is larger than {MAX_FILE} bytes")
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refused("it is not UTF-8") from None
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead to each other
        raise Refused(getattr(error, "strerror", None) or "it cannot be read") from None
    if "\0" in text:
        raise Refused("it is no text")
    return text.replace("\r\n", "\n")
