"""Tool sources: files of the owner's `tools/` folder that define `tools()`.

The function returns BaseTools, for instance of a database or a registry, and is called again from
time to time. A source runs in the server's process, like a hook (settings/owner_code.py); other
files in the folder never do. A source that fails keeps the tools of its last call.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..settings.owner_code import Outcome, awaited, in_thread, load
from .program_tools import BaseTool, as_object
from .tool import ToolError

FUNCTION = "tools"
REFRESH_S = 30.0  # between two calls of a source; `REFRESH_S = …` in its file overrides it
PATIENCE_S = 20.0  # time limit of one call
MOST = 1_000  # tools of one source


@dataclass(eq=False)
class Source:
    """A file with `tools()`. `asked_at`: loop time of its last call; `running`: its task."""

    name: str
    function: Callable[[], Any]
    refresh_s: float
    asked_at: float = 0.0
    running: asyncio.Task[None] | None = field(default=None)

    def due(self, now: float) -> bool:
        """Return whether the source should be called at loop time `now`."""
        return self.running is None and now >= self.asked_at + self.refresh_s

    async def ask(self) -> list[BaseTool | str]:
        """Call `tools()` and return its tools, or for each the reason why it is refused.

        Raises ToolError if the call fails, takes too long or returns no list.
        """
        is_async = inspect.iscoroutinefunction(self.function)
        task = asyncio.ensure_future((awaited if is_async else in_thread)(self.function))
        try:
            await asyncio.wait({task}, timeout=PATIENCE_S)
        finally:
            if not task.done():
                task.cancel()
            self.asked_at = asyncio.get_running_loop().time()
        if not task.done() or task.cancelled():
            raise ToolError(f"tools() took longer than {PATIENCE_S:g} s")
        outcome: Outcome = task.result()
        if outcome.error is not None:
            raise ToolError(f"tools() failed: {outcome.told}")
        if isinstance(outcome.value, str | dict) or not isinstance(outcome.value, Iterable):
            raise ToolError(f"tools() gave {type(outcome.value).__name__}, wanted a list of tools")
        return _checked(outcome.value)


def _checked(things: Iterable[Any]) -> list[BaseTool | str]:
    found: list[BaseTool | str] = []
    with Outcome() as outcome:  # a generator's own code runs here
        for thing in things:
            if len(found) == MOST:
                found.append(f"only the first {MOST} tools are taken")
                break
            with Outcome() as one:
                one.value = as_object(thing)
            plain = isinstance(one.error, ToolError)
            found.append(str(one.error) if plain else one.told or one.value)
    if outcome.error is not None:
        raise ToolError(f"tools() failed: {outcome.told}")
    return found


def is_source(path: Path) -> bool:
    """Return whether a file defines `tools()` at its top level. It is parsed, not run."""
    with Outcome() as outcome:
        outcome.value = ast.parse(path.read_bytes())
    if outcome.error is not None:
        return False
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name == FUNCTION
        and not node.decorator_list
        for node in outcome.value.body
    )


def load_source(path: Path) -> Source | str:
    """Return the source in a file, or the reason why it is refused."""
    module = load(path, "tools")
    if isinstance(module, str):
        return module
    refresh_s = getattr(module, "REFRESH_S", REFRESH_S)
    if type(refresh_s) not in (int, float) or not refresh_s >= 0:
        return f"REFRESH_S is {refresh_s!r:.40}, wanted a number of seconds"
    return Source(path.name, getattr(module, FUNCTION), float(refresh_s))
