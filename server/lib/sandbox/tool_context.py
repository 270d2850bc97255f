"""The context that a tool's function gets, and the exceptions with which it fails.

A tool's process imports this instead of tools/decorators.py, which takes longer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


class ToolError(Exception):
    """A failure that the tool explains itself: the model gets the message and nothing else."""


class LimitReached(Exception):
    """The kernel ended a program of the tool at the call's limit `limit`."""

    def __init__(self, limit: str) -> None:
        super().__init__(f"a program was ended at the limit {limit}")
        self.limit = limit


class Context:
    """The context of a call, passed to a tool with a parameter of type `Context`.

    log(text)        send a line to the user at once
    attach(path)     offer a file of the session's folder as part of the result
    show(path)       let the model see a picture or read a PDF of the session's folder
    keep             how many model calls the result stays in the model's view; None: the default
    state            the session's `ext`, read-only
    cancelled        whether the call is being ended; the tool has 2 s to clean up
    guarded          whether the folder holds what the owner's programs run (host_programs.py)
    limits           the limits of this call, with the names of `required_resources`
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
        self.cancelled = self.guarded = False
        self._write = write

    def log(self, *values: object) -> None:
        """Send a line to the user; the model does not see it."""
        self._write({"log": " ".join(map(str, values))})

    def attach(self, path: str, name: str | None = None, *, show: bool = False) -> None:
        """Offer a file of the session's folder to the user as a download.

        `show`: let the model see it too. Raises ToolError if there is no such file.
        """
        self._write({"attach": {"path": str(path), "name": name or str(path).rpartition("/")[2]}})
        if show:
            self.show(path)

    def show(self, path: str) -> None:
        """Let the model see a picture (PNG, JPEG, GIF, WebP), or take a PDF, WAV or MP3.

        Raises ToolError if the file is none of them, broken or too large.
        """
        self._write({"show": {"path": str(path)}})
