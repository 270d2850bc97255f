"""Calls of the server itself, which try out in the sandbox what calls of tools may do.

sandbox/probe.py judges the attempts to get out. They run in folders of their own, whose names no
session's can have.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..lib.sandbox import selftest
from ..lib.sandbox.folders import make_folders
from ..lib.sandbox.network_policy import NetworkPolicy
from ..lib.sandbox.policy import FOLDER, WORKSPACE, Mount, SandboxPolicy
from ..lib.sandbox.process import Job, Outcome

OWN = "own-"  # prefix of folders for the server's own calls; sessions' names have no dash
LIMITS: dict[str, float] = {
    "wall_s": 10,
    "cpu_s": 10,
    "memory_mb": 512,
    "file_mb": 16,
    "output_kb": 64,
    "processes": 64,
    "open_files": 256,
}

Run = Callable[[Job, tuple[Mount, ...]], Awaitable[Outcome]]


@contextmanager
def own_folder(workspaces: Path) -> Iterator[str]:
    """Yield the path of a folder for a call of the server itself, and remove it afterwards."""
    folder = workspaces / f"{OWN}{secrets.token_hex(16)}"
    try:
        yield str(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def try_escapes(
    run: Run, workspaces: Path, policy: SandboxPolicy, network: str, facts: dict[str, Any]
) -> dict[str, dict[str, str]]:
    """Return what came of the attempts of selftest.py. Raises OSError if no call is possible."""
    where = ("module", selftest.__name__, selftest.attempts.__name__)
    with own_folder(workspaces) as own, own_folder(workspaces) as kept:
        mounts = (Mount(WORKSPACE, own, own=True), Mount(FOLDER, kept, False, own=True))
        make_folders(mounts, policy.run_as)
        file = Path(kept, selftest.KEPT)
        file.write_text(selftest.KEPT)
        if policy.run_as:  # so that only the sandbox can keep the tool from writing
            os.chown(file, policy.run_as, policy.run_as)
        here = FOLDER if policy.tier == "A" else kept
        args = {"facts": {**facts, "kept": here, "tier": policy.tier}}
        job = Job(where, args, None, LIMITS, reach=NetworkPolicy(network))
        return dict(await result_of(run, job, mounts))


async def result_of(run: Run, job: Job, mounts: tuple[Mount, ...]) -> Any:
    """Return the result of a call of the server itself. Raises OSError."""
    outcome = await run(job, mounts)
    if outcome.status != "ok":
        raise OSError(0, str(outcome.error.get("message")))
    return outcome.result
