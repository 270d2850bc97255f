"""Decide what has to happen to the files of a session before its run goes on. Pure.

The files are what the document says: a document that stands at another tree than the workspace, as
one does after a person went back or went on elsewhere, has that tree restored first. In a folder of
the owner that calls change directly (mode `write`) a person decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..json_types import Interrupt, Json, Session
from ..session.answers import ANSWERS
from ..session.call_actions import Execute, Job, Recover, Reply, is_unattended
from ..session.workspace_stand import stand_of
from .call_decisions import MAYBE_EXECUTED, unanswered_calls

LOST_STATES = (*MAYBE_EXECUTED, "indeterminate")


@dataclass(frozen=True)
class WorkspaceState:
    """What a run knows of its workspace.

    recorded     whether trees of it are recorded at all: not without a workspace process, and not
                 of a folder that is only read
    mode         own, write or overlay
    known        whether the workspace process was asked
    problem      why it gives no answer, "" if it does
    tree         the tree that was recorded last, None if none was
    call         id of the call after which it was recorded, "" if it was another time
    seen         the tree at which this session left a folder in the mode `write`
    restoring    the tree of a restore that was cut
    base         tree of the real folder of an overlay, None before the copy was filled
    fresh        whether this run has looked at that folder again
    differences  {files, count}: how the folder differs from the tree of the document
    missing      {objects, count, bytes} of that tree that this server does not have
    """

    recorded: bool = False
    mode: str = "own"
    known: bool = False
    problem: str = ""
    tree: str | None = None
    call: str = ""
    seen: str | None = None
    restoring: str | None = None
    base: str | None = None
    fresh: bool = False
    differences: Json | None = None
    missing: Json | None = None


NO_WORKSPACE = WorkspaceState()


@dataclass(frozen=True)
class AlignWorkspace:
    """Make the workspace and the document stand at the same tree.

    action  look: ask for the state of the workspace
            refresh: take what changed in the real folder over into an overlay
            start: record the files as they are before the first change
            restore: bring the files back to the tree of the document
            adopt: record the files as they are; the document stands at them from now on
            compare: find out how they differ, for a person
    tree    the one that the document stands at, "" if nothing was recorded
    """

    action: str
    tree: str = ""


def jobs_first(
    session: Session, state: WorkspaceState, jobs: Sequence[Job]
) -> tuple[tuple[Job, ...], AlignWorkspace | Interrupt | None]:
    """Return the jobs that can be done now, or what has to happen to the files before them.

    Kept results come first if a job uses files: they say at which tree the document stands.
    """
    users = [job for job in jobs if uses_files(session, job)] if state.recorded else []
    if not users:
        return tuple(jobs), None
    if kept := tuple(job for job in jobs if isinstance(job, Recover)):
        return kept, None
    writes = any(isinstance(job, Execute) and job.file_access == "write" for job in users)
    step = next_alignment(session, state, writes=writes or state.mode == "overlay")
    if step is None:
        return tuple(jobs), None
    before = tuple(jobs[: list(jobs).index(users[0])])
    return (before, None) if before else ((), step)


def uses_files(session: Session, job: Job) -> bool:
    """Return whether a job reads or writes files, or answers a call that may have written some."""
    if isinstance(job, Execute):
        return bool(job.file_access)
    return isinstance(job, Reply) and is_lost(session, job.call["id"])


def is_lost(session: Session, call_id: str) -> bool:
    """Return whether a call without a result has begun."""
    return session["calls"].get(call_id, {"state": ""})["state"] in LOST_STATES


def next_alignment(
    session: Session, state: WorkspaceState, *, writes: bool = False
) -> AlignWorkspace | Interrupt | None:
    """Return what has to happen to the files now, None if nothing.

    `writes`: a call that may write comes next, or any in an overlay, which has to be filled. An
    interrupt is for a person to decide.
    """
    stand = stand_of(session) if "workspace" in session else None
    if not state.recorded or state.problem or (stand is None and not writes):
        return None
    if not state.known:
        return AlignWorkspace("look", stand or "")
    if state.mode == "overlay" and state.base is None:
        return AlignWorkspace("refresh", stand or "")
    if stand is None:
        return AlignWorkspace("start")
    if state.restoring is None and state.tree == stand:
        stale = state.mode == "overlay" and not state.fresh and not lost_calls(session)
        return AlignWorkspace("refresh", stand) if stale else None
    if state.restoring is None and state.call:
        if state.call in lost_calls(session):
            return None  # what such a call changed is recorded with its result
        if state.call in unrecorded_calls(session):
            return AlignWorkspace("adopt", stand)
    decision = decision_on(session, stand)
    attended = not is_unattended(session)
    if state.missing is not None:
        if attended and decision.get("action") != "go_on":
            return missing_interrupt(stand, state.missing)
        return AlignWorkspace("adopt", stand)
    asks = state.mode == "write" or replaces_files(session, state)
    if not asks or state.restoring == stand:
        return AlignWorkspace("restore", stand)
    if state.restoring is None and state.seen == stand:  # the session itself did not go back
        return AlignWorkspace("adopt", stand)
    if decision.get("action") == "keep" or not attended:
        return AlignWorkspace("adopt", stand)
    if decision == {"action": "restore", "start": state.tree or "", "goal": stand}:
        return AlignWorkspace("restore", stand)
    if state.differences is None:
        return AlignWorkspace("compare", stand)
    if not state.differences["count"]:
        return AlignWorkspace("adopt", stand)
    return restore_interrupt(session, stand, state)


def replaces_files(session: Session, state: WorkspaceState) -> bool:
    """Return whether a document from elsewhere would replace files that this host has recorded.

    A workspace that was never used, and an overlay without changes, have nothing to lose.
    """
    foreign = session.get("workspace", {}).get("foreign") is True
    return foreign and state.tree is not None and state.tree != state.base


def lost_calls(session: Session) -> set[str]:
    """Return the ids of calls that have begun and have no result."""
    waiting = (call["id"] for call, _, _ in unanswered_calls(session))
    return {call_id for call_id in waiting if is_lost(session, call_id)}


def unrecorded_calls(session: Session) -> set[str]:
    """Return the ids of calls whose result says that nothing was recorded after them."""
    return {
        message["tool_call_id"]
        for message in session["messages"]
        if message["role"] == "tool" and (message.get("result") or {}).get("unrecorded")
    }


def decision_on(session: Session, stand: str) -> Json:
    """Return what a person decided about this tree, {} if nothing."""
    decision = session["run"].get("files") or {}
    return decision if decision.get("goal") == stand else {}


def restore_interrupt(session: Session, stand: str, state: WorkspaceState) -> Interrupt:
    """Return the question whether the files of a workspace are to be brought back."""
    differences = state.differences or {"files": [], "count": 0}
    count = differences["count"]
    text = (
        f"{count} files of the folder are not as they were at this point of the session."
        " Restore them, or keep the folder as it is?"
    )
    if foreign := session.get("workspace", {}).get("foreign") is True:
        text = (
            f"This session came from elsewhere, and {count} files here are not as it says. Replace"
            " them, or keep them? What is replaced stays recorded, as the tree"
            f" {(state.tree or '')[:12]}."
        )
    return {
        "id": "int-workspace_restore",
        "reason": "workspace_restore",
        "message": text,
        "start": state.tree or "",
        "goal": stand,
        "differences": differences["files"],
        "count": count,
        "response_schema": ANSWERS["workspace_restore"],
        **({"foreign": True} if foreign else {}),
    }


def missing_interrupt(stand: str, missing: Json) -> Interrupt:
    """Return the request for objects that this server does not have."""
    return {
        "id": "int-workspace_missing",
        "reason": "workspace_missing",
        "message": f"This server lacks {missing['count']} parts of the session's files. Upload them"
        " (PUT /objects/{sha256}), or go on with the files that are there?",
        "goal": stand,
        "objects": missing["objects"],
        "count": missing["count"],
        "bytes": missing["bytes"],
        "response_schema": ANSWERS["workspace_missing"],
    }
