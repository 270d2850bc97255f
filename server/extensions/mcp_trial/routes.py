"""The handler of `/settings/try/mcp`: try an MCP server before it is used.

Only owners' keys are let in, and nothing is written. A saved secret is used only where the saved
entry would send it: at the same address, or in the same program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ...api.body import misfit, read_fields
from ...api.router import RequestContext, Route, owners_only
from ...api.sessions import Runs
from ...errors import Problem
from ...json_types import Json
from ...lib.json_schema.objects import object_schema
from ...lib.runtime.accounts import OWNER, Pool
from ...tools.decorators import ToolError
from ..mcp.entry import normalize_entry
from ..parts import Host, Parts
from ..settings.trial_routes import (
    AT_ONCE,
    MAX_BODY,
    check_openings,
    refuse_saved_secrets,
    with_kept,
)
from .trial import try_server

PROGRAM = ("command", "args", "cwd")  # what decides where the secrets of `env` go
_NAME = {"type": "string", "minLength": 1, "maxLength": 200}
_BODY = object_schema({"name": _NAME, "entry": {"type": "object"}}, ("name",), closed=True)


class McpTrialParts(Parts):
    """The trials of one configuration."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._server, self._turns = host.config.server, Pool(AT_ONCE, OWNER)

    def settings_routes(self, runs: Runs) -> Mapping[tuple[str, str], Route]:
        """Return the route."""
        return {("POST", "/settings/try/mcp"): Route(owners_only(self.post))}

    def info(self, owner: str) -> Mapping[str, Any]:
        """Return that entries can be tried, where they can."""
        return {} if self.host.live is None else {"mcp_trial": True}

    async def post(self, call: RequestContext) -> None:
        """Try an MCP server: an entry, or the saved one of that name. Its process is ended."""
        body = await read_fields(call, MAX_BODY, _BODY)
        name = body["name"]
        saved = self._server["mcpServers"].get(name)
        if saved is None and "entry" not in body:
            raise Problem(
                "not_found", f"There is no MCP server {name[:100]!r} in the configuration"
            )
        entry = saved or {}
        if "entry" in body:
            entry, kept = with_kept(body["entry"], saved, self.host.env, "entry")
            if kept and not _goes_to_same(entry, saved):
                refuse_saved_secrets("entry", "the saved command or address")
            await check_openings(self._server, "mcpServers", name, entry, saved)
        async with self._turns.turn():
            answer = await try_server(name, entry, self.host.client, self.host.config.home)
        await call.json(answer)


def _goes_to_same(entry: Json, saved: Json | None) -> bool:
    """Return whether two entries send their secrets to the same place. Raises Problem."""
    new = _normal(entry)
    old = _normal(saved) if saved is not None else {}
    is_same = all(new.get(key) == old.get(key) for key in PROGRAM)
    return is_same and _origin(new) == _origin(old) and new.get("oauth") == old.get("oauth")


def _normal(entry: Json) -> Json:
    try:
        return normalize_entry(entry)
    except ToolError as error:
        raise misfit(("entry",), str(error)) from None


def _origin(entry: Json) -> tuple[str, str]:
    parts = urlsplit(entry.get("url", ""))
    return parts.scheme.lower(), parts.netloc.lower()
