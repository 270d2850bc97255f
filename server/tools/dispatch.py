"""Dispatch of a judged call to where its kind runs: here, a remote API, or a sandboxed child.

The toolbox makes events of what `perform` yields. All kinds yield the same: live output as text,
then an Outcome, or a Question for a person.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Any

from ..agents.registry import Folders
from ..http.client import Client
from .agent_save import save
from .catalog import Entry
from .fetch import fetch_page
from .http_api import call as rest_call
from .mcp.servers import Question, Servers
from .program_tools import Objects
from .runner import Job, Outcome, Runner
from .tool import BaseTool, Context, ToolError


class Performer:
    """Performer of calls, with what each kind needs.

    `allowed`: hosts on private networks that may be fetched. `agents`: folders of agent
    definitions.
    """

    def __init__(
        self,
        runner: Runner,
        client: Client | None,
        mcp: Servers,
        allowed: Iterable[str],
        agents: Folders,
    ) -> None:
        self._runner, self._client, self._mcp, self._allowed = runner, client, mcp, allowed
        self._agents, self._objects = agents, Objects()

    async def perform(
        self, entry: Entry, job: Job, question: dict[str, Any] | None
    ) -> AsyncGenerator[str | Outcome | Question, None]:
        """Yield live output, then one Outcome or Question.

        `question`: the answered question of a call that goes on. Closing the generator ends the
        call and all that it started.
        """
        tool, limits = entry.tool, job.limits
        source: AsyncGenerator[str | Outcome | Question, None]
        if tool.kind == "inline":
            yield run_inline(tool, job.args)
        elif tool.kind == "agents":
            yield save(self._agents.of(job.owner), **job.args)
        elif entry.thing is not None:
            yield await self._objects.perform(entry.thing, job.args, job.state, limits["wall_s"])
        elif entry.operation and self._client:
            yield await rest_call(self._client, entry.operation, job.args, limits["wall_s"])
        elif tool.kind == "fetch" and self._client:
            yield await fetch_page(self._client, self._runner, job, self._allowed)
        else:
            if tool.kind == "mcp":
                source = self._mcp.call(tool, job.args, question, limits)
            else:
                source = self._runner.run(job)
            async with aclosing(source) as items:
                async for item in items:
                    yield item


def run_inline(tool: BaseTool, args: dict[str, Any]) -> Outcome:
    """Run a tool function in this process. A ToolError becomes an Outcome with status `error`."""
    started = time.monotonic()
    _, module, name = tool.where
    function = getattr(importlib.import_module(module), name)
    try:
        result = function(Context({}, lambda _: None), **args)
    except ToolError as error:
        return Outcome("error", error={"type": "error", "message": str(error)})
    return Outcome("ok", result, usage={"wall_ms": round((time.monotonic() - started) * 1000)})
