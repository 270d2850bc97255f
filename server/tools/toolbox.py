"""The toolbox: all tools of this server, the policy verdict on a call, and its execution.

`agent/decide.py` asks for a `verdict`, the loop calls `execute`. catalog.py holds the tools. If the
sandbox is weaker than the configuration requires, tools that would run on this machine are neither
offered nor run.
"""

from __future__ import annotations

import difflib
import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ..config import Config
from ..errors import Problem
from ..json_types import Event, Json, LedgerEntry, Session, ToolCall, ToolResult
from ..lib.http.client import Client
from ..lib.json_schema.compile import inline
from ..lib.json_schema.validate import Validator, cached_validator
from ..lib.runtime.accounts import Accounts
from ..lib.sandbox.network_policy import NETWORKS
from ..lib.sandbox.package import Package
from ..lib.sandbox.policy import TIERS
from ..lib.strict_json import Constant, ConstantList, browser_safe, pointer
from ..session import agent_definition, events
from ..session.call_actions import Verdict
from ..session.json_patch import copy_json
from ..session.limits import LimitCeilings
from ..session.modes import FINISH
from ..session.schema import MAX_ERRORS
from . import client_tools, policy
from .arguments import Pending, ToolResults, fill_templates, fit_arguments, misfits
from .base import (
    Emit,
    Invocation,
    Tool,
    ToolQuestion,
    brief,
    declaration,
    failure,
    result_schema,
    toolkit,
)
from .catalog import Catalog, Entry
from .decorators import ToolError
from .function_tools import ChildTool
from .permission_mode import Permission, PermissionModes
from .policy import STRICTER, Grants, call_limits, decide, fingerprint, unmet_requirements
from .result import envelope, shown_files, text_for_model
from .runner import FindMounts, Outcome, ToolRunner
from .session_files import SessionFiles
from .tool_source import ToolSource

MOST_HINTS = 5  # unknown tool names per decision for which similar names are suggested
MOST_OFFERS = 64  # cached lists of declarations; few sessions differ in their tool settings


class CallJudge:
    """The toolbox for decisions about one state of a session, which is read only once."""

    def __init__(
        self,
        toolbox: Toolbox,
        session: Session,
        steering: Collection[str],
        permission: Permission,
    ) -> None:
        """`steering`: the names of tools that steer a run."""
        self._toolbox, self.session, self._steering = toolbox, session, steering
        self.hints = MOST_HINTS  # suggestions left for unknown names
        self.grants = Grants(session["grants"], permission)
        self.results = ToolResults(session)
        self.tools: dict[str, tuple[Tool, Validator]] = {}  # looked up before, by name

    def verdict(self, session: Session, call: ToolCall) -> Verdict:
        """Return the verdict on a call; see `Toolbox.verdict`."""
        return self._toolbox.verdict(session, call, self)

    def declarations(self, session: Session) -> list[Json]:
        """Return the declarations for the model; see `Toolbox.declarations`."""
        return self._toolbox.declarations(session, self)

    @cached_property
    def failures(self) -> policy.Failures:
        """Return the failed calls of the current run."""
        return policy.Failures(self.session)

    @cached_property
    def page(self) -> dict[str, Tool]:
        """Return the tools of the page by name. They stand for the server's of the same names."""
        return client_tools.tools(self.session, self._steering)


class Offer(NamedTuple):
    """The declarations of server tools. `packages`: whose code they run, None for other code."""

    declarations: ConstantList
    packages: tuple[Package | None, ...]


