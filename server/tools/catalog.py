"""The catalog of tools: built-in, from the owner's files and packages, REST APIs and MCP servers.

Filled when the server starts and refreshed later; the toolbox reads `entries`. The owner's files
and packages are described by child processes (user_tools.py, package_code.py), so that the server
runs none of their code; tool sources (tool_sources.py) are the exception. A broken tool is left out
and reported in `problems`; the others are loaded.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import os
import re
from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..sandbox.packages import Package, package_of
from ..schema.compile import member
from ..schema.generate import schema_of
from ..schema.validate import Mismatch, SchemaError, Schemas, Validator
from ..session.fold import parse_pointer
from ..strict_json import JSONError, loads
from ..telemetry import log
from . import builtin
from .http_api import Operation, operations
from .mcp.servers import Servers
from .program_tools import BaseTool as Object
from .program_tools import as_object, record
from .runner import Job, Outcome, Runner
from .tool import BaseTool, Context, ToolError, hints_of, resources_of
from .tool_sources import Source, is_source, load_source

# Kinds of the built-in tools that do not run in a child. Inline tools are bounded and harmless.
KINDS = {
    **dict.fromkeys(("calculator", "datetime", "finish"), "inline"),
    **dict.fromkeys(("city_datetime", "mock_city_weather"), "inline"),
    "tool_detail": "detail",
    **dict.fromkeys(("context_reload", "context_retain"), "history"),
    "agent_save": "agents",
    **dict.fromkeys(("plan_set", "plan_update"), "plan"),
    "ask_user": "question",
    "fetch_url": "fetch",
}
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # accepted by every provider; OpenAI's rule
DESCRIBE_LIMITS: dict[str, float] = {
    "wall_s": 20,
    "cpu_s": 20,
    "memory_mb": 1024,
    "file_mb": 1,
    "output_kb": 256,
    "processes": 64,
    "open_files": 256,
}

EMPTY = "it has no @tool"  # beginning of the error that package_code.py raises
MAX_API_COST = 2_000_000  # of the schemas of one API, in units of about 1 µs
MAX_PROBLEMS = 500  # an MCP server could cause an unlimited number

logger = log.get("tools")


@dataclass(frozen=True)
class Entry:
    """A tool, its compiled schema, and its REST operation or Python object for these kinds."""

    tool: BaseTool
    validator: Validator
    operation: Operation | None = None
    thing: Object | None = None


class Catalog:
    """The tools by name, in the order in which they were found.

    `named`: tools that an agent has only if it names them. `problems`: load errors. `version` grows
    when `entries` change.
    """

    def __init__(self, *, network: bool) -> None:
        """Add the built-in tools; those that need the network only if `network`."""
        self.entries: dict[str, Entry] = {}
        self.version = 0  # grows when `entries` change
        self.problems: list[str] = []
        self._servers: Servers | None = None
        self._by_server: dict[str, list[BaseTool]] = {}
        self.packages: dict[str, Package] = {}
        self._looking: dict[str, asyncio.Task[None]] = {}
        self._sources: list[Source] = []
        for function in (
            *builtin.PYTHON,
            *(builtin.NETWORK if network else ()),
            *builtin.AGENTS,
            *builtin.CONTROL,
        ):
            self.add(_builtin(function))
        self.named = {
            tool.name: Entry(tool, _validator(tool, Schemas())[0])
            for tool in map(_builtin, builtin.NAMED)
        }

    def add(
        self,
        tool: BaseTool,
        operation: Operation | None = None,
        schemas: Schemas | None = None,
        thing: Object | None = None,
    ) -> None:
        """Add a tool.

        `schemas`: a compilation budget shared with other tools of the same remote source. Raises
        ToolError for a name that is taken or not legal, SchemaError for an unusable schema.
        """
        if not NAME.fullmatch(tool.name):
            raise ToolError("a tool's name has 1 to 64 letters a-z, digits, _ or -")
        if tool.name in self.entries:
            raise ToolError(f"there is a tool named {tool.name} already")
        validator, unread = _validator(tool, schemas or Schemas())
        for error in unread:
            self._problem(f"{tool.origin}: {tool.name}: not checked: {error}")
        self.entries[tool.name] = Entry(tool, validator, operation, thing)
        self.version += 1

    async def add_files(self, folder: Path, runner: Runner, *, sandboxed: bool = True) -> None:
        """Add the owner's tools in `<folder>/*.py`: marked functions, and the tools of sources.

        Without `sandboxed` only sources are loaded.
        """
        for path in sorted(folder.glob("*.py")) if folder.is_dir() else ():
            if not sandboxed and not is_source(path):
                continue
            for item in await self.add_file(path, runner):
                if isinstance(item, str):
                    self._problem(f"tools/{path.name}: {item}")

    async def add_file(self, path: Path, runner: Runner) -> list[BaseTool | str]:
        """Add the tools of one file. Return each tool, or the reason why it is refused.

        A file with a `tools()` of its own is a source; any other is run in a child only.
        """
        if await asyncio.to_thread(is_source, path):
            source = load_source(path)
            return [source] if isinstance(source, str) else await self._add_source(source)
        found: list[BaseTool | str] = []
        try:
            described = await _describe(path, runner)
        except ToolError as error:
            return [str(error)]
        for about in described:
            try:
                tool = _owned(path.name, ("file", str(path), about["name"]), about)
                self.add(tool)
                found.append(tool)
            except (ToolError, SchemaError) as error:
                found.append(f"{about['name']}: {error}")
        return found

    def add_objects(self, things: Iterable[Any], origin: str) -> None:
        """Add tools that run in this process: BaseTools (program_tools.py) or functions.

        Raises ToolError and SchemaError.
        """
        for each in things:
            thing = as_object(each)
            self.add(record(thing, origin), thing=thing)

    async def _add_source(self, source: Source) -> list[BaseTool | str]:
        self._sources.append(source)
        try:
            return self._gave(source, await source.ask())
        except ToolError as error:
            return [str(error)]

    def _gave(self, source: Source, things: list[Object | str]) -> list[BaseTool | str]:
        """Replace all tools of a source. Return each tool, or the reason why it is refused.

        Other tools keep their order: providers cache a prompt up to its first difference.
        """
        before, version = dict(self.entries), self.version
        theirs = [name for name, e in before.items() if e.tool.origin == source.name]
        for name in theirs:
            del self.entries[name]
        rest, found, schemas = dict(self.entries), list[BaseTool | str](), Schemas()
        for thing in things:
            if isinstance(thing, str):
                found.append(thing)
                continue
            try:
                made = record(thing, source.name)
                self.add(made, schemas=schemas, thing=thing)
                found.append(made)
            except (ToolError, SchemaError) as error:
                found.append(f"{thing.name or type(thing).__name__}: {error}")
        new = {name: entry for name, entry in self.entries.items() if name not in rest}
        order = [*before]
        at = order.index(theirs[0]) if theirs else len(order)
        first = {name: rest[name] for name in order[:at] if name in rest}
        last = {name: entry for name, entry in rest.items() if name not in first}
        self.entries.clear()
        self.entries.update({**first, **new, **last})
        if [(name, e.tool) for name, e in self.entries.items()] == [
            (name, e.tool) for name, e in before.items()
        ]:
            self.version = version
        return found

    async def _ask_again(self, source: Source) -> None:
        try:
            for item in self._gave(source, await source.ask()):
                if isinstance(item, str):
                    self._problem(f"tools/{source.name}: {item}")
        except ToolError as error:
            self._problem(f"tools/{source.name}: {error}")
        finally:
            source.running = None

    def add_rest(self, configured: dict[str, Any], home: Path) -> None:
        """Add the operations of `server.rest`, with those of OpenAPI documents below `home`."""
        for api, about in configured.items():
            file, document = about.get("openapi"), None
            schemas = Schemas(MAX_API_COST)
            try:
                document = loads((home / file).read_bytes()) if file else None
            except (OSError, JSONError) as error:
                yaml = isinstance(error, JSONError) and file.endswith((".yaml", ".yml"))
                why = "YAML is not read; convert it to JSON" if yaml else error
                self._problem(f"server.rest.{api}.openapi: {why}")
            for item in operations(api, about, document):
                if isinstance(item, str):
                    self._problem(item)
                    continue
                try:
                    self.add(item.tool, item, schemas)
                except (ToolError, SchemaError) as error:
                    self._problem(f"server.rest.{api}: {item.tool.name}: {error}")

    async def add_mcp(self, servers: Servers) -> None:
        """Start every MCP server and add its tools, now and whenever its list changes."""
        self._servers = servers
        await servers.load(self._listed)
        self.problems += servers.problems

    def look_again(self, runner: Runner) -> None:
        """Begin to refresh the sources, MCP servers and packages that are due, without waiting."""
        for source in self._sources:
            if source.due(asyncio.get_running_loop().time()):
                source.running = asyncio.create_task(self._ask_again(source))
        if self._servers is not None:
            self._servers.look_again()
        for name, package in self.packages.items():
            if package.files and name not in self._looking:
                task = asyncio.create_task(self._refresh(package, runner))
                self._looking[name] = task
                task.add_done_callback(functools.partial(self._looked, name))

    def _looked(self, name: str, _task: asyncio.Task[None]) -> None:
        del self._looking[name]

    async def settled(self) -> None:
        """Wait until the packages that `look_again` found changed are loaded."""
        await asyncio.gather(*self._looking.values())

    async def close(self) -> None:
        """Cancel pending refreshes of sources and packages."""
        tasks = [*self._looking.values()]
        tasks += [source.running for source in self._sources if source.running is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def add_package(
        self, name: str, about: dict[str, Any], home: Path, runner: Runner
    ) -> None:
        """Add the tools of an entry of `server.tool_modules`; errors go to `problems`."""
        place = f"server.tool_modules.{name}"
        if name in self.packages:
            self._problem(f"{place}: there is an entry of this name already")
            return
        try:
            package, remarks = await asyncio.to_thread(package_of, name, about, home, os.environ)
        except ValueError as error:
            self._problem(f"{place}: {error}")
            return
        for remark in remarks:
            self._problem(f"{place}: {remark}")
        if why := await runner.admit(package):
            self._problem(f"{place}: {why}")
            return
        self.packages[name] = package
        self._replace(package, *await survey(package, runner))

    async def _refresh(self, package: Package, runner: Runner) -> None:
        if await asyncio.to_thread(package.changed):
            package.version += 1
            self._replace(package, *await survey(package, runner))

    def _replace(
        self, package: Package, described: list[dict[str, Any]], problems: list[str]
    ) -> None:
        """Replace all tools of a package, and the problems reported for it."""
        self.problems[:] = [each for each in self.problems if each not in package.problems]
        self.version += 1
        for name in [n for n, e in self.entries.items() if e.tool.package == package.name]:
            del self.entries[name]
        for about in described:
            try:
                where = ("import", about["target"], about["name"])
                self.add(_owned(package.name, where, about, package))
            except (ToolError, SchemaError) as error:
                problems = [*problems, f"{about['name']}: {error}"]
        package.problems = [f"server.tool_modules.{package.name}: {each}" for each in problems]
        for each in package.problems:
            self._problem(each)

    def _listed(self, server: str, tools: list[BaseTool]) -> None:
        """Replace all tools of an MCP server, keeping the order of the servers.

        Providers cache a prompt up to its first difference.
        """
        self._by_server[server] = tools
        schemas = Schemas()
        self.version += 1
        known = {name: e for name, e in self.entries.items() if e.tool.kind == "mcp"}
        for name in known:
            del self.entries[name]
        for each in self._servers.names if self._servers else ():
            for tool in self._by_server.get(each, ()):
                try:
                    old = known.get(tool.name)
                    if old is not None and old.tool == tool and tool.name not in self.entries:
                        self.entries[tool.name] = old
                    else:
                        self.add(tool, schemas=schemas)
                except (ToolError, SchemaError) as error:
                    self._problem(f"mcpServers.{each}: {tool.where[2]}: {error}")

    def _problem(self, text: str) -> None:
        if text in self.problems or len(self.problems) >= MAX_PROBLEMS:
            return
        self.problems.append(text)
        logger.warning("not loaded: %s", text)


def _validator(tool: BaseTool, schemas: Schemas) -> tuple[Validator, list[Mismatch]]:
    """Return (validator, ignored keywords) for the arguments of a tool.

    For MCP and REST tools a `pattern` that cannot be translated or bounded is skipped; the remote
    side checks it. Raises SchemaError.
    """
    try:
        return schemas.validator(tool.parameters), []
    except SchemaError as error:
        remote = tool.kind in ("mcp", "rest")
        if not remote or any(each.keyword != "pattern" for each in error.errors):
            raise
        schema = copy.deepcopy(tool.parameters)
        for each in error.errors:
            *way, last = parse_pointer(each.pointer) or ("",)
            place = functools.reduce(member, way, schema)
            if not isinstance(place, dict) or last not in place:
                raise  # it is behind a reference, where no pointer leads
            del place[last]
        return schemas.validator(schema), error.errors


async def _describe(path: Path, runner: Runner) -> list[dict[str, Any]]:
    return list(await _said(Job(("describe", str(path), ""), {}, None, DESCRIBE_LIMITS), runner))


async def survey(package: Package, runner: Runner) -> tuple[list[dict[str, Any]], list[str]]:
    """Return (descriptions of a package's tools, problems), and watch its files for changes.

    All modules and functions are surveyed in one child; if that fails, each in a child of its own.
    """
    wanted = {"modules": [*package.modules], "functions": [*package.functions]}
    found: list[dict[str, Any]] = []
    problems: list[str] = []
    files: list[Any] = []

    async def ask(kind: str, args: dict[str, Any]) -> Any:
        """Run one survey call in a child. Raises ToolError."""
        job = Job(("survey", kind, ""), args, None, DESCRIBE_LIMITS, package=package)
        return await _said(job, runner)

    async def add(args: dict[str, Any]) -> None:
        """Add the tools and files of these modules and functions. Raises ToolError."""
        said = await ask("tools", args)
        found.extend(said["tools"])
        files.extend(said["files"])

    try:
        await add(wanted)
    except ToolError as error:
        alone: list[tuple[str, dict[str, Any]]] = []
        for each in package.modules:
            try:
                names = await ask("targets", {"modules": [each]}) if each[-2:] == ".*" else [each]
            except ToolError as broken:
                problems.append(f"{each}: {broken}")
                continue
            alone += [(name, {"modules": [name], "functions": []}) for name in names]
        for one in package.functions:
            alone.append((one["function"], {"modules": [], "functions": [one]}))
        if len(alone) == 1 and not problems:
            problems.append(f"{alone[0][0]}: {error}")
            alone = []
        for name, args in alone:
            try:
                await add(args)
            except ToolError as broken:
                if args["modules"] and name not in package.modules and EMPTY in str(broken):
                    continue  # modules of `package.*` need not have tools
                problems.append(f"{name}: {broken}")
    package.watch([*files, *package.candidates(), *package.files])
    return found, problems


async def _said(job: Job, runner: Runner) -> Any:
    """Return the result of one of the server's own calls. Raises ToolError."""
    async with aclosing(runner.run(job)) as items:
        async for item in items:
            if isinstance(item, Outcome):
                if item.status == "ok":
                    return item.result
                raise ToolError(f"{item.error.get('type')}: {item.error.get('message')}")
    raise ToolError("its process ended without a word")


def _builtin(function: Any) -> BaseTool:
    options = builtin.options(function)
    signature = schema_of(function, inject=(Context,))
    kind = KINDS.get(signature.name, "python")
    where = builtin.READS if kind == "fetch" else (function.__module__, function.__name__)
    return BaseTool(
        signature.name,
        signature.description or "",
        signature.parameters,
        kind=kind,
        where=("module", *where),
        hints=hints_of(options),
        required_resources=resources_of(options),
        keep=options.get("keep"),
        returns=signature.returns,
        like=builtin.LIKE.get(signature.name, ""),
    )


def _owned(
    origin: str,
    where: tuple[str, str, str],
    about: dict[str, Any],
    package: Package | None = None,
) -> BaseTool:
    """Return the record of an owner's function. Raises ToolError if it could not be described."""
    if "problem" in about:
        raise ToolError(about["problem"])
    options, (kit, of_all) = about["options"], about["toolkit"]
    hints = hints_of(options)
    stateful = about["stateful"] or (package is not None and package.stateful)
    return BaseTool(
        about["name"],
        about["description"],
        about["parameters"],
        origin=origin,
        where=where,
        # Parallel calls cannot share the process of a stateful tool.
        hints={**hints, "parallel_safe": hints["parallel_safe"] and not stateful},
        required_resources=resources_of(options),
        keep=options.get("keep"),
        returns=about["returns"],
        toolkit=(kit, of_all),
        package=package.name if package else "",
        stateful=stateful,
    )
