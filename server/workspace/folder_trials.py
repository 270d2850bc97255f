"""Try what the sandbox allows in each real folder, and note why one is refused."""

from __future__ import annotations

from ..lib.sandbox import selftest
from ..lib.sandbox.policy import SESSION, WORKSPACE, Mount
from ..lib.sandbox.process import Job
from ..tools.session_files import Starter
from ..tools.trials import LIMITS, own_folder, result_of
from .places import Places


async def try_folders(starter: Starter, places: Places) -> None:
    """Try what each real folder allows, and note why one is refused."""
    where = ("module", selftest.__name__, selftest.folder_access.__name__)
    for folder in places.folders:
        if places.folders.reason(folder):
            continue
        with own_folder(places.workspaces) as own:
            files = Mount(WORKSPACE, str(folder.path), folder.mode != "read")
            job = Job(where, {"mode": folder.mode}, None, LIMITS)
            try:
                mounts = (files, Mount(SESSION, own, own=True))
                reason = str(await result_of(starter.run_own, job, mounts))
            except OSError as error:
                reason = f"cannot be reached: {error.strerror}"
        if reason and starter.run_as and folder.mode != "read":
            reason += (
                f" by user {starter.run_as} (server.sandbox.run_as): allow it, or set run_as to the"
                " user whom the folder belongs to"
            )
        if reason:
            places.folders.refused[folder.name] = f"The folder {folder.name} {reason}"
