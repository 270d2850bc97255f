"""The MCP servers of the configuration, as tools of this server.

The catalog takes their tools from here, at start and whenever a list has changed. Servers come from
`server.mcpServers` only: a session must not be able to start a process. One process serves all
sessions, is restarted after it ended, and is shared by equal entries. A server that is broken, slow
or lying affects its own tools only, and is reported in `problems`. Credentials that a server echoes
are removed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ...json_types import Json
from ...lib.http.client import Client
from ...lib.json_schema.validate import check_schema
from ...lib.runtime.event_loop import cancel_all
from ...lib.runtime.secret_filter import remove_texts
from ...lib.runtime.start_folder import NEUTRAL
from ...lib.sandbox.process import limit_error
from ...lib.strict_json import browser_safe
from ...settings.secret_values import HOLDERS, secrets_in_address, secrets_in_arguments
from ...telemetry import log, redact
from ...tools.base import Emit, Invocation, Tool, ToolQuestion, failure, hints_of
from ...tools.decorators import ToolError
from ...tools.result import shorten_text
from ...tools.runner import Outcome
from .entry import folder_name, identity, is_allowed, normalize_entry, oauth_of
from .held_calls import HOLD_S, HeldCalls, OpenCall, ServerQuestion
from .held_files import FOLDER as HELD
from .held_files import HeldFiles
from .inbox import METHOD_NOT_FOUND, Hear, progress_line
from .links import FOLDERS, HttpLink, Launch, StdioLink
from .oauth.access import Access
from .oauth.accounts import Accounts
from .oauth.questions import earlier_question, is_refused, sign_in_problem, sign_in_question
from .oauth.store import FOLDER, TokenStore
from .peer import (
    MAX_LISTED,
    Link,
    LinkError,
    Peer,
    RpcError,
    SignInNeeded,
    header_params,
    header_places,
)
from .results import outcome_of

MAX_STATE = 64 * 1024
MAX_QUESTIONS = 8

# -- questions ------------------------------------------------------------------------------------


def question_of(result: Json) -> Json:
    """Return an `input_required` result as {message, response_schema, keys, state?}.

    The call log keeps it in this form. Several questions become one, whose answer has a member for
    each. Without `keys` the server only asks for the request to be repeated. Raises ToolError for a
    question that no person can answer.
    """
    requests = result.get("inputRequests") or {}
    if not isinstance(requests, dict) or len(requests) > MAX_QUESTIONS:
        raise ToolError("it asks more than a person can answer")
    asked = {str(key): _parse_question(request) for key, request in requests.items()}
    keys = list(asked)
    question: Json = {"keys": keys}
    if len(keys) == 1:
        question["message"], question["response_schema"] = asked[keys[0]]
    else:
        question["message"] = "\n".join(message for message, _ in asked.values())
        parts = {key: {"description": text, **schema} for key, (text, schema) in asked.items()}
        question["response_schema"] = {"type": "object", "properties": parts, "required": keys}
    if problems := check_schema(question["response_schema"]):
        raise ToolError(f"it asks for an answer of a shape that cannot be used: {problems[0]}")
    if (state := result.get("requestState")) is not None:
        if not isinstance(state, str) or len(state) > MAX_STATE:
            raise ToolError(f"its requestState is not a text of at most {MAX_STATE} characters")
        question["state"] = state
    return question


def _parse_question(request: Any) -> tuple[str, Json]:
    method = request.get("method") if isinstance(request, dict) else None
    params = request.get("params") if isinstance(request, dict) else None
    if method != "elicitation/create" or not isinstance(params, dict):
        raise ToolError(f"it asks for {str(method)[:60]!r}, which is not offered here")
    if params.get("mode", "form") != "form":
        raise ToolError("it asks to open a page, which is not offered here")
    schema = params.get("requestedSchema")
    usable: Json = schema if isinstance(schema, dict) else {"type": "object"}
    return shorten_text(str(params.get("message", "")), 4_000), usable


def answer_params(question: Json) -> Json:
    """Return the params with which a call is repeated, from an answered question of the call log.

    `refused` replaces `answer` if the person declined ("decline") or went away ("cancel"). The
    question comes from a session, so any of its values may be malformed.
    """
    params: Json = {}
    keys, answer, refused = question.get("keys"), question.get("answer"), question.get("refused")
    if isinstance(keys, list) and keys and refused in ("decline", "cancel"):
        params["inputResponses"] = {str(key): {"action": refused} for key in keys}
    elif isinstance(keys, list) and keys:
        single = len(keys) == 1
        parts = answer if isinstance(answer, dict) else {}
        params["inputResponses"] = {
            str(key): {"action": "accept", "content": parts if single else parts.get(str(key), {})}
            for key in keys
        }
    if isinstance(state := question.get("state"), str):
        params["requestState"] = state
    return params


def answer_result(question: Json) -> Json:
    """Return the answer to a server that waits for it: {action, content?}.

    Members that were left out get their defaults. The question comes from a session, so any of its
    values may be malformed.
    """
    if (refused := question.get("refused")) in ("decline", "cancel"):
        return {"action": refused}
    answer, schema = question.get("answer"), question.get("response_schema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    known = properties if isinstance(properties, dict) else {}
    usual = {
        key: part["default"]
        for key, part in known.items()
        if isinstance(part, dict) and "default" in part
    }
    return {
        "action": "accept",
        "content": {**usual, **(answer if isinstance(answer, dict) else {})},
    }


# -- tools ----------------------------------------------------------------------------------------

MAX_NAME = 64  # accepted by most providers
MAX_DESCRIPTION = 8_000
MAX_SCHEMA = 64 * 1024  # characters of one tool's schema, sent with every model call

_MARKED = re.compile(r"_[0-9a-f]{8}\Z")  # the hash that `legal_name` appends


@dataclass(frozen=True, kw_only=True)
class McpTool(Tool):
    """A tool of an MCP server. `server`: its name; `listed_name`: the tool's name there."""

    servers: McpServers = field(compare=False)
    server: str
    listed_name: str

    remote = True
    may_ask = True

    async def run(self, call: Invocation, emit: Emit) -> Outcome | ToolQuestion:
        """Send the call, or the answer to the question that it asked."""
        question = call.ledger.get("input")
        return await self.servers.call(self, call.args, question, call.limits, emit, call.owner)


