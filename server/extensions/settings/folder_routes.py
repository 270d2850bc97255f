"""The handlers of `/settings/folders` and `/settings/try/folder`: find a folder, and try its path.

Only owners' keys that may change what opens the machine are let in. Names of folders are listed
below `server.folder_roots`, never contents; links are not followed, hidden folders left out.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...api.body import BodyLimits, read_fields
from ...api.router import RequestContext, Route, owners_only
from ...api.transfers import read_query
from ...errors import Problem
from ...json_types import Json
from ...lib.json_schema.objects import object_schema
from .host_access import may_open_machine

MOST_NAMES = 1000
MOST_PATH = 4096
MAX_BODY = BodyLimits(16 * 1024, 100)
_PATH = {"type": "string", "minLength": 1, "maxLength": MOST_PATH}
_BODY = object_schema({"path": _PATH}, None, closed=True)


class SettingsFolders:
    """The folders of this machine that an owner may choose from. `server`: the half in force."""

    def __init__(self, server: Mapping[str, Any]) -> None:
        self._server = server

    def routes(self) -> dict[tuple[str, str], Route]:
        """Return (method, path) -> route."""
        return {
            ("GET", "/settings/folders"): Route(owners_only(self.get)),
            ("POST", "/settings/try/folder"): Route(owners_only(self.post)),
        }

    async def get(self, call: RequestContext) -> None:
        """List the roots, or the folders in the one of `path`."""
        self._check_place()
        path = read_query(call, "path").get("path", "")
        found = await asyncio.to_thread(names_in, self._server["folder_roots"], path)
        await call.json(found)

    async def post(self, call: RequestContext) -> None:
        """Say whether a path is a folder that can be looked into."""
        self._check_place()
        body = await read_fields(call, MAX_BODY, _BODY)
        reason = await asyncio.to_thread(why_unusable, body["path"])
        found: Json = {"ok": not reason}
        await call.json({**found, "problem": {"detail": reason}} if reason else found)

    def _check_place(self) -> None:
        if not may_open_machine(self._server):
            text = (
                "Folders of this machine are shown only in the page of a server that listens on it"
                " alone, and has keys; server.remote_administration allows it over the network"
            )
            raise Problem("forbidden", text)


def names_in(roots: list[str], path: str, most: int = MOST_NAMES) -> Json:
    """Return {path, parent, folders, more}: the names of folders in `path`; without it the roots.

    Raises Problem: not_found.
    """
    try:
        tops = list(dict.fromkeys(_real(root) for root in roots))
        place = _real(path)
    except RuntimeError:
        raise Problem("not_found", "There is no such home folder here") from None
    if not path:
        return {"path": "", "parent": None, "folders": [str(top) for top in tops], "more": False}
    top = next((each for each in tops if place.is_relative_to(each)), None)
    if top is None:
        raise Problem("not_found", "This folder lies below none of server.folder_roots")
    if any(part.startswith(".") for part in place.relative_to(top).parts):
        raise Problem("not_found", "Hidden folders are not shown: write the path")
    try:
        with os.scandir(place) as entries:
            names = [each.name for each in entries if each.is_dir(follow_symlinks=False)]
    except OSError as error:
        raise Problem("not_found", f"The folder cannot be looked into: {error.strerror}") from None
    shown = sorted(name for name in names if not name.startswith(".") and name.isprintable())
    parent = "" if place == top else str(place.parent)
    folders, more = shown[:most], len(shown) > most
    return {"path": str(place), "parent": parent, "folders": folders, "more": more}


def why_unusable(path: str) -> str:
    """Return why no folder can be used at a path, "" if one can."""
    if not path.startswith(("/", "~")) or "\0" in path:
        return "A path begins with / or ~"
    try:
        with os.scandir(_real(path)):
            return ""
    except NotADirectoryError:
        return "This is a file, not a folder"
    except FileNotFoundError:
        return "There is no such folder on the server's machine"
    except (OSError, RuntimeError) as error:
        return f"The folder cannot be looked into: {getattr(error, 'strerror', None) or error}"


def _real(path: str) -> Path:
    return Path(os.path.realpath(Path(path[:MOST_PATH].replace("\0", "")).expanduser()))
