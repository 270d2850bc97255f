"""The handlers of `/settings`: what the owner's configuration file says, and changes of it.

Only owners' keys are let in. A change is checked as the start of a server checks the file, written,
and used for every request that begins afterwards (Live of parts.py). Secrets are never sent.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...api.body import BodyLimits, read_fields
from ...api.router import RequestContext, Route, owners_only
from ...config import ConfigError
from ...errors import Problem, disk_problem, refuse
from ...json_types import Json
from ...lib.json_schema.objects import object_schema
from ...lib.strict_json import pointer
from ...tools.decorators import ToolError
from ..parts import Live
from . import host_access
from .config_file import ConfigFile, ConfigFileError, Reading, apply_changes
from .hidden_secrets import hide

MAX_BODY = BodyLimits(1 << 20, 20_000)
USED_S = 5.0  # how long a reply waits until a change is used
HIDDEN = ("api_keys",)  # parts of the half `server` that `effective` leaves out
_NAMES = {"type": "string", "minLength": 1, "maxLength": 200}
_PATH = {"type": "array", "items": _NAMES, "minItems": 2, "maxItems": 12}
_CHANGE = {
    **object_schema({"path": _PATH, "value": {}, "remove": {"const": True}}, ("path",)),
    "anyOf": [{"required": ["value"]}, {"required": ["remove"]}],
}
_CHANGES = {"type": "array", "items": _CHANGE, "minItems": 1, "maxItems": 100}
_PATCH = object_schema({"revision": {"type": "string", "maxLength": 64}, "changes": _CHANGES}, None)
_KEY = re.compile(r"(?:server|session)(?:\.[^\s:.]+)*")

Change = Callable[[dict[str, Any]], dict[str, Any]]


class Settings:
    """The settings of a server."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self._renewals: set[asyncio.Future[object]] = set()  # the event loop holds tasks weakly

    @property
    def file(self) -> ConfigFile:
        """Return the owner's file."""
        return ConfigFile(self.live.path, self.live.config.home)

    def routes(self) -> dict[tuple[str, str], Route]:
        """Return (method, path) -> route."""
        return {
            ("GET", "/settings"): Route(owners_only(self.get)),
            ("PATCH", "/settings"): Route(owners_only(self.patch)),
        }

    async def get(self, call: RequestContext) -> None:
        """Send what the file says, what is in force, and what is known of the server."""
        await call.json(await asyncio.to_thread(self._shown))

    async def patch(self, call: RequestContext) -> None:
        """Make changes `{revision, changes: [{path, value} or {path, remove: true}]}`."""
        body = await read_fields(call, MAX_BODY, _PATCH)
        await self.change(
            body["revision"], lambda document: apply_changes(document, body["changes"])
        )
        await call.json(await asyncio.to_thread(self._shown))

    async def change(self, revision: str | None, make: Change) -> None:
        """Write what `make` returns for the file's document, and use it. Raises Problem.

        `revision`: of the file that the change was made for; None for any. The reply does not wait
        longer than USED_S for a change that takes long to come into use.
        """
        await asyncio.to_thread(self._write, revision, make)
        used = asyncio.ensure_future(self.live.renew())
        self._renewals.add(used)
        used.add_done_callback(self._renewals.discard)
        await asyncio.wait((used,), timeout=USED_S)

    def _write(self, revision: str | None, make: Change) -> None:
        file = self.file
        try:
            with file.lock():
                now = file.read()
                if revision not in (None, now.revision):
                    raise Problem(
                        "revision_changed",
                        "The configuration file was changed meanwhile. Read it again, and repeat",
                        facts={"revision": now.revision},
                    )
                document = make(now.document)
                self._check(now, document)
                file.write(document)
        except ConfigFileError as error:
            raise unusable(error) from None
        except OSError as error:
            text = f"The file is not usable: {error.strerror}"
            raise disk_problem(error) or Problem("settings_invalid", text) from None

    def _check(self, now: Reading, document: dict[str, Any]) -> None:
        halves = [each.get("server") for each in (now.document, document)]
        before, after = (half if isinstance(half, dict) else {} for half in halves)
        try:  # first, since later errors tell what folders there are
            openings = host_access.find_openings(before, after)
            refuse("forbidden", [*host_access.refusals(openings, self.live.config.server)])
            moved = [_error(name, MOVED) for name in host_access.find_redirects(before, after)]
            moved += [_error(name, VARIABLE) for name in host_access.find_variables(before, after)]
        except ToolError as error:
            refuse("settings_invalid", [*_places((str(error),), str(self.live.config.home))])
        else:
            refuse("settings_invalid", moved)
        try:
            self.live.check(document)
        except ConfigError as error:
            refuse("settings_invalid", [*_places(error.problems, str(self.live.config.home))])
            raise

    def _shown(self) -> Json:
        live = self.live
        try:
            reading, problem = self.file.read(), ""
        except ConfigFileError as error:
            reading, problem = Reading({}, ""), f"The configuration file: {error.detail}"
        why = problem or self.file.unwritable()
        config, facts = live.config, live.facts()
        server = {key: value for key, value in config.server.items() if key not in HIDDEN}
        return {
            "revision": reading.revision,
            "writable": not why,
            "why": why,
            "opens_host": host_access.may_open_machine(config.server),
            "file": hide(reading.document),
            "effective": hide(server),
            "fixed": list(config.fixed),
            **facts,
            "found": [
                {
                    "name": name,
                    "preset": entry.get("preset", ""),
                    "api_url": entry.get("api_url", ""),
                    "models": entry.get("models", []),
                }
                for name, entry in facts["found"].items()
            ],
        }


def unusable(error: ConfigFileError) -> Problem:
    """Return the refusal of a change that the file cannot take."""
    errors = [{"pointer": error.pointer, "detail": error.detail}] if error.pointer else []
    detail = error.detail if error.pointer else f"The configuration file: {error.detail}"
    return Problem("settings_invalid", detail, errors=errors)


MOVED = (
    ": its address changes, so its key, headers or variables must be sent again; a secret goes only"
    " where it went before"
)
VARIABLE = (
    " names a variable of the server's environment (${NAME}) where the file does not; that can be"
    " written into the file itself only"
)


def _error(name: str, text: str) -> Json:
    return {"pointer": pointer(*name.split(".")), "detail": name + text}


def _places(problems: tuple[str, ...], home: str) -> Iterator[Mapping[str, str]]:
    """Yield {pointer, detail} of the lines of a ConfigError, without the names of files."""
    for line in problems:
        found = _KEY.search(line)
        key = found[0] if found else ""
        text = line[found.start() :] if found else line.rpartition(": ")[2]
        where = pointer(*key.split(".")) if key else ""
        yield {"pointer": where, "detail": text.replace(home, "HOME")}