def legal_name(server: str, tool: str) -> str:
    """Return `mcp__<server>__<tool>` as a name that is legal for every provider.

    If that changes or is ambiguous, a hash of the real names is appended, so that a name never
    depends on which other tools exist.
    """
    full = f"mcp__{server}__{tool}"
    legal = re.sub(r"[^a-zA-Z0-9_-]", "_", full)
    unclear = "__" in server or server.endswith("_") or _MARKED.search(full)
    if legal == full and len(legal) <= MAX_NAME and not unclear:
        return legal
    mark = hashlib.sha256(f"{server}\n{tool}".encode("utf-8", "replace")).hexdigest()[:8]
    return f"{legal[: MAX_NAME - 9]}_{mark}"


def tool_of(
    servers: McpServers, server: str, listed: Json, timeout_s: float, *, trusted: bool
) -> McpTool:
    """Return the record of a listed tool. Raises ToolError for a tool that cannot be called.

    `trusted`: believe the server's annotations (`readOnlyHint` and others).
    """
    name, schema = listed.get("name"), listed.get("inputSchema")
    if not isinstance(name, str) or not name:
        raise ToolError("a tool has no name")
    execution = listed.get("execution")
    if isinstance(execution, dict) and execution.get("taskSupport") == "required":
        raise ToolError(f"{name[:100]}: it runs as a task only, which is not supported")
    # Some servers send schemas without a type, or with `$schema` only (issues: servers 3051,
    # gitlab-mcp 286).
    if not isinstance(schema, dict) or schema.get("type") not in ("object", None):
        raise ToolError(f"{name[:100]}: its inputSchema does not describe an object")
    schema = {key: value for key, value in schema.items() if value is not None}  # Go sends nulls
    schema = {"type": "object", **schema}
    if len(json.dumps(schema)) > MAX_SCHEMA:
        raise ToolError(f"{name[:100]}: its inputSchema has more than {MAX_SCHEMA} characters")
    said = listed.get("annotations")
    notes: Json = said if trusted and isinstance(said, dict) else {}
    hints = {
        "read_only": notes.get("readOnlyHint") is True,
        "destructive": notes.get("destructiveHint") is not False,
        "idempotent": notes.get("idempotentHint") is True,
    }
    if hints["read_only"]:
        hints["destructive"] = False
    about = listed.get("description") or listed.get("title") or ""
    return McpTool(
        legal_name(server, name),
        shorten_text(str(about), MAX_DESCRIPTION),
        schema,
        origin=f"mcp {server}",
        hints=hints_of(hints),
        required_resources={"wall_s": timeout_s},
        servers=servers,
        server=server,
        listed_name=name,
    )


