"""The interface of what offers tools that come and go, such as other servers.

The toolbox loads each source after the owner's own tools; a source then replaces its tools whenever
they change. It may also offer skills to models and prompts to people.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from ..errors import Problem
from ..json_types import Json
from ..lib.json_schema.validate import MAX_SCHEMAS_COST
from ..telemetry import log
from .base import Tool
from .remote_skills import RemoteSkills

Replace = Callable[[str, Sequence[Tool]], None]  # (a part of the source, all tools of that part)


class ToolSource:
    """Where tools come from; this class offers nothing."""

    skills: RemoteSkills[Any] | None = None
    place: str  # of the entries in the configuration that are its parts
    max_cost = MAX_SCHEMAS_COST  # of the schemas of one part, in units of about 1 µs
    names: Collection[str] = ()  # of tools that agents may name also while they are not there

    @property
    def parts(self) -> Sequence[str]:
        """Return the names of its parts, in the order in which models see their tools."""
        return ()

    @property
    def problems(self) -> list[str]:
        """Return what the owner has to fix, one line each."""
        return [line for lines in self._reported.values() for line in lines]

    @cached_property
    def _reported(self) -> dict[str, list[str]]:
        """Return the problems by part."""
        return {}

    def report(self, part: str, problem: str) -> None:
        """Tell the owner what is wrong with a part."""
        self._reported.setdefault(part, []).append(f"{self.place}.{part}: {problem}")
        log.get("tools").warning("not loaded: %s", self._reported[part][-1])

    @property
    def busy(self) -> bool:
        """Return whether a call that it holds still needs it."""
        return False

    async def load(self, replace: Replace) -> None:
        """Begin to list the tools: `replace` is called with those of a part, now and later."""

    def refresh(self) -> None:
        """Begin to list again what is due, without waiting."""

    def stand_in(self, name: str) -> Tool | None:
        """Return a tool for a call that was made at another server, None if it is not a source's.

        It is for tools that can be listed only after a sign-in, which the tool asks for.
        """
        return None

    def usable(self, part: str, found: Iterable[Tool | str]) -> list[Tool]:
        """Return the tools among them; the others are reasons why there is none, and are told."""
        tools: list[Tool] = []
        for each in found:
            self.report(part, each) if isinstance(each, str) else tools.append(each)
        return tools

    def place_of(self, part: str, tool: Tool) -> str:
        """Return where the owner finds a tool that cannot be used."""
        return f"{self.place}.{part}: {tool.name}"

    async def prompts(self) -> list[Json]:
        """Return {name, prompts: [{name, arguments, …}], problem?} of each part that has some."""
        return []

    async def prompt(self, name: str, prompt: str, arguments: Mapping[str, str]) -> Json:
        """Return a prompt of the part `name` as {messages: [{role, text}]}. Raises Problem."""
        raise Problem("not_found", f"There is no {name[:100]!r} here")

    async def close(self) -> None:
        """End what was begun."""
