"""The entry of a workspace's process: one operation for each call of the server (host.py)."""

from __future__ import annotations

import functools
from typing import Any

from .errors import WorkspaceError
from .operations import Operations, Places
from .scan import Limits


def answer(
    _context: object,
    name: str,
    arguments: dict[str, Any],
    places: dict[str, str],
    settings: dict[str, float],
    scratch: str = "",
    guarded: bool = False,
) -> dict[str, Any]:
    """Do an operation. Returns {"result": its result}, or {"refused": {code, detail, facts}}.

    `places`: the paths of workspace, state, objects and, of an overlay, folder. `settings`:
    server.workspace. `scratch`: name of the folder that the sandbox itself has in the workspace.
    `guarded`: see operations.Places.
    """
    try:
        opened = operations(tuple(places.items()), tuple(settings.items()), scratch, guarded)
        return {"result": opened.perform(name, arguments)}
    except WorkspaceError as error:
        about = {"code": error.code, "detail": error.detail, "facts": error.facts}
        return {"refused": about}


@functools.cache
def operations(
    places: tuple[tuple[str, str], ...],
    settings: tuple[tuple[str, float], ...],
    scratch: str,
    guarded: bool,
) -> Operations:
    """Return the workspace of this process, opened once. Raises WorkspaceError."""
    limits, at = dict(settings), dict(places)
    return Operations(
        Places(
            *(at["workspace"], at["state"], at["objects"], at.get("folder")),
            limits=Limits(int(limits["file_mb"] * 1024 * 1024), int(limits["files"]), scratch),
            overlay_bytes=int(limits["overlay_mb"] * 1024 * 1024),
            objects_bytes=int(limits["objects_mb"] * 1024 * 1024),
            guarded=guarded,
        )
    )
