"""The policy: whether a call may run, must be approved or is denied.

The order (docs/reference/tools.md, "Asking first"): the server denies → the agent denies → the
session denies → the server's ceiling, the tool or the agent says ask → the session asks before
every call → grants and `auto_approve` → the agent says auto → the tool's own default → the
session's permission mode, which runs what that default asks about (permission.py). A stored
approval for the same fingerprint is consulted by agent/call_decisions.py, which can only turn an
`ask` into a run. Pure.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection
from functools import cached_property
from typing import Any, cast

from ..json_types import Grant, Interrupt, Json, Message, Session, ToolCall
from ..lib.sandbox import network_policy
from ..lib.sandbox.network_policy import NETWORKS, NetworkPolicy
from ..lib.strict_json import JSONError, canonical, loads
from ..session import agent_definition
from ..session.call_actions import is_unattended
from . import argument_forms
from .base import Tool
from .permission_mode import NO_PERMISSION, Permission, mode_of

# -- circuit breaker ------------------------------------------------------------------------------
# The circuit breaker: tools that keep failing are withheld for the rest of a run.
#
# Computed from the session's messages since the last user message, without a counter of its own, so
# that it is the same on every server and after every resume. Pure.


MOST = 3  # failures in a row after which a tool is withheld for the rest of the run
LOOK_BACK = 40  # messages searched for earlier failures of the same call
FAILED = ("error", "timeout", "limit", "invalid_arguments")  # a denial is not a tool's failure


class Failures:
    """The failures of one run. The session must not change while this is used."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def withheld_tools(self) -> set[str]:
        """Return the names of tools that failed MOST times in a row in this run."""
        return set(self._since)

    def is_withheld(self, call: ToolCall) -> bool:
        """Return whether the tool was withheld before the message of this call.

        Failures in the call's own message do not count: the call was made before they were known,
        and may be approved or running already.
        """
        since = self._since.get(call["function"]["name"])
        if since is None:
            return False
        return call["id"] not in self._places or since < self._places[call["id"]]

    def failure_note(self, call: ToolCall) -> str:
        """Return a note for the model on a failure of `call`; "" for the first failure.

        The call's result is not in the session yet.
        """
        name = call["function"]["name"]
        streaks, repeats = self._in_a_row
        streak, again = streaks[name] + 1, repeats[_same(call)] + 1
        lines = []
        if again > 1:
            lines.append(
                f"This same call has failed {again} times now. Do not repeat it unchanged: change"
                " the arguments, or try another way."
            )
        if streak >= MOST:
            lines.append(f"{name} has failed {streak} times in a row and is withheld from here on.")
        return "\n".join(lines)

    @cached_property
    def _run(self) -> list[Message]:
        return _this_run(self._session, len(self._session["messages"]))

    @cached_property
    def _since(self) -> dict[str, int]:
        """Return tool → index in the run from which it is withheld."""
        found: dict[str, int] = {}
        streaks: Counter[str] = Counter()
        for place, message in enumerate(self._run):
            if (status := _status(message)) == "ok":
                streaks[message["name"]] = 0
            elif status in FAILED:
                streaks[message["name"]] += 1
                if streaks[message["name"]] >= MOST:
                    found.setdefault(message["name"], place)
        return found

    @cached_property
    def _places(self) -> dict[str, int]:
        """Return call id → index in the run of its message."""
        run = enumerate(self._run)
        return {call["id"]: place for place, message in run for call in _calls(message)}

    @cached_property
    def _in_a_row(self) -> tuple[Counter[str], Counter[str]]:
        """Return failures since the last success, counted by tool name and by call.

        Only the last LOOK_BACK messages count.
        """
        streaks: Counter[str] = Counter()
        repeats: Counter[str] = Counter()
        made: dict[str, ToolCall] = {}
        for message in _this_run(self._session, LOOK_BACK):
            made |= {each["id"]: each for each in _calls(message)}
            status = _status(message)
            if status != "ok" and status not in FAILED:
                continue
            call = made.get(message["tool_call_id"])
            same = _same(call) if call else ""
            streaks[message["name"]] += 1
            repeats[same] += 1
            if status == "ok":
                streaks[message["name"]] = repeats[same] = 0
        return streaks, repeats


