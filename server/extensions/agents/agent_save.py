"""The tool `agent_save`: writes an agent definition of the model, once a person has approved it.

It runs in the server itself, since no sandbox can write to the folder. The server's owner saves for
all keys, every other key for itself (folders.py). The definition is checked, the name is a
plain file name, and the file is written atomically. A model's definition never weakens an existing
policy.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from ...json_types import AgentDefinition
from ...lib.runtime import private_files
from ...lib.strict_json import JSONError
from ...session import agent_definition as definitions
from ...session.agent_definition import WORDS
from ...tools.base import Emit, Invocation, Tool, failure
from ...tools.decorators import Context, ToolError, tool
from ...tools.runner import Outcome
from .folders import AgentFolders
from .registry import parse_agent_file

MOST = 100  # files in one folder, which is read before every run


@tool(destructive=True)
def agent_save(
    ctx: Context,
    name: Annotated[str, "Letters a-z, digits, _ or -"],
    definition: Annotated[
        dict[str, Any],
        "Keys, all optional: description; systemPrompt; mode (free, plain, react, plan_execute);"
        " tools (names; without it all); policy (by tool: ask, deny); limits (max_steps, ...);"
        " provider; model; output_schema; require_finish_tool",
    ],
    replace: Annotated[bool, "Overwrite an agent of this name"] = False,
) -> dict[str, Any]:
    """Save the definition of an agent, for sessions to choose. Only when the user asks for one."""
    raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class AgentSaveTool(Tool):
    """The tool `agent_save`. `agents`: the folders of agent definitions."""

    agents: AgentFolders = field(compare=False)

    async def run(self, call: Invocation, emit: Emit) -> Outcome:
        """Save the definition for the key whose call it is."""
        return save(self.agents.of(call.owner), **call.args)


def save(
    folders: Sequence[Path], name: str, definition: dict[str, Any], replace: bool = False
) -> Outcome:
    """Write `<name>.json` to the first of the folders and return the Outcome.

    An agent of this name in any of the folders is replaced only with `replace`; its `ask` and
    `deny` policies are kept in the new one.
    """
    folder, file = folders[0], f"{name}.json"
    try:
        checked = _check_definition(name, definition)
        there = next((each for each in folders if os.path.lexists(each / file)), None)
        if there is not None and not replace:
            raise ToolError(
                f"there is an agent {name} already; save with replace to use this one instead of it"
            )
        if there != folder and _count(folder) >= MOST:
            raise ToolError(f"not saved: there are {MOST} agents already; replace one of them")
        kept = _keep(checked, _policy_of(there, name)) if there else []
        existed = _write_file(folder, file, _file(checked), replace) or there is not None
    except ToolError as error:
        return failure(str(error))
    text = f"The agent {name} is {'replaced' if existed else 'saved'}; sessions can choose it now."
    if kept:
        text += f" Of the policy that was there stays: {', '.join(kept)}."
    return Outcome("ok", {"agent": name, "replaced": existed}, text=text)


def _check_definition(name: str, definition: dict[str, Any]) -> AgentDefinition:
    checked, misfits = definitions.read(name, definition)
    if misfits:
        lines = [f"{each['pointer'] or '/'}: {each['detail']}" for each in misfits]
        raise ToolError("\n".join(["not saved:", *lines]))
    if freed := [tool for tool, word in checked.get("policy", {}).items() if word == "auto"]:
        raise ToolError(f"not saved: only the owner may let {', '.join(freed)} run without asking")
    if files := [file for _, _, file in definitions.files_named(checked)]:
        raise ToolError(f"not saved: write out what @{files[0]} says; such files are the owner's")
    return checked


def _count(folder: Path) -> int:
    try:
        return sum(path.name.endswith(".json") for path in folder.iterdir())
    except OSError:
        return 0


def _policy_of(folder: Path, name: str) -> dict[str, str]:
    """Return the policy of the existing file. Raises ToolError if it cannot be read."""
    path = folder / f"{name}.json"
    try:
        if not path.exists():
            return {}
        fits = path.is_file() and path.stat().st_size <= definitions.MAX_FILE
        value = parse_agent_file(path.read_bytes()) if fits else None
    except (OSError, UnicodeDecodeError, JSONError):
        value = None
    before, misfits = definitions.read(name, value)
    if misfits:  # an unreadable policy cannot be kept
        text = f"not saved: what {name}.json forbids cannot be read; its owner has to mend it first"
        raise ToolError(text)
    return before.get("policy", {})


def _keep(found: AgentDefinition, before: dict[str, str]) -> list[str]:
    """Make the policy of `found` no weaker than `before`; return `tool: word` of what was kept."""
    policy = found.get("policy", {})
    stricter = {
        tool: word
        for tool, word in before.items()
        if WORDS.index(word) > WORDS.index(policy.get(tool, WORDS[0]))
    }
    if stricter:
        found["policy"] = policy | stricter
    return [f"{tool}: {word}" for tool, word in stricter.items()]


def _file(found: AgentDefinition) -> bytes:
    members = {key: value for key, value in found.items() if key != "name"}
    try:
        data = f"{json.dumps(members, ensure_ascii=False, indent=2)}\n".encode()
    except UnicodeEncodeError:
        raise ToolError("not saved: it holds half a surrogate pair") from None
    if len(data) > definitions.MAX_FILE:
        raise ToolError(f"not saved: it is larger than {definitions.MAX_FILE} bytes")
    return data


def _write_file(folder: Path, file: str, data: bytes, replace: bool) -> bool:
    """Write the file and return whether it replaced one. Raises ToolError."""
    try:
        if private_files.write(folder / file, data, replace=False, durable=True):
            return False
        if replace:
            return private_files.write(folder / file, data, durable=True)
    except OSError as error:
        raise ToolError(f"{file} cannot be written: {error.strerror}") from None
    raise ToolError(f"there is an agent file {file} already; save with replace to overwrite it")
