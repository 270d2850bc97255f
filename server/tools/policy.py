"""May this call run? One pure function over the tool, the server's word and the session's.

The order (docs/reference/tools.md, "Asking first"): the server denies → the agent denies → the
session denies → the server's ceiling or the agent says ask → grants and `auto_approve` → the agent
says auto → the tool's own default. A stored approval for the same fingerprint is consulted by
agent/call_decisions.py, which can turn an `ask` into a run and nothing else. Pure.
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
MAX_WORK = 20_000_000  # about 20 ms


@dataclass(frozen=True)
class Verdict:
    """run, ask, deny, error, question, client (hand it to the page), send (tell the page), or wait
    for the result of a call before it; with the reason, and the arguments as they would run.
    `repeatable`: executing twice does no harm; `parallel_safe`: it may run beside others that are.
    `offer`: the network of the call, and the hosts that an approval may add to it. `may_ask`: the
    tool may ask the person something in the middle of the call."""

    action: str
    reason: str = ""
    args: dict[str, Any] | None = None
    fingerprint: str = ""
    repeatable: bool = False
    parallel_safe: bool = False
    status: str = "invalid_arguments"  # what an error is called in the call's result
    repairs: list[str] = field(default_factory=list)
    offer: dict[str, Any] = field(default_factory=dict)
    may_ask: bool = False
    like: str = ""  # the tool that hooks and policies know it as, if that is another name


def fingerprint(name: str, args: dict[str, Any]) -> str:
    """What an approval is for: a SHA-256 of the tool's name and its canonical arguments."""
    return f"sha256:{hashlib.sha256(f'{name}{chr(10)}{canonical(args)}'.encode()).hexdigest()}"


class Grants:
    """The grants of a session, found by the name of their tool. They are compared with MAX_WORK
    characters of arguments at most; beyond that none allows a call, and each that denies does."""

    def __init__(self, grants: list[dict[str, Any]]) -> None:
        self._left = MAX_WORK
        self._of: dict[str, list[dict[str, Any]]] = {}
        for grant in grants:
            self._of.setdefault(grant["tool"], []).append(grant)

    def decisions(self, name: str, args: dict[str, Any]) -> set[str]:
        """allow and deny, as far as there are grants that say so of this call."""
        found: set[str] = set()
        for grant in self._of.get(name, ()):
            if grant["decision"] not in found and self._covers(grant, args):
                found.add(grant["decision"])
        return found

    def _covers(self, grant: dict[str, Any], args: dict[str, Any]) -> bool:
        for key, pattern in grant.get("match", {}).items():
            text = args.get(key)
            if not isinstance(text, str):  # patterns are for text
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
    """(action, reason) for arguments that fit. `ceiling`: the server's deny, ask or auto. `grants`:
    the session's, if they were looked through before. Where nobody can be asked, whatever would ask
    is denied: never the other way round."""
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
    """What a session says of a tool: its own words over those of the tool that it is like, except
    that either may deny it."""
    said = session["config"].get("tool", {})
    own, like = said.get(tool.name, {}), said.get(tool.like, {}) if tool.like else {}
    denied = {"deny": True} if own.get("deny") or like.get("deny") else {}
    return {**like, **own, **denied}


def narrowed(
    wanted: dict[str, Any], required: dict[str, Any], most: dict[str, Any]
) -> dict[str, Any]:
    """The limits of one call: the session's, or what the tool needs where that is more, and never
    more than the server's."""
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
    """The network of one call: the server's, narrowed by the session for this tool, and widened by
    what a person approved for this call out of `addable`; or why that cannot be."""
    said = session["config"].get("tool", {})
    narrower = base
    for each in filter(None, (name, like)):
        narrower = network_policy.narrowed(narrower, said.get(each, {}).get("network"))
    return network_policy.widened(narrower, asked, addable) if asked else narrower


def enforceable(wanted: Reach, tier: str) -> str:
    """Why a tier cannot keep a call to its network; empty if it can."""
    if tier in ("none", "C") and wanted.network != "full":
        return f"at tier {tier} this server cannot keep a tool from the network"
    if tier == "B" and wanted.network == "proxy":
        return "a filtered network needs tier A"
    return ""


def exceeded(required: dict[str, Any], most: dict[str, Any], network: str) -> str:
    """What a tool needs beyond the server's limits and its network, in words; empty if nothing."""
    over = [
        f"{name} {value:g} (this server allows {most[name]:g})"
        for name, value in required.items()
        if name in most and value > most[name]
    ]
    need = required.get("network", "off")
    if NETWORKS.index(need) > NETWORKS.index(network):
        over.append(f"network {need} (this server allows {network})")
    return ", ".join(over)