def refusal(name: str) -> str:
    """Return the error text for a call of a withheld tool."""
    return (
        f"{name} failed {MOST} times in a row and is withheld for the rest of this run. Go on"
        " without it, or tell the user what went wrong."
    )


def _this_run(session: Session, most: int) -> list[Message]:
    """Return up to `most` messages since the last user message, the latest ones, in order."""
    messages: list[Message] = session["messages"]
    start, least = len(messages), max(len(messages) - most, 0)
    while start > least and messages[start - 1]["role"] != "user":
        start -= 1
    return messages[start:]


def _status(message: Message) -> str:
    """Return the status of a tool message; "" for other messages."""
    if message["role"] != "tool" or not message.get("name"):
        return ""
    envelope = message.get("result")
    status = envelope.get("status") if isinstance(envelope, dict) else None
    return str(status) if status else "error" if message.get("is_error") else "ok"


def _calls(message: Message) -> list[ToolCall]:
    return [] if message.get("open") else message.get("tool_calls") or []


def _same(call: ToolCall) -> str:
    """Return a key that is equal for calls of the same name and arguments, however written."""
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    try:
        value = loads(arguments) if isinstance(arguments, str) else arguments
        return f"{name}\n{canonical(value)}"
    except (JSONError, ValueError):
        return f"{name}\n{arguments}"


# -- policy ---------------------------------------------------------------------------------------


EVERY_CALL = "this session asks before every call"
STRICTER = ("", "auto", "ask", "deny")
MAX_WORK = 20_000_000  # characters compared; about 20 ms


def fingerprint(name: str, args: dict[str, Any]) -> str:
    """Return the key of an approval: a SHA-256 of the tool's name and its canonical arguments."""
    return f"sha256:{hashlib.sha256(f'{name}{chr(10)}{canonical(args)}'.encode()).hexdigest()}"


class Grants:
    """The grants of a session, by tool name, and what its permission mode allows.

    At most MAX_WORK characters of arguments are compared. Beyond that every `deny` for the tool
    applies and no `allow`.
    """

    def __init__(self, grants: list[Grant], permission: Permission = NO_PERMISSION) -> None:
        self.permission = permission
        self._left = MAX_WORK
        self._of: dict[str, list[Grant]] = {}
        for grant in grants:
            self._of.setdefault(grant["tool"], []).append(grant)

    def decisions(self, tool: Tool, args: Json) -> set[str]:
        """Return the decisions of the grants that cover this call: any of "allow" and "deny".

        An `allow` that was given for another declaration of the tool does not count.
        """
        found: set[str] = set()
        for grant in self._for(tool):
            decision = grant["decision"]
            if decision in found or _is_stale(grant, tool):
                continue
            if self._covers(grant, tool, args):
                found.add(decision)
        return found

    def changes(self, tool: Tool, args: Json) -> Json:
        """Return what changed in a tool since a grant that would cover this call; {} if nothing.

        It is {added, removed, description, message}: names of arguments, whether the description
        changed, and this in words.
        """
        for grant in reversed(self._for(tool)):
            if _is_stale(grant, tool) and self._covers(grant, tool, args):
                return _changes(grant["declaration"], tool.declaration_digest)
        return {}

    def _for(self, tool: Tool) -> list[Grant]:
        own = self._of.get(tool.name, [])
        return [*own, *self._of.get(tool.like, ())] if tool.like else own

    def _covers(self, grant: Grant, tool: Tool, args: Json) -> bool:
        denies = grant["decision"] == "deny"
        for key, pattern in grant.get("match", {}).items():
            text = args.get(key)
            if not isinstance(text, str):  # patterns match strings only
                return False
            kind = tool.formats.get(key, "")
            self._left -= agent_definition.work(text, pattern) * argument_forms.COST.get(kind, 1)
            if self._left < 0:
                return denies
            if not (argument_forms.denies if denies else argument_forms.allows)(
                text, pattern, kind
            ):
                return False
        return True