class Toolbox:
    """The tools of one server.

    `open` proves the sandbox, `load_owner_tools` adds the configured tools. Without these two calls
    only built-in tools are present, and those that run on this machine are withheld unless
    `require` is "none".
    """

    def __init__(
        self,
        config: Config,
        client: Client | None = None,
        ceilings: LimitCeilings | None = None,
        accounts: Accounts | None = None,
        files: SessionFiles | None = None,
    ) -> None:
        """Create a toolbox; without a `client`, tools that need the network are absent.

        `ceilings`: limits per key; default: the server's limits for every key. `accounts`: what
        people hold of the process. `files`: those of sessions; None: only a folder for each.
        """
        server = config.server
        self._home = config.home
        self._ceilings: Json = server["tools"]
        self._limits = ceilings or LimitCeilings(server["limits"], {})
        self._most: dict[str, float] = server["limits"]["tool"]
        self._sandbox: dict[str, Any] = server["sandbox"]
        self._withheld = self._sandbox["require"] != "none"  # until `open` has proven the tier
        self.runner = ToolRunner(
            config.home,
            most=server["limits"]["stateful_processes"],
            idle_s=server["limits"]["stateful_idle_s"],
            files=files,
            accounts=accounts,
        )
        self.workspaces = self.runner.files
        self.workspaces.withheld = self._tier_problem() if self._withheld else ""
        self.permissions = PermissionModes(server["permission_modes"], self.runner)
        self.host = ""  # operating system for tools that run here; empty if none can run
        allowed = self._ceilings.get("fetch_url", {}).get("allow", ())
        self._catalog = Catalog(self.runner, client, allowed)
        self._offers: list[tuple[Any, Offer]] = []  # by the settings, the latest first

    @property
    def _tools(self) -> Mapping[str, Entry]:
        return self._catalog.entries

    async def open(self, most: str = "A", proof: Json | None = None) -> None:
        """Prove the sandbox for tools, up to the tier `most`, unless `proof` is given.

        Below the configured `require`, tools that run on this machine are withheld from then on.
        """
        await self.runner.open(self._sandbox, most, proof)
        tier = self.runner.sandbox["tier"]
        self._withheld = TIERS.index(tier) < TIERS.index(self._sandbox["require"])
        self.host = "" if self._withheld else self.runner.host
        self.workspaces.withheld = self._tier_problem() if self._withheld else ""
        self._offers = []

    @property
    def problems(self) -> list[str]:
        """Return what the owner has to fix, one line each."""
        return [*self._catalog.problems, *(line for each in self.sources for line in each.problems)]

    @property
    def proof(self) -> Json:
        """Return the sandbox that was proven, for another toolbox of this process."""
        return self.runner.sandbox

    def release_workers(self) -> None:
        """End the processes that wait for a call, until one is needed or a tool is offered."""
        self.runner.release_workers()

    async def close(self) -> None:
        """End every process that waits for a call."""
        await self._catalog.close()
        self.workspaces.close()
        self.runner.close()
        for source in self._catalog.sources:
            await source.close()

    async def load_owner_tools(self) -> None:
        """Add the owner's tools: files, sources.

        Load errors are added to `problems`.
        """
        await self._catalog.add_files(self._home / "tools", sandboxed=not self._withheld)
        if not self._withheld:
            await self._catalog.add_environments(self._ceilings)
        await self._catalog.load_sources()
        for text in agent_definition.unmatched_names(self._ceilings, self.nameable(), exact=True):
            self._catalog.problems.append(f"server.tools: {text}")

    def add(self, things: Iterable[Any]) -> None:
        """Add tools of the embedding program or an extension: objects, functions or Tools.

        Raises ToolError and SchemaError for anything else.
        """
        self._catalog.add_objects(things, "program")

    def add_source(self, source: ToolSource) -> None:
        """Add a source, whose tools `load_owner_tools` loads. At most one may have skills."""
        self._catalog.sources.append(source)

    def add_mounts(self, find: FindMounts) -> None:
        """Add what calls of sessions find beside their folders."""
        self.runner.more_mounts.append(find)

    @property
    def sources(self) -> Sequence[ToolSource]:
        """Return the sources of tools."""
        return self._catalog.sources

    @property
    def busy(self) -> bool:
        """Return whether a call that a source holds still needs this toolbox."""
        return any(source.busy for source in self._catalog.sources)

    async def load(self, path: Path) -> list[Tool | str]:
        """Add the tools of one file. Return each tool, or the reason why it is refused."""
        return await self._catalog.add_file(path)

    def admit(self, session: Session) -> None:
        """Check a session before a run.

        Raises Problem if a tool of the page has the name of one that steers the run, or if edited
        arguments do not fit their tool.
        """
        client_tools.admit(session, self._catalog.steering)
        if errors := list(islice(self._edit_errors(session), MAX_ERRORS)):
            text = "The edited arguments do not fit"
            detail = f"{text} {errors[0]['pointer']}: {errors[0]['detail']}"
            raise Problem("answer_invalid", detail, errors=errors)

    def look_again(self) -> None:
        """Begin to refresh the lists of sources, files and packages, for later runs."""
        self._catalog.refresh()

    def _edit_errors(self, session: Session) -> Iterator[dict[str, str]]:
        """Yield {pointer, detail} of each error in arguments that a person edited."""
        edited = list(_edits(session))
        messages = session.get("messages", ()) if edited else ()
        calls = {call["id"]: call for m in messages for call in m.get("tool_calls") or ()}
        for place, call_id, args in edited:
            call = calls[call_id]
            name = call["function"]["name"]
            entry = None if name == FINISH else self._entry(name, session)
            if entry is None:  # or its schema is the session's
                continue
            for error in misfits(args, entry.validator, partial(fill_templates, session, call)):
                yield error.error(place)

    def judge(self, session: Session) -> CallJudge:
        """Return the toolbox for one decision; valid until an event is folded into the session."""
        return CallJudge(self, session, self._catalog.steering, self.permissions.of(session))

    # -- what the model and the client are told ---------------------------------------------------

    def declarations(self, session: Session, judge: CallJudge | None = None) -> list[Json]:
        """Return the declarations for the model, in a fixed order, and prepare for calls.

        Providers cache a prompt's prefix, so the order matters. Tools that are denied, cannot run
        or keep failing are left out. `tool_detail` is included only if the session has brief
        declarations.
        """
        judge = judge or self.judge(session)
        hidden, page = self._hidden_tools(session, judge), judge.page
        offer = self._server_offer(judge, hidden | (page.keys() & self._tools.keys()))
        self.runner.prepare(offer.packages)
        failing = judge.failures.withheld_tools()
        page_tools = self._declarations_of(page.values(), judge, failing)
        return [*offer.declarations, *page_tools] if page_tools else offer.declarations

    def _server_offer(self, judge: CallJudge, left_out: set[str]) -> Offer:
        """Return the offer of server tools, cached by the settings that it depends on."""
        session, config = judge.session, judge.session["config"]
        settings = [config["yaa"], config.get("agent"), config.get("tool"), session["grants"]]
        named, permission = self._named(session), judge.grants.permission
        state = [left_out, self._catalog.version, self._withheld, named.keys(), permission]
        for known, offer in self._offers:
            if known == (settings, state):
                return offer
        there = [*self._tools.values(), *named.values()]
        entries = [_as_declared(entry, session) for entry in there]
        usable = [entry.tool for entry in entries if not self.unavailable(entry.tool)]
        declared = ConstantList(self._declarations_of(usable, judge, left_out))
        names = {each["function"]["name"] for each in declared}
        inside = [tool for tool in usable if isinstance(tool, ChildTool) and tool.name in names]
        found = Offer(declared, tuple(dict.fromkeys(tool.package for tool in inside)))
        key = copy_json(settings), state  # the session's objects change
        self._offers = [(key, found), *self._offers[: MOST_OFFERS - 1]]  # threads may read the list
        return found

    def _declarations_of(
        self, tools: Iterable[Tool], judge: CallJudge, left_out: set[str]
    ) -> list[Constant]:
        session, grants = judge.session, judge.grants
        settings = session["config"]["yaa"]
        in_brief, results = settings.get("tool_detail"), bool(settings.get("result_schema"))
        declarations: list[Constant] = []
        kits: set[tuple[str, str]] = set()  # toolkits whose shared description is already declared
        for tool in tools:
            if tool.name in left_out or self.policy(tool, session, grants) == "deny":
                continue
            kit = tool.toolkit not in kits
            whole = not in_brief or tool.control
            told = declaration(tool, results=results, kit=kit) if whole else brief(tool)
            declarations.append(Constant(told))  # with its JSON text cached for all requests
            kits.add(tool.toolkit)
        return declarations

    def _hidden_tools(self, session: Session, judge: CallJudge) -> set[str]:
        """Return the names of tools that are of no use in the session's present state."""
        useless = {tool.name for tool in self._catalog.at_times if not tool.is_useful(session)}
        return useless | (judge.failures.withheld_tools() - self._catalog.steering)

    def info(self) -> list[Json]:
        """Return the server's tools for `/info`.

        Each: name, description, parameters, result_schema, hints, policy, origin; also toolkit and
        stateful where they apply, and `unavailable` with the reason if no call may use the tool.
        """
        return [self._about(entry.tool) for entry in self._tools.values()]

    def info_named(self) -> list[Json]:
        """Return the same as `info` for tools that an agent has only if it names them."""
        return [self._about(entry.tool) for entry in self._only_named().values()]

    def _about(self, tool: Tool) -> dict[str, Any]:
        about: dict[str, Any] = {
            "name": tool.name,
            "description": tool.description,
            "parameters": inline(tool.parameters),
            "result_schema": result_schema(tool),
            "hints": tool.hints,
            "policy": self.policy(tool, None),
            "origin": tool.origin,
        }
        if tool.toolkit[0]:
            about["toolkit"] = toolkit(tool)
        if tool.stateful:
            about["stateful"] = True
        reason = self.unavailable(tool)
        return {**about, "unavailable": reason} if reason else about

    def names(self) -> frozenset[str]:
        """Return the names of the server's own tools, whether or not a session may use them.

        Without tools that an agent has only if it names them.
        """
        return frozenset(self._tools)

    def nameable(self) -> frozenset[str]:
        """Return all tool names that an agent definition may contain."""
        offered = (name for source in self._catalog.sources for name in source.names)
        return frozenset((*self._tools, *self._catalog.named, *offered))

    def _only_named(self) -> dict[str, Entry]:
        """Return tools that an agent has only if it names them; the owner's come first."""
        return {n: entry for n, entry in self._catalog.named.items() if n not in self._tools}

    def _named(self, session: Session) -> dict[str, Entry]:
        """Return those of `_only_named` that the agent names and the page does not declare."""
        agent = agent_definition.definition_of(session)
        page_names = {tool["name"] for tool in session.get("tools", ())}
        return {
            name: entry
            for name, entry in self._only_named().items()
            if agent_definition.names(agent, name) and name not in page_names
        }

    def interactive_tools(self) -> list[str]:
        """Return the names of tools that are not offered in unattended sessions by default.

        These are tools that ask a person, and tools whose policy is `ask`; the policy of an agent
        may allow them.
        """
        tools = [entry.tool for entry in self._tools.values()]
        return [t.name for t in tools if t.asks or self.policy(t, None) == "ask"]

    def sandbox(self) -> Json:
        """Return `{tier, network, missing, tried, require, withheld}`.

        `tier`: the tier proven at start; `missing`: its gaps; `withheld`: names of tools that need
        a higher tier.
        """
        withheld = [e.tool.name for e in self._tools.values() if self._lacks_proof(e.tool)]
        return {**self.runner.sandbox, "require": self._sandbox["require"], "withheld": withheld}

    def policy(self, tool: Tool, session: Session | None, grants: Grants | None = None) -> str:
        """Return "deny", "ask" or "run" for the next call, as far as known without arguments."""
        nothing: Session = {"config": {}, "grants": []}
        ceiling = self._ceiling(tool)
        return decide(tool, {}, ceiling, session or nothing, grants)[0]

    def _ceiling(self, tool: Tool) -> str:
        ceilings = (self._ceilings.get(name, {}) for name in (tool.name, tool.like))
        return max((str(entry.get("ceiling", "auto")) for entry in ceilings), key=STRICTER.index)

    def unavailable(self, tool: Tool) -> str:
        """Return why no call of this tool may run here, approved or not; "" if it may.

        The reason begins with `sandbox_unavailable` or `policy_exceeded`.
        """
        if reason := self._tier_problem() if self._lacks_proof(tool) else tool.missing:
            return f"sandbox_unavailable: {reason}"
        network = "proxy" if self.runner.addable else "off"
        network = max(network, self.runner.reach.network, key=NETWORKS.index)
        if excess := unmet_requirements(tool.required_resources, self._most, network):
            return f"policy_exceeded: {tool.name} needs {excess}"
        return ""

    def _tier_problem(self) -> str:
        return (
            f"this server requires tier {self._sandbox['require']} for tools that run on it, and"
            f" tier {self.runner.sandbox['tier']} was proven"
        )

    def _lacks_proof(self, tool: Tool) -> bool:
        """Return whether this tool needs a sandbox tier that was not proven."""
        return tool.sandboxed and self._withheld

    # -- one call ---------------------------------------------------------------------------------

    def verdict(self, session: Session, call: ToolCall, judge: CallJudge | None = None) -> Verdict:
        """Return the policy's verdict on a call, with the reason if it does not run.

        Changes nothing in the session. `judge`: of this session, if it was read before.
        """
        judge = judge or self.judge(session)
        name, raw = call["function"]["name"], call["function"]["arguments"]
        if (entry := self._find_tool(name, judge)) is None:
            return Verdict("error", self._unknown(name, judge), status="not_found")
        tool, validator = entry
        if reason := self.unavailable(tool):
            return Verdict("error", reason, status=reason.partition(":")[0])
        if not tool.control and judge.failures.is_withheld(call):
            return Verdict("error", policy.refusal(name), status="not_found")
        try:
            fill_call = partial(fill_templates, session, call, results=judge.results)
            args, error, repairs = fit_arguments(raw, validator, fill_call, tool.formats)
        except Pending as pending:
            return Verdict("wait", str(pending))
        ceiling = self._ceiling(tool)
        if error and ceiling == "deny":
            return Verdict("deny", f"this server does not allow {name}")
        if error:
            note = judge.failures.failure_note(call)
            return Verdict("error", f"{error}\n{note}" if note else error)
        action, reason = decide(tool, args, ceiling, session, judge.grants)
        action, reason = tool.verdict(action, reason)
        judged = tool, args, ceiling, session, judge.grants
        return Verdict(
            *(action, reason, args, fingerprint(name, args), tool.repeatable, tool.parallel_safe),
            repairs=repairs,
            shown=policy.approval_members(*judged) if action == "ask" else {},
            may_ask=tool.may_ask,
            like=tool.like,
            file_access=tool.file_access,
        )

    def declaration_digest(self, session: Session, name: str) -> Json:
        """Return what a grant keeps of a tool's declaration; {} if there is no such tool."""
        found = self._find_tool(name, self.judge(session))
        return found[0].declaration_digest if found else {}

    def _find_tool(self, name: str, judge: CallJudge) -> tuple[Tool, Validator] | None:
        """Return the server's or the page's tool of this name as the session has it, or None."""
        if name not in judge.tools:
            if entry := self._entry(name, judge.session):
                judge.tools[name] = entry.tool, entry.validator
            elif tool := judge.page.get(name):
                judge.tools[name] = tool, cached_validator(tool.parameters)
        return judge.tools.get(name)

    def _entry(self, name: str, session: Session) -> Entry | None:
        entry = self._tools.get(name)
        if not (entry and entry.tool.control):
            if any(each["name"] == name for each in session.get("tools", ())):
                return None  # it is the page's
        if entry is None and name in self._catalog.named:
            entry = self._named(session).get(name)
        if entry is None and (tool := self._catalog.stand_in(name)):
            return Entry(tool, cached_validator(tool.parameters))
        return _as_declared(entry, session) if entry else None

    async def execute(
        self,
        session: Session,
        call: ToolCall,
        args: Json,
        ledger: LedgerEntry,
        emit: Callable[[Event], None],
        *,
        repairs: Iterable[str] = (),
        seconds: float = math.inf,
        owner: str = "",
    ) -> None:
        """Run a call for `owner` (`owner` of api/auth.py Key) and pass its events to `emit`.

        Live output comes first, then the TOOL_CALL_RESULT; or, if the tool asks the person a
        question, the changed call log entry (`ledger`) instead of a result. `args`: the arguments
        as judged. `seconds`: the longest time the call may take. Cancelling it ends the call.
        """
        call_id, first = call["id"], True

        def show(item: str | Event) -> None:
            """Emit an event, or text as live output."""
            nonlocal first
            if isinstance(item, dict):
                emit(item)
            elif item:
                emit(events.tool_output(call_id, item, first=first))
                first = False

        result = await self._run(session, call, args, ledger, show, seconds, owner)
        if isinstance(result, ToolQuestion):
            waiting = {**ledger, "state": "waiting", "input": browser_safe(result.input)}
            emit(events.state_delta(events.put("calls", call_id, value=waiting)))
        else:
            by = ledger.get("args_by", "")
            shown, wrong, gone = await shown_files(result, session)
            if gone:
                emit(events.messages_filled(gone))
            said = envelope(result, list(repairs), ledger.get("args"), by, shown)
            event = self._result(session, call, result, said)
            emit({**event, "content": "\n".join((event["content"], *wrong))})

    async def _run(
        self,
        session: Session,
        call: ToolCall,
        args: Json,
        ledger: LedgerEntry,
        emit: Emit,
        seconds: float,
        owner: str,
    ) -> Outcome | ToolQuestion:
        name, judge = call["function"]["name"], self.judge(session)
        if (entry := self._entry(name, session)) is None:  # its source removed it since
            return failure(self._unknown(name, judge), "not_found")
        tool = entry.tool
        if reason := self.unavailable(tool):  # another server may have judged the call
            return failure(reason, reason.partition(":")[0])
        wanted = session["config"].get("limits", {}).get("tool", {})
        limits = call_limits(wanted, tool.required_resources, self._limits.of(owner)["tool"])
        limits["wall_s"] = min(limits["wall_s"], seconds)

        def find(name: str) -> Tool | str:
            """Return the session's tool of a name, or the reason why there is none."""
            entry = self._entry(name, session)
            found = entry.tool if entry else judge.page.get(name)
            return found or self._unknown(name, judge)

        try:
            made = Invocation(session, args, ledger, limits, owner, find, call["id"])
            return await tool.run(made, emit)
        except ToolError as error:
            return failure(str(error))

    def _result(
        self, session: Session, call: ToolCall, outcome: Outcome, result: ToolResult
    ) -> Event:
        """Return the TOOL_CALL_RESULT event of a call."""
        name = call["function"]["name"]
        entry = self._entry(name, session)
        if entry and entry.tool.keep is not None:
            result.setdefault("keep", entry.tool.keep)
        failed = outcome.status != "ok"
        if failed and (hint := policy.Failures(session).failure_note(call)):
            result["hint"] = hint
        return events.tool_result(
            call["id"],
            name,
            text_for_model(result, outcome.text),
            time.time_ns() // 1_000_000,
            state="failed" if failed else "done",
            is_error=failed,
            result=result,
        )

    def _unknown(self, name: str, judge: CallJudge) -> str:
        names = [*self._tools, *judge.page] if judge.hints else []
        judge.hints = max(judge.hints - 1, 0)
        close = difflib.get_close_matches(name[:100], names, 3)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        return f"there is no tool named {name[:100]!r}{hint}"


def _as_declared(entry: Entry, session: Session) -> Entry:
    tool = entry.tool.in_session(session)
    return entry if tool is entry.tool else Entry(tool, cached_validator(tool.parameters))


def _edits(session: Session) -> Iterator[tuple[str, str, Json]]:
    """Yield (JSON pointer, call id, arguments) of approvals with edited arguments."""
    for index, interrupt in enumerate(session.get("interrupts", ())):
        answer = interrupt.get("answer") or {}
        if interrupt["reason"] != "tool_call" or answer.get("status") != "resolved":
            continue
        payload = answer["payload"]
        if payload["approved"] and "edited_args" in payload:
            place = pointer("interrupts", index, "answer", "payload", "edited_args")
            yield place, interrupt["call_id"], payload["edited_args"]
