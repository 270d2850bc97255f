"""What is kept of a workspace besides its files, and the locks that order those who use it.

`state.json`, which is replaced as a whole: {tree, call?, restoring?, applying?, base?, bases?,
filling?, appeared?, seen}. A mark (`restoring`, `applying`, `filling`) is durable before files are
changed and removed after: what finds one finishes, or goes on to another tree.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..lib.runtime import private_files
from ..lib.runtime.descriptors import open_fd, try_lock
from .errors import WorkspaceError

POLL_S = 0.01
FILE, STATS, LOCK, BOOK = "state.json", "stats.json", "lock", "state.lock"
MAX_SEEN = 1_000  # sessions that are remembered


class StateFile:
    """The state of one workspace, in a folder that tools never see."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        os.makedirs(self.folder, 0o700, exist_ok=True)

    def load(self, name: str = FILE) -> dict[str, Any]:
        """Return what was saved; {} if nothing was, or nothing that can be read."""
        try:
            with open(os.path.join(self.folder, name), "rb") as file:
                value = json.load(file)
        except FileNotFoundError:
            return {}
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    def save(self, value: dict[str, Any], name: str = FILE) -> None:
        """Replace what was saved. A power failure leaves this or what was saved before."""
        data = json.dumps(value, separators=(",", ":")).encode("ascii")
        private_files.write(Path(self.folder, name), data, durable=True)

    def settle(self) -> None:
        """Make durable what was saved: a power failure does not take it back."""
        with open_fd(self.folder, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
            os.fsync(descriptor)

    @contextmanager
    def lock(self, exclusive: bool, wait_s: float) -> Iterator[None]:
        """Hold off restores (shared), or also running calls (exclusive). Raises `busy`."""
        with self._locked(LOCK, exclusive, wait_s), self._locked(BOOK, True, wait_s):
            yield

    @contextmanager
    def _locked(self, name: str, exclusive: bool, wait_s: float) -> Iterator[None]:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        with open_fd(os.path.join(self.folder, name), flags) as descriptor:
            end = time.monotonic() + wait_s
            while not try_lock(descriptor, exclusive=exclusive):
                if time.monotonic() >= end:
                    text = f"the workspace is still in use after {wait_s:g} s; try again later"
                    raise WorkspaceError("busy", text)
                time.sleep(POLL_S)
            yield


def note_seen(state: dict[str, Any], session: str, tree: str) -> bool:
    """Note at which tree a session left the workspace; return whether that is new."""
    seen = state.setdefault("seen", {})
    if seen.get(session) == tree:
        return False
    seen.pop(session, None)
    seen[session] = tree
    while len(seen) > MAX_SEEN:
        del seen[next(iter(seen))]
    return True
