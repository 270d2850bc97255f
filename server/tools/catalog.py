"""Which tools there are: built in, the owner's files, REST operations, MCP servers.

In the walk: filled once when the server starts; the toolbox reads `entries` from then on. The
owner's files and packages are described by child processes (user_tools.py, package_code.py), so
that the server itself runs none of their code. The rule of the file: what is broken is left out and
told to the owner in `problems`, and costs nothing but itself.
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
from ..schema.generate import schema_of
from ..schema.references import member
from ..schema.validate import Mismatch, SchemaError, Schemas, Validator
from ..session.patch import parse_pointer
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

# Where a built-in tool runs, if not in a child. What is inline is bounded and harmless.
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
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what every provider accepts (OpenAI's rule)
DESCRIBE_LIMITS: dict[str, float] = {
    "wall_s": 20,
    "cpu_s": 20,
    "memory_mb": 1024,
    "file_mb": 1,
    "output_kb": 256,
    "processes": 64,
    "open_files": 256,
}

EMPTY = "it has no @tool"  # how package_code.py begins to say so
MAX_API_COST = 2_000_000  # of the schemas of one API, in units of about 1 µs
MAX_PROBLEMS = 500  # an MCP server could find new ones for ever

logger = log.get("tools")


@dataclass(frozen=True)
class Entry:
    """A tool, its compiled schema, and the request or the object of this process that it is where
    it is one (kinds `rest` and `object`)."""

    tool: BaseTool
    validator: Validator
    operation: Operation | None = None
    thing: Object | None = None


class Catalog:
    """The tools by name, in the order they were found. `named`: those that an agent has only if it
    names them. `problems`: what could not be loaded."""

    def __init__(self, *, network: bool) -> None:
        """The built-in tools; those that need the network only with one."""
        self.entries: dict[str, Entry] = {}
        self.version = 0  # another one whenever there are others
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
        """`schemas`: the budget that the tool shares with others of a stranger. Raises ToolError
        for a name that is taken or that models do not accept, SchemaError for a schema nobody can
        use."""
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
        """The owner's tools: every function marked in `<folder>/*.py`, and what sources give.
        `sandboxed`: there is a sandbox for the former; without, only the latter."""
        for path in sorted(folder.glob("*.py")) if folder.is_dir() else ():
            if not sandboxed and not is_source(path):
                continue
            for item in await self.add_file(path, runner):
                if isinstance(item, str):
                    self._problem(f"tools/{path.name}: {item}")

    async def add_file(self, path: Path, runner: Runner) -> list[BaseTool | str]:
        """The tools of one file: each of them, or why it is refused. A file with a `tools()` of its
        own is a source; any other is run in a child only."""
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
        """Tools of this process: BaseTools (program_tools.py) or functions. Raises ToolError and
        SchemaError."""
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
        """All tools of a source, in the place of those that it had: each, or why it is refused. The
        others keep their order: providers cache a prompt up to its first difference."""
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
        """The operations of `server.rest`, read from <home>/<openapi> where that is named."""
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
        """Start every MCP server and add the tools that it lists, now and whenever they change."""
        self._servers = servers
        await servers.load(self._listed)
        self.problems += servers.problems

    def look_again(self, runner: Runner) -> None:
        """Ask sources and MCP servers for their tools where that is due, and see whether files of
        packages have changed. What comes of it comes in later."""
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
        """Wait for what `look_again` began with packages."""
        await asyncio.gather(*self._looking.values())

    async def close(self) -> None:
        """Wait for no source and no package any more."""
        tasks = [*self._looking.values()]
        tasks += [source.running for source in self._sources if source.running is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def add_package(
        self, name: str, about: dict[str, Any], home: Path, runner: Runner
    ) -> None:
        """The tools of an entry of `server.tool_modules`. What is wrong with it is a problem."""
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
        """All tools of a package, in place of those that it had."""
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
        """All tools of an MCP server, in place of those that it had. What is offered keeps its
        order: providers cache a prompt up to its first difference."""
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
    """What checks the arguments, and what it leaves to others: a pattern in another language's
    spelling, or one that could take for ever, is for those who wrote it. Raises SchemaError."""
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
                raise  # it stands behind a reference that no pointer can follow
            del place[last]
        return schemas.validator(schema), error.errors


async def _describe(path: Path, runner: Runner) -> list[dict[str, Any]]:
    return list(await _said(Job(("describe", str(path), ""), {}, None, DESCRIBE_LIMITS), runner))


async def survey(package: Package, runner: Runner) -> tuple[list[dict[str, Any]], list[str]]:
    """What the tools of a package look like, and what is wrong with the rest of it. All of it is
    asked for at once; where something is broken, each module alone."""
    wanted = {"modules": [*package.modules], "functions": [*package.functions]}
    found: list[dict[str, Any]] = []
    problems: list[str] = []
    files: list[Any] = []

    async def ask(kind: str, args: dict[str, Any]) -> Any:
        job = Job(("survey", kind, ""), args, None, DESCRIBE_LIMITS, package=package)
        return await _said(job, runner)

    async def add(args: dict[str, Any]) -> None:
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
                    continue  # of all modules below a package, some have no tools
                problems.append(f"{name}: {broken}")
    package.watch([*files, *package.candidates(), *package.files])
    return found, problems


async def _said(job: Job, runner: Runner) -> Any:
    """The result of a call of the server's own. Raises ToolError."""
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
    """Raises ToolError for a function that cannot be described."""
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
        # Side by side they could not share a process.
        hints={**hints, "parallel_safe": hints["parallel_safe"] and not stateful},
        required_resources=resources_of(options),
        keep=options.get("keep"),
        returns=about["returns"],
        toolkit=(kit, of_all),
        package=package.name if package else "",
        stateful=stateful,
    )
