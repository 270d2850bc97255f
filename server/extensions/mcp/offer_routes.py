"""The handlers of `/mcp/…`: resources and prompts of the configured MCP servers, for a person.

Reading is the person's own act, so it needs no approval; but where the server's policy denies the
tool that reads the resources of an MCP server, this refuses them too. What a request names is
passed on to a configured server and to no other place.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...api.body import BodyLimits, read_fields
from ...api.router import RequestContext, Route
from ...errors import Problem
from ...json_types import Json
from ...lib.json_schema.objects import object_schema
from ...lib.runtime.accounts import OWNER, Pool
from ...session.limits import LimitCeilings
from .library import McpLibrary

AT_ONCE = 4  # requests that wait for MCP servers at the same time, for each kind of request

_NAME = {"type": "string", "minLength": 1, "maxLength": 2_048}
_TEXT = {"type": "string", "maxLength": 100_000}
_TEXTS = {"type": "object", "additionalProperties": _TEXT, "maxProperties": 50}


def _object(required: Iterable[str], **properties: Any) -> Json:
    return object_schema({"server": _NAME, **properties}, ("server", *required), closed=True)


_READ = _object(("uri",), uri=_NAME)
_PROMPT = _object(("name",), name=_NAME, arguments=_TEXTS)
_COMPLETE = _object(
    ("argument", "value"),
    prompt=_NAME,
    template=_NAME,
    argument=_NAME,
    value=_TEXT,
    arguments=_TEXTS,
)


class McpOffers:
    """The handlers of `/mcp/…`."""

    def __init__(self, library: McpLibrary, ceilings: LimitCeilings) -> None:
        self._library, self._ceilings = library, ceilings
        self._lists, self._reads = Pool(AT_ONCE, OWNER), Pool(AT_ONCE, OWNER)

    def routes(self) -> dict[tuple[str, str], Route]:
        """Return the routes by method and path."""
        return {
            ("GET", "/mcp/resources"): Route(self.list_resources),
            ("POST", "/mcp/resource"): Route(self.read),
            ("GET", "/mcp/prompts"): Route(self.list_prompts),
            ("POST", "/mcp/prompt"): Route(self.prompt),
            ("POST", "/mcp/complete"): Route(self.complete),
        }

    async def list_resources(self, call: RequestContext) -> None:
        """Answer with the resources of all servers, and the templates of their addresses."""
        names = self._library.readable_servers()
        async with self._lists.turn():
            servers = await self._library.lists("resources", "templates", names=names)
        await call.json({"servers": servers})

    async def list_prompts(self, call: RequestContext) -> None:
        """Answer with the prompts of all servers."""
        async with self._lists.turn():
            servers = await self._library.prompts()
        await call.json({"servers": servers})

    async def read(self, call: RequestContext) -> None:
        """Answer with the contents of a resource. Raises Problem."""
        body = await self._body(call, _READ)
        self._check_readable(body["server"])
        async with self._reads.turn():
            contents = await self._library.read(body["server"], body["uri"])
        call.size = sum(len(each.get("text") or each.get("blob") or "") for each in contents)
        await call.json({"server": body["server"], "uri": body["uri"], "contents": contents})

    async def prompt(self, call: RequestContext) -> None:
        """Answer with the messages of a prompt. Raises Problem."""
        body = await self._body(call, _PROMPT)
        server, name = body["server"], body["name"]
        async with self._reads.turn():
            found = await self._library.prompt(server, name, body.get("arguments", {}))
        await call.json({"server": server, "name": name, **found})

    async def complete(self, call: RequestContext) -> None:
        """Answer with values that an argument of a prompt or a template may have.

        Raises Problem.
        """
        body = await self._body(call, _COMPLETE)
        if ("prompt" in body) == ("template" in body):
            raise Problem("request_invalid", "Name either a `prompt` or a `template`")
        if "template" in body:
            self._check_readable(body["server"])
            ref = {"type": "ref/resource", "uri": body["template"]}
        else:
            ref = {"type": "ref/prompt", "name": body["prompt"]}
        argument = {"name": body["argument"], "value": body["value"]}
        known = body.get("arguments", {})
        async with self._reads.turn():
            found = await self._library.complete(body["server"], ref, argument, known)
        await call.json(found)

    async def _body(self, call: RequestContext, schema: Json) -> Json:
        sizes = BodyLimits.of(self._ceilings.of(call.key.owner))
        return await read_fields(call, sizes, schema)

    def _check_readable(self, server: str) -> None:
        """Raise Problem for a server whose resources may not be read, or that there is not."""
        if server not in self._library.readable_servers():
            text = f"Resources of an MCP server {server[:100]!r} are not read here"
            raise Problem("not_found", text)
