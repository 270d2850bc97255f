"""The files of one run: look at them, bring them to the tree of the document, record each change.

workspace_steps.py decides; the workspace process (server/workspace) does the work. A call that may
write is recorded after it has ended and before its result is kept or sent, so a result that anybody
has says which files it left. Calls that run side by side are recorded once, after the last.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

from ..errors import Problem, translate_problems
from ..json_types import Change, Event, Json, RunWarning, Session, ToolCall, ToolResult
from ..lib.json_schema.field_types import Misfit
from ..session.call_actions import Execute, Toolbox
from ..session.events import add_warnings, drop, put, run_error, state_delta
from ..session.workspace_error import WorkspaceError
from ..session.workspace_stand import stand_of
from ..telemetry import log
from ..tools.result import with_files
from ..tools.session_files import Workspace, Workspaces
from .workspace_steps import NO_WORKSPACE, AlignWorkspace, WorkspaceState, is_lost, lost_calls

MOST_CHANGES = 100  # files named in a document
MOST_MISSING = 1_000  # objects named in an interrupt
UNRECORDED = "workspace_unrecorded"  # a code of `run.warnings`
# Codes with which a restore fails -> the code of RUN_ERROR; any other is `workspace_failed`.
RUN_CODES = {"busy": "workspace_busy", "disk_full": "disk_full"}

logger = log.get("agent")


def workspace_of(
    session: Session, workspaces: Workspaces, owner: str, opening: list[Event]
) -> Workspace:
    """Return the workspace of a session. Raises Problem.

    Adds to the opening events where the tools work, and the mode of its folder, if the session has
    another one.
    """
    about = session.get("workspace", {})
    folder = about.get("folder")
    with translate_problems(_at_folder):
        workspace = workspaces.get(owner, opening[0]["threadId"], folder)
    if place := workspace.describe(session):
        opening[0]["metadata"]["yaa"]["run"]["place"] = place
    if folder is not None and about.get("mode") != workspace.mode:
        opening.append(state_delta(put("workspace", "mode", value=workspace.mode)))
    return workspace


def _at_folder(problem: Problem) -> Problem:
    """Return a problem with its place in the session."""
    at = [Misfit(("workspace", "folder"), problem.detail).error()]
    return Problem(problem.code, problem.detail, errors=at)


class RunWorkspace:
    """The workspace of one run.

    state       what is known of the workspace
    """

    def __init__(self, session: Session, workspace: Workspace) -> None:
        self._session, self._workspace = session, workspace
        self._is_current = False  # nothing has run here since the last record
        self.state = NO_WORKSPACE
        if workspace.is_recorded:
            self.state = WorkspaceState(recorded=True, mode=workspace.mode)

    def forget(self) -> None:
        """Ask for the state again before it is needed: a kept result may have another tree."""
        self._is_current = False
        if self.state.known:
            self.state = WorkspaceState(recorded=True, mode=self.state.mode)

    @classmethod
    def of(
        cls, session: Session, workspaces: Workspaces, owner: str, opening: list[Event]
    ) -> RunWorkspace:
        """Return the workspace of a run; see `workspace_of`. Raises Problem."""
        return cls(session, workspace_of(session, workspaces, owner, opening))

    # -- before the run goes on -------------------------------------------------------------------

    async def align(self, step: AlignWorkspace) -> AsyncGenerator[Event, None]:
        """Do a step, and yield what it changes in the document.

        Yields RUN_ERROR if files cannot be restored, or an overlay not be filled. Where they only
        cannot be recorded, the run goes on with a warning.
        """
        try:
            match step.action:
                case "look":
                    await self._look(step.tree)
                case "refresh":
                    for event in await self._refresh(step.tree):
                        yield event
                case "start":
                    yield await self._start()
                case "restore":
                    yield await self._restore(step.tree)
                case "adopt":
                    yield await self._adopt(step.tree)
                case "compare":
                    await self._compare(step.tree)
        except WorkspaceError as error:
            if error.code == "missing_objects":
                missing = await self._request("missing", tree=step.tree, most=MOST_MISSING)
                self.state = replace(self.state, missing=missing)
            elif step.action == "restore" or self.state.mode == "overlay":
                code = RUN_CODES.get(error.code, "workspace_failed")
                text = f"The files of the session cannot be used: {error.detail}"
                yield run_error(text, code)
            else:
                self.state = replace(self.state, problem=error.detail)
                if step.tree:
                    yield self._warning(error.detail)

    async def _look(self, stand: str) -> None:
        """Ask for the state; a folder that others change too is recorded, to see what they did."""
        found = await self._request("state", session=self._session["id"])
        state = replace(
            self.state,
            known=True,
            tree=found.get("tree"),
            call=str(found.get("call") or ""),
            seen=found.get("seen"),
            restoring=found.get("restoring"),
            base=found.get("base"),
        )
        shared = state.mode == "write" and stand and state.tree and not state.restoring
        if shared and not lost_calls(self._session):
            tree = (await self._request("record"))["after"]
            seen = stand if state.tree == stand else state.seen
            call = state.call if tree == state.tree else ""
            state = replace(state, tree=tree, seen=seen, call=call)
        self.state = state

    async def _refresh(self, stand: str) -> list[Event]:
        """Look at the real folder of an overlay; the document takes over what changed there."""
        before = self.state
        refreshed = await self._request("refresh", session=self._session["id"])
        tree = refreshed["tree"]
        self.state = replace(_at(before, tree), base=refreshed["base"], fresh=True)
        if not stand or before.tree != stand or tree == stand:
            return []
        return [await self._take(stand, tree, {**self._session.get("workspace", {})})]

    async def _start(self) -> Event:
        tree = await self._record_now()
        if "workspace" in self._session:
            return state_delta(put("workspace", "start", value=tree))
        return state_delta(put("workspace", value={"start": tree}))

    async def _restore(self, stand: str) -> Event:
        start = self._session.get("workspace", {}).get("start")
        reply = await self._request("restore", session=self._session["id"], tree=stand, start=start)
        self.state = _at(self.state, reply["tree"])
        told = {"from": reply.get("replaced"), "to": reply["tree"]}
        told |= {"changed_count": reply.get("changed_count", 0)}
        if blocked := reply.get("blocked"):  # by files that are left out of trees
            told |= {"blocked": blocked[:MOST_CHANGES], "goal": stand}
        known = self._without_mark() | {"restored": told}
        if reply["tree"] != stand:
            known |= self._stand(reply["tree"])
        return state_delta(put("workspace", value=known), *self._decided())

    async def _adopt(self, stand: str) -> Event:
        return await self._take(stand, await self._record_now(), self._without_mark())

    async def _take(self, stand: str, tree: str, known: Json) -> Event:
        """Let the document stand at another tree, and say what differs.

        `known`: what its `workspace` says otherwise.
        """
        files, count = await self._differences(stand, tree)
        known = {**known, **self._stand(tree)}
        if count:
            known |= {"changed_outside": files, "changed_outside_count": count}
        return state_delta(put("workspace", value=known), *self._decided())

    def _without_mark(self) -> Json:
        """Return what the document says of its files, which are those of this host from now on."""
        known = self._session.get("workspace", {})
        return {name: value for name, value in known.items() if name != "foreign"}

    def _stand(self, tree: str) -> Json:
        messages = self._session["messages"]
        return {"tree": tree, "message": messages[-1]["id"] if messages else ""}

    async def _compare(self, stand: str) -> None:
        if self.state.restoring or not self.state.tree:  # what was recorded is not what is there
            found = await self._request("record")
            self.state = replace(self.state, tree=found["after"], call="", restoring=None)
        found = await self._request("diff", **{"from": stand, "to": self.state.tree})
        files = [_change(each) for each in found["files"][:MOST_CHANGES]]
        self.state = replace(self.state, differences={"files": files, "count": found["count"]})

    async def _record_now(self) -> str:
        found = await self._request("record", session=self._session["id"])
        self.state = _at(self.state, found["after"])
        return str(found["after"])

    def _decided(self) -> list[Change]:
        return [drop("run", "files")] if "files" in self._session["run"] else []

    def warning_of(self, event: Event) -> Event | None:
        """Return a warning if a call's changes could not be recorded: one in a run."""
        if event["type"] != "TOOL_CALL_RESULT":
            return None
        why = (event["metadata"]["yaa"].get("result") or {}).get("unrecorded")
        if not why or self.state.problem:  # then the run began with that
            return None
        warned = [each["code"] for each in self._session["run"].get("warnings", ())]
        return None if UNRECORDED in warned else self._warning(str(why))

    def _warning(self, why: str) -> Event:
        warning: RunWarning = {
            "code": UNRECORDED,
            "message": f"The files of this session may not be as it says, and changes are not"
            f" recorded: {why}",
        }
        return state_delta(add_warnings(self._session, warning))

    # -- after a call -----------------------------------------------------------------------------

    async def record_lost(self, result: Event, toolbox: Toolbox, call: ToolCall) -> Event:
        """Return the result that a call got in place of its own, with the files it changed.

        Without a change for a call that has not begun or cannot have changed any.
        """
        if not self.state.known or self.state.problem or not is_lost(self._session, call["id"]):
            return result
        writes = toolbox.verdict(self._session, call).file_access == "write"
        if not writes or stand_of(self._session) is None:
            return result
        if self._is_current:  # an earlier one of several lost calls was recorded just now
            tree = {"before": self.state.tree, "after": self.state.tree}
            return with_files(result, {"tree": tree, "changed": [], "changed_count": 0})
        files = await self.record(call["id"], lost=True)
        self._is_current = "tree" in files
        return with_files(result, files)

    async def record(
        self, call_id: str, *, lost: bool = False, began_ms: int | None = None
    ) -> ToolResult:
        """Record the files after a call; return the members of its result that say so.

        `lost`: its own result is lost, so the files may have been recorded already. `began_ms`:
        when it began, None if that is not known.
        """
        self._is_current = False
        if self.state.problem:
            return {"unrecorded": self.state.problem}
        state = self.state
        again = lost or state.call == call_id  # what an earlier attempt changed is its, too
        known = stand_of(self._session) if again else state.tree
        try:
            about = {"session": self._session["id"], "call": call_id, "began_ms": began_ms}
            found = await self._request("record", **about)
            before, after = found["before"], found["after"]
            self.state = replace(_at(state, after), call=call_id)
            changed = [_change(each) for each in found["changed"][:MOST_CHANGES]]
            told: ToolResult = {"changed": changed, "changed_count": found["changed_count"]}
            if known is not None and before != known:
                own = again or state.mode != "write"
                files, count = await self._differences(known, after if own else before)
                if own:
                    before, told = known, {"changed": files, "changed_count": count}
                elif count:
                    told |= {"changed_outside": files, "changed_outside_count": count}
        except WorkspaceError as error:
            return {"unrecorded": error.detail}
        told["tree"] = {"before": before, "after": after}
        for name in ("left_out", "left_out_now", "taken_back"):
            if found.get(name):
                told[name] = found[name]
        return told

    async def _differences(self, before: str, after: str) -> tuple[list[Json], int]:
        """Return (files, their number) of a difference; nothing if objects are missing."""
        if before == after:
            return [], 0
        try:
            diff = await self._request("diff", **{"from": before, "to": after})
        except WorkspaceError as error:
            if error.code != "missing_objects":
                raise
            return [], 0
        return [_change(each) for each in diff["files"][:MOST_CHANGES]], diff["count"]

    async def _request(self, name: str, **arguments: Any) -> Json:
        try:
            return await self._workspace.request(name, **arguments)
        except WorkspaceError as error:
            if error.code != "missing_objects":
                logger.warning("workspace: %s: %s: %s", name, error.code, error.detail)
            raise