# -- servers --------------------------------------------------------------------------------------

Found = Callable[[str, list[McpTool]], None]  # a server's name and all of its tools
MoreTools = Callable[["McpServer"], Awaitable[list[McpTool]]]

CUT = (
    "The call was cut while it waited, and may have done some of its work; it is not repeated by"
    " itself. Look at what it did before you call the tool again"
)

START_S = 30.0  # time limit for start and list of tools
FETCH_S = 300.0  # for a process, as npx and uvx may download it first (obot issue 6185)
TIMEOUT_S = 60.0
PROBE_S = 5.0
MAX_ROUNDS = 5  # times that a server may request a repeated call without a question
MAX_PROBLEMS = 20  # per server
MAX_SCHEMAS = 2 * 1024 * 1024  # characters per server; 64 kB take 15 ms to compile

logger = log.get("mcp")


async def no_tools(_server: McpServer) -> list[McpTool]:
    """Return no tools: nothing but tools is used of the servers."""
    return []


@dataclass
class McpServer:
    """One entry of the configuration with the state of its server."""

    name: str
    entry: Json
    peer: Peer
    headers: dict[str, dict[tuple[str, ...], str]] = field(default_factory=dict)  # by tool name
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # problems of what it offers besides tools
    listing: asyncio.Task[None] | None = None

    access: Access | None = None
    listed: dict[str, McpTool] | None = None  # by name; None before the first list

    def credentials(self) -> list[str]:
        """Return the credentials in the server's entry and its tokens, longest first.

        They are searched in headers, environment, URL and arguments.
        """
        given = (pair for key in HOLDERS for pair in self.entry.get(key, {}).items())
        found = {*redact.credentials(given), *secrets_in_address(self.entry.get("url", ""))}
        found |= secrets_in_arguments(self.entry.get("args", []))
        found.update(self.access.secrets() if self.access else ())
        return sorted(found, key=len, reverse=True)

    def clean(self, value: Any) -> Any:
        """Return what the server sent, without its credentials and half surrogates."""
        return browser_safe(remove_texts(value, self.credentials()))

    def problem(self, text: str) -> None:
        """Report a problem, with the server's credentials removed from the text."""
        if len(self.problems) < MAX_PROBLEMS:
            text = self.clean(text)
            self.problems.append(f"mcpServers.{self.name}: {text}")
            logger.warning("%s", self.problems[-1])


