"""All tools of this server: what a model is offered, what the policy says of a call, and its
execution.

In the walk: `session/decide` asks for a `verdict`, the loop `execute`s. Built-in tools are known
when the server starts; the owner's files are described by a child process (calling.py), so that
the server itself runs none of their code. A broken file is reported and left out.
"""

from __future__ import annotations

import difflib
import importlib
import re
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from .. import log
from ..config import Config
from ..jsontext import JSONError, depth_exceeds, loads
from ..schema.convert import error_text, parse
from ..schema.generate import schema_of
from ..schema.inline import inline
from ..schema.repair import repair
from ..schema.validate import SchemaError, Validator
from ..session import events
from ..session.calls import with_args
from ..session.events import Event
from ..wire.client import Client
from . import builtin, failures
from .disclosure import brief, detail
from .envelope import MAX_NESTED, envelope, text_for_model
from .fetch import fetch_page
from .policy import Verdict, decide, fingerprint, narrowed
from .rest import Operation, operations
from .rest import call as rest_call
from .runner import MISSING, TIER, Job, Outcome, Runner
from .templates import Pending, Unfilled, fill
from .tool import BaseTool, Context, ToolError, hints_of

Session = dict[str, Any]
Call = dict[str, Any]
Fill = Callable[[dict[str, Any]], tuple[dict[str, Any], list[str]]]

# Where a built-in tool runs, if not in a child. What is inline is bounded and harmless.
KINDS = {
    **dict.fromkeys(("calculator", "datetime", "finish"), "inline"),
    "ask_user": "question",
    "fetch_url": "fetch",
}
# Without these a run could not come to its end: they are never withheld.
CONTROL = frozenset(function.__name__ for function in builtin.CONTROL)
DETAIL = "tool_detail"
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what every provider accepts (OpenAI's rule)
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
    """The tools of one server. `await load_owner_tools()` adds the owner's."""

    def __init__(self, config: Config, client: Client | None = None) -> None:
        """Without a `client` the tools that need the network are absent."""
        server = config.server
        self._client = client
        self._ceilings: dict[str, Any] = server["tools"]
        self._most: dict[str, float] = server["limits"]["tool"]
        self._folder = config.home / "tools"
        self._rest: dict[str, Any] = server["rest"]
        self._operations: dict[str, Operation] = {}
        self._runner = Runner(config.home)
        self._tools: dict[str, Entry] = {}
        self.problems: list[str] = []  # what could not be loaded, for the owner
        network = builtin.NETWORK if client else ()
        for function in (*builtin.PYTHON, *network, *builtin.CONTROL):
            self._add(_builtin(function))

    async def load_owner_tools(self) -> None:
        """Describe every `<home>/tools/*.py` in a child and add what is in it."""
        for path in sorted(self._folder.glob("*.py")) if self._folder.is_dir() else ():
            for item in await self.load(path):
                if isinstance(item, str):
                    self.problems.append(f"tools/{path.name}: {item}")
                    logger.warning("tools/%s: not loaded: %s", path.name, item)

        self._load_rest()

    def _load_rest(self) -> None:
        """Add the operations of `server.rest`, read from <home>/<openapi> where that is named."""
        for api, about in self._rest.items() if self._client else ():
            try:
                file = about.get("openapi")
                document = loads((self._folder.parent / file).read_bytes()) if file else None
            except (OSError, JSONError) as error:
                self.problems.append(f"server.rest.{api}.openapi: {error}")
                continue
            for item in operations(api, about, document):
                try:
                    if isinstance(item, str):
                        raise ToolError(item)
                    self._add(item.tool)
                    self._operations[item.tool.name] = item
                except (ToolError, SchemaError) as error:
                    self.problems.append(str(error))

    async def load(self, path: Path) -> list[BaseTool | str]:
        """Add the tools of one file. Each of them, or why it is refused."""
        found: list[BaseTool | str] = []
        try:
            described = await self._describe(path)
        except ToolError as error:
            return [str(error)]
        for about in described:
            try:
                tool = _owned(path, about)
                self._add(tool)
                found.append(tool)
            except (ToolError, SchemaError) as error:
                found.append(f"{about['name']}: {error}")
        return found

    # -- what the model and the client are told ---------------------------------------------------

    def declared(self, session: Session) -> list[dict[str, Any]]:
        """What the model is offered, in a fixed order (a prompt's prefix is cached). Tools that
        are denied are left out, and those that keep failing; `tool_detail` is for brief ones."""
        in_brief = session["config"]["yaa"].get("tool_detail", False)
        ours = [
            entry.tool
            for entry in self._tools.values()
            if self.policy(entry.tool, session) != "deny"
        ]
        left_out = failures.withheld(session) - CONTROL | ({DETAIL} if not in_brief else set())
        return [
            brief(tool) if in_brief and tool.name not in CONTROL else tool.declaration()
            for tool in (*ours, *self._page_tools(session).values())
            if tool.name not in left_out
        ]

    def info(self) -> list[dict[str, Any]]:
        """For `/info`: name, description, parameters, hints, policy, origin."""
        return [
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "hints": tool.hints,
                "policy": self.policy(tool, None),
                "origin": tool.origin,
            }
            for tool in (entry.tool for entry in self._tools.values())
        ]

    def sandbox(self) -> dict[str, Any]:
        return {"tier": TIER, "missing": MISSING}

    def policy(self, tool: BaseTool, session: Session | None) -> str:
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
        entry = self._tools.get(name)
        if entry is None and name not in self._page_tools(session):
            return Verdict("error", self._unknown(name, session), missing=True)
        if name not in CONTROL and name in failures.withheld(session, call):
            return Verdict("error", failures.refusal(name), missing=True)
        validator = entry.validator if entry else None
        try:
            args, error, repairs = fitted(raw, validator, partial(fill, session, call))
        except Pending as pending:
            return Verdict("wait", str(pending))
        if entry and error and self._ceiling(name) == "deny":
            return Verdict("deny", f"this server does not allow {name}")
        if error:
            return Verdict("error", _joined(error, failures.note(session, call)))
        mark = fingerprint(name, args)
        if entry is None:
            return Verdict("client", "", args, mark, repairs=repairs)
        action, reason = decide(entry.tool, args, self._ceiling(name), session)
        if entry.tool.kind == "question" and action == "run":
            action = "question"
        return Verdict(action, reason, args, mark, entry.tool.repeatable, repairs=repairs)

    async def execute(
        self, session: Session, call: Call, args: dict[str, Any], entry: dict[str, Any]
    ) -> AsyncGenerator[Event, None]:
        """Run a call: live output, then its TOOL_CALL_RESULT. Closing it kills the call."""
        call_id, tool = call["id"], self._tools[call["function"]["name"]].tool
        if tool.name == DETAIL:
            outcome = self._detail(session, args["name"])
        elif tool.kind == "inline":
            outcome = run_inline(tool, args)
        elif tool.kind == "rest" and self._client:
            wall_s = self._job(session, tool, args).limits["wall_s"]
            outcome = await rest_call(self._client, self._operations[tool.name], args, wall_s)
        elif tool.kind == "fetch" and self._client:
            allowed = self._ceilings.get(tool.name, {}).get("allow", ())
            job = self._job(session, tool, args)
            outcome = await fetch_page(self._client, self._runner, job, allowed)
        else:
            first = True
            async for item in self._runner.run(self._job(session, tool, args)):
                if isinstance(item, Outcome):
                    outcome = item
                elif item:
                    yield events.tool_output(call_id, item, first=first)
                    first = False
        edited = entry.get("args")
        repairs = self.verdict(session, call if edited is None else with_args(call, edited)).repairs
        found = envelope(outcome, repairs, edited)
        if tool.keep is not None:
            found.setdefault("keep", tool.keep)
        failed = outcome.status != "ok"
        if failed and (hint := failures.note(session, call)):
            found["hint"] = hint
        yield events.tool_result(
            call_id,
            tool.name,
            text_for_model(found),
            time.time_ns() // 1_000_000,
            state="failed" if failed else "done",
            is_error=failed,
            result=found,
        )

    def _detail(self, session: Session, name: str) -> Outcome:
        entry = self._tools.get(name)
        if found := entry.tool if entry else self._page_tools(session).get(name):
            return Outcome("ok", detail(found))
        error = {"type": "error", "message": self._unknown(name, session)}
        return Outcome("error", error=error)

    def _job(self, session: Session, tool: BaseTool, args: dict[str, Any]) -> Job:
        wanted = session["config"].get("limits", {}).get("tool", {})
        limits = narrowed(wanted, tool.required_resources, self._most)
        return Job(tool.where, args, session["id"], limits, session.get("ext", {}))

    # -- the collection ---------------------------------------------------------------------------

    def _add(self, tool: BaseTool) -> None:
        """Raises ToolError for a name that is taken or that models do not accept, SchemaError for
        a schema nobody can use."""
        if not NAME.fullmatch(tool.name):
            raise ToolError("a tool's name has 1 to 64 letters a-z, digits, _ or -")
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


