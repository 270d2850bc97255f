"""All tools of this server: what a model is offered, what the policy says of a call, and its
execution.

In the walk: `session/decide` asks for a `verdict`, the loop `execute`s. Built-in tools are known
when the server starts; the owner's files are described by a child process (calling.py), so that
the server itself runs none of their code. A broken file is reported and left out.
"""

from __future__ import annotations

import difflib
import importlib
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import log
from ..config import Config
from ..jsontext import browser_safe
from ..schema.convert import error_text, parse
from ..schema.generate import schema_of
from ..schema.inline import inline
from ..schema.repair import repair
from ..schema.validate import SchemaError, Validator
from ..session import events
from ..session.events import Event
from ..wire.client import Client
from . import builtin, mcp
from .envelope import envelope, text_for_model
from .policy import Verdict, decide, fingerprint, narrowed
from .runner import MISSING, TIER, Job, Outcome, Runner
from .tool import BaseTool, Context, ToolError, hints_of

Session = dict[str, Any]
Call = dict[str, Any]

INLINE = ("calculator", "datetime", "finish")  # bounded and harmless: no child is worth it
DESCRIBE_LIMITS: dict[str, float] = {
    "wall_s": 20,
    "cpu_s": 20,
    "memory_mb": 1024,
    "file_mb": 1,
    "output_kb": 256,
    "processes": 64,
    "open_files": 256,
}

logger = log.get("tools")


@dataclass(frozen=True)
class Entry:
    """A tool and its compiled schema."""

    tool: BaseTool
    validator: Validator


class Toolbox:
    """The tools of one server. `load_owner_tools` adds the owner's, `load_mcp_tools` those of the
    MCP servers that are configured; `close` ends the processes of these."""

    def __init__(self, config: Config, client: Client | None = None) -> None:
        server = config.server
        self._ceilings: dict[str, Any] = server["tools"]
        self._most: dict[str, float] = server["limits"]["tool"]
        self._folder = config.home / "tools"
        self._runner = Runner(config.home)
        self._mcp = mcp.Servers(server.get("mcpServers", {}), client or Client())
        self._tools: dict[str, Entry] = {}
        self.problems: list[str] = []  # what could not be loaded, for the owner
        for function in (*builtin.PYTHON, *builtin.CONTROL):
            self._add(_builtin(function))

    async def load_owner_tools(self) -> None:
        """Describe every `<home>/tools/*.py` in a child and add what is in it."""
        for path in sorted(self._folder.glob("*.py")) if self._folder.is_dir() else ():
            try:
                for about in await self._describe(path):
                    self._add(_owned(path, about))
            except (ToolError, SchemaError) as error:
                self.problems.append(f"tools/{path.name}: {error}")
                logger.warning("tools/%s was not loaded: %s", path.name, error)

    async def load_mcp_tools(self) -> None:
        """Start every MCP server and add the tools that it lists."""
        for tool in await self._mcp.load():
            try:
                self._add(tool)
            except (ToolError, SchemaError) as error:
                self.problems.append(f"mcpServers.{tool.where[1]}: {tool.where[2]}: {error}")
                logger.warning("the tool %s was not loaded: %s", tool.name, error)
        self.problems += self._mcp.problems

    async def close(self) -> None:
        await self._mcp.close()

    # -- what the model and the client are told ---------------------------------------------------

    def declared(self, session: Session) -> list[dict[str, Any]]:
        """What the model is offered, in a fixed order (a prompt's prefix is cached). Tools that
        are denied are left out."""
        ours = [
            entry.tool.declaration()
            for entry in self._tools.values()
            if self._policy(entry.tool, session) != "deny"
        ]
        return ours + [tool.declaration() for tool in self._page_tools(session).values()]

    def info(self) -> list[dict[str, Any]]:
        """For `/info`: name, description, parameters, hints, policy, origin."""
        return [
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "hints": tool.hints,
                "policy": self._policy(tool, None),
                "origin": tool.origin,
            }
            for tool in (entry.tool for entry in self._tools.values())
        ]

    def sandbox(self) -> dict[str, Any]:
        return {"tier": TIER, "missing": MISSING}

    def _policy(self, tool: BaseTool, session: Session | None) -> str:
        """deny, ask or run for this tool's next call, as far as that is known beforehand."""
        nothing: Session = {"config": {}, "grants": []}
        ceiling = self._ceiling(tool.name)
        return decide(tool, {}, ceiling, session or nothing)[0]

    def _ceiling(self, name: str) -> str:
        return str(self._ceilings.get(name, {}).get("ceiling", "auto"))

    # -- one call ---------------------------------------------------------------------------------

    def verdict(self, session: Session, call: Call) -> Verdict:
        """What the policy says of a call. Reads only; says so in words where it says no."""
        name, raw = call["function"]["name"], call["function"]["arguments"]
        if entry := self._tools.get(name):
            return self._judged(entry, raw, session)
        if page_tool := self._page_tools(session).get(name):
            args, error, _ = fitted(raw, None)
            if error:
                return Verdict("error", error)
            return Verdict("client", "", args, fingerprint(page_tool.name, args))
        return Verdict("error", self._unknown(name, session), missing=True)

    def _judged(self, entry: Entry, raw: Any, session: Session) -> Verdict:
        tool = entry.tool
        args, error, repairs = fitted(raw, entry.validator)
        if error:
            if self._ceiling(tool.name) == "deny":
                return Verdict("deny", f"this server does not allow {tool.name}")
            return Verdict("error", error)
        action, reason = decide(tool, args, self._ceiling(tool.name), session)
        if tool.kind == "question" and action == "run":
            action = "question"
        mark = fingerprint(tool.name, args)
        return Verdict(action, reason, args, mark, tool.repeatable, repairs=repairs)

    async def execute(
        self, session: Session, call: Call, args: dict[str, Any], entry: dict[str, Any]
    ) -> AsyncGenerator[Event, None]:
        """Run a call: live output, then its TOOL_CALL_RESULT; or the ledger entry of a call that
        goes on when a person has answered its question. Closing it kills the call."""
        call_id, tool = call["id"], self._tools[call["function"]["name"]].tool
        first = True
        async with aclosing(self._performed(session, tool, args, entry)) as performed:
            async for item in performed:
                if isinstance(item, mcp.Question):
                    waiting = {**entry, "state": "waiting", "input": browser_safe(item.input)}
                    yield events.state_delta(events.put("calls", call_id, value=waiting))
                    return
                if isinstance(item, Outcome):
                    outcome = item
                elif item:
                    yield events.tool_output(call_id, item, first=first)
                    first = False
        found = envelope(
            outcome, fitted(args, self._tools[tool.name].validator)[2], entry.get("args")
        )
        if tool.keep is not None:
            found.setdefault("keep", tool.keep)
        failed = outcome.status != "ok"
        yield events.tool_result(
            call_id,
            tool.name,
            text_for_model(found, outcome.text),
            time.time_ns() // 1_000_000,
            state="failed" if failed else "done",
            is_error=failed,
            result=found,
        )

    async def _performed(
        self, session: Session, tool: BaseTool, args: dict[str, Any], entry: dict[str, Any]
    ) -> AsyncGenerator[str | Outcome | mcp.Question, None]:
        """The call where its kind runs: here, at its MCP server, or in a child."""
        if tool.kind == "inline":
            yield run_inline(tool, args)
            return
        wanted = session["config"].get("limits", {}).get("tool", {})
        limits = narrowed(wanted, tool.required_resources, self._most)
        source: AsyncGenerator[str | Outcome | mcp.Question, None]
        if tool.kind == "mcp":
            source = self._mcp.call(tool, args, entry.get("input"), limits)
        else:
            job = Job(tool.where, args, session["id"], limits, session.get("ext", {}))
            source = self._runner.run(job)
        async with aclosing(source) as items:
            async for item in items:
                yield item

    # -- the collection ---------------------------------------------------------------------------

    def _add(self, tool: BaseTool) -> None:
        """Raises ToolError for a name that is taken, SchemaError for a schema nobody can use."""
        if tool.name in self._tools:
            raise ToolError(f"there is a tool named {tool.name} already")
        self._tools[tool.name] = Entry(tool, Validator(tool.parameters))

    async def _describe(self, path: Path) -> list[dict[str, Any]]:
        job = Job(("describe", str(path), ""), {}, f"describe {path.name}", DESCRIBE_LIMITS)
        async for item in self._runner.run(job):
            if isinstance(item, Outcome):
                if item.status == "ok":
                    return list(item.result)
                raise ToolError(f"{item.error.get('type')}: {item.error.get('message')}")
        raise ToolError("its process ended without a word")

    def _page_tools(self, session: Session) -> dict[str, BaseTool]:
        """Tools the page offers. None takes the name of one of ours: what runs on the server is
        the server's to say."""
        return {
            tool["name"]: BaseTool(
                tool["name"],
                tool.get("description") or "",
                tool.get("parameters") or {"type": "object"},
                kind="client",
                origin="client",
            )
            for tool in session.get("tools", ())
            if tool["name"] not in self._tools
        }

    def _unknown(self, name: str, session: Session) -> str:
        names = [*self._tools, *self._page_tools(session)]
        close = difflib.get_close_matches(name[:100], names, 3)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        return f"there is no tool named {name[:100]!r}{hint}"