def _is_stale(grant: Grant, tool: Tool) -> bool:
    """Return whether a grant allows the tool as it was declared before."""
    return (
        grant["decision"] == "allow"
        and "declaration" in grant
        and grant["declaration"] != tool.declaration_digest
    )


def open_grants(grants: list[Grant], names: Collection[str], *, used: bool) -> list[int]:
    """Return the places of grants that allow these tools whatever their declaration is.

    `used`: whether such a grant may have let the call run; else none is returned.
    """
    return [
        place
        for place, grant in enumerate(grants)
        if used
        and grant["tool"] in names
        and grant["decision"] == "allow"
        and "declaration" not in grant
    ]


def _changes(before: Json, now: Json) -> Json:
    old, new = before.get("arguments", []), now["arguments"]
    added = [name for name in new if name not in old]
    removed = [name for name in old if name not in new]
    other = before.get("description") != now.get("description")
    parts = ["another description"] if other else []
    parts += [f"new arguments {', '.join(added)}"] if added else []
    parts += [f"without {', '.join(removed)}"] if removed else []
    message = f"It changed since it was allowed: {'; '.join(parts) or 'other arguments'}."
    return {"added": added, "removed": removed, "description": other, "message": message}


def decide(
    tool: Tool,
    args: dict[str, Any],
    ceiling: str,
    session: Session,
    grants: Grants | None = None,
) -> tuple[str, str]:
    """Return (action, reason) for valid arguments; action is "run", "ask" or "deny".

    `ceiling`: the server's "deny", "ask" or "auto". `grants`: the session's, if they were read
    before. In an unattended session every call that would ask is denied.
    """
    grants = Grants(session["grants"]) if grants is None else grants
    granted, permission = grants.decisions(tool, args), grants.permission
    action, reason = _decide(tool, args, ceiling, session, granted, permission)
    asks = action == "ask" or (action == "run" and tool.asks)
    if asks and is_unattended(session):
        return "deny", f"nobody can be asked about {tool.name} here"
    return action, reason


def asks_always(tool: Tool, args: dict[str, Any], ceiling: str, session: Session) -> bool:
    """Return whether a call is asked about even if the session grants its tool everything."""
    return _decide(tool, args, ceiling, session, {"allow"})[0] == "ask"


def approval_members(
    tool: Tool, args: dict[str, Any], ceiling: str, session: Session, grants: Grants
) -> Interrupt:
    """Return what the interrupt that asks for approval shows beside the call.

    policy: the network of the call, if an approval may change it.
    always: True if it is asked about each time, whatever the session grants.
    ask: "every_call" if the session asks before every call.
    permission: the least permission mode in which the call would run unasked here.
    declaration: the tool as it is declared, which a grant keeps.
    changes: what changed in the tool since a grant that would let the call run.
    """
    granted = grants.decisions(tool, args)

    def runs_in(mode: str) -> bool:
        """Return whether the call would run unasked in this permission mode."""
        permission = Permission(grants.permission.modes[mode])
        return _decide(tool, args, ceiling, session, granted, permission)[0] == "run"

    members: Any = {
        "policy": tool.offer(session),
        "always": asks_always(tool, args, ceiling, session),
        "ask": _decide(tool, args, ceiling, session, {"allow"})[1] == EVERY_CALL and "every_call",
        "permission": next(filter(runs_in, grants.permission.modes), ""),
        "declaration": tool.declaration_digest,
        "changes": grants.changes(tool, args),
    }
    members = {name: value for name, value in members.items() if value}
    return cast(Interrupt, members)


