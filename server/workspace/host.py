"""The server's side of workspaces: a sandboxed process for each, which alone opens what is in them.

`Workspaces.get(...).request("record", session=...)` sends an operation of operations.py to the
workspace's process, which is started when it is needed, kept while it is used, and ended after an
idle time. Operations on one workspace run one after the other, and may be repeated: one whose
process died is sent again, once.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from ..config import Config
from ..json_types import Json, Session
from ..lib.sandbox.folders import identities, make_folders
from ..lib.sandbox.kept_processes import KeptProcess, KeptProcesses
from ..lib.sandbox.network_policy import NetworkPolicy, narrow
from ..lib.sandbox.policy import SCRATCH_NAME, Mount
from ..lib.sandbox.process import Job, Outcome
from ..settings.real_folders import Folders
from ..telemetry import log
from ..tools.session_files import SessionFiles
from .collection import limit_objects
from .environment_prompt import describe
from .errors import WorkspaceError, system_errors
from .folder_trials import try_folders
from .places import Place, Places
from .shared_lock import share_lock

WHERE = ("module", f"{__package__}.process", "answer")
LIMITS: dict[str, float] = {
    "wall_s": 300,  # of one operation
    "cpu_s": 300,
    "memory_mb": 1024,
    "output_kb": 64,
    "processes": 16,
    "open_files": 1024,
}

logger = log.get("workspace")


class Workspaces(SessionFiles):
    """The workspaces of one server. `settings`: server.workspace."""

    def __init__(self, home: Path, folders: Folders, settings: Mapping[str, Any]) -> None:
        super().__init__(home)
        self.places, self.settings = Places(home, folders), dict(settings)
        most, idle_s = int(settings["processes"]), float(settings["idle_s"])
        self.processes = WorkspaceProcesses(most, idle_s)
        largest = max(LIMITS["memory_mb"], settings["overlay_mb"], settings["file_mb"])
        self.limits = {**LIMITS, "file_mb": float(largest)}

    @classmethod
    def of(cls, config: Config, owners: Collection[str] = ("",)) -> Workspaces:
        """Return those of a configuration. `owners`: keys that count as the server's owner."""
        folders = Folders(config.server["folders"], owners)
        return cls(config.home, folders, config.server["workspace"])

    @property
    def roots(self) -> tuple[str, ...]:
        """Return the folders that hold everything a call may get."""
        return (*super().roots, *self.places.folders.paths)

    def get(self, owner: str, session_id: str, folder_name: str | None = None) -> Workspace:
        """Return the workspace of a session: its own, or that of the folder it names.

        `owner` is that of the API key (`owner` of api/auth.py Key). Costs no process. Raises
        Problem with the code folder_unknown, folder_missing or folder_mode.
        """
        return Workspace(self, self.places.find(owner, session_id, folder_name))

    def mode_of(self, folder_name: str) -> str:
        """Return the mode of a real folder, "" if there is none of this name."""
        return next((each.mode for each in self.places.folders if each.name == folder_name), "")

    async def open(self) -> None:
        """Try what the sandbox allows in real folders."""
        self.places.folders.tier = self.starter.tier
        await try_folders(self.starter, self.places)

    def info(self) -> Json:
        """Return `{recorded, reason?, limits}` for `/info`."""
        names = ("overlay_mb", "file_mb", "files", "objects_mb")
        about: Json = {"recorded": not self.withheld}
        if self.withheld:
            about["reason"] = self.withheld
        return {**about, "limits": {name: self.settings[name] for name in names}}

    def folders(self, owner: str) -> list[Json]:
        """Return `[{name, mode, available, reason?}]` of a person's folders for `/info`."""
        return self.places.folders.info(owner)

    def problems(self, people: Collection[str]) -> list[str]:
        """Return what the owner has to fix, a line each. `people`: whom the keys are of."""
        return self.places.folders.problems(people)

    def clean(self) -> None:
        """Remove recorded contents that are too many. Slow."""
        limit_objects(self.home, self.settings["objects_mb"] << 20)

    def close(self) -> None:
        """End all workspace processes."""
        self.processes.close()


