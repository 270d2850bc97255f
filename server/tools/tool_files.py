"""The Python files of the owner's `tools` folder: what they need, their tools, and what changed.

A child of user_tools.py reads the tools from a file, in the environment that its block of metadata
names. The server only parses the text. A file whose environment is not installed has tools that
nobody can call yet, with the reason in `missing`.
"""

from __future__ import annotations

import ast
import asyncio
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import decode_source
from pathlib import Path
from typing import Any

from ..lib.runtime.file_stamps import FileStamps, Stamp, stamp_of
from ..lib.sandbox.environments import Environment, package_folders
from ..lib.sandbox.package import Package
from ..settings.requirements import normal_requirements
from ..settings.script_metadata import (
    MetadataError,
    ScriptMetadata,
    has_open_block,
    script_metadata,
)
from .base import Tool
from .decorators import ToolError
from .function_tools import ChildTool, owner_tools
from .runner import OWN_LIMITS, Job, ToolRunner

PACKAGES = "\n\nPackages for Python that are installed: "  # in a description
RESTART = "it has tools() now; start the server again"


class NoSandboxError(ToolError):
    """The sandbox of an environment could not be made; the reason may name folders."""


@dataclass(frozen=True, kw_only=True)
class MissingTool(Tool):
    """A tool of a file whose environment is not installed: only its name is known."""

    sandboxed = True


@dataclass(frozen=True)
class FileState:
    """What was read of a file: its stamp, its environment, and the folder of that then."""

    stamp: Stamp
    environment: Environment | None = None
    folder: str = ""

    def is_current(self, path: Path) -> bool:
        """Return whether the file and its environment are as they were."""
        now = self.environment.folder() if self.environment else ""
        return (stamp_of(path), now) == (self.stamp, self.folder)


class ToolFiles:
    """The files of a folder that are no sources, and the environments of tools.

    `states`: of each file that was read by `tools`. `folder`: which files `changes` looks at; None
    for none. `stamps`: from before a look that found no changes; None before there was one.
    """

    def __init__(self, runner: ToolRunner) -> None:
        """`runner` runs the children, in sandboxes that it proves."""
        self._runner, self._home = runner, runner.workspaces.parent
        self._packages: dict[str, Package] = {}  # by the folder of the environment
        self.states: dict[Path, FileState] = {}
        self.folder: Path | None = None
        self.stamps: FileStamps | None = None

    def environment(self, requirements: Any) -> Environment:
        """Return the environment of these requirements. Raises ValueError."""
        return Environment(self._home, normal_requirements(requirements))

    async def package(self, environment: Environment) -> Package:
        """Return the package whose pool has this environment.

        Raises ToolError with what is missing, and NoSandboxError.
        """
        if missing := await asyncio.to_thread(environment.missing):
            raise ToolError(missing)
        folder = environment.folder()
        if folder not in self._packages:
            package = Package(
                environment.key,
                environment=folder,
                paths=tuple(package_folders(folder)),
                roots=(folder,),
            )
            if why := await self._runner.admit(package):
                raise NoSandboxError(why)
            self._packages[folder] = package
        return self._packages[folder]

    async def tools(self, path: Path) -> list[Tool | str]:
        """Return the tools of a file, or for each the reason why there is none."""
        stamp = await asyncio.to_thread(stamp_of, path)
        self.states[path] = FileState(stamp)
        text, package = await asyncio.to_thread(text_of, path), None
        try:
            metadata = script_metadata(text)
        except MetadataError as error:
            return [str(error)]
        if metadata is not None:
            if wrong := metadata.python_problem(sys.version_info[:3]):
                return [wrong]
            if metadata.requirements:
                environment = Environment(self._home, metadata.requirements)
                self.states[path] = FileState(stamp, environment, environment.folder())
                try:
                    package = await self.package(environment)
                except NoSandboxError as error:
                    return [str(error)]
                except ToolError as error:
                    return [*_missing_tools(text, path.name, str(error))] or [str(error)]
        return await self._described(path, package, is_open=has_open_block(text))

    async def _described(
        self, path: Path, package: Package | None, *, is_open: bool
    ) -> list[Tool | str]:
        job = Job(("describe", str(path), ""), {}, None, OWN_LIMITS, package=package)
        try:
            result = await result_of_own_call(job, self._runner)
        except ToolError as error:
            hint = "; its block `# /// script` has no end, `# ///`, and is ignored"
            return [f"{error}{hint if is_open else ''}"]
        described = ({**about, "target": str(path)} for about in result)
        return [*owner_tools(path.name, "file", described, self._runner, package)]

    def note(self, path: Path) -> None:
        """Remember a file as it is now, without reading it."""
        self.states[path] = FileState(stamp_of(path))

    def may_have_changed(self) -> bool:
        """Return whether a look is worth a thread. Fast enough for the event loop."""
        return self.stamps is None or not self.stamps.are_current()

    def look(self, environments: Iterable[Environment] = ()) -> FileStamps:
        """Return the stamps of the files and environments, for `stamps`. May run in a thread."""
        known = (state.environment for state in [*self.states.values()])
        wanted = [*environments, *(each for each in known if each is not None)]
        places = [place for each in wanted for place in each.places()]
        if self.folder is not None:
            places += map(str, (self.folder, *self.folder.glob("*.py"), *self.states))
        return FileStamps(places)

    def changes(self) -> list[Path]:
        """Return the files of `folder` that are new, changed or gone, or whose environment is."""
        if self.folder is None:
            return []
        there = {*self.folder.glob("*.py")} if self.folder.is_dir() else set()
        gone = {path for path in self.states if path.parent == self.folder} - there
        return sorted(
            path
            for path in there | gone
            if path not in self.states or not self.states[path].is_current(path)
        )


