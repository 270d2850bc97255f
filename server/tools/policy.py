"""The policy: whether a call may run, must be approved or is denied.

The order (docs/reference/tools.md, "Asking first"): the server denies → the agent denies → the
session denies → the server's ceiling or the agent says ask → grants and `auto_approve` → the agent
says auto → the tool's own default. A stored approval for the same fingerprint is consulted by
agent/call_decisions.py, which can only turn an `ask` into a run. Pure.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from ..sandbox import network_policy
from ..sandbox.network_policy import NETWORKS, Reach
from ..session import agent_definition, patterns
from ..session.call_actions import unattended
from ..strict_json import canonical
from .tool import BaseTool

Session = dict[str, Any]

STRICTER = ("", "auto", "ask", "deny")
MAX_WORK = 20_000_000  # characters compared; about 20 ms


@dataclass(frozen=True)
class Verdict:
    """The policy's decision on one call.

    action: run, ask, deny, error, question, client (hand it to the page and wait), send (hand it to
    the page without waiting) or wait (for the result of an earlier call of the message).
    args: the arguments with which the call would run.
    repeatable: it may run again after an interrupted run.
    parallel_safe: it may run beside other calls that are parallel safe.
    offer: the network of the call, and the hosts that an approval may add.
    may_ask: the tool may ask the person a question during the call.
    """

    action: str
    reason: str = ""
    args: dict[str, Any] | None = None
    fingerprint: str = ""
    repeatable: bool = False
    parallel_safe: bool = False
    status: str = "invalid_arguments"  # of the call's result, for action `error`
    repairs: list[str] = field(default_factory=list)
    offer: dict[str, Any] = field(default_factory=dict)
    may_ask: bool = False
    like: str = ""  # equivalent tool whose hooks and policies apply; "" if none


def fingerprint(name: str, args: dict[str, Any]) -> str:
    """Return the key of an approval: a SHA-256 of the tool's name and its canonical arguments."""
    return f"sha256:{hashlib.sha256(f'{name}{chr(10)}{canonical(args)}'.encode()).hexdigest()}"


class Grants:
    """The grants of a session, by tool name.

    At most MAX_WORK characters of arguments are compared. Beyond that every `deny` for the tool
    applies and no `allow`.
    """

    def __init__(self, grants: list[dict[str, Any]]) -> None:
        self._left = MAX_WORK
        self._of: dict[str, list[dict[str, Any]]] = {}
        for grant in grants:
            self._of.setdefault(grant["tool"], []).append(grant)

    def decisions(self, name: str, args: dict[str, Any]) -> set[str]:
        """Return the decisions of the grants that cover this call: any of "allow" and "deny"."""
        found: set[str] = set()
        for grant in self._of.get(name, ()):
            if grant["decision"] not in found and self._covers(grant, args):
                found.add(grant["decision"])
        return found

    def _covers(self, grant: dict[str, Any], args: dict[str, Any]) -> bool:
        for key, pattern in grant.get("match", {}).items():
            text = args.get(key)
            if not isinstance(text, str):  # patterns match strings only
                return False
            self._left -= patterns.work(text, pattern)
            if self._left < 0:
                return bool(grant["decision"] == "deny")
            if not patterns.fits(text, pattern):
                return False
        return True


def decide(
    tool: BaseTool,
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
    granted = grants.decisions(tool.name, args)
    granted |= grants.decisions(tool.like, args) if tool.like else set()
    action, reason = _decided(tool, args, ceiling, session, granted)
    asks = action == "ask" or (action == "run" and tool.kind == "question")
    if asks and unattended(session):
        return "deny", f"nobody can be asked about {tool.name} here"
    return action, reason


def _decided(
    tool: BaseTool, args: dict[str, Any], ceiling: str, session: Session, granted: set[str]
) -> tuple[str, str]:
    own = own_words(session, tool)
    if ceiling == "deny":
        return "deny", f"this server does not allow {tool.name}"
    agents = agent_definition.word(session, tool.name, page=tool.kind == "client")
    if tool.like:
        theirs = str(agent_definition.of(session).get("policy", {}).get(tool.like, ""))
        agents = max(agents, theirs, key=STRICTER.index)
    if agents == "deny":
        return "deny", f"the agent {agent_definition.of(session)['name']} does not use {tool.name}"
    if own.get("deny") or "deny" in granted:
        return "deny", f"this session does not allow {tool.name}"
    if ceiling == "ask":
        return "ask", "this server asks about it always"
    if agents == "ask":
        return "ask", f"the agent {agent_definition.of(session)['name']} asks about it always"
    if "allow" in granted:
        return "run", "granted for this session"
    if "auto_approve" in own:
        return ("run", "auto_approve") if own["auto_approve"] else ("ask", "auto_approve is off")
    if agents == "auto":
        return "run", f"the agent {agent_definition.of(session)['name']} need not ask"
    if tool.kind == "client":
        return "run", "the page asks where it has to"
    return ("run", "it only reads") if tool.read_only else ("ask", "it may change things")


def own_words(session: Session, tool: BaseTool) -> dict[str, Any]:
    """Return the session's settings for a tool, over those of the tool that it is like.

    `deny` in either applies.
    """
    said = session["config"].get("tool", {})
    own, like = said.get(tool.name, {}), said.get(tool.like, {}) if tool.like else {}
    denied = {"deny": True} if own.get("deny") or like.get("deny") else {}
    return {**like, **own, **denied}


def narrowed(
    wanted: dict[str, Any], required: dict[str, Any], most: dict[str, Any]
) -> dict[str, Any]:
    """Return the limits of one call.

    Each is the session's limit, raised to the tool's requirement, and never above the server's.
    """
    limits = {name: max(value, required.get(name, 0)) for name, value in wanted.items()}
    return {name: min(limits.get(name, ceiling), ceiling) for name, ceiling in most.items()}


def reach_of(
    base: Reach,
    session: Session,
    name: str,
    asked: dict[str, Any] | None,
    addable: list[str],
    like: str = "",
) -> Reach | str:
    """Return the network of one call, or an error text if it is impossible.

    It is the server's network, narrowed by the session for this tool, and widened by what a person
    approved for this call (`asked`) out of the hosts in `addable`.
    """
    said = session["config"].get("tool", {})
    narrower = base
    for each in filter(None, (name, like)):
        narrower = network_policy.narrowed(narrower, said.get(each, {}).get("network"))
    return network_policy.widened(narrower, asked, addable) if asked else narrower


def enforceable(wanted: Reach, tier: str) -> str:
    """Return why a sandbox tier cannot enforce a call's network; "" if it can."""
    if tier in ("none", "C") and wanted.network != "full":
        return f"at tier {tier} this server cannot keep a tool from the network"
    if tier == "B" and wanted.network == "proxy":
        return "a filtered network needs tier A"
    return ""


def exceeded(required: dict[str, Any], most: dict[str, Any], network: str) -> str:
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
