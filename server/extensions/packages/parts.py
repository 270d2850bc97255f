"""Offer the tools of the owner's packages, and describe them again when their files change."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from typing import Any

from ...json_types import Json
from ...lib.runtime.event_loop import cancel_all
from ...lib.sandbox.package import Package
from ...tools.decorators import ToolError
from ...tools.function_tools import owner_tools
from ...tools.runner import OWN_LIMITS, Job, ToolRunner
from ...tools.tool_files import result_of_own_call
from ...tools.tool_source import Replace, ToolSource
from ..parts import Host, Parts
from . import package_tools
from .python_packages import package_of

EMPTY = "it has no @tool"  # beginning of the error that package_tools.py raises


class PackageSource(ToolSource):
    """The entries of `server.tool_modules`, each of them a part."""

    place, max_cost = "server.tool_modules", 2_000_000

    def __init__(self, host: Host) -> None:
        self._host, self._runner = host, host.toolbox.runner
        self._packages: dict[str, Package] = {}
        self._looking: asyncio.Task[None] | None = None

    @property
    def parts(self) -> Sequence[str]:
        """Return the names of the entries that can be used."""
        return [*self._packages]

    async def load(self, replace: Replace) -> None:
        """Add the tools of the configured entries, unless the sandbox is too weak."""
        self._replace = replace
        if self._host.toolbox.host:
            for name, about in self._host.config.server["tool_modules"].items():
                await self.add(name, about)

    async def add(self, name: str, about: Json) -> None:
        """Add the tools of an entry, or replace those of the one with this name.

        `registration` makes such an entry of classes and functions.
        """
        home = self._host.config.home
        try:
            package, remarks = await asyncio.to_thread(package_of, name, about, home, os.environ)
            for remark in remarks:
                self.report(*remark)
            if why := await self._runner.admit(package):
                raise ValueError(why)
        except ValueError as error:
            self.report(name, str(error))
        else:
            self._packages[name] = package
            await self._describe(package)

    def refresh(self) -> None:
        """Begin to describe again what has changed."""
        is_idle = self._looking is None or self._looking.done()
        if is_idle and any(each.may_have_changed() for each in self._packages.values()):
            self._looking = asyncio.create_task(self._look())

    async def _look(self) -> None:
        for package in self._packages.values():
            if await asyncio.to_thread(package.has_changed):
                package.version += 1
                self._reported[package.name] = []
                await self._describe(package)

    async def _describe(self, package: Package) -> None:
        """Replace all tools of a package, and the problems reported for it."""
        described, problems = await survey(package, self._runner)
        name, kind = package.name, package_tools.__name__
        tools = owner_tools(name, kind, described, self._runner, package)
        self._replace(name, self.usable(name, [*problems, *tools]))

    async def close(self) -> None:
        """Cancel what `refresh` has begun."""
        await cancel_all([self._looking] if self._looking else [])


async def survey(package: Package, runner: ToolRunner) -> tuple[list[Json], list[str]]:
    """Return (descriptions of a package's tools, problems), and watch its files for changes.

    All modules and functions are surveyed in one child; if that fails, each in a child of its own.
    """
    found, files, problems = list[Json](), list[Any](), list[str]()

    async def ask(kind: str, args: dict[str, Any]) -> Any:
        """Run one survey call in a child. Raises ToolError."""
        job = Job((package_tools.__name__, kind, ""), args, None, OWN_LIMITS, package=package)
        return await result_of_own_call(job, runner)

    async def add(args: dict[str, Any]) -> None:
        """Add the tools and files of these modules and functions. Raises ToolError."""
        said = await ask("tools", args)
        found.extend(said["tools"])
        files.extend(said["files"])

    try:
        await add({"modules": [*package.modules], "functions": [*package.functions]})
    except ToolError:
        alone: list[tuple[str, dict[str, Any]]] = []
        for each in package.modules:
            try:
                names = await ask("targets", {"modules": [each]}) if each[-2:] == ".*" else [each]
            except ToolError as broken:
                problems.append(f"{each}: {broken}")
                continue
            alone += [(name, {"modules": [name], "functions": []}) for name in names]
        alone += [
            (one["function"], {"modules": [], "functions": [one]}) for one in package.functions
        ]
        for name, args in alone:
            try:
                await add(args)
            except ToolError as broken:
                if args["modules"] and name not in package.modules and EMPTY in str(broken):
                    continue  # modules of `package.*` need not have tools
                problems.append(f"{name}: {broken}")
    package.watch([*files, *package.candidates(), *package.files])
    return found, problems


class PackageParts(Parts):
    """The packages of one configuration."""

    def tool_sources(self) -> Iterable[PackageSource]:
        """Return the source of their tools."""
        return (PackageSource(self.host),)
