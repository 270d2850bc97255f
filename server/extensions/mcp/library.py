"""The resources and prompts of the configured MCP servers, for models and for the page.

A list is kept until its server says that it has changed, or until it is too old. A resource that
was read is subscribed to where the server offers that, so that the list can say when it changed
last. Whatever a server sends, an answer is bounded in size and time, and has none of the
credentials of the server's entry.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import Problem
from ...json_types import Json
from ...tools.base import Emit, Invocation, Tool, ToolQuestion, failure, hints_of
from ...tools.foreign_text import without_unseen
from ...tools.result import shorten_text
from ...tools.runner import Outcome
from ...tools.tool_source import Replace, ToolSource
from .entry import is_allowed
from .inbox import METHOD_NOT_FOUND
from .oauth.questions import is_refused, sign_in_question
from .offers import (
    completions_of,
    contents_of,
    entries_of,
    is_uri,
    one_line,
    prompt_of,
    resource_of,
    template_of,
)
from .peer import MAX_LISTED, LinkError, RpcError, SignInNeeded
from .results import block_text, outcome_of
from .servers import TIMEOUT_S, McpServer, McpServers, McpTool, legal_name
from .skills import McpSkills
from .subscriptions import Subscriptions

LIST_S = 30.0  # time limit for a list
WATCH_S = 5.0  # for asking that a change be announced
MAX_PROMPT = 200_000  # characters of a prompt's text
MAX_SHOWN = 100  # resources that a model is listed at once
TOOL = "read_resource"  # as a server would name it that had it itself
NONE: dict[str, Json] = {}
READERS = {
    "resources": (resource_of, "uri"),
    "templates": (template_of, "uriTemplate"),
    "prompts": (prompt_of, "name"),
}


@dataclass(frozen=True, kw_only=True)
class ResourceTool(McpTool):
    """The tool with which a model lists and reads the resources of one server."""

    library: McpLibrary = field(compare=False)

    async def run(self, call: Invocation, emit: Emit) -> Outcome | ToolQuestion:
        """Return the resource, or the list without a URI; or the question for a sign-in."""
        if is_refused(call.ledger.get("input")):
            return failure(f"the MCP server {self.server} wants a sign-in, and nobody signed in")
        try:
            return await self.library.outcome(self.server, call.args, call.limits)
        except SignInProblem as error:
            return ToolQuestion(sign_in_question(self.server, error.why, None))


class SignInProblem(Problem):
    """A request that a server does not take before somebody has signed in. `why`: its reason."""

    def __init__(self, server: str, why: str) -> None:
        super().__init__("mcp_failed", f"The MCP server {server}: {why}")
        self.why = why


class McpLibrary(ToolSource):
    """What all servers offer: tools, resources and prompts.

    It gives `servers` a tool for each that has resources.

    `ceilings`: server.tools, the policy of this server for each tool.
    """

    place = "mcpServers"

    def __init__(self, servers: McpServers, ceilings: Mapping[str, Json] = NONE) -> None:
        self.servers, self._ceilings = servers, ceilings
        self.skills: McpSkills = McpSkills(self._ask)
        self._offered: set[str] = set()  # servers whose resources have a tool
        self._kept: dict[tuple[str, str], tuple[list[Json], int]] = {}  # by server and kind
        self._listing: dict[tuple[str, str], asyncio.Lock] = {}
        self._subscriptions: dict[str, Subscriptions] = {}  # by server
        servers.more_tools = self._tools_of

    async def load(self, replace: Replace) -> None:
        """Start the servers and list their tools, now and whenever a list changes."""
        await self.servers.load(replace)

    def refresh(self) -> None:
        """Begin to list the tools of servers that are due, without waiting."""
        self.servers.refresh()

    def stand_in(self, name: str) -> Tool | None:
        """Return a tool for a call that was made elsewhere, of a server not signed in at here."""
        return self.servers.stand_in(name)

    @property
    def parts(self) -> tuple[str, ...]:
        """Return the names of the servers."""
        return self.servers.names

    @property
    def problems(self) -> list[str]:
        """Return what the owner has to fix at the servers."""
        return self.servers.problems

    @property
    def busy(self) -> bool:
        """Return whether a call waits for a person's answer."""
        return self.servers.holds_calls

    def place_of(self, part: str, tool: Tool) -> str:
        """Return the server and its own name of the tool."""
        listed_name = tool.listed_name if isinstance(tool, McpTool) else tool.name
        return f"{self.place}.{part}: {listed_name}"

    async def _tools_of(self, server: McpServer) -> list[McpTool]:
        """Return the tool for the resources of a server, if it has any."""
        has_any = False
        await self._look_for_skills(server)
        with suppress(LinkError, RpcError, TimeoutError):  # its tools work without
            async with asyncio.timeout(WATCH_S):
                has_any = "resources" in await server.peer.capabilities()
                await self._subscription(server).keep()
                if has_any:  # some packages say so for servers that have none
                    lists = [await self._list(server, each) for each in ("resources", "templates")]
                    has_any = any(entries for entries, _ in lists)
        self._offered.discard(server.name)
        if not has_any or not is_allowed(TOOL, server.entry):
            return []
        self._offered.add(server.name)
        properties: Json = {
            "uri": {"type": "string", "description": "the resource to read; none: list them"},
            "search": {"type": "string", "description": "words that narrow the list"},
        }
        trusted = server.entry.get("trust") is True
        tool = ResourceTool(
            legal_name(server.name, TOOL),
            f"Read a resource of {server.name} by its URI, or list the resources that it has.",
            {"type": "object", "properties": properties},
            origin=f"mcp {server.name}",
            hints=hints_of({"read_only": trusted, "destructive": False}),
            required_resources={"wall_s": self.servers.timeout_of(server)},
            servers=self.servers,
            server=server.name,
            listed_name="",
            library=self,
        )
        return [tool]

    async def _look_for_skills(self, server: McpServer) -> None:
        try:
            async with asyncio.timeout(WATCH_S):
                server.remarks = await self.skills.look(server)
        except (LinkError, RpcError, TimeoutError) as error:  # its tools work without
            server.remarks = [f"its skills cannot be listed: {error or 'no answer in time'}"]

    def readable_servers(self) -> frozenset[str]:
        """Return the names of the servers whose resources may be read, by the server's policy."""
        tools = {name: legal_name(name, TOOL) for name in self._offered}
        denied = {tool for tool, entry in self._ceilings.items() if entry.get("ceiling") == "deny"}
        return frozenset(name for name, tool in tools.items() if tool not in denied)

    async def lists(self, *kinds: str, names: frozenset[str] | None = None) -> list[Json]:
        """Return {name, KIND: […], left_out?, problem?} of each server that offers such things.

        `kinds`: of "resources", "templates", "prompts". `names`: of the servers that are meant;
        None for all.
        """
        wanted = [s for s in self.servers.all() if names is None or s.name in names]
        found = await asyncio.gather(*(self._lists_of(server, kinds) for server in wanted))
        return [each for each in found if each]

    async def _lists_of(self, server: McpServer, kinds: tuple[str, ...]) -> Json:
        found: Json = {"name": server.name}
        left_out = 0
        try:
            async with asyncio.timeout(LIST_S):
                offered = await server.peer.capabilities()
                if ("prompts" if "prompts" in kinds else "resources") not in offered:
                    return {}
                for kind in kinds:
                    found[kind], without = await self._list(server, kind)
                    left_out += without
            if cut := [server.peer.cut[kind] for kind in kinds if kind in server.peer.cut]:
                found["problem"] = one_line("; ".join(cut), 500)
        except (LinkError, RpcError) as error:
            found["problem"] = one_line(str(error), 500)
        except TimeoutError:
            found["problem"] = f"it did not answer in {LIST_S:.0f} s"
        if left_out:
            found["left_out"] = left_out
        cleaned: Json = server.clean(found)
        return cleaned

    async def _list(self, server: McpServer, kind: str) -> tuple[list[Json], int]:
        place = (server.name, kind)
        async with self._listing.setdefault(place, asyncio.Lock()):
            if place not in self._kept or server.peer.is_due(kind):
                try:
                    listed = await server.peer.entries(kind)
                except RpcError as error:
                    if error.code != METHOD_NOT_FOUND:  # templates are seldom offered
                        raise
                    listed = []
                self._kept[place] = entries_of(listed, *READERS[kind], MAX_LISTED)
        entries, left_out = self._kept[place]
        updated = server.peer.link.inbox.updated if kind == "resources" else {}
        return [_dated(entry, updated) for entry in entries], left_out

    async def read(self, name: str, uri: Any) -> list[Json]:
        """Return the contents of a resource, each {uri, mimeType?, text | blob}. Raises Problem."""
        server = self._server(name)
        if not is_uri(uri):
            shown = one_line(str(uri), 100)
            raise Problem("request_invalid", f"{shown!r} is not the URI of a resource")
        result = await self._ask(server, "resources/read", {"uri": uri})
        found = contents_of(result, uri)
        if not found:
            raise Problem("mcp_failed", f"The MCP server {name} sent no content of {uri}")
        with suppress(LinkError, RpcError, TimeoutError):
            async with asyncio.timeout(WATCH_S):
                await self._subscription(server).keep(uri)
        cleaned: list[Json] = server.clean(found)
        return cleaned

    async def prompts(self) -> list[Json]:
        """Return {name, prompts: […], problem?} of each server that offers some."""
        return await self.lists("prompts")

    async def prompt(self, name: str, prompt: str, arguments: Mapping[str, str]) -> Json:
        """Return a prompt as {description?, messages: [{role, text}]}. Raises Problem.

        Characters that nobody sees are removed: they could hide words from a person.
        """
        server = self._server(name)
        params: Json = {"name": prompt, "arguments": dict(arguments)}
        result = await self._ask(server, "prompts/get", params)
        messages = []
        left = MAX_PROMPT
        told = result.get("messages")
        for each in told if isinstance(told, list) else ():
            content = each.get("content") if isinstance(each, dict) else None
            blocks = content if isinstance(content, list) else [content]
            texts = [block_text(block) for block in blocks if isinstance(block, dict)]
            seen = without_unseen("\n".join(texts))  # a person reads it before it is sent
            text = shorten_text(seen, max(left, 0))
            left -= len(text)
            if text and left >= 0:
                role = "assistant" if each.get("role") == "assistant" else "user"
                messages.append({"role": role, "text": text})
        if not messages:
            raise Problem("mcp_failed", f"The MCP server {name} sent no text of {prompt}")
        about = one_line(result.get("description"), 1_000)
        found = {**({"description": about} if about else {}), "messages": messages}
        cleaned: Json = server.clean(found)
        return cleaned

    async def complete(
        self, name: str, ref: Json, argument: Json, known: Mapping[str, str]
    ) -> Json:
        """Return {values, more}: how the value of an argument may go on. Raises Problem.

        `ref`: {type: "ref/prompt", name} or {type: "ref/resource", uri}. `argument`: {name, value}.
        `known`: values of other arguments. A server that completes nothing has no values.
        """
        server = self._server(name)
        params: Json = {"ref": ref, "argument": argument}
        if known:
            params["context"] = {"arguments": dict(known)}
        try:
            if "completions" not in await server.peer.capabilities():
                return {"values": [], "more": False}
        except (LinkError, RpcError) as error:
            why = server.clean(one_line(str(error), 500))
            raise Problem("mcp_failed", f"The MCP server {name}: {why}") from None
        return completions_of(server.clean(await self._ask(server, "completion/complete", params)))

    async def outcome(self, name: str, args: Json, limits: Mapping[str, float]) -> Outcome:
        """Return the Outcome of a model's call: the resource `uri`, or the list without one.

        `search` narrows the list. Raises SignInProblem.
        """
        started = time.monotonic()
        try:
            async with asyncio.timeout(limits["wall_s"]):
                if uri := args.get("uri"):
                    contents = await self.read(name, uri)
                    blocks = [{"type": "resource", "resource": each} for each in contents]
                    found = outcome_of({"content": blocks})
                else:
                    found = await self._list_for_model(name, str(args.get("search") or ""))
        except TimeoutError:
            return failure(f"the MCP server {name} was silent too long", "timeout")
        except SignInProblem:
            raise
        except Problem as error:
            return failure(error.detail)
        usage = {"wall_ms": round((time.monotonic() - started) * 1000)}
        return replace(found, usage=usage)

    async def _list_for_model(self, name: str, search: str) -> Outcome:
        listed = await self.lists("resources", "templates", names=frozenset({name}))
        about = listed[0] if listed else {}
        if "problem" in about and "resources" not in about:
            return failure(f"the MCP server {name}: {about['problem']}")
        lines = [_line(entry["uri"], entry) for entry in about.get("resources", ())]
        lines += [_line(entry["uriTemplate"], entry) for entry in about.get("templates", ())]
        words = search.casefold().split()
        fitting = [line for line in lines if all(word in line.casefold() for word in words)]
        more = len(fitting) - MAX_SHOWN
        said = [*fitting[:MAX_SHOWN], *([f"… {more} more; use `search`"] if more > 0 else [])]
        said += [f"… {about['problem']}"] if "problem" in about else []
        return Outcome("ok", {"resources": said}, text="\n".join(said) or "there is none")

    def _subscription(self, server: McpServer) -> Subscriptions:
        return self._subscriptions.setdefault(server.name, Subscriptions(server.peer))

    async def close(self) -> None:
        """Stop listening, and end every process and connection."""
        for each in self._subscriptions.values():
            each.close()
        await self.servers.close()

    def _server(self, name: str) -> McpServer:
        """Return the server of a name. Raises Problem."""
        for server in self.servers.all():
            if server.name == name:
                return server
        raise Problem("not_found", f"There is no MCP server {one_line(name, 100)!r} here")

    async def _ask(self, server: McpServer, method: str, params: Json) -> Json:
        """Return the result of a request. Raises Problem."""
        patience = server.entry.get("timeout", TIMEOUT_S)
        try:
            async with asyncio.timeout(patience):
                result = await server.peer.ask(method, params)
        except SignInNeeded as error:
            raise SignInProblem(server.name, server.clean(str(error))) from None
        except RpcError as error:
            why = f"refused the request: {error}"
        except LinkError as error:
            why = str(error)
        except TimeoutError:
            why = f"it did not answer in {patience:g} s"
        else:
            if result.get("resultType", "complete") != "complete":
                why = "it asks a question, which only a call of a tool may"
            else:
                return result
        why = one_line(why, 500)
        raise Problem("mcp_failed", server.clean(f"The MCP server {server.name}: {why}"))


def _dated(entry: Json, updated: Mapping[str, float]) -> Json:
    """Return a listed resource with the Unix time in ms of its last change, if that is known."""
    changed = updated.get(entry.get("uri", ""))
    return entry if changed is None else {**entry, "updated": round(changed * 1000)}


def _line(address: str, entry: Json) -> str:
    words = [address, entry.get("title") or entry["name"], entry.get("mimeType", "")]
    if "updated" in entry:
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(entry["updated"] / 1000))
        words.append(f"changed {at} UTC")
    line = " · ".join(dict.fromkeys(filter(None, words)))
    return f"{line}: {entry['description']}" if "description" in entry else line
