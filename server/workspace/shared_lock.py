"""The lock that a tool's call holds while it may change a workspace.

Restoring and applying wait for it (state.py takes the same lock exclusively), and a call that
begins meanwhile waits for them. Locks of a process that ended are free.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ..lib.runtime.descriptors import open_fd, try_lock
from .errors import WorkspaceError
from .places import Place
from .state import LOCK

WAIT_S = 60.0  # for a restore, which begins only when no call runs
POLL_S = 0.02


@asynccontextmanager
async def share_lock(place: Place, run_as: int, wait_s: float = WAIT_S) -> AsyncGenerator[None]:
    """Hold the shared lock of a workspace, whose state folder is there.

    `run_as`: the user of tools if the server is root, else 0. Raises WorkspaceError `busy` after
    `wait_s`, and OSError.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    with open_fd(place.state / LOCK, flags) as descriptor:
        if run_as and os.fstat(descriptor).st_uid != run_as:
            os.fchown(descriptor, run_as, run_as)
        end = time.monotonic() + wait_s
        while not try_lock(descriptor, exclusive=False):
            if time.monotonic() >= end:
                text = f"the workspace's files are still being restored after {wait_s:g} s"
                raise WorkspaceError("busy", f"{text}; try again later")
            await asyncio.sleep(POLL_S)
        yield