def is_of_file(tool: Tool, path: Path) -> bool:
    """Return whether `ToolFiles.tools` made this tool of this file."""
    if isinstance(tool, ChildTool):
        return tool.where[:2] == ("file", str(path))
    return isinstance(tool, MissingTool) and tool.origin == path.name


def with_environment(
    tool: ChildTool, environment: Environment, package: Package | None, missing: str
) -> ChildTool:
    """Return a built-in tool that runs in an environment, or has not got it yet."""
    description = tool.description.partition(PACKAGES)[0]
    described = f"{description}{PACKAGES}{', '.join(environment.requirements)}"
    return replace(tool, description=described, package=package, missing=missing)


def source_problem(path: Path) -> str:
    """Return why a file that is a source cannot be used; "" if its block asks for nothing."""
    try:
        metadata = script_metadata(text_of(path))
    except MetadataError as error:
        return str(error)
    if metadata is None:
        return ""
    return metadata.python_problem(sys.version_info[:3]) or _source_needs(metadata)


def _source_needs(metadata: ScriptMetadata) -> str:
    if not metadata.requirements:
        return ""
    return (
        f"line {metadata.line}: it has tools(), so it runs in the server's process, which has no"
        " packages; write functions with @tool instead"
    )


def text_of(path: Path) -> str:
    """Return the text of a Python file, "" if it cannot be read: a child says why."""
    try:
        return decode_source(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ""


def _missing_tools(text: str, origin: str, missing: str) -> Iterator[MissingTool]:
    """Yield the tools that a file seems to have, as far as that is seen without running it."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    nothing: dict[str, Any] = {"type": "object", "properties": {}}
    for node in body:
        for name, about in _names(node):
            yield MissingTool(name, about, nothing, origin=origin, missing=missing)


def _names(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield (name, docstring) of each tool of a statement."""
    if isinstance(node, ast.ClassDef) and _mark(node, "toolkit") is not None:
        for method in node.body:
            if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                options = _mark(method, "tool")
                if options is not None:
                    name = options.get("name") or method.name
                    yield f"{node.name}_{name}", ast.get_docstring(method) or ""
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        options = _mark(node, "tool")
        if options is not None:
            yield options.get("name") or node.name, ast.get_docstring(node) or ""


def _mark(
    node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, wanted: str
) -> Mapping[str, str] | None:
    """Return the texts among the settings of a decorator; None if it is not there."""
    for each in node.decorator_list:
        call = each if isinstance(each, ast.Call) else None
        thing = call.func if call else each
        name = thing.attr if isinstance(thing, ast.Attribute) else getattr(thing, "id", "")
        if name == wanted:
            return {
                word.arg: word.value.value
                for word in (call.keywords if call else ())
                if word.arg
                and isinstance(word.value, ast.Constant)
                and isinstance(word.value.value, str)
            }
    return None


async def result_of_own_call(job: Job, runner: ToolRunner) -> Any:
    """Return the result of one of the server's own calls. Raises ToolError."""
    outcome = await runner.run(job)
    if outcome.status != "ok":
        raise ToolError(f"{outcome.error.get('type')}: {outcome.error.get('message')}")
    return outcome.result