class RecordGroup:
    """Calls that run side by side and may write; the last that ends has the files recorded."""

    def __init__(self, workspace: RunWorkspace) -> None:
        self._workspace = workspace
        self._running: set[str] = set()
        self._began_ms = 0  # the first of them
        self._ended: list[asyncio.Future[ToolResult]] = []
        self._tasks: set[asyncio.Task[None]] = set()  # the loop itself keeps no reference

    def join(self, job: Execute) -> CallRecord | None:
        """Add a call that begins now; None if nothing is recorded after it."""
        if job.file_access != "write" or not self._workspace.state.recorded:
            return None
        if not self._running:
            self._began_ms = time.time_ns() // 1_000_000
        self._running.add(job.call["id"])
        return CallRecord(self, job.call["id"])

    async def end(self, call_id: str) -> ToolResult:
        """Wait until no other call of the group runs, and return what was recorded then."""
        recorded: asyncio.Future[ToolResult] = asyncio.get_running_loop().create_future()
        self._ended.append(recorded)
        self.leave(call_id)
        try:
            return await recorded
        except asyncio.CancelledError:  # the server stops
            for task in self._tasks:
                task.cancel()
            raise

    def leave(self, call_id: str) -> None:
        """Remove a call; after the last one the files are recorded, if any has ended."""
        if call_id in self._running:
            self._running.remove(call_id)
            if self._ended and not self._running:
                ended, self._ended = self._ended, []
                task = asyncio.ensure_future(self._record(call_id, ended))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _record(self, call_id: str, ended: list[asyncio.Future[ToolResult]]) -> None:
        try:
            found = await self._workspace.record(call_id, began_ms=self._began_ms)
        except BaseException:  # nobody may wait for ever
            for each in ended:
                each.cancel()
            raise
        for each in ended:
            if not each.done():
                each.set_result(found)


class CallRecord:
    """The record of the files after one call (`Aftermath` of tools/running_calls.py)."""

    def __init__(self, group: RecordGroup, call_id: str) -> None:
        self._group, self._call_id = group, call_id

    async def complete(self, result: Event) -> Event:
        """Return the result of the call with the files that it changed."""
        return with_files(result, await self._group.end(self._call_id))

    def abandon(self) -> None:
        """Leave the group: the call may have ended without a result."""
        self._group.leave(self._call_id)


def _at(state: WorkspaceState, tree: str) -> WorkspaceState:
    """Return the state after this session has left the workspace at a tree."""
    return replace(
        state, tree=tree, seen=tree, call="", restoring=None, differences=None, missing=None
    )


def _change(found: Json) -> Json:
    return {name: found[name] for name in ("path", "change", "bytes") if name in found}
