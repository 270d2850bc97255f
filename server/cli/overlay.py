"""What a conversation on a terminal changed in its copy of a folder: show, apply, discard it.

Used by `chat --folder` and `here`.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import Problem
from ..json_types import Json, Session
from ..session.workspace_error import WorkspaceError
from ..session.workspace_stand import stand_at
from .call_lines import STYLES
from .terminal import YES, Terminal, on_one_line

MARKS = {"added": "+", "deleted": "-", "modified": "~", "mode": "~"}
ASKS = {"runs": "runs on your machine", "leads_out": "leads out of the folder"}
UNKEPT = "what the folder has is recorded nowhere"
MOST_DIFFS = 50  # files that one /diff shows
# Of what is not recorded. What rules ignore is meant to be left out.
LEFT_OUT = {
    "large": "over server.workspace.file_mb",
    "unreadable": "not readable",
    "special": "pipes, sockets or devices",
    "beyond": "beyond server.workspace.files",
}


class OverlayChanges:
    """The changes of one folder's overlay. `asks`: apply them after runs, if the person agrees.

    `again`: the command that goes on with the last session.
    Only what was listed is applied or discarded, as it was listed. `open_workspace(session_id)`
    returns the workspace.
    """

    def __init__(
        self,
        open_workspace: Callable[[str], Any],
        loop: asyncio.Runner,
        terminal: Terminal,
        again: str = "",
        *,
        asks: bool,
    ) -> None:
        self._open, self._loop, self._terminal = open_workspace, loop, terminal
        self._asks, self._again = asks, again
        self._applies = False  # without a question
        self._listed = ""  # the tree whose changes were listed last
        self._left_out = ""  # what was said last of files that are not recorded
        self._declined: set[str] = set()  # paths that are asked for alone, and were left

    def offer(self, session: Session) -> None:
        """List what a run changed, and apply it if the person agrees; after a no ask no more."""
        if not self._asks or not session.get("id"):
            return
        try:
            self._offer_blocked(session)
            rows = self._list(session)
            if plain := [row["path"] for row in rows if "asks" not in row]:
                if not self._applies:
                    question = (
                        "Apply this to the folder? [y]es, [a]lways in this conversation, [N]o "
                    )
                    reply = self._terminal.ask(question).strip().lower()
                    self._applies = reply in ("a", "always")
                    self._asks = self._applies or reply in YES
                if not self._asks:
                    self._terminal.line("the folder is as it was; /apply puts it there", "dim")
                    return
                self.apply(session, shlex.join(plain) if len(plain) < len(rows) else "")
            self._offer_each(session, rows)
        except Problem as problem:
            self._terminal.line(on_one_line(problem.detail), "red")

    def _offer_blocked(self, session: Session) -> None:
        """Ask for each file that the run could not bring back, as no tree has what is there."""
        restored = session.get("workspace", {}).get("restored", {})
        for path in restored.get("blocked", ()):
            if path in self._declined:
                continue
            about = f"{on_one_line(path)} was not brought back: what is there is recorded nowhere"
            if self._agrees(f"{about}. Replace it for good? [y/N] "):
                told = {"session": session["id"], "tree": restored["goal"], "paths": [path]}
                stand_at(session, self._ask(session, "restore", **told)["tree"])
            self._declined.add(path)

    def _offer_each(self, session: Session, rows: Sequence[Json]) -> None:
        """Ask for each file that is applied only by its name, once in a conversation."""
        for row in rows:
            path = row["path"]
            if "asks" not in row or path in self._declined:
                continue
            about = f"{on_one_line(path)} {ASKS[row['asks']]}"
            if self._agrees(f"{about}. Apply it? [y/N] "):
                self.apply(session, shlex.quote(path))
            else:
                self._declined.add(path)
                text = f"{on_one_line(path)} is left; /apply {shlex.quote(path)} puts it there"
                self._terminal.line(on_one_line(text), "dim")

    def _agrees(self, question: str) -> bool:
        return self._terminal.ask(question).strip().lower() in YES

    def tell_pending(self, session: Session, *, is_kept: bool) -> bool:
        """Say how many changes are not applied; return whether there are any."""
        try:
            count = self._ask(session, "status")["count"]
        except Problem:
            return False  # nothing was done there, or the next run says what is wrong
        if count:
            rest = f"to go on with them: {self._again}"
            if not is_kept:
                rest = "and lost with this session, which is not kept"
            self._terminal.line(f"{_number(count)} not applied (/changes, /apply), {rest}", "bold")
        return bool(count)

    def show(self, session: Session) -> None:
        """Print the changed files. Raises Problem."""
        if not self._list(session):
            self._terminal.line("nothing differs from the folder", "dim")

    def show_diff(self, session: Session, path: str) -> None:
        """Print how one changed file differs from the folder, or each. Raises Problem."""
        names = _named(path).get("paths") or [
            row["path"] for row in self._ask(session, "status")["files"]
        ]
        for name in names[:MOST_DIFFS]:
            found = self._ask(session, "diff", to="now", path=name, **{"from": "base"})
            self._terminal.line(on_one_line(name), "bold")
            for line in found.get("diff", "").splitlines()[2:]:
                self._terminal.line(on_one_line(line), STYLES.get(line[:1], "dim"))
        if (more := len(names) - MOST_DIFFS) > 0:
            self._terminal.line(f"… and {more} more: /diff PATH", "dim")
        if not names:
            self._terminal.line("nothing differs from the folder", "dim")

    def _list(self, session: Session) -> Sequence[Json]:
        """Print the changed files and return them. Raises Problem."""
        found = self._ask(session, "status")
        for row in found["files"]:
            target = f" -> {row['target']}" if "target" in row else ""
            path = on_one_line(row["path"] + target)
            about = [ASKS[row["asks"]]] if "asks" in row else []
            if row.get("conflict"):
                about.append(UNKEPT if row.get("unkept") else "changed in the folder too")
            note = f"  ({', '.join(about)})" if about else ""
            self._terminal.line(f"  {MARKS.get(row['change'], '~')} {path}{note}")
        self._say_left_out(found["left_out"])
        self._listed = found["tree"]
        if (more := found["count"] - len(found["files"])) > 0:
            self._listed = ""
            text = f"… and {more} more, too many to be listed: use the page, or apply some by name"
            self._terminal.line(text, "dim")
        rows: Sequence[Json] = found["files"]
        return rows

    def _say_left_out(self, found: Json) -> None:
        """Print which files no list has, if that is new."""
        parts = [
            f"{', '.join(found[reason]) if isinstance(found[reason], list) else found[reason]}"
            f" ({about})"
            for reason, about in LEFT_OUT.items()
            if found.get(reason)
        ]
        text = on_one_line("; ".join(parts))
        if text and text != self._left_out:
            self._terminal.line(f"not recorded, so never listed or applied: {text}", "dim")
        self._left_out = text

    def apply(self, session: Session, paths: str) -> None:
        """Put the changes into the folder, or those of some paths. Raises Problem."""
        if found := self._change(session, "apply", paths):
            self._say("applied", found)
            for path in found["asks"]:
                text = f"{path} asks for itself, and is left: /apply {shlex.quote(path)}"
                self._terminal.line(on_one_line(text), "red")
            for path in found["conflicts"]:
                about = f"{on_one_line(path)} was changed in the folder too, or is recorded nowhere"
                if self._agrees(f"{about}. Replace it for good? [y/N] "):
                    done = self._change(session, "apply", shlex.quote(path), force=True)
                    if done:
                        self._say("applied", done)

    def discard(self, session: Session, paths: str) -> None:
        """Take the changes back, or those of some paths. Raises Problem."""
        if not (found := self._change(session, "discard", paths)):
            return
        self._listed = found["tree"]
        recorded = self._ask(session, "record", session=session["id"])
        stand_at(session, recorded["after"])  # else the next run puts back what was taken
        self._say("discarded", found)

    def _change(self, session: Session, operation: str, paths: str, **more: Any) -> Json | None:
        """Apply or discard what was listed; None, with a new list, if it is something else now."""
        named = _named(paths)
        try:
            if self._listed or named:
                tree = {"tree": self._listed} if self._listed else {}
                return self._ask(session, operation, **named, **tree, **more)
            text = f"nothing was done: look at this list, then /{operation} once more"
        except Problem as problem:
            if problem.code != "workspace_moved":
                raise
            text = f"the files have changed since they were listed: look again, then /{operation}"
        self._list(session)
        self._terminal.line(text, "red")
        return None

    def _say(self, what: str, found: Json) -> None:
        self._terminal.line(f"{found[what]} {what}", "dim")
        for path in found["conflicts"]:
            text = f"{on_one_line(path)} was changed in the folder too, and is left there"
            self._terminal.line(text, "red")
        for path in found["left"]:
            self._terminal.line(f"{on_one_line(path)} could not be changed", "red")

    def _ask(self, document: Session, operation: str, /, **arguments: Any) -> Json:
        session_id = document.get("id")
        if not session_id or not _has_acted(document):
            raise Problem("bad_request", "nothing was done in the folder yet")
        try:
            found: Json = self._loop.run(self._open(session_id).request(operation, **arguments))
        except WorkspaceError as error:
            code = "workspace_moved" if error.code == "moved" else "bad_request"
            raise Problem(code, error.detail) from None
        return found


def _has_acted(session: Session) -> bool:
    """Return whether anything was done in the copy, which is else not made yet."""
    messages: Sequence[Any] = session.get("messages") or ()
    acted = any(isinstance(each, dict) and each.get("role") == "tool" for each in messages)
    return acted or bool(session.get("workspace", {}).get("tree"))


def _number(count: int) -> str:
    return "1 change is" if count == 1 else f"{count} changes are"


def _named(paths: str) -> Json:
    """Return the argument for paths as a person writes them; none for all. Raises Problem."""
    try:
        return {"paths": found} if (found := shlex.split(paths)) else {}
    except ValueError as error:
        raise Problem("bad_request", f"{paths}: {error}") from None
