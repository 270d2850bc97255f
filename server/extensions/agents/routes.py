"""The handlers of `/settings/agents`: the owner's agent files, to create, edit and delete.

Only owners' keys are let in. Files are read for each run, so a change counts from the next one on.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from ...api.body import BodyLimits, read_fields
from ...api.router import RequestContext, Route, owners_only
from ...lib.json_schema.objects import object_schema
from ...session.agent_definition import MAX_FILE
from .agent_files import agent_files, delete_agent, write_agent

MAX_BODY = BodyLimits(2 * MAX_FILE, 20_000)
_REVISION = {"type": "string", "maxLength": 64}
_BODY = object_schema({"agent": {"type": "object"}, "revision": _REVISION}, ("agent",), closed=True)


class SettingsAgents:
    """The agent files in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def routes(self) -> dict[tuple[str, str], Route]:
        """Return (method, path) -> route."""
        return {
            ("GET", "/settings/agents"): Route(owners_only(self.listing)),
            ("PUT", "/settings/agents/{name}"): Route(owners_only(self.put)),
            ("DELETE", "/settings/agents/{name}"): Route(owners_only(self.delete)),
        }

    async def listing(self, call: RequestContext) -> None:
        """Send the owner's files and the built-in ones."""
        await call.json({"agents": await asyncio.to_thread(agent_files, self._folder)})

    async def put(self, call: RequestContext) -> None:
        """Write the file of an agent: `{agent, revision?}`."""
        body = await read_fields(call, MAX_BODY, _BODY)
        name, revision = call.at["name"], body.get("revision")
        await asyncio.to_thread(write_agent, self._folder, name, body["agent"], revision)
        await self.listing(call)

    async def delete(self, call: RequestContext) -> None:
        """Delete the file of an agent."""
        await asyncio.to_thread(delete_agent, self._folder, call.at["name"])
        await self.listing(call)
