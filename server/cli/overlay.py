"""What a conversation on a terminal changed in its copy of a folder: show, apply, discard it.

Used by `chat --folder` and `here`.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable
from typing import Any, Protocol

from ..errors import Problem
from ..json_types import Json, Session
from ..session.workspace_stand import stand_at
from ..workspace.errors import WorkspaceError

SHOWN = 20  # files
MARKS = {"added": "+", "deleted": "-", "modified": "~", "mode": "~"}


class Terminal(Protocol):
    """The interface of the terminal (console.py)."""

    def line(self, text: str = "", style: str = "") -> None:
        """Print a line."""
        ...

    def ask(self, prompt: str) -> str:
        """Read a line. Raises EOFError."""
        ...


class OverlayChanges:
    """The changes of one folder's overlay. `asks`: apply them after runs, if the person agrees.

    `open_workspace(session_id)` returns the workspace; `visible` makes a text safe for one line of
    a terminal.
    """

    def __init__(
        self,
        open_workspace: Callable[[str], Any],
        loop: asyncio.Runner,
        terminal: Terminal,
        visible: Callable[[str], str],
        *,
        asks: bool,
    ) -> None:
        self._open, self._loop, self._terminal = open_workspace, loop, terminal
        self._visible = visible
        self._asks, self._agreed = asks, False

    def offer(self, session: Session) -> None:
        """Apply what a run changed; ask before the first time, and not again."""
        if not self._asks or not session.get("id"):
            return
        try:
            if not self.show(session, quiet=True):
                return
            if not self._agreed:
                text = "Apply this to the folder, and what later runs change too? [y/N] "
                self._agreed = self._terminal.ask(text).strip().lower() in ("y", "yes")
                self._asks = self._agreed
            if self._agreed:
                self.apply(session, "")
            else:
                self._terminal.line("the folder is as it was; /apply puts it there", "dim")
        except Problem as problem:
            self._terminal.line(self._visible(problem.detail), "red")

    def show(self, session: Session, *, quiet: bool = False) -> int:
        """Print the changed files, and return their number. Raises Problem."""
        found = self._ask(session, "status")
        for row in found["files"][:SHOWN]:
            also = "  (changed in the folder too)" if row.get("conflict") else ""
            path = self._visible(row["path"])
            self._terminal.line(f"  {MARKS.get(row['change'], '~')} {path}{also}")
        if (more := found["count"] - SHOWN) > 0:
            self._terminal.line(f"  … and {more} more", "dim")
        if not found["count"] and not quiet:
            self._terminal.line("nothing differs from the folder", "dim")
        return int(found["count"])

    def apply(self, session: Session, paths: str) -> None:
        """Put the changes into the folder, or those of some paths. Raises Problem."""
        found = self._ask(session, "apply", **_named(paths))
        self._say("applied", found)

    def discard(self, session: Session, paths: str) -> None:
        """Take the changes back, or those of some paths. Raises Problem."""
        found = self._ask(session, "discard", **_named(paths))
        recorded = self._ask(session, "record", session=session["id"])
        stand_at(session, recorded["after"])  # else the next run puts back what was taken
        self._say("discarded", found)

    def _say(self, what: str, found: Json) -> None:
        self._terminal.line(f"{found[what]} {what}", "dim")
        for path in found["conflicts"]:
            text = f"{self._visible(path)} was changed in the folder too, and is left there"
            self._terminal.line(text, "red")
        for path in found["left"]:
            self._terminal.line(f"{self._visible(path)} could not be changed", "red")

    def _ask(self, document: Session, operation: str, /, **arguments: Any) -> Json:
        if not (session_id := document.get("id")):
            raise Problem("bad_request", "nothing was done in the folder yet")
        try:
            found: Json = self._loop.run(self._open(session_id).request(operation, **arguments))
        except WorkspaceError as error:
            raise Problem("bad_request", error.detail) from None
        return found


def _named(paths: str) -> dict[str, list[str]]:
    """Return the argument for paths as a person writes them; none for all. Raises Problem."""
    try:
        return {"paths": found} if (found := shlex.split(paths)) else {}
    except ValueError as error:
        raise Problem("bad_request", f"{paths}: {error}") from None
