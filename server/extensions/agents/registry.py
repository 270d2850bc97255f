"""The registry of agents: built in, the owner's `agents/*.json`, and those that other keys saved.

A folder is read again once anything in it has changed, so an edit takes effect with the next run.
A file that cannot be used is listed in `problems`, and its last valid version stays in use.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...json_types import AgentDefinition
from ...lib.runtime.file_stamps import FileStamps, Stamp, stamp_of
from ...lib.strict_json import JSONError, dumps, loads
from ...session import agent_definition as definitions
from ...session.agent_definition import MAX_FILE, files_named
from ...session.agents import Agents, UsableAgent
from ...telemetry import log
from .folders import BUILT_IN, AgentFolders

# -- prompt files ---------------------------------------------------------------------------------
# Prompts in files of their own: `"systemPrompt": "@pirate.md"`, beside the agent's definition.
#
# Used by registry.py for definitions in files only: those in sessions, or saved by a model, cannot
# include files. Nothing outside of the folder of the definitions is ever opened, whatever a name or
# a link says.

_NAME = re.compile(r"[\w-][\w.-]*(?:/[\w-][\w.-]*)*")  # so no part is `.`, `..` or empty


class AgentFileError(ValueError):
    """A file that is not accepted; the message says why."""


def include_files(folder: Path, definition: Any) -> tuple[dict[str, Stamp], list[str]]:
    """Put the text of the included files into a definition, in place.

    Returns (name → stamp of each file, problems). The stamp of a missing file is ().
    """
    seen: dict[str, Stamp] = {}
    problems: list[str] = []
    for place, key, name in list(files_named(definition)):
        try:
            if not _NAME.fullmatch(name):
                raise AgentFileError(
                    "a prompt's file is named from the folder of its agent, without .."
                )
            seen[name] = stamp_of(folder / name)
            place[key] = _text(folder.resolve() / name)
        except AgentFileError as error:
            problems.append(f"@{name[:80]}: {error}")
    return seen, problems


def _text(path: Path) -> str:
    """Return the text of a file. Raises AgentFileError."""
    try:
        if path.resolve(strict=True) != path:
            raise AgentFileError("it is a link, and links are not followed")
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):  # reading a pipe would block
            raise AgentFileError("it is no file")
        if about.st_size > MAX_FILE:
            raise AgentFileError(f"it is larger than {MAX_FILE} bytes")
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise AgentFileError("it is not UTF-8") from None
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead to each other
        raise AgentFileError(getattr(error, "strerror", None) or "it cannot be read") from None
    if "\0" in text:
        raise AgentFileError("it is no text")
    return text.replace("\r\n", "\n")


# -- registry -------------------------------------------------------------------------------------

_QUOTED = re.compile(r'"""(.*?)"""', re.DOTALL)

ORIGINS = ("built in", "home", "key")  # of this server, the owner's, saved by the asking key

logger = log.get("agents")


@dataclass
class AgentFile:
    """Cache entry of an agent file.

    stamp       of the file as it was read
    definition  the last valid one
    problems    of the file as it is now
    prompts     stamps of the prompt files that it includes
    """

    stamp: Stamp
    definition: AgentDefinition | None = None
    problems: list[str] = field(default_factory=list)
    prompts: dict[str, Stamp] = field(default_factory=dict)

    def is_unchanged(self, folder: Path, stamp: Stamp) -> bool:
        """Return whether the file and its prompt files are unchanged. `stamp`: its present one."""
        same = all(stamp_of(folder / name) == was for name, was in self.prompts.items())
        return self.stamp == stamp and same


class AgentRegistry(Agents):
    """The agents of files.

    `folder`: the owner's. It may be missing, unless it `is_configured`. `owners`: as in
    AgentFolders.
    """

    def __init__(
        self,
        folder: Path | None = None,
        default: str = "default",
        owners: Collection[str] = ("",),
        limits: Mapping[str, Any] | None = None,
        *,
        is_configured: bool = False,
    ) -> None:
        super().__init__(default, limits)
        self._wanted = folder if is_configured else None
        self._folders = AgentFolders(folder, owners) if folder else None
        self._files: dict[Path, dict[str, AgentFile]] = {BUILT_IN: _scan_folder(BUILT_IN, {})}
        self._stamps: dict[Path, FileStamps] = {}

    def usable(self, owner: str = "") -> dict[str, UsableAgent]:
        """Return the agents of one key by name. Their origins are ORIGINS."""
        return {
            name: UsableAgent(file.definition, origin, file.stamp[0] // 1_000_000_000)
            for origin, folder in zip(ORIGINS, self._refresh(owner), strict=False)
            for name, file in self._files[folder].items()
            if file.definition
        }

    def file_names(self, owner: str = "") -> list[str]:
        """Return the names of all files, also of those that cannot be used."""
        return [name for folder in self._refresh(owner) for name in self._files[folder]]

    def problems(self, tools: Collection[str] = (), owner: str = "") -> list[str]:
        """Return the problems in the files of the owner and of this key. See Agents."""
        found = []
        for folder in self._refresh(owner)[1:]:
            for name, file in self._files[folder].items():
                unknown = definitions.unknown_tools(file.definition or {}, tools) if tools else []
                found += [f"agents/{name}.json: {text}" for text in (*file.problems, *unknown)]
        if self.default not in self.usable(owner):
            found.append(f"session.agent is {self.default}, and there is no such agent")
        if self._wanted and not self._wanted.is_dir():
            found.append("server.agents_dir: there is no such folder")
        return found

    def _refresh(self, owner: str) -> list[Path]:
        """Read what has changed in the folders. Return the folders, built in first."""
        if self._folders is None:
            return [BUILT_IN]
        folders = [*reversed(self._folders.of(owner))]
        for folder in folders[1:]:
            if folder in self._stamps and self._stamps[folder].are_current():
                continue
            before = self._files.get(folder, {})
            stamps = FileStamps(_places(folder, before))
            self._files[folder] = _scan_folder(folder, before)
            if self._files[folder] == before:
                self._stamps[folder] = stamps
            for name, file in self._files[folder].items():
                if before.get(name) is file:
                    continue
                logger.info("agent %s is %s", name, "not usable" if file.problems else "loaded")
                for text in file.problems:
                    logger.warning("agents/%s.json: %s", name, text)
        return folders


def _places(folder: Path, files: Mapping[str, AgentFile]) -> Iterator[str]:
    """Yield what is looked at for the agents of a folder. `files`: those that are known."""
    yield str(folder)
    with suppress(OSError):
        yield from (f"{folder}/{name}" for name in _names(folder))
    for file in files.values():
        yield from (f"{folder}/{prompt}" for prompt in file.prompts)


def _names(folder: Path) -> list[str]:
    """Return the names of the files of agents, in order. Raises OSError."""
    with os.scandir(folder) as entries:
        return sorted(each.name for each in entries if each.name.endswith(".json"))


def _scan_folder(folder: Path, before: dict[str, AgentFile]) -> dict[str, AgentFile]:
    """Return the files of a folder by agent name; unchanged ones are the same objects."""
    found: dict[str, AgentFile] = {}
    try:
        files = _names(folder)
    except OSError:
        return found
    for file in files:
        path, name = folder / file, file.removesuffix(".json")
        if name.startswith("."):
            continue
        stamp = stamp_of(path)
        if not stamp:  # just removed, or a dangling link
            continue
        old = before.get(name)
        if old is not None and old.is_unchanged(folder, stamp):
            found[name] = old
        else:
            found[name] = _read(path, name, stamp, old)
    return found


def _read(path: Path, name: str, stamp: Stamp, old: AgentFile | None) -> AgentFile:
    kept = old.definition if old else None
    try:
        if stamp[2] > MAX_FILE:
            return AgentFile(stamp, kept, [f"it is larger than {MAX_FILE} bytes"])
        value = parse_agent_file(path.read_bytes())
    except OSError as error:
        return AgentFile(stamp, kept, [error.strerror or "it cannot be read"])
    except UnicodeDecodeError:
        return AgentFile(stamp, kept, ["it is not UTF-8"])
    except JSONError as error:
        place = f"line {error.line}, column {error.column}: " if error.line else ""
        return AgentFile(stamp, kept, [place + error.message])
    prompts, problems = include_files(path.parent, value)
    definition, misfits = definitions.read(name, value)
    problems += [f"{each['pointer'] or '/'}: {each['detail']}" for each in misfits]
    if problems:
        return AgentFile(stamp, kept, problems, prompts)
    return AgentFile(stamp, definition, definitions.warnings(definition), prompts)


def parse_agent_file(data: bytes) -> Any:
    """Return the content of an agent file. Raises UnicodeDecodeError, JSONError."""
    return loads(_plain_json(data.decode("utf-8-sig")))


def _plain_json(text: str) -> str:
    """Return the text with each `\"\"\"…\"\"\"` as a JSON string.

    A first and a last line break within the quotes are dropped. Its line breaks are appended to it,
    so that line numbers of errors stay right.
    """

    def quote(match: re.Match[str]) -> str:
        """Return the JSON string of one match."""
        inner = match[1].replace("\r\n", "\n")
        return dumps(inner.removeprefix("\n").removesuffix("\n")) + "\n" * match[1].count("\n")

    return _QUOTED.sub(quote, text)
