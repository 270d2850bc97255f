"""What the function of a tool is given, and how it says that it failed.

This is all that a tool's process needs of tools/tool.py, so it costs little to import.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


class ToolError(Exception):
    """A failure a tool explains itself: the model gets the message and nothing else."""


class LimitReached(Exception):
    """The kernel ended a program of the tool at one of the call's limits, which this names."""

    def __init__(self, limit: str) -> None:
        super().__init__(f"a program was ended at the limit {limit}")
        self.limit = limit


class Context:
    """What a tool can do beyond returning a value. Ask for it with a parameter typed `Context`.

    log(text)        a line for people, at once
    attach(path)     offer a file of the session's folder as part of the result
    keep             how many model calls the result stays in the model's view; None: the default
    state            the session's `ext`, to read
    cancelled        whether the call is being ended: what still has to be done has a moment
    limits           what this call may use, by the names of `required_resources`
    """

    def __init__(
        self,
        state: Mapping[str, Any],
        write: Callable[[dict[str, Any]], None],
        limits: Mapping[str, float] | None = None,
    ) -> None:
        self.state = state
        self.limits = limits or {}
        self.keep: int | None = None
        self.cancelled = False
        self._write = write

    def log(self, *values: object) -> None:
        """A line for people; the model does not see it."""
        self._write({"log": " ".join(map(str, values))})

    def attach(self, path: str, name: str | None = None) -> None:
        """Offer a file of the session's folder to the person, who can download it. Raises ToolError
        for what is none."""
        self._write({"attach": {"path": str(path), "name": name or str(path).rpartition("/")[2]}})
