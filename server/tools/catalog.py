"""The catalog of tools: built-in, from the owner's files, and tool sources.

Filled when the server starts and refreshed later; the toolbox reads `entries`. The owner's files
(tool_files.py) are described by child processes (user_tools.py), so that the server runs none of
their code; source files (program_tools.py) are the exception. A broken tool is left out and
reported in `problems`; the others are loaded.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..lib.http.client import Client
from ..lib.json_schema.compile import member
from ..lib.json_schema.validate import Mismatch, SchemaError, Schemas, Validator
from ..lib.runtime.event_loop import cancel_all
from ..lib.sandbox.environments import Environment
from ..session.client_tools import NAME
from ..session.json_patch import parse_pointer
from ..telemetry import log
from . import builtin
from .base import Tool
from .decorators import ToolError
from .fetch import FetchTool, fetch_url
from .function_tools import ChildTool, builtin_tool
from .program_tools import BaseTool, Objects, SourceFile, as_object, is_source, load_source, record
from .runner import ToolRunner
from .session_tools import session_tools
from .tool_files import (
    RESTART,
    NoSandboxError,
    ToolFiles,
    is_of_file,
    source_problem,
    with_environment,
)
from .tool_source import ToolSource

MAX_PROBLEMS = 500  # another server could cause an unlimited number

logger = log.get("tools")


@dataclass(frozen=True)
class Entry:
    """A tool and its compiled schema."""

    tool: Tool
    validator: Validator


class Catalog:
    """The tools by name, in the order in which they were found.

    `named`: tools that an agent has only if it names them. `problems`: load errors. `version` grows
    when `entries` change. `steering`: names of the tools that steer a run. `at_times`: the tools
    that some sessions have no use for.
    """

    def __init__(
        self,
        runner: ToolRunner,
        client: Client | None = None,
        reachable: Collection[str] = (),
    ) -> None:
        """Add the built-in tools; those that need the network only with a `client`.

        `reachable`: hosts on private networks that may be fetched.
        """
        self._runner = runner
        # Never changed, but replaced as a whole: decisions about large sessions read it in threads.
        self.entries: Mapping[str, Entry] = {}
        self.version = 0  # grows after `entries` was replaced
        self.problems: list[str] = []
        self.sources: list[ToolSource] = []
        self._of_sources: set[str] = set()  # names of their tools
        self._parts: dict[tuple[ToolSource, str], Sequence[Tool]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._files = ToolFiles(runner)
        self._given: dict[str, tuple[Environment, str]] = {}  # of built-in tools; and its folder
        self._source_files: list[SourceFile] = []
        self._objects = Objects()
        for function in builtin.PYTHON:
            self.add(builtin_tool(function, runner))
        if client:
            network = {"client": client, "runner": runner, "allowed": reachable}
            self.add(FetchTool.of(fetch_url, **network))
        for tool in session_tools():
            self.add(tool)
        self.named = {
            tool.name: Entry(tool, tool_validator(tool, Schemas())[0])
            for tool in (builtin_tool(function, runner) for function in builtin.NAMED)
        }

    def add(self, tool: Tool, schemas: Schemas | None = None) -> None:
        """Add a tool.

        `schemas`: a compilation budget shared with other tools of the same remote source. Raises
        ToolError for a name that is taken or not legal, SchemaError for an unusable schema.
        """
        entries = dict(self.entries)
        self._add_to(entries, tool, schemas or Schemas())
        self._publish(entries)

    def _add_to(self, entries: dict[str, Entry], tool: Tool, schemas: Schemas) -> None:
        """Put a tool into entries that are not published yet. Raises as `add`."""
        if not NAME.fullmatch(tool.name):
            raise ToolError("a tool's name has 1 to 64 letters a-z, digits, _ or -")
        if tool.name in entries:
            raise ToolError(f"there is a tool named {tool.name} already")
        validator, unread = tool_validator(tool, schemas)
        for error in unread:
            self._problem(f"{tool.origin}: {tool.name}: not checked: {error}")
        entries[tool.name] = Entry(tool, validator)

    def _publish(self, entries: Mapping[str, Entry]) -> None:
        """Replace the entries. Whoever has seen the new version sees them, too."""
        self.entries, every = entries, [entry.tool for entry in entries.values()]
        self.steering = frozenset(tool.name for tool in every if tool.control)
        self.at_times = [tool for tool in every if type(tool).is_useful is not Tool.is_useful]
        self.version += 1

    async def add_files(self, folder: Path, *, sandboxed: bool = True) -> None:
        """Add the owner's tools in `<folder>/*.py`: marked functions, and the tools of sources.

        The children that describe files run side by side. Without `sandboxed` only sources are
        loaded, else other files are watched from then on.
        """
        room = asyncio.Semaphore(max(2, os.cpu_count() or 1))

        async def read(path: Path) -> list[Tool | str]:
            """Return the tools of a file that is no source."""
            async with room:
                return await self._files.tools(path)

        paths = sorted(folder.glob("*.py")) if folder.is_dir() else []
        own = [path for path in paths if is_source(path)]
        others = [path for path in paths if path not in own] if sandboxed else []
        found = dict(zip(others, await asyncio.gather(*map(read, others)), strict=True))
        for path in paths:
            if path in found:
                self._report(path.name, self._exchange((), found[path]))
            elif path in own:
                self._report(path.name, await self.add_file(path))
        self._files.folder = folder if sandboxed else None

    def _report(self, name: str, found: list[Tool | str]) -> None:
        for item in found:
            if wrong := item if isinstance(item, str) else item.missing:
                self._problem(f"tools/{name}: {wrong}")

    async def add_file(self, path: Path) -> list[Tool | str]:
        """Add the tools of one file. Return each tool, or the reason why it is refused.

        A file with a `tools()` of its own is a source; any other is run in a child only.
        """
        if await asyncio.to_thread(is_source, path):
            if wrong := source_problem(path):
                return [wrong]
            source = load_source(path)
            return [source] if isinstance(source, str) else await self._add_source_file(source)
        return self._exchange((), await self._files.tools(path))

    async def _refresh_files(self) -> None:
        """Read the files again that have changed, or whose environment has; sources are not."""
        given = [*self._given.items()]
        stamps = await asyncio.to_thread(self._files.look, [each for _, (each, _) in given])
        paths = await asyncio.to_thread(self._files.changes)
        for path in paths:
            logger.info("tools/%s has changed", path.name)
            begins = f"tools/{path.name}: "
            self.problems[:] = [each for each in self.problems if not each.startswith(begins)]
            theirs = [n for n, e in self.entries.items() if is_of_file(e.tool, path)]
            if not await asyncio.to_thread(path.exists):
                del self._files.states[path]
                self._exchange(theirs, [])
            elif await asyncio.to_thread(is_source, path):
                self._files.note(path)
                self._report(path.name, self._exchange(theirs, [RESTART] if theirs else []))
            else:
                self._report(path.name, self._exchange(theirs, await self._files.tools(path)))
        moved = [
            (name, environment)
            for name, (environment, folder) in given
            if await asyncio.to_thread(environment.folder) != folder
        ]
        for name, environment in moved:
            await self._equip(name, environment)
        # What has changed may depend on other files now, which the next look finds
        self._files.stamps = None if paths or moved else stamps

    async def add_environments(self, configured: Mapping[str, Any]) -> None:
        """Give built-in tools the packages of `server.tools.<name>.requirements`."""
        for name, own in configured.items():
            if own.get("requirements"):
                await self._equip(name, self._files.environment(own["requirements"]))

    async def _equip(self, name: str, environment: Environment) -> None:
        """Let a built-in tool, and those like it, run in an environment, or say what is missing."""
        place, package, missing = f"server.tools.{name}.requirements", None, ""
        self.problems[:] = [each for each in self.problems if not each.startswith(place)]
        self._given[name] = environment, environment.folder()
        try:
            package = await self._files.package(environment)
        except NoSandboxError as error:
            missing = f"the sandbox for the packages of {name} could not be made"
            self._problem(f"{place}: {error}")
        except ToolError as error:
            missing = f"{name} {error}"
            self._problem(f"{place}: {missing}")
        entries, named = dict(self.entries), dict(self.named)
        for those in (entries, named):
            for known, entry in those.items():
                tool = entry.tool
                if isinstance(tool, ChildTool) and name in (known, tool.like):
                    tool = with_environment(tool, environment, package, missing)
                    those[known] = Entry(tool, entry.validator)
        self.named = named
        self._publish(entries)

    def add_objects(self, things: Iterable[Any], origin: str) -> None:
        """Add tools that run in this process: BaseTools (program_tools.py), functions or Tools.

        Raises ToolError and SchemaError.
        """
        for each in things:
            is_tool = isinstance(each, Tool)
            self.add(each if is_tool else record(as_object(each), origin, self._objects))

    async def _add_source_file(self, source: SourceFile) -> list[Tool | str]:
        self._source_files.append(source)
        try:
            return self._replace_source_tools(source, await source.ask())
        except ToolError as error:
            return [str(error)]

    def _replace_source_tools(
        self, source: SourceFile, things: list[BaseTool | str]
    ) -> list[Tool | str]:
        """Replace all tools of a source. Return each tool, or the reason why it is refused."""
        made = list[Tool | str]()
        for thing in things:
            if isinstance(thing, str):
                made.append(thing)
                continue
            try:
                made.append(record(thing, source.name, self._objects))
            except ToolError as error:
                made.append(f"{thing.name or type(thing).__name__}: {error}")
        theirs = [name for name, e in self.entries.items() if e.tool.origin == source.name]
        return self._exchange(theirs, made)

    def _exchange(self, theirs: Collection[str], made: list[Tool | str]) -> list[Tool | str]:
        """Replace entries by other tools. Return each tool, or the reason why it is refused.

        Other tools keep their order: providers cache a prompt up to its first difference.
        """
        before = self.entries
        rest = {name: entry for name, entry in before.items() if name not in theirs}
        entries, found, schemas = dict(rest), list[Tool | str](), Schemas()
        for tool in made:
            if isinstance(tool, str):
                found.append(tool)
                continue
            try:
                self._add_to(entries, tool, schemas)
                found.append(tool)
            except (ToolError, SchemaError) as error:
                found.append(f"{tool.name}: {error}")
        new = {name: entry for name, entry in entries.items() if name not in rest}
        order = [*before]
        at = min(map(order.index, theirs), default=len(order))
        first = {name: rest[name] for name in order[:at] if name in rest}
        last = {name: entry for name, entry in rest.items() if name not in first}
        after = {**first, **new, **last}
        if [(n, e.tool) for n, e in after.items()] != [(n, e.tool) for n, e in before.items()]:
            self._publish(after)
        return found

    async def _ask_again(self, source: SourceFile) -> None:
        try:
            for item in self._replace_source_tools(source, await source.ask()):
                if isinstance(item, str):
                    self._problem(f"tools/{source.name}: {item}")
        except ToolError as error:
            self._problem(f"tools/{source.name}: {error}")
        finally:
            source.running = None

    async def load_sources(self) -> None:
        """Add the tools of `sources`, now and whenever they change."""
        for source in self.sources:
            await source.load(functools.partial(self._replace_part, source))

    def stand_in(self, name: str) -> Tool | None:
        """Return a source's tool for a call that was made at another server, None if it is none."""
        return next(filter(None, (source.stand_in(name) for source in self.sources)), None)

    def refresh(self) -> None:
        """Begin to refresh the sources and files that are due, without waiting."""
        for source in self._source_files:
            if source.is_due(asyncio.get_running_loop().time()):
                source.running = asyncio.create_task(self._ask_again(source))
        for each in self.sources:
            each.refresh()
        if (not self._looking or self._looking.done()) and self._files.may_have_changed():
            self._looking = asyncio.create_task(self._refresh_files())

    async def close(self) -> None:
        """Cancel pending refreshes of files."""
        running = [self._looking, *(source.running for source in self._source_files)]
        await cancel_all([task for task in running if task is not None])

    def _replace_part(self, source: ToolSource, part: str, tools: Sequence[Tool]) -> None:
        """Replace all tools of a part of a source, keeping the order of the parts.

        Providers cache a prompt up to its first difference.
        """
        self._parts[source, part] = tools
        begins = f"{source.place}.{part}: "
        self.problems[:] = [each for each in self.problems if not each.startswith(begins)]
        schemas, before = Schemas(source.max_cost), self.entries
        entries = {name: e for name, e in before.items() if name not in self._of_sources}
        names: set[str] = set()
        for key in ((source, part) for source in self.sources for part in source.parts):
            for tool in self._parts.get(key, ()):
                try:
                    old = before.get(tool.name) if tool.name in self._of_sources else None
                    if old is not None and old.tool == tool and tool.name not in entries:
                        entries[tool.name] = old
                    else:
                        self._add_to(entries, tool, schemas)
                    names.add(tool.name)
                except (ToolError, SchemaError) as error:
                    self._problem(f"{key[0].place_of(key[1], tool)}: {error}")
        self._of_sources = names
        self._publish(entries)

    def _problem(self, text: str) -> None:
        if text in self.problems or len(self.problems) >= MAX_PROBLEMS:
            return
        self.problems.append(text)
        logger.warning("not loaded: %s", text)


def tool_validator(tool: Tool, schemas: Schemas) -> tuple[Validator, list[Mismatch]]:
    """Return (validator, ignored keywords) for the arguments of a tool.

    For remote tools a `pattern` that cannot be translated or bounded is skipped; the remote side
    checks it. Raises SchemaError.
    """
    try:
        return schemas.validator(tool.parameters), []
    except SchemaError as error:
        if not tool.remote or any(each.keyword != "pattern" for each in error.errors):
            raise
        schema = copy.deepcopy(tool.parameters)
        for each in error.errors:
            *way, last = parse_pointer(each.pointer) or ("",)
            place = functools.reduce(member, way, schema)
            if not isinstance(place, dict) or last not in place:
                raise  # it is behind a reference, where no pointer leads
            del place[last]
        return schemas.validator(schema), error.errors