class McpServers:
    """All configured MCP servers: create, `load` the tools, `call` them, `close`.

    `configured`: server.mcpServers. `most_s`: longest time of a call. `patience_s`: how long `load`
    waits. `hold_s`: how long a call waits for the answer to its question. `more_tools`: returns
    tools for a server that it does not list. `home`: the home folder, which keeps
    tokens; without it nobody can sign in at a server.
    """

    def __init__(
        self,
        configured: Mapping[str, Json],
        client: Client,
        most_s: float = math.inf,
        patience_s: float = START_S,
        hold_s: float = HOLD_S,
        home: Path | None = None,
    ) -> None:
        self._client, self._most_s, self._patience_s = client, most_s, patience_s
        self._home, self._store = home, TokenStore(home / FOLDER) if home else None
        self.accounts = Accounts(self.refresh)
        self._peers: dict[str, Peer] = {}  # by entry.identity
        self._servers: dict[str, McpServer] = {}
        self._unusable: list[str] = []
        self._held = HeldCalls(hold_s, HeldFiles(home / HELD) if home else None)
        self.more_tools: MoreTools = no_tools
        self._found: Found = lambda name, tools: None
        for name, written in configured.items():
            self._add(name, written)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of usable, enabled servers, in the order of the configuration."""
        return tuple(self._servers)

    def all(self) -> tuple[McpServer, ...]:
        """Return the usable, enabled servers."""
        return tuple(self._servers.values())

    def timeout_of(self, server: McpServer) -> float:
        """Return the longest silence of the server in one call, in seconds."""
        timeout_s: float = server.entry.get("timeout", TIMEOUT_S)
        return min(timeout_s, self._most_s)

    @property
    def problems(self) -> list[str]:
        """Return all problems, one line each."""
        return [*self._unusable, *(line for s in self._servers.values() for line in s.problems)]

    async def load(self, found: Found) -> None:
        """List the tools of all servers and pass them to `found`.

        `found` is called again when the tools of a server change or could not be listed before.
        Returns after `patience_s` even if some servers are still starting.
        """
        self._found = found
        self.refresh()
        listings = {server.listing: server for server in self._servers.values() if server.listing}
        if not listings:
            return
        done, others = await asyncio.wait(listings, timeout=self._patience_s)
        for listing in done:
            listing.result()
        for listing in others:
            listings[listing].problem("it takes long to start; its tools come when it is ready")

    def refresh(self) -> None:
        """Begin to list the tools of servers that are due, without waiting."""
        for server in self._servers.values():
            is_due = server.peer.is_due() or server.peer.has_changed("resources")
            is_due = is_due or bool(server.access and server.access.has_news())
            if is_due and (server.listing is None or server.listing.done()):
                server.listing = asyncio.create_task(self._list(server))

    def stand_in(self, name: str) -> McpTool | None:
        """Return a tool for a call that was made elsewhere, of a server not signed in at here.

        Its tools cannot be listed before a sign-in, which the tool asks for. None for other names.
        """
        for server in self._servers.values():
            prefix = re.sub(r"[^a-zA-Z0-9_-]", "_", f"mcp__{server.name}__")
            if server.access and server.listed is None and name.startswith(prefix):
                return McpTool(
                    *(name, "", {"type": "object"}),
                    origin=f"mcp {server.name}",
                    required_resources={"wall_s": min(TIMEOUT_S, self._most_s)},
                    servers=self,
                    server=server.name,
                    listed_name="",
                )
        return None

    async def _listed_tool(self, tool: McpTool) -> McpTool:
        """Return the tool that a stand-in is for. Raises SignInNeeded, ToolError."""
        server = self._servers[tool.server]
        if server.listed is None:
            if server.listing is None or server.listing.done():
                server.listing = asyncio.create_task(self._list(server))
            await asyncio.shield(server.listing)
        if found := (server.listed or {}).get(tool.name):
            return found
        if server.access and server.access.wants_sign_in:
            raise SignInNeeded("it wants a sign-in")
        raise ToolError(server.problems[-1] if server.problems else "it has no such tool")

    async def call(
        self,
        tool: McpTool,
        args: Json,
        question: Json | None,
        limits: Mapping[str, float],
        emit: Emit,
        owner: str = "",
    ) -> Outcome | ToolQuestion:
        """Pass progress lines to `emit`, and return an Outcome or a ToolQuestion.

        `question`: the one that a person has answered since the last request. `owner`: whose call
        it is. Cancelling it cancels the call.
        """
        started, wall_s = time.monotonic(), limits["wall_s"]
        server = self._servers[tool.server]
        credentials = server.credentials  # tokens may change in the call
        budget = limits["output_kb"] * 1024
        silence = Silence(self.timeout_of(server), wall_s)

        def hear(params: Json) -> None:
            """Emit a progress line, within the call's budget for output."""
            nonlocal budget
            silence.end()
            line = remove_texts(progress_line(params), credentials())
            budget -= len(line)
            if budget > 0:
                emit(line)

        try:
            # A process that has to be started may be downloaded first.
            first_s = 0.0 if server.peer.is_open else _start_seconds(server.entry)
            async with silence.limit(first_s):
                found = await self._call_until_done(tool, args, question, hear, owner)
        except TimeoutError:
            if not silence.is_over:
                raise
            spent = round(time.monotonic() - started, 1)
            if spent < wall_s:
                return replace(_silent(tool.server, silence.seconds), usage=_usage(started))
            breach = {"limit": "wall_s", "allowed": wall_s, "observed": spent}
            return Outcome(*limit_error(breach), usage=_usage(started))
        if isinstance(found, ToolQuestion):
            return _clean_question(found, credentials(), tool.server)
        return _clean_outcome(found, credentials(), started)

    @property
    def holds_calls(self) -> bool:
        """Return whether a call waits for a person's answer."""
        return self._held.pending

    async def close(self) -> None:
        """End every process and connection."""
        self._held.close()
        await cancel_all([each.listing for each in self._servers.values() if each.listing])
        await asyncio.gather(*(peer.close() for peer in self._peers.values()))

    # -- their tools ------------------------------------------------------------------------------

    def _add(self, name: str, written: Json) -> None:
        try:
            entry = normalize_entry(written)
        except ToolError as error:
            self._unusable.append(f"mcpServers.{name}: {error}")
            logger.warning("%s", self._unusable[-1])
            return
        if not entry.get("disabled"):
            key = identity(entry)
            peer = self._peers.get(key) or self._peer(name, entry)
            self._peers[key] = peer
            access = peer.link.access if isinstance(peer.link, HttpLink) else None
            self._servers[name] = McpServer(name, entry, peer, access=access)
            if access is not None:
                self.accounts.add(name, access)

    def _peer(self, name: str, entry: Json) -> Peer:
        link: Link
        if "command" in entry:
            command, args = entry["command"], tuple(entry.get("args", ()))
            launch = Launch(command, args, entry.get("env", {}), *self._folder(name, entry))
            link = StdioLink(name, launch)
        else:
            link = HttpLink(
                self._client, entry["url"], entry.get("headers", {}), self._access(entry)
            )
        return Peer(link, entry.get("era", ""), entry.get("probe_timeout", PROBE_S))

    def _folder(self, name: str, entry: Json) -> tuple[str, bool]:
        """Return (the folder that a server is started in, whether it is one of the home).

        A relative `cwd`, such as the `.` of many examples, begins in that of the home.
        """
        home = Path(NEUTRAL) if self._home is None else self._home / FOLDERS / folder_name(name)
        folder = home / entry.get("cwd", "")
        return str(folder), folder == home and self._home is not None

    def _access(self, entry: Json) -> Access | None:
        settings = oauth_of(entry)
        if settings is None or self._store is None:
            return None
        return Access(entry["url"], settings, self._client, self._store)

    async def _list(self, server: McpServer) -> None:
        server.problems.clear()
        try:
            async with asyncio.timeout(_start_seconds(server.entry)):
                listed = server.clean(await _listed_tools(server.peer))
                more = await self.more_tools(server)
        except SignInNeeded as error:
            server.problem(sign_in_problem(str(error), server.name))
        except (LinkError, RpcError) as error:
            server.problem(str(error))
        except TimeoutError:
            told = f"; the last it said: {words}" if (words := server.peer.link.last_words) else ""
            server.problem(f"it did not list its tools in time{told}")
        else:
            server.problems.clear()
            for line in filter(None, (server.peer.cut.get("tools"), *server.remarks)):
                server.problem(line)
            usable = self._usable(server, listed)
            taken = {tool.name for tool in usable}
            usable += [tool for tool in more if tool.name not in taken]  # its own go first
            server.listed = {tool.name: tool for tool in usable}
            self._found(server.name, sorted(usable, key=lambda tool: tool.name))

    def _usable(self, server: McpServer, listed: list[Json]) -> list[McpTool]:
        """Return the allowed and usable tools; problems of others are reported."""
        entry = server.entry
        tools: dict[str, McpTool] = {}
        server.headers, size = {}, 0
        if len(listed) > MAX_LISTED:
            server.problem(f"it lists more than {MAX_LISTED} tools; the first of them are taken")
        for about in listed[:MAX_LISTED]:
            if not is_allowed(str(about.get("name")), entry):
                continue
            try:
                trusted = entry.get("trust") is True
                tool = tool_of(self, server.name, about, self.timeout_of(server), trusted=trusted)
                places = header_places(tool.parameters) if "url" in entry else {}
                if (size := size + len(json.dumps(tool.parameters))) > MAX_SCHEMAS:
                    server.problem("its schemas are too large together; the first are taken")
                    break
                if tool.name in tools:
                    raise ToolError(f"{tool.listed_name[:100]}: it lists two tools of this name")
            except (ToolError, ValueError) as error:
                server.problem(str(error))
            else:
                tools[tool.name] = tool
                server.headers[tool.name] = places
        return list(tools.values())

    # -- one call ---------------------------------------------------------------------------------

    async def _call_until_done(
        self, tool: McpTool, args: Json, question: Json | None, hear: Hear, owner: str
    ) -> Outcome | ToolQuestion:
        """Send the call, or go on with it, until there is an Outcome or a ToolQuestion."""
        name = tool.server
        if is_refused(question):
            return failure(f"the MCP server {name} wants a sign-in, and nobody signed in")
        question = earlier_question(question)
        held = question is not None and "held" in question
        try:
            if not tool.listed_name:
                tool = await self._listed_tool(tool)
            if question is not None and held:
                return await self._go_on(tool, question, hear, owner)
            return await self._send(tool, args, question, hear, owner)
        except SignInNeeded as error:
            return ToolQuestion(sign_in_question(name, str(error), question))
        except RpcError as error:
            if question and question.get("state") is not None:
                return failure(
                    f"the MCP server {name} did not take the answer: {error}. It may have"
                    " forgotten its question (restarted, or too long ago); call the tool again"
                )
            return failure(f"the MCP server {name} refused the call: {error}")
        except (LinkError, ToolError) as error:
            cut = f". {CUT}" if held else ""
            return failure(f"the MCP server {name}: {error}{cut}")

    async def _send(
        self, tool: McpTool, args: Json, question: Json | None, hear: Hear, owner: str
    ) -> Outcome | ToolQuestion:
        """Send the call, and repeat it as the server asks.

        Raises RpcError, LinkError, ToolError.
        """
        name = tool.server
        server = self._servers[name]
        headers = header_params(server.headers.get(tool.name, {}), args)
        params: Json = {"name": tool.listed_name, "arguments": args}
        more = answer_params(question) if question else {}
        for _ in range(MAX_ROUNDS):
            begin = partial(server.peer.ask, "tools/call", {**params, **more}, headers=headers)
            result = await self._result_of(OpenCall(begin, hear), tool, owner)
            if isinstance(result, ToolQuestion):
                return result
            if result.get("resultType", "complete") != "input_required":
                return self._outcome(name, result)
            asked = question_of(result)
            if asked["keys"]:
                return ToolQuestion(asked)
            more = answer_params(asked)
        return failure(f"the MCP server {name} asked for the same call {MAX_ROUNDS} times")

    async def _go_on(
        self, tool: McpTool, question: Json, hear: Hear, owner: str
    ) -> Outcome | ToolQuestion:
        """Answer the question of a held call, and wait for it. Raises RpcError, LinkError."""
        whose, token, answer = (owner, tool.name), question["held"], answer_result(question)
        if found := self._held.release(whose, token):
            call, asked = found
            call.hear = hear
            asked.reply(answer)
            result = await self._result_of(call, tool, owner)
            if isinstance(result, ToolQuestion):
                return result
            return self._outcome(tool.server, result)
        told = await self._held.forward(whose, token, answer)
        if told is None:
            return failure(f"the MCP server {tool.server} waits for this answer no longer. {CUT}")
        if "question" in told:
            return ToolQuestion(told["question"])
        return Outcome(**{**told, "media": tuple(told["media"])})

    async def _answer_elsewhere(
        self, tool: McpTool, owner: str, call: OpenCall, asked: ServerQuestion, answer: Json
    ) -> Json:
        """Return what a held call ends with after an answer that another process of this host got.

        {question}, or the members of an Outcome.
        """
        silence = Silence(self.timeout_of(self._servers[tool.server]), self._most_s)
        call.hear = lambda params: silence.end()
        asked.reply(answer)
        try:
            async with silence.limit():
                result = await self._result_of(call, tool, owner)
        except (LinkError, RpcError, ToolError) as error:
            found = failure(f"the MCP server {tool.server}: {error}. {CUT}")
        except TimeoutError:
            found = _silent(tool.server, silence.seconds)
        else:
            if isinstance(result, ToolQuestion):
                return {"question": result.input}
            found = self._outcome(tool.server, result)
        names = ("status", "result", "error", "media", "text")
        told: Json = browser_safe({name: getattr(found, name) for name in names})
        return told

    async def _result_of(self, call: OpenCall, tool: McpTool, owner: str) -> Json | ToolQuestion:
        """Return the result of a call, or a question for whose answer it is held from now on.

        Raises RpcError, LinkError.
        """
        while isinstance(found := await call.next(), ServerQuestion):
            try:
                question = question_of({"inputRequests": {"answer": found.request}})
            except ToolError as error:
                found.refuse(str(error))
                continue
            go_on = partial(self._answer_elsewhere, tool, owner, call, found)
            if token := self._held.hold((owner, tool.name), call, found, go_on):
                return ToolQuestion({**question, "held": token})
            found.reply({"action": "cancel"})
        return found

    def _outcome(self, name: str, result: Json) -> Outcome:
        if result.get("resultType", "complete") == "complete":
            return outcome_of(result)
        return failure(f"the MCP server {name} sent a result of an unknown kind")