def fitted(raw: Any, validator: Validator | None) -> tuple[dict[str, Any], str, list[str]]:
    """(arguments as they would run, what is wrong with them, what was repaired)."""
    if isinstance(raw, str):
        parsed = parse(raw)
        if parsed.errors:
            return {}, parsed.error, []
        raw, repairs = parsed.arguments, [str(item) for item in parsed.repairs]
    else:
        repairs = []
    if validator is None:
        return raw, "", repairs
    mended = repair(raw, validator)
    if mended.errors:
        return {}, error_text(mended.errors), []
    return mended.value, "", repairs + [str(item) for item in mended.repairs]


def run_inline(tool: BaseTool, args: dict[str, Any]) -> Outcome:
    started = time.monotonic()
    _, module, name = tool.where
    function = getattr(importlib.import_module(module), name)
    try:
        result = function(Context({}, lambda _: None), **args)
    except ToolError as error:
        return Outcome("error", error={"type": "error", "message": str(error)})
    return Outcome("ok", result, usage={"wall_ms": round((time.monotonic() - started) * 1000)})


def _builtin(function: Any) -> BaseTool:
    options = builtin.options(function)
    signature = schema_of(function, inject=(Context,))
    kind = "inline" if signature.name in INLINE else "python"
    return BaseTool(
        signature.name,
        signature.description or "",
        inline(signature.parameters),
        kind="question" if signature.name == "ask_user" else kind,
        where=("module", function.__module__, function.__name__),
        hints=hints_of(options),
        required_resources=dict(options.get("required_resources") or {}),
        keep=options.get("keep"),
    )


def _owned(path: Path, about: dict[str, Any]) -> BaseTool:
    options = about["options"]
    return BaseTool(
        about["name"],
        about["description"],
        about["parameters"],
        origin=path.name,
        where=("file", str(path), about["name"]),
        hints=hints_of(options),
        required_resources=dict(options.get("required_resources") or {}),
        keep=options.get("keep"),
    )