def _decide(
    tool: Tool,
    args: dict[str, Any],
    ceiling: str,
    session: Session,
    granted: set[str],
    permission: Permission = NO_PERMISSION,
) -> tuple[str, str]:
    own = tool_settings(session, tool)
    if ceiling == "deny":
        return "deny", f"this server does not allow {tool.name}"
    agents = agent_definition.policy_word(session, tool.name, page=tool.of_page)
    if tool.like:
        theirs = str(agent_definition.definition_of(session).get("policy", {}).get(tool.like, ""))
        agents = max(agents, theirs, key=STRICTER.index)
    if agents == "deny":
        return (
            "deny",
            f"the agent {agent_definition.definition_of(session)['name']} does not use {tool.name}",
        )
    if own.get("deny") or "deny" in granted:
        return "deny", f"this session does not allow {tool.name}"
    if ceiling == "ask" or tool.always_asks:
        return "ask", "this server asks about it always"
    if agents == "ask":
        return (
            "ask",
            f"the agent {agent_definition.definition_of(session)['name']} asks about it always",
        )
    if mode_of(session) == "every_call" and not tool.control:
        return "ask", EVERY_CALL
    if "allow" in granted:
        return "run", "granted for this session"
    if "auto_approve" in own:
        return ("run", "auto_approve") if own["auto_approve"] else ("ask", "auto_approve is off")
    if agents == "auto":
        return "run", f"the agent {agent_definition.definition_of(session)['name']} need not ask"
    action, reason = tool.default()
    if action == "ask" and permission.work and tool.runs_in(permission, args):
        return "run", "the permission mode of this session runs it"
    return action, reason


def tool_settings(session: Session, tool: Tool) -> dict[str, Any]:
    """Return the session's settings for a tool, over those of the tool that it is like.

    `deny` in either applies.
    """
    said = session["config"].get("tool", {})
    own, like = said.get(tool.name, {}), said.get(tool.like, {}) if tool.like else {}
    denied = {"deny": True} if own.get("deny") or like.get("deny") else {}
    return {**like, **own, **denied}


def call_limits(wanted: Json, required: Json, most: Json) -> Json:
    """Return the limits of one call.

    Each is the session's limit, raised to the tool's requirement, and never above the server's.
    """
    limits = {name: max(value, required.get(name, 0)) for name, value in wanted.items()}
    return {name: min(limits.get(name, ceiling), ceiling) for name, ceiling in most.items()}


def reach_of(
    base: NetworkPolicy,
    session: Session,
    name: str,
    asked: Json | None,
    addable: list[str],
    like: str = "",
) -> NetworkPolicy | str:
    """Return the network of one call, or an error text if it is impossible.

    It is the server's network, narrowed by the session for this tool, and widened by what a person
    approved for this call (`asked`) out of the hosts in `addable`.
    """
    said = session["config"].get("tool", {})
    narrower = base
    for each in filter(None, (name, like)):
        narrower = network_policy.narrow(narrower, said.get(each, {}).get("network"))
    return network_policy.widen(narrower, asked, addable) if asked else narrower


def enforceable(wanted: NetworkPolicy, tier: str) -> str:
    """Return why a sandbox tier cannot enforce a call's network; "" if it can."""
    if tier in ("none", "C") and wanted.network != "full":
        return f"at tier {tier} this server cannot keep a tool from the network"
    if tier == "B" and wanted.network == "proxy":
        return "a filtered network needs tier A"
    return ""


def unmet_requirements(required: Json, most: Json, network: str) -> str:
    """Return in words what a tool requires beyond the server's limits and network, or ""."""
    over = [
        f"{name} {value:g} (this server allows {most[name]:g})"
        for name, value in required.items()
        if name in most and value > most[name]
    ]
    need = required.get("network", "off")
    if NETWORKS.index(need) > NETWORKS.index(network):
        over.append(f"network {need} (this server allows {network})")
    return ", ".join(over)