async def _listed_tools(peer: Peer) -> list[Json]:
    """Return the list of tools; empty for a server that offers other things only.

    Raises RpcError, LinkError.
    """
    try:
        return await peer.entries("tools")
    except RpcError as error:
        if error.code != METHOD_NOT_FOUND or "tools" in await peer.capabilities():
            raise
        if not await peer.capabilities():
            raise
        return []


class Silence:
    """Ends a call after `seconds` without progress, and after `wall_s` in any case."""

    def __init__(self, seconds: float, wall_s: float) -> None:
        self.seconds = min(seconds, wall_s)
        self._wall_s, self._end_at = wall_s, math.inf
        self._timeout: asyncio.Timeout | None = None

    def limit(self, more_s: float = 0.0) -> asyncio.Timeout:
        """Return the timeout to run the call in. `more_s`: added to the first silence."""
        now = asyncio.get_running_loop().time()
        self._end_at = now + self._wall_s
        self._timeout = asyncio.timeout_at(min(now + self.seconds + more_s, self._end_at))
        return self._timeout

    def end(self) -> None:
        """Count the silence anew."""
        if self._timeout is not None and not self._timeout.expired():
            now = asyncio.get_running_loop().time()
            self._timeout.reschedule(min(now + self.seconds, self._end_at))

    @property
    def is_over(self) -> bool:
        """Return whether the call was ended."""
        return self._timeout is not None and self._timeout.expired()


