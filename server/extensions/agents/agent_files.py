"""Read, write and delete agent files for their owner, who edits them in the page.

Unlike what a model saves (agent_save.py), such a definition may let tools run without
asking and may name prompt files. A name is checked before a path is made of it.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from ...errors import Problem, disk_problem, refuse
from ...lib.runtime import private_files
from ...lib.strict_json import JSONError, pointer
from ...session import agent_definition as definitions
from ...session.agent_definition import MAX_FILE
from .folders import BUILT_IN
from .registry import include_files, parse_agent_file

MOST = 100  # agents in the folder, which is read before every run


def agent_files(folder: Path) -> list[dict[str, Any]]:
    """Return the files of the owner and the built-in ones, by name.

    Each is {name, built_in, text, revision, agent?, problems}. `agent` is the file's content, which
    is missing if that is no JSON. A link is listed without its text.
    """
    found: dict[str, dict[str, Any]] = {}
    for place, built_in in ((BUILT_IN, True), (folder, False)):
        for name in _names(place):
            found[name] = _shown(place, name, built_in)
    return [found[name] for name in sorted(found)]


def write_agent(folder: Path, name: str, agent: Any, revision: str | None = None) -> None:
    """Write `<name>.json` atomically. Raises Problem for what is no definition, or cannot be.

    `revision`: of the file that is replaced, "" for none; None for any.
    """
    path = _path(folder, name)
    _check(folder, name, agent)
    try:
        data = f"{json.dumps(agent, ensure_ascii=False, indent=2)}\n".encode()
    except UnicodeEncodeError:
        raise Problem("request_invalid", "The agent has half a surrogate pair in it") from None
    if len(data) > MAX_FILE:
        raise Problem("request_invalid", f"The agent is larger than {MAX_FILE} bytes")
    if revision is not None and revision != _revision(_bytes(path)):
        text = "The agent's file was changed meanwhile. Read it again, and repeat"
        raise Problem("revision_changed", text)
    if not os.path.lexists(path) and len(_names(folder)) >= MOST:
        raise Problem("request_invalid", f"There are {MOST} agents already: delete one first")
    try:
        private_files.write(path, data, durable=True)  # of a link, the link itself
    except OSError as error:
        text = f"It cannot be written: {error.strerror}"
        raise disk_problem(error) or Problem("settings_invalid", text) from None


def delete_agent(folder: Path, name: str) -> None:
    """Delete `<name>.json`; a built-in agent of this name is used again. Raises Problem."""
    try:
        _path(folder, name).unlink()
    except FileNotFoundError:
        raise Problem("not_found", f"There is no agent file {name}.json of the owner") from None
    except OSError as error:
        text = f"It cannot be deleted: {error.strerror}"
        raise disk_problem(error) or Problem("settings_invalid", text) from None


def _path(folder: Path, name: str) -> Path:
    if not definitions.NAME.fullmatch(name):
        text = f"{name[:64]!r} is no name of an agent: 1 to 64 letters A-Z, a-z, digits, _ or -"
        raise Problem("request_invalid", text)
    return folder / f"{name}.json"


def _check(folder: Path, name: str, agent: Any) -> None:
    whole = json.loads(json.dumps(agent))
    _, problems = include_files(folder, whole)
    _, errors = definitions.read(name, whole)
    place = pointer("agent")
    below = [{**each, "pointer": place + each["pointer"]} for each in errors]
    below += [{"pointer": place, "detail": text} for text in problems]
    refuse("request_invalid", below)


def _names(folder: Path) -> list[str]:
    try:
        files = [each.stem for each in folder.iterdir() if each.suffix == ".json"]
    except OSError:
        return []
    return [name for name in sorted(files) if definitions.NAME.fullmatch(name)]


def _bytes(path: Path) -> bytes | None:
    """Return the content of a regular file of at most MAX_FILE; None for anything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError:
        return None
    return data if len(data) <= MAX_FILE else None


def _revision(data: bytes | None) -> str:
    return hashlib.sha256(data).hexdigest() if data is not None else ""


def _shown(folder: Path, name: str, built_in: bool) -> dict[str, Any]:
    data = _bytes(folder / f"{name}.json")
    about: dict[str, Any] = {"name": name, "built_in": built_in, "revision": _revision(data)}
    if data is None:
        return {**about, "text": "", "problems": ["it is a link, too large, or cannot be read"]}
    about["text"] = data.decode("utf-8-sig", "replace")
    try:
        agent = parse_agent_file(data)
    except UnicodeDecodeError:
        return {**about, "problems": ["it is not UTF-8"]}
    except JSONError as error:
        return {**about, "problems": [str(error)]}
    try:
        _check(folder, name, agent)
    except Problem as problem:
        lines = [f"{each['pointer']}: {each['detail']}" for each in problem.errors]
        return {**about, "agent": agent, "problems": lines}
    return {**about, "agent": agent, "problems": []}