def _joined(text: str, more: str) -> str:
    return f"{text}\n{more}" if more else text


def fitted(
    raw: Any, validator: Validator | None, fill: Fill
) -> tuple[dict[str, Any], str, list[str]]:
    """(arguments as they would run, what is wrong with them, what was changed in them)."""
    changes: list[str] = []
    if isinstance(raw, str):
        parsed = parse(raw)
        if parsed.errors:
            return {}, parsed.error, []
        raw, changes = parsed.arguments, [str(item) for item in parsed.repairs]
    try:
        raw, filled = fill(raw)
    except Unfilled as error:
        return {}, str(error), []
    if depth_exceeds(raw, MAX_NESTED):
        return {}, f"the arguments are nested deeper than {MAX_NESTED} levels", []
    if validator is None:
        return raw, "", changes + filled
    mended = repair(raw, validator)
    if mended.errors:
        return {}, error_text(mended.errors), []
    return mended.value, "", changes + filled + [str(item) for item in mended.repairs]


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
    kind = KINDS.get(signature.name, "python")
    where = (function.__module__, "readable" if kind == "fetch" else function.__name__)
    return BaseTool(
        signature.name,
        signature.description or "",
        inline(signature.parameters),
        kind=kind,
        where=("module", *where),
        hints=hints_of(options),
        required_resources=dict(options.get("required_resources") or {}),
        keep=options.get("keep"),
    )


def _owned(path: Path, about: dict[str, Any]) -> BaseTool:
    """Raises ToolError for a function that cannot be described."""
    if "problem" in about:
        raise ToolError(about["problem"])
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