def _start_seconds(entry: Json) -> float:
    seconds: float = entry.get("start_timeout", FETCH_S if "command" in entry else START_S)
    return seconds


def _silent(name: str, seconds: float) -> Outcome:
    """Return the outcome of a call that was ended because nothing came of it."""
    return failure(
        f"the MCP server {name} was silent for {seconds:g} s, the `timeout` of its entry. It may"
        " have done some of the work",
        "timeout",
    )


def _usage(started: float) -> Json:
    return {"wall_ms": round((time.monotonic() - started) * 1000)}


def _clean_question(found: ToolQuestion, secrets: list[str], server: str) -> ToolQuestion:
    """Return the question with credentials removed from what the person sees, and who asks.

    The server's own state goes back unchanged.
    """
    shown = {key: found.input[key] for key in ("message", "response_schema")}
    return ToolQuestion({**found.input, **remove_texts(shown, secrets), "server": server})


def _clean_outcome(found: Outcome, secrets: list[str], started: float) -> Outcome:
    said = (found.result, found.error, found.text)
    result, error, text = (remove_texts(each, secrets) for each in said)
    media = [{**each, "name": remove_texts(each["name"], secrets)} for each in found.media]
    usage = _usage(started)
    return Outcome(found.status, result, error, media=tuple(media), text=text, usage=usage)