class Workspace:
    """One workspace.

    id          names its state; sessions on one folder in the mode write share it
    mode        own, read, write or overlay
    is_recorded False for a folder that is only read
    """

    def __init__(self, workspaces: Workspaces, place: Place) -> None:
        self._workspaces, self.place = workspaces, place
        self.id, self.mode, self.is_recorded = place.id, place.mode, place.mode != "read"
        self.is_trusted = place.is_trusted

    def for_tools(self) -> tuple[Mount, ...]:
        """Return what a tool's call gets: the current folder, and a home beside a real one."""
        return self.place.for_tools()

    def hold(self, run_as: int) -> AbstractAsyncContextManager[None]:
        """Keep the files from being replaced during a call. Raises WorkspaceError, OSError."""
        make_folders(self.place.for_operations(), run_as)
        return share_lock(self.place, run_as)

    def exists(self) -> bool:
        """Return whether its folder is there; the first call or operation makes it."""
        return self.place.files.is_dir()

    def describe(self, session: Session) -> str:
        """Return where tools work and what they reach, for the prompt; "" if none can run."""
        if self._workspaces.withheld:
            return ""
        shell = session.get("config", {}).get("tool", {}).get("shell", {})
        reach = narrow(self._workspaces.starter.reach, shell.get("network"))
        return describe(self.place.folder, reach)

    async def request(self, name: str, **arguments: Any) -> Json:
        """Have the workspace's process do an operation (operations.py) and return its result.

        Raises WorkspaceError(code, detail, **facts) for what the operation refuses (not_found,
        outside, exists, invalid, too_large, disk_full, missing_objects, conflict, moved, busy,
        failed), and besides: `busy` if no process is free, `unavailable` if no process can be
        started, `timeout` at a limit of time or memory. Cancelling it ends the process; an
        operation that was cut is finished or undone by the next one.
        """
        if reason := self._workspaces.withheld:
            raise WorkspaceError("unavailable", reason)
        for last in (False, True):
            try:
                outcome, answered = await self._ask(name, arguments)
            except OSError as error:
                outcome, answered = Outcome("unavailable", error={"message": error.strerror}), False
            if answered or outcome.status in ("timeout", "limit") or last:
                return result_of(outcome)
            logger.info("the process of workspace %s ended, and is started again", self.id[:8])
            self._workspaces.starter.renew()
        raise AssertionError

    async def _ask(self, name: str, arguments: Json) -> tuple[Outcome, bool]:
        """Return (the outcome of one attempt, whether the process has answered). Raises OSError."""
        host, mounts = self._workspaces, self.place.for_operations()
        starter = host.starter
        with system_errors("the folder of the workspace"):
            make_folders(mounts, starter.run_as)
        in_root = starter.tier == "A"
        at = {mount.at.lstrip("/"): mount.at if in_root else mount.path for mount in mounts}
        args: Json = {"name": name, "arguments": arguments, "places": at, "settings": host.settings}
        if starter.tier in ("B", "C") and self.mode == "own":  # it is the home of programs, too
            args["scratch"] = SCRATCH_NAME
        args["guarded"] = self.mode == "write"
        job = Job(
            *(WHERE, args, "", host.limits),
            owner=self.place.owner,
            reach=NetworkPolicy("off"),
            stateful=f"workspace {self.id}",
            watches=True,
        )

        start = functools.partial(starter.start, mounts=mounts)
        outcome = await host.processes.run(job, identities(mounts), start)
        return outcome, isinstance(outcome.result, dict)


class WorkspaceProcesses(KeptProcesses):
    """The processes of workspaces: they keep nothing that the next one could not find again."""

    full = (
        "no workspace process is free (server.workspace.processes: {most}, of which one person has"
        " at most {share}); try again in a moment"
    )
    busy = "busy"

    def is_at(self, held: KeptProcess, job: Job) -> bool:
        """Return True: any process of the workspace will do."""
        return True


def result_of(outcome: Outcome) -> Json:
    """Return the result of an operation, as process.py sent it. Raises WorkspaceError."""
    told = outcome.result
    if outcome.status == "ok" and isinstance(told, dict):
        if isinstance(found := told.get("result"), dict):
            return found
        if isinstance(refused := told.get("refused"), dict):
            facts = refused.get("facts")
            code, detail = str(refused.get("code")), str(refused.get("detail"))
            raise WorkspaceError(code, detail, **(facts if isinstance(facts, dict) else {}))
    text = str(outcome.error.get("message", "it ended"))
    if outcome.status in ("timeout", "limit"):
        raise WorkspaceError("timeout", f"the operation was {text}")
    if outcome.error.get("type") == "busy":
        raise WorkspaceError("busy", text)
    raise WorkspaceError("unavailable", f"the workspace's process cannot be used: {text}")
