"""Tell what a run has to know and to say about the files of its session. Pure.

Where the files have to be is told by workspace_stand.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..json_types import Change, Json, Session
from ..lib.strict_json import dumps
from .answers import OF_FILES
from .events import drop, put
from .workspace_stand import first_tree

NAMED_FILES = 30  # of those that others changed, in the note for the model


def opening_changes(session: Session, known: int = 0) -> Iterator[Change]:
    """Yield the changes that open a run.

    What the run before said of the files is dropped, and the first tree is filled in if the event
    with it was lost. `known`: so many first messages are as an earlier run left them.
    """
    workspace = session.get("workspace", {})
    for name in ("changed_outside", "changed_outside_count", "restored"):
        if name in workspace:
            yield drop("workspace", name)
    if "start" not in workspace and (tree := first_tree(session, known)) is not None:
        if "workspace" in session:
            yield put("workspace", "start", value=tree)
        else:
            yield put("workspace", value={"start": tree})


def decision_on_files(session: Session, user: str) -> Json | None:
    """Return {action, start, goal} of the answer to an interrupt about files, None without one.

    It holds until the next user message, and for the trees that the interrupt was about.
    """
    for interrupt in session.get("interrupts", ()):
        answer = interrupt.get("answer")
        if interrupt["reason"] in OF_FILES and answer and answer["status"] == "resolved":
            trees = {name: interrupt.get(name, "") for name in ("start", "goal")}
            return {"action": answer["payload"]["action"], **trees}
    before = session.get("run", {})
    kept = before.get("files") if before.get("message") == user else None
    return kept if isinstance(kept, dict) else None


def outside_changes(session: Session) -> str:
    """Return a note about files that others changed since the session's last run, "" if none."""
    workspace = session.get("workspace", {})
    if not (files := workspace.get("changed_outside")):
        return ""
    named = [f"{file.get('path')} ({file.get('change')})" for file in files[:NAMED_FILES]]
    more = workspace.get("changed_outside_count", len(files)) - len(named)
    rest = f", and {more} more" if more > 0 else ""
    return f"Since your last turn others changed files here: {dumps(named)}{rest}."
