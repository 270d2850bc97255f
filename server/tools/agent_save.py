"""`agent_save`: a definition that the model wrote and a person approved, as a file of the owner's.

In the walk: perform.py calls `save` in the server itself, for the folder is out of every sandbox's
reach. The rule of the file: only what a file may say is written, under a name that can be nothing
but a name, and whole or not at all. What a model writes never lowers a policy.
"""

from __future__ import annotations

import json
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..jsontext import JSONError, loads
from ..session import definition as definitions
from ..session.definition import WORDS, Definition
from .runner import Outcome
from .tool import ToolError


def save(folder: Path, name: str, definition: dict[str, Any], replace: bool = False) -> Outcome:
    """Write `<folder>/<name>.json`; an existing one only with `replace`, and what its policy asks
    about or denies stays in the new one."""
    try:
        found = _checked(name, definition)
        kept = _keep(found, _policy_of(folder, name)) if replace else []
        existed = _written(folder, f"{name}.json", _file(found), replace)
    except ToolError as error:
        return Outcome("error", error={"type": "error", "message": str(error)})
    said = f"The agent {name} is {'replaced' if existed else 'saved'}; sessions can choose it now."
    if kept:
        said += f" Of the policy that was there stays: {', '.join(kept)}."
    return Outcome("ok", {"agent": name, "replaced": existed}, text=said)


def _checked(name: str, definition: dict[str, Any]) -> Definition:
    found, misfits = definitions.read(name, definition)
    if misfits:
        lines = [f"{each['pointer'] or '/'}: {each['detail']}" for each in misfits]
        raise ToolError("\n".join(["not saved:", *lines]))
    if freed := [tool for tool, word in found.get("policy", {}).items() if word == "auto"]:
        raise ToolError(f"not saved: only the owner may let {', '.join(freed)} run without asking")
    if files := [file for _, _, file in definitions.files_named(found)]:
        raise ToolError(f"not saved: write out what @{files[0]} says; such files are the owner's")
    return found


def _policy_of(folder: Path, name: str) -> dict[str, str]:
    """What the file that is there says of tools."""
    path = folder / f"{name}.json"
    try:
        if not path.exists():
            return {}
        fits = path.is_file() and path.stat().st_size <= definitions.MAX_FILE
        value = loads(path.read_bytes()) if fits else None
    except (OSError, JSONError):
        value = None
    before, misfits = definitions.read(name, value)
    if misfits:  # a policy that cannot be read cannot be kept
        text = f"not saved: what {name}.json forbids cannot be read; its owner has to mend it first"
        raise ToolError(text)
    policy: dict[str, str] = before.get("policy", {})
    return policy


def _keep(found: Definition, before: dict[str, str]) -> list[str]:
    """Make the policy of `found` no weaker than the one before; `tool: word` of what stays."""
    own = found.get("policy", {})
    stricter = {
        tool: word
        for tool, word in before.items()
        if WORDS.index(word) > WORDS.index(own.get(tool, WORDS[0]))
    }
    if stricter:
        found["policy"] = own | stricter
    return [f"{tool}: {word}" for tool, word in stricter.items()]


def _file(found: Definition) -> bytes:
    said = {key: value for key, value in found.items() if key != "name"}
    try:
        data = f"{json.dumps(said, ensure_ascii=False, indent=2)}\n".encode()
    except UnicodeEncodeError:
        raise ToolError("not saved: it holds half a surrogate pair") from None
    if len(data) > definitions.MAX_FILE:
        raise ToolError(f"not saved: it is larger than {definitions.MAX_FILE} bytes")
    return data


def _written(folder: Path, file: str, data: bytes, replace: bool) -> bool:
    """Whether there was such a file before."""
    draft, target = folder / f".{secrets.token_hex(8)}.tmp", folder / file
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with open(draft, "xb", opener=lambda path, _: os.open(path, flags, 0o600)) as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        try:
            os.link(draft, target)  # unlike a rename, this never takes another's place
            return False
        except FileExistsError:
            if not replace:
                raise ToolError(
                    f"there is an agent file {file} already; save with replace to overwrite it"
                ) from None
            draft.replace(target)
            return True
    except OSError as error:
        raise ToolError(f"{file} cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            draft.unlink()
