"""The MCP servers of the configuration, as tools of this one.

In the walk: the toolbox loads their tools at start and sends calls of kind `mcp` here. Servers come
from `server.mcpServers` and nowhere else: a session must not be able to start a process. One
process serves all sessions, is started again when it has ended, and is shared by entries that say
the same. The rule of the file: a server that is broken, slow or lying costs its own tools and no
more; what is wrong is told to the owner, in `problems`.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from .. import log
from ..jsontext import canonical
from ..wire.client import Client
from .mcp_http import HttpLink
from .mcp_message import LinkError, Message, RpcError, header_params, header_places
from .mcp_peer import Link, Peer
from .mcp_result import answered, outcome_of, question_of, tool_of
from .mcp_stdio import Launch, StdioLink
from .runner import Outcome, limit_error
from .tool import BaseTool, ToolError

Json = dict[str, Any]

START_S = 30.0  # from nothing to a list of tools; the first start of an npx package takes long
TIMEOUT_S = 60.0
PROBE_S = 5.0
MAX_ROUNDS = 5  # how often a server may say "again" without a question
MAX_PROGRESS = 2_000  # characters of one line
KINDS = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "streamable_http": "http",
}
KEYS = frozenset(
    "command args env cwd type transport url headers disabled allowedTools disabledTools trust era"
    " timeout probe_timeout start_timeout description".split()
)

logger = log.get("mcp")


@dataclass(frozen=True)
class Question:
    """A call that goes on when a person has answered; as mcp_result.question_of has it."""

    input: Json


class Servers:
    """`configured` is server.mcpServers. Make it, `load` its tools, `call` them, `close` it."""

    def __init__(self, configured: Mapping[str, Json], client: Client) -> None:
        self._configured, self._client = configured, client
        self._peers: dict[str, Peer] = {}  # by what their entries say
        self._by_name: dict[str, Peer] = {}
        self._headers: dict[str, dict[tuple[str, ...], str]] = {}  # tool name → places
        self.problems: list[str] = []

    async def load(self) -> list[BaseTool]:
        """Every tool of every server that answers, in the order of the configuration."""
        found = await asyncio.gather(
            *(self._load(name, entry) for name, entry in self._configured.items())
        )
        for problem in self.problems:
            logger.warning("%s", problem)
        return [tool for tools in found for tool in tools]

    async def call(
        self, tool: BaseTool, args: Json, question: Json | None, limits: Mapping[str, float]
    ) -> AsyncGenerator[str | Outcome | Question, None]:
        """Progress as it comes, then an Outcome or a Question. Closing it cancels the call.

        `question` is the one that a person has answered since the call was sent last.
        """
        started = time.monotonic()
        heard: asyncio.Queue[str] = asyncio.Queue()
        budget = limits["output_kb"] * 1024

        def hear(params: Message) -> None:
            nonlocal budget
            line = progress_line(params)
            budget -= len(line)
            if budget > 0:
                heard.put_nowait(line)

        work = asyncio.create_task(self._settled(tool, args, question, hear))
        listening = asyncio.create_task(heard.get())
        try:
            while not work.done():
                left = started + limits["wall_s"] - time.monotonic()
                done, _ = await asyncio.wait(
                    (work, listening), timeout=max(0, left), return_when=asyncio.FIRST_COMPLETED
                )
                if not done:
                    spent = round(time.monotonic() - started, 1)
                    breach = {"limit": "wall_s", "allowed": limits["wall_s"], "observed": spent}
                    yield Outcome(*limit_error(breach), usage=_spent(started))
                    return
                if listening in done:
                    yield listening.result()
                    listening = asyncio.create_task(heard.get())
            while not heard.empty():
                yield heard.get_nowait()
            found = work.result()
            yield found if isinstance(found, Question) else _timed(found, started)
        finally:
            for task in (work, listening):
                task.cancel()
            await asyncio.gather(work, listening, return_exceptions=True)

    async def close(self) -> None:
        """End every process."""
        await asyncio.gather(*(peer.close() for peer in self._peers.values()))

    # -- starting ---------------------------------------------------------------------------------

    async def _load(self, name: str, entry: Json) -> list[BaseTool]:
        if entry.get("disabled") is True:
            return []
        try:
            check_entry(entry)
            peer = self._peers.setdefault(_identity(entry), self._peer(name, entry))
            self._by_name[name] = peer
            async with asyncio.timeout(_seconds(entry, "start_timeout", START_S)):
                listed = await peer.tools()
        except (ToolError, LinkError, RpcError) as error:
            self.problems.append(f"mcpServers.{name}: {error}")
        except TimeoutError:
            self.problems.append(f"mcpServers.{name}: it did not list its tools in time")
        else:
            return list(self._usable(name, entry, listed))
        if (broken := self._by_name.get(name)) is not None:
            await broken.close()
        return []

    def _peer(self, name: str, entry: Json) -> Peer:
        link: Link
        if "command" in entry:
            command, args = entry["command"], tuple(entry.get("args", ()))
            launch = Launch(command, args, entry.get("env", {}), entry.get("cwd"))
            link = StdioLink(name, launch)
        else:
            link = HttpLink(self._client, entry["url"], entry.get("headers", {}))
        return Peer(link, entry.get("era", ""), _seconds(entry, "probe_timeout", PROBE_S))

    def _usable(self, server: str, entry: Json, listed: list[Message]) -> Iterator[BaseTool]:
        """The tools that may and can be used, by name; what is wrong with others is a problem."""
        timeout_s = _seconds(entry, "timeout", TIMEOUT_S)
        tools: list[BaseTool] = []
        for about in listed:
            if not allowed(str(about.get("name")), entry):
                continue
            try:
                tool = tool_of(server, about, timeout_s, trusted=entry.get("trust") is True)
                if "url" in entry:
                    self._headers[tool.name] = header_places(tool.parameters)
            except (ToolError, ValueError) as error:
                self.problems.append(f"mcpServers.{server}: {error}")
            else:
                tools.append(tool)
        yield from sorted(tools, key=lambda tool: tool.name)

    # -- one call ---------------------------------------------------------------------------------

    async def _settled(
        self, tool: BaseTool, args: Json, question: Json | None, hear: Any
    ) -> Outcome | Question:
        """The call from its first request to its end, whatever that is."""
        _, server, name = tool.where
        peer, headers = self._by_name[server], header_params(self._headers.get(tool.name, {}), args)
        params: Json = {"name": name, "arguments": args}
        more = answered(question) if question else {}
        try:
            for _ in range(MAX_ROUNDS):
                result = await peer.call({**params, **more}, hear, headers)
                kind = result.get("resultType", "complete")
                if kind == "complete":
                    return outcome_of(result)
                if kind != "input_required":
                    return _failed(f"the MCP server {server} sent a result of an unknown kind")
                asked = question_of(result)
                if asked["keys"]:
                    return Question(asked)
                more = answered(asked)
            return _failed(f"the MCP server {server} asked for the same call {MAX_ROUNDS} times")
        except RpcError as error:
            if question and question.get("state") is not None:
                return _failed(
                    f"the MCP server {server} did not take the answer: {error}. It may have"
                    " forgotten its question (restarted, or too long ago); call the tool again"
                )
            return _failed(f"the MCP server {server} refused the call: {error}")
        except (LinkError, ToolError) as error:
            return _failed(f"the MCP server {server}: {error}")


def allowed(name: str, entry: Json) -> bool:
    """Whether the configuration lets this tool in: patterns as in a shell, denial wins."""
    wanted, unwanted = entry.get("allowedTools"), entry.get("disabledTools", ())
    if any(fnmatchcase(name, pattern) for pattern in unwanted):
        return False
    return wanted is None or any(fnmatchcase(name, pattern) for pattern in wanted)


def check_entry(entry: Json) -> None:
    """Raises ToolError for an entry that says nothing usable."""
    kind = entry.get("type", entry.get("transport"))
    if unknown := sorted(entry.keys() - KEYS):
        raise ToolError(f"unknown key {unknown[0]}; known are {', '.join(sorted(KEYS))}")
    if ("command" in entry) == ("url" in entry):
        raise ToolError("wanted either a `command` (a process) or a `url` (HTTP)")
    if kind is not None and KINDS.get(kind) != ("stdio" if "command" in entry else "http"):
        raise ToolError(f"the type {str(kind)[:40]!r} does not fit; known are {', '.join(KINDS)}")
    for key in ("command", "url", "cwd"):
        if not isinstance(entry.get(key, ""), str):
            raise ToolError(f"{key} is no text")
    for key in ("args", "allowedTools", "disabledTools"):
        value = entry.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ToolError(f"{key} is no list of texts")
    for key in ("env", "headers"):
        value = entry.get(key, {})
        if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
            raise ToolError(f"{key} is no object whose values are texts")
    for key in ("trust", "disabled"):
        if not isinstance(entry.get(key, False), bool):
            raise ToolError(f"{key} is neither true nor false")
    if entry.get("era", "modern") not in ("modern", "legacy"):
        raise ToolError("era is neither modern nor legacy")
    for key in ("timeout", "probe_timeout", "start_timeout"):
        _seconds(entry, key, 1.0)


def progress_line(params: Message) -> str:
    """A progress notification for people: `2/5 reading`."""
    done, total, text = params.get("progress"), params.get("total"), params.get("message")
    count = f"{_plain(done)}/{_plain(total)}" if _is_number(total) else f"{_plain(done)}"
    words = [count if _is_number(done) else "", text if isinstance(text, str) else ""]
    return " ".join(filter(None, words))[:MAX_PROGRESS] + "\n"


def _plain(number: Any) -> Any:
    """1.0 as 1, which is what one of the official packages makes of every count."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _seconds(entry: Json, key: str, default: float) -> float:
    value = entry.get(key, default)
    if not _is_number(value) or not 0 < value < math.inf:
        raise ToolError(f"{key} is not a number of seconds")
    return float(value)


def _identity(entry: Json) -> str:
    """What makes two entries one process: everything about how it is reached."""
    keys = ("command", "args", "env", "cwd", "url", "headers", "era")
    return canonical({key: entry[key] for key in keys if key in entry})


def _failed(text: str) -> Outcome:
    return Outcome("error", error={"type": "error", "message": text})


def _spent(started: float) -> Json:
    return {"wall_ms": round((time.monotonic() - started) * 1000)}


def _timed(found: Outcome, started: float) -> Outcome:
    return Outcome(found.status, found.result, found.error, text=found.text, usage=_spent(started))
